/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The points of a cloud as `repeated PointXYZIT` of apollo.drivers.PointCloud: x, y, z as float 1 to 3, intensity as uint32 4, 0
 * to 255, timestamp as uint64 5, ns. Straight from the slot, in the bytes of protobuf-c, at about the speed of a copy; whichever
 * way the CPU is fastest at. Thread: any; one writer is one's.
 */
#ifndef PB_POINTS_H
#define PB_POINTS_H

#include "pb_writer.h"

#define PB_POINTS_NONE UINT32_MAX

struct pb_points {
	const uint8_t *data; /* borrows: n points, each `step` bytes after the last one */
	uint32_t n, step;
	/* offsets in a point, at any alignment, the value within `step`: */
	uint32_t xyz;       /* three float32, [m] */
	uint32_t intensity; /* float32, 0..1; PB_POINTS_NONE: left out */
	uint32_t time;      /* uint32, [ns] after stamp_ns; PB_POINTS_NONE: every point is of stamp_ns */
	int64_t stamp_ns;   /* since 1970 */
	bool stamped;       /* false: timestamps are left out */
	bool skip_zero;     /* points whose x, y, z and intensity are 0 are left out */
};

/* field: 1 to 15. Returns how many points were written; errors stay in w. */
uint32_t pb_points(struct pb_writer *w, uint32_t field, const struct pb_points *p);

#endif
