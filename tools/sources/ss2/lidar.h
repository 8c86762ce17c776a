/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lidar that a scenario attaches to its ego: rays from base_link, as many as its configuration has angles, against the boxes of the
 * other entities; no road, as in a cloud of obstacles. Which entities it hit is what a detection sensor goes by that is not clairvoyant.
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

#define LIDAR_RANGE_M 300.0 /* the reference's */

/* Plain numbers, all finite: part of what a killed process leaves. */
struct lidar_config {
	bool attached;
	double scan_s, delay_s;
	double resolution_rad; /* from one column to the next */
	uint32_t beams;
	double elevation_rad[SCAN_BEAMS_MAX]; /* upwards */
};

/* What a scan has met, in base_link. */
struct lidar_cloud {
	int64_t sim_ns; /* when it was */
	const struct sim_Point *point;
	uint32_t n;
};

struct lidar {
	struct scan *scan;
	struct sim_Point *point;
};

/* Points of a scan at most. */
size_t lidar_points_max(const struct lidar_config *c);

/* Zeroed to begin with; the one before is replaced. -ERANGE with a sentence; -ENOMEM. */
int lidar_open(struct lidar *l, const struct lidar_config *c);
void lidar_close(struct lidar *l);

/* One turn of what was seen at an instant: *ret is valid until the next; seen[i]: object i was hit. */
void lidar_scan(struct lidar *l, const struct sensors_look *look, struct lidar_cloud *ret, bool *seen);

#endif
