/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incoming messages of Apollo about the vehicle and its surroundings: the chassis, detections in images, traffic
 * lights, lanes. See apollo_in.h.
 */
#include <math.h>
#include <string.h>

#include "apollo_in_private.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Detected2DObjects.h"
#include "sim/msg/LaneLines.h"
#include "sim/msg/TrafficSignals.h"

#define LABEL_MAX 63u /* bytes, in our types */

/* ---- in an image ---- */

struct velocity {
	struct sim_Vector3 linear, angular;
};

struct box {
	float x, y, width, height;
};

static const struct apollo_field velocity_fields[] = { APOLLO_FIELD(1, IN_POINT, velocity, linear),
						       APOLLO_FIELD(2, IN_POINT, velocity, angular) };
static const struct apollo_field box_fields[] = { APOLLO_FIELD(1, IN_F32, box, x), APOLLO_FIELD(2, IN_F32, box, y),
						  APOLLO_FIELD(3, IN_F32, box, width),
						  APOLLO_FIELD(4, IN_F32, box, height) };
static const struct apollo_field detection_fields[] = { APOLLO_FIELD(2, IN_U32, sim_Detected2DObject, id),
							APOLLO_FIELD(4, IN_F64_F32, sim_Detected2DObject, score) };

static int detection(const struct pb_reader *field, struct sim_builder *b, struct sim_Detected2DObject *to)
{
	struct velocity v = { 0 };
	struct box box = { 0 };
	const void *label = NULL;
	struct pb_reader r;
	size_t len = 0;

	*to = (struct sim_Detected2DObject){ 0 };
	for (pb_enter(field, &r); pb_next(&r);)
		if (r.field == 3)
			pb_get_bytes(&r, &label, &len);
		else if (r.field == 5)
			APOLLO_TAKE_ALL(&r, box_fields, &box);
		else if (r.field == 6)
			APOLLO_TAKE_ALL(&r, velocity_fields, &v);
		else
			APOLLO_TAKE(&r, detection_fields, to);
	to->center_x = box.x;
	to->center_y = box.y;
	to->width = box.width;
	to->height = box.height;
	to->linear_velocity = v.linear;
	to->angular_velocity = v.angular;
	if (!isfinite(box.x) || !isfinite(box.y) || !isfinite(box.width) || !isfinite(box.height) ||
	    !isfinite(to->score) || !apollo_finite(&v.linear) || !apollo_finite(&v.angular))
		return -ERANGE;
	return apollo_set_text(b, &to->label, label, len, LABEL_MAX);
}

int apollo_in_detections(struct apollo_in *d)
{
	struct sim_Detected2DObject *to;
	uint32_t n, i = 0;
	struct pb_reader r;
	int e = apollo_take_header(d, 1);

	APOLLO_START(d, e, Detected2DObjects);
	(void)m;
	n = apollo_count(d, 2);
	to = sim_Detected2DObjects_objects_alloc(&builder, n);
	if (n && !to)
		return sim_builder_error(&builder);
	for (apollo_begin(d, &r); i < n && apollo_next(&r, 2); i++) {
		e = detection(&r, &builder, &to[i]);
		if (e == -ERANGE)
			return apollo_drop(d, e, "detection %u has a value that is not finite", i);
	}
	return apollo_made(d, &builder);
}

/* ---- traffic lights ---- */

struct light {
	int32_t color;
	double confidence;
	uint8_t blink;
};

static const struct apollo_field light_fields[] = { APOLLO_FIELD(1, IN_I32, light, color),
						    APOLLO_FIELD(3, IN_F64, light, confidence),
						    APOLLO_FIELD(5, IN_BOOL, light, blink) };

static void read_light(const struct pb_reader *field, struct sim_builder *b, struct sim_TrafficSignal *to)
{
	struct light l = { .confidence = 1 };
	const void *id = NULL;
	struct pb_reader r;
	size_t len = 0;

	for (pb_enter(field, &r); pb_next(&r);)
		if (r.field == 2)
			pb_get_bytes(&r, &id, &len);
		else
			APOLLO_TAKE(&r, light_fields, &l);
	*to = (struct sim_TrafficSignal){ .shape = SIM_TRAFFIC_SIGNAL_SHAPE_UNKNOWN, .blink = l.blink };
	if (l.color >= 0 && l.color <= SIM_TRAFFIC_SIGNAL_COLOR_BLACK) /* both enums have the same values */
		to->color = (uint8_t)l.color;
	to->score = apollo_confidence(l.confidence);
	(void)apollo_set_text(b, &to->id, id, len, LABEL_MAX);
}

int apollo_in_lights(struct apollo_in *d)
{
	struct sim_TrafficSignal *to;
	uint32_t n, i = 0;
	struct pb_reader r;
	int e = apollo_take_header(d, 2);

	APOLLO_START(d, e, TrafficSignals);
	(void)m;
	n = apollo_count(d, 1);
	to = sim_TrafficSignals_signals_alloc(&builder, n);
	if (n && !to)
		return sim_builder_error(&builder);
	for (apollo_begin(d, &r); i < n && apollo_next(&r, 1); i++) {
		read_light(&r, &builder, &to[i]);
		to[i].seq_id = i;
	}
	return apollo_made(d, &builder);
}

/* ---- lanes ---- */

struct curve {
	float from, to, a, b, c, d;
};

struct line {
	int32_t type, position;
};

static const struct apollo_field curve_fields[] = {
	APOLLO_FIELD(1, IN_F32, curve, from), APOLLO_FIELD(2, IN_F32, curve, to), APOLLO_FIELD(3, IN_F32, curve, a),
	APOLLO_FIELD(4, IN_F32, curve, b),    APOLLO_FIELD(5, IN_F32, curve, c),  APOLLO_FIELD(6, IN_F32, curve, d),
};
static const struct apollo_field line_fields[] = { APOLLO_FIELD(1, IN_I32, line, type),
						   APOLLO_FIELD(2, IN_I32, line, position) };

/* The camera's x points to the right, and a is the cubic coefficient. Types and positions have the same values. */
static int lane(const struct pb_reader *field, struct sim_LaneLine *to)
{
	struct line l = { .position = SIM_LANE_LINE_POSITION_UNKNOWN };
	struct curve v = { 0 };
	struct pb_reader r;

	for (pb_enter(field, &r); pb_next(&r);)
		if (r.field == 3)
			APOLLO_TAKE_ALL(&r, curve_fields, &v);
		else
			APOLLO_TAKE(&r, line_fields, &l);
	if (l.type < 0 || l.type > SIM_LANE_LINE_TYPE_YELLOW_SOLID)
		l.type = SIM_LANE_LINE_TYPE_WHITE_DASHED;
	if (l.position < SIM_LANE_LINE_POSITION_FIFTH_LEFT || l.position > SIM_LANE_LINE_POSITION_UNKNOWN ||
	    !l.position)
		l.position = SIM_LANE_LINE_POSITION_UNKNOWN;
	*to = (struct sim_LaneLine){ .min_x = v.from,
				     .max_x = v.to,
				     .c0 = -v.d,
				     .c1 = -v.c,
				     .c2 = -v.b,
				     .c3 = -v.a,
				     .type = (uint8_t)l.type,
				     .position = (int8_t)l.position };
	return isfinite(v.from) && isfinite(v.to) && isfinite(v.a) && isfinite(v.b) && isfinite(v.c) && isfinite(v.d)
		       ? 0
		       : -ERANGE;
}

int apollo_in_lanes(struct apollo_in *d)
{
	struct sim_LaneLine *to;
	uint32_t n, i = 0;
	struct pb_reader r;
	int e = apollo_take_header(d, 1);

	APOLLO_START(d, e, LaneLines);
	(void)m;
	n = apollo_count(d, 5);
	to = sim_LaneLines_lines_alloc(&builder, n);
	if (n && !to)
		return sim_builder_error(&builder);
	for (apollo_begin(d, &r); i < n && apollo_next(&r, 5); i++)
		if (lane(&r, &to[i]) < 0)
			return apollo_drop(d, -ERANGE, "lane line %u has a value that is not finite", i);
	return apollo_made(d, &builder);
}

/* ---- Chassis ---- */

struct chassis {
	struct sim_CanBus m;
	int32_t mode, gear, turn;
	uint8_t emergency_light;
	double latitude, longitude, altitude, heading_deg;
};

static const struct apollo_field chassis_fields[] = {
	APOLLO_FIELD(3, IN_BOOL, chassis, m.engine_on),
	APOLLO_FIELD(4, IN_F32, chassis, m.engine_rpm),
	APOLLO_FIELD(5, IN_F32, chassis, m.speed),
	APOLLO_FIELD(8, IN_F32, chassis, m.throttle),
	APOLLO_FIELD(9, IN_F32, chassis, m.braking),
	APOLLO_FIELD(11, IN_F32, chassis, m.steering),
	APOLLO_FIELD(13, IN_BOOL, chassis, m.parking_brake),
	APOLLO_FIELD(14, IN_BOOL, chassis, m.high_beam),
	APOLLO_FIELD(15, IN_BOOL, chassis, m.low_beam),
	APOLLO_FIELD(16, IN_BOOL, chassis, m.left_turn_signal),
	APOLLO_FIELD(17, IN_BOOL, chassis, m.right_turn_signal),
	APOLLO_FIELD(19, IN_BOOL, chassis, m.wipers),
	APOLLO_FIELD(21, IN_I32, chassis, mode),
	APOLLO_FIELD(23, IN_I32, chassis, gear),
};
static const struct apollo_field signal_fields[] = {
	APOLLO_FIELD(1, IN_I32, chassis, turn),
	APOLLO_FIELD(2, IN_BOOL, chassis, m.high_beam),
	APOLLO_FIELD(3, IN_BOOL, chassis, m.low_beam),
	APOLLO_FIELD(5, IN_BOOL, chassis, emergency_light),
};
static const struct apollo_field gps_fields[] = {
	APOLLO_FIELD(1, IN_F64, chassis, latitude),
	APOLLO_FIELD(2, IN_F64, chassis, longitude),
	APOLLO_FIELD(14, IN_F64, chassis, altitude),
	APOLLO_FIELD(15, IN_F64, chassis, heading_deg),
};

/* From the GNSS fix of the chassis: heading is from north, clockwise. */
static void place(const struct apollo_in *d, struct chassis *c)
{
	double yaw = (90 - c->heading_deg) / APOLLO_DEG_PER_RAD;
	struct sim_CanBus *m = &c->m;

	if (!isfinite(c->latitude) || !isfinite(c->longitude) || !isfinite(c->altitude) || !isfinite(yaw))
		return;
	m->latitude = c->latitude;
	m->longitude = c->longitude;
	m->altitude = c->altitude + d->options->undulation;
	m->orientation = (struct sim_Quaternion){ .z = sin(yaw / 2), .w = cos(yaw / 2) };
	m->velocity = (struct sim_Vector3){ .x = (double)m->speed * cos(yaw), .y = (double)m->speed * sin(yaw) };
}

enum { TURN_LEFT = 1, TURN_RIGHT = 2, TURN_HAZARD = 3 };

static void finish(const struct apollo_in *d, struct chassis *c, bool has_gps)
{
	struct sim_CanBus *m = &c->m;

	apollo_finish_chassis(m, c->mode, c->gear);
	m->left_turn_signal |= c->turn == TURN_LEFT;
	m->right_turn_signal |= c->turn == TURN_RIGHT;
	m->hazard_lights = c->emergency_light || c->turn == TURN_HAZARD;
	if (has_gps)
		place(d, c);
}

int apollo_in_chassis(struct apollo_in *d)
{
	struct chassis c = { .gear = -1 };
	struct pb_reader r;
	bool has_gps = false;
	int e = apollo_take_header(d, 25);

	for (apollo_begin(d, &r); pb_next(&r);)
		if (r.field == 27) {
			APOLLO_TAKE_ALL(&r, signal_fields, &c);
		} else if (r.field == 28) {
			has_gps = true;
			APOLLO_TAKE_ALL(&r, gps_fields, &c);
		} else {
			APOLLO_TAKE(&r, chassis_fields, &c);
		}
	APOLLO_START(d, e, CanBus);
	finish(d, &c, has_gps);
	*m = c.m;
	return apollo_made(d, &builder);
}
