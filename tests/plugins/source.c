/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time sources that simd must refuse, one per BAD_ macro the object is compiled with; with none of them, a good one:
 * wall-driven time that begins at 1000 s.
 */
#include <sim/source.h>

__attribute__((unused)) static int64_t start(int64_t real_now_ns)
{
	(void)real_now_ns;
	return INT64_C(1000000000000);
}

static const struct sim_source_ops ops = {
#ifdef BAD_ABI
	.abi = SIM_SOURCE_ABI + 41,
#else
	.abi = SIM_SOURCE_ABI,
#endif
#ifdef BAD_SIZE
	.size = sizeof(struct sim_source_ops) - 8,
#else
	.size = sizeof(struct sim_source_ops),
#endif
#ifdef BAD_NAME
	.name = "system",
#elif defined(BAD_OTHER)
	.name = "another",
#else
	.name = "good",
#endif
#ifdef BAD_ID
	.id = SIM_SOURCE_SYSTEM,
#else
	.id = SIM_SOURCE_PLUGIN,
#endif
#ifdef BAD_KIND
	.kind = 77,
#else
	.kind = SIM_SOURCE_WALL,
#endif
	.flags = SIM_SOURCE_CONTROL,
#ifndef BAD_START
	.start = start,
#else
	.start = (int64_t(*)(int64_t))0,
#endif
};

#ifdef BAD_SYMBOL
#define sim_source_plugin some_other_symbol
#endif

SIM_API const struct sim_source_ops *sim_source_plugin(void);

const struct sim_source_ops *sim_source_plugin(void)
{
#ifdef BAD_NOTHING
	return sizeof(ops) ? NULL : &ops;
#else
	return &ops;
#endif
}
