/* SPDX-License-Identifier: Apache-2.0 */
/* The envelope in bytes. See codec.h. */
#include "codec.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "err.h"
#include "mem.h"

#define NUMBER_MAX   0x1fffffffu /* largest number of a field in the encoding */
#define WIRE_VARINT  0
#define WIRE_FIXED64 1
#define WIRE_BYTES   2
#define WIRE_FIXED32 5

/* ---- memory: the memory of a request is bounded, however its bytes are arranged ---- */

#define BLOCK_HEAD 16 /* keeps the alignment; holds the size */

static void *bounded_alloc(void *arg, size_t size)
{
	struct request *q = arg;
	uint8_t *p;

	if (size > CODEC_MEMORY_MAX || q->memory_used + size + BLOCK_HEAD > CODEC_MEMORY_MAX)
		return NULL;
	p = mem_alloc(size + BLOCK_HEAD);
	if (!p)
		return NULL;
	q->memory_used += size + BLOCK_HEAD;
	memcpy(p, &size, sizeof(size));
	return p + BLOCK_HEAD;
}

static void bounded_free(void *arg, void *p)
{
	struct request *q = arg;
	size_t size;

	if (!p)
		return;
	memcpy(&size, (uint8_t *)p - BLOCK_HEAD, sizeof(size));
	q->memory_used -= size + BLOCK_HEAD;
	mem_free((uint8_t *)p - BLOCK_HEAD);
}

static ProtobufCAllocator allocator(struct request *q)
{
	return (ProtobufCAllocator){ .alloc = bounded_alloc, .free = bounded_free, .allocator_data = q };
}

/* ---- the number of the request, also of a malformed one ---- */

struct cursor {
	const uint8_t *at, *end;
};

static bool take_varint(struct cursor *c, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static bool skip(struct cursor *c, uint64_t n)
{
	if (n > (uint64_t)(c->end - c->at))
		return false;
	c->at += n;
	return true;
}

static bool skip_value(struct cursor *c, unsigned wire)
{
	uint64_t n;

	switch (wire) {
	case WIRE_VARINT:
		return take_varint(c, &n);
	case WIRE_FIXED64:
		return skip(c, 8);
	case WIRE_BYTES:
		return take_varint(c, &n) && skip(c, n);
	case WIRE_FIXED32:
		return skip(c, 4);
	default:
		return false;
	}
}

/* The last member of the envelope counts, as in any oneof. */
static uint32_t find_number(const void *data, size_t len)
{
	struct cursor c = { data, (const uint8_t *)data + len };
	uint32_t number = 0;
	uint64_t tag;

	while (c.at < c.end && take_varint(&c, &tag)) {
		if (tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
			break;
		if ((tag & 7) == WIRE_BYTES)
			number = (uint32_t)(tag >> 3);
		if (!skip_value(&c, tag & 7))
			break;
	}
	return number;
}

/* ---- both directions ---- */

int request_decode(struct request *ret, const void *data, size_t len)
{
	ProtobufCAllocator a = allocator(ret);

	*ret = (struct request){ .number = len ? find_number(data, len) : 0 };
	if (len > CODEC_REQUEST_MAX)
		return err_set(-EMSGSIZE, "the request has %zu bytes, %zu at most are read", len, CODEC_REQUEST_MAX);
	if (!ret->number)
		return err_set(-EBADMSG, "these %zu bytes are not a request of scenario_simulator_v2", len);
	ret->msg = ss2__request__unpack(&a, len, data);
	if (!ret->msg)
		return err_set(-EBADMSG, "request %u is malformed, or takes too much memory", ret->number);
	return 0;
}

void request_finish(struct request *q)
{
	ProtobufCAllocator a = allocator(q);

	if (q->msg)
		ss2__request__free_unpacked(q->msg, &a);
	q->msg = NULL;
}

static size_t put_varint(uint8_t *at, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		at[n++] = (uint8_t)(v | 0x80);
	at[n++] = (uint8_t)v;
	return n;
}

int answer_encode(uint32_t number, const Ss2__UpdateEntityStatusResponse *answer, uint8_t **ret, size_t *ret_len)
{
	size_t body = ss2__update_entity_status_response__get_packed_size(answer), n;
	uint8_t *p = mem_alloc(body + 20); /* two numbers of 10 bytes at most */

	if (!p)
		return err_nomem();
	n = put_varint(p, (uint64_t)(number ? number : 1) << 3 | WIRE_BYTES);
	n += put_varint(p + n, body);
	n += ss2__update_entity_status_response__pack(answer, p + n);
	*ret = p;
	*ret_len = n;
	return 0;
}
