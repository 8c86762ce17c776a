/* SPDX-License-Identifier: Apache-2.0 */
/* How many lines of a log others can cause; log.h has what logs within it. Thread: one's own, or under a lock. */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* At most `burst` lines per `every_dur_ns`; what was held back is counted and told with the next line. */
struct log_limit {
	int64_t every_dur_ns;
	uint32_t burst;
	uint32_t used;         /* in this window */
	int64_t start_mono_ns; /* of this window */
	uint64_t held;         /* lines held back since the last one that passed */
};

#define LOG_LIMIT(every, n) \
	{ \
		.every_dur_ns = (every), .burst = (n), .start_mono_ns = INT64_MIN \
	}

/* True: log now; *ret_held is the number held back before. */
bool log_limit_pass(struct log_limit *l, int64_t now_ns, uint64_t *ret_held);

#endif
