/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What callbacks may do to the objects around them, in simulation and without simd: destroy readers, timers and
 * writers, their own as well; publish a flood; be created again; never return. Thread: one, and one that watches.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <stdarg.h>

#include <sim/component.h>
#include <sim/msg/Int32.h>

#define MS INT64_C(1000000)

static struct sim_host *h;
static char seen[4096];

static int setup(void **state)
{
	struct sim_host_options o = {
		.size = sizeof(o), .name = "test", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};

	(void)state;
	seen[0] = '\0';
	return sim_host_create(&o, &h) < 0 || sim_host_start(h) < 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_host_destroy(h);
	return 0;
}

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	size_t n = strlen(seen);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(seen + n, sizeof(seen) - n, fmt, ap);
	va_end(ap);
}

static struct sim_node *node_new(const char *name)
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
	return sim_Int32_from(m->body, m->body_size)->data;
}

/* ---- readers that end readers ---- */

#define READERS 4

struct hearer {
	struct sim_node *n;
	struct sim_node_reader *r;
	struct sim_node_writer **writer; /* destroyed by the callback */
	unsigned ends;                   /* bit i: reader i of all */
	struct hearer *all;
};

static void hear(void *user, const struct sim_message *m)
{
	struct hearer *x = user;

	note("%s%d ", sim_node_name(x->n), value(m));
	for (unsigned i = 0; i < READERS; i++)
		if (x->ends & 1u << i) {
			sim_node_reader_destroy(x->all[i].r);
			x->all[i].r = NULL;
		}
	if (x->writer) {
		sim_node_writer_destroy(*x->writer);
		*x->writer = NULL;
	}
	note("%s", value(m) < 0 ? "?" : ""); /* it is still there */
}

static void hearers_make(struct hearer all[READERS])
{
	for (unsigned i = 0; i < READERS; i++) {
		char name[] = { (char)('a' + i), '\0' };

		all[i] = (struct hearer){ .n = node_new(name), .all = all };
		assert_int_equal(sim_node_reader_create(all[i].n, "x", &sim_Int32_type, NULL, hear, &all[i], &all[i].r),
				 0);
	}
}

static void hearers_end(struct hearer all[READERS])
{
	for (unsigned i = 0; i < READERS; i++) {
		sim_node_reader_destroy(all[i].r);
		sim_node_destroy(all[i].n);
	}
}

static void ends(unsigned who, unsigned whom, const char *first, const char *then)
{
	struct sim_node *n = node_new("w");
	struct sim_node_writer *w = writer_new(n, "x");
	struct hearer all[READERS];

	seen[0] = '\0';
	hearers_make(all);
	all[who].ends = whom;
	assert_int_equal(send(w, 1), 0);
	assert_string_equal(seen, first);
	all[who].ends = 0;
	seen[0] = '\0';
	assert_int_equal(send(w, 2), 0);
	assert_string_equal(seen, then);
	hearers_end(all);
	sim_node_writer_destroy(w);
	sim_node_destroy(n);
}

TEST_WITH(a_callback_may_destroy_other_readers_of_its_channel, setup, teardown)
{
	ends(0, 1u << 1, "a1 c1 d1 ", "a2 c2 d2 "); /* the very next */
	ends(0, 1u << 3, "a1 b1 c1 ", "a2 b2 c2 ");
	ends(2, 1u << 0, "a1 b1 c1 d1 ", "b2 c2 d2 ");
	ends(1, 1u << 2 | 1u << 3, "a1 b1 ", "a2 b2 ");
}

TEST_WITH(a_callback_may_destroy_its_own_reader, setup, teardown)
{
	ends(0, 1u << 0, "a1 b1 c1 d1 ", "b2 c2 d2 ");
	ends(3, 1u << 3, "a1 b1 c1 d1 ", "a2 b2 c2 ");
	ends(1, 1u << 1 | 1u << 2, "a1 b1 d1 ", "a2 d2 ");
	ends(1, 15, "a1 b1 ", "");
}

/* The channel itself is unused then. */
TEST_WITH(a_callback_may_destroy_the_writer_and_all_readers, setup, teardown)
{
	struct sim_node *n = node_new("w");
	struct sim_node_writer *w = writer_new(n, "x");
	struct hearer all[READERS];

	hearers_make(all);
	all[1].ends = 15;
	all[1].writer = &w;
	assert_int_equal(send(w, 1), 0);
	assert_string_equal(seen, "a1 b1 ");
	hearers_end(all);
	w = writer_new(n, "x");
	assert_int_equal(send(w, 2), 0);
	assert_string_equal(seen, "a1 b1 ");
	sim_node_writer_destroy(w);
	sim_node_destroy(n);
}

struct ticker {
	const char *name;
	struct sim_node_timer *t;
	struct ticker *ends;
};

static void tick(void *user, int64_t due_sim_ns, uint64_t missed)
{
	struct ticker *x = user;

	(void)missed;
	note("%s%lld ", x->name, (long long)(due_sim_ns / MS));
	if (x->ends) {
		struct sim_node_timer *t = x->ends->t;

		x->ends->t = NULL;
		sim_node_timer_destroy(t);
	}
}

TEST_WITH(a_timer_may_destroy_itself_and_others, setup, teardown)
{
	struct sim_node *n = node_new("n");
	struct ticker c = { .name = "c" }, b = { .name = "b", .ends = &c }, a = { .name = "a" };

	a.ends = &a;
	assert_int_equal(sim_node_timer_create(n, "a", 10 * MS, false, tick, &a, &a.t), 0);
	assert_int_equal(sim_node_timer_create(n, "b", 10 * MS, true, tick, &b, &b.t), 0);
	assert_int_equal(sim_node_timer_create(n, "c", 10 * MS, false, tick, &c, &c.t), 0);
	assert_int_equal(sim_host_advance(h, 30 * MS), 0);
	assert_string_equal(seen, "a10 b10 ");
	sim_node_timer_destroy(b.t);
	sim_node_destroy(n);
}

/* ---- order ---- */

static int tell_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)self;
	if (m)
		note("%s%d ", sim_component_name(c), value(m[0]));
	else
		note("%s@%lld ", sim_component_name(c), (long long)(sim_component_now(c) / MS));
	return 0;
}

static const struct sim_component_class teller = { .abi = SIM_COMPONENT_ABI,
						   .size = sizeof(teller),
						   .name = "Teller",
						   .n_inputs = 1,
						   .inputs = { &sim_Int32_type },
						   .proc = tell_proc };
static const struct sim_component_class beater = {
	.abi = SIM_COMPONENT_ABI, .size = sizeof(beater), .name = "Beater", .proc = tell_proc
};

static struct sim_component *make(const struct sim_component_class *cls, const char *name)
{
	struct sim_component_options o = { .size = sizeof(o), .name = name };
	struct sim_component *c;

	o.n_inputs = cls->n_inputs;
	o.input[0].channel = "x";
	o.interval_dur_ns = cls->n_inputs ? 0 : 10 * MS;
	assert_int_equal(sim_component_create(h, cls, &o, &c), 0);
	return c;
}

TEST_WITH(a_recreated_component_has_its_old_place, setup, teardown)
{
	static const char *const names[] = { "a", "b", "c" };
	struct sim_node *n = node_new("w");
	struct sim_node_writer *w = writer_new(n, "x");
	struct sim_component *tellers[3], *beaters[3];

	for (int i = 0; i < 3; i++)
		tellers[i] = make(&teller, names[i]);
	assert_int_equal(send(w, 1), 0);
	assert_string_equal(seen, "a1 b1 c1 ");
	for (int i = 0; i < 3; i++) {
		sim_component_destroy(tellers[i]);
		tellers[i] = make(&teller, names[i]);
		seen[0] = '\0';
		assert_int_equal(send(w, 2), 0);
		assert_string_equal(seen, "a2 b2 c2 ");
	}
	for (int i = 0; i < 3; i++)
		sim_component_destroy(tellers[i]);
	for (int i = 0; i < 3; i++)
		beaters[i] = make(&beater, names[i]);
	for (int i = 0; i < 3; i++) {
		int64_t at = (i + 1) * 10;
		char want[40];

		sim_component_destroy(beaters[i]);
		beaters[i] = make(&beater, names[i]);
		seen[0] = '\0';
		assert_int_equal(sim_host_advance(h, at * MS), 0);
		snprintf(want, sizeof(want), "a@%d b@%d c@%d ", (int)at, (int)at, (int)at);
		assert_string_equal(seen, want);
	}
	for (int i = 0; i < 3; i++)
		sim_component_destroy(beaters[i]);
	sim_node_writer_destroy(w);
	sim_node_destroy(n);
}

/* Names used only once do not fill the memory; the places destroyed first are forgotten, and nothing else. */
TEST_WITH(remembered_places_of_destroyed_components_are_bounded, setup, teardown)
{
	struct sim_component *a, *b;
	struct sim_node *n = node_new("w");
	struct sim_node_writer *w = writer_new(n, "x");

	sim_component_destroy(make(&teller, "a"));
	for (int i = 0; i < 1500; i++) {
		char name[20];

		snprintf(name, sizeof(name), "n%d", i);
		sim_component_destroy(make(&teller, name));
	}
	b = make(&teller, "n1499");
	a = make(&teller, "a");
	assert_int_equal(send(w, 1), 0);
	assert_string_equal(seen, "n14991 a1 ");
	sim_component_destroy(a);
	sim_component_destroy(b);
	sim_node_writer_destroy(w);
	sim_node_destroy(n);
}

/* ---- a flooding component ---- */

struct flooder {
	struct sim_node_writer *out;
};

static unsigned flood; /* messages of each proc */

static int flooder_init(struct sim_component *c, void *self)
{
	return sim_node_writer_create(sim_component_node(c), "flood", &sim_Int32_type, NULL,
				      &((struct flooder *)self)->out);
}

static int flooder_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)m;
	for (unsigned i = 0; i < flood; i++)
		if (send(((struct flooder *)self)->out, (int32_t)i) < 0)
			return sim_component_fail(c, -EIO, "%s", sim_why());
	return 0;
}

static void flooder_shutdown(struct sim_component *c, void *self)
{
	(void)c;
	sim_node_writer_destroy(((struct flooder *)self)->out);
}

static const struct sim_component_class flooder = { .abi = SIM_COMPONENT_ABI,
						    .size = sizeof(flooder),
						    .name = "Flooder",
						    .self_size = sizeof(struct flooder),
						    .init = flooder_init,
						    .proc = flooder_proc,
						    .shutdown = flooder_shutdown };

static unsigned drowned;

static void drown(void *user, const struct sim_message *m)
{
	(void)user;
	(void)m;
	drowned++;
}

static void run_beside(unsigned n, char *ret, size_t size)
{
	struct sim_component *first = make(&beater, "first"), *rogue = make(&flooder, "rogue");
	struct sim_component *last = make(&beater, "last");
	struct sim_component_stats st;
	struct sim_node *x = node_new("x");
	struct sim_node_reader *r;
	int64_t now = sim_host_now(h);

	assert_int_equal(sim_node_reader_create(x, "flood", &sim_Int32_type, NULL, drown, NULL, &r), 0);
	seen[0] = '\0';
	drowned = 0;
	flood = n;
	for (int i = 1; i <= 5; i++)
		assert_int_equal(sim_host_advance(h, now + i * 10 * MS), 0);
	/* bounded only by its own code, and no other component's messages are affected */
	assert_int_equal(drowned, 5 * n);
	sim_component_stats(rogue, &st);
	assert_int_equal(st.failed, 0);
	snprintf(ret, size, "%s", seen);
	sim_node_reader_destroy(r);
	sim_node_destroy(x);
	sim_component_destroy(last);
	sim_component_destroy(rogue);
	sim_component_destroy(first);
}

TEST_WITH(components_keep_their_order_beside_one_that_floods, setup, teardown)
{
	char flooded[sizeof(seen)];

	run_beside(20000, flooded, sizeof(flooded));
	assert_string_equal(flooded,
			    "first@10 last@10 first@20 last@20 first@30 last@30 first@40 last@40 first@50 last@50 ");
}

/* A timer without a period, and a component with a negative one. */
TEST_WITH(a_timer_needs_a_period, setup, teardown)
{
	struct sim_component_options o = { .size = sizeof(o), .name = "c", .interval_dur_ns = -1 };
	struct sim_node *n = node_new("n");
	struct sim_node_timer *t;
	struct sim_component *c;

	assert_int_equal(sim_node_timer_create(n, NULL, 0, false, tick, NULL, &t), -EINVAL);
	assert_non_null(strstr(sim_why(), "a timer's period is more than 0 ns, not 0"));
	assert_int_equal(sim_component_create(h, &beater, &o, &c), -EINVAL);
	sim_node_destroy(n);
}

/* ---- callbacks that never return ---- */

static char running[1000];
static uint32_t deepest;

static void on_call(void *user, const struct sim_component_call *c)
{
	size_t len = strlen(running);

	(void)user;
	snprintf(running + len, sizeof(running) - len, "%s:%s:%s ", c->name, c->what, c->of);
	assert_true(c->thread && c->since_mono_ns > 0);
	deepest = c->depth > deepest ? c->depth : deepest;
}

static const char *look(void)
{
	running[0] = '\0';
	deepest = 0;
	sim_component_calls(on_call, NULL);
	return running;
}

static void hear_looking(void *user, const struct sim_message *m)
{
	(void)user;
	(void)m;
	assert_string_equal(look(), ""); /* no component has been seen before */
	assert_string_equal(look(), "n:timer:pulse n:reader:/x ");
	assert_int_equal(deepest, 2);
}

static void tick_sending(void *user, int64_t due_sim_ns, uint64_t missed)
{
	(void)due_sim_ns;
	(void)missed;
	assert_int_equal(send(user, 1), 0);
	assert_string_equal(look(), "n:timer:pulse ");
}

TEST_WITH(repeated_looks_show_the_callbacks_that_have_not_returned, setup, teardown)
{
	struct sim_node *n = node_new("n");
	struct sim_node_writer *w = writer_new(n, "x");
	struct sim_node_timer *t;
	struct sim_node_reader *r;

	assert_int_equal(sim_node_timer_create(n, "pulse", 10 * MS, false, tick_sending, w, &t), 0);
	assert_int_equal(sim_node_reader_create(n, "x", NULL, NULL, hear_looking, NULL, &r), 0);
	assert_string_equal(look(), "");
	assert_int_equal(sim_host_advance(h, 20 * MS), 0); /* twice: the second is no longer the first */
	assert_string_equal(look(), "");
	assert_string_equal(look(), "");
	sim_node_reader_destroy(r);
	sim_node_timer_destroy(t);
	sim_node_writer_destroy(w);
	sim_node_destroy(n);
}
