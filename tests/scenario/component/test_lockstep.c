/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts in simulation, in lock-step: a message written in one host's turn reaches the next host in the same step; time
 * stands; a run repeats.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <stdatomic.h>

#include <sim/component.h>
#include <sim/msg/Int32.h>

#define STEPS    30
#define STEP_DUR (10 * MS)

static struct world w;

static int setup(void **state)
{
	(void)state;
	world_create_threads(&w, "");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_destroy(&w);
	return 0;
}

struct program {
	struct sim_client *c;
	struct sim_host *h;
	pthread_t thread;
	int result;
};

static void program_begin(struct program *p, const char *name, uint32_t rank)
{
	struct sim_host_options o = { .size = sizeof(o), .mode = SIM_RUN_SIMULATION, .rank = rank };

	p->c = o.client = world_client(&w, name, 0);
	if (sim_host_create(&o, &p->h) < 0)
		fail_msg("%s", sim_why());
}

static void *program_main(void *arg)
{
	struct program *p = arg;

	p->result = sim_host_run(p->h);
	return NULL;
}

static void program_run(struct program *p)
{
	if (sim_host_start(p->h) < 0)
		fail_msg("%s", sim_why());
	assert_int_equal(pthread_create(&p->thread, NULL, program_main, p), 0);
}

static void program_stop(struct program *p)
{
	sim_host_stop(p->h);
	pthread_join(p->thread, NULL);
	assert_int_equal(p->result, 0);
}

static void program_end(struct program *p)
{
	sim_host_destroy(p->h);
	sim_disconnect(p->c);
}

/* ---- the graph: x -> times 2 -> y -> times 3 -> z in one host, y and z are noted in another, which has a timer ---- */

struct times {
	struct sim_node_writer *out;
	int32_t factor;
};

static int times_init(struct sim_component *c, void *self)
{
	struct times *t = self;
	bool two = strstr(sim_component_config(c), "2");

	t->factor = two ? 2 : 3;
	return sim_node_writer_create(sim_component_node(c), two ? "y" : "z", &sim_Int32_type, NULL, &t->out);
}

static int times_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	const struct sim_Int32 *in = sim_Int32_from(m[0]->body, m[0]->body_size);
	struct times *t = self;
	struct sim_Int32 out = { .data = in->data * t->factor };

	(void)c;
	return sim_node_write_copy(t->out, &out, sizeof(out), 0);
}

static void times_shutdown(struct sim_component *c, void *self)
{
	(void)c;
	sim_node_writer_destroy(((struct times *)self)->out);
}

static const struct sim_component_class times_class = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(times_class),
	.name = "Times",
	.self_size = sizeof(struct times),
	.n_inputs = 1,
	.inputs = { &sim_Int32_type },
	.init = times_init,
	.proc = times_proc,
	.shutdown = times_shutdown,
};

static struct sim_component *times_new(struct program *p, const char *name, const char *config, const char *channel)
{
	struct sim_component_options o = {
		.size = sizeof(o), .name = name, .config = config, .n_inputs = 1, .input = { { .channel = channel } }
	};
	struct sim_component *c;

	if (sim_component_create(p->h, &times_class, &o, &c) < 0)
		fail_msg("%s", sim_why());
	return c;
}

struct notes {
	struct program *p;
	char text[16384];
	size_t n;
};

static void note(struct notes *l, const char *what, long long value)
{
	l->n += (size_t)snprintf(l->text + l->n, sizeof(l->text) - l->n, "%lld %s %lld\n",
				 (long long)(sim_host_now(l->p->h) / MS), what, value);
}

static struct notes notes;

static void note_y(void *user, const struct sim_message *m)
{
	note(user, "y", sim_Int32_from(m->body, m->body_size)->data);
}

static void note_z(void *user, const struct sim_message *m)
{
	note(user, "z", sim_Int32_from(m->body, m->body_size)->data);
}

static void note_tick(void *user, int64_t due_sim_ns, uint64_t missed)
{
	note(user, "tick", (long long)(due_sim_ns / MS) * 10 + (long long)missed);
}

static void drive(struct sim_client *c, unsigned steps)
{
	struct sim_publisher_options o = { .size = sizeof(o) };
	struct sim_publisher *x;
	struct sim_driver *d;

	assert_int_equal(sim_advertise(c, "x", &sim_Int32_type, &o, &x), 0);
	assert_int_equal(sim_driver_acquire(c, SIM_DRIVER_LOCKSTEP, &d), 0);
	for (unsigned i = 1; i <= steps; i++) {
		struct sim_Int32 v = { .data = (int32_t)i };

		assert_int_equal(sim_try_queue_copy(x, &v, sizeof(v), 0, NULL, NULL, NULL), 0);
		assert_int_equal(sim_driver_advance(d, STEP_DUR, NULL), 0);
	}
	sim_driver_release(d);
	sim_publisher_destroy(x);
}

static void run_graph(void)
{
	struct program a, b;
	struct sim_client *driver = world_client(&w, "driver", 0);
	struct sim_component *two, *three;
	struct sim_node_reader_options o = { .size = sizeof(o), .pending = 8 };
	struct sim_node_reader *y, *z;
	struct sim_node_timer *t;
	struct sim_node *n;

	program_begin(&a, "a", 1);
	program_begin(&b, "b", 2);
	three = times_new(&a, "three", "{\"by\": 3}", "y");
	two = times_new(&a, "two", "{\"by\": 2}", "x");
	notes = (struct notes){ .p = &b };
	assert_int_equal(sim_node_create(b.h, "notes", &n), 0);
	assert_int_equal(sim_node_reader_create(n, "z", NULL, &o, note_z, &notes, &z), 0);
	assert_int_equal(sim_node_reader_create(n, "y", NULL, &o, note_y, &notes, &y), 0);
	assert_int_equal(sim_node_timer_create(n, NULL, 25 * MS, false, note_tick, &notes, &t), 0);
	program_run(&a);
	program_run(&b);
	drive(driver, STEPS);
	program_stop(&a);
	program_stop(&b);

	sim_node_timer_destroy(t);
	sim_node_reader_destroy(y);
	sim_node_reader_destroy(z);
	sim_node_destroy(n);
	sim_component_destroy(two);
	sim_component_destroy(three);
	program_end(&a);
	program_end(&b);
	sim_disconnect(driver);
}

static void expect_ticks(char *text, size_t *n, long long *due_ms, long long until_ms, long long now_ms)
{
	for (; *due_ms <= until_ms; *due_ms += 25)
		*n += (size_t)snprintf(text + *n, sizeof(notes.text) - *n, "%lld tick %lld\n", now_ms, *due_ms * 10);
}

/*
 * A timer that is due before the messages of a turn fires before them; one that is due at their time fires after them.
 */
static void expect_notes(void)
{
	char text[sizeof(notes.text)];
	long long due_ms = 25;
	size_t n = 0;

	for (int i = 1; i <= STEPS; i++) {
		long long now_ms = 10LL * i;

		expect_ticks(text, &n, &due_ms, now_ms - 1, now_ms);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%lld y %d\n%lld z %d\n", now_ms, 2 * i, now_ms,
				      6 * i);
		expect_ticks(text, &n, &due_ms, now_ms, now_ms);
	}
	assert_string_equal(notes.text, text);
}

TEST_WITH(a_graph_over_two_hosts_runs_in_step, setup, teardown)
{
	run_graph();
	expect_notes();
}

/* Another run, in another simd: the same to the letter. */
TEST(two_runs_in_lock_step_are_identical)
{
	char first[sizeof(notes.text)];

	for (int i = 0; i < 10; i++) {
		setup(NULL);
		run_graph();
		teardown(NULL);
		if (i == 0)
			memcpy(first, notes.text, sizeof(first));
		else
			assert_string_equal(notes.text, first);
	}
}

TEST(a_wall_clock_that_runs_is_refused)
{
	struct program a;

	char *json;

	setup(NULL);
	program_begin(&a, "a", 0);
	assert_int_equal(sim_call(a.c, "SetSource", "{\"source\":\"system\"}", &json), 0);
	free(json);
	assert_int_equal(sim_host_start(a.h), -EOPNOTSUPP);
	assert_non_null(strstr(sim_why(), "\"system\""));
	program_end(&a);
	teardown(NULL);
}

/* No turn would ever come again: the run ends with the reason. */
TEST(selecting_a_wall_clock_during_a_run_ends_it)
{
	struct sim_client *driver;
	struct program a;
	char *json;

	setup(NULL);
	driver = world_client(&w, "driver", 0);
	program_begin(&a, "a", 0);
	program_run(&a);
	drive(driver, 3);
	assert_int_equal(sim_call(driver, "SetSource", "{\"source\":\"system\"}", &json), 0);
	free(json);
	pthread_join(a.thread, NULL);
	assert_int_equal(a.result, -EOPNOTSUPP);
	program_end(&a);
	sim_disconnect(driver);
	teardown(NULL);
}

/* ---- simd is away ---- */

/* A client that no simd will have any more, as when the data plane allows no further attachment. */
TEST_WITH(a_host_that_is_refused_permanently_ends, setup, teardown)
{
	struct program p = { 0 };

	program_begin(&p, "p", 1);
	program_run(&p);
	world_kill_simd(&w);
	AWAIT(sim_client_state(p.c) == SIM_CLIENT_RECONNECTING);
	atomic_store(&p.c->state, SIM_CLIENT_FAILED);
	pthread_join(p.thread, NULL);
	assert_int_equal(p.result, -ENOTCONN);
	atomic_store(&p.c->state, SIM_CLIENT_RECONNECTING);
	world_start_simd(&w);
	program_end(&p);
}
