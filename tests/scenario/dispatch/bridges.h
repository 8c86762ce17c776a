/* SPDX-License-Identifier: Apache-2.0 */
/* A client with a publisher on channel 0, and one bridge or two that carry it. */
#ifndef TESTS_DISPATCH_BRIDGES_H
#define TESTS_DISPATCH_BRIDGES_H

#include "scenario/dispatch/world.h"

#include "log.h" /* before the short names below */

static struct world w;
static struct test_client *c;
static struct test_pub *p;
static struct test_bridge *a, *b; /* bridges 0 and 1 */

static inline void make(uint32_t window, bool ordered, unsigned n_bridges, uint32_t queue, uint32_t lanes_max)
{
	world_create(&w, test_seed(2), lanes_max);
	world_channel(&w, 0, window, ordered);
	for (uint32_t i = 0; i < n_bridges; i++) {
		world_bridge(&w, i, queue);
		world_route(&w, 0, i);
	}
	a = bridge_attach(&w, 0);
	b = n_bridges > 1 ? bridge_attach(&w, 1) : NULL;
	c = client_new(&w);
	p = client_advertise(c, 0);
}

static inline void publish(unsigned n)
{
	while (n--)
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
}

static inline int prepare(void **state)
{
	(void)state;
	log_set_spec("error"); /* the provoked warnings are expected */
	return 0;
}

#endif
