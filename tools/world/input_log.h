/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records what a world's store took, in that order, in a file from which the same world can be computed again
 * (replay.h).
 *
 * The file: 8 bytes "SIMWLOG1", then records: uint32 length of kind and contents; a byte, the kind; the contents; then
 * XXH64 of the previous record's hash (0 for the first), kind and contents. So a changed, missing or moved record is
 * detected. All numbers are little-endian, doubles as their bits.
 *
 * A tick is quiet if the store took nothing since the tick before. Of consecutive quiet ticks only the last one has a
 * record, so an idle world writes only some bytes a second.
 *
 * Existing files are never overwritten. A thread writes at each tick, and when much has accumulated, so a slow disk
 * does not delay a tick. What waits for the disk is limited; if that limit is reached, or the disk is full, the log
 * ends with a message in the server's log, the world continues, and what is not written is counted.
 *
 * Thread: that of the ticks.
 */
#ifndef WORLD_INPUT_LOG_H
#define WORLD_INPUT_LOG_H

#include "store.h"

#define INPUT_LOG_MAGIC    "SIMWLOG1"
#define INPUT_LOG_RECORD   (2u << 20) /* largest record, bytes of kind and contents */
#define INPUT_LOG_SECTIONS 65536u     /* sections listed for a tick; with more, none are listed */
#define INPUT_LOG_QUIET    1000u      /* ticks from one tick record to the next, at most */

enum input_log_kind {
	INPUT_LOG_BEGIN =
		1, /* u64 number of the world; u32 objects, u32 of each; i64 section_mm, step_dur_ns, start_sim_ns */
	INPUT_LOG_UPDATE, /* u32 connection; u64 id; u32 code; i64 time_sim_ns; 13 doubles; u8 has a body, its bytes */
	INPUT_LOG_REMOVE, /* u32 connection; u64 id */
	INPUT_LOG_GIVE,   /* u32 connection, u32 to; u64 id */
	INPUT_LOG_LEAVE,  /* u32 connection: all its objects are removed */
	INPUT_LOG_FORGET, /* u32 connection: its number is never used again */
	/*
	 * u64 tick, u64 hash; then for each section of level 0: i32 x, i32 y, u32 count, u64 hash; no sections for a
	 * quiet tick
	 */
	INPUT_LOG_TICK,
	INPUT_LOG_EVENT, /* informative: u8 enum world_event; u32 connection; name, NUL, text */
};

struct input_log;

struct input_log_options {
	const char *path;
	struct store_options store;
	uint64_t number;
	size_t queue_max;      /* limit of the bytes that wait for the disk; 0: 64 MiB */
	struct log_ring *ring; /* for its thread's log lines; borrowed; NULL: logs directly */
};

/* -EEXIST: the file exists; or the system's error. With the reason in err_why(). */
int input_log_create(const struct input_log_options *o, struct input_log **ret) __attribute__((warn_unused_result));
/* Writes what is waiting first. NULL-safe. */
void input_log_destroy(struct input_log *l);

/* For store_options.told; user: the log. */
void input_log_told(void *user, const struct store_told *t);
void input_log_event(struct input_log *l, unsigned what, uint32_t connection, const char *name, const char *sentence);

struct input_log_info {
	uint64_t records, bytes; /* accepted */
	uint64_t lost;           /* records lost since the log has ended */
	int why;                 /* negative errno why the log has ended; 0: it has not */
};
void input_log_info(struct input_log *l, struct input_log_info *ret);

/* XXH64 of the previous hash and len bytes of kind and contents. */
uint64_t input_log_chain(uint64_t last, const void *data, size_t len);

#endif
