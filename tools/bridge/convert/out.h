/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes on their way out: small ones are collected here, large arrays stay where they are and are only pointed
 * to, so that a socket or a DDS sample takes them straight from the slot. Kept from message to message,
 * so that in the long run nothing is allocated. Thread: one's.
 */
#ifndef OUT_H
#define OUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define OUT_REF_MIN 1024u /* smaller arrays are copied */
#define OUT_PIECES  16u

struct out_piece {
	const void *ref; /* NULL: of buf, from `at` on */
	size_t at, len;
};

struct out {
	uint8_t *buf;
	size_t used, cap;
	struct out_piece piece[OUT_PIECES];
	unsigned n;
	size_t total;      /* bytes of all pieces */
	uint64_t copied;   /* bytes of arrays that were copied or converted, since init */
	uint64_t referred; /* bytes of arrays that were not, since init */
};

void out_init(struct out *o);
void out_finish(struct out *o);
void out_reset(struct out *o); /* for the next message: memory and counters stay */

void *out_room_anew(struct out *o, size_t n); /* for out_room(): a new piece, or more memory */

/* Room for n more bytes, valid until the next call. NULL: no memory. Inline, because it is asked for each field. */
static inline void *out_room(struct out *o, size_t n)
{
	struct out_piece *p = o->n ? &o->piece[o->n - 1] : NULL;
	uint8_t *at;

	if (!p || p->ref || n > o->cap - o->used)
		return out_room_anew(o, n);
	at = o->buf + o->used;
	p->len += n;
	o->used += n;
	o->total += n;
	return at;
}

/* An array: by reference when that pays, else copied. Keeps data until out_reset(). 0 or -ENOMEM. */
int out_array(struct out *o, const void *data, size_t n);

/* The pieces in order, at most OUT_PIECES; valid until the next call that changes o. Returns how many. */
unsigned out_iov(const struct out *o, struct iovec iov[OUT_PIECES]);

#endif
