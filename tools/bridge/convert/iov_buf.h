/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes on their way out: small ones are collected here, large arrays stay where they are and are only pointed
 * to, so that a socket or a DDS sample takes them straight from the slot. Kept from message to message,
 * so that in the long run nothing is allocated. Thread: one's.
 */
#ifndef IOV_BUF_H
#define IOV_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define IOV_BUF_REF_MIN 1024u /* smaller arrays are copied */
#define IOV_BUF_PIECES  16u

struct iov_buf_piece {
	const void *ref; /* NULL: of buf, from `at` on */
	size_t at, len;
};

struct iov_buf {
	uint8_t *buf;
	size_t used, cap;
	struct iov_buf_piece piece[IOV_BUF_PIECES];
	unsigned n;
	size_t total;      /* bytes of all pieces */
	uint64_t copied;   /* bytes of arrays that were copied or converted, since init */
	uint64_t referred; /* bytes of arrays that were not, since init */
};

void iov_buf_init(struct iov_buf *o);
void iov_buf_finish(struct iov_buf *o);
void iov_buf_reset(struct iov_buf *o); /* for the next message: memory and counters stay */

void *iov_buf_room_slow(struct iov_buf *o, size_t n); /* for iov_buf_room(): a new piece, or more memory */

/* Room for n more bytes, valid until the next call. NULL: no memory. Inline, because it is asked for each field. */
static inline void *iov_buf_room(struct iov_buf *o, size_t n)
{
	struct iov_buf_piece *p = o->n ? &o->piece[o->n - 1] : NULL;
	uint8_t *at;

	if (!p || p->ref || n > o->cap - o->used)
		return iov_buf_room_slow(o, n);
	at = o->buf + o->used;
	p->len += n;
	o->used += n;
	o->total += n;
	return at;
}

/* Give back the last n bytes of what iov_buf_room() returned last. */
static inline void iov_buf_trim(struct iov_buf *o, size_t n)
{
	o->piece[o->n - 1].len -= n;
	o->used -= n;
	o->total -= n;
}

/* An array: by reference when that pays, else copied. Keeps data until iov_buf_reset(). 0 or -ENOMEM. */
int iov_buf_array(struct iov_buf *o, const void *data, size_t n);

/* The pieces in order, at most IOV_BUF_PIECES; valid until the next call that changes o. Returns how many. */
unsigned iov_buf_iov(const struct iov_buf *o, struct iovec iov[IOV_BUF_PIECES]);

#endif
