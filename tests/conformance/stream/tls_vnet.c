/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite of stream.h with TLS in the virtual network, whose sockets are small, so that records are cut
 * at any byte.
 */
#include "tests/support/test.h"

#include "protect.h"
#include "support/vnet.h"
#include "timeutil.h"

static const struct vnet_rules rules = { .delay_dur_ns = NS_PER_MS, .jitter_dur_ns = 2 * NS_PER_MS, .piece = 3000 };

static void begin(struct exec *x)
{
	protect_begin(x);
	vnet_create(x, test_seed(3), &rules);
}

static void end(void)
{
	vnet_destroy();
	protect_end();
}

const struct suite suite = {
	.host = "127.0.0.1", .step_dur_ns = NS_PER_MS, .begin = begin, .end = end, .protect = protect_stream
};

/* Otherwise a stalled peer would seem to take bytes as long as TLS has room. */
TEST_WITH(nothing_is_taken_while_something_waits, suite_connected, suite_tear_down)
{
	size_t n = suite_say(&suite_near, 0, SIZE_MAX);

	assert_true(n > 0);
	assert_true(stream_waits(suite_near.s));
	assert_int_equal(suite_say(&suite_near, n, 1), n);
	UNTIL(!stream_waits(suite_near.s));
	assert_int_equal(suite_say(&suite_near, n, 1), n + 1);
}
