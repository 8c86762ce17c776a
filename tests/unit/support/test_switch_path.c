/* SPDX-License-Identifier: Apache-2.0 */
/* One direction of the test network's switch, in virtual time. Thread: the test's. */
#include "support/test.h"

#include "err.h"
#include "mem.h"
#include "switch_path.h"
#include "timeutil.h"

#define FRAMES 20000

/* What came out of one run: when, and which. */
struct trace {
	unsigned n;
	struct {
		int64_t sent_ns, left_ns;
		unsigned number;
	} out[2 * FRAMES];
};

struct stamp {
	int64_t sent_ns;
	unsigned number;
	char rest[84];
};

static void drain(struct switch_path *p, int64_t until_ns, struct trace *t)
{
	const void *frame;
	struct stamp s;
	size_t len;

	while (switch_path_next(p) <= until_ns) {
		int64_t now = switch_path_next(p);

		while (switch_path_pop(p, now, &frame, &len)) {
			assert_true(len >= sizeof(s));
			memcpy(&s, frame, sizeof(s));
			assert_in_range(t->n, 0, 2 * FRAMES - 1);
			t->out[t->n].sent_ns = s.sent_ns;
			t->out[t->n].left_ns = now;
			t->out[t->n++].number = s.number;
		}
	}
}

/* Sends n frames of len bytes, one each gap_ns. */
static struct trace *run(uint64_t seed, const struct switch_rules *rules, unsigned n, size_t len, int64_t gap_ns,
			 struct switch_counts *ret)
{
	struct trace *t = MEM_NEW(struct trace);
	unsigned char frame[SWITCH_FRAME_MAX] = { 0 };
	struct switch_path *p;

	assert_non_null(t);
	assert_ok(switch_path_create(seed, &p));
	assert_ok(switch_path_set(p, rules));
	for (unsigned i = 0; i < n; i++) {
		struct stamp s = { .sent_ns = 1000 + i * gap_ns, .number = i };

		drain(p, s.sent_ns - 1, t);
		memcpy(frame, &s, sizeof(s));
		switch_path_push(p, s.sent_ns, frame, len);
	}
	drain(p, INT64_MAX - 1, t);
	*ret = *switch_path_counts(p);
	assert_int_equal(ret->in, n);
	assert_int_equal(ret->out, t->n);
	assert_int_equal(ret->out, ret->in - ret->lost - ret->over_rate - ret->over_frames + ret->duplicated);
	assert_int_equal(ret->late, 0);
	switch_path_destroy(p);
	return t;
}

TEST(without_rules_frames_pass_at_once_in_order)
{
	struct switch_rules none = { 0 };
	struct switch_counts c;
	struct trace *t = run(1, &none, 1000, 100, 10, &c);

	assert_int_equal(t->n, 1000);
	for (unsigned i = 0; i < t->n; i++) {
		assert_int_equal(t->out[i].number, i);
		assert_int_equal(t->out[i].left_ns, t->out[i].sent_ns);
	}
	mem_free(t);
}

TEST(the_loss_rate_matches_the_rule)
{
	static const double losses[] = { 0, 0.01, 0.05, 0.2, 0.5, 1 };

	for (unsigned i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct switch_rules r = { .loss = losses[i] };
		struct switch_counts c;

		mem_free(run(test_seed(2), &r, FRAMES, 100, 10, &c));
		/* five deviations of a binomial distribution, 0 where nothing is left to chance */
		assert_true(((double)c.lost - FRAMES * r.loss) * ((double)c.lost - FRAMES * r.loss) <=
			    25 * FRAMES * r.loss * (1 - r.loss));
	}
}

TEST(delay_and_jitter_stay_within_their_bounds_and_keep_the_order)
{
	struct switch_rules r = { .delay_dur_ns = 5000, .jitter_dur_ns = 1000 };
	struct switch_counts c;
	struct trace *t = run(test_seed(3), &r, FRAMES, 100, 400, &c);
	int64_t least = INT64_MAX, most = 0;

	assert_int_equal(t->n, FRAMES);
	for (unsigned i = 0; i < t->n; i++) {
		int64_t took = t->out[i].left_ns - t->out[i].sent_ns;

		assert_int_equal(t->out[i].number, i);
		assert_in_range(took, 5000, 6000);
		least = took < least ? took : least;
		most = took > most ? took : most;
	}
	assert_in_range(least, 5000, 5100);
	assert_in_range(most, 5900, 6000);
	mem_free(t);
}

TEST(jitter_is_evenly_distributed)
{
	struct switch_rules r = { .jitter_dur_ns = 1000 };
	struct switch_counts c;
	struct trace *t = run(test_seed(4), &r, FRAMES, 100, 2000, &c); /* too far apart to wait for one another */
	int64_t sum = 0;

	for (unsigned i = 0; i < t->n; i++)
		sum += t->out[i].left_ns - t->out[i].sent_ns;
	assert_in_range(sum / FRAMES, 485, 515);
	mem_free(t);
}

TEST(only_reordered_frames_are_overtaken)
{
	struct switch_rules r = { .delay_dur_ns = 100, .reorder = 0.1, .hold_dur_ns = 250 };
	struct switch_counts c;
	struct trace *t = run(test_seed(5), &r, FRAMES, 100, 100, &c);
	unsigned behind = 0, furthest = 0;

	assert_int_equal(t->n, FRAMES);
	assert_in_range(c.held, FRAMES / 10 - 250, FRAMES / 10 + 250);
	for (unsigned i = 0; i < t->n; i++) {
		int64_t took = t->out[i].left_ns - t->out[i].sent_ns;

		assert_true(took == 100 || took == 350);
		behind += t->out[i].number < furthest;
		furthest = t->out[i].number > furthest ? t->out[i].number : furthest;
	}
	assert_int_equal(c.reordered, behind);
	assert_in_range(behind, c.held * 9 / 10, c.held); /* less where the two behind are held, too */
	mem_free(t);
}

TEST(a_duplicate_follows_its_frame)
{
	struct switch_rules r = { .delay_dur_ns = 50, .duplicate = 0.25 };
	struct switch_counts c;
	struct trace *t = run(test_seed(6), &r, FRAMES, 100, 10, &c);
	unsigned twice = 0;

	assert_in_range(c.duplicated, FRAMES / 4 - 310, FRAMES / 4 + 310);
	for (unsigned i = 1; i < t->n; i++) {
		assert_in_range(t->out[i].number - t->out[i - 1].number, 0, 1);
		twice += t->out[i].number == t->out[i - 1].number;
	}
	assert_int_equal(twice, c.duplicated);
	assert_int_equal(c.reordered, 0);
	mem_free(t);
}

TEST(no_interval_passes_more_bytes_than_rate_and_burst)
{
	/* sent at twice the rate: 1000 bytes each 500 us are 2 MB/s */
	struct switch_rules r = { .rate_bytes_s = 1000000, .burst_bytes = 5000, .backlog_dur_ns = 20 * NS_PER_MS };
	struct switch_counts c;
	struct trace *t = run(7, &r, 2000, 1000, 500 * NS_PER_US, &c);

	assert_int_equal(c.lost, 0);
	assert_in_range(c.over_rate, 960, 1000); /* half, less what the burst and the backlog take */
	for (unsigned i = 0; i < t->n; i++) {
		assert_in_range(t->out[i].left_ns - t->out[i].sent_ns, 0, r.backlog_dur_ns);
		for (unsigned j = i; j < t->n && j < i + 40; j++)
			assert_true((int64_t)(j - i + 1) * 1000 * NS_PER_S <=
				    r.burst_bytes * NS_PER_S +
					    (t->out[j].left_ns - t->out[i].left_ns) * r.rate_bytes_s);
	}
	mem_free(t);
}

TEST(a_rate_that_is_not_reached_delays_nothing)
{
	struct switch_rules r = { .rate_bytes_s = 1000000, .burst_bytes = 1514 };
	struct switch_counts c;
	struct trace *t = run(8, &r, 1000, 1000, NS_PER_MS, &c);

	assert_int_equal(t->n, 1000);
	for (unsigned i = 0; i < t->n; i++)
		assert_int_equal(t->out[i].left_ns, t->out[i].sent_ns);
	mem_free(t);
}

static const struct switch_rules everything = {
	.delay_dur_ns = 3000,
	.jitter_dur_ns = 2000,
	.loss = 0.1,
	.duplicate = 0.05,
	.reorder = 0.05,
	.hold_dur_ns = 4000,
	.rate_bytes_s = 40000000,
	.burst_bytes = 3000,
	.backlog_dur_ns = 50000,
};

TEST(the_same_seed_repeats_and_another_differs)
{
	struct switch_counts c[3];
	struct trace *a = run(9, &everything, FRAMES, 100, 1900, &c[0]);
	struct trace *b = run(9, &everything, FRAMES, 100, 1900, &c[1]);
	struct trace *other = run(10, &everything, FRAMES, 100, 1900, &c[2]);

	assert_true(c[0].lost && c[0].duplicated && c[0].reordered && c[0].over_rate);
	assert_memory_equal(a, b, sizeof(*a));
	assert_memory_equal(&c[0], &c[1], sizeof(c[0]));
	assert_memory_not_equal(a, other, sizeof(*a));
	mem_free(a);
	mem_free(b);
	mem_free(other);
}

/* Which of the frames came out at all. */
static void arrived(const struct trace *t, bool ret[FRAMES])
{
	memset(ret, 0, FRAMES * sizeof(*ret));
	for (unsigned i = 0; i < t->n; i++)
		ret[t->out[i].number] = true;
}

TEST(losses_do_not_depend_on_the_other_rules)
{
	static bool alone[FRAMES], among[FRAMES];
	struct switch_rules loss = { .loss = 0.1 }, all = everything;
	struct switch_counts c;
	struct trace *t;

	all.rate_bytes_s = 0;
	t = run(11, &loss, FRAMES, 100, 1900, &c);
	arrived(t, alone);
	mem_free(t);
	t = run(11, &all, FRAMES, 100, 1900, &c);
	arrived(t, among);
	mem_free(t);
	assert_memory_equal(alone, among, sizeof(alone));
}

TEST(new_rules_apply_from_the_next_frame_and_keep_the_order)
{
	struct switch_rules slow = { .delay_dur_ns = 1000 }, fast = { .delay_dur_ns = 10 };
	struct switch_path *p;
	const void *frame;
	size_t len;

	assert_ok(switch_path_create(1, &p));
	assert_ok(switch_path_set(p, &slow));
	switch_path_push(p, 0, "first", 6);
	assert_ok(switch_path_set(p, &fast));
	switch_path_push(p, 1, "second", 7);
	switch_path_push(p, 995, "third", 6);
	assert_false(switch_path_pop(p, 999, &frame, &len));
	assert_true(switch_path_pop(p, 1000, &frame, &len));
	assert_string_equal(frame, "first");
	assert_true(switch_path_pop(p, 1000, &frame, &len));
	assert_string_equal(frame, "second");
	assert_false(switch_path_pop(p, 1004, &frame, &len));
	assert_true(switch_path_pop(p, 1005 + SWITCH_LATE_DUR_NS + 1, &frame, &len));
	assert_string_equal(frame, "third");
	assert_int_equal(switch_path_counts(p)->late, 1);
	assert_int_equal(switch_path_next(p), INT64_MAX);
	switch_path_destroy(p);
}

TEST(waiting_frames_are_bounded)
{
	struct switch_rules r = { .delay_dur_ns = NS_PER_S };
	unsigned char big[SWITCH_FRAME_MAX + 1] = { 0 };
	struct switch_path *p;

	assert_ok(switch_path_create(1, &p));
	switch_path_push(p, 0, big, sizeof(big));
	assert_int_equal(switch_path_counts(p)->over_frames, 1);
	assert_ok(switch_path_set(p, &r));
	for (unsigned i = 0; i < SWITCH_FRAMES_MAX + 5; i++)
		switch_path_push(p, 0, "x", 2);
	assert_int_equal(switch_path_counts(p)->over_frames, 6);
	switch_path_destroy(p); /* with what waits */
}

TEST(an_allocation_failure_loses_a_frame)
{
	struct switch_path *p;
	const void *frame;
	size_t len;

	assert_ok(switch_path_create(1, &p));
	mem_fail_after(1);
	switch_path_push(p, 0, "x", 2);
	mem_fail_after(0);
	switch_path_push(p, 0, "y", 2);
	assert_int_equal(switch_path_counts(p)->over_frames, 1);
	assert_true(switch_path_pop(p, 0, &frame, &len));
	assert_string_equal(frame, "y");
	switch_path_destroy(p);
}

static void refused(const struct switch_rules *rules, const char *why)
{
	struct switch_path *p;

	assert_ok(switch_path_create(1, &p));
	assert_int_equal(switch_path_set(p, rules), -EINVAL);
	if (!strstr(err_why(), why))
		fail_msg("\"%s\" does not say \"%s\"", err_why(), why);
	switch_path_push(p, 5, "still without rules", 20);
	assert_int_equal(switch_path_next(p), 5);
	switch_path_destroy(p);
}

TEST(invalid_rules_are_refused_with_the_reason)
{
	refused(&(struct switch_rules){ .loss = 1.01 }, "loss is 1.01; a probability is 0 to 1");
	refused(&(struct switch_rules){ .loss = 5 }, "loss");
	refused(&(struct switch_rules){ .duplicate = -0.1 }, "duplicate");
	refused(&(struct switch_rules){ .reorder = 0. / 0. }, "reorder");
	refused(&(struct switch_rules){ .reorder = 0.1 }, "hold_dur_ns");
	refused(&(struct switch_rules){ .delay_dur_ns = -1 }, "delay_dur_ns");
	refused(&(struct switch_rules){ .jitter_dur_ns = INT64_MAX }, "jitter_dur_ns");
	refused(&(struct switch_rules){ .backlog_dur_ns = -1 }, "backlog_dur_ns");
	refused(&(struct switch_rules){ .rate_bytes_s = -1 }, "rate");
	refused(&(struct switch_rules){ .rate_bytes_s = 1000 }, "burst_bytes is 0; a rate needs 1514 or more");
}
