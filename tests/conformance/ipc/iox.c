/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite of ipc.h on iceoryx, against a RouDi of its own (-m off, as simd runs it). To be
 * run under tests/support/ns.sh.
 */
#include "roudi.h"
#include "suite.h"

struct suite suite = { .backend = "iox", .small_pool_slots = 600, .too_large = 1048576 };

static struct roudi roudi;

int suite_open(void)
{
	static const struct ipc_mem_pool pools[] = { { 192, 600 }, { 4096, 64 }, { 1048576, 4 } };

	return roudi_start(&roudi, pools, 3);
}

void suite_close(void)
{
	roudi_kill(&roudi);
}
