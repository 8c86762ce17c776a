/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a world was told, in the order in which its store took it, in a file from which the same world can be made again (replay.h).
 *
 * The file: 8 bytes "SIMWLOG1", then records: a length, uint32, of what follows it without the last 8 bytes; a kind, a byte; what is in it; XXH64 of
 * the last record's such hash (before the first: 0) and of kind and contents. So a record that is changed, left out or moved is found. All numbers are
 * little-endian, doubles as their bits.
 *
 * A tick is quiet where the store took nothing since the tick before it. Of quiet ticks that follow each other the last one has a record, and the others
 * have none, so a world in which nothing happens writes some bytes a second.
 *
 * A file that is there is never written to. A thread of its own writes, at each tick and when much has come since the last one, so a slow
 * disk does not hold a tick: what waits for it is bounded, and where that, or the disk, is full, the log ends with a line in the server's
 * log, the world goes on, and what is not written is counted.
 *
 * Thread: that of the ticks.
 */
#ifndef WORLD_INPUT_LOG_H
#define WORLD_INPUT_LOG_H

#include "store.h"

#define INPUT_LOG_MAGIC    "SIMWLOG1"
#define INPUT_LOG_RECORD   (2u << 20) /* bytes at most, of kind and contents */
#define INPUT_LOG_SECTIONS 65536u     /* of a tick: of more none is named */
#define INPUT_LOG_QUIET    1000u      /* ticks from one record of a tick to the next, at most */

enum input_log_kind {
	INPUT_LOG_BEGIN =
		1, /* u64 number of the world; u32 objects, u32 of each; i64 section_mm, step_dur_ns, start_sim_ns */
	INPUT_LOG_UPDATE, /* u32 connection; u64 id; u32 code; i64 time_sim_ns; 13 doubles; u8 has a body, its bytes */
	INPUT_LOG_REMOVE, /* u32 connection; u64 id */
	INPUT_LOG_GIVE,   /* u32 connection, u32 to; u64 id */
	INPUT_LOG_LEAVE,  /* u32 connection: all that it owns goes */
	INPUT_LOG_FORGET, /* u32 connection: its number never comes back */
	INPUT_LOG_TICK, /* u64 tick, u64 hash; of each section of level 0: i32 x, i32 y, u32 count, u64 hash; none of a quiet tick */
	INPUT_LOG_EVENT, /* for people: u8 enum world_event; u32 connection; name, NUL, sentence */
};

struct input_log;

struct input_log_options {
	const char *path;
	struct store_options store;
	uint64_t number;
	size_t queue_max;      /* bytes that wait for the disk; 0: 64 MiB */
	struct log_ring *ring; /* for what its thread logs, kept; NULL: directly */
};

/* -EEXIST: there is such a file; as the system says. With a sentence. */
int input_log_create(const struct input_log_options *o, struct input_log **ret) __attribute__((warn_unused_result));
/* What waits is written first. NULL is fine. */
void input_log_destroy(struct input_log *l);

/* store_options::told; user: the log. */
void input_log_told(void *user, const struct store_told *t);
void input_log_event(struct input_log *l, unsigned what, uint32_t connection, const char *name, const char *sentence);

struct input_log_info {
	uint64_t records, bytes; /* taken */
	uint64_t lost;           /* records, since it has ended */
	int why;                 /* it has ended: negative errno; 0: it goes on */
};
void input_log_info(struct input_log *l, struct input_log_info *ret);

/* XXH64 of the last hash and len bytes of kind and contents. */
uint64_t input_log_chain(uint64_t last, const void *data, size_t len);

#endif
