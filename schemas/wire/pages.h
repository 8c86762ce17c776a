/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared pages between simd and libsimclient, besides the public clock page (sim/clock_page.h). Fixed width,
 * little-endian hosts only, versioned by WIRE_ABI, pinned in tests/abi. All words that two processes use are lock-free
 * atomics; simd trusts nothing that a peer writes here.
 *
 *   layout page    one per simd, read-only to clients: where everything is, and state that only simd writes
 *   dispatch page  one per simd; every client maps it writable: the cells of credits and tokens, and which channels
 *                  rang
 *   counter page   one per client, writable by that client and read by simd: what its publishers count
 *
 * A reader finds arrays by the words of the layout page, not by the constants here, which may grow.
 */
#ifndef WIRE_PAGES_H
#define WIRE_PAGES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_ABI 5u

#define WIRE_CHANNELS_MAX 1024
#define WIRE_WINDOW_MAX   128
#define WIRE_TOKENS_MAX   4096
#define WIRE_SHARD_BITS   6
#define WIRE_SHARDS_MAX   (1u << WIRE_SHARD_BITS)
#define WIRE_ROWS_MAX     512
#define WIRE_STEPPERS_MAX 64
#define WIRE_REASONS      32 /* size of `dropped`, with room for future reasons */

/* Publisher numbers end with the number of their shard; 0 and UINT32_MAX are never used. */
static inline uint32_t wire_shard_of(uint32_t publisher_id)
{
	return publisher_id & (WIRE_SHARDS_MAX - 1);
}

/*
 * Content of a claimed cell: the publisher, the message (31 bits of its sequence), and whether it is for local
 * subscribers only. So simd can tell claims of published messages from those of messages still to be published, see
 * wire_counters::sequence, and which message to complete, whatever was written into the slot. 0: free.
 */
#define WIRE_CLAIM_LOCAL    (UINT64_C(1) << 63)
#define WIRE_CLAIM_SEQUENCE UINT64_C(0x7fffffff)

static inline uint64_t wire_claim(uint32_t publisher_id, uint64_t sequence)
{
	return publisher_id | (sequence & WIRE_CLAIM_SEQUENCE) << 32;
}
static inline uint32_t wire_claim_publisher(uint64_t claim)
{
	return (uint32_t)claim;
}
/* The message's whole sequence, computed from `near`, one of the same publisher less than 2^30 messages away. */
static inline uint64_t wire_claim_sequence(uint64_t claim, uint64_t near)
{
	uint64_t ahead = ((claim >> 32) - near) & WIRE_CLAIM_SEQUENCE;

	return near + ahead - (ahead >> 30 ? WIRE_CLAIM_SEQUENCE + 1 : 0);
}

/* ---- layout page ---- */

struct wire_array { /* item i lies at offset + i * stride of its page */
	uint32_t offset, stride, count, reserved;
};

/*
 * A set of rigs that may share channels, and its dispatch. Cache lines of its own: another thread may serve the next
 * shard.
 */
struct wire_shard {
	_Atomic uint32_t awake; /* nonzero while a dispatch thread is draining: doorbells may be skipped */
	uint32_t reserved0;
	/* incremented before feeds are read: a bell rung after that still wakes simd; 0: unknown */
	_Atomic uint64_t turns;
	uint64_t reserved[30];
};

/* State of a channel, written by simd. */
struct wire_channel_info {
	_Atomic uint32_t window;      /* 1..WIRE_WINDOW_MAX; 0: channel not in use */
	_Atomic uint32_t shard;       /* shard whose doorbell to ring */
	_Atomic uint32_t bridges;     /* low 16 bits: bridges that carry it; high 16: of those, connected */
	_Atomic uint32_t freed;       /* futex: incremented when a credit is freed and a client waits */
	_Atomic uint32_t deferred;    /* nonzero: simd reads this channel soon without a doorbell */
	_Atomic uint32_t waited;      /* nonzero: producers wait, beyond wait_ms, for lossless bridges that answer */
	_Atomic uint32_t subscribers; /* 1 + clients' subscriptions to it, simd's own not counted; 0: not reported */
	uint32_t reserved[9];
};

/*
 * The last turn in lock-step (schemas/wire/step.h). seq: a sequence lock, and the futex on which participants wait,
 * each with the bit of its place; also changed without a turn when a participant must read its socket.
 */
enum wire_turn_flag {
	/* nothing is left to do after this turn: the last participant answers the driver, in wire_grant */
	WIRE_TURN_ANSWERS = 1u << 0,
};

struct wire_turn {
	uint32_t seq;
	uint32_t clock_generation;
	uint64_t number; /* as in step_packet, as are the next three */
	int64_t sim_ns;
	int64_t dur_ns;
	uint64_t with;    /* also for a single participant */
	int64_t scale_e6; /* for the answer to the driver, as in driver_packet */
	uint32_t flags;   /* enum wire_turn_flag */
	uint32_t reserved0;
	uint64_t reserved;
};

static inline uint32_t wire_turn_bit(uint32_t stepper)
{
	return UINT32_C(1) << stepper % 32;
}

struct wire_layout_page {
	uint32_t abi;                 /* WIRE_ABI */
	uint32_t size;                /* of this page */
	uint32_t dispatch_size;       /* of the dispatch page */
	uint32_t counter_size;        /* of a counter page */
	_Atomic uint32_t wait_ms;     /* dispatch.wait_ms: bound on the producer's wait for a credit */
	_Atomic uint32_t bridges_seq; /* futex: incremented at any change of a wire_channel_info.bridges */
	uint32_t reserved0[10];
	struct wire_array shards;   /* here: struct wire_shard */
	struct wire_array infos;    /* here: struct wire_channel_info, by channel */
	struct wire_array channels; /* dispatch page: struct wire_channel, by channel */
	struct wire_array tokens;   /* dispatch page: uint64_t */
	struct wire_array rows;     /* counter page: struct wire_counters */
	struct wire_array rung;     /* dispatch page: struct wire_rung, by shard */
	struct wire_array steppers; /* dispatch page: struct wire_stepper, by number (schemas/wire/step.h) */
	struct wire_array turns;    /* here: one struct wire_turn; none if count is 0 */
	struct wire_array grants;   /* dispatch page: one struct wire_grant */
	uint32_t reserved[12];
	struct wire_shard shard[WIRE_SHARDS_MAX];
	struct wire_channel_info info[WIRE_CHANNELS_MAX];
	struct wire_turn turn;
};

#define WIRE_LAYOUT_HEAD offsetof(struct wire_layout_page, shard) /* enough to learn the size */

/* ---- dispatch page ---- */

/*
 * Credits of one channel: `window` cells, each 0 (free) or the wire_claim() of a message. A client claims one by
 * compare-and-swap; simd frees the cell when the message completes, and sweeps the cells of a dead publisher. One cell
 * per message in flight, so that a crash between claim and publish loses nothing.
 */
struct wire_channel {
	/* nonzero: a client may be waiting for a credit; set by each waiter, cleared by simd when it wakes them */
	_Atomic uint32_t waiters;
	_Atomic uint32_t hint; /* where to start looking for a free cell */
	uint32_t reserved[14];
	_Atomic uint64_t cell[WIRE_WINDOW_MAX];
};

/*
 * The channels of one shard in which something was published since simd last read them: bit id % 64 of word id / 64.
 * Set by clients, cleared by simd before it reads; only a hint, so a client that writes garbage here costs an
 * unnecessary read, or delays a message until simd reads all channels, which it does once a second.
 */
struct wire_rung {
	_Atomic uint64_t word[WIRE_CHANNELS_MAX / 64];
};

/*
 * State of a lock-step participant: the step that it has acknowledged, and how many messages it keeps back (written
 * first). Thanks to it only the last of several participants of equal rank has to notify simd: see schemas/wire/step.h.
 * Garbage here ends a turn too early, or too late by step.deadline_ms, which a client could also cause by not
 * acknowledging.
 */
struct wire_stepper {
	_Atomic uint64_t done; /* number of the step; WIRE_STEPPER_GONE: the participant has left */
	_Atomic uint32_t kept;
	uint32_t reserved;
};

#define WIRE_STEPPER_GONE UINT64_MAX

/*
 * Where a driver waits if it asked to (schemas/wire/driver.h). For the driver, a round with WIRE_TURN_ANSWERS is over
 * as soon as its number is here; simd trusts none of it. Garbage ends a step too early, or a moment too late.
 */
struct wire_grant {
	_Atomic uint32_t moved; /* futex: incremented when the driver must read this and its socket */
	uint32_t reserved0;
	/* of the round, wire_turn::number; with WIRE_GRANT_CLOSED: simd itself has ended the round */
	_Atomic uint64_t number;
	uint64_t reserved[14];
};

#define WIRE_GRANT_CLOSED (UINT64_C(1) << 63)

/* Called by the last participant: lets the driver go on. False: simd has ended the round, so notify simd as usual. */
static inline bool wire_grant_take(struct wire_grant *g, uint64_t number)
{
	uint64_t was = atomic_load(&g->number);

	return was != (number | WIRE_GRANT_CLOSED) && atomic_compare_exchange_strong(&g->number, &was, number);
}

/* Called by simd: from now on only simd lets the driver go on. False: a participant already has. */
static inline bool wire_grant_close(struct wire_grant *g, uint64_t number)
{
	uint64_t was = atomic_load(&g->number);

	/* others write here only once a round, unless they are malicious */
	for (int i = 0; was != number && i < 8; i++)
		if (atomic_compare_exchange_strong(&g->number, &was, number | WIRE_GRANT_CLOSED))
			return true;
	return false;
}

struct wire_dispatch_page {
	uint32_t reserved[16];
	_Atomic uint64_t token[WIRE_TOKENS_MAX]; /* 0 free, else the wire_claim() of a message */
	struct wire_channel channel[WIRE_CHANNELS_MAX];
	uint32_t reserved1[16]; /* words of two shards share no pair of cache lines */
	struct wire_rung rung[WIRE_SHARDS_MAX];
	struct wire_stepper stepper[WIRE_STEPPERS_MAX];
	struct wire_grant grant;
};

/*
 * Call it after publishing, and before checking whether simd is awake. It pairs with simd's fence between clearing the
 * bit and reading the channel: a publisher that sees the bit set has published before simd reads the channel. So in a
 * flood of messages this costs one load each.
 */
static inline void wire_rung_set(_Atomic uint64_t *word, uint64_t bit)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(word, memory_order_acquire) & bit)
		return;
	atomic_fetch_or(word, bit);
	atomic_thread_fence(memory_order_seq_cst);
}

/* ---- counter page ---- */

/* Written only by the publisher's process (relaxed atomics). */
struct wire_counters {
	_Atomic uint32_t publisher_id; /* 0: row not in use */
	uint32_t reserved0;
	_Atomic uint64_t messages;     /* published, local or accepted for dispatch */
	_Atomic uint64_t bytes;        /* bytes of their bodies */
	_Atomic uint64_t last_mono_ns; /* publish time of the newest */
	_Atomic uint64_t last_stamp_sim_ns;
	_Atomic uint64_t accepted; /* by sim_try_queue */
	_Atomic uint64_t wait_ns;  /* time spent waiting for credits */
	/* all messages up to this one have been published: those that simd does not find are lost */
	_Atomic uint64_t sequence;
	/*
	 * Refusals and false completions, by enum sim_reason; LOST only for refusals: simd counts accepted messages
	 * that are lost
	 */
	_Atomic uint64_t dropped[WIRE_REASONS];
	_Atomic uint64_t origin; /* number of its port, as in the header of each of its slots; 0: not known */
	uint64_t reserved1[7];
};

struct wire_counter_page {
	uint32_t abi; /* WIRE_ABI */
	uint32_t size;
	uint32_t client_id;
	uint32_t reserved[13];
	struct wire_counters row[WIRE_ROWS_MAX];
};

/* Fills the page with simd's fixed values, for pages as these structs describe them. */
static inline void wire_layout_init(struct wire_layout_page *p)
{
	p->abi = WIRE_ABI;
	p->size = sizeof(*p);
	p->dispatch_size = sizeof(struct wire_dispatch_page);
	p->counter_size = sizeof(struct wire_counter_page);
	p->shards = (struct wire_array){ offsetof(struct wire_layout_page, shard), sizeof(p->shard[0]), WIRE_SHARDS_MAX,
					 0 };
	p->infos = (struct wire_array){ offsetof(struct wire_layout_page, info), sizeof(p->info[0]), WIRE_CHANNELS_MAX,
					0 };
	p->channels = (struct wire_array){ offsetof(struct wire_dispatch_page, channel), sizeof(struct wire_channel),
					   WIRE_CHANNELS_MAX, 0 };
	p->tokens =
		(struct wire_array){ offsetof(struct wire_dispatch_page, token), sizeof(uint64_t), WIRE_TOKENS_MAX, 0 };
	p->rows = (struct wire_array){ offsetof(struct wire_counter_page, row), sizeof(struct wire_counters),
				       WIRE_ROWS_MAX, 0 };
	p->rung = (struct wire_array){ offsetof(struct wire_dispatch_page, rung), sizeof(struct wire_rung),
				       WIRE_SHARDS_MAX, 0 };
	p->steppers = (struct wire_array){ offsetof(struct wire_dispatch_page, stepper), sizeof(struct wire_stepper),
					   WIRE_STEPPERS_MAX, 0 };
	p->turns = (struct wire_array){ offsetof(struct wire_layout_page, turn), sizeof(p->turn), 1, 0 };
	p->grants = (struct wire_array){ offsetof(struct wire_dispatch_page, grant), sizeof(struct wire_grant), 1, 0 };
}

static inline void *wire_at(void *page, struct wire_array a, uint32_t i)
{
	return (char *)page + a.offset + (size_t)i * a.stride;
}

static inline const void *wire_at_const(const void *page, struct wire_array a, uint32_t i)
{
	return (const char *)page + a.offset + (size_t)i * a.stride;
}

_Static_assert(sizeof(struct wire_shard) == 256, "layout page is shared-memory ABI");
_Static_assert(sizeof(struct wire_channel_info) == 64, "layout page is shared-memory ABI");
_Static_assert(sizeof(struct wire_turn) == 64, "layout page is shared-memory ABI");
_Static_assert(sizeof(struct wire_grant) == 128, "dispatch page is shared-memory ABI");
_Static_assert(WIRE_LAYOUT_HEAD == 256, "layout page is shared-memory ABI");
_Static_assert(sizeof(struct wire_channel) == 64 + 8 * WIRE_WINDOW_MAX, "dispatch page is shared-memory ABI");
_Static_assert(offsetof(struct wire_dispatch_page, rung) % 128 == 0, "dispatch page is shared-memory ABI");
_Static_assert(sizeof(struct wire_counters) == 128 + 8 * WIRE_REASONS, "counter page is shared-memory ABI");

#endif
