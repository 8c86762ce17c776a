/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radar: of the objects in its view and not behind others it detects those whose echo is strong enough. The received power falls
 * with the fourth power of the distance and is proportional to the radar cross-section (radar equation, e.g. Skolnik, Introduction to
 * Radar Systems, chapter 1), so what a passenger car's 10 m^2 are detected at, `range`, shrinks by the fourth root for less: to 56 % for the
 * 1 m^2 of a pedestrian. Nothing is detected beyond it, however large.
 *
 * A detection is the object's middle. Its distance, azimuth and the speed along the line of sight (doppler) are what has noise: the
 * position is moved along the line and about z, the relative velocity along the line. relative_velocity . relative_position /
 * |relative_position| is the doppler: below 0, it comes nearer.
 *
 * Noise depends on seed, instant and object alone: that an object comes or goes changes nothing for others.
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
#define RADAR_STATIONARY_MPS 0.5 /* slower is stationary */

struct radar {
	struct sight sight;
	struct scene_mount mount;
	double noise_range, noise_rad, noise_speed; /* standard deviations: m, rad, m/s */
	uint64_t seed;
	uint32_t clock_generation;             /* of the last measurement */
	uint32_t before[RADAR_OBJECTS_MAX], n; /* ids in it */
};

/* One moment of the world. */
struct look {
	const struct sim_Detected3DObjects *objects;
	size_t body_size;
	const struct scan_box *boxes; /* in the sensor's frame: those of the objects first, in their order */
	size_t n_boxes;
	int64_t stamp_sim_ns;
	uint32_t clock_generation;
};

/* m^2, of what such a thing reflects at 77 GHz. */
double radar_cross_section(const char *label);
/* Which objects it detects, at most RADAR_OBJECTS_MAX, in their order; returns how many. */
uint32_t radar_detect(const struct radar *r, const struct look *l, uint32_t *ret_which);
/* Fill one for each of the n of them: ends the measurement. */
void radar_measure(struct radar *r, const struct look *l, const struct motion *m, const uint32_t *which, uint32_t n,
		   struct sim_RadarObject *out);

#endif
