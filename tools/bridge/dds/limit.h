/* SPDX-License-Identifier: Apache-2.0 */
/* A limit for log lines that others can cause: 20 at once, then one a second. Thread: one's own, or under a lock. */
#ifndef LIMIT_H
#define LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define LIMIT_LINES_MAX 20

struct limit {
	int64_t left, mono_s;
};

static inline bool limit_allows(struct limit *l)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	l->left += now.tv_sec - l->mono_s;
	l->mono_s = now.tv_sec;
	if (l->left > LIMIT_LINES_MAX)
		l->left = LIMIT_LINES_MAX;
	return l->left > 0 && l->left-- > 0;
}

#endif
