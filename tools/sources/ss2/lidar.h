/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lidar that a scenario attaches to its ego: rays from base_link, at the angles of its configuration, against the
 * boxes of the other entities. It does not see the road, as in a point cloud of obstacles. A detection sensor that does
 * not see through entities uses the entities that the lidar hit.
 *
 * Thread: the owner's; no I/O. A scan allocates nothing; the same scene gives the same bytes.
 */
#ifndef SOURCES_SS2_LIDAR_H
#define SOURCES_SS2_LIDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/msg/Point.h>

#include "../scene/scan.h"

struct sensors_look;

#define LIDAR_RANGE_M 300.0 /* the reference simulator's */

/* Plain numbers, all finite; the next process takes them over after a kill. */
struct lidar_config {
	bool attached;
	double scan_s, delay_s;
	double resolution_rad; /* from one column to the next */
	uint32_t beams;
	double elevation_rad[SCAN_BEAMS_MAX]; /* upwards */
};

/* Points of one scan, in base_link. */
struct lidar_cloud {
	int64_t sim_ns; /* when the scan was taken */
	const struct sim_Point *point;
	uint32_t n;
};

struct lidar {
	struct scan *scan;
	struct sim_Point *point;
};

/* Largest number of points of a scan. */
size_t lidar_points_max(const struct lidar_config *c);

/* Zero *l before the first call; a later call replaces the configuration. Errors: -ERANGE with err_why(); -ENOMEM. */
int lidar_open(struct lidar *l, const struct lidar_config *c);
void lidar_close(struct lidar *l);

/* One scan of a look. *ret is valid until the next scan. seen[i]: object i was hit. */
void lidar_scan(struct lidar *l, const struct sensors_look *look, struct lidar_cloud *ret, bool *seen);

#endif
