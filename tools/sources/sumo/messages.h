/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the scenario's state to messages. Each function fills a body in place, at most `cap` bytes, and
 * returns its size, 0 when it does not fit. Thread: any; pure.
 *
 * Frames: "map" is SUMO's network (ENU), in which all positions are; "base_link" is the middle of the ego's rear axle,
 * on the road. The IMU and the receiver sit at base_link. Objects and lights are given in base_link.
 */
#ifndef SOURCES_SUMO_MESSAGES_H
#define SOURCES_SUMO_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../odom.h"
#include "ego.h"
#include "track.h"
#include "world.h"

#define FRAME_MAP       "map"
#define FRAME_BASE      "base_link"
#define FRAME_UTM       "utm"
#define LIGHTS_SENT_MAX 256 /* lights around the ego; the rest is left out */

/* The input of all messages of one instant. */
struct moment {
	int64_t stamp_sim_ns;
	double gyro;         /* rad/s: mean yaw rate since the last IMU message */
	int64_t span_dur_ns; /* time since the last IMU message */
	const struct ego *ego;
	const struct odom *odom;                /* NULL: there is no such frame */
	int32_t signals;                        /* enum world_signal of the ego */
	bool external;                          /* an external driver has the ego */
	bool away;                              /* the ego is off the road; there are no objects around it */
	bool has_fix;                           /* false: lon_deg and lat_deg are 0 */
	double lon_deg, lat_deg, altitude;      /* of base_link */
	double origin_easting, origin_northing; /* UTM of the map's origin */
	double origin_turn;                     /* rad: from the grid's east to the map's x */
	const struct world_object *objects;
	size_t nobjects;
	struct tracks *tracks;
	const struct world_light *lights;
	size_t nlights;
	const struct lanes *roads;
	double range_m; /* lights and lines further from base_link are left out */
};

size_t message_imu(const struct moment *m, void *body, size_t cap);
size_t message_gps(const struct moment *m, void *body, size_t cap);
size_t message_gps_odometry(const struct moment *m, void *body, size_t cap);
size_t message_can_bus(const struct moment *m, void *body, size_t cap);
size_t message_odometry(const struct moment *m, void *body, size_t cap);
size_t message_objects(const struct moment *m, void *body, size_t cap);
size_t message_signals(const struct moment *m, void *body, size_t cap);
size_t message_lanes(const struct moment *m, void *body, size_t cap); /* lines of the lanes around the ego */
size_t message_tf(const struct moment *m, void *body, size_t cap);    /* with m->odom both frames */
size_t message_odom(const struct moment *m, void *body, size_t cap);
size_t message_tf_static(const struct moment *m, void *body, size_t cap); /* where "utm" is in "map" */

/* Returns the size of the largest such message. */
size_t message_objects_max(size_t n);
size_t message_signals_max(size_t n);
size_t message_lanes_max(void);
size_t message_gps_odometry_max(void);
size_t message_tf_max(void);

#endif
