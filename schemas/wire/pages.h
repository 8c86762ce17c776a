/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared pages between simd and libsimclient, besides the public clock page (sim/clock_page.h).
 * Fixed width, little-endian hosts only, versioned by WIRE_ABI, pinned in tests/abi. All words that two
 * processes touch are lock-free atomics; nothing a peer writes here is trusted by simd.
 *
 *   dispatch page  one per simd; every client maps it writable: credits of channels, tokens
 *   counter page   one per client, writable by that client and read by simd: what its publishers count
 */
#ifndef WIRE_PAGES_H
#define WIRE_PAGES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_ABI 1u

/* ---- dispatch page ---- */

#define WIRE_CHANNELS_MAX 1024
#define WIRE_WINDOW_MAX   128
#define WIRE_TOKENS_MAX   4096

/*
 * Credits of one channel: `window` cells, each 0 (free) or the publisher_id that claimed it. A claim is a
 * compare-and-swap by the client; simd frees the cell when the message completes, and sweeps the cells of a
 * dead publisher. One cell a message in flight, so that a crash between claim and publish loses nothing.
 */
struct wire_channel {
	_Atomic uint32_t window;   /* 1..WIRE_WINDOW_MAX; 0: channel not in use */
	_Atomic uint32_t freed;    /* futex: bumped by simd when a credit is freed and someone waits */
	_Atomic uint32_t waiters;  /* clients waiting for a credit */
	_Atomic uint32_t bridges;  /* low 16 bits: bridges that carry it; high 16: of those, connected */
	_Atomic uint32_t hint;     /* where to start looking for a free cell */
	_Atomic uint32_t deferred; /* nonzero: simd looks at this channel soon without being rung for */
	_Atomic uint32_t waited;   /* nonzero: producers wait for lossless bridges that answer, without wait_ms */
	uint32_t reserved[9];
	_Atomic uint32_t cell[WIRE_WINDOW_MAX];
};

struct wire_dispatch_page {
	uint32_t abi;                 /* WIRE_ABI */
	uint32_t size;                /* sizeof(struct wire_dispatch_page) */
	_Atomic uint32_t awake;       /* nonzero while a dispatch thread is draining: doorbells may be skipped */
	_Atomic uint32_t wait_ms;     /* dispatch.wait_ms: bound on the producer's wait for a credit */
	_Atomic uint32_t bridges_seq; /* futex: bumped at any change of a wire_channel.bridges */
	uint32_t reserved0;
	_Atomic uint64_t turns; /* bumped before feeds are looked at: a bell rung since still wakes simd; 0: unknown */
	uint32_t reserved[8];
	_Atomic uint32_t token[WIRE_TOKENS_MAX]; /* 0 free, else the publisher_id that claimed it */
	struct wire_channel channel[WIRE_CHANNELS_MAX];
};

/* ---- counter page ---- */

#define WIRE_ROWS_MAX 512
#define WIRE_REASONS  16 /* that have a place in `dropped` */

/* Written by the publisher's process only (relaxed atomics). */
struct wire_counters {
	_Atomic uint32_t publisher_id; /* 0: row not in use */
	uint32_t reserved0;
	_Atomic uint64_t messages;     /* published, local or accepted for dispatch */
	_Atomic uint64_t bytes;        /* their bodies */
	_Atomic uint64_t last_mono_ns; /* publish time of the newest */
	_Atomic uint64_t last_stamp_sim_ns;
	_Atomic uint64_t accepted;     /* by sim_try_queue */
	_Atomic uint64_t wait_ns;      /* spent waiting for credits */
	_Atomic uint64_t dropped_slow; /* of SIM_REASON_BRIDGE_SLOW, for which `dropped` has no room */
	/* Refusals and false completions, by enum sim_reason; LOST of refusals alone: what it had accepted simd counts */
	_Atomic uint64_t dropped[WIRE_REASONS];
};

/* The counter of a reason, below SIM_REASON_COUNT. */
static inline _Atomic uint64_t *wire_dropped(struct wire_counters *c, unsigned reason)
{
	return reason < WIRE_REASONS ? &c->dropped[reason] : &c->dropped_slow;
}

struct wire_counter_page {
	uint32_t abi; /* WIRE_ABI */
	uint32_t size;
	uint32_t client_id;
	uint32_t reserved[13];
	struct wire_counters row[WIRE_ROWS_MAX];
};

_Static_assert(sizeof(struct wire_channel) == 64 + 4 * WIRE_WINDOW_MAX, "dispatch page is shared-memory ABI");
_Static_assert(sizeof(struct wire_counters) == 64 + 8 * WIRE_REASONS, "counter page is shared-memory ABI");

#endif
