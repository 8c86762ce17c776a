/* SPDX-License-Identifier: Apache-2.0 */
/* See plain_file.h. Omitting fields only makes lengths smaller, so the copy never overtakes its source. */
#include "gen/plain_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 64u

/*
 * Messages of google/protobuf/descriptor.proto; kind_of() has its field numbers. LEFT_OUT: fields that protoc adds
 * (source_code_info, json_name).
 */
enum kind { NONE, LEFT_OUT, FILE_PROTO, MESSAGE_PROTO, FIELD_PROTO };

static enum kind kind_of(enum kind in, uint64_t field)
{
	if (in == FILE_PROTO)
		return field == 4 ? MESSAGE_PROTO : field == 7 ? FIELD_PROTO : field == 9 ? LEFT_OUT : NONE;
	if (in == MESSAGE_PROTO)
		return field == 3 ? MESSAGE_PROTO : field == 2 || field == 6 ? FIELD_PROTO : NONE;
	return in == FIELD_PROTO && field == 10 ? LEFT_OUT : NONE;
}

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static size_t put_varint(uint64_t v, uint8_t out[10])
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (uint8_t)(v | 0x80);
	out[n++] = (uint8_t)v;
	return n;
}

/* The end of a field of that wire type; NULL: beyond the message. len: length of its content, which ends there. */
static const uint8_t *end_of(uint64_t wire, const uint8_t *at, const uint8_t *end, uint64_t *len)
{
	*len = wire == 1 ? 8 : wire == 5 ? 4 : 0;
	if (wire != 1 && wire != 5 && ((wire != 0 && wire != 2) || !read_varint(&at, end, len)))
		return NULL;
	if (wire == 0)
		*len = 0;
	return *len <= (size_t)(end - at) ? at + *len : NULL;
}

static bool copy(const uint8_t *at, const uint8_t *end, enum kind kind, unsigned depth, uint8_t **out);

/* Copies a nested message, whose key is already written. */
static bool copy_within(const uint8_t *at, size_t len, enum kind kind, unsigned depth, uint8_t **out)
{
	uint8_t head[10], *body = *out + put_varint(len, head), *to = body;
	size_t n;

	if (!depth || !copy(at, at + len, kind, depth - 1, &to))
		return false;
	len = (size_t)(to - body);
	n = put_varint(len, head);
	memmove(*out + n, body, len);
	memcpy(*out, head, n);
	*out += n + len;
	return true;
}

static bool copy(const uint8_t *at, const uint8_t *end, enum kind kind, unsigned depth, uint8_t **out)
{
	while (at < end) {
		const uint8_t *begin = at, *next;
		uint64_t key, len;
		enum kind in;
		size_t head;

		if (!read_varint(&at, end, &key))
			return false;
		next = end_of(key & 7, at, end, &len);
		if (!next)
			return false;
		in = (key & 7) == 2 ? kind_of(kind, key >> 3) : NONE;
		head = (size_t)((in == NONE ? next : at) - begin);
		at = next;
		if (in == LEFT_OUT)
			continue;
		memmove(*out, begin, head);
		*out += head;
		if (in != NONE && !copy_within(next - len, len, in, depth, out))
			return false;
	}
	return true;
}

long plain_file(const void *file, size_t len, void *out)
{
	const uint8_t *at = file;
	uint8_t *to = out;

	if (!copy(at, at + len, FILE_PROTO, DEPTH_MAX, &to))
		return -EBADMSG;
	return to - (uint8_t *)out;
}
