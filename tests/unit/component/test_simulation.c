/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and components in simulation, in one process, without simd: delivery inside the writer's call, fusion, timers, order. */
#include "tests/support/test.h"

#include <errno.h>

#include <sim/component.h>
#include <sim/msg/Float64.h>
#include <sim/msg/Int32.h>

#define MS INT64_C(1000000)

struct log {
	char text[4096];
};

static void note(struct log *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct log *l, const char *fmt, ...)
{
	size_t n = strlen(l->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->text + n, sizeof(l->text) - n, fmt, ap);
	va_end(ap);
}

static struct sim_host *host_new(void)
{
	struct sim_host_options o = {
		.size = sizeof(o), .name = "test", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};
	struct sim_host *h;

	assert_int_equal(sim_host_create(&o, &h), 0);
	assert_int_equal(sim_host_start(h), 0);
	return h;
}

static struct sim_node *node_new(struct sim_host *h, const char *name)
{
	struct sim_node *n;

	assert_int_equal(sim_node_create(h, name, &n), 0);
	return n;
}

static struct sim_node_writer *writer_new(struct sim_node *n, const char *channel)
{
	struct sim_node_writer *w;

	assert_int_equal(sim_node_writer_create(n, channel, &sim_Int32_type, NULL, &w), 0);
	return w;
}

static int send(struct sim_node_writer *w, int32_t v)
{
	struct sim_Int32 m = { .data = v };

	return sim_node_write_copy(w, &m, sizeof(m), 0);
}

static int32_t value(const struct sim_message *m)
{
	const struct sim_Int32 *x = sim_Int32_from(m->body, m->body_size);

	assert_non_null(x);
	return x->data;
}

/* In simulation the configuration is read all the same, so that a file is valid in both modes or in neither. */
TEST(notes_about_the_scheduler_can_be_read)
{
	struct sim_host_options o = { .size = sizeof(o),
				      .name = "test",
				      .mode = SIM_RUN_SIMULATION,
				      .flags = SIM_HOST_OFFLINE,
				      .scheduler = "{\"routine_num\":3,\"threads\":[{\"name\":\"timer\"}]}" };
	char notes[1024], few[12];
	struct sim_host *h;

	assert_int_equal(sim_host_create(&o, &h), 0);
	sim_host_notes(h, notes, sizeof(notes));
	assert_string_equal(notes, "routine_num: there are no coroutines, ignored\n"
				   "threads[0]: there is no thread timer to put anywhere, ignored");
	sim_host_notes(h, few, sizeof(few));
	assert_string_equal(few, "routine_num");
	sim_host_destroy(h);
	h = host_new();
	sim_host_notes(h, notes, sizeof(notes));
	assert_string_equal(notes, "");
	sim_host_destroy(h);
}

/* ---- nodes ---- */

struct hearer {
	struct log *log;
	const char *name;
	struct sim_node_writer *echo;
	int echo_result;
};

static void hear(void *user, const struct sim_message *m)
{
	struct hearer *x = user;

	note(x->log, "%s%d ", x->name, value(m));
	if (x->echo)
		x->echo_result = send(x->echo, value(m) + 100);
}

/* Its stamp is that of the loan, or the caller's; it is published when it is written. */
TEST(a_message_has_the_time_of_its_loan)
{
	struct sim_host *h = host_new();
	struct sim_node *n = node_new(h, "n");
	struct sim_node_writer *w = writer_new(n, "x");
	struct sim_Int32 m = { .data = 1 };
	const struct sim_slot *got;
	struct sim_node_reader *r;
	struct sim_slot *slot;
	int64_t before;

	assert_int_equal(sim_node_reader_create(n, "x", NULL, NULL, NULL, NULL, &r), 0);
	assert_int_equal(sim_host_advance(h, 10 * MS), 0);
	assert_int_equal(sim_node_loan(w, sizeof(m), &slot), 0);
	memcpy(sim_slot_body_mut(slot), &m, sizeof(m));
	assert_int_equal(sim_host_advance(h, 20 * MS), 0);
	before = sim_mono_now();
	assert_int_equal(sim_node_write(w, slot), 0);
	sim_node_reader_observe(r);
	got = &sim_node_reader_get(r, 0)->header;
	assert_int_equal(got->stamp_sim_ns, 10 * MS);
	assert_true(got->publish_mono_ns >= before && got->publish_mono_ns <= sim_mono_now());

	before = sim_mono_now();
	assert_int_equal(send(w, 2), 0);
	sim_node_reader_observe(r);
	got = &sim_node_reader_get(r, 0)->header;
	assert_int_equal(got->stamp_sim_ns, 20 * MS);
	assert_true(got->publish_mono_ns >= before && got->publish_mono_ns <= sim_mono_now());
	assert_int_equal(sim_node_write_copy(w, &m, sizeof(m), 7), 0);
	sim_node_reader_observe(r);
	assert_int_equal(sim_node_reader_get(r, 0)->header.stamp_sim_ns, 7);

	sim_node_reader_destroy(r);
	sim_node_writer_destroy(w);
	sim_node_destroy(n);
	sim_host_destroy(h);
}

/* Readers have it, in the order in which they were made, when the writer's call returns. */
TEST(a_message_is_delivered_inside_the_call)
{
	struct sim_host *h = host_new();
	struct sim_node *a = node_new(h, "a"), *b = node_new(h, "b");
	struct log log = { "" };
	struct hearer first = { .log = &log, .name = "first" }, second = { .log = &log, .name = "second" };
	struct sim_node_reader *ra, *rb;
	struct sim_node_writer *w = writer_new(a, "x");

	assert_int_equal(sim_node_reader_create(a, "/x", &sim_Int32_type, NULL, hear, &first, &ra), 0);
	assert_int_equal(sim_node_reader_create(b, "x", &sim_Int32_type, NULL, hear, &second, &rb), 0);
	assert_int_equal(send(w, 1), 0);
	assert_string_equal(log.text, "first1 second1 ");
	assert_int_equal(send(w, 2), 0);
	assert_string_equal(log.text, "first1 second1 first2 second2 ");

	sim_node_writer_destroy(w);
	sim_node_reader_destroy(ra);
	sim_node_reader_destroy(rb);
	sim_node_destroy(a);
	sim_node_destroy(b);
	sim_host_destroy(h);
}

/* A writer without a way to its readers is refused by name, not sent another way in silence; hybrid finds one. */
TEST(a_writer_to_other_machines_needs_a_link)
{
	struct sim_node_writer_options o = { .size = sizeof(o), .transport = SIM_TRANSPORT_NETWORK };
	struct sim_host *h = host_new();
	struct sim_node *a = node_new(h, "a");
	struct sim_node_writer *w = NULL;

	assert_int_equal(sim_node_writer_create(a, "x", &sim_Int32_type, &o, &w), -EOPNOTSUPP);
	assert_string_equal(sim_why(),
			    "node a, channel x: transport network goes to other machines, and without simd there "
			    "is no link to any; use hybrid, which chooses by itself");
	assert_null(w);
	o.transport = SIM_TRANSPORT_HYBRID;
	assert_int_equal(sim_node_writer_create(a, "x", &sim_Int32_type, &o, &w), 0);
	sim_node_writer_destroy(w);
	sim_node_destroy(a);
	sim_host_destroy(h);
}

/* Cyber deadlocks there. */
TEST(a_callback_that_writes_to_its_own_channel_is_refused)
{
	struct sim_host *h = host_new();
	struct sim_node *a = node_new(h, "a");
	struct log log = { "" };
	struct hearer x = { .log = &log, .name = "x" };
	struct sim_node_reader *r;
	struct sim_node_writer *w = writer_new(a, "x");

	x.echo = w;
	assert_int_equal(sim_node_reader_create(a, "x", &sim_Int32_type, NULL, hear, &x, &r), 0);
	assert_int_equal(send(w, 1), 0);
	assert_int_equal(x.echo_result, -EDEADLK);
	assert_non_null(strstr(sim_why(), "/x"));
	assert_string_equal(log.text, "x1 ");
	x.echo = NULL;
	assert_int_equal(send(w, 2), 0); /* and goes on */
	assert_string_equal(log.text, "x1 x2 ");

	sim_node_writer_destroy(w);
	sim_node_reader_destroy(r);
	sim_node_destroy(a);
	sim_host_destroy(h);
}

TEST(a_node_has_one_reader_per_channel)
{
	struct sim_host *h = host_new();
	struct sim_node *a = node_new(h, "a"), *twin;
	struct sim_node_reader *r, *other;
	struct sim_node_writer *w;

	assert_int_equal(sim_node_reader_create(a, "x", NULL, NULL, NULL, NULL, &r), 0);
	assert_int_equal(sim_node_reader_create(a, "/x", NULL, NULL, NULL, NULL, &other), -EEXIST);
	assert_non_null(strstr(sim_why(), "one per channel"));
	assert_int_equal(sim_node_reader_create(a, "", NULL, NULL, NULL, NULL, &other), -EINVAL);
	assert_int_equal(sim_node_create(h, "a", &twin), -EEXIST);
	assert_int_equal(sim_node_create(h, "a b", &twin), -EINVAL);
	assert_int_equal(sim_node_create(h, "/a", &twin), -EINVAL);
	w = writer_new(a, "y");
	assert_int_equal(sim_node_reader_create(a, "y", &sim_Float64_type, NULL, NULL, NULL, &other), -EMEDIUMTYPE);
	assert_non_null(strstr(sim_why(), "sim/Float64"));

	sim_node_writer_destroy(w);
	sim_node_reader_destroy(r);
	sim_node_destroy(a);
	sim_host_destroy(h);
}

/* Publishing and observing are separate: the observed messages stay until the next observe. */
TEST(history_is_updated_by_observe)
{
	struct sim_host *h = host_new();
	struct sim_node *a = node_new(h, "a");
	struct sim_node_reader_options o = { .size = sizeof(o), .depth = 2 };
	struct sim_node_reader *r;
	struct sim_node_writer *w = writer_new(a, "x");
	const struct sim_message *kept;

	assert_int_equal(sim_node_reader_create(a, "x", &sim_Int32_type, &o, NULL, NULL, &r), 0);
	assert_false(sim_node_reader_has_received(r));
	assert_int_equal(sim_node_reader_delay_ns(r), -1);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(send(w, i), 0);
	assert_true(sim_node_reader_has_received(r));
	assert_int_equal(sim_node_reader_count(r), 0);
	assert_null(sim_node_reader_get(r, 0));
	sim_node_reader_observe(r);
	assert_int_equal(sim_node_reader_count(r), 2);
	assert_int_equal(value(sim_node_reader_get(r, 0)), 3);
	assert_int_equal(value(sim_node_reader_get(r, 1)), 2);
	assert_int_equal(send(w, 4), 0);
	assert_int_equal(value(sim_node_reader_get(r, 0)), 3);
	kept = sim_node_message_ref(sim_node_reader_get(r, 1));
	for (int i = 5; i < 20; i++)
		assert_int_equal(send(w, i), 0);
	sim_node_reader_observe(r);
	assert_int_equal(value(sim_node_reader_get(r, 0)), 19);
	assert_int_equal(value(kept), 2);
	sim_node_message_unref(kept);
	sim_node_reader_clear(r);
	assert_int_equal(sim_node_reader_count(r), 0);
	assert_false(sim_node_reader_has_received(r));

	sim_node_writer_destroy(w);
	sim_node_reader_destroy(r);
	sim_node_destroy(a);
	sim_host_destroy(h);
}

TEST(delay_is_the_last_interval_or_the_time_since_if_longer)
{
	struct sim_host *h = host_new();
	struct sim_node *a = node_new(h, "a");
	struct sim_node_reader *r;
	struct sim_node_writer *w = writer_new(a, "x");

	assert_int_equal(sim_node_reader_create(a, "x", NULL, NULL, NULL, NULL, &r), 0);
	assert_int_equal(sim_host_advance(h, 10 * MS), 0);
	assert_int_equal(send(w, 1), 0);
	assert_int_equal(sim_host_advance(h, 40 * MS), 0);
	assert_int_equal(sim_node_reader_delay_ns(r), 30 * MS);
	assert_int_equal(send(w, 2), 0);
	assert_int_equal(sim_node_reader_delay_ns(r), 30 * MS);
	assert_int_equal(sim_host_advance(h, 90 * MS), 0);
	assert_int_equal(sim_node_reader_delay_ns(r), 50 * MS);
	assert_int_equal(sim_host_advance(h, 80 * MS), -EINVAL);

	sim_node_writer_destroy(w);
	sim_node_reader_destroy(r);
	sim_node_destroy(a);
	sim_host_destroy(h);
}

/* No slot, and no copy: a reader sees the very bytes that the writer filled. */
TEST(readers_see_the_bytes_of_the_loan_without_a_copy)
{
	struct sim_host *h = host_new();
	struct sim_node *a = node_new(h, "a");
	struct sim_node_reader *r;
	struct sim_node_writer *w = writer_new(a, "x");
	struct sim_node_writer_stats st;
	struct sim_slot *slot, *more[8];

	assert_int_equal(sim_node_reader_create(a, "x", NULL, NULL, NULL, NULL, &r), 0);
	assert_int_equal(sim_node_loan(w, sizeof(struct sim_Int32), &slot), 0);
	assert_int_equal((uintptr_t)sim_slot_body_mut(slot) % 64, 0);
	((struct sim_Int32 *)sim_slot_body_mut(slot))->data = 7;
	assert_int_equal(sim_node_write(w, slot), 0);
	assert_int_equal(sim_node_write(w, slot), -EINVAL);
	sim_node_reader_observe(r);
	assert_ptr_equal(sim_node_reader_get(r, 0)->body, slot + 1);
	assert_int_equal(sim_node_reader_get(r, 0)->header.sequence, 1);
	for (int i = 0; i < 8; i++)
		assert_int_equal(sim_node_loan(w, 4, &more[i]), 0);
	assert_int_equal(sim_node_loan(w, 4, &slot), -ENOBUFS);
	sim_node_unloan(w, more[0]);
	assert_int_equal(sim_node_loan(w, 1ull << 33, &slot), -EMSGSIZE);
	sim_node_writer_stats(w, &st);
	assert_int_equal(st.written, 1);
	assert_int_equal(st.intra, 1);

	sim_node_writer_destroy(w); /* with seven loans out */
	sim_node_reader_destroy(r);
	sim_node_destroy(a);
	sim_host_destroy(h);
}

/* ---- components ---- */

static struct log component_log;

struct adder {
	struct sim_node_writer *out;
};

static int adder_init(struct sim_component *c, void *self)
{
	struct adder *x = self;

	if (strstr(sim_component_config(c), "fail"))
		return sim_component_fail(c, -ENODEV, "it was asked to fail");
	note(&component_log, "init ");
	return sim_node_writer_create(sim_component_node(c), "sum", &sim_Int32_type, NULL, &x->out);
}

static int adder_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	struct adder *x = self;

	(void)c;
	note(&component_log, "%d+%d ", value(m[0]), value(m[1]));
	return send(x->out, value(m[0]) + value(m[1]));
}

static void adder_shutdown(struct sim_component *c, void *self)
{
	struct adder *x = self;

	(void)c;
	note(&component_log, "shutdown ");
	sim_node_writer_destroy(x->out);
}

static const struct sim_component_class adder_class = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(adder_class),
	.name = "Adder",
	.self_size = sizeof(struct adder),
	.n_inputs = 2,
	.inputs = { &sim_Int32_type, &sim_Int32_type },
	.init = adder_init,
	.proc = adder_proc,
	.shutdown = adder_shutdown,
};

static struct sim_component_options adder_options(const char *name)
{
	return (struct sim_component_options){ .size = sizeof(struct sim_component_options),
					       .name = name,
					       .n_inputs = 2,
					       .input = { { .channel = "left" }, { .channel = "right" } } };
}

/* Reader 0 drives; while the other has never had one its messages are lost, and counted. */
TEST(a_component_fuses_the_latest)
{
	struct sim_host *h = host_new();
	struct sim_node *a = node_new(h, "a");
	struct sim_component_options o = adder_options("adder");
	struct sim_component_stats st;
	struct sim_component *c;
	struct sim_node_reader *sum;
	struct sim_node_writer *left = writer_new(a, "left"), *right = writer_new(a, "right");

	component_log.text[0] = '\0';
	assert_int_equal(sim_component_create(h, &adder_class, &o, &c), 0);
	assert_int_equal(sim_node_reader_create(a, "sum", &sim_Int32_type, NULL, NULL, NULL, &sum), 0);
	assert_int_equal(send(left, 1), 0);
	assert_int_equal(send(right, 10), 0);
	assert_string_equal(component_log.text, "init ");
	assert_int_equal(send(left, 2), 0);
	assert_int_equal(send(left, 3), 0);
	assert_int_equal(send(right, 20), 0);
	assert_int_equal(send(left, 4), 0);
	assert_string_equal(component_log.text, "init 2+10 3+10 4+20 ");
	sim_node_reader_observe(sum);
	assert_int_equal(value(sim_node_reader_get(sum, 0)), 24);
	sim_component_stats(c, &st);
	assert_int_equal(st.proc, 3);
	assert_int_equal(st.unmatched[1], 1);
	assert_int_equal(st.since_mono_ns, 0);

	sim_component_destroy(c);
	assert_string_equal(component_log.text, "init 2+10 3+10 4+20 shutdown ");
	assert_int_equal(send(left, 5), 0);
	assert_string_equal(component_log.text, "init 2+10 3+10 4+20 shutdown ");
	sim_node_writer_destroy(left);
	sim_node_writer_destroy(right);
	sim_node_reader_destroy(sum);
	sim_node_destroy(a);
	sim_host_destroy(h);
}

TEST(hold_waits_for_the_partner)
{
	struct sim_host *h = host_new();
	struct sim_node *a = node_new(h, "a");
	struct sim_component_options o = adder_options("adder");
	struct sim_component *c;
	struct sim_node_writer *left = writer_new(a, "left"), *right = writer_new(a, "right");

	component_log.text[0] = '\0';
	o.fusion = SIM_FUSION_HOLD;
	assert_int_equal(sim_component_create(h, &adder_class, &o, &c), 0);
	assert_int_equal(send(left, 1), 0);
	assert_int_equal(send(left, 2), 0);
	assert_string_equal(component_log.text, "init ");
	assert_int_equal(send(right, 10), 0);
	assert_string_equal(component_log.text, "init 1+10 2+10 ");

	sim_component_destroy(c);
	sim_node_writer_destroy(left);
	sim_node_writer_destroy(right);
	sim_node_destroy(a);
	sim_host_destroy(h);
}

TEST(a_component_that_cannot_start_gives_the_reason)
{
	struct sim_host *h = host_new();
	struct sim_component_options o = adder_options("adder");
	struct sim_component_class other = adder_class;
	struct sim_component *c;

	component_log.text[0] = '\0';
	o.config = "{\"fail\": true}";
	assert_int_equal(sim_component_create(h, &adder_class, &o, &c), -ENODEV);
	assert_string_equal(sim_why(), "component adder: it was asked to fail");
	assert_string_equal(component_log.text, "shutdown ");
	o.config = "{\"a\": \n oops}";
	assert_int_equal(sim_component_create(h, &adder_class, &o, &c), -EINVAL);
	assert_non_null(strstr(sim_why(), "line 2"));
	o.config = "[]";
	assert_int_equal(sim_component_create(h, &adder_class, &o, &c), -EINVAL);
	o.config = NULL;
	o.n_inputs = 1;
	assert_int_equal(sim_component_create(h, &adder_class, &o, &c), -EINVAL);
	assert_non_null(strstr(sim_why(), "has 2 inputs"));
	o.n_inputs = 2;
	o.fusion = SIM_FUSION_BY_TIME;
	assert_int_equal(sim_component_create(h, &adder_class, &o, &c), -EINVAL);
	o.fusion = SIM_FUSION_ALL_LATEST;
	other.abi = 7;
	assert_int_equal(sim_component_create(h, &other, &o, &c), -EINVAL);
	assert_non_null(strstr(sim_why(), "compile it again"));
	/* nothing was left behind: the name is free */
	assert_int_equal(sim_component_create(h, &adder_class, &o, &c), 0);
	sim_component_destroy(c);
	sim_host_destroy(h);
}

/* ---- timers ---- */

struct ticker {
	struct log *log;
	const char *name;
	struct sim_host *h;
};

static void tick(void *user, int64_t due_sim_ns, uint64_t missed)
{
	struct ticker *t = user;

	assert_int_equal(sim_host_now(t->h), due_sim_ns);
	assert_int_equal(missed, 0);
	note(t->log, "%s%lld ", t->name, (long long)(due_sim_ns / MS));
}

/* Cyber's timers do not fire in simulation at all. */
TEST(timers_fire_on_simulated_time)
{
	struct sim_host *h = host_new();
	struct sim_node *n = node_new(h, "a");
	struct log log = { "" };
	struct ticker fast = { &log, "f", h }, slow = { &log, "s", h }, once = { &log, "o", h };
	struct sim_node_timer *t[3];

	assert_int_equal(sim_node_timer_create(n, NULL, 10 * MS, false, tick, &fast, &t[0]), 0);
	assert_int_equal(sim_node_timer_create(n, NULL, 15 * MS, false, tick, &slow, &t[1]), 0);
	assert_int_equal(sim_node_timer_create(n, NULL, 25 * MS, true, tick, &once, &t[2]), 0);
	assert_int_equal(sim_host_advance(h, 9 * MS), 0);
	assert_string_equal(log.text, "");
	assert_int_equal(sim_host_advance(h, 31 * MS), 0);
	assert_string_equal(log.text, "f10 s15 f20 o25 f30 s30 ");
	sim_node_timer_destroy(t[0]);
	assert_int_equal(sim_host_advance(h, 60 * MS), 0);
	assert_string_equal(log.text, "f10 s15 f20 o25 f30 s30 s45 s60 ");

	sim_node_timer_destroy(t[1]);
	sim_node_timer_destroy(t[2]);
	sim_node_destroy(n);
	sim_host_destroy(h);
}
