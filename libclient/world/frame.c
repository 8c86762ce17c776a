/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h */
#include "frame.h"

#include <errno.h>
#include <string.h>

#include "mem.h"

#define ROOM_LEAST 4096u

void frame_reader_init(struct frame_reader *r, uint32_t max)
{
	*r = (struct frame_reader){ .max = max };
}

void frame_reader_finish(struct frame_reader *r)
{
	mem_free(r->data);
	*r = (struct frame_reader){ 0 };
}

static uint32_t length_at(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/*
 * Bytes that the frame that has begun still needs, as far as known and within max; at least ROOM_LEAST, also if it is
 * complete and unread.
 */
static size_t wanted(const struct frame_reader *r)
{
	size_t have = r->end - r->begin, whole = have;

	if (have >= 4 && length_at(r->data + r->begin) <= r->max)
		whole = 4 + (size_t)length_at(r->data + r->begin);
	return whole > have + ROOM_LEAST ? whole - have : ROOM_LEAST;
}

int frame_reader_room(struct frame_reader *r, uint8_t **ret, size_t *ret_size)
{
	size_t more = wanted(r), have = r->end - r->begin;
	uint8_t *data;

	if (r->size - r->end < more && r->begin) {
		memmove(r->data, r->data + r->begin, have);
		r->begin = 0;
		r->end = have;
	}
	if (r->size - r->end < more) {
		data = mem_realloc(r->data, r->end + more);
		if (!data)
			return -ENOMEM;
		r->data = data;
		r->size = r->end + more;
	}
	*ret = r->data + r->end;
	*ret_size = r->size - r->end;
	return 0;
}

void frame_reader_add(struct frame_reader *r, size_t n)
{
	r->end += n;
}

int frame_next(struct frame_reader *r, struct frame *ret)
{
	size_t have = r->end - r->begin;
	uint32_t len;

	if (have < 4)
		return 0;
	len = length_at(r->data + r->begin);
	if (!len)
		return -EBADMSG;
	if (len > r->max)
		return -EMSGSIZE;
	if (have < 4 + (size_t)len)
		return 0;
	*ret = (struct frame){ .code = r->data[r->begin + 4], .body = r->data + r->begin + FRAME_HEAD, .len = len - 1 };
	r->begin += 4 + (size_t)len;
	if (r->begin == r->end)
		r->begin = r->end = 0;
	return 1;
}

bool frame_reader_is_amid(const struct frame_reader *r)
{
	return r->begin != r->end;
}

/* ---- out ---- */

size_t frame_begin(struct wire_buf *b, uint8_t code)
{
	const uint8_t head[FRAME_HEAD] = { 0, 0, 0, 0, code };
	size_t begin = b->len;

	wire_append(b, head, sizeof(head));
	return begin;
}

int frame_end(struct wire_buf *b, size_t begin, uint32_t max)
{
	size_t len = b->failed ? 0 : b->len - begin - 4;

	if (b->failed || len > max) {
		int r = b->failed ? -ENOMEM : -EMSGSIZE;

		b->len = begin;
		b->failed = false;
		return r;
	}
	for (unsigned i = 0; i < 4; i++)
		b->data[begin + i] = (uint8_t)(len >> 8 * i);
	return 0;
}
