/* SPDX-License-Identifier: Apache-2.0 */
/* Rate limit for log lines that others can cause: 20 at once, then one a second. Thread: the owner's, or under a lock. */
#ifndef LIMIT_H
#define LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "timeutil.h"

#define LIMIT_LINES_MAX 20

struct limit {
	int64_t left, mono_s;
};

static inline bool limit_allows(struct limit *l)
{
	int64_t now_s = mono_now_ns() / NS_PER_S;

	l->left += now_s - l->mono_s;
	l->mono_s = now_s;
	if (l->left > LIMIT_LINES_MAX)
		l->left = LIMIT_LINES_MAX;
	return l->left > 0 && l->left-- > 0;
}

#endif
