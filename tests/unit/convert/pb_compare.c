/* SPDX-License-Identifier: Apache-2.0 */
/* See pb_compare.h: what we read is put into protobuf-c's struct, and both are packed by it. */
#include "unit/convert/pb_compare.h"

#include <errno.h>
#include <stdlib.h>

/* What protobuf-c takes all the same: a bool of another wire type, and a field of a number that there is not. */
static bool odd_bool, odd_number;

/* One more element behind n of them. */
static void *more(void *p, size_t n, size_t size)
{
	if (n & (n - 1)) /* grown when it was a power of two */
		return p;
	p = realloc(p, (n ? 2 * n : 1) * size);
	if (!p)
		abort();
	return p;
}

#define APPEND(m, name, value) \
	do { \
		(m)->name = more((m)->name, (m)->n_##name, sizeof(*(m)->name)); \
		(m)->name[(m)->n_##name++] = (value); \
	} while (0)

static void *copy(const struct pb_reader *r, size_t *ret_len)
{
	const void *p = NULL;
	char *s;

	*ret_len = 0;
	if (!pb_get_bytes(r, &p, ret_len))
		return NULL;
	s = malloc(*ret_len + 1);
	if (!s)
		abort();
	memcpy(s, p, *ret_len);
	s[*ret_len] = '\0';
	return s;
}

static void read_text(const struct pb_reader *r, PbTest__Every *m)
{
	size_t len;
	char *s = copy(r, &len);

	if (!s)
		return;
	free(m->text);
	m->text = s;
}

static void read_raw(const struct pb_reader *r, PbTest__Every *m)
{
	size_t len;
	uint8_t *s = copy(r, &len);

	if (!s)
		return;
	free(m->raw.data);
	m->raw = (ProtobufCBinaryData){ .data = s, .len = len };
	m->has_raw = true;
}

static void read_word(const struct pb_reader *r, PbTest__Every *m)
{
	size_t len;
	char *s = copy(r, &len);

	if (s)
		APPEND(m, words, s);
}

static void read_message(struct pb_reader *r, PbTest__Every *m);

static PbTest__Every *nested(const struct pb_reader *r, PbTest__Every *m)
{
	struct pb_reader in;

	if (!m) {
		m = malloc(sizeof(*m));
		if (!m)
			abort();
		pb_test__every__init(m);
	}
	pb_enter(r, &in);
	read_message(&in, m);
	return m;
}

static bool read_scalar(const struct pb_reader *r, PbTest__Every *m)
{
	bool flag = m->flag;
	int32_t kind;

	switch (r->field) {
	case 1:
		return m->has_i32 |= pb_get_i32(r, &m->i32);
	case 2:
		return m->has_i64 |= pb_get_i64(r, &m->i64);
	case 3:
		return m->has_u32 |= pb_get_u32(r, &m->u32);
	case 4:
		return m->has_u64 |= pb_get_u64(r, &m->u64);
	case 5:
		odd_bool |= r->wire != PB_VARINT;
		m->has_flag |= pb_get_bool(r, &flag);
		m->flag = flag;
		return true;
	case 6:
		return m->has_f64 |= pb_get_f64(r, &m->f64);
	case 7:
		return m->has_f32 |= pb_get_f32(r, &m->f32);
	case 10:
		if (pb_get_i32(r, &kind)) {
			m->kind = (PbTest__Every__Kind)kind;
			m->has_kind = true;
		}
		return true;
	case 536870911:
		return m->has_far |= pb_get_u32(r, &m->far);
	default:
		return false;
	}
}

static void read_repeated(struct pb_reader *r, PbTest__Every *m)
{
	uint64_t u;
	double d;
	float f;

	switch (r->field) {
	case 13:
		while (pb_item_f64(r, &d))
			APPEND(m, doubles, d);
		break;
	case 14:
		while (pb_item_f32(r, &f))
			APPEND(m, floats, f);
		break;
	case 15:
		while (pb_item_u64(r, &u))
			APPEND(m, numbers, u);
		break;
	case 16:
		while (pb_item_u64(r, &u))
			APPEND(m, loose, (int32_t)u);
		break;
	case 17:
		while (pb_item_f64(r, &d))
			APPEND(m, loose_doubles, d);
		break;
	default:
		break;
	}
}

static void read_message(struct pb_reader *r, PbTest__Every *m)
{
	int before = *r->error;

	while (pb_next(r)) {
		if (read_scalar(r, m))
			continue;
		if (r->field == 8)
			read_text(r, m);
		else if (r->field == 9)
			read_raw(r, m);
		else if (r->field == 11 && r->wire == PB_LENGTH)
			m->one = nested(r, m->one);
		else if (r->field == 12 && r->wire == PB_LENGTH)
			APPEND(m, many, nested(r, NULL));
		else if (r->field == 18)
			read_word(r, m);
		else
			read_repeated(r, m);
	}
	odd_number |= !before && *r->error && (!r->field || r->field >> 29);
}

/* What protobuf-c keeps of fields that it does not know is not compared; nor are empty bytes, which it loses when it merges. */
static void forget_odd(PbTest__Every *m)
{
	ProtobufCMessage *base = &m->base;

	for (unsigned i = 0; i < base->n_unknown_fields; i++)
		free(base->unknown_fields[i].data);
	free(base->unknown_fields);
	base->unknown_fields = NULL;
	base->n_unknown_fields = 0;
	m->has_raw = m->has_raw && m->raw.len;
	if (m->one)
		forget_odd(m->one);
	for (size_t i = 0; i < m->n_many; i++)
		forget_odd(m->many[i]);
}

static bool same(const PbTest__Every *a, const PbTest__Every *b)
{
	size_t n = pb_test__every__get_packed_size(a);
	uint8_t *x = malloc(n + 1), *y = malloc(n + 1);
	bool r = n == pb_test__every__get_packed_size(b);

	if (!x || !y)
		abort();
	if (r) {
		pb_test__every__pack(a, x);
		pb_test__every__pack(b, y);
		r = memcmp(x, y, n) == 0;
	}
	free(x);
	free(y);
	return r;
}

static enum pb_taken judge(PbTest__Every *ours, PbTest__Every *theirs, int error)
{
	if (!theirs)
		return error ? PB_NEITHER : PB_OURS;
	if (error)
		return error == -E2BIG || odd_number ? PB_THEIRS : PB_DIFFERENT;
	forget_odd(theirs);
	forget_odd(ours);
	return same(ours, theirs) ? PB_BOTH : odd_bool ? PB_THEIRS : PB_DIFFERENT;
}

enum pb_taken pb_compare(const void *data, size_t len)
{
	PbTest__Every *theirs = pb_test__every__unpack(NULL, len, data), *ours = malloc(sizeof(*ours));
	enum pb_taken by;
	struct pb_reader r;
	int error = 0;

	if (!ours)
		abort();
	odd_bool = odd_number = false;
	pb_test__every__init(ours);
	pb_read_begin(&r, data, len, &error);
	read_message(&r, ours);
	by = judge(ours, theirs, error);
	pb_random_free(ours);
	if (theirs)
		pb_random_free(theirs);
	return by;
}
