/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of incoming sensor messages: numbers are accepted unchecked, including NaN and infinity. See map_in_private.h.
 */
#include <math.h>

#include "dec_watch.h"
#include "map_in_private.h"

float map_in_f32(struct sim_dec *d, const char *name)
{
	float v = 0;

	d->ops->value(d, name, SIM_KIND_FLOAT32, &v);
	return v;
}

double map_in_f64(struct sim_dec *d, const char *name)
{
	double v = 0;

	d->ops->value(d, name, SIM_KIND_FLOAT64, &v);
	return v;
}

void map_in_f64s(struct sim_dec *d, const char *name, double *ret, uint32_t n)
{
	uint32_t have;
	const void *at = d->ops->array(d, name, SIM_KIND_FLOAT64, n, &have);

	if (at && have <= n)
		memcpy(ret, at, have * sizeof(*ret));
}

void map_in_skip_f64s(struct sim_dec *d, const char *name, uint32_t n)
{
	uint32_t have;

	d->ops->array(d, name, SIM_KIND_FLOAT64, n, &have);
}

struct sim_Vector3 map_in_vector(struct sim_dec *d, const char *name)
{
	struct sim_Vector3 v;

	sim_dec_begin(d, name);
	v.x = map_in_f64(d, "x");
	v.y = map_in_f64(d, "y");
	v.z = map_in_f64(d, "z");
	sim_dec_end(d);
	return v;
}

struct sim_Vector3 map_in_finite(struct sim_dec *d, const char *name)
{
	struct sim_Vector3 v = map_in_vector(d, name);
	double sum = v.x + v.y + v.z;

	if (sum - sum != 0)
		sim_dec_fail(d, -EDOM);
	return v;
}

struct sim_Quaternion map_in_quaternion(struct sim_dec *d, const char *name)
{
	struct sim_Quaternion q;

	sim_dec_begin(d, name);
	q.x = map_in_f64(d, "x");
	q.y = map_in_f64(d, "y");
	q.z = map_in_f64(d, "z");
	q.w = map_in_f64(d, "w");
	sim_dec_end(d);
	return q;
}

struct sim_Pose map_in_pose(struct sim_dec *d, const char *name)
{
	struct sim_Pose p;

	sim_dec_begin(d, name);
	p.position = map_in_vector(d, "position");
	p.orientation = map_in_quaternion(d, "orientation");
	sim_dec_end(d);
	return p;
}

struct sim_Pose map_in_finite_pose(struct sim_dec *d, const char *name)
{
	struct sim_Pose p;

	sim_dec_begin(d, name);
	p.position = map_in_finite(d, "position");
	sim_dec_begin(d, "orientation");
	p.orientation.x = sim_dec_f64(d, "x");
	p.orientation.y = sim_dec_f64(d, "y");
	p.orientation.z = sim_dec_f64(d, "z");
	p.orientation.w = sim_dec_f64(d, "w");
	sim_dec_end(d);
	sim_dec_end(d);
	return p;
}

struct sim_Twist map_in_twist(struct sim_dec *d, const char *name)
{
	struct sim_Twist t;

	sim_dec_begin(d, name);
	t.linear = map_in_vector(d, "linear");
	t.angular = map_in_vector(d, "angular");
	sim_dec_end(d);
	return t;
}

void map_in_text(struct sim_dec *d, struct sim_builder *b, const char *name, struct sim_span *span, size_t max)
{
	size_t len;
	const char *s = sim_dec_string(d, name, max, &len);
	char *at = d->err ? NULL : sim_builder_string(b, span, len, (uint32_t)max);

	if (at && len)
		memcpy(at, s, len);
}

const void *map_in_array(struct sim_dec *d, const char *name, enum sim_kind kind, uint32_t *ret_n)
{
	const void *at = sim_dec_array(d, name, kind, ret_n);

	if (!at)
		*ret_n = 0;
	return at;
}

void map_in_copy(void *at, const void *from, size_t size)
{
	if (at && size)
		memcpy(at, from, size);
}

/* Splits off whole seconds first: seconds * 1e9 has more digits than a double. */
int64_t map_in_ns(struct sim_dec *d, double seconds)
{
	double whole = floor(seconds);

	if (!(seconds > -9e9 && seconds < 9e9)) {
		sim_dec_fail(d, -ERANGE);
		return 0;
	}
	return (int64_t)whole * 1000000000 + llround((seconds - whole) * 1e9);
}

double map_in_yaw(const struct sim_Quaternion *q)
{
	return atan2(2 * (q->w * q->z + q->x * q->y), 1 - 2 * (q->y * q->y + q->z * q->z));
}

struct sim_Vector3 map_in_from_body(const struct sim_Quaternion *q, const struct sim_Vector3 *v)
{
	struct sim_Quaternion back = { .x = -q->x, .y = -q->y, .z = -q->z, .w = q->w };

	return map_to_body(&back, v);
}
