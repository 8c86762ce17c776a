/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of messages in each stage: measured only after a request, only for the requested channel, and between the
 * documented points.
 */
#include "scenario/dispatch/world.h"

#include <errno.h>

#include "histogram.h"
#include "log.h"
#include "support/usage.h"

static struct world w;
static struct test_client *c;
static struct test_pub *p, *other;
static struct test_bridge *a, *b; /* bridges 0 and 1 */
static struct dispatch_stages got;
static struct dispatch_bridge_stages bridges[WORLD_BRIDGES];
static unsigned answers;
static bool none;

static void make(void)
{
	world_create(&w, test_seed(2), 0);
	world_channel(&w, 0, 16, false);
	world_channel(&w, 1, 16, false);
	for (uint32_t i = 0; i < 2; i++) {
		world_bridge(&w, i, 0);
		world_route(&w, 0, i);
	}
	world_route(&w, 1, 0);
	a = bridge_attach(&w, 0);
	b = bridge_attach(&w, 1);
	c = client_new(&w);
	p = client_advertise(c, 0);
	other = client_advertise(c, 1);
}

static void copy(void *arg, const struct dispatch_stages *s)
{
	(void)arg;
	answers++;
	none = !s;
	if (!s)
		return;
	assert_true(s->n_bridges <= WORLD_BRIDGES);
	memcpy(&got, s, sizeof(got));
	memcpy(bridges, s->bridges, s->n_bridges * sizeof(bridges[0]));
}

static void ask(uint32_t channel)
{
	unsigned before = answers;

	assert_int_equal(dispatch_stages(w.d, channel, copy, NULL), 0);
	world_settle(&w);
	assert_int_equal(answers, before + 1);
}

/* Expects n messages, all within an eighth of dur_ns. */
static void all_took(const struct histogram *h, uint64_t n, int64_t dur_ns)
{
	struct histogram_summary s;

	histogram_summarise(h, &s);
	assert_int_equal(s.count, n);
	if (n && (s.p50_dur_ns < dur_ns || s.max_dur_ns > dur_ns + dur_ns / 8 + 1000))
		fail_msg("%lld to %lld ns, not %lld", (long long)s.p50_dur_ns, (long long)s.max_dur_ns,
			 (long long)dur_ns);
}

static void publish(struct test_pub *pub, unsigned n)
{
	while (n--)
		assert_int_equal(client_try(c, pub, NO_TOKEN), 0);
	world_settle(&w);
}

static void answer(struct test_bridge *bridge)
{
	bridge_read(bridge);
	bridge_answer_all(bridge, 0, 1);
	world_settle(&w);
	client_read(c);
}

TEST(each_bridge_has_its_own_time)
{
	make();
	ask(0);
	assert_int_equal(got.n_bridges, 2);
	publish(p, 3);
	world_run(&w, 2 * MS);
	answer(a);
	world_run(&w, 5 * MS);
	answer(b);
	ask(0);
	assert_int_equal(got.n_bridges, 2);
	all_took(&got.take, 3, 0);
	for (unsigned i = 0; i < 2; i++) {
		all_took(&bridges[i].lane, 3, 0);
		all_took(&bridges[i].answer, 3, bridges[i].id ? 7 * MS : 2 * MS);
	}
	world_destroy(&w);
}

/* A lane that is full lets the next ones wait in simd, until the first are answered. */
TEST(time_waiting_for_a_lane_and_time_in_the_bridge_are_separate)
{
	make();
	ask(0);
	publish(p, 9); /* eight have room at first */
	bridge_read(a);
	world_run(&w, 4 * MS);
	answer(b);
	answer(a);
	answer(a);
	ask(0);
	assert_int_equal(bridges[0].id, 0);
	assert_int_equal(bridges[0].lane.total, 9);
	assert_true(histogram_quantile(&bridges[0].lane, 800000) < MS);
	assert_true(histogram_quantile(&bridges[0].lane, 1000000) >= 4 * MS);
	world_destroy(&w);
}

/* Messages before the first request are not counted, nor those on their way at that moment, nor any other channel's. */
TEST(only_channels_that_were_asked_for_are_counted)
{
	make();
	publish(p, 2);
	publish(other, 2);
	ask(0);
	answer(a);
	answer(b);
	publish(other, 2);
	answer(a);
	ask(0);
	all_took(&got.take, 0, 0);
	all_took(&bridges[0].answer, 0, 0);
	ask(1);
	all_took(&got.take, 0, 0);
	publish(p, 1);
	answer(a);
	answer(b);
	ask(0);
	assert_int_equal(got.take.total, 1);
	assert_int_equal(bridges[0].answer.total, 1);
	assert_int_equal(bridges[1].answer.total, 1);
	ask(1);
	all_took(&got.take, 0, 0);
	assert_int_equal(got.n_bridges, 1);
	world_destroy(&w);
}

TEST(a_bridge_added_later_is_counted_from_the_next_query_on)
{
	make();
	ask(1);
	world_route(&w, 1, 1);
	world_settle(&w);
	publish(other, 1);
	answer(a);
	answer(b);
	ask(1);
	assert_int_equal(got.n_bridges, 2);
	publish(other, 1);
	answer(a);
	answer(b);
	ask(1);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(bridges[i].answer.total, bridges[i].id ? 1 : 2);
	world_destroy(&w);
}

/* The publisher itself writes when it published: a time in the future, or no time at all, is not counted. */
TEST(an_impossible_publish_time_is_not_counted)
{
	static const int64_t lies[] = { INT64_MIN, -1, INT64_MAX };
	unsigned true_ones = 1;

	make();
	ask(0);
	publish(p, true_ones);
	for (unsigned i = 0; i < 3; i++) {
		struct sim_slot *s;
		int credit = client_claim_credit(c, p);

		assert_true(credit > 0);
		s = client_loan(c, p);
		s->credit_cell = (uint32_t)credit;
		s->publish_mono_ns = lies[i];
		client_publish(c, p, s);
		client_mark(c, 0);
		client_ring(c);
		world_settle(&w);
	}
	answer(a);
	answer(b);
	ask(0);
	assert_int_equal(got.take.total, true_ones);
	assert_int_equal(bridges[0].answer.total, true_ones + 3);
	world_destroy(&w);
}

TEST(an_unknown_channel_has_no_stages)
{
	make();
	ask(5);
	assert_true(none);
	assert_int_equal(dispatch_stages(w.d, WIRE_CHANNELS_MAX, copy, NULL), -EINVAL);
	assert_int_equal(dispatch_stages(w.d, 0, NULL, NULL), -EINVAL);
	world_destroy(&w);
}

/* While messages flow nothing is allocated, with stages and without. */
TEST(counting_allocates_nothing)
{
	struct mem_stats before, after;

	make();
	ask(0);
	publish(p, 1);
	answer(a);
	answer(b);
	mem_stats(&before);
	for (int i = 0; i < 50; i++) {
		publish(p, 2);
		answer(a);
		answer(b);
	}
	mem_stats(&after);
	assert_int_equal(after.calls, before.calls);
	world_destroy(&w);
}

static int prepare(void **state)
{
	(void)state;
	log_set_spec("error");
	return 0;
}

TEST_GROUP(prepare, NULL)
