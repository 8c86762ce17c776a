/* SPDX-License-Identifier: Apache-2.0 */
/* See object_in.h. */
#include "object_in.h"

#include <errno.h>
#include <string.h>

enum { OBJECT_ID = 1, OBJECT_TIME, OBJECT_POSITION, OBJECT_ROTATION, OBJECT_VELOCITY, OBJECT_SPIN, OBJECT_BODY };

/*
 * Parses doubles with field numbers 1 to n; missing ones are 0. As in protobuf, a repeated message is merged into the
 * first.
 */
static int decode_doubles(const struct wire_field *f, double *to, uint32_t n)
{
	struct wire_cursor c = wire_cursor(f->data, f->value);
	struct wire_field v;

	while (wire_next(&c, &v))
		if (v.type == WIRE_FIXED64 && v.number <= n)
			memcpy(&to[v.number - 1], &v.value, sizeof(*to));
	return c.bad ? -EBADMSG : 0;
}

static int decode_message(const struct wire_field *f, struct store_update *u, struct wire_field *body)
{
	switch (f->number) {
	case OBJECT_POSITION:
		return decode_doubles(f, u->motion.position, 3);
	case OBJECT_ROTATION:
		return decode_doubles(f, u->motion.rotation, 4);
	case OBJECT_VELOCITY:
		return decode_doubles(f, u->motion.velocity, 3);
	case OBJECT_SPIN:
		return decode_doubles(f, u->motion.spin, 3);
	case OBJECT_BODY:
		*body = *f;
		return 0;
	default:
		return 0;
	}
}

int object_decode(uint8_t code, const uint8_t *data, size_t len, struct store_update *ret)
{
	struct wire_cursor c = wire_cursor(data, len);
	struct store_update u = { .code = code };
	struct wire_field f, body = { 0 };
	int r = 0;

	while (!r && wire_next(&c, &f)) {
		if (f.type == WIRE_LENGTH)
			r = decode_message(&f, &u, &body);
		else if (f.type == WIRE_VARINT && f.number == OBJECT_ID)
			u.id = f.value;
		else if (f.type == WIRE_VARINT && f.number == OBJECT_TIME)
			u.motion.time_sim_ns = (int64_t)f.value;
	}
	if (c.bad)
		r = -EBADMSG;
	u.has_body = body.number != 0;
	if (!r && u.has_body)
		r = body_create(body.data, body.value, &u.body);
	if (!r)
		*ret = u;
	return r;
}
