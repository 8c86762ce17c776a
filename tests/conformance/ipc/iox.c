/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite of ipc.h on iceoryx, against a RouDi of its own (-m off, as simd runs it). To be
 * run under tests/support/ns.sh.
 */
#include <stdio.h>

#include "roudi.h"
#include "suite.h"

int main(void)
{
	static const struct ipc_mem_pool pools[] = { { 192, 600 }, { 4096, 64 }, { 1048576, 4 } };
	struct suite s = { .backend = "iox", .small_pool_slots = 600, .too_large = 1048576 };
	struct roudi roudi;
	int r;

	if (roudi_start(&roudi, pools, 3) < 0)
		return 1;
	r = suite_main(&s);
	roudi_kill(&roudi);
	return r;
}
