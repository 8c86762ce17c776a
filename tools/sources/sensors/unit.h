/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sensor: from what there is at a moment to its message. Each call fills a body in place, at most `cap` bytes, and returns its
 * size, 0 when there is none. Knows no simd.
 *
 * Thread: one at a time. Nothing is allocated after the start. The same moments give the same bytes.
 */
#ifndef SOURCES_SENSORS_UNIT_H
#define SOURCES_SENSORS_UNIT_H

#include "../scene/raster.h"
#include "config.h"
#include "gnss.h"
#include "inertial.h"
#include "radar.h"

struct unit {
	const struct sensor_config *c; /* keeps */
	struct sight sight;
	struct scene_mount mount;
	struct radar radar;
	struct gnss gnss;
	struct inertial inertial;
	struct raster raster;
	/* of a laser */
	struct scan *scan;
	struct sim_Point *points;
	uint32_t first_ray, n_rays;
	uint64_t left_out; /* objects that found no room */
};

/* What a sensor that looks at the world has to look at. */
struct moment {
	const struct sim_Detected3DObjects *objects;
	size_t body_size;
	const struct scene_buildings *buildings;
	const struct motion *motion; /* NULL: not known. Radar, grid and buildings need it */
	struct scan_box *boxes;      /* room for SCENE_BOXES_MAX */
	int64_t stamp_sim_ns;
	uint32_t clock_generation;
};

/* -EINVAL, -ENOMEM, with a sentence in err_why(). */
int unit_init(struct unit *u, const struct sensor_config *c);
void unit_finish(struct unit *u);

/* It can say nothing of a moment of which the vehicle's motion is not known. */
bool unit_needs_motion(const struct unit *u, const struct moment *m);
/* It looks at objects, rather than at a fix or a measurement of the vehicle's. */
bool unit_looks(const struct unit *u);
const struct sim_type *unit_type(const struct unit *u);
const struct sim_type *unit_also_type(const struct unit *u); /* of the second channel; NULL: there is none */
/* Bytes of its message at most. */
size_t unit_size(const struct unit *u);

size_t unit_look(struct unit *u, const struct moment *m, void *body, size_t cap);
/* Where the sensor is on the vehicle. */
struct sim_Transform unit_frame(const struct unit *u);

#endif
