/* SPDX-License-Identifier: Apache-2.0 */
/* Two clients with a publisher each on one channel, and a bridge that carries it; the second channel has no publisher. */
#ifndef TESTS_DISPATCH_TWO_CLIENTS_H
#define TESTS_DISPATCH_TWO_CLIENTS_H

#include "scenario/dispatch/world.h"

#include "log.h" /* before the short names below */

static struct world w;
static struct test_client *c, *d;
static struct test_pub *p, *q; /* of c and d, both on channel 0 */
static struct test_bridge *b;

static inline void make(uint32_t window)
{
	world_create(&w, test_seed(3), 0);
	world_channel(&w, 0, window, false);
	world_channel(&w, 1, window, false);
	world_bridge(&w, 0, 1024);
	world_route(&w, 0, 0);
	world_route(&w, 1, 0);
	b = bridge_attach(&w, 0);
	c = client_new(&w);
	d = client_new(&w);
	p = client_advertise(c, 0);
	q = client_advertise(d, 0);
}

static inline void pass_one(struct test_client *who, struct test_pub *pub)
{
	assert_int_equal(client_try(who, pub, 3), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(b), 1);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(who, pub, pub->sequence, SIM_REASON_NONE);
}

#endif
