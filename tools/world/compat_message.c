/* SPDX-License-Identifier: Apache-2.0 */
/* See compat_message.h. */
#include "compat_message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "world/little.h"
#include "world/wire.h"

#define VECTOR_SIZE     27u /* three doubles with tags */
#define QUATERNION_SIZE 36u

_Static_assert(5 * (2 + VECTOR_SIZE) + 5 * (2 + QUATERNION_SIZE) + 2 * 9 + 6 + 2 == COMPAT_SIZE,
	       "as the report has it");

static double get_double(const uint8_t *at)
{
	const uint64_t bits = get_u64(at);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint8_t *put_double(uint8_t *at, unsigned number, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	*at = (uint8_t)(number << 3 | WIRE_FIXED64);
	put_u64(at + 1, bits);
	return at + 9;
}

/* ---- one pose ---- */

static bool is_com(unsigned field)
{
	return field >= COMPAT_CHASSIS_COM && field < COMPAT_CHASSIS_ROT;
}

static bool is_rot(unsigned field)
{
	return field >= COMPAT_CHASSIS_ROT && field < COMPAT_VECTOR;
}

/* The chassis is the first of five poses. */
static const double *doubles_of(const struct compat_vehicle *v, unsigned field)
{
	const unsigned i = is_com(field) ? field - COMPAT_CHASSIS_COM : field - COMPAT_CHASSIS_ROT;
	const struct compat_pose *p = i ? &v->wheels[i - 1] : &v->chassis;

	return is_com(field) ? p->com : p->rot;
}

static unsigned field_of(const struct compat_fields *f, unsigned begin, unsigned end, unsigned number)
{
	for (unsigned i = begin; i < end; i++)
		if (f->number[i] == number)
			return i;
	return end;
}

/* Reads n doubles, each exactly once. */
static bool read_doubles(const struct compat_fields *f, unsigned begin, unsigned n, const uint8_t *at, double *ret)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < n; i++, at += 9) {
		const unsigned field = field_of(f, begin, begin + n, *at >> 3);

		if (field == begin + n || (*at & 7) != WIRE_FIXED64 || seen & 1u << field)
			return false;
		seen |= 1u << field;
		ret[field - begin] = get_double(at + 1);
	}
	return true;
}

static uint8_t *write_doubles(const struct compat_fields *f, unsigned begin, unsigned n, const double *v, uint8_t *at)
{
	for (unsigned number = 1; number <= COMPAT_NUMBER_MAX; number++) {
		const unsigned field = field_of(f, begin, begin + n, number);

		if (field < begin + n)
			at = put_double(at, number, v[field - begin]);
	}
	return at;
}

/* ---- reading: 1: a field was read; 0: incomplete; -EBADMSG ---- */

/* An incomplete varint is shorter than the longest valid one; longer ones are malformed. */
static int read_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	struct wire_cursor c = wire_cursor(*at, (size_t)(end - *at));

	if (!wire_varint(&c, ret))
		return end - *at < (long)WIRE_VARINT_MAX ? 0 : -EBADMSG;
	*at = c.at;
	return 1;
}

static int read_body(const struct compat_fields *f, unsigned field, const uint8_t **at, const uint8_t *end,
		     struct compat_vehicle *v)
{
	const bool com = is_com(field);
	const unsigned size = com ? VECTOR_SIZE : QUATERNION_SIZE;
	double *to = (double *)(uintptr_t)doubles_of(v, field);

	if (*at == end)
		return 0;
	if (**at != size)
		return -EBADMSG;
	if (end - *at < 1 + (long)size)
		return 0;
	if (!read_doubles(f, com ? COMPAT_VECTOR : COMPAT_QUATERNION, com ? 3 : 4, *at + 1, to))
		return -EBADMSG;
	*at += 1 + size;
	return 1;
}

static int read_number(unsigned field, const uint8_t **at, const uint8_t *end, struct compat_vehicle *v)
{
	uint64_t number = 0;
	int r = read_varint(at, end, &number);

	if (field == COMPAT_TIMESTAMP)
		v->timestamp = (int64_t)number;
	else
		v->id = (int32_t)(uint32_t)number;
	return r;
}

static int read_value(const struct compat_fields *f, unsigned field, const uint8_t **at, const uint8_t *end,
		      struct compat_vehicle *v)
{
	if (field == COMPAT_TIMESTAMP || field == COMPAT_VEHICLE_ID)
		return read_number(field, at, end, v);
	if (is_com(field) || is_rot(field))
		return read_body(f, field, at, end, v);
	if (end - *at < 8)
		return 0;
	*(field == COMPAT_SPEED ? &v->speed : &v->ch_time) = get_double(*at);
	*at += 8;
	return 1;
}

static enum wire_type type_of(unsigned field)
{
	return field <= COMPAT_VEHICLE_ID ? WIRE_VARINT : field <= COMPAT_SPEED ? WIRE_FIXED64 : WIRE_LENGTH;
}

int compat_vehicle_read(const struct compat_fields *f, const void *data, size_t len, struct compat_vehicle *ret)
{
	const uint8_t *at = data, *end = at + len;
	unsigned seen = 0;

	for (unsigned n = 0; n < COMPAT_VECTOR; n++) {
		unsigned field;
		int r;

		if (at == end)
			return 0;
		field = field_of(f, 0, COMPAT_VECTOR, *at >> 3);
		if (field == COMPAT_VECTOR || (*at & 7) != type_of(field) || seen & 1u << field)
			return -EBADMSG;
		seen |= 1u << field;
		at++;
		r = read_value(f, field, &at, end, ret);
		if (r <= 0)
			return r;
	}
	return (int)(at - (const uint8_t *)data);
}

/* ---- writing ---- */

static uint8_t *write_field(const struct compat_fields *f, unsigned field, const struct compat_vehicle *v, uint8_t *at)
{
	const unsigned number = f->number[field];

	if (field == COMPAT_CH_TIME || field == COMPAT_SPEED)
		return put_double(at, number, field == COMPAT_SPEED ? v->speed : v->ch_time);
	*at++ = (uint8_t)(number << 3 | type_of(field));
	if (field == COMPAT_TIMESTAMP || field == COMPAT_VEHICLE_ID)
		return wire_put(at, (uint64_t)(field == COMPAT_TIMESTAMP ? v->timestamp : v->id));
	*at++ = is_com(field) ? VECTOR_SIZE : QUATERNION_SIZE;
	return write_doubles(f, is_com(field) ? COMPAT_VECTOR : COMPAT_QUATERNION, is_com(field) ? 3 : 4,
			     doubles_of(v, field), at);
}

size_t compat_vehicle_write(const struct compat_fields *f, const struct compat_vehicle *v, uint8_t *at)
{
	const uint8_t *begin = at;

	for (unsigned number = 1; number <= COMPAT_NUMBER_MAX; number++) {
		const unsigned field = field_of(f, 0, COMPAT_VECTOR, number);

		if (field < COMPAT_VECTOR)
			at = write_field(f, field, v, at);
	}
	return (size_t)(at - begin);
}
