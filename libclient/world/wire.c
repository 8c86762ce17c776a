/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h */
#include "wire.h"

#include <string.h>

#include "mem.h"

void wire_buf_finish(struct wire_buf *b)
{
	mem_free(b->data);
	*b = (struct wire_buf){ 0 };
}

uint8_t *wire_room(struct wire_buf *b, size_t n)
{
	if (b->size - b->len < n) {
		size_t size = b->size < 128 ? 256 : b->size * 2;
		uint8_t *data;

		if (size - b->len < n)
			size = b->len + n;
		data = b->fixed ? NULL : mem_realloc(b->data, size);
		if (!data) {
			b->failed = true;
			return NULL;
		}
		b->data = data;
		b->size = size;
	}
	return b->data + b->len;
}

void wire_append(struct wire_buf *b, const void *p, size_t n)
{
	uint8_t *at = n ? wire_room(b, n) : NULL;

	if (!at)
		return;
	memcpy(at, p, n);
	b->len += n;
}

static uint8_t *put_tag(uint8_t *at, unsigned field, enum wire_type type)
{
	return wire_put(at, (uint64_t)field << 3 | type);
}

void wire_u64(struct wire_buf *b, unsigned field, uint64_t v)
{
	uint8_t *at = wire_room(b, 2 * WIRE_VARINT_MAX);

	if (at)
		b->len = (size_t)(wire_put(put_tag(at, field, WIRE_VARINT), v) - b->data);
}

void wire_fixed64(struct wire_buf *b, unsigned field, uint64_t v)
{
	uint8_t *at = wire_room(b, WIRE_VARINT_MAX + sizeof(v));

	if (!at)
		return;
	at = put_tag(at, field, WIRE_FIXED64);
	memcpy(at, &v, sizeof(v));
	b->len = (size_t)(at - b->data) + sizeof(v);
}

void wire_doubles(struct wire_buf *b, unsigned field, const double *v, unsigned n)
{
	uint8_t *at = wire_room(b, 2 * WIRE_VARINT_MAX + n * (1 + sizeof(*v)));
	uint64_t bits, zero = 0;
	unsigned len = 0;

	for (unsigned i = 0; i < n; i++)
		len += memcmp(&v[i], &zero, sizeof(zero)) ? 1 + (unsigned)sizeof(bits) : 0;
	if (!at || !len)
		return;
	at = wire_put(put_tag(at, field, WIRE_LENGTH), len);
	for (unsigned i = 0; i < n; i++) {
		memcpy(&bits, &v[i], sizeof(bits));
		if (!bits)
			continue;
		*at++ = (uint8_t)((i + 1) << 3 | WIRE_FIXED64);
		memcpy(at, &bits, sizeof(bits));
		at += sizeof(bits);
	}
	b->len = (size_t)(at - b->data);
}

void wire_bytes(struct wire_buf *b, unsigned field, const void *p, size_t n)
{
	uint8_t *at = wire_room(b, 2 * WIRE_VARINT_MAX + n);

	if (!at)
		return;
	at = wire_put(put_tag(at, field, WIRE_LENGTH), n);
	if (n)
		memcpy(at, p, n);
	b->len = (size_t)(at - b->data) + n;
}

/* ---- reading ---- */

static bool fail(struct wire_cursor *c)
{
	c->bad = true;
	c->at = c->end;
	return false;
}

bool wire_varint(struct wire_cursor *c, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		v |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (byte < 0x80) {
			*ret = v;
			return true;
		}
	}
	return fail(c);
}

static bool fixed(struct wire_cursor *c, struct wire_field *f, size_t n)
{
	if ((size_t)(c->end - c->at) < n)
		return fail(c);
	f->value = 0;
	memcpy(&f->value, c->at, n);
	c->at += n;
	return true;
}

bool wire_next(struct wire_cursor *c, struct wire_field *ret)
{
	struct wire_field f = { .begin = c->at };
	uint64_t tag;

	if (c->at == c->end || !wire_varint(c, &tag))
		return false;
	f.number = (uint32_t)(tag >> 3);
	f.type = tag & 7;
	if (!f.number || tag > UINT32_MAX)
		return fail(c);
	switch (f.type) {
	case WIRE_VARINT:
		if (!wire_varint(c, &f.value))
			return false;
		break;
	case WIRE_FIXED64:
		if (!fixed(c, &f, 8))
			return false;
		break;
	case WIRE_FIXED32:
		if (!fixed(c, &f, 4))
			return false;
		break;
	case WIRE_LENGTH:
		if (!wire_varint(c, &f.value) || f.value > (size_t)(c->end - c->at))
			return fail(c);
		f.data = c->at;
		c->at += f.value;
		break;
	default:
		return fail(c);
	}
	*ret = f;
	return true;
}
