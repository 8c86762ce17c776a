/* SPDX-License-Identifier: Apache-2.0 */
/* From the scene to messages. See messages.h. */
#include "messages.h"

#include <stdio.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/TrafficSignals.h>

#include "space.h"
#include "ss2/ss2.pb-c.h"

#define LABEL_MAX     16
#define SIGNAL_ID_MAX 12

const char *message_frame(const struct scene *s)
{
	return scene_ego(s) ? FRAME_BASE : FRAME_MAP;
}

static const char *label_of(const struct scene_entity *e)
{
	static const char *const labels[] = {
		[SS2__ENTITY_SUBTYPE__ENUM__CAR] = "Car",
		[SS2__ENTITY_SUBTYPE__ENUM__TRUCK] = "Truck",
		[SS2__ENTITY_SUBTYPE__ENUM__BUS] = "Bus",
		[SS2__ENTITY_SUBTYPE__ENUM__TRAILER] = "Trailer",
		[SS2__ENTITY_SUBTYPE__ENUM__MOTORCYCLE] = "Motorcycle",
		[SS2__ENTITY_SUBTYPE__ENUM__BICYCLE] = "Bicycle",
		[SS2__ENTITY_SUBTYPE__ENUM__PEDESTRIAN] = "Pedestrian",
	};

	if (e->subtype < sizeof(labels) / sizeof(labels[0]) && labels[e->subtype])
		return labels[e->subtype];
	return e->kind == SCENE_PEDESTRIAN ? "Pedestrian" : "Unknown";
}

/* A pose of the map, as the ego sees it; without an ego as it is. */
static struct sim_Pose seen_from(const struct scene_entity *ego, struct sim_Pose p)
{
	struct sim_Quaternion back;

	if (!ego)
		return p;
	back = space_inverse(ego->pose.orientation);
	return (struct sim_Pose){
		.position = space_rotate(back, space_sub(p.position, ego->pose.position)),
		.orientation = space_mul(back, p.orientation),
	};
}

static void fill_object(const struct scene_entity *e, const struct scene_entity *ego, int64_t now_sim_ns,
			struct sim_Detected3DObject *o)
{
	struct sim_Pose center = e->pose;

	center.position = space_add(center.position, space_rotate(e->pose.orientation, e->box_center));
	o->pose = seen_from(ego, center);
	o->size = e->box_size;
	o->velocity = e->twist;
	o->map_position = center.position;
	o->map_velocity = space_rotate(e->pose.orientation, e->twist.linear);
	o->map_acceleration = space_rotate(e->pose.orientation, e->accel.linear);
	o->heading = space_yaw(e->pose.orientation);
	o->tracking_time = e->shown && now_sim_ns > e->first_sim_ns ? now_sim_ns - e->first_sim_ns : 0;
	o->id = e->id;
	o->score = 1;
}

size_t message_objects_max(size_t n)
{
	return sim_Detected3DObjects_size(n, n * sim_string_size(LABEL_MAX));
}

size_t message_objects(const struct scene *s, int64_t now_sim_ns, void *body, size_t cap)
{
	const struct scene_entity *ego = scene_ego(s);
	struct sim_builder b;
	struct sim_Detected3DObjects *all = sim_Detected3DObjects_init(body, cap, &b);
	uint32_t n = (uint32_t)s->n_entities - (ego ? 1 : 0);
	struct sim_Detected3DObject *o = all ? sim_Detected3DObjects_objects_alloc(&b, n) : NULL;

	if (!o)
		return 0;
	for (size_t i = 0; i < s->n_entities; i++) {
		if (&s->entity[i] == ego)
			continue;
		fill_object(&s->entity[i], ego, now_sim_ns, o);
		if (sim_Detected3DObject_label_set_in(&b, o++, label_of(&s->entity[i])) < 0)
			return 0;
	}
	return sim_builder_size(&b);
}

size_t message_signals_max(size_t n)
{
	return sim_TrafficSignals_size(n, n * sim_string_size(SIGNAL_ID_MAX));
}

size_t message_signals(const struct scene *s, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_TrafficSignals *all = sim_TrafficSignals_init(body, cap, &b);
	struct sim_TrafficSignal *t = all ? sim_TrafficSignals_signals_alloc(&b, (uint32_t)s->n_signals) : NULL;

	if (!t)
		return 0;
	for (size_t i = 0; i < s->n_signals; i++, t++) {
		const struct scene_signal *from = &s->signal[i];
		char id[SIGNAL_ID_MAX + 1];

		snprintf(id, sizeof(id), "%d", (int)from->id);
		t->pose.orientation.w = 1;
		t->seq_id = (uint32_t)from->id;
		t->score = from->score;
		t->color = from->color;
		t->shape = from->shape;
		t->blink = from->blink;
		if (sim_TrafficSignal_id_set_in(&b, t, id) < 0)
			return 0;
	}
	return sim_builder_size(&b);
}
