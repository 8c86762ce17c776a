/* SPDX-License-Identifier: Apache-2.0 */
/* Incoming clock, frames, inertial and satellite navigation of Apollo. See apollo_in.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apollo_in_private.h"
#include "geo.h"
#include "map_private.h"
#include "sim/msg/Clock.h"
#include "sim/msg/CorrectedImu.h"
#include "sim/msg/Gps.h"
#include "sim/msg/GpsIns.h"
#include "sim/msg/GpsOdometry.h"
#include "sim/msg/Imu.h"
#include "sim/msg/Transforms.h"

#define FRAME_MAX 39u /* bytes, in our types */

int apollo_in_clock(struct apollo_in *d)
{
	uint64_t ns = 0;
	struct pb_reader r;
	bool has = false;

	for (apollo_begin(d, &r); pb_next(&r);)
		if (r.field == 1)
			has |= pb_get_u64(&r, &ns);
	APOLLO_START(d, d->error, Clock);
	if (!has)
		return apollo_drop(d, -EBADMSG, "a clock without a time");
	if (ns > INT64_MAX)
		return apollo_drop(d, -ERANGE, "a clock of %llu ns", (unsigned long long)ns);
	m->clock = (int64_t)ns;
	return apollo_made(d, &builder);
}

/* ---- frames ---- */

struct text {
	const void *at;
	size_t len;
};

struct frame_at {
	struct sim_Vector3 translation;
	struct sim_Quaternion rotation;
};

static const struct apollo_field frame_fields[] = { APOLLO_FIELD(1, IN_POINT, frame_at, translation),
						    APOLLO_FIELD(2, IN_TURN, frame_at, rotation) };

static bool is_rfu(const struct apollo_in *d, const struct text *frame)
{
	const char *const *f = d->options->rfu_frames;

	for (; f && *f; f++)
		if (strlen(*f) == frame->len && frame->len && !memcmp(*f, frame->at, frame->len))
			return true;
	return false;
}

static bool is_turn(const struct sim_Quaternion *q)
{
	return isfinite(q->x) && isfinite(q->y) && isfinite(q->z) && isfinite(q->w);
}

static int transform(struct apollo_in *d, const struct pb_reader *field, struct sim_builder *b,
		     struct sim_Transform *to)
{
	struct frame_at t = { .rotation = { .w = 1 } };
	struct text parent = { 0 }, child = { 0 };
	struct pb_reader r, header;
	int e;

	for (pb_enter(field, &r); pb_next(&r);)
		if (r.field == 1) {
			for (pb_enter(&r, &header); pb_next(&header);)
				if (header.field == 9)
					pb_get_bytes(&header, &parent.at, &parent.len);
		} else if (r.field == 2) {
			pb_get_bytes(&r, &child.at, &child.len);
		} else if (r.field == 3) {
			APOLLO_TAKE_ALL(&r, frame_fields, &t);
		}
	if (is_rfu(d, &child))
		t.rotation = apollo_turn_back(&t.rotation);
	if (is_rfu(d, &parent)) {
		t.translation = apollo_flu(&t.translation);
		t.rotation = apollo_turned_back(&t.rotation);
	}
	*to = (struct sim_Transform){ .translation = t.translation, .rotation = t.rotation };
	e = apollo_set_text(b, &to->parent_frame, parent.at, parent.len, FRAME_MAX);
	if (e == 0)
		e = apollo_set_text(b, &to->child_frame, child.at, child.len, FRAME_MAX);
	return e == 0 && (!apollo_finite(&t.translation) || !is_turn(&t.rotation)) ? -ERANGE : e;
}

int apollo_in_transforms(struct apollo_in *d)
{
	struct sim_Transform *to;
	uint32_t n, i = 0;
	struct pb_reader r;
	int e = apollo_take_header(d, 1);

	APOLLO_START(d, e, Transforms);
	m->is_static = d->options->is_static;
	n = apollo_count(d, 2);
	to = sim_Transforms_transforms_alloc(&builder, n);
	if (n && !to)
		return sim_builder_error(&builder);
	for (apollo_begin(d, &r); i < n && apollo_next(&r, 2); i++) {
		e = transform(d, &r, &builder, &to[i]);
		if (e == -ERANGE)
			return apollo_drop(d, e, "transform %u has a value that is not finite", i);
	}
	return apollo_made(d, &builder);
}

/* ---- inertial ---- */

struct inertial {
	float span_s;
	struct sim_Vector3 acceleration, angular; /* RFU */
};

static const struct apollo_field inertial_fields[] = { APOLLO_FIELD(3, IN_F32, inertial, span_s),
						       APOLLO_FIELD(4, IN_POINT, inertial, acceleration),
						       APOLLO_FIELD(5, IN_POINT, inertial, angular) };

int apollo_in_imu(struct apollo_in *d)
{
	struct inertial v = { 0 };
	struct pb_reader r;
	int e = apollo_take_header(d, 1);

	for (apollo_begin(d, &r); pb_next(&r);)
		APOLLO_TAKE(&r, inertial_fields, &v);
	APOLLO_START(d, e, Imu);
	m->linear_acceleration = apollo_flu(&v.acceleration);
	m->angular_velocity = apollo_flu(&v.angular);
	m->measurement_span = v.span_s >= 0 ? apollo_dur_ns((double)v.span_s) : 0;
	return apollo_made(d, &builder);
}

/* ---- localization.Pose ---- */

struct pose { /* as received; missing values are NaN */
	struct sim_Vector3 at, velocity, acceleration, angular, acceleration_vrf, angular_vrf, euler;
	struct sim_Quaternion turn;
	double heading;
};

static const struct apollo_field pose_fields[] = {
	APOLLO_FIELD(1, IN_POINT, pose, at),
	APOLLO_FIELD(2, IN_TURN, pose, turn),
	APOLLO_FIELD(3, IN_POINT, pose, velocity),
	APOLLO_FIELD(4, IN_POINT, pose, acceleration),
	APOLLO_FIELD(5, IN_POINT, pose, angular),
	APOLLO_FIELD(6, IN_F64, pose, heading),
	APOLLO_FIELD(7, IN_POINT, pose, acceleration_vrf),
	APOLLO_FIELD(8, IN_POINT, pose, angular_vrf),
	APOLLO_FIELD(9, IN_POINT, pose, euler),
};

#define NOWHERE \
	{ \
		.x = NAN, .y = NAN, .z = NAN \
	}
static const struct pose no_pose = { .at = { .x = NAN, .y = NAN }, /* in PointENU z defaults to 0 */
				     .velocity = NOWHERE,
				     .acceleration = NOWHERE,
				     .angular = NOWHERE,
				     .acceleration_vrf = NOWHERE,
				     .angular_vrf = NOWHERE,
				     .euler = NOWHERE,
				     .turn = { .x = NAN, .y = NAN, .z = NAN, .w = NAN },
				     .heading = NAN };

static struct sim_Vector3 or_zero(const struct sim_Vector3 *v)
{
	return apollo_finite(v) ? *v : (struct sim_Vector3){ 0 };
}

/*
 * The rotation from forward, left, up to the map: from the quaternion, else the Euler angles, else the heading. False:
 * none is given.
 */
static bool pose_turn(const struct pose *p, struct sim_Quaternion *ret)
{
	if (is_turn(&p->turn))
		*ret = apollo_turn_back(&p->turn);
	else if (apollo_finite(&p->euler))
		*ret = apollo_of_euler(&p->euler);
	else if (isfinite(p->heading))
		*ret = (struct sim_Quaternion){ .z = sin(p->heading / 2), .w = cos(p->heading / 2) };
	else
		return false;
	return true;
}

/* A vector in the vehicle's axes: vrf if given, else rotated from the map. */
static struct sim_Vector3 in_vehicle(const struct sim_Vector3 *vrf, const struct sim_Vector3 *map, bool has_turn,
				     const struct sim_Quaternion *turn)
{
	if (apollo_finite(vrf))
		return apollo_flu(vrf);
	if (!apollo_finite(map) || !has_turn)
		return (struct sim_Vector3){ 0 };
	return map_to_body(turn, map);
}

/* Reads the header, and the pose in that field. */
static int read_pose(struct apollo_in *d, uint32_t field, struct pose *ret)
{
	int e = apollo_take_header(d, 1);
	struct pb_reader r;

	*ret = no_pose;
	for (apollo_begin(d, &r); apollo_next(&r, field);)
		APOLLO_TAKE_ALL(&r, pose_fields, ret);
	return e;
}

/*
 * Apollo's GNSS driver sends only accelerations, rates and Euler angles, all in the vehicle's axes; a simulator or an
 * estimate sends them in the map's axes, and separately in the vehicle's.
 */
static void put_corrected(const struct apollo_in *d, struct sim_CorrectedImu *m, const struct pose *p)
{
	bool of_driver = !is_turn(&p->turn) && !apollo_finite(&p->acceleration_vrf);
	const struct sim_Vector3 *a = of_driver ? &p->acceleration : &p->acceleration_vrf;
	const struct sim_Vector3 *w = of_driver ? &p->angular : &p->angular_vrf;
	bool has = pose_turn(p, &m->imu.orientation);
	struct sim_Vector3 at = apollo_to_origin(d, &p->at);

	m->imu.position = or_zero(&at);
	if (has && apollo_finite(&p->velocity))
		m->imu.linear_velocity = map_to_body(&m->imu.orientation, &p->velocity);
	m->imu.linear_acceleration = in_vehicle(a, &p->acceleration, has, &m->imu.orientation);
	m->imu.angular_velocity = in_vehicle(w, &p->angular, has, &m->imu.orientation);
	if (of_driver)
		return;
	m->global_acceleration = or_zero(&p->acceleration);
	m->global_angular_velocity = or_zero(&p->angular);
}

int apollo_in_corrected_imu(struct apollo_in *d)
{
	struct pose p;
	int e = read_pose(d, 3, &p);

	APOLLO_START(d, e, CorrectedImu);
	put_corrected(d, m, &p);
	return apollo_made(d, &builder);
}

int apollo_in_estimate_of_imu(struct apollo_in *d)
{
	struct pose p;
	int e = read_pose(d, 2, &p);

	APOLLO_START(d, e, CorrectedImu);
	put_corrected(d, m, &p);
	return apollo_made(d, &builder);
}

/* ---- satellites ---- */

/* Latitude and longitude are set only with the rig's zone: UTM coordinates alone are ambiguous. */
static int put_odometry(struct apollo_in *d, struct sim_GpsOdometry *m, const struct pose *p)
{
	int zone = d->options->utm_zone;
	struct sim_Vector3 at = apollo_to_origin(d, &p->at);

	if (!apollo_finite(&p->at))
		return apollo_drop(d, -ERANGE, "the position is not finite");
	m->easting = at.x;
	m->northing = at.y;
	m->altitude = p->at.z;
	m->ignore_map_origin = !d->options->origin;
	if (zone && geo_of_utm(abs(zone), zone < 0, p->at.x, p->at.y, &m->longitude, &m->latitude) < 0)
		return apollo_drop(d, -ERANGE, "%g, %g is not a position in UTM zone %d", p->at.x, p->at.y, zone);
	(void)pose_turn(p, &m->orientation);
	m->velocity = or_zero(&p->velocity);
	m->angular_velocity = in_vehicle(&p->angular_vrf, &p->angular, true, &m->orientation);
	m->forward_speed = (float)map_to_body(&m->orientation, &m->velocity).x;
	return 0;
}

int apollo_in_gps(struct apollo_in *d)
{
	struct pose p;
	int e = read_pose(d, 2, &p);

	APOLLO_START(d, e, GpsOdometry);
	e = put_odometry(d, m, &p);
	return e < 0 ? e : apollo_made(d, &builder);
}

struct deviations {
	struct sim_Vector3 position, orientation, velocity;
};

static const struct apollo_field deviation_fields[] = { APOLLO_FIELD(1, IN_POINT, deviations, position),
							APOLLO_FIELD(2, IN_POINT, deviations, orientation),
							APOLLO_FIELD(3, IN_POINT, deviations, velocity) };

/* fills rows and columns first to first + 2 of 36 */
static void variances(double c[36], unsigned first, const struct sim_Vector3 *dev)
{
	if (!apollo_finite(dev))
		return;
	c[first * 7] = dev->x * dev->x;
	c[first * 7 + 7] = dev->y * dev->y;
	c[first * 7 + 14] = dev->z * dev->z;
}

int apollo_in_estimate(struct apollo_in *d)
{
	struct deviations v = { 0 };
	struct pb_reader r;
	struct pose p;
	int e = read_pose(d, 2, &p);

	for (apollo_begin(d, &r); apollo_next(&r, 3);)
		APOLLO_TAKE_ALL(&r, deviation_fields, &v);
	APOLLO_START(d, e, GpsOdometry);
	e = put_odometry(d, m, &p);
	variances(m->pose_covariance, 0, &v.position);
	variances(m->pose_covariance, 3, &v.orientation);
	variances(m->twist_covariance, 0, &v.velocity);
	return e < 0 ? e : apollo_made(d, &builder);
}

struct best_pose {
	int32_t status, type;
	double latitude, longitude, height;
	float undulation, deviation[3]; /* north, east, up */
};

static const struct apollo_field best_pose_fields[] = {
	APOLLO_FIELD(3, IN_I32, best_pose, status),        APOLLO_FIELD(4, IN_I32, best_pose, type),
	APOLLO_FIELD(5, IN_F64, best_pose, latitude),      APOLLO_FIELD(6, IN_F64, best_pose, longitude),
	APOLLO_FIELD(7, IN_F64, best_pose, height),        APOLLO_FIELD(8, IN_F32, best_pose, undulation),
	APOLLO_FIELD(10, IN_F32, best_pose, deviation[0]), APOLLO_FIELD(11, IN_F32, best_pose, deviation[1]),
	APOLLO_FIELD(12, IN_F32, best_pose, deviation[2]),
};

static int put_place(struct apollo_in *d, struct sim_Gps *m)
{
	const double *origin = d->options->origin;
	int zone = d->options->utm_zone;
	struct geo_utm utm;
	int r = zone ? geo_utm_in(abs(zone), zone < 0, m->longitude, m->latitude, &utm)
		     : geo_utm(m->longitude, m->latitude, &utm);

	if (r < 0 || !isfinite(m->altitude))
		return apollo_drop(d, -ERANGE, "%g, %g degrees, %g m is not a position in UTM", m->latitude,
				   m->longitude, m->altitude);
	m->easting = utm.easting - (origin ? origin[0] : 0);
	m->northing = utm.northing - (origin ? origin[1] : 0);
	m->ignore_map_origin = !origin;
	return 0;
}

int apollo_in_best_pose(struct apollo_in *d)
{
	struct best_pose p = { .type = -1 }; /* 0 would mean "no solution" */
	struct pb_reader r;
	int e = apollo_take_header(d, 1);

	for (apollo_begin(d, &r); pb_next(&r);)
		APOLLO_TAKE(&r, best_pose_fields, &p);
	APOLLO_START(d, e, Gps);
	m->latitude = p.latitude;
	m->longitude = p.longitude;
	m->altitude = p.height + (double)p.undulation;
	m->status = p.status || !p.type ? SIM_GPS_STATUS_NO_FIX : SIM_GPS_STATUS_FIX;
	m->service = 1; /* GPS */
	for (unsigned i = 0; i < 3; i++) {
		static const unsigned at[] = { 4, 0, 8 };
		double dev = (double)p.deviation[i];

		m->position_covariance[at[i]] = isfinite(dev) ? dev * dev : 0;
	}
	e = put_place(d, m);
	return e < 0 ? e : apollo_made(d, &builder);
}

static const struct apollo_field ins_fields[] = { APOLLO_FIELD(2, IN_U32, sim_GpsIns, status),
						  APOLLO_FIELD(3, IN_U32, sim_GpsIns, position_type) };

int apollo_in_ins_stat(struct apollo_in *d)
{
	struct pb_reader r;
	int e = apollo_take_header(d, 1);

	APOLLO_START(d, e, GpsIns);
	for (apollo_begin(d, &r); pb_next(&r);)
		APOLLO_TAKE(&r, ins_fields, m);
	return apollo_made(d, &builder);
}
