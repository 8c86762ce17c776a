/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, frames, inertial and satellite navigation. See apollo.h. */
#include <stdlib.h>
#include <string.h>

#include "apollo_private.h"
#include "geo.h"
#include "sim/msg/Clock.h"
#include "sim/msg/CorrectedImu.h"
#include "sim/msg/Gps.h"
#include "sim/msg/GpsIns.h"
#include "sim/msg/GpsOdometry.h"
#include "sim/msg/Imu.h"
#include "sim/msg/Transforms.h"

int apollo_out_clock(struct apollo_out *o)
{
	const struct sim_Clock *m = APOLLO_BODY(o, Clock);

	if (m->clock < 0)
		return apollo_refuse(o, -ENOTSUP, "Cyber RT's clock begins at 1970");
	pb_u64(&o->w, 1, (uint64_t)m->clock);
	return 0;
}

/* ---- frames ---- */

static bool is_rfu(const struct apollo_out *o, const char *frame, size_t len)
{
	const char *const *f = o->options->rfu_frames;

	for (; f && *f; f++)
		if (strlen(*f) == len && !memcmp(*f, frame, len))
			return true;
	return false;
}

static void transform(struct apollo_out *o, const struct sim_Transform *t)
{
	const void *body = o->in->body;
	const char *parent = sim_Transform_parent_frame_in(body, o->in->size, t);
	const char *child = sim_Transform_child_frame_in(body, o->in->size, t);
	size_t parent_len = apollo_body_len(o, parent), child_len = apollo_body_len(o, child);
	struct sim_Vector3 at = t->translation;
	struct sim_Quaternion q = t->rotation;

	if (is_rfu(o, parent, parent_len)) {
		at = apollo_rfu(&at);
		q = apollo_turned(&q);
	}
	if (is_rfu(o, child, child_len))
		q = apollo_turn(&q);
	pb_open(&o->w, 2);
	apollo_header_framed(o, 1, 0, parent, parent_len);
	pb_string(&o->w, 2, child, child_len);
	pb_open(&o->w, 3);
	apollo_point(o, 1, &at);
	apollo_quaternion(o, 2, &q);
	pb_close(&o->w);
	pb_close(&o->w);
}

int apollo_out_transforms(struct apollo_out *o)
{
	const struct sim_Transforms *m = APOLLO_BODY(o, Transforms);
	uint32_t n;
	const struct sim_Transform *t = sim_Transforms_transforms(m, o->in->size, &n);

	apollo_header(o, 1, 0);
	for (uint32_t i = 0; i < n; i++)
		transform(o, &t[i]);
	return 0;
}

/* ---- inertial ---- */

static void rfu_point(struct apollo_out *o, uint32_t field, const struct sim_Vector3 *v)
{
	struct sim_Vector3 r = apollo_rfu(v);

	apollo_point(o, field, &r);
}

int apollo_out_imu(struct apollo_out *o)
{
	const struct sim_Imu *m = APOLLO_BODY(o, Imu);

	apollo_header(o, 1, 0);
	pb_f64(&o->w, 2, apollo_seconds(apollo_gps_ns(o->in->stamp_sim_ns)));
	pb_f32(&o->w, 3, (float)apollo_seconds(m->measurement_span));
	rfu_point(o, 4, &m->linear_acceleration);
	rfu_point(o, 5, &m->angular_velocity);
	return 0;
}

/* Contents of a localization.Pose; NULL: left out. Vehicle axes: FLU. */
struct pose {
	struct sim_Vector3 at;
	const struct sim_Quaternion *turn;
	struct sim_Vector3 velocity, angular; /* in the map */
	const struct sim_Vector3 *acceleration, *acceleration_flu, *angular_flu;
};

static void put_pose(struct apollo_out *o, uint32_t field, const struct pose *p)
{
	struct sim_Quaternion q = apollo_turn(p->turn);
	struct sim_Vector3 euler = apollo_euler(p->turn);

	pb_open(&o->w, field);
	apollo_point(o, 1, &p->at);
	apollo_quaternion(o, 2, &q);
	apollo_point(o, 3, &p->velocity);
	if (p->acceleration)
		apollo_point(o, 4, p->acceleration);
	apollo_point(o, 5, &p->angular);
	pb_f64(&o->w, 6, apollo_heading(p->turn));
	if (p->acceleration_flu)
		rfu_point(o, 7, p->acceleration_flu);
	rfu_point(o, 8, p->angular_flu);
	apollo_point(o, 9, &euler);
	pb_close(&o->w);
}

/* The position is in the map: the rig's origin converts it to UTM. */
static void imu_pose(struct apollo_out *o, uint32_t field, const struct sim_CorrectedImu *m)
{
	struct pose p = { .at = apollo_from_origin(o, &m->imu.position),
			  .turn = &m->imu.orientation,
			  .velocity = apollo_to_map(&m->imu.orientation, &m->imu.linear_velocity),
			  .angular = m->global_angular_velocity,
			  .acceleration = &m->global_acceleration,
			  .acceleration_flu = &m->imu.linear_acceleration,
			  .angular_flu = &m->imu.angular_velocity };

	put_pose(o, field, &p);
}

int apollo_out_corrected_imu(struct apollo_out *o)
{
	const struct sim_CorrectedImu *m = APOLLO_BODY(o, CorrectedImu);

	apollo_header(o, 1, 0);
	imu_pose(o, 3, m);
	return 0;
}

int apollo_out_estimate_of_imu(struct apollo_out *o)
{
	const struct sim_CorrectedImu *m = APOLLO_BODY(o, CorrectedImu);

	apollo_header(o, 1, 0);
	imu_pose(o, 2, m);
	pb_f64(&o->w, 4, apollo_seconds(o->in->stamp_sim_ns));
	return 0;
}

/* ---- satellites ---- */

int apollo_out_ins_stat(struct apollo_out *o)
{
	const struct sim_GpsIns *m = APOLLO_BODY(o, GpsIns);

	apollo_header(o, 1, 0);
	pb_u64(&o->w, 2, m->status);
	pb_u64(&o->w, 3, m->position_type);
	return 0;
}

enum { SOL_COMPUTED = 0, INSUFFICIENT_OBS = 1, NONE = 0, NARROW_INT = 50, WGS84 = 61 };
#define SATELLITES 15u /* made up: satellites are not simulated */

int apollo_out_best_pose(struct apollo_out *o)
{
	const struct sim_Gps *m = APOLLO_BODY(o, Gps);
	struct sim_Vector3 sure = apollo_deviations(m->position_covariance);
	bool fix = m->status >= SIM_GPS_STATUS_FIX;
	unsigned satellites = fix ? SATELLITES : 0;

	apollo_header(o, 1, 0);
	pb_f64(&o->w, 2, apollo_seconds(apollo_gps_ns(o->in->stamp_sim_ns)));
	pb_u64(&o->w, 3, fix ? SOL_COMPUTED : INSUFFICIENT_OBS);
	pb_u64(&o->w, 4, fix ? NARROW_INT : NONE);
	pb_f64(&o->w, 5, m->latitude);
	pb_f64(&o->w, 6, m->longitude);
	pb_f64(&o->w, 7, m->altitude - o->options->undulation);
	pb_f32(&o->w, 8, (float)o->options->undulation);
	pb_u64(&o->w, 9, WGS84);
	pb_f32(&o->w, 10, (float)sure.y); /* north, then east */
	pb_f32(&o->w, 11, (float)sure.x);
	pb_f32(&o->w, 12, (float)sure.z);
	pb_string(&o->w, 13, "0", 1);
	pb_f32(&o->w, 14, 0);
	pb_f32(&o->w, 15, 0);
	for (uint32_t field = 16; field <= 19; field++)
		pb_u64(&o->w, field, satellites);
	return 0;
}

static int odometry_pose(struct apollo_out *o, const struct sim_GpsOdometry *m, struct pose *ret)
{
	struct apollo_fix f = { m->longitude, m->latitude, m->altitude, m->easting, m->northing, m->ignore_map_origin };

	*ret = (struct pose){ .turn = &m->orientation,
			      .velocity = m->velocity,
			      .angular = apollo_to_map(&m->orientation, &m->angular_velocity),
			      .angular_flu = &m->angular_velocity };
	return apollo_place(o, &f, &ret->at);
}

int apollo_out_gps(struct apollo_out *o)
{
	const struct sim_GpsOdometry *m = APOLLO_BODY(o, GpsOdometry);
	struct pose p;
	int r = odometry_pose(o, m, &p);

	if (r < 0)
		return r;
	apollo_header(o, 1, 0);
	put_pose(o, 2, &p);
	return 0;
}

/* from rows and columns first to first + 2 of 36 */
static void deviations(struct apollo_out *o, uint32_t field, const double c[36], unsigned first)
{
	struct sim_Vector3 d = { .x = apollo_deviation(c[first * 7]),
				 .y = apollo_deviation(c[first * 7 + 7]),
				 .z = apollo_deviation(c[first * 7 + 14]) };

	apollo_point(o, field, &d);
}

/* Apollo's control refuses a pose without accelerations: if unknown they are sent as 0. */
int apollo_out_estimate(struct apollo_out *o)
{
	static const struct sim_Vector3 zero;
	const struct sim_GpsOdometry *m = APOLLO_BODY(o, GpsOdometry);
	struct pose p;
	int r = odometry_pose(o, m, &p);

	if (r < 0)
		return r;
	p.acceleration = p.acceleration_flu = &zero;
	apollo_header(o, 1, 0);
	put_pose(o, 2, &p);
	pb_open(&o->w, 3);
	deviations(o, 1, m->pose_covariance, 0);
	deviations(o, 2, m->pose_covariance, 3);
	deviations(o, 3, m->twist_covariance, 0);
	pb_close(&o->w);
	pb_f64(&o->w, 4, apollo_seconds(o->in->stamp_sim_ns));
	return 0;
}

/* ---- position ---- */

struct sim_Vector3 apollo_from_origin(const struct apollo_out *o, const struct sim_Vector3 *v)
{
	const double *at = o->options->origin;

	return at ? (struct sim_Vector3){ .x = v->x + at[0], .y = v->y + at[1], .z = v->z + at[2] } : *v;
}

int apollo_place(struct apollo_out *o, const struct apollo_fix *f, struct sim_Vector3 *ret)
{
	const struct apollo_options *opt = o->options;
	struct geo_utm utm;
	int r = 0;

	if (opt->utm_zone)
		r = geo_utm_in(abs(opt->utm_zone), opt->utm_zone < 0, f->longitude, f->latitude, &utm);
	else if (f->absolute)
		utm = (struct geo_utm){ .easting = f->easting, .northing = f->northing };
	else if (opt->origin)
		utm = (struct geo_utm){ .easting = f->easting + opt->origin[0],
					.northing = f->northing + opt->origin[1] };
	else
		r = geo_utm(f->longitude, f->latitude, &utm);
	if (r < 0)
		return apollo_refuse(o, -EBADMSG, "%g, %g degrees are not in UTM, or too far from its zone",
				     f->latitude, f->longitude);
	*ret = (struct sim_Vector3){ .x = utm.easting, .y = utm.northing, .z = f->altitude };
	return 0;
}
