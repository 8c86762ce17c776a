/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time source `play`: time is the position in the log that is played. The player (`simctl play`) drives it: it
 * advances from message to message. The first time of a log, a loop and a seek are jumps, so the player may set the
 * time. Until the player drives it, time stands at 0.
 */
#include <sim/source.h>

static int64_t start(int64_t real_now_ns)
{
	(void)real_now_ns;
	return 0;
}

static const struct sim_source_ops ops = {
	.abi = SIM_SOURCE_ABI,
	.size = sizeof(struct sim_source_ops),
	.name = "play",
	.id = SIM_SOURCE_PLUGIN,
	.kind = SIM_SOURCE_DRIVEN,
	.flags = SIM_SOURCE_CONTROL | SIM_SOURCE_SET,
	.start = start,
};

SIM_API const struct sim_source_ops *sim_source_plugin(void);

const struct sim_source_ops *sim_source_plugin(void)
{
	return &ops;
}
