/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf's wire format: see pb_writer.h. A nested message is written after one byte for its length, and moved if the
 * length takes more; it contains no references, so it is contiguous in the buffer.
 */
#include "pb_writer.h"

#include <errno.h>

#define AHEAD 256u /* minimum room requested at once */

static void fail(struct pb_writer *w, int error)
{
	if (!w->error)
		w->error = error;
}

/* Releases unused room. */
static void settle(struct pb_writer *w)
{
	if (w->at)
		iov_buf_trim(w->out, (size_t)(w->end - w->at));
	w->at = w->end = NULL;
}

void pb_begin(struct pb_writer *w, struct iov_buf *out)
{
	w->out = out;
	w->error = 0;
	w->depth = 0;
	w->start = out->total;
	w->at = w->end = NULL;
}

int pb_end(struct pb_writer *w)
{
	settle(w);
	if (w->out->total - w->start > PB_SIZE_MAX)
		fail(w, -E2BIG);
	return w->error;
}

uint8_t *pb_room_slow(struct pb_writer *w, size_t n)
{
	struct iov_buf *o = w->out;
	size_t left, all;

	settle(w);
	if (n > PB_SIZE_MAX)
		fail(w, -E2BIG);
	if (w->error)
		return NULL;
	left = o->cap - o->used;
	all = left > n ? left : n + AHEAD;
	w->at = iov_buf_room(o, all);
	if (!w->at) {
		fail(w, -ENOMEM);
		return NULL;
	}
	w->end = w->at + all;
	return w->at;
}

void pb_open(struct pb_writer *w, uint32_t field)
{
	uint8_t *at = w->depth < PB_DEPTH_MAX ? pb_room(w, PB_TAG_MAX + 1) : NULL;

	if (w->depth >= PB_DEPTH_MAX)
		fail(w, -E2BIG);
	w->depth++;
	if (!at)
		return;
	at = pb_put_tag(at, field, PB_LENGTH) + 1;
	pb_wrote(w, at);
	w->open[w->depth - 1] = (size_t)(at - w->out->buf);
}

void pb_close(struct pb_writer *w)
{
	size_t len, more;
	uint8_t *at;

	w->depth--;
	if (w->error || !pb_room(w, PB_TAG_MAX)) /* maximum size of tag and length */
		return;
	at = w->out->buf + w->open[w->depth];
	len = (size_t)(w->at - at);
	if (len > PB_SIZE_MAX) {
		fail(w, -E2BIG);
		return;
	}
	more = pb_varint_size(len) - 1;
	if (more)
		memmove(at + more, at, len);
	pb_put_varint(at - 1, len);
	w->at += more;
}

/* Writes the tag and the length of the following value. */
static bool head(struct pb_writer *w, uint32_t field, size_t len, size_t room)
{
	uint8_t *at;

	if (len > PB_SIZE_MAX)
		fail(w, -E2BIG);
	at = w->error ? NULL : pb_room(w, PB_TAG_MAX + PB_VARINT_MAX + room);
	if (at)
		pb_wrote(w, pb_put_varint(pb_put_tag(at, field, PB_LENGTH), len));
	return at != NULL;
}

void *pb_bytes_room(struct pb_writer *w, uint32_t field, size_t len)
{
	uint8_t *at;

	if (!head(w, field, len, len) || !len)
		return NULL;
	at = w->at;
	w->at += len;
	return at;
}

void pb_string(struct pb_writer *w, uint32_t field, const char *s, size_t len)
{
	void *at = pb_bytes_room(w, field, len);

	if (at)
		memcpy(at, s, len);
}

void pb_bytes(struct pb_writer *w, uint32_t field, const void *p, size_t len)
{
	int r;

	if (len < IOV_BUF_REF_MIN || w->depth) {
		pb_string(w, field, p, len);
		w->out->copied += len;
		return;
	}
	if (!head(w, field, len, 0))
		return;
	settle(w);
	r = iov_buf_array(w->out, p, len);
	if (r < 0)
		fail(w, r);
}
