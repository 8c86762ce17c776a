/* SPDX-License-Identifier: Apache-2.0 */
/* See objects.h. */
#include "objects.h"

#include <errno.h>
#include <math.h>

#define LABEL_MAX 16

static size_t size_of(size_t n)
{
	return sim_Detected3DObjects_size(n, n * sim_string_size(LABEL_MAX));
}

int objects_advertise(struct sim_component *c, const char *channel, const char *frame, struct sim_node_writer **ret)
{
	struct sim_node_writer_options o = { .size = sizeof(o), .max_body = size_of(OBSTACLES_MAX), .frame_id = frame };
	int r = sim_node_writer_create(sim_component_node(c), channel, &sim_Detected3DObjects_type, &o, ret);

	return r < 0 ? sim_component_fail(c, r, "output %s: %s", channel, sim_why()) : 0;
}

int objects_begin(struct sim_node_writer *w, size_t n, struct objects_out *ret)
{
	size_t size = size_of(n);
	int r;

	*ret = (struct objects_out){ 0 };
	r = sim_node_loan(w, size, &ret->slot);
	if (r < 0)
		return r;
	if (!sim_Detected3DObjects_init(sim_slot_body_mut(ret->slot), size, &ret->b))
		return -EMSGSIZE;
	ret->objects = sim_Detected3DObjects_objects_alloc(&ret->b, (uint32_t)n);
	return ret->objects || !n ? 0 : -EMSGSIZE;
}

int objects_label(struct objects_out *o, size_t i, const char *label)
{
	return sim_Detected3DObject_label_set_in(&o->b, &o->objects[i], label);
}

int objects_end(struct sim_node_writer *w, struct objects_out *o, int r, int64_t stamp_sim_ns)
{
	if (r == 0)
		r = sim_slot_set_size(o->slot, sim_builder_size(&o->b));
	if (r < 0) {
		if (o->slot)
			sim_node_unloan(w, o->slot);
		return r;
	}
	o->slot->stamp_sim_ns = stamp_sim_ns;
	return sim_node_write(w, o->slot);
}

struct sim_Quaternion objects_turn(double yaw)
{
	return (struct sim_Quaternion){ .z = sin(yaw / 2), .w = cos(yaw / 2) };
}

double objects_yaw(const struct sim_Quaternion *q)
{
	return atan2(2 * (q->w * q->z + q->x * q->y), 1 - 2 * (q->y * q->y + q->z * q->z));
}

void objects_put_box(struct sim_Detected3DObject *d, const struct obstacle *o)
{
	d->pose = (struct sim_Pose){ .position = { .x = o->x, .y = o->y, .z = o->z },
				     .orientation = objects_turn(o->yaw) };
	d->size = (struct sim_Vector3){ .x = o->length, .y = o->width, .z = o->height };
}

struct obstacle objects_get_box(const struct sim_Detected3DObject *d)
{
	return (struct obstacle){ .x = d->pose.position.x,
				  .y = d->pose.position.y,
				  .z = d->pose.position.z,
				  .length = d->size.x,
				  .width = d->size.y,
				  .height = d->size.z,
				  .yaw = objects_yaw(&d->pose.orientation),
				  .points = 1 };
}
