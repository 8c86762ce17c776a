/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends messages piece by piece: whole, or, if longer than the server may accept, in fragments, each an operation that
 * contains a part of the text. Thread: the link's.
 */
#include <stdio.h>
#include <string.h>

#include "rosbridge.h"

static uint8_t byte_at(const struct sending *s, size_t at)
{
	unsigned i = 0;

	for (; at >= s->piece[i].iov_len; i++)
		at -= s->piece[i].iov_len;
	return ((const uint8_t *)s->piece[i].iov_base)[at];
}

/* The next contiguous bytes of the message, at most *n. */
static const uint8_t *look(const struct sending *s, size_t *n)
{
	const struct iovec *v = &s->piece[s->at_piece];

	*n = *n < v->iov_len - s->at_byte ? *n : v->iov_len - s->at_byte;
	return (const uint8_t *)v->iov_base + s->at_byte;
}

static void skip(struct sending *s, size_t n)
{
	s->at += n;
	s->at_byte += n;
	if (s->at_byte == s->piece[s->at_piece].iov_len) {
		s->at_piece++;
		s->at_byte = 0;
	}
}

static void done(void *bridge, const struct outbox_item *i, int result)
{
	struct sim_bridge *b = bridge;

	(void)result;
	if (i->body)
		topics_put_buf(&b->common, i->body);
}

const struct outbox_ops rosbridge_outbox_ops = { .done = done };

/* Takes the next message: an operation whose last field is the body. */
static bool begin(struct sim_bridge *b)
{
	struct sending *s = &b->sending;
	size_t size = (size_t)b->fragment_size;
	void *head = s->head;
	int64_t wait_dur_ns;

	s->item = outbox_take(&b->outbox, mono_now_ns(), &wait_dur_ns);
	if (!s->item)
		return false;
	s->n = s->at_piece = 0;
	s->at = s->at_byte = s->part = s->parts = 0;
	s->begun = false;
	s->total = s->item->text_len;
	if (s->item->text)
		head = s->item->text;
	else
		s->total = (size_t)snprintf(s->head, sizeof(s->head),
					    "{\"op\":\"publish\",\"topic\":\"%s\",\"msg\":", s->item->topic->name);
	s->piece[s->n++] = (struct iovec){ head, s->total };
	if (s->item->body) {
		s->n += iov_buf_iov(s->item->body, s->piece + s->n);
		s->piece[s->n++] = (struct iovec){ (void *)(uintptr_t) "}", 1 };
		s->total += s->item->size + 1;
	}
	if (size && s->total > size) {
		s->parts = (s->total + size - 1) / size;
		s->id = ++b->n_fragmented;
	}
	return true;
}

void sending_drop(struct sim_bridge *b)
{
	if (b->sending.item)
		outbox_done(&b->outbox, b->sending.item, 0, mono_now_ns());
	b->sending.item = NULL;
}

static size_t fill_plain(struct sending *s, uint8_t *to, size_t room)
{
	size_t at = 0;

	while (at < room && s->at < s->total) {
		size_t n = room - at;
		const uint8_t *from = look(s, &n);

		memcpy(to + at, from, n);
		skip(s, n);
		at += n;
	}
	return at;
}

/* ---- fragments ---- */

/* Start of part i: i * size, or up to three bytes before it, so that no UTF-8 character is split. */
static size_t cut(const struct sending *s, size_t size, size_t i)
{
	size_t at = i * size;

	if (at >= s->total)
		return s->total;
	while (at && (byte_at(s, at) & 0xc0) == 0x80)
		at--;
	return at;
}

#define PART_ROOM 160u /* room for the text of a fragment's operation around the data */

static size_t escape(uint8_t *to, const uint8_t *from, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		if (from[i] == '"' || from[i] == '\\')
			to[at++] = '\\';
		to[at++] = from[i];
	}
	return at;
}

/* Each part is one WebSocket message. After the end of a part the next call begins the next one. */
static size_t fill_part(struct sim_bridge *b, uint8_t *to, size_t room, bool *ret_last)
{
	struct sending *s = &b->sending;
	size_t at = 0;

	if (!s->begun) {
		s->part_end = cut(s, (size_t)b->fragment_size, s->part + 1);
		at = (size_t)snprintf((char *)to, room, "{\"op\":\"fragment\",\"id\":\"simd-%llu\",\"data\":\"",
				      (unsigned long long)s->id);
	}
	while (room - at > PART_ROOM && s->at < s->part_end) {
		size_t n = s->part_end - s->at;
		const uint8_t *from;

		n = n < (room - at - PART_ROOM + 1) / 2 ? n : (room - at - PART_ROOM + 1) / 2;
		from = look(s, &n);
		at += escape(to + at, from, n);
		skip(s, n);
	}
	*ret_last = s->at == s->part_end;
	if (*ret_last)
		at += (size_t)snprintf((char *)to + at, room - at, "\",\"num\":%zu,\"total\":%zu}", s->part++,
				       s->parts);
	return at;
}

size_t sending_fill(struct sim_bridge *b, uint8_t *to, size_t room, bool *ret_first, bool *ret_last)
{
	struct sending *s = &b->sending;
	size_t n;

	if (!s->item && !begin(b))
		return 0;
	*ret_first = !s->begun;
	if (s->parts) {
		n = fill_part(b, to, room, ret_last);
	} else {
		n = fill_plain(s, to, room);
		*ret_last = s->at == s->total;
	}
	s->begun = !*ret_last;
	if (*ret_last && s->at == s->total)
		sending_drop(b);
	return n;
}
