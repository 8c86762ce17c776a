/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time sources: where simulated time comes from. A source is a small const table; the arithmetic and
 * the states are the engine's (engine.h). Two kinds:
 *
 *   wall-driven  time runs by itself: scale x CLOCK_MONOTONIC
 *   driven       time stands until the holder of the driver lease advances it
 *
 * SOURCE_WALL_UNTIL_DRIVEN (ros2) is wall-driven until a driver attaches, driven from then on.
 *
 * Thread: any; the tables are const.
 */
#ifndef TIME_SOURCE_H
#define TIME_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/types.h>

#define TIME_SOURCE_ABI 1u

enum time_source_kind {
	TIME_SOURCE_WALL = 0,
	TIME_SOURCE_DRIVEN = 1,
	TIME_SOURCE_WALL_UNTIL_DRIVEN = 2,
};

enum time_source_flag {
	TIME_SOURCE_CONTROL = 1u << 0, /* pause, scale and step are allowed */
	TIME_SOURCE_SET = 1u << 1,     /* its driver may set the time (DRIVER_SET), also back */
};

struct time_source_ops {
	uint32_t abi;     /* TIME_SOURCE_ABI the table was built with */
	uint32_t size;    /* sizeof(struct time_source_ops) at that time */
	const char *name; /* value of `TimeSource`, lower case */
	uint32_t id;      /* enum sim_time_source */
	uint32_t kind;    /* enum time_source_kind */
	uint32_t flags;   /* enum time_source_flag */
	/* Simulated time at which the source begins when it is selected. real_now_ns: CLOCK_REALTIME of that moment. */
	int64_t (*start)(int64_t real_now_ns);
};

/* Refuses (-EPROTO, with a sentence that names both numbers) a table that this engine cannot use. */
int time_source_check(const struct time_source_ops *s);

/* By name, any letter case, as in JSON under `TimeSource`. -ENOENT with a sentence that lists the names. */
int time_source_by_name(const char *name, const struct time_source_ops **ret);

/* By AWSIM's integer, 0 .. 4. -ENOENT. */
int time_source_by_number(int64_t number, const struct time_source_ops **ret);

#endif
