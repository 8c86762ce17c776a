/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an Apollo engineer takes for granted, where no other test here has it: in simulation, without simd. The page from the facts of Cyber RT to
 * tests is README.md. Thread: one.
 */
#include "tests/support/test.h"

#include <errno.h>

#include <sim/component.h>
#include <sim/msg/Int32.h>

#define MS INT64_C(1000000)

static struct sim_host *h;
static struct sim_node *n;
static char seen[512];

static int setup(void **state)
{
	struct sim_host_options o = {
		.size = sizeof(o), .name = "test", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};

	(void)state;
	seen[0] = '\0';
	return sim_host_create(&o, &h) < 0 || sim_host_start(h) < 0 || sim_node_create(h, "test", &n) < 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_node_destroy(n);
	sim_host_destroy(h);
	return 0;
}

static void see(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void see(const char *fmt, ...)
{
	size_t len = strlen(seen);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(seen + len, sizeof(seen) - len, fmt, ap);
	va_end(ap);
}

static struct sim_node_writer *writer_new(const char *channel)
{
	struct sim_node_writer *w;

	assert_int_equal(sim_node_writer_create(n, channel, &sim_Int32_type, NULL, &w), 0);
	return w;
}

static int send_at(struct sim_node_writer *w, int32_t v, int64_t stamp_sim_ns)
{
	struct sim_Int32 m = { .data = v };

	return sim_node_write_copy(w, &m, sizeof(m), stamp_sim_ns);
}

static int send(struct sim_node_writer *w, int32_t v)
{
	return send_at(w, v, 0);
}

static int32_t value(const struct sim_message *m)
{
	return sim_Int32_from(m->body, m->body_size)->data;
}

/* ---- readers and writers ---- */

static void hear(void *user, const struct sim_message *m)
{
	see("%s%d ", (const char *)user, value(m));
}

/* What waits for a callback and what observe shows are two sizes: of each reader its own. */
TEST_WITH(each_reader_has_a_history_of_its_own_depth, setup, teardown)
{
	struct sim_node_reader_options deep = { .size = sizeof(deep), .depth = 3 };
	struct sim_node_reader_options wide = { .size = sizeof(wide), .pending = 9 };
	struct sim_node_reader *a, *b;
	struct sim_node *other;
	struct sim_node_writer *w = writer_new("x");

	assert_int_equal(sim_node_create(h, "other", &other), 0);
	assert_int_equal(sim_node_reader_create(n, "x", NULL, &deep, NULL, NULL, &a), 0);
	assert_int_equal(sim_node_reader_create(other, "x", NULL, &wide, hear, (void *)(uintptr_t) "", &b), 0);
	for (int i = 1; i <= 9; i++)
		assert_int_equal(send(w, i), 0);
	sim_node_reader_observe(a);
	sim_node_reader_observe(b);
	assert_int_equal(sim_node_reader_count(a), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(value(sim_node_reader_get(a, i)), 9 - (int)i);
	assert_null(sim_node_reader_get(a, 3));
	assert_int_equal(sim_node_reader_count(b), 1);
	assert_int_equal(value(sim_node_reader_get(b, 0)), 9);
	assert_string_equal(seen, "1 2 3 4 5 6 7 8 9 ");
	sim_node_reader_clear(a);
	assert_true(sim_node_reader_has_received(b)); /* the other's is its own */

	sim_node_reader_destroy(a);
	sim_node_reader_destroy(b);
	sim_node_writer_destroy(w);
	sim_node_destroy(other);
}

/* A depth of 0 is the default, where a blocker of Cyber would keep nothing. */
TEST_WITH(a_depth_of_0_means_1, setup, teardown)
{
	struct sim_node_reader_options o = { .size = sizeof(o) };
	struct sim_node_reader *r;
	struct sim_node_writer *w = writer_new("x");

	assert_int_equal(sim_node_reader_create(n, "x", NULL, &o, NULL, NULL, &r), 0);
	assert_int_equal(send(w, 1), 0);
	sim_node_reader_observe(r);
	assert_int_equal(sim_node_reader_count(r), 1);
	sim_node_reader_destroy(r);
	o.depth = 257;
	assert_int_equal(sim_node_reader_create(n, "x", NULL, &o, NULL, NULL, &r), -EINVAL);
	assert_non_null(strstr(sim_why(), "depth 257 is out of range, 1 to 256"));
	sim_node_writer_destroy(w);
}

/* The number rises by one with each message, also without a reader, which is no error. */
TEST_WITH(sequence_numbers_count_written_messages, setup, teardown)
{
	struct sim_node_writer *w = writer_new("x"), *other = writer_new("x");
	struct sim_node_writer_stats st;
	struct sim_node_reader *r;

	assert_int_equal(send(w, 1), 0);
	assert_int_equal(send(w, 2), 0);
	assert_int_equal(sim_node_reader_create(n, "x", NULL, NULL, NULL, NULL, &r), 0);
	assert_int_equal(send(w, 3), 0);
	sim_node_reader_observe(r);
	assert_int_equal(sim_node_reader_get(r, 0)->header.sequence, 3);
	assert_int_equal(send(other, 4), 0);
	sim_node_reader_observe(r);
	assert_int_equal(sim_node_reader_get(r, 0)->header.sequence, 1);
	sim_node_writer_stats(w, &st);
	assert_int_equal(st.written, 3);
	assert_int_equal(send(NULL, 1), -EINVAL);
	assert_non_null(strstr(sim_why(), "no writer was given"));

	sim_node_reader_destroy(r);
	sim_node_writer_destroy(w);
	sim_node_writer_destroy(other);
}

TEST_WITH(a_channel_needs_a_name, setup, teardown)
{
	struct sim_node_writer *w;
	struct sim_node_reader *r;

	assert_int_equal(sim_node_writer_create(n, "", &sim_Int32_type, NULL, &w), -EINVAL);
	assert_int_equal(sim_node_writer_create(n, NULL, &sim_Int32_type, NULL, &w), -EINVAL);
	assert_int_equal(sim_node_writer_create(n, "x", NULL, NULL, &w), -EINVAL);
	assert_int_equal(sim_node_reader_create(n, NULL, NULL, NULL, NULL, NULL, &r), -EINVAL);
	assert_int_equal(sim_node_reader_create(NULL, "x", NULL, NULL, NULL, NULL, &r), -EINVAL);
	assert_int_equal(sim_node_create(h, "", NULL), -EINVAL);
}

/* ---- components ---- */

static void see_channel(void *user, const char *channel, bool written)
{
	(void)user;
	see("%s%s ", channel, written ? "!" : "");
}

static int init(struct sim_component *c, void *self)
{
	(void)self;
	see("init: ");
	sim_node_channels(sim_component_node(c), see_channel, NULL);
	if (sim_component_reader(c, 0))
		see("too early ");
	return 0;
}

static int32_t answer;

static int proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	see("%d+%d ", value(m[0]), value(m[1]));
	return answer;
}

static const struct sim_component_class two = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(two),
	.name = "Two",
	.n_inputs = 2,
	.inputs = { &sim_Int32_type, &sim_Int32_type },
	.init = init,
	.proc = proc,
};

static struct sim_component_options options(uint32_t n_inputs)
{
	return (struct sim_component_options){
		.size = sizeof(struct sim_component_options),
		.name = "c",
		.n_inputs = n_inputs,
		.input = { { .channel = "a" }, { .channel = "b" }, { .channel = "c" }, { .channel = "d" } }
	};
}

/* Init, then its partners, then the driver; readers that its class has no use for are ignored. */
TEST_WITH(the_reader_of_input_0_is_created_last, setup, teardown)
{
	struct sim_component_options o = options(3);
	struct sim_component *c;

	assert_int_equal(sim_component_create(h, &two, &o, &c), 0);
	see("then: ");
	sim_node_channels(sim_component_node(c), see_channel, NULL);
	assert_string_equal(seen, "init: then: /b /a ");
	assert_non_null(sim_component_reader(c, 1));
	assert_null(sim_component_reader(c, 2));
	assert_null(sim_component_reader(NULL, 0));
	sim_component_destroy(c);
}

TEST_WITH(two_inputs_of_one_channel_are_refused, setup, teardown)
{
	struct sim_component_options o = options(2);
	struct sim_component *c;

	o.input[1].channel = "/a";
	assert_int_equal(sim_component_create(h, &two, &o, &c), -EEXIST);
	assert_string_equal(sim_why(), "node c has a reader of /a already; a node has one per channel");
	o.input[1].channel = "b";
	assert_int_equal(sim_component_create(h, &two, &o, &c), 0);
	sim_component_destroy(c);
}

/* proc's error returns are counted, and the next message is delivered all the same. */
TEST_WITH(return_values_of_proc_are_counted, setup, teardown)
{
	struct sim_component_options o = options(2);
	struct sim_node_writer *a = writer_new("a"), *b = writer_new("b");
	struct sim_component_stats st;
	struct sim_component *c;
	char why[128];

	assert_int_equal(sim_component_create(h, &two, &o, &c), 0);
	assert_int_equal(send(b, 10), 0);
	for (answer = -1; answer <= 1; answer++)
		assert_int_equal(send(a, answer), 0);
	sim_component_stats(c, &st);
	assert_int_equal(st.proc, 3);
	assert_int_equal(st.failed, 1);
	sim_component_last_failure(c, why, sizeof(why));
	assert_string_equal(why, "Operation not permitted");
	answer = 0;
	sim_component_destroy(c);
	sim_node_writer_destroy(a);
	sim_node_writer_destroy(b);
}

static int proc4(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	see("%d+%d+%d+%d ", value(m[0]), value(m[1]), value(m[2]), value(m[3]));
	return 0;
}

/*
 * Four inputs: messages are dropped until the last partner has arrived, and counted at each missing one; a partner
 * never starts proc, and is used again.
 */
TEST_WITH(four_inputs_wait_for_the_last_partner, setup, teardown)
{
	static const struct sim_component_class four = {
		.abi = SIM_COMPONENT_ABI, .size = sizeof(four), .name = "Four", .n_inputs = 4, .proc = proc4
	};
	struct sim_component_options o = options(4);
	struct sim_node_writer *w[4];
	struct sim_component_stats st;
	struct sim_component *c;

	assert_int_equal(sim_component_create(h, &four, &o, &c), 0);
	for (int i = 0; i < 4; i++)
		w[i] = writer_new(o.input[i].channel);
	for (int i = 3; i >= 1; i--) {
		assert_int_equal(send(w[0], i), 0);
		assert_int_equal(send(w[i], 10 * i), 0);
		assert_int_equal(send(w[i], 10 * i + 1), 0);
	}
	assert_string_equal(seen, "");
	assert_int_equal(send(w[0], 4), 0);
	assert_int_equal(send(w[0], 5), 0);
	assert_string_equal(seen, "4+11+21+31 5+11+21+31 ");
	sim_component_stats(c, &st);
	assert_int_equal(st.unmatched[0], 0);
	assert_int_equal(st.unmatched[1], 3);
	assert_int_equal(st.unmatched[2], 2);
	assert_int_equal(st.unmatched[3], 1);
	assert_int_equal(st.overrun, 0);
	sim_component_destroy(c);
	for (int i = 0; i < 4; i++)
		sim_node_writer_destroy(w[i]);
}

/* ---- proc within proc ---- */

static struct sim_node_writer *partner;

static int feed_back(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	see("(%d", value(m[0]));
	if (value(m[0]) == 1) /* which completes what still waits */
		assert_int_equal(send_at(partner, 0, 9 * MS), 0);
	see(") ");
	return 0;
}

/* What proc writes may complete another of its own tuples: that tuple is processed after this one. */
TEST_WITH(proc_is_never_called_recursively, setup, teardown)
{
	static const struct sim_component_class cls = {
		.abi = SIM_COMPONENT_ABI, .size = sizeof(cls), .name = "Loop", .n_inputs = 2, .proc = feed_back
	};
	struct sim_component_options o = options(2);
	struct sim_node_writer *a = writer_new("a");
	struct sim_component *c;

	partner = writer_new("b");
	o.fusion = SIM_FUSION_BY_TIME;
	o.tolerance_dur_ns = 100 * MS;
	assert_int_equal(sim_component_create(h, &cls, &o, &c), 0);
	assert_int_equal(send_at(partner, 0, 2 * MS), 0);
	assert_int_equal(send_at(a, 5, 5 * MS), 0); /* waits: the partner has shown nothing so late */
	assert_int_equal(send_at(a, 1, 1 * MS), 0);
	assert_string_equal(seen, "(1) (5) ");
	sim_component_destroy(c);
	sim_node_writer_destroy(a);
	sim_node_writer_destroy(partner);
}

/* ---- timers ---- */

struct count {
	int64_t period_ms, last_ms;
	uint64_t calls;
	struct sim_node_timer *t;
};

static int64_t latest_ms;

static void count(void *user, int64_t due_sim_ns, uint64_t missed)
{
	struct count *k = user;
	int64_t due_ms = due_sim_ns / MS;

	assert_int_equal(missed, 0);
	assert_int_equal(due_ms, k->last_ms + k->period_ms);
	assert_true(due_ms >= latest_ms); /* all of them in one order */
	k->last_ms = latest_ms = due_ms;
	k->calls++;
}

TEST_WITH(a_one_shot_timer_fires_once_at_its_time, setup, teardown)
{
	struct count k = { .period_ms = 100 };

	latest_ms = 0;
	assert_int_equal(sim_node_timer_create(n, NULL, 100 * MS, true, count, &k, &k.t), 0);
	assert_int_equal(sim_host_advance(h, 90 * MS), 0);
	assert_int_equal(k.calls, 0);
	assert_int_equal(sim_host_advance(h, 100 * MS), 0);
	assert_int_equal(k.calls, 1);
	assert_int_equal(sim_host_advance(h, 1000 * MS), 0);
	assert_int_equal(k.calls, 1);
	sim_node_timer_destroy(k.t);
}

TEST_WITH(a_thousand_timers_keep_their_times, setup, teardown)
{
	static struct count k[1000];

	latest_ms = 0;
	for (int64_t i = 0; i < 1000; i++) {
		k[i] = (struct count){ .period_ms = i + 1 };
		assert_int_equal(sim_node_timer_create(n, NULL, (i + 1) * MS, false, count, &k[i], &k[i].t), 0);
	}
	assert_int_equal(sim_host_advance(h, 1000 * MS), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_equal(k[i].calls, 1000 / (i + 1));
		sim_node_timer_destroy(k[i].t);
	}
}

/* Each begins with a period of its own; a destroyed one does not fire. */
TEST_WITH(a_timer_is_made_and_destroyed_a_hundred_times, setup, teardown)
{
	struct count k = { .period_ms = 10 };

	latest_ms = 0;
	for (int64_t i = 0; i < 100; i++) {
		assert_int_equal(sim_node_timer_create(n, "t", 10 * MS, false, count, &k, &k.t), 0);
		assert_int_equal(sim_host_advance(h, (i + 1) * 9 * MS), 0);
		if (i < 99)
			sim_node_timer_destroy(k.t);
	}
	assert_int_equal(k.calls, 0);
	k.last_ms = 99 * 9;
	assert_int_equal(sim_host_advance(h, (99 * 9 + 10) * MS), 0);
	assert_int_equal(k.calls, 1);
	sim_node_timer_destroy(k.t);
}

/* In reality a task of that name stands in the way; here, too, so that a program that runs in one mode runs in the other. */
TEST_WITH(two_timers_of_one_name_are_refused, setup, teardown)
{
	struct count k = { .period_ms = 10 };
	struct sim_node_timer *twin;
	struct sim_node *other;

	assert_int_equal(sim_node_create(h, "other", &other), 0);
	assert_int_equal(sim_node_timer_create(n, "t", 10 * MS, false, count, &k, &k.t), 0);
	assert_int_equal(sim_node_timer_create(other, "t", 10 * MS, false, count, &k, &twin), -EEXIST);
	assert_string_equal(sim_why(), "there is a timer \"t\" in this host already; give each its own name");
	assert_int_equal(sim_node_timer_create(n, "", 10 * MS, false, count, &k, &twin), -EINVAL);
	assert_int_equal(sim_node_timer_create(n, "u", 0, false, count, &k, &twin), -EINVAL);
	assert_non_null(strstr(sim_why(), "a timer's period is more than 0 ns, not 0"));
	assert_int_equal(sim_node_timer_create(n, "u", 10 * MS, false, NULL, &k, &twin), -EINVAL);
	sim_node_timer_destroy(k.t);
	sim_node_destroy(other);
}

static int tick(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)self;
	assert_null(m);
	see("%lld ", (long long)(sim_component_now(c) / MS));
	return 0;
}

TEST_WITH(a_timer_component_follows_simulated_time, setup, teardown)
{
	static const struct sim_component_class cls = {
		.abi = SIM_COMPONENT_ABI, .size = sizeof(cls), .name = "Tick", .proc = tick
	};
	struct sim_component_options o = options(0);
	struct sim_component_stats st;
	struct sim_component *c;

	o.interval_dur_ns = -1;
	assert_int_equal(sim_component_create(h, &cls, &o, &c), -EINVAL);
	o.interval_dur_ns = 10 * MS;
	assert_int_equal(sim_component_create(h, &two, &o, &c), -EINVAL);
	o.name = NULL;
	assert_int_equal(sim_component_create(h, &cls, &o, &c), -EINVAL);
	assert_non_null(strstr(sim_why(), "class Tick: a component needs a name"));
	o.name = "c";
	assert_int_equal(sim_component_create(h, &cls, &o, &c), 0);
	assert_int_equal(sim_host_advance(h, 25 * MS), 0);
	assert_string_equal(seen, "10 20 ");
	sim_component_stats(c, &st);
	assert_int_equal(st.proc, 2);
	sim_component_destroy(c);
	assert_int_equal(sim_host_advance(h, 50 * MS), 0);
	assert_string_equal(seen, "10 20 ");
}
