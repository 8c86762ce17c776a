/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the vehicle's state to messages. Each function fills a body in place, at most `cap` bytes, and returns its size,
 * 0 when it does not fit. Frames: "map"; "base_link" is the middle of the rear axle. The IMU and the receiver sit there
 * and are exact. Thread: any; pure.
 */
#ifndef SOURCES_VEHICLE_MESSAGES_H
#define SOURCES_VEHICLE_MESSAGES_H

#include <stddef.h>

#include "../odom.h"
#include "../origin.h"
#include "orders.h"

#define FRAME_MAP  "map"
#define FRAME_BASE "base_link"

struct moment {
	const struct model *model;
	const struct orders *orders;
	const struct origin *origin;
	const struct odom *odom; /* NULL: there is no such frame */
	double gyro;             /* rad/s, of vehicle_gyro() */
	int64_t span_dur_ns;     /* likewise */
};

size_t message_tf(const struct moment *m, void *body, size_t cap); /* with m->odom both frames */
size_t message_odom(const struct moment *m, void *body, size_t cap);
size_t message_imu(const struct moment *m, void *body, size_t cap);
size_t message_gps(const struct moment *m, void *body, size_t cap);
size_t message_gps_odometry(const struct moment *m, void *body, size_t cap);
size_t message_can_bus(const struct moment *m, void *body, size_t cap);
size_t message_odometry(const struct moment *m, void *body, size_t cap);

size_t message_tf_max(void); /* size of the largest one */
size_t message_gps_odometry_max(void);

#endif
