/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of stream.h in the virtual network, and what that network does to streams. */
#include "tests/support/test.h"

#include "suite.h"

#include <errno.h>

#include "support/vnet.h"
#include "timeutil.h"

static struct vnet_rules rules;
static unsigned opened_ms; /* virtual time until the connection was open */

static void begin(struct exec *x)
{
	rules = (struct vnet_rules){
		.delay_dur_ns = 3 * NS_PER_MS, .jitter_dur_ns = 2 * NS_PER_MS, .lost_permille = 3, .piece = 3000
	};
	vnet_create(x, test_seed(2), &rules);
}

const struct suite suite = { .host = "127.0.0.1", .step_dur_ns = NS_PER_MS, .begin = begin, .end = vnet_destroy };

static int connected(void **state)
{
	suite_set_up(state);
	rules = (struct vnet_rules){ .delay_dur_ns = 10 * NS_PER_MS };
	suite_dial();
	for (opened_ms = 0; !suite_near.n_opened; opened_ms++)
		suite_run(NS_PER_MS);
	UNTIL(suite_far.s);
	listener_mood(suite_far.s, PEER_BUSY);
	return 0;
}

/* Writes one whole period of the pattern. */
static void say_some(const struct end *e)
{
	uint8_t data[200];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	assert_int_equal(stream_write(e->s, &(struct iovec){ data, sizeof(data) }, 1), sizeof(data));
}

TEST_WITH(bytes_arrive_after_the_delay_of_the_line, connected, suite_tear_down)
{
	assert_int_equal(opened_ms, 20); /* one round trip */
	assert_int_equal(vnet_connections(), 1);
	say_some(&suite_near);
	suite_run(10 * NS_PER_MS - 1);
	assert_int_equal(suite_far.n, 0);
	suite_run(1);
	assert_int_equal(suite_far.n, 200);
}

TEST_WITH(a_slow_line_takes_longer, connected, suite_tear_down)
{
	rules.bytes_per_s = 1000;
	rules.piece = 10;
	say_some(&suite_near);
	suite_run(110 * NS_PER_MS);
	assert_in_range(suite_far.n, 90, 100);
	suite_run(100 * NS_PER_MS);
	assert_int_equal(suite_far.n, 200);
	assert_true(vnet_pieces() >= 20);
}

TEST_WITH(lost_pieces_are_sent_again, connected, suite_tear_down)
{
	rules.lost_permille = 1000;
	say_some(&suite_near);
	suite_run(210 * NS_PER_MS - 1);
	assert_int_equal(suite_far.n, 0);
	suite_run(1);
	assert_int_equal(suite_far.n, 200);
}

TEST_WITH(a_cable_may_be_out_for_a_while, connected, suite_tear_down)
{
	vnet_cut(true);
	say_some(&suite_near);
	suite_run(3600 * NS_PER_S);
	assert_int_equal(suite_far.n + (size_t)suite_near.n_ended, 0);
	vnet_cut(false);
	suite_run(0);
	assert_int_equal(suite_far.n, 200);
}

/* Neither side notices until it sends. */
TEST_WITH(a_peer_that_vanishes_is_noticed_by_time_out, connected, suite_tear_down)
{
	static uint8_t zeros[1 << 20];

	vnet_vanish(0);
	suite_run(3600 * NS_PER_S);
	assert_int_equal(suite_near.n_ended + suite_far.n_ended, 0);
	assert_true(stream_write(suite_near.s, &(struct iovec){ zeros, sizeof(zeros) }, 1) > 0);
	suite_run(NS_PER_S);
	assert_int_equal(suite_near.error, -ETIMEDOUT);
	stream_deadline(suite_far.s, NS_PER_S);
	suite_run(NS_PER_S);
	assert_int_equal(suite_far.error, -ETIMEDOUT);
	assert_int_equal(suite_far.n, 0);
}

TEST_WITH(a_reset_ends_both_streams, connected, suite_tear_down)
{
	vnet_reset(0);
	suite_run(0);
	assert_int_equal(suite_near.n_ended, 1);
	assert_int_equal(suite_far.n_ended, 1);
	assert_int_equal(suite_near.error, -ECONNRESET);
	assert_string_equal(suite_near.why, strerror(ECONNRESET));
}

TEST_WITH(dialling_without_an_answer_times_out, suite_set_up, suite_tear_down)
{
	vnet_cut(true);
	suite_dial();
	suite_run(5 * NS_PER_S - 1);
	assert_int_equal(suite_near.n_ended, 0);
	suite_run(1);
	assert_int_equal(suite_near.n_ended, 1);
	assert_int_equal(suite_near.error, -ETIMEDOUT);
}

/* The same seed repeats every event. */
TEST_WITH(the_same_seed_gives_the_same_run, suite_set_up, suite_tear_down)
{
	int64_t end_mono_ns[2];

	for (int i = 0; i < 2; i++) {
		suite_dial();
		UNTIL(suite_far.s);
		listener_mood(suite_far.s, PEER_BUSY);
		for (unsigned k = 0; k < 50; k++) {
			rules.lost_permille = 100;
			rules.piece = 7;
			suite_run(NS_PER_MS);
		}
		say_some(&suite_near);
		UNTIL(suite_far.n == 200);
		end_mono_ns[i] = exec_now(suite_x);
		suite_tear_down(NULL);
		suite_set_up(NULL);
	}
	assert_int_equal(end_mono_ns[0], end_mono_ns[1]);
}
