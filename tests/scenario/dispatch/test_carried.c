/* SPDX-License-Identifier: Apache-2.0 */
/* Channels that a bridge refuses: they are taken off it, and completions count only the bridges that carry them. */
#include "scenario/dispatch/world.h"

#include <errno.h>

#include "log.h"

static struct world w;
static struct test_client *c;
static struct test_pub *p;
static struct test_bridge *a, *b; /* bridges 0 and 1 */

static void make(unsigned n_bridges, bool ordered)
{
	world_create(&w, test_seed(3), 0);
	world_channel(&w, 0, 8, ordered);
	for (uint32_t i = 0; i < n_bridges; i++) {
		world_bridge(&w, i, 0);
		world_route(&w, 0, i);
	}
	a = bridge_attach(&w, 0);
	b = n_bridges > 1 ? bridge_attach(&w, 1) : NULL;
	c = client_new(&w);
	p = client_advertise(c, 0);
}

static void publish(unsigned n)
{
	while (n--)
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
}

static void says(struct test_bridge *from, int result, const char *name, const char *type)
{
	bridge_says(from, 0, 0, result, name, type);
	world_settle(&w);
}

static uint32_t bridges_word(void)
{
	return atomic_load(&w.layout->info[0].bridges);
}

static void assert_adds_up(void)
{
	world_stats(&w);
	for (unsigned i = 0; i < w.stats.n_bridges; i++) {
		const struct dispatch_bridge_stats *s = &w.bridge_stats[i];

		assert_int_equal(s->attempted, s->sent + s->failed + s->dropped + s->queued + s->held);
	}
}

static void completes_true(unsigned n)
{
	uint64_t sent = p->sequence;

	for (unsigned i = 0; i < n; i++) {
		publish(1);
		assert_int_equal(bridge_read(a), 0);
		assert_int_equal(bridge_read(b), 1);
		bridge_answer(b, 0, 0);
		world_settle(&w);
		client_read(c);
		client_expect(c, p, sent + i + 1, SIM_REASON_NONE);
	}
}

TEST(the_other_bridges_decide_the_result)
{
	make(2, false);
	assert_int_equal(bridges_word(), 2 << 16 | 2);
	says(a, -EINVAL, "no name of ROS", "");
	assert_int_equal(bridges_word(), 1 << 16 | 1);
	assert_int_equal(w.n_carries, 1);
	assert_int_equal(w.carries_result, -EINVAL);
	assert_int_equal(w.carries_bridge, 0);
	assert_int_equal(w.carries_channel, 0);
	assert_string_equal(w.carries_name, "no name of ROS");
	assert_string_equal(w.carries_type, "");
	bridge_read(a); /* its definition */
	completes_true(100);
	assert_adds_up();
	assert_int_equal(w.bridge_stats[0].attempted, 0);
	assert_int_equal(w.bridge_stats[1].sent, 100);
	assert_int_equal(w.channel_stats[0].completed, 100);
	world_destroy(&w);
}

/* A message sent before the bridge had seen the definition is answered, and does not count as failed either. */
TEST(a_message_sent_before_the_channel_was_declined_is_no_failure)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		make(2, ordered);
		publish(4);
		bridge_read(b);
		while (b->n_held || bridge_read(b)) {
			bridge_answer_all(b, 0, 1);
			world_settle(&w);
		}
		bridge_read(a);
		says(a, -ENOTSUP, "no mapping", "");
		while (a->n_held || bridge_read(a)) {
			bridge_answer_all(a, LANE_NOT_CARRIED, 1);
			world_settle(&w);
		}
		client_read(c);
		for (uint64_t i = 1; i <= 4; i++)
			client_expect(c, p, i, SIM_REASON_NONE);
		assert_adds_up();
		assert_int_equal(w.bridge_stats[0].attempted, 0);
		world_destroy(&w);
	}
}

TEST(a_channel_declined_by_its_only_bridge_has_no_bridge)
{
	make(1, false);
	publish(2);
	assert_int_equal(bridge_read(a), 2);
	says(a, -EINVAL, "no", "");
	bridge_answer_all(a, LANE_NOT_CARRIED, 1);
	world_settle(&w);
	publish(1);
	assert_int_equal(bridge_read(a), 0);
	client_read(c);
	for (uint64_t i = 1; i <= 3; i++)
		client_expect(c, p, i, SIM_REASON_NO_BRIDGE);
	assert_int_equal(bridges_word(), 0);
	assert_adds_up();
	assert_int_equal(w.channel_stats[0].failed[SIM_REASON_NO_BRIDGE], 3);
	world_destroy(&w);
}

/* A failure of another bridge still counts as a failure. */
TEST(a_failure_of_another_bridge_counts)
{
	make(2, false);
	publish(2);
	bridge_read(a);
	bridge_read(b);
	bridge_answer(a, 0, LANE_NOT_CARRIED);
	bridge_answer(b, 0, -EIO);
	bridge_answer(b, 0, -EIO);
	bridge_answer(a, 0, LANE_NOT_CARRIED);
	world_settle(&w);
	client_read(c);
	client_expect(c, p, 1, SIM_REASON_FAILED);
	client_expect(c, p, 2, SIM_REASON_FAILED);
	world_destroy(&w);
}

TEST(a_declined_channel_can_be_accepted_again)
{
	make(2, false);
	says(a, -EINVAL, "not now", "");
	bridge_read(a);
	completes_true(3);
	says(a, 0, "/x/n0", "demo/msg/T");
	assert_int_equal(w.carries_result, 0);
	assert_string_equal(w.carries_name, "/x/n0");
	assert_string_equal(w.carries_type, "demo/msg/T");
	assert_int_equal(bridges_word(), 2 << 16 | 2);
	publish(1);
	assert_int_equal(bridge_read(a), 1);
	assert_int_equal(bridge_read(b), 1);
	bridge_answer(a, 0, 0);
	bridge_answer(b, 0, 0);
	world_settle(&w);
	client_read(c);
	client_expect(c, p, 4, SIM_REASON_NONE);
	world_destroy(&w);
}

TEST(another_process_of_the_bridge_is_asked_again)
{
	make(2, false);
	says(a, -EINVAL, "never", "");
	assert_int_equal(w.n_forgot, 2); /* one for each bridge, when it attached */
	bridge_dies(a);
	world_settle(&w);
	completes_true(1);
	a = bridge_attach(&w, 0);
	assert_int_equal(w.n_forgot, 3);
	assert_int_equal(bridges_word(), 2 << 16 | 2);
	assert_int_equal(bridge_read(a), 0);
	assert_int_equal(a->knows, 1); /* the definition came with the connection, before any message */
	world_destroy(&w);
}

TEST(a_bridge_is_asked_for_its_channels_once_it_is_connected)
{
	make(1, false);
	bridge_read(a);
	assert_int_equal(a->knows, 1);
	world_channel(&w, 1, 4, false);
	world_route(&w, 1, 0);
	bridge_read(a);
	assert_int_equal(a->knows, 3);
	bridge_dies(a);
	world_settle(&w);
	a = bridge_attach_quiet(&w, 0);
	bridge_read(a);
	assert_int_equal(a->knows, 0);
	bridge_status(a, SIM_BRIDGE_CONNECTED);
	world_settle(&w);
	bridge_read(a);
	assert_int_equal(a->knows, 3);
	world_destroy(&w);
}

TEST(malformed_channel_reports_are_contained)
{
	static const struct {
		uint32_t channel, name_len;
		int result;
	} bad[] = { { WIRE_CHANNELS_MAX, 1, 0 }, { 0, 2, 0 }, { 0, 1, 1 } };

	make(1, false);
	says(a, -EINVAL, "a\nb\xff", ""); /* printed for people, and so escaped */
	assert_string_equal(w.carries_name, "a\\nb\\xff");
	bridge_says(a, 0, 7, 0, "/nobody", "no/Type"); /* the channel may have been deleted meanwhile */
	world_settle(&w);
	assert_int_equal(w.n_carries, 1);
	for (unsigned i = 0; i < 3; i++) {
		struct {
			struct lane_head head;
			struct lane_carries rec;
			char text[4];
		} packet = { .head = { LANE_CARRIES, 1, sizeof(packet.rec) + 1 },
			     .rec = { bad[i].channel, bad[i].result, bad[i].name_len, 0 } };

		bridge_send_raw(a, 0, &packet, sizeof(packet.head) + packet.head.length);
		world_settle(&w);
		assert_int_equal(w.n_broken, i + 1);
		bridge_dies(a);
		world_settle(&w);
		a = bridge_attach(&w, 0);
	}
	world_destroy(&w);
}

/* A bridge that changes its answer without end does not flood the main thread; the last answer is reported. */
TEST(a_flood_of_channel_reports_is_contained)
{
	unsigned before;

	make(1, false);
	for (unsigned i = 0; i < 4 * WIRE_CHANNELS_MAX; i++)
		says(a, i & 1 ? -EINVAL : 0, "x", "y");
	assert_int_equal(w.n_carries, 2 * WIRE_CHANNELS_MAX);
	says(a, 0, "the last", "word");
	world_run(&w, S);
	assert_string_equal(w.carries_name, "the last");
	before = w.n_carries;
	says(a, 0, "the last", "word");
	assert_int_equal(w.n_carries, before); /* nothing new */
	world_destroy(&w);
}

static int prepare(void **state)
{
	(void)state;
	log_set_spec("error"); /* the provoked warnings are expected */
	return 0;
}

TEST_GROUP(prepare, NULL)
