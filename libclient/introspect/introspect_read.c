/* SPDX-License-Identifier: Apache-2.0 */
/* JSON into a body, by the field table. See sim/introspect.h. Any thread; recursion is bounded by the types. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "err.h"
#include "msg/typedesc.h"
#include "number.h"
#include "value.h"

static int read_struct(struct sim_builder *b, const struct sim_type *t, uint8_t *s, const json_t *j);

/* ---- numbers ---- */

static int out_of_range(const struct sim_field *f)
{
	return err_set(-ERANGE, "field '%s': the number does not fit %s", f->name,
		       typedesc_kind_name((enum sim_kind)f->kind));
}

static int wrong_type(const struct sim_field *f, const char *wanted)
{
	return err_set(-EINVAL, "field '%s': %s expected", f->name, wanted);
}

/* Reads an integer, a number without a fraction, or, for 64-bit fields, a string of digits, as sign and magnitude. */
static int read_integer(const struct sim_field *f, const json_t *j, bool *ret_negative, uint64_t *ret)
{
	const char *s = json_string_value(j);
	double d = json_real_value(j);
	int r;

	if (json_is_integer(j)) {
		json_int_t v = json_integer_value(j);

		*ret_negative = v < 0;
		*ret = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
		return 0;
	}
	if (json_is_real(j)) {
		*ret_negative = d < 0;
		d = d < 0 ? -d : d;
		if (d >= 18446744073709551616.0)
			return out_of_range(f);
		*ret = (uint64_t)d;
		return (double)*ret == d ? 0 : wrong_type(f, "a whole number");
	}
	*ret_negative = s && *s == '-';
	r = s && f->elem_size == 8 ? number_u64(s + *ret_negative, NUMBER_DEC, UINT64_MAX, ret) : -EINVAL;
	return r == -ERANGE ? out_of_range(f) : r < 0 ? wrong_type(f, "a number") : 0;
}

static int store_integer(const struct sim_field *f, uint8_t *at, bool negative, uint64_t v)
{
	unsigned bits = f->elem_size * 8;
	bool is_signed = f->kind == SIM_KIND_INT8 || f->kind == SIM_KIND_INT16 || f->kind == SIM_KIND_INT32 ||
			 f->kind == SIM_KIND_INT64 || f->kind == SIM_KIND_TIME || f->kind == SIM_KIND_DURATION;
	uint64_t top = is_signed ? (UINT64_C(1) << (bits - 1)) - 1 + negative : UINT64_MAX >> (64 - bits);

	if (v > top || (negative && !is_signed && v))
		return out_of_range(f);
	if (negative)
		v = 0 - v;
	memcpy(at, &v, f->elem_size); /* little-endian: the low bytes are first */
	return 0;
}

/* Reads values that JSON numbers cannot express. */
static bool read_special(const json_t *j, double *ret)
{
	const char *s = json_string_value(j);

	if (json_is_null(j) || (s && strcmp(s, "NaN") == 0))
		*ret = (double)NAN;
	else if (s && strcmp(s, "Infinity") == 0)
		*ret = (double)INFINITY;
	else if (s && strcmp(s, "-Infinity") == 0)
		*ret = -(double)INFINITY;
	else
		return false;
	return true;
}

static int read_float(const struct sim_field *f, uint8_t *at, const json_t *j)
{
	double d = json_number_value(j);
	bool special = read_special(j, &d);

	if (!json_is_number(j) && !special)
		return wrong_type(f, "a number");
	if (f->kind == SIM_KIND_FLOAT32) {
		float v = (float)d;

		if (isinf(v) && !special)
			return out_of_range(f);
		memcpy(at, &v, sizeof(v));
	} else {
		memcpy(at, &d, sizeof(d));
	}
	return 0;
}

/* ---- values ---- */

static int read_string(struct sim_builder *b, const struct sim_field *f, uint8_t *at, const json_t *j)
{
	struct sim_span span;
	size_t len = json_string_length(j);
	char *text;

	if (!json_is_string(j))
		return wrong_type(f, "a string");
	text = sim_builder_string(b, &span, len, f->string_max);
	if (!text)
		return err_set(b->err, "field '%s': a string of %zu bytes does not fit", f->name, len);
	memcpy(text, json_string_value(j), len);
	memcpy(at, &span, sizeof(span));
	return 0;
}

static int read_value(struct sim_builder *b, const struct sim_field *f, uint8_t *at, const json_t *j)
{
	uint64_t v = 0;
	bool negative = false;
	int r;

	switch (f->kind) {
	case SIM_KIND_MESSAGE:
		return json_is_object(j) ? read_struct(b, f->type, at, j) : wrong_type(f, "an object");
	case SIM_KIND_STRING:
		return read_string(b, f, at, j);
	case SIM_KIND_FLOAT32:
	case SIM_KIND_FLOAT64:
		return read_float(f, at, j);
	case SIM_KIND_BOOL:
		if (json_is_boolean(j)) {
			*at = json_is_true(j);
			return 0;
		}
		break;
	default:
		break;
	}
	r = read_integer(f, j, &negative, &v);
	return r < 0 ? r : store_integer(f, at, negative, v);
}

/* ---- arrays ---- */

static int sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Returns the number of bytes encoded in a base64 text of len characters; -1: not a valid length. */
static int64_t base64_size(const char *s, size_t len)
{
	size_t pad = len && s[len - 1] == '=' ? (len > 1 && s[len - 2] == '=' ? 2 : 1) : 0;

	return len % 4 ? -1 : (int64_t)(len / 4 * 3 - pad);
}

static bool base64_decode(const char *s, size_t n, uint8_t *out)
{
	uint32_t v = 0;
	unsigned bits = 0;

	for (size_t done = 0; done < n; s++) {
		int six = sextet(*s);

		if (six < 0)
			return false;
		v = v << 6 | (uint32_t)six;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out[done++] = (uint8_t)(v >> bits);
		}
	}
	return true;
}

/*
 * Allocates n zeroed elements for an array field and sets its span. An array of fixed size needs exactly its number of
 * elements.
 */
static int array_room(struct sim_builder *b, const struct sim_field *f, uint8_t *s, uint64_t n, uint8_t **ret)
{
	struct sim_span span;

	if (f->array == SIM_ARRAY_FIXED) {
		if (n != f->count)
			return err_set(-EINVAL, "field '%s': %u elements expected, not %llu", f->name, f->count,
				       (unsigned long long)n);
		*ret = s + f->offset;
		return 0;
	}
	*ret = n > UINT32_MAX ? NULL
			      : sim_builder_array(b, &span, (uint32_t)n, f->elem_size, f->elem_align,
						  f->array == SIM_ARRAY_BOUNDED ? f->count : 0, 1);
	if (!*ret)
		return err_set(b->err ? b->err : -ENOBUFS, "field '%s': %llu elements do not fit", f->name,
			       (unsigned long long)n);
	memcpy(s + f->offset, &span, sizeof(span));
	return 0;
}

static int read_base64(struct sim_builder *b, const struct sim_field *f, uint8_t *s, const json_t *j)
{
	const char *text = json_string_value(j);
	int64_t n = base64_size(text, json_string_length(j));
	uint8_t *at;
	int r;

	if (n < 0)
		return wrong_type(f, "base64 or an array of numbers");
	r = array_room(b, f, s, (uint64_t)n, &at);
	if (r < 0)
		return r;
	return base64_decode(text, (size_t)n, at) ? 0 : wrong_type(f, "base64 or an array of numbers");
}

static int read_array(struct sim_builder *b, const struct sim_field *f, uint8_t *s, const json_t *j)
{
	uint8_t *at;
	int r;

	if (f->kind == SIM_KIND_UINT8 && json_is_string(j))
		return read_base64(b, f, s, j);
	if (!json_is_array(j))
		return wrong_type(f, "an array");
	r = array_room(b, f, s, json_array_size(j), &at);
	for (size_t i = 0; r == 0 && i < json_array_size(j); i++)
		r = read_value(b, f, at + i * f->elem_size, json_array_get(j, i));
	return r;
}

/* ---- structs ---- */

static const struct sim_field *field_of(const struct sim_type *t, const char *name)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (strcmp(t->fields[i].name, name) == 0)
			return &t->fields[i];
	return NULL;
}

static int read_struct(struct sim_builder *b, const struct sim_type *t, uint8_t *s, const json_t *obj)
{
	const char *key;
	json_t *j;

	json_object_foreach((json_t *)(uintptr_t)obj, key, j) {
		const struct sim_field *f = field_of(t, key);
		int r;

		if (!f)
			return err_set(-EINVAL, "%s has no field '%.63s'", t->name, key);
		if (json_is_null(j) &&
		    (f->array != SIM_ARRAY_NONE || (f->kind != SIM_KIND_FLOAT32 && f->kind != SIM_KIND_FLOAT64)))
			continue;
		r = f->array == SIM_ARRAY_NONE ? read_value(b, f, s + f->offset, j) : read_array(b, f, s, j);
		if (r < 0)
			return r;
	}
	return 0;
}

int msg_from_value(const struct sim_type *type, const json_t *value, void *body, size_t capacity, size_t *ret_size)
{
	struct sim_builder b;
	int r;

	if (!type || type->abi != SIM_TYPE_ABI)
		return err_set(-EINVAL, "no JSON, or no type of ABI %u", SIM_TYPE_ABI);
	if (!sim_builder_begin(&b, body, capacity, type->fixed_size, type->align))
		return err_set(-ENOBUFS, "%zu bytes, aligned to %u, do not hold a %s, which takes %u and its arrays",
			       capacity, type->align, type->name, type->fixed_size);
	r = json_is_object(value) ? read_struct(&b, type, b.base, value)
				  : err_set(-EINVAL, "message JSON: not an object");
	if (r < 0)
		return r;
	*ret_size = sim_builder_size(&b);
	return 0;
}

int sim_msg_from_json(const struct sim_type *type, const char *json, size_t len, void *body, size_t capacity,
		      size_t *ret_size)
{
	json_error_t e;
	json_t *j;
	int r;

	if (!type || !json)
		return err_set(-EINVAL, "no JSON, or no type of ABI %u", SIM_TYPE_ABI);
	j = json_loadb(json, len, JSON_REJECT_DUPLICATES, &e);
	if (!j)
		return err_set(-EINVAL, "message JSON: %s at byte %d", e.text, e.position);
	r = msg_from_value(type, j, body, capacity, ret_size);
	json_decref(j);
	return r;
}
