/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the points of a cloud as `repeated PointXYZIT` of apollo.drivers.PointCloud: x, y, z as float 1 to 3,
 * intensity as uint32 4, 0 to 255, timestamp as uint64 5, ns. Directly from the slot, in the bytes of protobuf-c, at
 * about the speed of a copy, with the fastest code for the CPU. Thread: any; one per writer.
 */
#ifndef PB_POINTS_H
#define PB_POINTS_H

#include "pb_writer.h"

#define PB_POINTS_NONE UINT32_MAX

struct pb_points {
	const uint8_t *data; /* borrowed: n points, `step` bytes apart */
	uint32_t n, step;
	/* offsets in a point, at any alignment, with the value within `step`: */
	uint32_t xyz;       /* three float32, [m] */
	uint32_t intensity; /* float32, 0..1; PB_POINTS_NONE: omitted */
	uint32_t time;      /* uint32, [ns] after stamp_ns; PB_POINTS_NONE: all points have stamp_ns */
	int64_t stamp_ns;   /* since 1970 */
	bool stamped;       /* false: timestamps are omitted */
	bool skip_zero;     /* omit points whose x, y, z and intensity are 0 */
};

/* field: 1 to 15. Returns the number of points written; errors are kept in w. */
uint32_t pb_points(struct pb_writer *w, uint32_t field, const struct pb_points *p);

#endif
