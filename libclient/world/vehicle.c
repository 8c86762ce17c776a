/* SPDX-License-Identifier: Apache-2.0 */
/* sim/world.h: the bodies of vehicles, with their parts. Lists of numbers may be packed or not. Pure, any thread. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <sim/world.h>

#include "err.h"
#include "wire.h"

#define Q20       1048576.0
#define MM_MAX    1e6
#define ANGLE_MAX 1e3 /* rad */
#define ACC_MAX   1e6 /* m/s^2 */

enum { VEHICLE_PARTS = 4, VEHICLE_STEERING = 5, VEHICLE_LIGHTS = 6, VEHICLE_ACCELERATION = 7 };
enum { PARTS_KIND = 1, PARTS_POSITION = 2, PARTS_ROTATION = 3 };

static int out_of_range(void)
{
	return err_set(-EINVAL,
		       "a vehicle's body has a number that is not finite or out of range, or more than %d parts",
		       SIM_WORLD_PARTS_MAX);
}

/* ---- writing ---- */

struct list {
	uint8_t data[SIM_WORLD_PARTS_MAX * 4 * 5], *at;
	bool bad;
};

static void add(struct list *l, double v, double per_unit, double max)
{
	if (fabs(v) <= max)
		l->at = wire_put(l->at, wire_zigzag(llround(v * per_unit)));
	else
		l->bad = true;
}

static void end(struct list *l, struct wire_buf *b, unsigned field)
{
	if (l->at != l->data)
		wire_bytes(b, field, l->data, (size_t)(l->at - l->data));
	l->at = l->data;
}

/* Appends a rotation, normalised; all zeros: no rotation. */
static void add_rotation(struct list *l, const double q[4])
{
	double sum = 0;

	for (int i = 0; i < 4; i++)
		sum += q[i] * q[i];
	for (int i = 0; i < 4; i++)
		add(l, sum > 0 ? q[i] / sqrt(sum) : i == 0, Q20, 1.001);
}

static bool put_parts(struct wire_buf *b, const struct sim_world_part *parts, size_t n)
{
	static _Thread_local uint8_t data[SIM_WORLD_PARTS_MAX * 48 + 64];
	struct wire_buf nested = { .data = data, .size = sizeof(data), .fixed = true };
	struct list l = { .bad = false };

	l.at = l.data;
	for (size_t i = 0; i < n; i++)
		l.at = wire_put(l.at, parts[i].kind);
	end(&l, &nested, PARTS_KIND);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 3; k++)
			add(&l, parts[i].position[k], 1e3, MM_MAX / 1e3);
	end(&l, &nested, PARTS_POSITION);
	for (size_t i = 0; i < n; i++)
		add_rotation(&l, parts[i].rotation);
	end(&l, &nested, PARTS_ROTATION);
	wire_bytes(b, VEHICLE_PARTS, data, nested.len);
	return !l.bad && !nested.failed;
}

static bool put_motion(struct wire_buf *b, const struct sim_world_vehicle *v)
{
	struct list l = { .bad = false };
	bool moves = false;

	if (!(fabs(v->steering) <= ANGLE_MAX))
		return false;
	if (v->steering != 0)
		wire_u64(b, VEHICLE_STEERING, wire_zigzag(llround(v->steering * 1e4)));
	if (v->lights)
		wire_u64(b, VEHICLE_LIGHTS, v->lights);
	l.at = l.data;
	for (int i = 0; i < 3; i++) {
		add(&l, v->acceleration[i], 1e3, ACC_MAX);
		moves |= v->acceleration[i] != 0;
	}
	if (moves)
		end(&l, b, VEHICLE_ACCELERATION);
	return !l.bad;
}

int sim_world_vehicle_write(const struct sim_world_vehicle *v, const struct sim_world_part *parts, void *body,
			    size_t room)
{
	static _Thread_local uint8_t data[SIM_WORLD_PARTS_MAX * 48 + 512];
	struct wire_buf b = { .data = data, .size = sizeof(data), .fixed = true };
	int n = sim_world_shape_write(SIM_WORLD_VEHICLE, &v->shape, data, sizeof(data));

	if (n < 0)
		return n;
	b.len = (size_t)n;
	if (v->n_parts > SIM_WORLD_PARTS_MAX || (v->n_parts && !put_parts(&b, parts, v->n_parts)) ||
	    !put_motion(&b, v) || b.failed)
		return out_of_range();
	if (b.len > room)
		return err_set(-ENOBUFS, "the body has %zu bytes, and there is room for %zu", b.len, room);
	memcpy(body, data, b.len);
	return (int)b.len;
}

/* ---- reading ---- */

/* Calls fn with the numbers of a field; packed or a single one. False: malformed, or fn has no room for more. */
static bool each(const struct wire_field *f, bool (*fn)(void *user, uint64_t v), void *user)
{
	struct wire_cursor c = wire_cursor(f->data, f->type == WIRE_LENGTH ? f->value : 0);
	uint64_t v;

	if (f->type == WIRE_VARINT)
		return fn(user, f->value);
	while (f->type == WIRE_LENGTH && c.at < c.end)
		if (!wire_varint(&c, &v) || !fn(user, v))
			return false;
	return true;
}

struct parts {
	struct sim_world_part *at;                /* has `room` entries */
	size_t room, kinds, positions, rotations; /* numbers read so far */
};

static bool take_kind(void *user, uint64_t v)
{
	struct parts *p = user;

	if (p->kinds < p->room)
		p->at[p->kinds].kind = (uint32_t)v;
	return ++p->kinds <= SIM_WORLD_PARTS_MAX;
}

static bool take_position(void *user, uint64_t v)
{
	struct parts *p = user;

	if (p->positions / 3 < p->room)
		p->at[p->positions / 3].position[p->positions % 3] = (double)wire_unzigzag(v) / 1e3;
	return ++p->positions <= 3 * SIM_WORLD_PARTS_MAX;
}

static bool take_rotation(void *user, uint64_t v)
{
	struct parts *p = user;

	if (p->rotations / 4 < p->room)
		p->at[p->rotations / 4].rotation[p->rotations % 4] = (double)wire_unzigzag(v) / Q20;
	return ++p->rotations <= 4 * SIM_WORLD_PARTS_MAX;
}

/* Whether each list is absent, or has an entry for all n parts. */
static bool lists_agree(const struct parts *p, size_t n)
{
	return p->kinds == n && (!p->positions || p->positions == 3 * n) && (!p->rotations || p->rotations == 4 * n);
}

static bool read_parts(const struct wire_field *f, struct parts *p)
{
	struct wire_cursor c = wire_cursor(f->data, f->value);
	struct wire_field list;
	bool right = true;

	while (right && wire_next(&c, &list))
		if (list.number == PARTS_KIND)
			right = each(&list, take_kind, p);
		else if (list.number == PARTS_POSITION)
			right = each(&list, take_position, p);
		else if (list.number == PARTS_ROTATION)
			right = each(&list, take_rotation, p);
	return right && !c.bad;
}

struct numbers {
	double v[3];
	unsigned n;
};

static bool take_number(void *user, uint64_t v)
{
	struct numbers *x = user;

	if (x->n < 3)
		x->v[x->n++] = (double)wire_unzigzag(v) / 1e3;
	return true;
}

static bool read_field(const struct wire_field *f, struct sim_world_vehicle *v, struct parts *p, struct numbers *acc)
{
	if (f->number == VEHICLE_PARTS && f->type == WIRE_LENGTH)
		return read_parts(f, p);
	if (f->number == VEHICLE_ACCELERATION)
		return each(f, take_number, acc);
	if (f->number == VEHICLE_STEERING && f->type == WIRE_VARINT)
		v->steering = (double)wire_unzigzag(f->value) / 1e4;
	if (f->number == VEHICLE_LIGHTS && f->type == WIRE_VARINT)
		v->lights = (unsigned)f->value;
	return true;
}

int sim_world_vehicle_read(const void *body, size_t size, struct sim_world_vehicle *ret, struct sim_world_part *parts,
			   size_t n_parts)
{
	struct wire_cursor c = wire_cursor(body, body ? size : 0);
	struct parts p = { .at = parts, .room = n_parts };
	struct sim_world_vehicle v = { .steering = 0 };
	struct numbers acc = { .n = 0 };
	struct wire_field f;
	bool right = true;
	int r = sim_world_shape_read(SIM_WORLD_VEHICLE, body, size, &v.shape);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n_parts; i++)
		parts[i] = (struct sim_world_part){ .rotation = { 1, 0, 0, 0 } };
	while (right && wire_next(&c, &f))
		right = read_field(&f, &v, &p, &acc);
	if (!right || c.bad || !lists_agree(&p, p.kinds))
		return err_set(-EBADMSG,
			       "the body of a vehicle is not protobuf, or its lists of parts have different lengths");
	memcpy(v.acceleration, acc.v, sizeof(acc.v));
	v.n_parts = p.kinds;
	*ret = v;
	return 0;
}
