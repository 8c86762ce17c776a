/* SPDX-License-Identifier: Apache-2.0 */
/* sim/world.h: the common part of objects' bodies. Pure, any thread. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <sim/world.h>

#include "err.h"
#include "wire.h"

#define MM_MAX 1e6

enum { SHAPE_MODEL = 1, SHAPE_SIZE = 2, VEHICLE_OFFSET = 3 };

static bool has_shape(uint32_t code)
{
	return code == SIM_WORLD_VEHICLE || code == SIM_WORLD_PEDESTRIAN || code == SIM_WORLD_BICYCLE ||
	       code == SIM_WORLD_GENERIC;
}

/* Reads numbers of a field, packed or not; place: index of the next one. */
static bool read_mm(const struct wire_field *f, double to[3], unsigned *place)
{
	struct wire_cursor c = wire_cursor(f->data, f->type == WIRE_LENGTH ? f->value : 0);
	uint64_t v = f->value;

	if (f->type == WIRE_VARINT && *place < 3)
		to[(*place)++] = (double)wire_unzigzag(v) / 1e3;
	while (f->type == WIRE_LENGTH && c.at < c.end && wire_varint(&c, &v))
		if (*place < 3)
			to[(*place)++] = (double)wire_unzigzag(v) / 1e3;
	return !c.bad;
}

static void read_model(const struct wire_field *f, char to[64])
{
	size_t n = f->value < 63 ? (size_t)f->value : 63;

	memcpy(to, f->data, n);
	to[n] = 0;
}

int sim_world_shape_read(uint32_t code, const void *body, size_t size, struct sim_world_shape *ret)
{
	struct wire_cursor c = wire_cursor(body, body ? size : 0);
	unsigned n_size = 0, n_offset = 0;
	struct sim_world_shape s = { .model = "" };
	struct wire_field f;
	bool right = true;

	if (!has_shape(code))
		return err_set(-EINVAL, "objects of code %u have no known shape", code);
	while (right && wire_next(&c, &f)) {
		if (f.number == SHAPE_MODEL && f.type == WIRE_LENGTH)
			read_model(&f, s.model);
		else if (f.number == SHAPE_SIZE)
			right = read_mm(&f, s.size, &n_size);
		else if (f.number == VEHICLE_OFFSET && code == SIM_WORLD_VEHICLE)
			right = read_mm(&f, s.offset, &n_offset);
	}
	if (c.bad || !right)
		return err_set(-EBADMSG, "the body of an object of code %u is not protobuf", code);
	if (!n_offset)
		s.offset[2] = s.size[2] / 2;
	*ret = s;
	return 0;
}

static bool put_mm(struct wire_buf *b, unsigned field, const double v[3])
{
	uint8_t numbers[3 * WIRE_VARINT_MAX], *at = numbers;

	for (int i = 0; i < 3; i++) {
		if (!(fabs(v[i] * 1e3) <= MM_MAX))
			return false;
		at = wire_put(at, wire_zigzag(llround(v[i] * 1e3)));
	}
	wire_bytes(b, field, numbers, (size_t)(at - numbers));
	return true;
}

int sim_world_shape_write(uint32_t code, const struct sim_world_shape *shape, void *body, size_t room)
{
	uint8_t data[160];
	struct wire_buf b = { .data = data, .size = sizeof(data), .fixed = true };
	size_t n = strnlen(shape->model, sizeof(shape->model));

	if (!has_shape(code))
		return err_set(-EINVAL, "objects of code %u have no known shape", code);
	if (n)
		wire_bytes(&b, SHAPE_MODEL, shape->model, n);
	if (!put_mm(&b, SHAPE_SIZE, shape->size) ||
	    (code == SIM_WORLD_VEHICLE && !put_mm(&b, VEHICLE_OFFSET, shape->offset)))
		return err_set(-EINVAL, "a shape has a number that is not finite, or beyond 1 km");
	if (b.len > room)
		return err_set(-ENOBUFS, "the body has %zu bytes, and there is room for %zu", b.len, room);
	memcpy(body, data, b.len);
	return (int)b.len;
}
