/* SPDX-License-Identifier: Apache-2.0 */
/* The frame "odom". See odom.h. */
#include "odom.h"

#include <errno.h>
#include <math.h>

#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Transforms.h>

#include "err.h"
#include "number.h"
#include "space.h"

#define FRAME_MAP  "map"
#define FRAME_BASE "base_link"
#define VARIANCE   1e-4 /* before anything was driven; filters want a number above 0 */

int odom_parse(struct odom *ret, const char *text)
{
	double v[2] = { 0 };
	int n = *text ? number_f64s(text, v, 2) : 0;

	if (n < 0 || !(fabs(v[0]) <= ODOM_SCALE_MAX) || !(fabs(v[1]) <= ODOM_TURN_MAX))
		return err_set(-EINVAL,
			       "it must be the error of a distance, within %g of it, and, behind a comma, that of the "
			       "heading, within %g rad a metre",
			       ODOM_SCALE_MAX, ODOM_TURN_MAX);
	*ret = (struct odom){ .on = n > 0, .errors = { .scale = v[0], .turn = n > 1 ? v[1] : 0 } };
	return 0;
}

void odom_restart(struct odom *o)
{
	o->started = false;
}

static double wrap(double rad)
{
	return remainder(rad, 2 * M_PI);
}

/*
 * Rotates the step's chord from the mean of its two headings in the map to the mean of those in "odom": without errors
 * that is exact for any curve.
 */
static void drive(struct odom *o, const struct odom_pose *to)
{
	double turn = wrap(to->yaw - o->truth.yaw), mid = o->truth.yaw + turn / 2;
	double dx = to->x - o->truth.x, dy = to->y - o->truth.y, way = hypot(dx, dy);
	double part = 1 + o->errors.scale, a;

	turn += o->errors.turn * way;
	a = o->pose.yaw + turn / 2 - mid;
	o->pose.x += part * (cos(a) * dx - sin(a) * dy);
	o->pose.y += part * (sin(a) * dx + cos(a) * dy);
	o->pose.z += to->z - o->truth.z;
	o->pose.yaw = wrap(o->pose.yaw + turn);
	o->way += way;
}

void odom_move(struct odom *o, const struct odom_pose *truth, bool jumped)
{
	if (!o->started) {
		o->pose = (struct odom_pose){ 0 };
		o->way = 0;
	} else if (!jumped) {
		drive(o, truth);
	}
	o->truth = *truth;
	o->started = true;
}

struct odom_pose odom_correction(const struct odom *o)
{
	double yaw = wrap(o->truth.yaw - o->pose.yaw), c = cos(yaw), s = sin(yaw);

	return (struct odom_pose){ .x = o->truth.x - (c * o->pose.x - s * o->pose.y),
				   .y = o->truth.y - (s * o->pose.x + c * o->pose.y),
				   .z = o->truth.z - o->pose.z,
				   .yaw = yaw };
}

/* ---- messages ---- */

static struct sim_Quaternion about_z(double yaw)
{
	return (struct sim_Quaternion){ .z = sin(yaw / 2), .w = cos(yaw / 2) };
}

/* From the map to "odom". */
static struct sim_Quaternion attitude_in(const struct odom_pose *map, const struct sim_Quaternion *attitude)
{
	return space_mul(about_z(-map->yaw), *attitude);
}

static bool set(struct sim_builder *b, struct sim_Transform *t, const char *parent, const char *child,
		const struct odom_pose *at, const struct sim_Quaternion *q)
{
	t->translation = (struct sim_Vector3){ .x = at->x, .y = at->y, .z = at->z };
	t->rotation = *q;
	return sim_Transform_parent_frame_set_in(b, t, parent) == 0 &&
	       sim_Transform_child_frame_set_in(b, t, child) == 0;
}

size_t odom_tf_max(void)
{
	return sim_Transforms_size(2, sim_string_size(sizeof(FRAME_MAP)) + 2 * sim_string_size(sizeof(ODOM_FRAME)) +
					      sim_string_size(sizeof(FRAME_BASE)));
}

size_t odom_fill_tf(const struct odom *o, const struct sim_Quaternion *attitude, void *body, size_t cap)
{
	struct odom_pose map = odom_correction(o);
	struct sim_Quaternion up = about_z(map.yaw), own = attitude_in(&map, attitude);
	struct sim_builder b;
	struct sim_Transforms *all = sim_Transforms_init(body, cap, &b);
	struct sim_Transform *t = all ? sim_Transforms_transforms_alloc(&b, 2) : NULL;

	if (!t || !set(&b, &t[0], FRAME_MAP, ODOM_FRAME, &map, &up) ||
	    !set(&b, &t[1], ODOM_FRAME, FRAME_BASE, &o->pose, &own))
		return 0;
	return sim_builder_size(&b);
}

/* Variances as if each error were one standard deviation: a filter that uses them as a sensor's is about right. */
static void covariances(const struct odom *o, struct sim_GpsOdometry *g)
{
	double place = VARIANCE + pow(o->errors.scale * o->way, 2) + pow(o->errors.turn * o->way * o->way / 2, 2);

	for (int i = 0; i < 6; i++)
		g->pose_covariance[7 * i] = g->twist_covariance[7 * i] = VARIANCE;
	g->pose_covariance[0] = g->pose_covariance[7] = place;
	g->pose_covariance[35] += pow(o->errors.turn * o->way, 2);
	g->twist_covariance[0] += pow(o->errors.scale * (double)g->forward_speed, 2);
	g->twist_covariance[35] += pow(o->errors.turn * (double)g->forward_speed, 2);
}

size_t odom_max(void)
{
	return sim_GpsOdometry_size(sizeof(FRAME_BASE));
}

size_t odom_fill(const struct odom *o, const struct odom_motion *m, void *body, size_t cap)
{
	struct odom_pose map = odom_correction(o);
	double part = 1 + o->errors.scale, c = part * cos(map.yaw), s = part * sin(map.yaw);
	struct sim_builder b;
	struct sim_GpsOdometry *g = sim_GpsOdometry_init(body, cap, &b);

	if (!g || sim_GpsOdometry_child_frame_set(&b, FRAME_BASE) < 0)
		return 0;
	g->easting = o->pose.x;
	g->northing = o->pose.y;
	g->altitude = o->pose.z;
	g->orientation = attitude_in(&map, &m->attitude);
	g->velocity = (struct sim_Vector3){ .x = c * m->velocity.x + s * m->velocity.y,
					    .y = c * m->velocity.y - s * m->velocity.x,
					    .z = m->velocity.z };
	g->angular_velocity.z = m->yaw_rate + o->errors.turn * fabs(m->speed);
	g->forward_speed = (float)(part * m->speed);
	g->wheel_angle = (float)m->wheel_angle;
	covariances(o, g);
	return sim_builder_size(&b);
}
