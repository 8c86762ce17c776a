/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outgoing bytes: small ones are collected here; large arrays stay in the slot and are only referenced, so that a
 * socket or a DDS sample takes them from there. Reused for each message, so that allocations cease after a while.
 * Thread: one per buffer.
 */
#ifndef IOV_BUF_H
#define IOV_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define IOV_BUF_REF_MIN 1024u /* smaller arrays are copied */
#define IOV_BUF_PIECES  16u

struct iov_buf_piece {
	const void *ref; /* NULL: in buf, from `at` on */
	size_t at, len;
};

struct iov_buf {
	uint8_t *buf;
	size_t used, cap;
	struct iov_buf_piece piece[IOV_BUF_PIECES];
	unsigned n;
	size_t total;      /* bytes of all pieces */
	uint64_t copied;   /* bytes of arrays copied or converted since init */
	uint64_t referred; /* bytes of arrays referenced since init */
};

void iov_buf_init(struct iov_buf *o);
void iov_buf_finish(struct iov_buf *o);
void iov_buf_reset(struct iov_buf *o); /* empties it for the next message; keeps memory and counters */

void *iov_buf_room_slow(struct iov_buf *o, size_t n); /* for iov_buf_room(): adds a piece, or memory */

/* Room for n more bytes, valid until the next call. NULL: no memory. Inline, because it is called for each field. */
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

/* Returns the last n bytes of the room from the last iov_buf_room(). */
static inline void iov_buf_trim(struct iov_buf *o, size_t n)
{
	o->piece[o->n - 1].len -= n;
	o->used -= n;
	o->total -= n;
}

/*
 * Appends an array: by reference if that pays, else as a copy. data must stay valid until iov_buf_reset(). 0 or
 * -ENOMEM.
 */
int iov_buf_array(struct iov_buf *o, const void *data, size_t n);

/* The pieces in order, at most IOV_BUF_PIECES; valid until the next call that changes o. Returns their number. */
unsigned iov_buf_iov(const struct iov_buf *o, struct iovec iov[IOV_BUF_PIECES]);

#endif
