/* SPDX-License-Identifier: Apache-2.0 */
/* See others.h. */
#include "others.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Transforms.h>

#include "mem.h"

#define LABEL_MAX 16
#define FRAME_LEN 40

/* ---- objects ---- */

void others_finish(struct others *t)
{
	mem_free(t->at);
	mem_free(t->near);
	ids_finish(&t->ids);
	*t = (struct others){ .most = t->most };
}

void others_begin(struct others *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		t->at[i].seen = false;
	t->n_near = 0;
}

static uint32_t place_of(const struct others *t, uint64_t key)
{
	uint32_t low = 0, high = t->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->at[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add(struct others *t, uint32_t i, const struct ids_entry *e)
{
	if (t->n == t->size) {
		uint32_t size = t->size ? 2 * t->size : 64;
		struct other *at = mem_realloc(t->at, size * sizeof(*at));

		if (!at)
			return -ENOMEM;
		t->at = at;
		t->size = size;
	}
	memmove(&t->at[i + 1], &t->at[i], (t->n - i) * sizeof(*t->at));
	t->n++;
	t->at[i] = (struct other){ .key = e->key, .id = e->id, .first_sim_ns = e->first_sim_ns };
	return 0;
}

int others_put(struct others *t, const struct sim_world_object *o, const struct join_ego *ego)
{
	uint32_t i = place_of(t, o->id);
	const struct ids_entry *e;
	struct other *x;
	double d[3];

	/* at each update, so that ids of present objects are not forgotten */
	if (ids_see(&t->ids, o->id, o->time_sim_ns, &e) < 0)
		return -ENOMEM;
	if (i == t->n || t->at[i].key != o->id)
		if (add(t, i, e) < 0)
			return -ENOMEM;
	x = &t->at[i];
	x->seen = true;
	x->o = *o;
	if (sim_world_shape_read(o->code, o->body, o->body_size, &x->shape) < 0)
		x->shape = (struct sim_world_shape){ .model = "" };
	x->o.body = NULL;
	for (int k = 0; k < 3; k++)
		d[k] = o->position[k] - (ego->known ? ego->position[k] : 0);
	x->distance = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
	return 0;
}

static int nearer(const void *a, const void *b)
{
	const struct other *x = *(const struct other *const *)a, *y = *(const struct other *const *)b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

int others_end(struct others *t)
{
	const struct other **near;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->at[i].seen)
			t->at[kept++] = t->at[i];
	t->n = kept;
	near = mem_realloc(t->near, (kept + 1) * sizeof(const struct other *));
	if (!near)
		return -ENOMEM;
	t->near = near;
	for (uint32_t i = 0; i < kept; i++)
		near[i] = &t->at[i];
	if (kept > 1)
		qsort(near, kept, sizeof(const struct other *), nearer);
	t->n_near = kept < t->most ? kept : t->most;
	return 0;
}

/* ---- rotation: unit quaternions w x y z ---- */

static void multiply(const double a[4], const double b[4], double ret[4])
{
	const double r[4] = { a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
			      a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
			      a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
			      a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0] };

	memcpy(ret, r, sizeof(r));
}

static void turn(const double q[4], const double v[3], bool back, double ret[3])
{
	const double k = back ? -1 : 1, p[4] = { 0, v[0], v[1], v[2] };
	const double forth[4] = { q[0], k * q[1], k * q[2], k * q[3] },
		     inverse[4] = { q[0], -k * q[1], -k * q[2], -k * q[3] };
	double r[4];

	multiply(forth, p, r);
	multiply(r, inverse, r);
	memcpy(ret, r + 1, 3 * sizeof(double));
}

static struct sim_Vector3 vector(const double v[3])
{
	return (struct sim_Vector3){ .x = v[0], .y = v[1], .z = v[2] };
}

static struct sim_Quaternion quaternion(const double q[4])
{
	return (struct sim_Quaternion){ .w = q[0], .x = q[1], .y = q[2], .z = q[3] };
}

/* ---- messages ---- */

static const char *label_of(uint32_t code)
{
	switch (code) {
	case SIM_WORLD_VEHICLE:
		return "Car";
	case SIM_WORLD_PEDESTRIAN:
		return "Pedestrian";
	case SIM_WORLD_BICYCLE:
		return "Bicycle";
	default:
		return "Unknown";
	}
}

/* Centre of the object's box in the map. */
static void centre_of(const struct other *x, double ret[3])
{
	turn(x->o.rotation, x->shape.offset, false, ret);
	for (int i = 0; i < 3; i++)
		ret[i] += x->o.position[i];
}

static struct sim_Pose pose_of(const struct other *x, const double centre[3], const struct join_ego *ego)
{
	const double conjugate[4] = { ego->rotation[0], -ego->rotation[1], -ego->rotation[2], -ego->rotation[3] };
	double at[3], q[4];

	memcpy(at, centre, sizeof(at));
	memcpy(q, x->o.rotation, sizeof(q));
	if (ego->known) {
		for (int i = 0; i < 3; i++)
			at[i] -= ego->position[i];
		turn(ego->rotation, at, true, at);
		multiply(conjugate, x->o.rotation, q);
	}
	return (struct sim_Pose){ .position = vector(at), .orientation = quaternion(q) };
}

static void fill_object(const struct other *x, const struct join_ego *ego, struct sim_Detected3DObject *o)
{
	double forward[3], centre[3], v[3];

	centre_of(x, centre);
	o->pose = pose_of(x, centre, ego);
	o->size = vector(x->shape.size);
	turn(x->o.rotation, x->o.velocity, true, v);
	o->velocity.linear = vector(v);
	turn(x->o.rotation, x->o.spin, true, v);
	o->velocity.angular = vector(v);
	o->map_position = vector(centre);
	o->map_velocity = vector(x->o.velocity);
	turn(x->o.rotation, (const double[3]){ 1, 0, 0 }, false, forward);
	o->heading = atan2(forward[1], forward[0]);
	o->tracking_time = x->o.time_sim_ns - x->first_sim_ns;
	o->id = x->id;
	o->score = 1;
}

size_t others_objects_max(uint32_t n)
{
	return sim_Detected3DObjects_size(n, n * sim_string_size(LABEL_MAX));
}

size_t others_objects(const struct others *t, const struct join_ego *ego, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Detected3DObjects *all = sim_Detected3DObjects_init(body, cap, &b);
	struct sim_Detected3DObject *o = all ? sim_Detected3DObjects_objects_alloc(&b, t->n_near) : NULL;

	for (uint32_t i = 0; o && i < t->n_near; i++) {
		fill_object(t->near[i], ego, &o[i]);
		if (sim_Detected3DObject_label_set_in(&b, &o[i], label_of(t->near[i]->o.code)) < 0)
			return 0;
	}
	return o ? sim_builder_size(&b) : 0;
}

size_t others_tf_max(uint32_t n)
{
	return sim_Transforms_size(n, 2 * n * sim_string_size(FRAME_LEN));
}

size_t others_tf(const struct others *t, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Transforms *all = sim_Transforms_init(body, cap, &b);
	struct sim_Transform *at = all ? sim_Transforms_transforms_alloc(&b, t->n_near) : NULL;

	for (uint32_t i = 0; at && i < t->n_near; i++) {
		const struct sim_world_object *o = &t->near[i]->o;
		char frame[FRAME_LEN];

		snprintf(frame, sizeof(frame), "world_%u_%u", (unsigned)(o->id >> 40),
			 (unsigned)(o->id >> 16 & 0xffffff));
		at[i].translation = vector(o->position);
		at[i].rotation = quaternion(o->rotation);
		if (sim_Transform_parent_frame_set_in(&b, &at[i], FRAME_MAP) < 0 ||
		    sim_Transform_child_frame_set_in(&b, &at[i], frame) < 0)
			return 0;
	}
	return at ? sim_builder_size(&b) : 0;
}
