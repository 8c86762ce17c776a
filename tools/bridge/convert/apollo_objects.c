/* SPDX-License-Identifier: Apache-2.0 */
/* The vehicle's surroundings: objects, traffic lights, lanes. See apollo.h. */
#include <math.h>

#include "apollo_private.h"
#include "sim/msg/Detected2DObjects.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/LaneLines.h"
#include "sim/msg/TrafficSignals.h"

/* Counterclockwise, starting front left. */
static void corners(struct apollo_out *o, const struct sim_Detected3DObject *m, const struct sim_Vector3 *at)
{
	double c = cos(m->heading), s = sin(m->heading);

	for (int i = 0; i < 4; i++) {
		double x = (i == 0 || i == 3 ? 0.5 : -0.5) * m->size.x, y = (i < 2 ? 0.5 : -0.5) * m->size.y;
		struct sim_Vector3 corner = { .x = at->x + c * x - s * y, .y = at->y + s * x + c * y, .z = at->z };

		apollo_point(o, 8, &corner);
	}
}

static void obstacle(struct apollo_out *o, const struct sim_Detected3DObject *m)
{
	struct apollo_kind kind = apollo_kind_of(o->in->body, o->in->size, m);
	struct sim_Vector3 at = apollo_from_origin(o, &m->map_position);
	struct pb_writer *w = &o->w;

	pb_open(w, 1);
	pb_i64(w, 1, (int32_t)m->id);
	apollo_point(o, 2, &at);
	pb_f64(w, 3, m->heading);
	apollo_point(o, 4, &m->map_velocity);
	pb_f64(w, 5, m->size.x);
	pb_f64(w, 6, m->size.y);
	pb_f64(w, 7, m->size.z);
	corners(o, m, &at);
	pb_f64(w, 9, apollo_seconds(m->tracking_time));
	pb_i64(w, 10, kind.type);
	pb_f64(w, 11, apollo_seconds(o->in->stamp_sim_ns));
	pb_f64(w, 13, (double)m->score);
	apollo_point(o, 16, &m->map_acceleration);
	apollo_point(o, 17, &at);
	pb_i64(w, 19, kind.sub_type);
	pb_close(w);
}

int apollo_out_obstacles(struct apollo_out *o)
{
	const struct sim_Detected3DObjects *m = APOLLO_BODY(o, Detected3DObjects);
	uint32_t n;
	const struct sim_Detected3DObject *d = sim_Detected3DObjects_objects(m, o->in->size, &n);

	for (uint32_t i = 0; i < n; i++)
		obstacle(o, &d[i]);
	apollo_header(o, 2, 0);
	pb_u64(&o->w, 3, 0);
	return 0;
}

/* ---- in an image ---- */

static void twist(struct apollo_out *o, uint32_t field, const struct sim_Vector3 *linear,
		  const struct sim_Vector3 *angular)
{
	pb_open(&o->w, field);
	apollo_point(o, 1, linear);
	apollo_point(o, 2, angular);
	pb_close(&o->w);
}

static void detection(struct apollo_out *o, const struct sim_Detected2DObject *m)
{
	struct pb_writer *w = &o->w;

	pb_open(w, 2);
	apollo_header(o, 1, APOLLO_CAMERA_TIMESTAMP);
	pb_u64(w, 2, m->id);
	apollo_body_text(o, 3, sim_Detected2DObject_label_in(o->in->body, o->in->size, m));
	pb_f64(w, 4, (double)m->score);
	pb_open(w, 5);
	pb_f32(w, 1, m->center_x);
	pb_f32(w, 2, m->center_y);
	pb_f32(w, 3, m->width);
	pb_f32(w, 4, m->height);
	pb_close(w);
	twist(o, 6, &m->linear_velocity, &m->angular_velocity);
	pb_close(w);
}

int apollo_out_detections(struct apollo_out *o)
{
	const struct sim_Detected2DObjects *m = APOLLO_BODY(o, Detected2DObjects);
	uint32_t n;
	const struct sim_Detected2DObject *d = sim_Detected2DObjects_objects(m, o->in->size, &n);

	apollo_header(o, 1, APOLLO_CAMERA_TIMESTAMP);
	for (uint32_t i = 0; i < n; i++)
		detection(o, &d[i]);
	return 0;
}

/* ---- traffic lights ---- */

static void light(struct apollo_out *o, const struct sim_TrafficSignal *s)
{
	uint8_t color = s->color;

	pb_open(&o->w, 1);
	/* both enums have the same values; white does not exist */
	pb_u64(&o->w, 1, color <= SIM_TRAFFIC_SIGNAL_COLOR_BLACK ? color : 0);
	apollo_body_text(o, 2, sim_TrafficSignal_id_in(o->in->body, o->in->size, s));
	pb_f64(&o->w, 3, (double)s->score);
	pb_bool(&o->w, 5, s->blink);
	pb_close(&o->w);
}

int apollo_out_lights(struct apollo_out *o)
{
	const struct sim_TrafficSignals *m = APOLLO_BODY(o, TrafficSignals);
	uint32_t n;
	const struct sim_TrafficSignal *s = sim_TrafficSignals_signals(m, o->in->size, &n);

	for (uint32_t i = 0; i < n; i++)
		light(o, &s[i]);
	apollo_header(o, 2, APOLLO_CAMERA_TIMESTAMP);
	pb_bool(&o->w, 4, n > 0);
	return 0;
}

/* ---- lanes ---- */

/* The camera's x points to the right, and a is the cubic coefficient. Types and positions have the same values. */
static void lane(struct apollo_out *o, const struct sim_LaneLine *l)
{
	struct pb_writer *w = &o->w;
	uint8_t type = l->type;

	pb_open(w, 5);
	pb_u64(w, 1, type <= SIM_LANE_LINE_TYPE_YELLOW_SOLID ? type : 0);
	pb_i64(w, 2, l->position);
	pb_open(w, 3);
	pb_f32(w, 1, l->min_x);
	pb_f32(w, 2, l->max_x);
	pb_f32(w, 3, -l->c3);
	pb_f32(w, 4, -l->c2);
	pb_f32(w, 5, -l->c1);
	pb_f32(w, 6, -l->c0);
	pb_close(w);
	pb_close(w);
}

int apollo_out_lanes(struct apollo_out *o)
{
	const struct sim_LaneLines *m = APOLLO_BODY(o, LaneLines);
	uint32_t n;
	const struct sim_LaneLine *l = sim_LaneLines_lines(m, o->in->size, &n);

	apollo_header(o, 1, APOLLO_CAMERA_TIMESTAMP);
	for (uint32_t i = 0; i < n; i++)
		lane(o, &l[i]);
	return 0;
}
