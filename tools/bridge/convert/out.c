/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a message: see out.h. Pieces of the buffer are offsets, because it moves when it grows. */
#include "out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 4096u

void out_init(struct out *o)
{
	memset(o, 0, sizeof(*o));
}

void out_finish(struct out *o)
{
	free(o->buf);
	out_init(o);
}

void out_reset(struct out *o)
{
	o->used = 0;
	o->n = 0;
	o->total = 0;
}

static int grow(struct out *o, size_t n)
{
	size_t cap = o->cap ? o->cap : FIRST;
	uint8_t *buf;

	if (n > SIZE_MAX / 4 || o->used > SIZE_MAX / 4)
		return -ENOMEM;
	while (cap < o->used + n)
		cap *= 2;
	buf = cap == o->cap ? o->buf : realloc(o->buf, cap);
	if (!buf)
		return -ENOMEM;
	o->buf = buf;
	o->cap = cap;
	return 0;
}

/* The piece of the buffer that ends the message. There is always room: out_array() leaves one. */
static struct out_piece *tail(struct out *o)
{
	if (!o->n || o->piece[o->n - 1].ref)
		o->piece[o->n++] = (struct out_piece){ .at = o->used };
	return &o->piece[o->n - 1];
}

void *out_room_anew(struct out *o, size_t n)
{
	struct out_piece *p;
	uint8_t *at;

	if (n > o->cap - o->used && grow(o, n) < 0)
		return NULL;
	p = tail(o);
	at = o->buf + o->used;
	p->len += n;
	o->used += n;
	o->total += n;
	return at;
}

int out_array(struct out *o, const void *data, size_t n)
{
	void *at;

	if (n >= OUT_REF_MIN && o->n + 2 <= OUT_PIECES) {
		o->piece[o->n++] = (struct out_piece){ .ref = data, .len = n };
		o->total += n;
		o->referred += n;
		return 0;
	}
	if (!n)
		return 0;
	at = out_room(o, n);
	if (!at)
		return -ENOMEM;
	memcpy(at, data, n);
	o->copied += n;
	return 0;
}

unsigned out_iov(const struct out *o, struct iovec iov[OUT_PIECES])
{
	for (unsigned i = 0; i < o->n; i++) {
		const struct out_piece *p = &o->piece[i];
		const void *base = p->ref ? p->ref : o->buf + p->at;

		iov[i] = (struct iovec){ .iov_base = (void *)(uintptr_t)base, .iov_len = p->len };
	}
	return o->n;
}
