/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other incoming messages of Apollo than commands: driving mode, perceived obstacles, planned trajectory. See apollo.h.
 */
#include <math.h>
#include <string.h>

#include "apollo_in_private.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/EngageCommand.h"
#include "sim/msg/Gear.h"
#include "sim/msg/Trajectory.h"

/* ---- PadMessage ---- */

enum { STOP = 0, START = 1, RESET = 2, MODE_MANUAL = 0, MODE_AUTO = 1 };

/* Apollo 5 has the mode in the field in which Apollo 10 has the action. */
int apollo_in_pad(struct apollo_in *d)
{
	uint32_t action_field = d->release == APOLLO_5 ? 3 : 2;
	struct apollo_stamp stamp = { 0 };
	int32_t action = -1, mode = -1;
	struct pb_reader r;
	int64_t ns = 0;
	int e;

	pb_read_begin(&r, d->data, d->len, &d->error);
	while (pb_next(&r))
		if (r.field == 1)
			apollo_read_header(&r, &stamp);
		else if (r.field == action_field)
			pb_get_i32(&r, &action);
		else if (r.field == 2)
			pb_get_i32(&r, &mode);
	e = d->error ? d->error : apollo_check_stamp(d, &stamp, &ns);
	APOLLO_START(d, e, EngageCommand);
	m->stamp = ns;
	if (action == START || (action < 0 && mode == MODE_AUTO))
		m->engage = true;
	else if (action != STOP && action != RESET && !(action < 0 && mode == MODE_MANUAL))
		return 1;
	return apollo_made(d, &builder);
}

/* ---- PerceptionObstacles ---- */

struct obstacle { /* values that must be converted */
	struct sim_Detected3DObject o;
	struct apollo_kind kind;
	int32_t id;
	double tracking_s, score;
};

static const struct apollo_field obstacle_fields[] = {
	APOLLO_FIELD(1, IN_I32, obstacle, id),
	APOLLO_FIELD(2, IN_POINT, obstacle, o.map_position),
	APOLLO_FIELD(3, IN_F64, obstacle, o.heading),
	APOLLO_FIELD(4, IN_POINT, obstacle, o.map_velocity),
	APOLLO_FIELD(5, IN_F64, obstacle, o.size.x),
	APOLLO_FIELD(6, IN_F64, obstacle, o.size.y),
	APOLLO_FIELD(7, IN_F64, obstacle, o.size.z),
	APOLLO_FIELD(9, IN_F64, obstacle, tracking_s),
	APOLLO_FIELD(10, IN_I32, obstacle, kind.type),
	APOLLO_FIELD(13, IN_F64, obstacle, score),
	APOLLO_FIELD(16, IN_POINT, obstacle, o.map_acceleration),
	APOLLO_FIELD(19, IN_I32, obstacle, kind.sub_type),
};

/* Completes an object. False: position, size or heading is not finite. Unknown speed and acceleration become 0. */
static bool make_whole(const struct apollo_in *d, struct obstacle *p)
{
	static const struct sim_Vector3 zero;
	struct sim_Detected3DObject *m = &p->o;

	if (!apollo_finite(&m->map_velocity))
		m->map_velocity = zero;
	if (!apollo_finite(&m->map_acceleration))
		m->map_acceleration = zero;
	m->id = (uint32_t)p->id;
	m->score = apollo_confidence(p->score);
	m->tracking_time = p->tracking_s >= 0 ? apollo_dur_ns(p->tracking_s) : 0;
	m->map_position = apollo_to_origin(d, &m->map_position);
	return apollo_finite(&m->map_position) && apollo_finite(&m->size) && isfinite(m->heading);
}

/* Reads the header, which is the given field, before the repeated messages. */
static int read_stamp(struct apollo_in *d, uint32_t header, int64_t *ret_ns)
{
	struct apollo_stamp stamp = { 0 };
	struct pb_reader r;

	for (apollo_begin(d, &r); apollo_next(&r, header);)
		apollo_read_header(&r, &stamp);
	return d->error ? d->error : apollo_check_stamp(d, &stamp, ret_ns);
}

int apollo_in_obstacles(struct apollo_in *d)
{
	struct sim_Detected3DObject *o;
	uint32_t n, i = 0;
	struct pb_reader r;
	int64_t ns;
	int e = read_stamp(d, 2, &ns);

	APOLLO_START(d, e, Detected3DObjects);
	(void)m;
	n = apollo_count(d, 1);
	o = sim_Detected3DObjects_objects_alloc(&builder, n);
	if (n && !o)
		return sim_builder_error(&builder);
	for (apollo_begin(d, &r); i < n && apollo_next(&r, 1); i++) {
		struct obstacle p = { .score = 1 };

		APOLLO_TAKE_ALL(&r, obstacle_fields, &p);
		if (!d->error && !make_whole(d, &p))
			return apollo_drop(d, -ERANGE,
					   "obstacle %d has a position, size or direction that is not finite",
					   (int)p.id);
		o[i] = p.o;
		sim_Detected3DObject_label_set_in(&builder, &o[i], apollo_label_of(p.kind));
	}
	return apollo_made(d, &builder);
}

/* ---- ADCTrajectory ---- */

static const struct apollo_field path_fields[] = {
	APOLLO_FIELD(1, IN_F64, sim_TrajectoryPoint, position.x),
	APOLLO_FIELD(2, IN_F64, sim_TrajectoryPoint, position.y),
	APOLLO_FIELD(3, IN_F64, sim_TrajectoryPoint, position.z),
	APOLLO_FIELD(4, IN_F64, sim_TrajectoryPoint, heading),
	APOLLO_FIELD(5, IN_F64, sim_TrajectoryPoint, curvature),
	APOLLO_FIELD(6, IN_F64, sim_TrajectoryPoint, distance),
};

static void read_trajectory_point(const struct pb_reader *field, struct sim_TrajectoryPoint *p)
{
	struct pb_reader r;
	double s = 0;

	for (pb_enter(field, &r); pb_next(&r);)
		switch (r.field) {
		case 1:
			APOLLO_TAKE_ALL(&r, path_fields, p);
			break;
		case 2:
			pb_get_f64(&r, &p->speed);
			break;
		case 3:
			pb_get_f64(&r, &p->acceleration);
			break;
		case 4:
			pb_get_f64(&r, &s);
			break;
		}
	p->time_from_start = apollo_dur_ns(s);
}

static void read_estop(const struct pb_reader *field, struct sim_Trajectory *m)
{
	struct pb_reader r;
	bool on = false;

	for (pb_enter(field, &r); pb_next(&r);)
		if (r.field == 1 && pb_get_bool(&r, &on))
			m->emergency_stop = on;
}

static void read_plan(const struct pb_reader *r, struct sim_Trajectory *m)
{
	int32_t gear;
	double s;
	bool on;

	switch (r->field) {
	case 2:
		pb_get_f64(r, &m->length);
		break;
	case 3:
		if (pb_get_f64(r, &s))
			m->duration = apollo_dur_ns(s);
		break;
	case 6:
		read_estop(r, m);
		break;
	case 9:
		if (pb_get_bool(r, &on))
			m->replanned = on;
		break;
	case 10:
		if (pb_get_i32(r, &gear) && gear >= 0 && gear <= SIM_GEAR_LOW) /* both enums have the same values */
			m->gear = (uint8_t)gear;
		break;
	}
}

/* For display. A plan with a point that is not finite is dropped as a whole. */
int apollo_in_trajectory(struct apollo_in *d)
{
	struct sim_TrajectoryPoint *p;
	uint32_t n, i = 0;
	struct pb_reader r;
	int64_t ns;
	int e = read_stamp(d, 1, &ns);

	APOLLO_START(d, e, Trajectory);
	n = apollo_count(d, 12);
	p = sim_Trajectory_points_alloc(&builder, n);
	if (n && !p)
		return sim_builder_error(&builder);
	m->stamp = ns;
	m->gear = SIM_GEAR_NONE;
	pb_read_begin(&r, d->data, d->len, &d->error);
	while (pb_next(&r)) {
		read_plan(&r, m);
		if (r.field != 12 || r.wire != PB_LENGTH || i >= n)
			continue;
		memset(&p[i], 0, sizeof(p[i]));
		read_trajectory_point(&r, &p[i]);
		if (!apollo_finite(&p[i].position))
			return apollo_drop(d, -ERANGE, "point %u of the trajectory is not finite", i);
		i++;
	}
	return apollo_made(d, &builder);
}
