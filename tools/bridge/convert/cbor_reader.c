/* SPDX-License-Identifier: Apache-2.0 */
/* See cbor_reader.h. Values are read only after skip() has checked them. */
#include "cbor_reader.h"

#include <math.h>

#include "named_private.h"
#include "utf8.h"

enum { UINT = 0, NEGATIVE = 1, BYTES = 2, TEXT = 3, ARRAY = 4, MAP = 5, TAG = 6, SIMPLE = 7 };
enum { FALSE = 20, TRUE = 21, NONE = 22, UNDEFINED = 23, HALF = 25, FLOAT = 26, DOUBLE = 27, OPEN = 31 };
#define BREAK 0xff

struct head {
	unsigned major, info;
	uint64_t v;
	const uint8_t *next; /* after it; NULL: malformed */
};

static uint64_t get_be(const uint8_t *at, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v = v << 8 | at[i];
	return v;
}

static struct head head_at(const struct named_reader *r, const uint8_t *at)
{
	struct head h = { .major = *at >> 5, .info = *at & 31, .v = *at & 31, .next = at + 1 };
	unsigned more = h.info >= 24 && h.info < 28 ? 1u << (h.info - 24) : 0;

	if (more > (size_t)(r->end - h.next) || (h.info >= 28 && h.info != OPEN) ||
	    (h.info == OPEN && h.major != ARRAY && h.major != MAP)) {
		h.next = NULL;
	} else if (more) {
		h.v = get_be(h.next, more);
		h.next += more;
	}
	return h;
}

/* The head of a value after its tags; *ret_tag is the last tag, 0: none. */
static struct head untagged(const struct named_reader *r, const uint8_t *at, uint64_t *ret_tag)
{
	struct head h = head_at(r, at);

	*ret_tag = 0;
	while (h.next && h.major == TAG) {
		*ret_tag = h.v;
		if (h.next < r->end)
			h = head_at(r, h.next);
		else
			h.next = NULL;
	}
	return h;
}

/* ---- form ---- */

static void cbor_enter(struct named_reader *r, struct named_iter *i, const uint8_t *at)
{
	uint64_t tag;
	struct head h = untagged(r, at, &tag);

	*i = (struct named_iter){ .at = h.next, .left = h.v, .open = h.info == OPEN };
}

static const uint8_t *skip_bytes(struct named_reader *r, struct head h)
{
	if (h.v > (size_t)(r->end - h.next))
		return named_fail(r, -EBADMSG);
	return h.next + h.v;
}

static const uint8_t *key(struct named_reader *r, struct named_iter *i)
{
	struct head h = head_at(r, i->at);

	if (!h.next || h.major != TEXT)
		return named_fail(r, -EBADMSG);
	i->key = (const char *)h.next;
	i->key_len = (size_t)h.v;
	return skip_bytes(r, h);
}

static const uint8_t *cbor_next(struct named_reader *r, struct named_iter *i, bool map)
{
	if (!i->open && !i->left)
		return NULL;
	if (i->at == r->end)
		return named_fail(r, -EBADMSG);
	if (i->open && *i->at == BREAK) {
		i->at++;
		return NULL;
	}
	i->left -= !i->open;
	if (map)
		i->at = key(r, i);
	return i->at && i->at < r->end ? i->at : named_fail(r, -EBADMSG);
}

static const uint8_t *cbor_skip(struct named_reader *r, const uint8_t *at, unsigned depth)
{
	uint64_t tag;
	struct head h = untagged(r, at, &tag);
	struct named_iter i;
	const uint8_t *v;

	if (!h.next)
		return named_fail(r, (h.major == BYTES || h.major == TEXT) && h.info == OPEN ? -ENOTSUP : -EBADMSG);
	if (h.major == BYTES || h.major == TEXT)
		return skip_bytes(r, h);
	if (h.major != ARRAY && h.major != MAP)
		return h.next;
	if (!depth)
		return named_fail(r, -EMSGSIZE);
	for (cbor_enter(r, &i, at); (v = cbor_next(r, &i, h.major == MAP));) {
		i.at = cbor_skip(r, v, depth - 1);
		if (!i.at)
			return NULL;
	}
	return r->dec.err ? NULL : i.at;
}

static enum named_what cbor_what(const struct named_reader *r, const uint8_t *at)
{
	uint64_t tag;
	struct head h = untagged(r, at, &tag);

	if (h.next && h.major == SIMPLE && (h.info == NONE || h.info == UNDEFINED))
		return NAMED_NULL;
	return !h.next ? NAMED_OTHER : h.major == MAP ? NAMED_MAP : h.major == ARRAY ? NAMED_LIST : NAMED_OTHER;
}

static const char *cbor_string(struct named_reader *r, const uint8_t *at, size_t *ret_len)
{
	uint64_t tag;
	struct head h = untagged(r, at, &tag);

	if (h.major != TEXT || utf8_prefix((const char *)h.next, h.v) < h.v)
		return named_fail(r, -EBADMSG);
	*ret_len = (size_t)h.v;
	return (const char *)h.next;
}

/* ---- numbers ---- */

static double half(uint32_t h)
{
	double v = (h >> 10 & 31) == 31 ? (h & 1023 ? (double)NAN : (double)INFINITY)
		   : h >> 10 & 31       ? ldexp((h & 1023) + 1024.0, (int)(h >> 10 & 31) - 25)
					: ldexp(h & 1023, -24);

	return h >> 15 ? -v : v;
}

/* IEEE 754 of 2, 4 or 8 bytes, the bits in v. */
static double real_of(uint64_t v, unsigned bytes)
{
	uint32_t bits = (uint32_t)v;
	float f;
	double d;

	if (bytes == 2)
		return half(bits);
	memcpy(&f, &bits, sizeof(f));
	memcpy(&d, &v, sizeof(d));
	return bytes == 4 ? (double)f : d;
}

/* Stores v as an integer kind, if it is a whole number that fits. */
static bool store_real(enum sim_kind kind, double v, void *ret)
{
	if (kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64) {
		named_store_real(kind, v, ret);
		return true;
	}
	return v > -0x1p53 && v < 0x1p53 && (double)(int64_t)v == v &&
	       named_store_integer(kind, v < 0, (uint64_t)(int64_t)v, ret);
}

static void cbor_number(struct named_reader *r, const uint8_t *at, enum sim_kind kind, void *ret)
{
	uint64_t tag;
	struct head h = untagged(r, at, &tag);
	bool ok = false;

	if (h.major == UINT)
		ok = named_store_integer(kind, false, h.v, ret);
	else if (h.major == NEGATIVE)
		ok = h.v <= INT64_MAX && named_store_integer(kind, true, ~h.v, ret);
	else if (h.major == SIMPLE && (h.info == FALSE || h.info == TRUE))
		ok = kind == SIM_KIND_BOOL && named_store_integer(kind, false, h.info == TRUE, ret);
	else if (h.major == SIMPLE && h.info >= HALF && h.info <= DOUBLE)
		ok = store_real(kind, real_of(h.v, 1u << (h.info - 24)), ret);
	if (!ok)
		sim_dec_fail(&r->dec, -EBADMSG);
}

/* ---- arrays ---- */

/* Decoded tag of RFC 8746: 0 b010 f s e ll: float, signed, little-endian, width. */
struct typed {
	bool is, real, is_signed, little;
	unsigned bytes; /* of an element */
};

static struct typed typed_of(uint64_t tag)
{
	struct typed t = { .is = tag >= 64 && tag <= 87 && tag != 76, .real = tag & 16 };

	t.is_signed = tag & 8 && !t.real;
	t.little = tag & 4;
	t.bytes = 1u << ((tag & 3) + t.real);
	return t;
}

static bool same(struct typed t, enum sim_kind kind)
{
	bool real = kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64;
	bool is_signed =
		kind == SIM_KIND_INT8 || kind == SIM_KIND_INT16 || kind == SIM_KIND_INT32 || kind == SIM_KIND_INT64;

	return kind != SIM_KIND_BOOL && t.real == real && t.is_signed == is_signed && t.bytes == named_size(kind) &&
	       (t.little || t.bytes == 1);
}

static uint64_t element(struct typed t, const uint8_t *at)
{
	uint64_t v = 0;

	if (!t.little)
		return get_be(at, t.bytes);
	memcpy(&v, at, t.bytes);
	return v;
}

/* Converts numbers of another kind or byte order. */
static const void *convert(struct named_reader *r, struct typed t, const uint8_t *from, size_t n, enum sim_kind kind)
{
	uint8_t *to = named_alloc(r, n * named_size(kind));
	unsigned shift = 64 - 8 * t.bytes;
	bool ok = true;

	for (size_t i = 0; to && ok && i < n; i++) {
		uint64_t v = element(t, from + i * t.bytes);
		void *ret = to + i * named_size(kind);

		if (t.is_signed)
			v = (uint64_t)((int64_t)(v << shift) >> shift);
		ok = t.real ? store_real(kind, real_of(v, t.bytes), ret)
			    : named_store_integer(kind, t.is_signed && v >> 63, v, ret);
	}
	return ok ? to : named_fail(r, -EBADMSG);
}

static const void *typed_array(struct named_reader *r, struct head h, uint64_t tag, enum sim_kind kind, uint32_t *ret_n)
{
	struct typed t = typed_of(tag);
	size_t n;

	if (!t.is) /* a byte string is uint8[] */
		t = (struct typed){ .is = kind == SIM_KIND_UINT8, .bytes = 1 };
	n = (size_t)h.v / t.bytes;
	if (t.bytes > 8)
		return named_fail(r, -ENOTSUP);
	if (!t.is || h.v % t.bytes || n > UINT32_MAX)
		return named_fail(r, -EBADMSG);
	*ret_n = (uint32_t)n;
	return !n || same(t, kind) ? h.next : convert(r, t, h.next, n, kind);
}

static const void *cbor_array(struct named_reader *r, const uint8_t *at, enum sim_kind kind, uint32_t *ret_n)
{
	size_t size = named_size(kind), n = 0;
	struct named_iter i;
	const uint8_t *v;
	uint64_t tag;
	struct head h = untagged(r, at, &tag);
	uint8_t *to;

	if (h.major == BYTES)
		return typed_array(r, h, tag, kind, ret_n);
	if (h.major != ARRAY)
		return named_fail(r, -EBADMSG);
	for (cbor_enter(r, &i, at); (v = cbor_next(r, &i, false)); n++)
		i.at = cbor_skip(r, v, NAMED_DEPTH);
	if (n > UINT32_MAX)
		return named_fail(r, -EMSGSIZE);
	to = n ? named_alloc(r, n * size) : NULL;
	n = 0;
	for (cbor_enter(r, &i, at); to && !r->dec.err && (v = cbor_next(r, &i, false)); n++) {
		memset(to + n * size, 0, size);
		if (cbor_what(r, v) == NAMED_NULL && (kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64))
			named_store_real(kind, (double)NAN, to + n * size);
		else
			cbor_number(r, v, kind, to + n * size);
		i.at = cbor_skip(r, v, NAMED_DEPTH);
	}
	*ret_n = (uint32_t)n;
	return to;
}

static const struct named_format cbor_format = {
	.what = cbor_what,
	.skip = cbor_skip,
	.enter = cbor_enter,
	.next = cbor_next,
	.number = cbor_number,
	.string = cbor_string,
	.array = cbor_array,
};

void cbor_reader_begin(struct named_reader *r, const void *data, size_t len)
{
	named_begin(r, &cbor_format, data, len);
}
