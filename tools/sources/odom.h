/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wheel odometry of an ego, and the frame "odom" (REP 105): base_link in "odom" is continuous and drifts, "odom" in
 * "map" is what a localization estimates. Together they always give the ego's true pose.
 *
 * The error is that of wheels whose assumed size is wrong: distances have a scale error, and the heading drifts by a
 * constant angle per metre, to one side. Nothing is random: the same drive gives the same messages. Height and tilt are
 * those of the map, as with an attitude sensor. An ego that is teleported keeps its pose in "odom".
 *
 * Thread: one at a time; nothing is allocated.
 */
#ifndef SOURCES_ODOM_H
#define SOURCES_ODOM_H

#include <stdbool.h>
#include <stddef.h>

#include <sim/msg/Quaternion.h>
#include <sim/msg/Vector3.h>

#define ODOM_FRAME     "odom"
#define ODOM_SCALE_MAX 0.5 /* - */
#define ODOM_TURN_MAX  0.1 /* rad/m, 6 degrees */

struct odom_errors {
	double scale; /* relative error of the distance */
	double turn;  /* drift of the heading, rad/m, to the left */
};

struct odom_pose {
	double x, y, z, yaw; /* m, rad */
};

struct odom {
	bool on; /* false: there is no such frame, and the fields below are unused */
	struct odom_errors errors;
	bool started;
	struct odom_pose truth; /* of base_link, in the map, after the last step */
	struct odom_pose pose;  /* of base_link, in "odom", which starts at 0 */
	double way;             /* m, distance driven */
};

/* "SCALE" or "SCALE,TURN"; "": off. -EINVAL, with a sentence. */
int odom_parse(struct odom *ret, const char *text);
/* The frame starts where the ego is at the next step. */
void odom_restart(struct odom *o);
/* End of a step; jumped: the ego was teleported there. */
void odom_move(struct odom *o, const struct odom_pose *truth, bool jumped);
/* "odom" in the map: a rotation about z alone. */
struct odom_pose odom_correction(const struct odom *o);

/* The ego's exact motion; odom adds the errors. */
struct odom_motion {
	struct sim_Quaternion attitude; /* in the map */
	struct sim_Vector3 velocity;    /* m/s, map */
	double yaw_rate, speed;         /* rad/s; m/s along x */
	double wheel_angle;             /* rad */
};

/*
 * Fill a body of at most `cap` bytes, and return its size; 0: it does not fit. sim/Transforms with both frames;
 * sim/GpsOdometry in "odom".
 */
size_t odom_fill_tf(const struct odom *o, const struct sim_Quaternion *attitude, void *body, size_t cap);
size_t odom_fill(const struct odom *o, const struct odom_motion *m, void *body, size_t cap);
size_t odom_tf_max(void);
size_t odom_max(void);

#endif
