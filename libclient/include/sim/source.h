/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time-source plug-in ABI. A plug-in is a shared object, source_<name>.so, that exports one symbol
 *
 *     const struct sim_source_ops *sim_source_plugin(void);
 *
 * simd loads it when the configuration's TimeSource, or `simctl clock source`, names it. The plug-in defines where
 * simulated time begins and what moves it; simd does the arithmetic, pausing, scaling and stepping. Two kinds:
 *
 *   wall-driven  time runs by itself: scale x CLOCK_MONOTONIC
 *   driven       time stands until the holder of the driver lease (sim_driver_acquire) advances it
 *
 * simd refuses a table whose abi differs or that is shorter than simd expects; the error names both numbers. Members
 * beyond `size` do not exist.
 */
#ifndef SIM_SOURCE_H
#define SIM_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include <sim/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_SOURCE_ABI    1u
#define SIM_SOURCE_SYMBOL "sim_source_plugin"

enum sim_source_kind {
	SIM_SOURCE_WALL = 0,
	SIM_SOURCE_DRIVEN = 1,
	SIM_SOURCE_WALL_UNTIL_DRIVEN = 2, /* wall-driven until a driver attaches, driven from then on */
	/* follows another clock, as its driver reports it; only for simd's own `link` */
	SIM_SOURCE_FOLLOWED = 3,
};

enum sim_source_flag {
	SIM_SOURCE_CONTROL = 1u << 0, /* pause, scale and step are allowed */
	SIM_SOURCE_SET = 1u << 1,     /* its driver may set the time (sim_driver_set), also back */
};

struct sim_source_ops {
	uint32_t abi;  /* SIM_SOURCE_ABI the table was built with */
	uint32_t size; /* sizeof(struct sim_source_ops) at that time */
	/* value of `TimeSource`, lower case: as in source_<name>.so; must differ from simd's own sources */
	const char *name;
	uint32_t id;    /* SIM_SOURCE_PLUGIN */
	uint32_t kind;  /* enum sim_source_kind */
	uint32_t flags; /* enum sim_source_flag */
	/*
	 * Returns the simulated time, ns, at which the source begins when it is selected: 0 to 2^62, else the source is
	 * refused. real_now_ns: CLOCK_REALTIME of that moment. Must not block: simd's main thread calls it.
	 */
	int64_t (*start)(int64_t real_now_ns);
};

typedef const struct sim_source_ops *(*sim_source_plugin_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
