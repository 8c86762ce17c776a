/* SPDX-License-Identifier: Apache-2.0 */
/* See iov_buf.h. Pieces in the buffer are stored as offsets, because it moves when it grows. */
#include "iov_buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 4096u

void iov_buf_init(struct iov_buf *o)
{
	memset(o, 0, sizeof(*o));
}

void iov_buf_finish(struct iov_buf *o)
{
	free(o->buf);
	iov_buf_init(o);
}

void iov_buf_reset(struct iov_buf *o)
{
	o->used = 0;
	o->n = 0;
	o->total = 0;
}

static int grow(struct iov_buf *o, size_t n)
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

/*
 * The last piece of the message, in the buffer; added if the last one is a reference. A free entry always exists:
 * iov_buf_array() leaves one.
 */
static struct iov_buf_piece *tail(struct iov_buf *o)
{
	if (!o->n || o->piece[o->n - 1].ref)
		o->piece[o->n++] = (struct iov_buf_piece){ .at = o->used };
	return &o->piece[o->n - 1];
}

void *iov_buf_room_slow(struct iov_buf *o, size_t n)
{
	struct iov_buf_piece *p;
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

int iov_buf_array(struct iov_buf *o, const void *data, size_t n)
{
	void *at;

	if (n >= IOV_BUF_REF_MIN && o->n + 2 <= IOV_BUF_PIECES) {
		o->piece[o->n++] = (struct iov_buf_piece){ .ref = data, .len = n };
		o->total += n;
		o->referred += n;
		return 0;
	}
	if (!n)
		return 0;
	at = iov_buf_room(o, n);
	if (!at)
		return -ENOMEM;
	memcpy(at, data, n);
	o->copied += n;
	return 0;
}

unsigned iov_buf_iov(const struct iov_buf *o, struct iovec iov[IOV_BUF_PIECES])
{
	for (unsigned i = 0; i < o->n; i++) {
		const struct iov_buf_piece *p = &o->piece[i];
		const void *base = p->ref ? p->ref : o->buf + p->at;

		iov[i] = (struct iovec){ .iov_base = (void *)(uintptr_t)base, .iov_len = p->len };
	}
	return o->n;
}
