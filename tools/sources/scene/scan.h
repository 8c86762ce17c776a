/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spinning lidar, ray-cast: upright boxes (vehicles, people, buildings) on a level road.
 *
 * Coordinates are the sensor's: x forward, y left, z up, origin at the sensor, whose z axis is upright.
 * A turn has `columns` directions and `beams` lasers in each; columns go anticlockwise from straight
 * back (-pi). The scene stands still during a turn, as if the cloud had been motion-compensated to its
 * stamp, so that is the time of all points: their offset is 0.
 *
 * How: the distance of every ray to the road is known beforehand. A box covers a range of columns; in
 * each of them one horizontal cut gives where the rays enter and leave it, and a loop over the beams,
 * which the compiler vectorises, finds which of them hit its side, its top or its bottom, and keeps the
 * nearest hit. Rays without a hit give no point.
 *
 * Thread: one at a time. Nothing is allocated by a scan. The same scene gives the same bytes.
 */
#ifndef SOURCES_SCENE_SCAN_H
#define SOURCES_SCENE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/msg/Point.h>

#define SCAN_BEAMS_MAX   128
#define SCAN_COLUMNS_MAX 4096

struct scan_params {
	unsigned beams, columns;
	double lowest_rad, highest_rad; /* elevation of the first and the last beam, spaced evenly */
	/* elevation of each beam, instead of those two; borrowed until scan_create() returns */
	const double *elevations_rad;
	double height;               /* m, of the sensor above the road */
	double range_min, range_max; /* m */
	double noise_sigma;          /* m, of the distance; 0: none */
	uint64_t seed;               /* of the noise */
	double road_reflectivity;    /* 0..1 */
	bool no_road;                /* boxes only; height is not used */
	bool tells;                  /* scan_saw() will be called */
};

struct scan_box {
	double x, y, z;               /* m, centre */
	double yaw;                   /* rad, of its own x axis */
	double length, width, height; /* m, along its own x, y, z */
	double reflectivity;          /* 0..1 */
};

struct scan;

/* 64 beams from -24.8 to +2 degrees, 1800 columns, 10 Hz, 1.9 m high, 0.9 to 120 m. */
struct scan_params scan_params_default(void);
/* -EINVAL: a parameter is out of range; *ret_why names it (static text; ret_why may be NULL). -ENOMEM. */
int scan_create(const struct scan_params *p, struct scan **ret, const char **ret_why);
void scan_destroy(struct scan *s); /* s may be NULL */
/* Largest number of points of a turn. */
size_t scan_points_max(const struct scan *s);

/*
 * Scan one turn. Boxes that contain the sensor are not seen. Writes at most scan_points_max() points; returns their
 * number.
 */
size_t scan_turn(struct scan *s, const struct scan_box *boxes, size_t n, struct sim_Point *out);
/* For each of the n boxes of the last turn, at most 65535: whether a point lies on it. */
void scan_saw(const struct scan *s, size_t n, bool *ret_seen);

#endif
