/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radar: among the objects in its view that are not hidden by others it detects those whose echo is strong enough.
 * The received power falls with the fourth power of the distance and is proportional to the radar cross-section (radar
 * equation, e.g. Skolnik, Introduction to Radar Systems, chapter 1). `range` is the distance at which a passenger car's
 * 10 m^2 are detected; for a smaller cross-section it shrinks with the fourth root: to 56 % for the 1 m^2 of a
 * pedestrian. Nothing is detected beyond `range`, however large.
 *
 * A detection is the object's middle. Noise is added to its distance, its azimuth and its speed along the line of sight
 * (doppler): the position is moved along the line and about z, the relative velocity along the line. relative_velocity
 * . relative_position / |relative_position| is the doppler; below 0 the object approaches.
 *
 * The noise depends only on seed, stamp and object: an object that appears or disappears does not change the noise of
 * others.
 *
 * Thread: one at a time; nothing is allocated.
 */
#ifndef SOURCES_SENSORS_RADAR_H
#define SOURCES_SENSORS_RADAR_H

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/RadarObjects.h>

#include "../scene/sight.h"
#include "motion.h"

#define RADAR_OBJECTS_MAX    240 /* of one measurement: fits a slot of 64 KiB */
#define RADAR_REFERENCE_RCS  10.0
#define RADAR_STATIONARY_MPS 0.5 /* slower objects are stationary */

struct radar {
	struct sight sight;
	struct scene_mount mount;
	double noise_range, noise_rad, noise_speed; /* standard deviations: m, rad, m/s */
	uint64_t seed;
	uint32_t clock_generation;             /* of the last measurement */
	uint32_t before[RADAR_OBJECTS_MAX], n; /* ids of its objects */
};

/* The objects at one instant. */
struct look {
	const struct sim_Detected3DObjects *objects;
	size_t body_size;
	/* in the sensor's frame; boxes of the objects first, in the order of the objects */
	const struct scan_box *boxes;
	size_t n_boxes;
	int64_t stamp_sim_ns;
	uint32_t clock_generation;
};

/* Radar cross-section in m^2 of an object with that label at 77 GHz. */
double radar_cross_section(const char *label);
/* Find the objects that the radar detects, at most RADAR_OBJECTS_MAX, in their order. Returns their number. */
uint32_t radar_detect(const struct radar *r, const struct look *l, uint32_t *ret_which);
/* Fill out[] for each of the n detected objects. Ends the measurement. */
void radar_measure(struct radar *r, const struct look *l, const struct motion *m, const uint32_t *which, uint32_t n,
		   struct sim_RadarObject *out);

#endif
