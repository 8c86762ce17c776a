/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace without simd: when a message was published in simulated time, the messages between two answers, the list of
 * stages, spans as text.
 */
#include "support/test.h"

#include <errno.h>

#include "simctl/simctl.h"
#include "simctl/trace_model.h"
#include "timeutil.h"

#define MS NS_PER_MS

static struct sim_slot message(int64_t stamp_sim_ns, int64_t publish_mono_ns)
{
	return (struct sim_slot){ .stamp_sim_ns = stamp_sim_ns,
				  .publish_mono_ns = publish_mono_ns,
				  .clock_generation = 3 };
}

static struct sim_clock_sample clock_at(int64_t sim_ns, int64_t mono_ns, double rate)
{
	return (struct sim_clock_sample){
		.sim_ns = sim_ns, .mono_ns = mono_ns, .rate_e6 = (int64_t)(rate * 1e6), .clock_generation = 3
	};
}

TEST(a_running_clock_is_traced_back)
{
	struct sim_slot m = message(0, 1000 * MS);
	struct sim_clock_sample now = clock_at(500 * MS, 1010 * MS, 2);
	int64_t at;

	assert_int_equal(trace_published(&m, &now, &at), 0);
	assert_int_equal(at, 480 * MS);
}

/* Driven, or in a pause: known as long as it has stood since before the message. */
TEST(a_paused_clock_is_known_until_it_moves)
{
	struct sim_slot m = message(0, 1000 * MS);
	struct sim_clock_sample now = clock_at(500 * MS, 990 * MS, 0);
	int64_t at = -1;

	assert_int_equal(trace_published(&m, &now, &at), 0);
	assert_int_equal(at, 500 * MS);
	now.mono_ns = 1001 * MS;
	assert_int_equal(trace_published(&m, &now, &at), -ERANGE);
}

TEST(publish_times_of_another_clock_are_unknown)
{
	struct sim_slot m = message(0, 1000 * MS);
	struct sim_clock_sample now = clock_at(500 * MS, 1010 * MS, 1);
	int64_t at;

	now.clock_generation = 4;
	assert_int_equal(trace_published(&m, &now, &at), -ERANGE);
	now = clock_at(500 * MS, 1010 * MS, 1);
	now.flags = SIM_CLOCK_STALE;
	assert_int_equal(trace_published(&m, &now, &at), -ERANGE);
	now = clock_at(500 * MS, 1010 * MS, 1);
	m.flags = SIM_SLOT_CLOCK_STALE;
	assert_int_equal(trace_published(&m, &now, &at), -ERANGE);
}

TEST(a_message_counts_for_both_clocks)
{
	static struct trace_window w;
	struct sim_slot m = message(470 * MS, 1000 * MS);
	struct sim_clock_sample now = clock_at(500 * MS, 1010 * MS, 2);

	trace_add(&w, &m, &now, 1012 * MS);
	assert_int_equal(w.messages, 1);
	assert_int_equal(histogram_quantile(&w.capture, 500000), 10 * MS);
	assert_int_equal(histogram_quantile(&w.receive, 500000), 12 * MS);
	now.clock_generation = 4; /* received all the same */
	trace_add(&w, &m, &now, 1012 * MS);
	assert_int_equal(w.messages, 2);
	assert_int_equal(w.capture.total, 1);
	assert_int_equal(w.receive.total, 2);
}

/* ---- of simd ---- */

static json_t *durations(const struct histogram *h)
{
	json_t *up_to = json_array(), *counts = json_array();

	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++)
		if (histogram_count(h, b)) {
			json_array_append_new(up_to, json_integer(histogram_bucket_end(b)));
			json_array_append_new(counts, json_integer((json_int_t)histogram_count(h, b)));
		}
	return json_pack("{s:I, s:o, s:o}", "max", (json_int_t)histogram_quantile(h, 1000000), "up_to", up_to, "counts",
			 counts);
}

TEST(the_difference_of_two_answers_is_the_window)
{
	struct histogram all = { 0 }, got;
	json_t *before, *now;

	histogram_add_many(&all, 50 * MS, 100);
	before = durations(&all);
	histogram_add_many(&all, 2 * MS, 9);
	histogram_add_many(&all, 7 * MS, 1);
	now = durations(&all);
	trace_between(before, now, &got);
	assert_int_equal(got.total, 10);
	assert_in_range(histogram_quantile(&got, 500000), 2 * MS, 2 * MS + MS / 4);
	assert_in_range(histogram_quantile(&got, 1000000), 7 * MS, 8 * MS);
	trace_between(NULL, now, &got);
	assert_int_equal(got.total, 110);
	assert_int_equal(histogram_quantile(&got, 1000000), 50 * MS); /* never above what there was */
	trace_between(now, before, &got);                             /* counted from the beginning again */
	assert_int_equal(got.total, 100);
	trace_between(now, now, &got);
	assert_int_equal(got.total, 0);
	trace_between(NULL, NULL, &got);
	assert_int_equal(got.total, 0);
	json_decref(before);
	json_decref(now);
}

static json_t *stages_of(int64_t take, int64_t lane, int64_t answer, const char *bridge)
{
	struct histogram h[3] = { 0 };

	histogram_add(&h[0], take);
	histogram_add(&h[1], lane);
	histogram_add(&h[2], answer);
	return json_pack("{s:o, s:[{s:s, s:o, s:o}]}", "take_ns", durations(&h[0]), "bridges", "bridge", bridge,
			 "lane_ns", durations(&h[1]), "answer_ns", durations(&h[2]));
}

static void stage_is(const json_t *list, size_t i, const char *stage, const char *bridge, int64_t count, int64_t max)
{
	const json_t *o = json_array_get(list, i);

	assert_string_equal(json_text(o, "stage"), stage);
	assert_string_equal(json_text(o, "bridge"), bridge);
	assert_int_equal(json_num(o, "count"), count);
	if (count)
		assert_int_equal(json_num(o, "max"), max);
	else
		assert_true(json_is_null(json_object_get(o, "max")));
}

TEST(stages_are_listed_in_the_order_of_the_path)
{
	static struct trace_window w;
	json_t *now = stages_of(10, 20, 30 * MS, "ros2"), *list = trace_stages(&w, NULL, now);

	assert_int_equal(json_array_size(list), 5);
	stage_is(list, 0, "capture-publish", "", 0, 0);
	assert_string_equal(json_text(json_array_get(list, 0), "clock"), "simulated");
	stage_is(list, 1, "publish-take", "", 1, 10);
	stage_is(list, 2, "take-lane", "ros2", 1, 20);
	stage_is(list, 3, "take-answer", "ros2", 1, 30 * MS);
	stage_is(list, 4, "publish-receive", "", 0, 0);
	assert_string_equal(json_text(json_array_get(list, 4), "clock"), "wall");
	json_decref(list);
	list = trace_stages(&w, now, now);
	stage_is(list, 3, "take-answer", "ros2", 0, 0);
	json_decref(list);
	list = trace_stages(&w, NULL, NULL); /* only for subscribers here */
	assert_int_equal(json_array_size(list), 2);
	json_decref(list);
	json_decref(now);
}

/* A bridge that was not there before has all that is counted of it. */
TEST(a_new_bridge_starts_from_zero)
{
	static struct trace_window w;
	json_t *before = stages_of(1, 2, 3, "log"), *now = stages_of(1, 2, 3, "ros2"),
	       *list = trace_stages(&w, before, now);

	stage_is(list, 1, "publish-take", "", 0, 0);
	stage_is(list, 3, "take-answer", "ros2", 1, 3);
	json_decref(list);
	json_decref(before);
	json_decref(now);
}

static void reads(int64_t dur_ns, const char *text)
{
	char buf[TRACE_SPAN_MAX];

	assert_string_equal(trace_span(dur_ns, buf), text);
}

TEST(spans_are_readable)
{
	reads(0, "0 ns");
	reads(999, "999 ns");
	reads(1000, "1.00 us");
	reads(9994, "9.99 us");
	reads(9996, "10.0 us");
	reads(99960, "100 us");
	reads(4560000, "4.56 ms");
	reads(61 * NS_PER_S, "61.0 s");
}
