/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text of one message; reused, so that steady traffic causes no allocations. Owner's thread. */
#ifndef TEXT_H
#define TEXT_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)256 << 20)

struct text {
	char *data;
	size_t len, cap;
};

/* A sim_write_fn. 0, -EMSGSIZE, -ENOMEM. */
static inline int text_write(void *user, const char *data, size_t len)
{
	struct text *t = user;

	if (len > TEXT_MAX - t->len)
		return -EMSGSIZE;
	if (t->len + len > t->cap) {
		size_t cap = t->cap ? t->cap : 4096;
		char *p;

		while (cap < t->len + len)
			cap *= 2;
		p = realloc(t->data, cap);
		if (!p)
			return -ENOMEM;
		t->data = p;
		t->cap = cap;
	}
	memcpy(t->data + t->len, data, len);
	t->len += len;
	return 0;
}

#endif
