/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of ipc.h on the in-process backend. */
#include "ipc_mem.h"
#include "suite.h"

struct suite suite = { .backend = "mem", .small_pool_slots = 600, .too_large = 1048576 };

int suite_open(void)
{
	static const struct ipc_mem_pool pools[] = { { 192, 600 }, { 4096, 64 }, { 1048576, 4 } };
	const struct ipc_mem_options o = { .pools = pools, .n_pools = 3 };

	return ipc_mem_bus_create(&o, &suite.bus);
}

void suite_close(void)
{
	ipc_mem_bus_destroy(suite.bus);
}
