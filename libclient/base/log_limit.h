/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how many log lines a peer can cause; log_limited() of log.h uses it. Thread: the owner's, or under a lock. */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* At most `burst` lines per `every_dur_ns`; suppressed lines are counted and reported with the next line. */
struct log_limit {
	int64_t every_dur_ns;
	uint32_t burst;
	uint32_t used;         /* lines in this window */
	int64_t start_mono_ns; /* of this window */
	uint64_t held;         /* lines suppressed since the last one that passed */
};

#define LOG_LIMIT(every, n) \
	{ \
		.every_dur_ns = (every), .burst = (n), .start_mono_ns = INT64_MIN \
	}

/* Returns true: log now; *ret_held is the number suppressed before. */
bool log_limit_pass(struct log_limit *l, int64_t now_ns, uint64_t *ret_held);

#endif
