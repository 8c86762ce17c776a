/* SPDX-License-Identifier: Apache-2.0 */
/* What of Apollo comes in besides commands: who drives, what it sees, where it wants to go. See apollo.h. */
#include <math.h>
#include <string.h>

#include "apollo_in.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/EngageCommand.h"
#include "sim/msg/Gear.h"
#include "sim/msg/Trajectory.h"

/* ---- PadMessage ---- */

enum { STOP = 0, START = 1, RESET = 2, MODE_MANUAL = 0, MODE_AUTO = 1 };

/* Apollo 5 has the mode where Apollo 10 has the action. */
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

static void read_point(const struct pb_reader *field, struct sim_Vector3 *ret)
{
	struct pb_reader r;

	for (pb_enter(field, &r); pb_next(&r);)
		switch (r.field) {
		case 1:
			pb_get_f64(&r, &ret->x);
			break;
		case 2:
			pb_get_f64(&r, &ret->y);
			break;
		case 3:
			pb_get_f64(&r, &ret->z);
			break;
		}
}

static void read_obstacle(const struct pb_reader *field, struct sim_Detected3DObject *m, struct apollo_kind *kind)
{
	struct pb_reader r;
	int32_t id = 0;
	double s = 0, score = 1;

	for (pb_enter(field, &r); pb_next(&r);)
		switch (r.field) {
		case 1:
			pb_get_i32(&r, &id);
			break;
		case 2:
			read_point(&r, &m->map_position);
			break;
		case 3:
			pb_get_f64(&r, &m->heading);
			break;
		case 4:
			read_point(&r, &m->map_velocity);
			break;
		case 5:
			pb_get_f64(&r, &m->size.x);
			break;
		case 6:
			pb_get_f64(&r, &m->size.y);
			break;
		case 7:
			pb_get_f64(&r, &m->size.z);
			break;
		case 9:
			pb_get_f64(&r, &s);
			break;
		case 10:
			pb_get_i32(&r, &kind->type);
			break;
		case 13:
			pb_get_f64(&r, &score);
			break;
		case 16:
			read_point(&r, &m->map_acceleration);
			break;
		case 19:
			pb_get_i32(&r, &kind->sub_type);
			break;
		}
	m->id = (uint32_t)id;
	m->score = (float)score;
	m->tracking_time = s >= 0 && s < 9e9 ? (int64_t)(s * 1e9) : 0;
}

static bool finite3(const struct sim_Vector3 *v)
{
	return isfinite(v->x) && isfinite(v->y) && isfinite(v->z);
}

/* What has no place, size or direction is no object; of its speed and acceleration what is not known is 0. */
static bool make_whole(struct sim_Detected3DObject *m)
{
	static const struct sim_Vector3 zero;

	if (!finite3(&m->map_velocity))
		m->map_velocity = zero;
	if (!finite3(&m->map_acceleration))
		m->map_acceleration = zero;
	if (!(m->score >= 0 && m->score <= 1))
		m->score = 0;
	m->pose.orientation.w = 1;
	return finite3(&m->map_position) && finite3(&m->size) && isfinite(m->heading);
}

static uint32_t count(const struct apollo_in *d, uint32_t field)
{
	struct pb_reader r;
	uint32_t n = 0;
	int error = 0;

	pb_read_begin(&r, d->data, d->len, &error);
	while (pb_next(&r))
		n += r.field == field && r.wire == PB_LENGTH;
	return n;
}

/* A message of repeated ones: the header of a field, and read `one` for each of another. */
static int read_stamp(struct apollo_in *d, uint32_t header, int64_t *ret_ns)
{
	struct apollo_stamp stamp = { 0 };
	struct pb_reader r;

	pb_read_begin(&r, d->data, d->len, &d->error);
	while (pb_next(&r))
		if (r.field == header)
			apollo_read_header(&r, &stamp);
	return d->error ? d->error : apollo_check_stamp(d, &stamp, ret_ns);
}

int apollo_in_obstacles(struct apollo_in *d)
{
	struct sim_Detected3DObject *o;
	struct apollo_kind kind;
	uint32_t n, i = 0;
	struct pb_reader r;
	int64_t ns;
	int e = read_stamp(d, 2, &ns);

	APOLLO_START(d, e, Detected3DObjects);
	(void)m;
	n = count(d, 1);
	o = sim_Detected3DObjects_objects_alloc(&builder, n);
	if (n && !o)
		return sim_builder_error(&builder);
	pb_read_begin(&r, d->data, d->len, &d->error);
	while (pb_next(&r) && i < n) {
		if (r.field != 1 || r.wire != PB_LENGTH)
			continue;
		kind = (struct apollo_kind){ 0, 0 };
		memset(&o[i], 0, sizeof(o[i]));
		read_obstacle(&r, &o[i], &kind);
		if (!d->error && !make_whole(&o[i]))
			return apollo_drop(d, -ERANGE, "obstacle %d has a position, size or direction that is none",
					   (int)o[i].id);
		sim_Detected3DObject_label_set_in(&builder, &o[i], apollo_label_of(kind));
		i++;
	}
	return apollo_made(d, &builder);
}

/* ---- ADCTrajectory ---- */

static void read_path_point(const struct pb_reader *field, struct sim_TrajectoryPoint *p)
{
	struct pb_reader r;

	for (pb_enter(field, &r); pb_next(&r);)
		switch (r.field) {
		case 1:
			pb_get_f64(&r, &p->position.x);
			break;
		case 2:
			pb_get_f64(&r, &p->position.y);
			break;
		case 3:
			pb_get_f64(&r, &p->position.z);
			break;
		case 4:
			pb_get_f64(&r, &p->heading);
			break;
		case 5:
			pb_get_f64(&r, &p->curvature);
			break;
		case 6:
			pb_get_f64(&r, &p->distance);
			break;
		}
}

static int64_t duration(double s)
{
	return s > -9e9 && s < 9e9 ? (int64_t)(s * 1e9) : 0;
}

static void read_trajectory_point(const struct pb_reader *field, struct sim_TrajectoryPoint *p)
{
	struct pb_reader r;
	double s = 0;

	for (pb_enter(field, &r); pb_next(&r);)
		switch (r.field) {
		case 1:
			read_path_point(&r, p);
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
	p->time_from_start = duration(s);
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
			m->duration = duration(s);
		break;
	case 6:
		read_estop(r, m);
		break;
	case 9:
		if (pb_get_bool(r, &on))
			m->replanned = on;
		break;
	case 10:
		if (pb_get_i32(r, &gear) && gear >= 0 && gear <= SIM_GEAR_LOW) /* the same numbers */
			m->gear = (uint8_t)gear;
		break;
	}
}

/* For display. A plan with a point that is nowhere is dropped whole. */
int apollo_in_trajectory(struct apollo_in *d)
{
	struct sim_TrajectoryPoint *p;
	uint32_t n, i = 0;
	struct pb_reader r;
	int64_t ns;
	int e = read_stamp(d, 1, &ns);

	APOLLO_START(d, e, Trajectory);
	n = count(d, 12);
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
		if (!finite3(&p[i].position))
			return apollo_drop(d, -ERANGE, "point %u of the trajectory is nowhere", i);
		i++;
	}
	return apollo_made(d, &builder);
}
