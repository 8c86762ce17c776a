/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lossless bridges: which messages are kept for them, for how long, and that no other client waits when they do not
 * answer.
 */
#include "scenario/dispatch/world.h"

#include <errno.h>
#include <sys/socket.h>

#include "log.h"

static struct world w;
static struct test_client *c;
static struct test_pub *p;
static struct test_bridge *a, *b; /* bridges 0 and 1 */

static void make(uint32_t window, enum dispatch_lossless of_a, enum dispatch_lossless of_b)
{
	world_create(&w, test_seed(3), 0);
	world_channel(&w, 0, window, false);
	world_bridge_lossless(&w, 0, 0, of_a, true);
	world_bridge_lossless(&w, 1, 0, of_b, true);
	world_route(&w, 0, 0);
	world_route(&w, 0, 1);
	a = bridge_attach(&w, 0);
	b = bridge_attach(&w, 1);
	c = client_new(&w);
	p = client_advertise(c, 0);
}

static unsigned waited(uint32_t channel)
{
	return atomic_load(&w.layout->info[channel].waited);
}

/* Publishes as long as there are credits; returns the number of messages. */
static unsigned publish_all(void)
{
	unsigned n = 0;

	while (client_try(c, p, NO_TOKEN) == 0)
		n++;
	world_settle(&w);
	return n;
}

static void publish(unsigned n)
{
	while (n--)
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
}

/* Loads bridge a until it has two lanes, which share the messages. */
static void make_two_lanes(uint64_t seed)
{
	world_create(&w, seed, 2);
	world_channel(&w, 0, 64, false);
	world_bridge_lossless(&w, 0, 0, DISPATCH_LOSSLESS_YES, true);
	world_route(&w, 0, 0);
	a = bridge_attach(&w, 0);
	c = client_new(&w);
	p = client_advertise(c, 0);
	for (unsigned round = 0; a->n_lanes < 2; round++) {
		publish_all();
		world_run(&w, 20 * MS);
		bridge_read(a);
		bridge_answer_all(a, 0, 20000);
		world_settle(&w);
		assert_true(round < 20);
	}
}

/* The bridge reads and answers its messages, and reads the replies. */
static void serve(struct test_bridge *br)
{
	while (bridge_read(br) + br->n_held) {
		bridge_answer_all(br, 0, 1);
		world_settle(&w);
	}
}

/* Serves both bridges until no delivery is left; b is the faster one. */
static void serve_all(void)
{
	while (bridge_read(a) + bridge_read(b) + a->n_held + b->n_held) {
		serve(b);
		bridge_answer_all(a, 0, 1);
		world_settle(&w);
	}
}

static void serve_both(void)
{
	serve_all();
	assert_int_equal(dispatch_outstanding(w.d), 0);
}

static unsigned count_reason(enum sim_reason reason)
{
	unsigned n = 0;

	client_read(c);
	for (unsigned i = 0; i < c->n_done; i++)
		n += c->done[i].reason == reason;
	return n;
}

/* ---- nothing is lost ---- */

/* A free-running engine publishes whenever it has a credit; one bridge answers five times as seldom as the other. */
static unsigned run_free(bool freewheel)
{
	unsigned sent = 0;

	make(16, DISPATCH_LOSSLESS_AUTO, DISPATCH_LOSSLESS_AUTO);
	assert_int_equal(dispatch_freewheel(w.d, freewheel), 0);
	world_settle(&w);
	for (unsigned round = 0; sent < 3000; round++) {
		for (unsigned i = 0; i < 3; i++)
			sent += client_try(c, p, NO_TOKEN) == 0;
		world_settle(&w);
		serve(b);
		bridge_read(a);
		if (round % 5 == 0)
			serve(a);
		client_read(c);
		world_run(&w, 1 * MS);
	}
	serve_both();
	client_read(c);
	assert_int_equal(c->n_done, sent);
	sent -= count_reason(SIM_REASON_NONE);
	world_destroy(&w);
	return sent;
}

TEST(a_free_running_engine_loses_nothing)
{
	assert_int_equal(run_free(true), 0);
	assert_true(run_free(false) > 0); /* a paced engine would have lost these */
}

TEST(a_lossless_bridge_holds_at_most_half_the_window)
{
	static const uint32_t windows[] = { 1, 2, 3, 8, 64 }, most[] = { 1, 1, 1, 4, 32 };

	for (unsigned i = 0; i < 5; i++) {
		make(windows[i], DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
		assert_int_equal(waited(0), 1);
		assert_int_equal(publish_all(), windows[i]);
		world_stats(&w);
		assert_int_equal(w.bridge_stats[0].queued + w.bridge_stats[0].held, most[i]);
		serve(b);
		world_run(&w, 900 * MS); /* its own deadline is not over: no message fails */
		assert_int_equal(client_read(c), 0);
		for (unsigned n = 0; n < windows[i]; n++) {
			bridge_read(a);
			assert_int_equal(a->held[0].sequence, n + 1); /* in order, wherever each waited */
			bridge_answer(a, 0, 0);
			world_settle(&w);
			serve(b);
		}
		assert_int_equal(count_reason(SIM_REASON_NONE), windows[i]);
		world_destroy(&w);
	}
}

/* Each answer comes in time, the last one after ten deadlines. */
TEST(the_deadline_counts_from_the_last_answer)
{
	make(16, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish(12);
	for (unsigned n = 0; n < 12; n++) {
		serve(b);
		world_run(&w, 900 * MS);
		bridge_read(a);
		bridge_answer(a, 0, 0);
		world_settle(&w);
	}
	assert_int_equal(count_reason(SIM_REASON_NONE), 12);
	world_destroy(&w);
}

TEST(a_plug_in_may_declare_itself_lossless)
{
	make(8, DISPATCH_LOSSLESS_AUTO, DISPATCH_LOSSLESS_NO);
	assert_int_equal(waited(0), 0);
	bridge_status_flags(a, SIM_BRIDGE_CONNECTED, LANE_STATUS_KEEPS_DATA);
	bridge_status_flags(b, SIM_BRIDGE_CONNECTED, LANE_STATUS_KEEPS_DATA); /* but the rig knows better */
	world_settle(&w);
	assert_int_equal(waited(0), 1);
	world_stats(&w);
	assert_true(w.bridge_stats[0].lossless);
	assert_false(w.bridge_stats[1].lossless);
	world_destroy(&w);
}

/* The engine stops while much is still to be delivered: what was accepted is delivered. */
TEST(messages_accepted_in_a_free_run_are_delivered)
{
	make(16, DISPATCH_LOSSLESS_AUTO, DISPATCH_LOSSLESS_AUTO);
	assert_int_equal(dispatch_freewheel(w.d, true), 0);
	world_settle(&w);
	assert_int_equal(waited(0), 2);
	publish(16);
	world_run(&w, 800 * MS);
	assert_int_equal(dispatch_freewheel(w.d, false), 0);
	world_settle(&w);
	assert_int_equal(waited(0), 2);
	for (unsigned n = 0; n < 16; n++) {
		serve(b);
		bridge_read(a);
		bridge_answer(a, 0, 0);
		world_run(&w, 150 * MS);
	}
	assert_int_equal(count_reason(SIM_REASON_NONE), 16);
	assert_int_equal(waited(0), 0);
	world_destroy(&w);
}

/* The last ones may still lie in the feed when the engine stops. */
TEST(messages_in_the_feed_at_the_end_of_a_free_run_are_delivered)
{
	make(16, DISPATCH_LOSSLESS_AUTO, DISPATCH_LOSSLESS_AUTO);
	assert_int_equal(dispatch_freewheel(w.d, true), 0);
	world_settle(&w);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	assert_int_equal(dispatch_freewheel(w.d, false), 0);
	world_settle(&w);
	for (unsigned n = 0; n < 16; n++) { /* longer than a deadline in all */
		serve(b);
		bridge_read(a);
		bridge_answer(a, 0, 0);
		world_run(&w, 150 * MS);
	}
	assert_int_equal(count_reason(SIM_REASON_NONE), 16);
	world_destroy(&w);
}

/* The bridge's process reconnects: queued messages wait for that, and are not sent while it has no connection. */
TEST(publishers_wait_for_a_lost_connection)
{
	make(64, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish(1);
	serve(b);
	bridge_read(a);
	bridge_answer_all(a, 0, 20000); /* so slow that it is given two at a time */
	world_settle(&w);
	publish(20);
	serve(b);
	assert_int_equal(bridge_read(a), 2);
	bridge_answer(a, 0, 0);
	world_settle(&w);
	bridge_status(a, SIM_BRIDGE_CONNECTING);
	world_settle(&w);
	bridge_read(a);
	bridge_answer_all(a, -EPIPE, 20000);
	world_run(&w, 900 * MS);
	assert_int_equal(bridge_read(a), 0);
	bridge_status(a, SIM_BRIDGE_CONNECTED);
	world_settle(&w);
	serve_both();
	assert_int_equal(count_reason(SIM_REASON_NONE), 19);
	assert_int_equal(count_reason(SIM_REASON_FAILED), 2);
	world_destroy(&w);
}

/* The backlog was accepted while time ran; other publishers do not have to wait behind it. */
TEST(a_backlog_survives_a_pause_and_does_not_block_connection_probes)
{
	struct sim_slot *s;

	make(8, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish(7);
	world_pause(&w, true);
	s = client_loan(c, p);
	s->flags = SIM_SLOT_PROBE;
	s->sequence = 0;
	client_publish(c, p, s);
	p->sequence--;
	world_settle(&w);
	client_expect(c, p, 0, SIM_REASON_NONE);
	s = client_loan(c, p);
	s->flags = 0;
	s->credit_cell = (uint32_t)client_claim_credit(c, p);
	client_publish(c, p, s);
	p->sequence--;
	world_settle(&w);
	assert_int_equal(world_credits_claimed(&w, 0), 7);
	serve_both();
	assert_int_equal(count_reason(SIM_REASON_NONE), 8); /* one of them is the probe's */
	world_destroy(&w);
}

/* ---- a bridge that does not answer ---- */

TEST(a_silent_lossless_bridge_is_stalled_and_the_others_continue)
{
	make(64, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish_all();
	bridge_read(a); /* 8 of its 32: the others are queued for it */
	assert_int_equal(a->n_held, 8);
	serve(b);
	assert_int_equal(client_try(c, p, NO_TOKEN), -EAGAIN); /* never blocked here */
	world_run(&w, 999 * MS);
	assert_int_equal(client_read(c), 0);
	world_run(&w, 2 * MS);
	serve(b);
	assert_int_equal(waited(0), 0);
	assert_int_equal(count_reason(SIM_REASON_DEADLINE), 8);
	assert_int_equal(count_reason(SIM_REASON_BRIDGE_SLOW), 56);
	assert_int_equal(world_credits_claimed(&w, 0), 8); /* which it may still be reading */
	world_stats(&w);
	assert_true(w.bridge_stats[0].stalled);
	assert_int_equal(w.stats.n_slow, 1);
	assert_int_equal(w.slow_stats[0].messages, 56);
	for (unsigned n = 0; n < 100; n++) {
		publish(1);
		serve(b);
	}
	world_stats(&w);
	assert_int_equal(w.bridge_stats[1].sent, 164);
	bridge_answer(a, 0, 0); /* the bridge answers again: all its other messages, too, in time */
	world_settle(&w);
	assert_int_equal(waited(0), 1);
	serve(a);
	publish(1);
	serve(a);
	serve(b);
	client_expect(c, p, 165, SIM_REASON_NONE);
	world_destroy(&w);
}

TEST(a_hung_lossless_bridge_is_finally_reported)
{
	make(8, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish(1);
	serve(b);
	world_run(&w, 5900 * MS);
	assert_int_equal(w.n_stuck, 0);
	world_run(&w, 1200 * MS);
	assert_in_range(w.n_stuck, 1, 2); /* once a second */
	assert_int_equal(count_reason(SIM_REASON_DEADLINE), 1);
	bridge_dies(a); /* which is not waited for again */
	publish(1);
	serve(b);
	client_expect(c, p, 2, SIM_REASON_DISCONNECTED);
	a = bridge_attach(&w, 0);
	assert_int_equal(waited(0), 1);
	world_destroy(&w);
}

/* A lane whose thread hangs takes its own messages with it, and no others, while the bridge answers on another one. */
TEST(a_hung_lane_does_not_make_the_bridge_stalled)
{
	unsigned stuck = 0;

	make_two_lanes(test_seed(3));
	for (unsigned round = 0; round < 30; round++) {
		publish_all();
		bridge_read(a);
		for (unsigned i = 0; i < a->n_held;) {
			if (a->held[i].lane == 0) {
				bridge_answer(a, i, 0);
				break;
			}
			i++;
		}
		world_run(&w, 100 * MS);
	}
	for (unsigned i = 0; i < a->n_held; i++)
		stuck += a->held[i].lane == 1;
	assert_in_range(count_reason(SIM_REASON_DEADLINE), 1, stuck);
	assert_int_equal(count_reason(SIM_REASON_NONE) + count_reason(SIM_REASON_DEADLINE), c->n_done);
	assert_int_equal(count_reason(SIM_REASON_BRIDGE_SLOW), 0);
	assert_int_equal(waited(0), 1);
	world_destroy(&w);
}

/*
 * Credits held by unread completions are freed only by the client that reads them: others never wait for that without
 * bound.
 */
TEST(unread_completions_do_not_count_as_a_waiting_bridge)
{
	make(16, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	for (unsigned sent = 1; sent;) {
		assert_int_equal(waited(0), 1);
		sent = publish_all();
		serve(b);
		serve(a);
		serve(b);
		if (waited(0) == 0)
			break;
		assert_true(p->sequence < 100000);
	}
	while (client_try(c, p, NO_TOKEN) == 0)
		world_settle(&w);
	serve_all();
	assert_int_equal(world_credits_claimed(&w, 0), 16);
	assert_int_equal(waited(0), 0);
	client_read(c);
	c->n_done = 0;
	world_settle(&w);
	assert_int_equal(waited(0), 1);
	world_destroy(&w);
}

/* ---- a bridge that is restarted ---- */

TEST(publishers_wait_for_a_restarting_bridge)
{
	make(64, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish(4);
	serve(a);
	publish(60);
	serve(b);
	bridge_read(a);
	bridge_dies(a);
	world_settle(&w);
	assert_int_equal(waited(0), 1);
	world_run(&w, 900 * MS);
	assert_int_equal(count_reason(SIM_REASON_DISCONNECTED), 0);
	a = bridge_attach(&w, 0);
	serve_both();
	/* all but what the old process had */
	assert_int_equal(count_reason(SIM_REASON_NONE) + count_reason(SIM_REASON_BRIDGE_DIED), 64);
	assert_true(count_reason(SIM_REASON_BRIDGE_DIED) <= 32);
	assert_true(a->received >= 28);
	world_destroy(&w);
}

static void restarted(void)
{
	world_settle(&w);
	assert_int_equal(waited(0), 1);
	a = bridge_attach(&w, 0);
	serve_both();
	assert_int_equal(count_reason(SIM_REASON_NONE), 64);
}

/*
 * The bridge takes no more messages and simd does not know that yet: new messages stay queued, and those it has are
 * answered.
 */
TEST(a_bridge_that_shuts_down_answers_what_it_holds)
{
	make(64, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish_all();
	serve(b);
	assert_int_equal(bridge_read(a), 8);
	assert_int_equal(shutdown(a->lanes[0], SHUT_RD), 0);
	bridge_answer(a, 0, 0);
	world_settle(&w);
	bridge_answer_all(a, 0, 1);
	bridge_status(a, SIM_BRIDGE_DISCONNECTING);
	world_settle(&w);
	bridge_dies(a);
	restarted();
	world_destroy(&w);
}

/* It exits before it has answered anything: that does not count as a crash. */
TEST(a_bridge_that_shuts_down_early_is_waited_for)
{
	make(64, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish_all();
	serve(b);
	assert_int_equal(bridge_read(a), 8);
	bridge_status(a, SIM_BRIDGE_DISCONNECTING);
	world_settle(&w);
	assert_int_equal(waited(0), 1);
	assert_int_equal(client_read(c), 0);
	bridge_answer_all(a, 0, 1);
	bridge_dies(a);
	restarted();
	world_destroy(&w);
}

/* In whatever order simd sees its answers, the end of its lanes, and that of its process. */
static void end_with_answers_unread(uint64_t seed, bool orderly)
{
	unsigned with[2] = { 0 };

	make_two_lanes(seed);
	publish_all();
	bridge_read(a);
	for (unsigned i = 0; i < a->n_held; i++)
		with[a->held[i].lane]++;
	assert_true(with[0] && with[1]);
	if (orderly)
		bridge_status(a, SIM_BRIDGE_DISCONNECTING);
	while (a->n_held)
		bridge_answer(a, 0, 0);
	bridge_dies(a);
	world_settle(&w);
	assert_int_equal(waited(0), 1);
	a = bridge_attach(&w, 0);
	do
		serve(a);
	while (client_read(c)); /* as long as what was not read holds credits, messages wait in the feed */
	assert_int_equal(dispatch_outstanding(w.d), 0);
	assert_int_equal(count_reason(SIM_REASON_NONE), c->n_done);
	world_stats(&w);
	assert_int_equal(w.bridge_stats[0].failed + w.bridge_stats[0].dropped, 0);
	world_destroy(&w);
}

TEST(answers_sent_before_a_bridge_ended_count)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		end_with_answers_unread(seed, false); /* as kill -9 */
		end_with_answers_unread(seed, true);
	}
}

TEST(a_bridge_that_shut_down_is_waited_for_up_to_the_deadline)
{
	make(8, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish(1);
	serve(a);
	bridge_status(a, SIM_BRIDGE_DISCONNECTING); /* it ends in good order, and reports that */
	bridge_status(a, SIM_BRIDGE_DISCONNECTED);
	world_settle(&w);
	bridge_dies(a);
	world_settle(&w);
	assert_int_equal(waited(0), 1);
	publish(3);
	serve(b);
	world_run(&w, 999 * MS);
	assert_int_equal(count_reason(SIM_REASON_DISCONNECTED), 0);
	world_run(&w, 2 * MS);
	serve(b);
	assert_int_equal(waited(0), 0);
	assert_int_equal(count_reason(SIM_REASON_DISCONNECTED), 3);
	publish(1);
	serve(b);
	client_expect(c, p, 5, SIM_REASON_DISCONNECTED);
	world_destroy(&w);
}

/* Otherwise one message that crashes the bridge would delay all other clients again and again. */
TEST(a_bridge_that_crashes_on_a_message_is_not_waited_for)
{
	make(8, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish(1);
	bridge_read(a);
	bridge_dies(a);
	world_settle(&w);
	assert_int_equal(waited(0), 0);
	serve(b);
	client_expect(c, p, 1, SIM_REASON_BRIDGE_DIED);
	world_destroy(&w);
}

/* Messages published before its first connection are delivered to it too. */
TEST(the_first_start_of_a_lossless_bridge_is_waited_for)
{
	world_create(&w, test_seed(3), 0);
	world_channel(&w, 0, 8, false);
	world_bridge_lossless(&w, 0, 0, DISPATCH_LOSSLESS_YES, true);
	world_route(&w, 0, 0);
	c = client_new(&w);
	p = client_advertise(c, 0);
	publish(3);
	a = bridge_attach(&w, 0);
	serve(a);
	assert_int_equal(count_reason(SIM_REASON_NONE), 3);
	world_destroy(&w);
}

/* ---- ends ---- */

TEST(the_end_of_the_data_plane_ends_a_backlog)
{
	make(8, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish(8);
	serve(b);
	world_roudi_dies(&w);
	assert_int_equal(count_reason(SIM_REASON_RESTART), 4); /* the others are with the bridge */
	serve(a);
	serve(b);
	world_roudi_back(&w, 1);
	publish(8);
	serve_both();
	assert_int_equal(count_reason(SIM_REASON_NONE), 12);
	world_destroy(&w);
}

static void called(void *arg)
{
	++*(int *)arg;
}

TEST(shutdown_ends_a_backlog)
{
	int n = 0;

	make(8, DISPATCH_LOSSLESS_YES, DISPATCH_LOSSLESS_NO);
	publish(8);
	serve(b);
	assert_int_equal(dispatch_shutdown(w.d, false, called, &n), 0);
	world_settle(&w);
	assert_int_equal(waited(0), 0);
	assert_int_equal(count_reason(SIM_REASON_SHUTDOWN), 4);
	serve(a);
	assert_int_equal(n, 1);
	world_destroy(&w);
}

/* ---- lock-step ---- */

/* However the answers come, the bridge gets the messages of a step in the one order of all channels. */
TEST(messages_of_a_step_go_out_in_one_order)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct test_pub *q;
		uint64_t last = 0;
		int n = 0;

		world_create(&w, seed, 0);
		for (uint32_t ch = 0; ch < 2; ch++)
			world_channel(&w, ch, 16, false);
		world_bridge_lossless(&w, 0, 20, DISPATCH_LOSSLESS_AUTO, true);
		world_route(&w, 0, 0);
		world_route(&w, 1, 0);
		a = bridge_attach(&w, 0);
		c = client_new(&w);
		p = client_advertise(c, 0);
		q = client_advertise(c, 1);
		assert_int_equal(dispatch_hold(w.d, true), 0);
		world_settle(&w);
		for (unsigned i = 0; i < 16; i++) {
			assert_int_equal(client_try(c, i % 2 ? p : q, NO_TOKEN), 0);
			assert_int_equal(client_try(c, i % 2 ? q : p, NO_TOKEN), 0);
		}
		assert_int_equal(dispatch_step(w.d, called, &n), 0);
		world_settle(&w);
		while (bridge_read(a) + a->n_held) {
			for (unsigned i = 0; i < a->n_held; i++) {
				/*
				 * world.c gives later messages earlier stamps; at equal stamps the channel's name
				 * decides the order
				 */
				uint64_t at = 2 * (16 - a->held[i].sequence) + a->held[i].channel + 1;

				if (at <= last)
					continue; /* seen before */
				assert_int_equal(at, last + 1);
				last = at;
			}
			bridge_answer(a, (unsigned)(seed * 7 + last) % a->n_held, 0);
			world_settle(&w);
		}
		assert_int_equal(last, 32);
		assert_int_equal(n, 1);
		assert_int_equal(count_reason(SIM_REASON_NONE), 32);
		world_destroy(&w);
	}
}

/* Messages published after the last step do not overtake it. */
TEST(later_messages_do_not_overtake_a_step)
{
	struct test_pub *q;
	uint64_t last = 0;
	int n = 0;

	world_create(&w, test_seed(3), 0);
	for (uint32_t ch = 0; ch < 2; ch++) {
		world_channel(&w, ch, 8, false);
		world_bridge_lossless(&w, ch, 0, DISPATCH_LOSSLESS_AUTO, true);
		world_route(&w, ch, ch);
	}
	a = bridge_attach(&w, 0);
	b = bridge_attach(&w, 1);
	c = client_new(&w);
	p = client_advertise(c, 0);
	q = client_advertise(c, 1);
	assert_int_equal(dispatch_hold(w.d, true), 0);
	world_settle(&w);
	for (unsigned i = 0; i < 6; i++) /* the two newest wait for bridge 0, and behind them q's */
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	assert_int_equal(client_try(c, q, NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(dispatch_step(w.d, called, &n), 0);
	world_settle(&w);
	assert_int_equal(dispatch_hold(w.d, false), 0);
	world_settle(&w);
	assert_int_equal(client_try(c, q, NO_TOKEN), 0);
	world_settle(&w);
	while (bridge_read(a) + bridge_read(b) + a->n_held + b->n_held) {
		for (unsigned i = 0; i < b->n_held; i++) {
			assert_true(b->held[i].sequence > last);
			last = b->held[i].sequence;
		}
		bridge_answer_all(a, 0, 1);
		bridge_answer_all(b, 0, 1);
		world_settle(&w);
	}
	assert_int_equal(last, 2);
	assert_int_equal(n, 1);
	world_destroy(&w);
}

static int prepare(void **state)
{
	(void)state;
	log_set_spec("error");
	return 0;
}

TEST_GROUP(prepare, NULL)
