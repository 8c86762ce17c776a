/* SPDX-License-Identifier: Apache-2.0 */
/* A small world for tests of sensors: objects that are put there, and a vehicle that moves. */
#ifndef SENSORS_WORLD_H
#define SENSORS_WORLD_H

#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "tools/sources/sensors/unit.h"

#define WORLD_CAP 8192
#define STAMP     7000000000

static uint8_t world_body[WORLD_CAP] __attribute__((aligned(64)));
static uint8_t out_body[1 << 17] __attribute__((aligned(64), unused));
static struct scan_box world_boxes[SCENE_BOXES_MAX];
static struct scene_buildings no_buildings;

static inline void near_within(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.12g is not %.12g within %g", a, b, eps);
}
#define near(a, b) near_within((double)(a), (double)(b), 1e-9)

/* A measurement into a slot that has old data in it. */
static inline size_t look_at(struct unit *u, const struct moment *m, size_t cap)
{
	memset(out_body, 0x5a, sizeof(out_body));
	return unit_look(u, m, out_body, cap);
}

struct thing {
	const char *label;
	double x, y;   /* base_link */
	double vx, vy; /* map */
};

/* Cubes of 2 m on the road, with ids from 1 on. */
static inline struct moment world(const struct thing *t, uint32_t n, const struct motion *motion)
{
	struct sim_builder b;
	struct sim_Detected3DObjects *all = sim_Detected3DObjects_init(world_body, sizeof(world_body), &b);
	struct sim_Detected3DObject *o = sim_Detected3DObjects_objects_alloc(&b, n);

	assert_non_null(o);
	for (uint32_t i = 0; i < n; i++) {
		o[i].pose.position = (struct sim_Vector3){ .x = t[i].x, .y = t[i].y, .z = 1 };
		o[i].pose.orientation.w = 1;
		o[i].size = (struct sim_Vector3){ .x = 2, .y = 2, .z = 2 };
		o[i].map_velocity = (struct sim_Vector3){ .x = t[i].vx, .y = t[i].vy };
		o[i].id = i + 1;
		assert_int_equal(sim_Detected3DObject_label_set_in(&b, &o[i], t[i].label), 0);
	}
	return (struct moment){ .objects = all,
				.body_size = sim_builder_size(&b),
				.buildings = &no_buildings,
				.motion = motion,
				.boxes = world_boxes,
				.stamp_sim_ns = STAMP,
				.clock_generation = 1 };
}

/* The vehicle at (100, 50), pointing north, 10 m/s, turning left by 0.5 rad/s. */
static inline struct motion north(void)
{
	const struct sim_Imu imu = { .orientation = { .z = sqrt(0.5), .w = sqrt(0.5) },
				     .position = { .x = 100, .y = 50 },
				     .linear_velocity = { .x = 10 },
				     .angular_velocity = { .z = 0.5 } };

	return motion_of(&imu);
}

#endif
