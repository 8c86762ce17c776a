/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed all at once: see arena.h. */
#include "gen/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
	struct chunk *next;
	_Alignas(16) uint8_t data[];
};

struct arena {
	struct chunk *chunks;
	size_t left; /* bytes free at the end of the newest chunk */
	uint8_t *at;
};

#define CHUNK 16384

struct arena *arena_create(void)
{
	return calloc(1, sizeof(struct arena));
}

void arena_destroy(struct arena *a)
{
	if (!a)
		return;
	for (struct chunk *c = a->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *ret;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	if (size > a->left) {
		size_t room = size > CHUNK ? size : CHUNK;
		struct chunk *c = calloc(1, sizeof(*c) + room);

		if (!c)
			return NULL;
		c->next = a->chunks;
		a->chunks = c;
		a->at = c->data;
		a->left = room;
	}
	ret = a->at;
	a->at += size;
	a->left -= size;
	return ret;
}

char *arena_text(struct arena *a, const char *s, size_t len)
{
	char *ret = arena_alloc(a, len + 1);

	if (ret)
		memcpy(ret, s, len);
	return ret;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *ret;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	ret = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
	if (!ret)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(ret, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return ret;
}

void *arena_grow(struct arena *a, void *array, size_t n, size_t elem_size)
{
	void *bigger;

	/* The array is full exactly at 0 and at powers of two, so no capacity is stored. */
	if (n & (n - 1))
		return array;
	bigger = arena_alloc(a, (n ? n * 2 : 1) * elem_size);
	if (bigger && n)
		memcpy(bigger, array, n * elem_size);
	return bigger;
}
