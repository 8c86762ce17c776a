/* SPDX-License-Identifier: Apache-2.0 */
/* Names, layout and hash of message types: see typedesc.h. Pure functions, any thread. */
#include "msg/typedesc.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool typedesc_ident_ok(const char *s, size_t len)
{
	if (len == 0 || len > TYPEDESC_IDENT_MAX || !is_alpha(s[0]))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!is_alpha(s[i]) && !is_digit(s[i]) && s[i] != '_')
			return false;
	return true;
}

bool typedesc_name_ok(const char *name)
{
	const char *slash = strchr(name, '/');

	return slash && strlen(name) <= SIM_TYPE_NAME_MAX && typedesc_ident_ok(name, (size_t)(slash - name)) &&
	       typedesc_ident_ok(slash + 1, strlen(slash + 1));
}

/* ---- kinds ---- */

static const struct {
	const char *name;
	uint32_t size;
} kinds[SIM_KIND_END] = {
#define X(id, num, text, bytes) [num] = { text, bytes },
	SIM_KINDS(X)
#undef X
};

enum sim_kind typedesc_kind(const char *s, size_t len)
{
	for (unsigned i = 1; i < SIM_KIND_MESSAGE; i++)
		if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, s, len) == 0)
			return (enum sim_kind)i;
	return (enum sim_kind)0;
}

/* Bytes of one element in the fixed struct; 0 for SIM_KIND_MESSAGE and unknown numbers. */
static uint32_t kind_size(enum sim_kind kind)
{
	return (unsigned)kind < SIM_KIND_END ? kinds[kind].size : 0;
}

const char *typedesc_kind_name(enum sim_kind kind)
{
	return (unsigned)kind < SIM_KIND_END && kinds[kind].name ? kinds[kind].name : "?";
}

/* ---- values of constants ---- */

static bool integer_chars(const char *s)
{
	return s[strspn(s, "+-0123456789abcdefABCDEFxX")] == '\0';
}

static int value_signed(const char *s, unsigned bits, char *out)
{
	int64_t hi = INT64_MAX >> (64 - bits);
	char *end;
	long long v;

	if (!integer_chars(s))
		return -EINVAL;
	errno = 0;
	v = strtoll(s, &end, (s[0] == '0' && (s[1] | 32) == 'x') ? 16 : 10);
	if (end == s || *end)
		return -EINVAL;
	if (errno || v < -hi - 1 || v > hi)
		return -ERANGE;
	snprintf(out, TYPEDESC_VALUE_MAX, "%lld", v);
	return 0;
}

static int value_unsigned(const char *s, unsigned bits, char *out)
{
	char *end;
	unsigned long long v;

	if (!integer_chars(s))
		return -EINVAL;
	if (s[0] == '-' && is_digit(s[1]))
		return -ERANGE;
	errno = 0;
	v = strtoull(s, &end, (s[0] == '0' && (s[1] | 32) == 'x') ? 16 : 10);
	if (end == s || *end)
		return -EINVAL;
	if (errno || v > UINT64_MAX >> (64 - bits))
		return -ERANGE;
	snprintf(out, TYPEDESC_VALUE_MAX, "%llu", v);
	return 0;
}

/* Only finite values: a constant must survive JSON. In the C locale, whatever the program has set. */
static int value_float(const char *s, double max, char *out)
{
	locale_t c, old;
	char *end;
	double v;

	if (s[strspn(s, "+-.0123456789eE")] != '\0')
		return -EINVAL;
	c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!c)
		return -ENOMEM;
	old = uselocale(c);
	v = strtod(s, &end);
	snprintf(out, TYPEDESC_VALUE_MAX, "%.17g", v);
	uselocale(old);
	freelocale(c);
	if (end == s || *end)
		return -EINVAL;
	return v > max || v < -max ? -ERANGE : 0;
}

static bool plain_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 && *s != '\t')
			return false;
	return true;
}

static int value_bool(const char *s, char *out)
{
	bool yes = strcmp(s, "true") == 0 || strcmp(s, "True") == 0 || strcmp(s, "1") == 0;

	if (!yes && strcmp(s, "false") != 0 && strcmp(s, "False") != 0 && strcmp(s, "0") != 0)
		return -EINVAL;
	strcpy(out, yes ? "true" : "false");
	return 0;
}

int typedesc_value(enum sim_kind kind, const char *s, size_t len, char *out)
{
	unsigned bits = 8 * kind_size(kind); /* for integers and times */
	char text[TYPEDESC_VALUE_MAX];

	if (len >= sizeof(text))
		return -E2BIG;
	memcpy(text, s, len);
	text[len] = '\0';
	if (strlen(text) != len || (kind != SIM_KIND_STRING && (len == 0 || text[0] == ' ' || text[0] == '\t')))
		return -EINVAL;
	switch (kind) {
	case SIM_KIND_BOOL:
		return value_bool(text, out);
	case SIM_KIND_UINT8:
	case SIM_KIND_UINT16:
	case SIM_KIND_UINT32:
	case SIM_KIND_UINT64:
		return value_unsigned(text, bits, out);
	case SIM_KIND_FLOAT32:
		return value_float(text, (double)__FLT_MAX__, out);
	case SIM_KIND_FLOAT64:
		return value_float(text, __DBL_MAX__, out);
	case SIM_KIND_STRING:
		if (!plain_text(text))
			return -EINVAL;
		strcpy(out, text);
		return 0;
	default:
		return bits ? value_signed(text, bits, out) : -EINVAL;
	}
}

/* ---- layout ---- */

static uint64_t align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}

static void elem_layout(struct sim_field *f)
{
	if (f->kind == SIM_KIND_MESSAGE) {
		f->elem_size = f->type->fixed_size;
		f->elem_align = (uint8_t)f->type->align;
	} else {
		f->elem_size = kind_size((enum sim_kind)f->kind);
		f->elem_align = (uint8_t)(f->kind == SIM_KIND_STRING ? SIM_ALIGNOF(struct sim_span) : f->elem_size);
	}
}

int typedesc_layout(struct sim_field *fields, uint32_t n, uint32_t *ret_size, uint32_t *ret_align)
{
	uint64_t at = 0, align = 1;

	for (uint32_t i = 0; i < n; i++) {
		struct sim_field *f = &fields[i];
		bool span = typedesc_is_span(f);
		uint64_t a, bytes;

		elem_layout(f);
		a = span ? SIM_ALIGNOF(struct sim_span) : f->elem_align;
		bytes = span ? sizeof(struct sim_span)
			     : (uint64_t)f->elem_size * (f->array == SIM_ARRAY_FIXED ? f->count : 1);
		at = align_up(at, a);
		f->offset = (uint32_t)at;
		at += bytes;
		if (a > align)
			align = a;
		if (at > TYPEDESC_FIXED_MAX)
			return -E2BIG;
	}
	at = align_up(at ? at : 1, align);
	*ret_size = (uint32_t)at;
	*ret_align = (uint32_t)align;
	return 0;
}

bool typedesc_has_spans(const struct sim_type *t)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];

		if (typedesc_is_span(f) || f->kind == SIM_KIND_STRING || (f->type && typedesc_has_spans(f->type)))
			return true;
	}
	return false;
}

/* ---- hash ---- */

static void fnv(uint64_t *h, const char *s)
{
	for (; *s; s++)
		*h = (*h ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
}

static void fnv_field(uint64_t *h, const struct sim_field *f)
{
	char num[32];

	if (f->kind == SIM_KIND_MESSAGE) {
		fnv(h, f->type->name);
		snprintf(num, sizeof(num), "#%016" PRIx64, f->type->hash);
		fnv(h, num);
	} else {
		fnv(h, typedesc_kind_name((enum sim_kind)f->kind));
	}
	if (f->string_max) {
		snprintf(num, sizeof(num), "<=%" PRIu32, f->string_max);
		fnv(h, num);
	}
	if (f->array != SIM_ARRAY_NONE) {
		snprintf(num, sizeof(num), f->array == SIM_ARRAY_FIXED ? "[%" PRIu32 "]" : "[<=%" PRIu32 "]", f->count);
		fnv(h, f->array == SIM_ARRAY_VARIABLE ? "[]" : num);
	}
	fnv(h, " ");
	fnv(h, f->name);
	fnv(h, "\n");
}

static uint64_t spread(uint64_t h)
{
	h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ (h >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	h ^= h >> 33;
	return h ? h : 1;
}

uint64_t typedesc_hash(const struct sim_type *t)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	fnv(&h, "sim 1 ");
	fnv(&h, t->name);
	fnv(&h, "\n");
	for (uint32_t i = 0; i < t->n_constants; i++) {
		const struct sim_constant *c = &t->constants[i];

		fnv(&h, "const ");
		fnv(&h, typedesc_kind_name((enum sim_kind)c->kind));
		fnv(&h, " ");
		fnv(&h, c->name);
		fnv(&h, " ");
		fnv(&h, c->value);
		fnv(&h, "\n");
	}
	for (uint32_t i = 0; i < t->n_fields; i++)
		fnv_field(&h, &t->fields[i]);
	return spread(h);
}
