/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slot: one shared-memory chunk as every process sees it. A 128-byte header, then the fixed
 * struct of one message, then its variable-length data. Offsets inside a message are relative to
 * the slot, so any process reads it in place, at whatever address it is mapped.
 *
 * This layout is shared-memory ABI: pinned in tests/abi, changed only with SIM_SLOT_VERSION.
 */
#ifndef SIM_SLOT_H
#define SIM_SLOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define SIM_STATIC_ASSERT static_assert
#else
#define SIM_STATIC_ASSERT _Static_assert
#endif

/* Helpers of slot.h and message.h: inline in C, exported under the same names for other languages (src/inline.c). */
#ifndef SIM_INLINE
#define SIM_INLINE static inline
#endif

#define SIM_SLOT_MAGIC    0x4c4d4953u /* "SIML" in memory */
#define SIM_SLOT_VERSION  1u
#define SIM_FRAME_ID_MAX  39 /* characters of a coordinate frame's name */
#define SIM_CHANNEL_MAX   99 /* characters of a channel's full name, prefix included */
#define SIM_TYPE_NAME_MAX 63 /* characters of a type's name, "pkg/Name" */

enum sim_slot_flag {
	SIM_SLOT_DISPATCH = 1u << 0,    /* for bridges too; simd answers with one completion */
	SIM_SLOT_CLOCK_STALE = 1u << 1, /* stamped while the clock page had no writer */
	SIM_SLOT_PROBE = 1u << 2,       /* libsimclient tests whether simd receives it; subscribers never see it */
	SIM_SLOT_LATCHED = 1u << 3,     /* from a publisher with SIM_PUB_LATCH: valid until its next message */
};

struct sim_slot {
	uint32_t magic;            /* SIM_SLOT_MAGIC */
	uint16_t version;          /* SIM_SLOT_VERSION */
	uint16_t flags;            /* enum sim_slot_flag */
	uint64_t type_hash;        /* of the message definition, sim/introspect.h */
	uint32_t channel_id;       /* simd's number of the channel, this run of simd */
	uint32_t publisher_id;     /* simd's number of the publisher, this run of simd; never 0 */
	uint64_t sequence;         /* per publisher, from 1; counts published messages only */
	int64_t stamp_sim_ns;      /* capture time, simulated */
	int64_t publish_mono_ns;   /* CLOCK_MONOTONIC of this machine when it was published: for sim_clock_at() */
	uint32_t iox_generation;   /* generation of the data plane that the slot belongs to */
	uint32_t clock_generation; /* generation of the clock that stamp_sim_ns belongs to */
	uint64_t body_size;        /* valid bytes after this header: fixed struct + variable-length data */
	uint32_t token_cell;       /* libsimclient and simd only: cell of the exclusive token + 1; 0 none */
	uint32_t credit_cell;      /* libsimclient and simd only: cell of the publisher's credit + 1; 0 none */
	uint64_t origin_host;      /* simd_id of the simd from which a link brought it; 0: of this machine */
	uint64_t origin_sequence;  /* its sequence there; 0: of this machine */
	char frame_id[SIM_FRAME_ID_MAX + 1]; /* coordinate frame, NUL-terminated */
};

SIM_STATIC_ASSERT(sizeof(struct sim_slot) == 128, "slot header is shared-memory ABI");
SIM_STATIC_ASSERT(offsetof(struct sim_slot, frame_id) == 88, "slot header is shared-memory ABI");

/* The message of a loaned slot: its fixed struct, for the publisher to fill; at an address that is a multiple of 64. */
SIM_INLINE void *sim_slot_body_mut(struct sim_slot *s)
{
	return s + 1;
}

/*
 * A message as it was received. Its publisher can still write into the slot, so the header is a copy, taken and checked
 * once, and every reader goes by body_size: it lies within the slot, whatever is written there later. The body is read
 * in place, through the accessors of its type, which take body_size and check all that they read. Owned by the
 * subscriber or lane that handed it out, valid until it is released.
 */
struct sim_message {
	struct sim_slot header; /* magic, version, type and size have been checked; frame_id ends within its room */
	const void *body;       /* in place, at a multiple of 64 */
	size_t body_size;       /* valid bytes at body, header.body_size */
};

/* For languages that cannot read C structs. */
SIM_INLINE const void *sim_message_body(const struct sim_message *m)
{
	return m->body;
}
SIM_INLINE size_t sim_message_body_size(const struct sim_message *m)
{
	return m->body_size;
}

#ifdef __cplusplus
}
#endif
#endif
