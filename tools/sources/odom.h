/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wheels of an ego tell of its way, and the frame that follows (REP 105): base_link in "odom" is continuous and drifts, "odom" in
 * "map" is what a localization finds out. The two together are always where the ego is.
 *
 * The error is that of an odometry whose wheels are not as large as it believes: distances are off by a part of them, and the heading by so
 * much a metre, to one side. There is no chance in it: the same drive gives the same messages. Height and tilt are those of the map, as of a
 * vehicle with an attitude sensor. Put elsewhere, the ego stays where it is in "odom".
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
	double scale; /* part of the distance */
	double turn;  /* rad/m, to the left */
};

struct odom_pose {
	double x, y, z, yaw; /* m, rad */
};

struct odom {
	bool on; /* false: there is no such frame, and nothing below is looked at */
	struct odom_errors errors;
	bool started;
	struct odom_pose truth; /* of base_link, in the map, after the last step */
	struct odom_pose pose;  /* of base_link, in "odom", where it has begun at 0 */
	double way;             /* m, driven */
};

/* "SCALE" or "SCALE,TURN"; "": it is off. -EINVAL, with a sentence. */
int odom_parse(struct odom *ret, const char *text);
/* It begins where it is at the next step. */
void odom_restart(struct odom *o);
/* A step's end; jumped: it was put there. */
void odom_move(struct odom *o, const struct odom_pose *truth, bool jumped);
/* "odom" in the map: turned about z alone. */
struct odom_pose odom_correction(const struct odom *o);

/* How it moves, exactly, but for the errors that are added. */
struct odom_motion {
	struct sim_Quaternion attitude; /* in the map */
	struct sim_Vector3 velocity;    /* m/s, map */
	double yaw_rate, speed;         /* rad/s; m/s along x */
	double wheel_angle;             /* rad */
};

/* Bodies, at most `cap` bytes; they return the size, 0: it does not fit. sim/Transforms, both frames; sim/GpsOdometry in "odom". */
size_t odom_fill_tf(const struct odom *o, const struct sim_Quaternion *attitude, void *body, size_t cap);
size_t odom_fill(const struct odom *o, const struct odom_motion *m, void *body, size_t cap);
size_t odom_tf_max(void);
size_t odom_max(void);

#endif
