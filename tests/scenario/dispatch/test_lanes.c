/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a bridge: which channel is on which, in order or not, and how lanes come and go. */
#include "scenario/dispatch/bridges.h"

#include <unistd.h>

#include "support/usage.h"

/* ---- order ---- */

/* Order of a channel: all that the bridge has is on one lane at a time, and newer than all that it had before. */
struct in_order {
	uint32_t channel;
	uint64_t newest;
	unsigned n, lanes; /* deliveries; bits of the lanes that it was on */
};

static void check_order(struct in_order *o)
{
	int lane = -1;

	for (unsigned i = 0; i < a->n_held; i++) {
		if (a->held[i].channel != o->channel)
			continue;
		assert_true(lane < 0 || a->held[i].lane == lane);
		lane = a->held[i].lane;
		assert_true(a->held[i].sequence > o->newest); /* some wait beyond their deadline */
		o->newest = a->held[i].sequence;
		o->lanes |= 1u << lane;
		o->n++;
	}
}

static unsigned bits(unsigned of)
{
	return (unsigned)__builtin_popcount(of);
}

/* Publishes each[i] messages a round on ordered channel i; each message takes 20 ms. */
static void work_in_order(struct in_order *o, unsigned channels, const unsigned *each, unsigned rounds)
{
	struct test_pub *pubs[WORLD_CHANNELS] = { p };

	for (uint32_t ch = 1; ch < channels; ch++) {
		world_channel(&w, ch, 64, true);
		world_route(&w, ch, 0);
		pubs[ch] = client_advertise(c, ch);
	}
	for (unsigned ch = 0; ch < channels; ch++)
		o[ch] = (struct in_order){ .channel = ch };
	while (rounds--) {
		for (unsigned ch = 0; ch < channels; ch++)
			for (unsigned i = 0; i < each[ch]; i++)
				(void)!client_try(c, pubs[ch], NO_TOKEN);
		world_run(&w, 20 * MS);
		bridge_read(a);
		for (unsigned ch = 0; ch < channels; ch++)
			check_order(&o[ch]);
		bridge_answer_all(a, 0, 20000);
		world_settle(&w);
		client_read(c);
		c->n_done = 0;
	}
}

/* Several go out at once, and no lane is opened that would have nothing to do. */
TEST(an_ordered_channel_stays_on_one_lane)
{
	const unsigned each[] = { 12 };
	struct in_order o[1];

	make(64, true, 1, 0, 4);
	publish(5);
	assert_int_equal(bridge_read(a), 5);
	bridge_answer_all(a, 0, 1);
	world_settle(&w);
	work_in_order(o, 1, each, 100);
	assert_true(o[0].n >= 200);
	assert_int_equal(a->n_lanes, 1);
	world_destroy(&w);
}

/* Several ordered channels share the lanes: a channel on a shared lane moves to an idle one. */
TEST(ordered_channels_share_the_lanes)
{
	const unsigned each[] = { 12, 12, 12, 1 };
	struct in_order o[4];
	unsigned all = 0;

	make(64, true, 1, 0, 3);
	work_in_order(o, 4, each, 300);
	assert_int_equal(a->n_lanes, 3);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(o[i].n >= 50);
		all |= o[i].lanes;
	}
	assert_int_equal(bits(all), 3);
	world_destroy(&w);
}

/* A fast lane always has messages of each channel; the channels move nevertheless. */
TEST(a_channel_moves_to_a_lane_without_work)
{
	struct test_pub *other;
	unsigned on[WORLD_LANES] = { 0 };

	make(128, true, 1, 0, 2);
	world_channel(&w, 1, 128, true);
	world_route(&w, 1, 0);
	other = client_advertise(c, 1);
	for (unsigned round = 0; round < 3000; round++) {
		for (bool more = true; more;) {
			more = client_try(c, p, NO_TOKEN) == 0;
			world_settle(&w); /* else all of one channel is taken before the other */
			more |= client_try(c, other, NO_TOKEN) == 0;
			world_settle(&w);
		}
		world_run(&w, 1 * MS);
		bridge_read(a);
		for (unsigned i = 0; i < 4 && a->n_held; i++) {
			on[a->held[0].lane]++;
			/* fast enough for 20 on a lane, slow enough for another lane */
			bridge_answer_in(a, 0, 0, 120);
		}
		world_settle(&w);
		client_read(c);
		c->n_done = 0;
	}
	assert_int_equal(a->n_lanes, 2);
	assert_true(on[0] > 1000 && on[1] > 1000);
	world_destroy(&w);
}

/*
 * A bridge that answers late may have published long before, and replace old messages by new ones: it gets the new
 * ones.
 */
TEST(messages_that_have_no_other_lane_are_not_held_back)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		make(16, ordered, 1, 0, 0);
		publish(1);
		assert_int_equal(bridge_read(a), 1);
		bridge_answer_in(a, 0, 0, 126000);
		world_settle(&w);
		publish(10);
		assert_int_equal(bridge_read(a), ordered ? 8 : 2);
		world_destroy(&w);
	}
}

/* A lane is full of unanswered messages, and stays so: the channels that fill it leave room for the others. */
TEST(a_full_lane_has_room_for_each_channel)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		struct test_pub *other;
		unsigned of_other = 0;

		make(16, true, 1, 0, 0);
		world_channel(&w, 1, 16, ordered);
		world_route(&w, 1, 0);
		other = client_advertise(c, 1);
		publish(1);
		assert_int_equal(bridge_read(a), 1);
		bridge_answer_in(a, 0, 0, 20000);
		world_settle(&w);
		for (unsigned round = 0; round < 100; round++) {
			while (client_try(c, p, NO_TOKEN) == 0)
				;
			world_settle(&w); /* all the room there is, before the other */
			(void)!client_try(c, other, NO_TOKEN);
			world_settle(&w);
			bridge_read(a);
			of_other += a->held[0].channel == 1;
			bridge_answer_in(a, 0, 0, 20000);
			world_settle(&w);
			client_read(c);
			c->n_done = 0;
		}
		assert_true(of_other >= 10);
		world_destroy(&w);
	}
}

/* Messages without an order go wherever there is room. */
TEST(a_channel_without_order_uses_all_lanes)
{
	unsigned lanes = 0;

	make(64, false, 1, 0, 3);
	for (unsigned round = 0; round < 40; round++) {
		while (client_try(c, p, NO_TOKEN) == 0)
			;
		world_run(&w, 20 * MS);
		bridge_read(a);
		for (unsigned i = 0; i < a->n_held; i++)
			lanes |= 1u << a->held[i].lane;
		bridge_answer_all(a, 0, 20000);
		world_settle(&w);
		client_read(c);
	}
	assert_int_equal(bits(lanes), 3);
	world_destroy(&w);
}

/* A lane is lost with its outstanding messages: its channel continues on another lane. */
TEST(a_channel_continues_when_its_lane_is_lost)
{
	const unsigned each[] = { 12, 12 };
	struct in_order o[2];
	struct test_pub *other;

	make(64, true, 1, 0, 2);
	work_in_order(o, 2, each, 100);
	assert_int_equal(a->n_lanes, 2);
	while (a->n_held || bridge_read(a)) {
		bridge_answer_all(a, 0, 20000);
		world_settle(&w);
	}
	client_read(c);
	other = &c->pubs[1];
	publish(1);
	assert_int_equal(client_try(c, other, NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(a), 2);
	assert_int_equal(a->held[1].lane, 1);
	close(a->lanes[1]);
	a->lanes[1] = -1;
	world_settle(&w);
	bridge_answer(a, 0, 0);
	assert_int_equal(client_try(c, other, NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(a), 1);
	assert_int_equal(a->held[1].lane, 0);
	bridge_dies(a);
	world_settle(&w);
	client_read(c);
	world_destroy(&w);
}

TEST(order_survives_deadlines_and_death)
{
	make(16, true, 1, 0, 0);
	publish(3);
	world_run(&w, 1100 * MS);
	assert_int_equal(client_read(c), 3);
	publish(2);
	assert_int_equal(bridge_read(a), 5); /* the late ones too: they were not answered */
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(a->held[i].sequence, i + 1);
	bridge_dies(a);
	world_settle(&w);
	client_expect(c, p, 4, SIM_REASON_BRIDGE_DIED);
	client_expect(c, p, 5, SIM_REASON_BRIDGE_DIED);
	a = bridge_attach(&w, 0);
	publish(1);
	assert_int_equal(bridge_read(a), 1);
	assert_int_equal(a->held[0].sequence, 6);
	world_destroy(&w);
}

/* ---- lanes ---- */

/* Each message takes 20 ms, and there is always a window of them. */
static void work_under_backlog(unsigned rounds)
{
	while (rounds--) {
		while (client_try(c, p, NO_TOKEN) == 0)
			;
		world_run(&w, 20 * MS);
		bridge_read(a);
		for (int lane = 0; lane < a->n_lanes; lane++)
			for (unsigned i = 0; i < a->n_held; i++)
				if (a->held[i].lane == lane) {
					struct {
						struct lane_head h;
						struct lane_done r;
					} done = { { LANE_DONE, 1, sizeof(struct lane_done) },
						   { a->held[i].delivery, 0, 20000 } };

					bridge_send_raw(a, lane, &done, sizeof(done));
					memmove(&a->held[i], &a->held[i + 1], (a->n_held - i - 1) * sizeof(a->held[0]));
					a->n_held--;
					break;
				}
		world_settle(&w);
		client_read(c);
	}
}

/* With more queued than a cycle clears, lanes open one by one, up to the limit. */
TEST(lanes_grow_with_the_backlog_and_fall_away)
{
	make(64, false, 1, 0, 3);
	work_under_backlog(40);
	assert_int_equal(a->n_lanes, 3);
	world_stats(&w);
	assert_int_equal(w.bridge_stats[0].lanes, 3);
	while (bridge_read(a) + a->n_held)
		bridge_answer_all(a, 0, 20000), world_settle(&w);
	world_run(&w, 4 * S);
	bridge_read(a);
	assert_false(a->closing[2]);
	world_run(&w, 3 * S);
	bridge_read(a);
	assert_true(a->closing[2] && a->closing[1]);
	assert_false(a->closing[0]);
	world_stats(&w);
	assert_int_equal(w.bridge_stats[0].lanes, 1);
	publish(1);
	assert_int_equal(bridge_read(a), 1);
	assert_int_equal(a->held[0].lane, 0);
	world_destroy(&w);
}

/*
 * Each bridge has at least one lane: when another bridge attaches, an extra lane of the first one closes as soon as its
 * messages are answered.
 */
TEST(an_extra_lane_closes_when_another_bridge_attaches)
{
	make(64, false, 1, 0, 3);
	work_under_backlog(40);
	assert_int_equal(a->n_lanes, 3);
	world_bridge(&w, 1, 0);
	b = bridge_attach(&w, 1);
	assert_int_equal(atomic_load(&w.lanes), 4);
	work_under_backlog(60); /* the world never settles */
	world_stats(&w);
	assert_int_equal(w.bridge_stats[0].lanes + w.bridge_stats[1].lanes, 3);
	assert_int_equal(atomic_load(&w.lanes), 3);
	world_destroy(&w);
}

/* Two lanes open and close each time and leave nothing in simd, even if the bridge does not close them. */
TEST(lanes_opened_and_closed_leave_nothing)
{
	struct mem_stats before, now;
	long fds = 0;

	make(64, false, 1, 0, 3);
	for (unsigned i = 0; i < 2500; i++) {
		if (i == 1) {
			fds = usage_entries("/proc/self/fd");
			mem_stats(&before);
		}
		for (unsigned n = 0; a->n_lanes < 3 || a->lanes[1] < 0 || a->lanes[2] < 0; n++) {
			assert_true(n < 40);
			work_under_backlog(1);
		}
		while (bridge_read(a) + a->n_held)
			bridge_answer_all(a, 0, 20000), world_settle(&w);
		client_read(c);
		c->n_done = 0;
		world_run(&w, 7 * S);
		bridge_read(a);
		assert_true(a->lanes[1] < 0 && a->lanes[2] < 0);
		assert_int_equal(atomic_load(&w.lanes), 1);
	}
	mem_stats(&now);
	assert_int_equal(usage_entries("/proc/self/fd"), fds);
	assert_int_equal(now.blocks, before.blocks);
	world_destroy(&w);
}

/* The limit is one for all shards: those of the others are unavailable here until they close. */
TEST(lanes_of_other_shards_count_towards_the_limit)
{
	make(64, false, 1, 0, 3);
	assert_int_equal(atomic_load(&w.lanes), 1);
	atomic_fetch_add(&w.lanes, 2);
	work_under_backlog(20);
	assert_int_equal(a->n_lanes, 1);
	atomic_fetch_sub(&w.lanes, 1);
	work_under_backlog(20);
	assert_int_equal(a->n_lanes, 2);
	assert_int_equal(atomic_load(&w.lanes), 3);
	bridge_dies(a);
	world_settle(&w);
	assert_int_equal(atomic_load(&w.lanes), 1);
	world_destroy(&w);
}

/* A lane whose thread hangs holds only the messages that were sent to it. */
TEST(a_lost_lane_holds_only_its_own_messages)
{
	unsigned on_one = 0;

	make(64, false, 1, 0, 2);
	publish(10);
	bridge_read(a);
	bridge_answer_all(a, 0, 20000);
	world_run(&w, 20 * MS);
	bridge_read(a);
	bridge_answer_all(a, 0, 20000);
	publish(30);
	world_run(&w, 20 * MS);
	bridge_read(a);
	publish(1);
	world_run(&w, 20 * MS);
	bridge_read(a);
	assert_int_equal(a->n_lanes, 2);
	for (unsigned i = 0; i < a->n_held; i++)
		on_one += a->held[i].lane == 1;
	assert_true(on_one > 0);
	close(a->lanes[1]);
	a->lanes[1] = -1;
	world_settle(&w);
	assert_int_equal(w.n_broken, 0);
	for (unsigned i = 0; i < a->n_held; i++)
		if (a->held[i].lane == 1)
			a->held[i].lane = 0; /* any thread of the bridge may answer */
	while (bridge_read(a) + a->n_held)
		bridge_answer_all(a, 0, 100), world_settle(&w);
	client_read(c);
	for (uint64_t n = 1; n <= p->sequence; n++)
		client_expect(c, p, n, SIM_REASON_NONE);
	world_destroy(&w);
}

/* The bridge does not read: its socket fills up, simd waits for room, and no other bridge is affected. */
TEST(a_lane_that_is_not_read_blocks_no_other_bridge)
{
	unsigned sent = 0;

	make(64, false, 2, 4096, 0);
	for (unsigned round = 0; round < 400; round++) {
		if (client_try(c, p, NO_TOKEN) == 0)
			sent++;
		world_settle(&w);
		client_read(c);
		bridge_read(b);
		bridge_answer_all(b, 0, 1);
		world_settle(&w);
	}
	assert_int_equal(sent, 400);
	world_destroy(&w);
}

TEST_GROUP(prepare, NULL)
