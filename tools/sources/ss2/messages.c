/* SPDX-License-Identifier: Apache-2.0 */
/* From the scene to messages. See messages.h. */
#include "messages.h"

#include <stdio.h>
#include <string.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Imu.h>
#include <sim/msg/OccupancyGrid.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/point_cloud.h>

#include "../space.h"
#include "nearest.h"
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

/* A pose of the map, relative to the ego; unchanged without an ego. */
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

/* Choose all entities but the ego; if there are too many, the nearest. */
static void choose(const struct scene *s, const struct scene_entity *ego, struct nearest *ret)
{
	struct sim_Vector3 from = ego ? ego->pose.position : (struct sim_Vector3){ 0 };

	for (size_t i = 0; i < s->n_entities; i++) {
		if (&s->entity[i] != ego)
			nearest_put(ret, space_length(space_sub(s->entity[i].pose.position, from)), (uint32_t)i);
	}
	nearest_end(ret);
}

size_t message_objects_max(size_t n)
{
	return sim_Detected3DObjects_size(n, n * sim_string_size(LABEL_MAX));
}

size_t message_objects(const struct scene *s, int64_t now_sim_ns, void *body, size_t cap)
{
	const struct scene_entity *ego = scene_ego(s);
	struct nearest_one one[MESSAGE_OBJECTS_MAX];
	struct nearest chosen = { .one = one, .max = MESSAGE_OBJECTS_MAX };
	struct sim_builder b;
	struct sim_Detected3DObjects *all = sim_Detected3DObjects_init(body, cap, &b);
	struct sim_Detected3DObject *o;

	choose(s, ego, &chosen);
	o = all ? sim_Detected3DObjects_objects_alloc(&b, (uint32_t)chosen.n) : NULL;
	if (!o)
		return 0;
	for (size_t i = 0; i < chosen.n; i++) {
		const struct scene_entity *e = &s->entity[one[i].at];

		fill_object(e, ego, now_sim_ns, o);
		if (sim_Detected3DObject_label_set_in(&b, o++, label_of(e)) < 0)
			return 0;
	}
	return sim_builder_size(&b);
}

size_t message_look(const struct sensors_look *l, int64_t now_sim_ns, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Detected3DObjects *all = sim_Detected3DObjects_init(body, cap, &b);
	struct sim_Detected3DObject *o = all ? sim_Detected3DObjects_objects_alloc(&b, l->n) : NULL;

	if (!o)
		return 0;
	for (uint32_t i = 0; i < l->n; i++) {
		fill_object(&l->object[i], NULL, now_sim_ns, o);
		if (sim_Detected3DObject_label_set_in(&b, o++, label_of(&l->object[i])) < 0)
			return 0;
	}
	return sim_builder_size(&b);
}

size_t message_cloud_size(size_t n_points)
{
	return sim_point_cloud_size(n_points);
}

size_t message_cloud(const struct lidar_cloud *c, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Point *p = sim_point_cloud_begin(body, cap, c->n, &b);

	if (!p)
		return 0;
	memcpy(p, c->point, c->n * sizeof(*p));
	return sim_builder_size(&b);
}

size_t message_grid_size(const struct grid *g)
{
	return sim_OccupancyGrid_size((size_t)g->width * g->height);
}

size_t message_grid(const struct grid *g, const struct sensors_look *l, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_OccupancyGrid *m = sim_OccupancyGrid_init(body, cap, &b);
	int8_t *cells = m ? sim_OccupancyGrid_data_alloc(&b, g->width * g->height) : NULL;

	if (!cells)
		return 0;
	m->origin.position = l->ego.position;
	m->origin.position.x -= g->width * g->resolution / 2;
	m->origin.position.y -= g->height * g->resolution / 2;
	m->origin.orientation.w = 1;
	m->resolution = (float)g->resolution;
	m->width = g->width;
	m->height = g->height;
	grid_fill(g, l, cells);
	return sim_builder_size(&b);
}

static void diagonal(double *matrix, double deviation)
{
	for (int i = 0; i < 3; i++)
		matrix[i * 4] = deviation * deviation;
}

size_t message_sensed_imu(const struct sensors_measure *m, const struct sensors_imu *c, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Imu *imu = sim_Imu_init(body, cap, &b);

	if (!imu)
		return 0;
	imu->orientation = m->orientation;
	imu->angular_velocity = m->angular_velocity;
	imu->linear_acceleration = m->linear_acceleration;
	diagonal(imu->orientation_covariance, c->noise_orientation);
	diagonal(imu->angular_velocity_covariance, c->noise_twist);
	diagonal(imu->linear_acceleration_covariance, c->noise_acceleration);
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
	uint32_t n = s->n_bulbs < MESSAGE_BULBS_MAX ? (uint32_t)s->n_bulbs : MESSAGE_BULBS_MAX;
	struct sim_TrafficSignal *t = all ? sim_TrafficSignals_signals_alloc(&b, n) : NULL;

	if (!t)
		return 0;
	for (uint32_t i = 0; i < n; i++, t++) {
		const struct scene_bulb *from = &s->bulb[i];
		char id[SIGNAL_ID_MAX + 1];

		snprintf(id, sizeof(id), "%d", (int)from->group);
		t->pose.orientation.w = 1;
		t->seq_id = (uint32_t)from->light;
		t->score = from->score;
		t->color = from->color;
		t->shape = from->shape;
		t->blink = from->blink;
		if (sim_TrafficSignal_id_set_in(&b, t, id) < 0)
			return 0;
	}
	return sim_builder_size(&b);
}
