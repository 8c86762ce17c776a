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

/* TLS has room for some bytes: a stalled peer would otherwise seem to take them. */
TEST_WITH(nothing_is_accepted_while_sent_bytes_wait, suite_connected, suite_tear_down)
{
	size_t n = suite_say(&suite_near, 0, SIZE_MAX);

	assert_true(n > 0);
	assert_true(stream_waits(suite_near.s));
	assert_int_equal(suite_say(&suite_near, n, 1), n);
	UNTIL(!stream_waits(suite_near.s));
	assert_int_equal(suite_say(&suite_near, n, 1), n + 1);
}
