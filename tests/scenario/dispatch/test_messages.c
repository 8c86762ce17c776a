/* SPDX-License-Identifier: Apache-2.0 */
/* The life of messages: accepted, delivered, completed once; the resources that they hold, and when those are freed. */
#include "scenario/dispatch/world.h"

#include <errno.h>

#include "log.h"

static struct world w;

/* Channel 0 with bridge 0 connected, one client with one publisher. */
struct simple {
	struct test_client *c;
	struct test_pub *p;
	struct test_bridge *b;
};

static struct simple simple_world(uint32_t window)
{
	struct simple s;

	world_create(&w, test_seed(1), 0);
	world_channel(&w, 0, window, false);
	world_bridge(&w, 0, 0);
	world_route(&w, 0, 0);
	s.b = bridge_attach(&w, 0);
	s.c = client_new(&w);
	s.p = client_advertise(s.c, 0);
	return s;
}

TEST(a_message_reaches_the_bridge_and_completes)
{
	struct simple s = simple_world(4);

	assert_int_equal(client_try(s.c, s.p, 7), 0);
	assert_true(world_token_claimed(&w, 7));
	world_settle(&w);
	assert_int_equal(dispatch_outstanding(w.d), 1);
	assert_int_equal(bridge_read(s.b), 1);
	assert_int_equal(s.b->held[0].sequence, 1);
	assert_int_equal(client_read(s.c), 0);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots + 1);
	bridge_answer(s.b, 0, 0);
	world_settle(&w);
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	assert_false(world_token_claimed(&w, 7));
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	client_expect(s.c, s.p, 1, SIM_REASON_NONE);
	assert_int_equal(dispatch_outstanding(w.d), 0);
	world_destroy(&w);
}

TEST(a_failure_is_reported_to_the_client)
{
	struct simple s = simple_world(4);

	assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_settle(&w);
	bridge_read(s.b);
	bridge_answer(s.b, 0, -EIO);
	world_settle(&w);
	client_expect(s.c, s.p, 1, SIM_REASON_FAILED);
	world_destroy(&w);
}

TEST(without_a_bridge_a_message_completes_as_no_bridge)
{
	struct test_client *c;
	struct test_pub *p;

	world_create(&w, 1, 0);
	world_channel(&w, 3, 2, false);
	c = client_new(&w);
	p = client_advertise(c, 3);
	assert_int_equal(client_try(c, p, 1), 0);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NO_BRIDGE);
	assert_false(world_token_claimed(&w, 1));
	world_destroy(&w);
}

TEST(a_message_to_a_disconnected_bridge_completes_as_disconnected)
{
	struct simple s = simple_world(4);

	assert_int_equal(atomic_load(&w.layout->info[0].bridges), 1 << 16 | 1);
	bridge_status(s.b, SIM_BRIDGE_CONNECTING);
	world_settle(&w);
	assert_int_equal(w.status[0], SIM_BRIDGE_CONNECTING);
	assert_int_equal(atomic_load(&w.layout->info[0].bridges), 1);
	assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_settle(&w);
	client_expect(s.c, s.p, 1, SIM_REASON_DISCONNECTED);
	bridge_dies(s.b);
	world_settle(&w);
	assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_settle(&w);
	client_expect(s.c, s.p, 2, SIM_REASON_DISCONNECTED);
	world_destroy(&w);
}

TEST(a_message_published_before_a_pause_and_taken_in_it_is_handled)
{
	struct simple s = simple_world(4);

	/* published before the pause and taken in it: it is sent */
	assert_int_equal(client_try(s.c, s.p, 2), 0);
	world_pause(&w, true);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 1);
	bridge_answer(s.b, 0, 0);
	world_settle(&w);
	client_expect(s.c, s.p, 1, SIM_REASON_NONE);
	/* published in the pause, by a client that did not read the page in time */
	assert_int_equal(client_try(s.c, s.p, 2), -ECANCELED);
	world_pause(&w, false);
	assert_int_equal(client_try(s.c, s.p, 2), 0);
	world_pause(&w, true);
	w.clock.pause_mono_ns--;
	world_settle(&w);
	client_expect(s.c, s.p, 2, SIM_REASON_PAUSED);
	assert_int_equal(bridge_read(s.b), 0);
	assert_false(world_token_claimed(&w, 2));
	world_destroy(&w);
}

TEST(a_probe_is_answered)
{
	struct simple s = simple_world(4);
	struct sim_slot *slot = client_loan(s.c, s.p);

	slot->flags = SIM_SLOT_PROBE;
	slot->sequence = 0;
	slot->body_size = 0;
	assert_int_equal(ipc_publish(s.p->ipc, slot), 0);
	client_mark(s.c, 0);
	client_ring(s.c);
	world_settle(&w);
	client_expect(s.c, s.p, 0, SIM_REASON_NONE);
	assert_int_equal(bridge_read(s.b), 0);
	world_destroy(&w);
}

/*
 * The main thread registers a publisher with dispatch before it notifies the client, so dispatch always knows the
 * publisher of a message.
 */
TEST(a_message_never_overtakes_its_publisher)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct test_client *c;
		struct test_pub *p;

		world_create(&w, seed, 0);
		world_channel(&w, 0, 4, false);
		c = client_new(&w);
		p = client_advertise_only(c, 0);
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
		world_settle(&w);
		client_expect(c, p, 1, SIM_REASON_NO_BRIDGE);
		world_destroy(&w);
	}
}

TEST(a_local_message_returns_its_credit)
{
	struct simple s = simple_world(4);
	struct sim_slot *slot;
	int credit = client_claim_credit(s.c, s.p);

	atomic_fetch_or(&w.page->channel[0].cell[credit - 1], WIRE_CLAIM_LOCAL);
	slot = client_loan(s.c, s.p);
	slot->flags = 0;
	slot->credit_cell = (uint32_t)credit;
	client_publish(s.c, s.p, slot);
	world_settle(&w);
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	assert_int_equal(client_read(s.c), 0);
	assert_int_equal(bridge_read(s.b), 0);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	world_stats(&w);
	assert_int_equal(w.channel_stats[0].local, 1);
	assert_int_equal(w.channel_stats[0].accepted, 0);
	world_destroy(&w);
}

TEST(a_full_window_is_sent_in_batches)
{
	struct simple s = simple_world(64);

	for (int round = 0; round < 5; round++) {
		for (unsigned i = 0; i < 64; i++)
			assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
		assert_int_equal(client_try(s.c, s.p, NO_TOKEN), -EAGAIN);
		for (int step = 0; step < 10 && client_count(s.c, s.p, s.p->sequence) == 0; step++) {
			world_settle(&w);
			bridge_read(s.b);
			bridge_answer_all(s.b, 0, 0);
			world_settle(&w);
			client_read(s.c);
		}
	}
	assert_int_equal(s.p->sequence, 320);
	for (uint64_t i = 1; i <= 320; i++)
		client_expect(s.c, s.p, i, SIM_REASON_NONE);
	assert_true(s.b->packets <= 30); /* channel, connect and a few per round: not one a message */
	world_stats(&w);
	assert_int_equal(w.channel_stats[0].completed, 320);
	assert_int_equal(w.bridge_stats[0].sent, 320);
	assert_int_equal(w.bridge_stats[0].attempted, 320);
	assert_int_equal(w.bridge_stats[0].reported_dropped, 3);
	world_destroy(&w);
}

/* FIFO: one bridge sees the order of publishing. */
/* Slots of one packet of answers go back newest first: the pool hands out next what came back last. */
TEST(slots_are_returned_newest_first)
{
	const struct sim_slot *oldest = NULL;
	struct simple s = simple_world(8);

	for (unsigned i = 0; i < 8; i++) {
		int credit = client_claim_credit(s.c, s.p);
		struct sim_slot *slot = client_loan(s.c, s.p);

		oldest = i ? oldest : slot;
		slot->credit_cell = (uint32_t)credit;
		client_publish(s.c, s.p, slot);
	}
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 8);
	bridge_answer_all(s.b, 0, 1);
	world_settle(&w);
	assert_int_equal(client_read(s.c), 8);
	assert_ptr_equal(client_loan(s.c, s.p), oldest);
	world_abort(&w);
}

TEST(a_bridge_sees_the_order_of_publishing)
{
	struct simple s = simple_world(64);

	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	for (uint64_t next = 1; next <= 40;) {
		world_settle(&w);
		bridge_read(s.b);
		assert_true(s.b->n_held > 0);
		assert_int_equal(s.b->held[0].sequence, next++);
		bridge_answer(s.b, 0, 0);
	}
	world_destroy(&w);
}

/* ---- a deferred feed ---- */

/* n messages are with a bridge that has just answered, and so fast that its feed is deferred from 16 on. */
static struct simple busy_world(unsigned n, uint32_t service_us)
{
	struct simple s = simple_world(64);

	assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_settle(&w);
	bridge_read(s.b);
	bridge_answer_all(s.b, 0, service_us);
	world_settle(&w);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), n);
	assert_int_equal(atomic_load(&w.layout->shard[0].awake), 0);
	return s;
}

static bool deferred(void)
{
	return atomic_load(&w.layout->info[0].deferred);
}

static void publish_some(struct simple *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(client_try(s->c, s->p, NO_TOKEN), 0);
	world_settle(&w);
}

TEST(a_busy_bridge_gets_queued_messages_in_one_packet)
{
	struct simple s = busy_world(16, 0);
	unsigned packets;

	assert_true(deferred());
	for (unsigned i = 0; i < 20; i++)
		publish_some(&s, 1); /* rings no bell */
	assert_int_equal(bridge_read(s.b), 0);
	packets = s.b->packets;
	bridge_answer_all(s.b, 0, 0);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 20);
	assert_int_equal(s.b->packets, packets + 1);
	assert_true(deferred());
	bridge_answer_all(s.b, 0, 0);
	world_settle(&w);
	assert_false(deferred());
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	publish_some(&s, 1);
	assert_int_equal(bridge_read(s.b), 1);
	world_destroy(&w);
}

TEST(a_feed_is_checked_at_short_intervals)
{
	struct simple s = busy_world(16, 0);

	publish_some(&s, 3);
	world_run(&w, 1 * MS - 1);
	assert_int_equal(bridge_read(s.b), 0);
	world_run(&w, 1);
	assert_int_equal(bridge_read(s.b), 3);
	assert_false(deferred()); /* a bridge that has not answered for so long is not fast */
	publish_some(&s, 1);
	assert_int_equal(bridge_read(s.b), 1);
	world_destroy(&w);
}

/* The bridge answers all the time, but never runs out of work. */
TEST(a_feed_is_checked_between_answers)
{
	struct simple s = busy_world(30, 0);

	publish_some(&s, 3);
	for (unsigned i = 0; i < 9; i++) {
		world_run(&w, MS / 10);
		bridge_answer(s.b, 0, 0);
		world_settle(&w);
		assert_int_equal(bridge_read(s.b), 0);
	}
	world_run(&w, MS / 10);
	assert_int_equal(bridge_read(s.b), 3);
	assert_true(deferred());
	publish_some(&s, 2);
	world_run(&w, 1 * MS);
	assert_int_equal(bridge_read(s.b), 2);
	world_destroy(&w);
}

TEST(a_slow_or_idle_bridge_gets_each_message_at_once)
{
	struct simple s = busy_world(16, 11);

	assert_false(deferred());
	publish_some(&s, 1);
	assert_int_equal(bridge_read(s.b), 1);
	world_destroy(&w);
	s = busy_world(15, 0);
	assert_false(deferred());
	publish_some(&s, 1);
	assert_int_equal(bridge_read(s.b), 1);
	assert_true(deferred());
	world_destroy(&w);
}

TEST(another_bridge_of_the_channel_gets_each_message_at_once)
{
	struct simple s;
	struct test_bridge *idle;

	s = busy_world(16, 0);
	world_bridge(&w, 1, 0);
	world_route(&w, 0, 1);
	idle = bridge_attach(&w, 1);
	world_settle(&w);
	assert_false(deferred());
	publish_some(&s, 1);
	assert_int_equal(bridge_read(idle), 1);
	world_destroy(&w);
}

TEST(a_deferred_feed_is_emptied_when_something_waits_for_it)
{
	struct simple s = busy_world(16, 0);
	struct test_pub *p = client_advertise_only(s.c, 0);

	world_settle(&w);
	assert_true(deferred());
	publish_some(&s, 3);
	client_unadvertise(s.c, p);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 3);
	assert_false(deferred());
	publish_some(&s, 2);
	assert_true(deferred());
	assert_int_equal(bridge_read(s.b), 0);
	bridge_dies(s.b);
	world_settle(&w);
	assert_false(deferred());
	client_read(s.c);
	assert_int_equal(client_count(s.c, s.p, s.p->sequence), 1);
	world_destroy(&w);
}

TEST(a_new_channel_is_not_deferred)
{
	world_create(&w, 1, 0);
	atomic_store(&w.layout->info[0].deferred, 1); /* set by the channel that had this number before */
	world_channel(&w, 0, 64, false);
	assert_false(deferred());
	world_destroy(&w);
}

/* ---- bells ---- */

TEST(the_doorbell_is_heard_at_any_moment)
{
	struct simple s = simple_world(8);

	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(atomic_load(&w.layout->shard[0].awake),
				 0); /* asleep between turns: clients must ring */
		assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
		world_settle(&w);
		assert_int_equal(bridge_read(s.b), 1);
		bridge_answer_all(s.b, 0, 0);
		world_settle(&w);
	}
	world_destroy(&w);
}

static void called(void *arg)
{
	++*(int *)arg;
}

TEST(dispatch_is_quiet_without_claims_and_messages)
{
	struct simple s = simple_world(8);
	int n = 0, credit;

	assert_int_equal(dispatch_quiet(w.d, called, &n), 0);
	world_settle(&w);
	assert_int_equal(n, 1);
	credit = client_claim_credit(s.c, s.p); /* between claim and publish */
	assert_int_equal(dispatch_quiet(w.d, called, &n), 0);
	world_run(&w, 10 * MS);
	assert_int_equal(n, 1);
	assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_run(&w, 10 * MS);
	bridge_read(s.b);
	bridge_answer(s.b, 0, 0);
	world_run(&w, 10 * MS);
	assert_int_equal(n, 1);
	atomic_store(&w.page->channel[0].cell[credit - 1], 0);
	world_run(&w, 10 * MS);
	assert_int_equal(n, 2);
	world_destroy(&w);
}

TEST(held_messages_are_sent_by_stamp)
{
	struct simple s = simple_world(16);

	assert_int_equal(dispatch_hold(w.d, true), 0);
	world_settle(&w);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 0);
	assert_int_equal(dispatch_hold(w.d, false), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(s.b->held[i].sequence, 5 - i); /* world.c: later ones have earlier stamps */
	bridge_answer_all(s.b, 0, 0);
	world_settle(&w);
	assert_int_equal(client_read(s.c), 5);
	world_destroy(&w);
}

static void drained(void *arg)
{
	++*(unsigned *)arg;
}

/*
 * Messages published before the drain are sent before those published after it, whatever their stamps; a step waits for
 * both.
 */
TEST(a_drain_releases_held_messages_without_waiting)
{
	struct simple s = simple_world(16);
	unsigned drains = 0, steps = 0;

	assert_int_equal(dispatch_hold(w.d, true), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	assert_int_equal(dispatch_accepted_mono_ns(w.d), 0);
	assert_int_equal(dispatch_drain(w.d, drained, &drains), 0);
	world_settle(&w);
	assert_int_equal(drains, 1);
	assert_int_equal(dispatch_accepted_mono_ns(w.d), exec_now(w.x));
	assert_int_equal(bridge_read(s.b), 2); /* nothing is answered yet */
	assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 0); /* it goes on holding */
	assert_int_equal(dispatch_step(w.d, drained, &steps), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 1);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(s.b->held[i].sequence, i < 2 ? 2 - i : 3); /* later ones have earlier stamps */
	bridge_answer(s.b, 2, 0);
	world_settle(&w);
	assert_int_equal(steps, 0);
	bridge_answer_all(s.b, 0, 0);
	world_settle(&w);
	assert_int_equal(steps, 1);
	assert_int_equal(client_read(s.c), 3);
	world_destroy(&w);
}

TEST(a_deleted_publisher_still_gets_its_completions)
{
	struct simple s = simple_world(8);
	struct test_pub copy = *s.p;

	assert_int_equal(client_try(s.c, s.p, 5), 0);
	client_unadvertise(s.c, s.p);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 1);
	bridge_answer(s.b, 0, 0);
	world_settle(&w);
	client_expect(s.c, &copy, 1, SIM_REASON_NONE);
	assert_int_equal(dispatch_channel_del(w.d, 0), 0);
	world_settle(&w);
	assert_int_equal(w.n_channel_free, 1);
	assert_int_equal(w.n_sub_free, 1);
	world_channel(&w, 0, 4, false); /* the number is free again */
	world_route(&w, 0, 0);
	s.p = client_advertise(s.c, 0);
	s.b->knows = 0;
	assert_int_equal(client_try(s.c, s.p, 5), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 1); /* world.c: only after the channel was announced again */
	world_destroy(&w);
}

TEST(shutdown_answers_everything)
{
	struct simple s = simple_world(64);
	int first = 0, second = 0;

	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(s.b), 8);
	assert_int_equal(dispatch_shutdown(w.d, false, called, &first), 0);
	world_settle(&w);
	assert_int_equal(client_read(s.c), 22); /* queued ones, at once */
	assert_int_equal(first, 0);
	assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	world_settle(&w);
	client_expect(s.c, s.p, 31, SIM_REASON_SHUTDOWN);
	bridge_answer(s.b, 0, 0);
	world_settle(&w);
	client_expect(s.c, s.p, 1, SIM_REASON_NONE);
	assert_int_equal(dispatch_shutdown(w.d, true, called, &second), 0);
	world_settle(&w);
	assert_int_equal(first, 1);
	assert_int_equal(second, 1);
	for (uint64_t i = 2; i <= 31; i++)
		client_expect(s.c, s.p, i, SIM_REASON_SHUTDOWN);
	world_destroy(&w);
}

/*
 * The main thread destroys a dispatch whose exec has stopped: whatever work is in it, nothing leaks and no freed memory
 * is read.
 */
TEST(dispatch_can_be_destroyed_with_work_in_progress)
{
	struct simple s = simple_world(64);
	struct test_client *others[2] = { client_new(&w), client_new(&w) };

	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(client_try(s.c, s.p, i ? NO_TOKEN : 1), 0);
	client_advertise(others[0], 0);
	client_advertise(others[1], 0);
	world_settle(&w);
	bridge_read(s.b);
	bridge_answer(s.b, 0, 0);
	assert_int_equal(client_try(s.c, s.p, NO_TOKEN), 0);
	assert_int_equal(dispatch_quiet(w.d, called, NULL), 0);
	world_abort(&w);
}

static int prepare(void **state)
{
	(void)state;
	log_set_spec("error");
	return 0;
}

TEST_GROUP(prepare, NULL)
