/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the scene to messages. Each function fills a body in place, at most `cap` bytes, and returns its size, 0
 * when it does not fit. Thread: any; pure.
 *
 * Objects are given around the ego, which itself is left out: in its frame "base_link", or, in a scenario without
 * an ego, in "map". Traffic lights have no place here, only an id: scenario_simulator_v2 tells none.
 */
#ifndef SOURCES_SS2_MESSAGES_H
#define SOURCES_SS2_MESSAGES_H

#include "scene.h"
#include "sensors.h"

#define FRAME_MAP  "map"
#define FRAME_BASE "base_link"

const char *message_frame(const struct scene *s); /* of the objects */

/* What one message holds at most: of more entities the nearest to the ego, of more bulbs the first. */
#define MESSAGE_OBJECTS_MAX 256 /* a message of all of them stays within 64 KiB */
#define MESSAGE_BULBS_MAX   512

size_t message_objects(const struct scene *s, int64_t now_sim_ns, void *body, size_t cap);
size_t message_signals(const struct scene *s, void *body, size_t cap);

/* What sensors have measured: points in base_link; objects in "map"; an IMU in its own frame. */
size_t message_cloud(const struct lidar_cloud *c, void *body, size_t cap);
size_t message_cloud_size(size_t n_points);
size_t message_look(const struct sensors_look *l, int64_t now_sim_ns, void *body, size_t cap);
size_t message_grid(const struct grid *g, const struct sensors_look *l, void *body, size_t cap);
size_t message_grid_size(const struct grid *g);
size_t message_sensed_imu(const struct sensors_measure *m, const struct sensors_imu *c, void *body, size_t cap);

/* Bytes that n of them take at most. */
size_t message_objects_max(size_t n);
size_t message_signals_max(size_t n);

#endif
