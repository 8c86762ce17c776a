/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actual acceleration for a commanded one, by speed: a table with linear interpolation; values outside it are
 * clamped to its edges. Thread: any; accel_map_load() reads a file.
 *
 *     name, 0.0,  5.0, 10.0      speeds, m/s
 *     -3.0, -3.5, -3.2, -3.0     a commanded acceleration, m/s^2, and the actual ones
 *      2.0,  1.8,  1.5,  1.0
 */
#ifndef SOURCES_VEHICLE_ACCEL_MAP_H
#define SOURCES_VEHICLE_ACCEL_MAP_H

#include <stdint.h>

#define ACCEL_MAP_MAX 32 /* rows, and columns */

struct accel_map {
	uint32_t n_orders, n_speeds; /* 0: no map */
	double order[ACCEL_MAP_MAX], speed[ACCEL_MAP_MAX];
	double accel[ACCEL_MAP_MAX][ACCEL_MAP_MAX]; /* [order][speed] */
};

/*
 * The text is that of Autoware's acceleration_map.csv. -EINVAL and file errors, with a sentence that names file and
 * line.
 */
int accel_map_load(const char *path, struct accel_map *ret);

double accel_map_at(const struct accel_map *m, double order, double speed);

#endif
