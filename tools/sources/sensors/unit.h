/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sensor: makes its message from the world at one instant. Each call fills a body in place, at most `cap` bytes,
 * and returns its size, or 0 if there is no message. It does not use simd.
 *
 * Thread: one at a time. Nothing is allocated after the start. The same input gives the same bytes.
 */
#ifndef SOURCES_SENSORS_UNIT_H
#define SOURCES_SENSORS_UNIT_H

#include "../scene/raster.h"
#include "config.h"
#include "gnss.h"
#include "inertial.h"
#include "radar.h"

struct unit {
	const struct sensor_config *c; /* kept pointer */
	struct sight sight;
	struct scene_mount mount;
	struct radar radar;
	struct gnss gnss;
	struct inertial inertial;
	struct raster raster;
	/* of a laser only */
	struct scan *scan;
	struct sim_Point *points;
	uint32_t first_ray, n_rays;
	uint64_t left_out; /* objects left out because the message was full */
};

/* Input of a sensor that looks at objects. */
struct moment {
	const struct sim_Detected3DObjects *objects;
	size_t body_size;
	const struct scene_buildings *buildings;
	const struct motion *motion; /* NULL: unknown. Radar, grid and buildings need it */
	struct scan_box *boxes;      /* memory for SCENE_BOXES_MAX boxes */
	int64_t stamp_sim_ns;
	uint32_t clock_generation;
};

/* Errors: -EINVAL or -ENOMEM, with err_why(). */
int unit_init(struct unit *u, const struct sensor_config *c);
void unit_finish(struct unit *u);

/* Whether the sensor makes no message of the moment if the vehicle's motion is unknown. */
bool unit_needs_motion(const struct unit *u, const struct moment *m);
/* Whether the sensor looks at objects; otherwise it uses a fix or a measurement of the vehicle. */
bool unit_looks(const struct unit *u);
const struct sim_type *unit_type(const struct unit *u);
const struct sim_type *unit_also_type(const struct unit *u); /* type of the second channel; NULL: there is none */
/* Largest size of its message in bytes. */
size_t unit_size(const struct unit *u);

size_t unit_look(struct unit *u, const struct moment *m, void *body, size_t cap);
/* Where the sensor is on the vehicle. */
struct sim_Transform unit_frame(const struct unit *u);

#endif
