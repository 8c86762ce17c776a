/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages made from the scene. Each function fills a body in place, at most `cap` bytes, and returns its size, or 0 if
 * it does not fit. Thread: any; pure.
 *
 * Objects are given relative to the ego, in frame "base_link", and the ego is left out; in a scenario without an ego
 * they are in "map". Traffic lights have an id but no position: scenario_simulator_v2 sends none.
 */
#ifndef SOURCES_SS2_MESSAGES_H
#define SOURCES_SS2_MESSAGES_H

#include "scene.h"
#include "sensors.h"

#define FRAME_MAP  "map"
#define FRAME_BASE "base_link"

const char *message_frame(const struct scene *s); /* frame of the objects */

/* Largest numbers in one message: of more entities the nearest to the ego are sent, of more bulbs the first. */
#define MESSAGE_OBJECTS_MAX 256 /* a message of that many stays within 64 KiB */
#define MESSAGE_BULBS_MAX   512

size_t message_objects(const struct scene *s, int64_t now_sim_ns, void *body, size_t cap);
size_t message_signals(const struct scene *s, void *body, size_t cap);

/* Measurements of sensors: points in base_link; objects in "map"; an IMU in its own frame. */
size_t message_cloud(const struct lidar_cloud *c, void *body, size_t cap);
size_t message_cloud_size(size_t n_points);
size_t message_look(const struct sensors_look *l, int64_t now_sim_ns, void *body, size_t cap);
size_t message_grid(const struct grid *g, const struct sensors_look *l, void *body, size_t cap);
size_t message_grid_size(const struct grid *g);
size_t message_sensed_imu(const struct sensors_measure *m, const struct sensors_imu *c, void *body, size_t cap);

/* Largest size in bytes of a message with n of them. */
size_t message_objects_max(size_t n);
size_t message_signals_max(size_t n);

#endif
