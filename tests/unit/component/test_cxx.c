/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Components that are classes of C++: their exceptions are caught and logged with the component's name; their
 * parameters and histories. Thread: one.
 */
#include "tests/support/test.h"

#include <dlfcn.h>
#include <errno.h>

#include <sim/component.h>
#include <sim/msg/Int32.h>

static void send(struct sim_node_writer *w, int32_t v)
{
	struct sim_Int32 m = { .data = v };

	assert_int_equal(sim_node_write_copy(w, &m, sizeof(m), 0), 0);
}

static void *lib;
static struct sim_host *h;
static struct sim_node *n;
static struct sim_node_writer *w;

static int setup(void **state)
{
	struct sim_host_options o = {
		.size = sizeof(o), .name = "t", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};

	(void)state;
	lib = dlopen(CXX_COMPONENT, RTLD_NOW);
	if (!lib)
		fail_msg("%s", dlerror());
	assert_int_equal(sim_host_create(&o, &h), 0);
	assert_int_equal(sim_node_create(h, "n", &n), 0);
	assert_int_equal(sim_node_writer_create(n, "in", &sim_Int32_type, NULL, &w), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_node_writer_destroy(w);
	sim_node_destroy(n);
	sim_host_destroy(h);
	dlclose(lib);
	return 0;
}

/* Of one input, or of none. */
static int make(const char *symbol, const char *config, uint32_t n_inputs, struct sim_component **ret)
{
	struct sim_component_options o = { .size = sizeof(o),
					   .name = "picky",
					   .config = config,
					   .n_inputs = n_inputs,
					   .input = { { .channel = "in", .depth = 3 } } };
	const struct sim_component_class *cls = dlsym(lib, symbol);

	assert_non_null(cls);
	return sim_component_create(h, cls, &o, ret);
}

static const char *failure(const struct sim_component *c)
{
	static char why[256];

	sim_component_last_failure(c, why, sizeof(why));
	return why;
}

static int32_t newest(struct sim_node_reader *r)
{
	const struct sim_message *m;

	sim_node_reader_observe(r);
	m = sim_node_reader_get(r, 0);
	return m ? sim_Int32_from(m->body, m->body_size)->data : -1;
}

TEST_WITH(an_exception_of_a_class_is_its_failure, setup, teardown)
{
	struct sim_component_stats st;
	struct sim_node_reader *r;
	struct sim_component *c;

	assert_int_equal(make("sim_component_Picky", "{\"a\": \"bad\"}", 1, &c), -EIO);
	assert_string_equal(sim_why(), "component picky: Init threw: a bad configuration");
	assert_int_equal(make("sim_component_Picky", NULL, 1, &c), 0);
	assert_int_equal(sim_node_reader_create(n, "picked", &sim_Int32_type, NULL, NULL, NULL, &r), 0);
	send(w, -1);
	assert_string_equal(failure(c), "component picky: Proc threw: less than nothing");
	send(w, 0);
	assert_string_equal(failure(c), "component picky: Proc threw something that is no std::exception");
	send(w, 5);
	sim_component_stats(c, &st);
	assert_int_equal(st.proc, 3);
	assert_int_equal(st.failed, 2);
	assert_int_equal(newest(r), 5);
	sim_component_destroy(c);
	sim_node_reader_destroy(r);
}

/* A constructor runs before the class knows its component: that is an error text, not a crash. */
TEST_WITH(a_constructor_that_asks_for_its_component_gets_an_error, setup, teardown)
{
	struct sim_component *c;

	assert_int_equal(make("sim_component_Early", NULL, 0, &c), -EIO);
	assert_string_equal(sim_why(), "component picky: the constructor threw: a constructor knows nothing of its "
				       "component yet: ask in Init()");
	assert_int_equal(make("sim_component_Early2", NULL, 0, &c), -EIO);
	assert_string_equal(sim_why(), "component picky: the constructor threw: a component: it threw: so soon");
}

TEST_WITH(an_exception_during_destruction_affects_nothing_else, setup, teardown)
{
	struct sim_component *c;

	assert_int_equal(make("sim_component_Late", NULL, 0, &c), 0);
	sim_component_destroy(c);
	assert_string_equal(sim_why(), "component picky: Shutdown threw: too late");
	assert_int_equal(make("sim_component_Last", NULL, 0, &c), 0); /* its name is free again */
	sim_component_destroy(c);
	assert_string_equal(sim_why(), "component picky: the destructor threw: not without me");
	assert_int_equal(make("sim_component_Picky", NULL, 1, &c), 0);
	sim_component_destroy(c);
	assert_string_equal(sim_why(), "");
}

/* The error text of a thread is its own: an init without a text does not get it. */
TEST_WITH(an_exception_in_a_thread_of_a_class_is_caught_by_guard, setup, teardown)
{
	struct sim_component *c;

	assert_int_equal(make("sim_component_Own", NULL, 0, &c), -EIO);
	assert_string_equal(sim_why(),
			    "component picky: the thread's end: component picky: its thread threw: nobody hears me");
	assert_int_equal(make("sim_component_Own", "{\"how\": \"silent\"}", 0, &c), -EIO);
	assert_string_equal(sim_why(), "component picky: init of class Own failed: Input/output error");
}

TEST_WITH(an_exception_of_a_callback_is_reported, setup, teardown)
{
	struct sim_component_stats st;
	struct sim_node_writer *raw;
	struct sim_component *c;

	assert_int_equal(sim_host_start(h), 0);
	assert_int_equal(make("sim_component_Raw", NULL, 1, &c), 0);
	assert_int_equal(sim_node_writer_create(n, "raw", &sim_Int32_type, NULL, &raw), 0);
	send(raw, -1);
	assert_string_equal(failure(c), "component picky: a callback threw: a message of nothing");
	send(raw, 1); /* its channel is not blocked for that */
	assert_string_equal(failure(c), "component picky: a callback threw something that is no std::exception");
	assert_int_equal(sim_host_advance(h, 10000000), 0);
	assert_string_equal(failure(c), "component picky: a callback threw: not now");
	send(w, 0);
	sim_component_stats(c, &st);
	assert_int_equal(st.proc, 1);
	assert_int_equal(st.failed, 3);
	send(w, 1);
	assert_string_equal(failure(c), "parameter p: Numerical argument out of domain");
	send(w, 2);
	assert_string_equal(failure(c), "parameter p: component picky: a callback threw: two is many");
	sim_component_destroy(c);
	sim_node_writer_destroy(raw);
}

/* A callback that throws refuses the value, and the error names the component. */
TEST_WITH(a_class_has_parameters, setup, teardown)
{
	struct sim_node_reader *r;
	struct sim_component *c;

	assert_int_equal(make("sim_component_Gain", NULL, 1, &c), 0);
	assert_int_equal(sim_node_reader_create(n, "gained", &sim_Int32_type, NULL, NULL, NULL, &r), 0);
	send(w, 7);
	assert_int_equal(newest(r), 7);
	send(w, 103);
	send(w, 7);
	assert_int_equal(newest(r), 1021);
	send(w, 113);
	assert_string_equal(failure(c), "parameter gain: component picky: Changed threw: 13 brings bad luck");
	send(w, 114);
	assert_string_equal(failure(c), "parameter gain: Numerical argument out of domain");
	send(w, 5);
	assert_int_equal(newest(r), 1015);
	sim_component_destroy(c);
	sim_node_reader_destroy(r);
}

TEST_WITH(a_class_looks_at_the_history_of_its_inputs, setup, teardown)
{
	struct sim_node_reader *r;
	struct sim_component *c;

	assert_int_equal(make("sim_component_Gain", NULL, 1, &c), 0);
	assert_int_equal(sim_node_reader_create(n, "sums", &sim_Int32_type, NULL, NULL, NULL, &r), 0);
	for (int i = 1; i <= 5; i++)
		send(w, i);
	assert_int_equal(newest(r), 3 + 4 + 5);
	sim_component_destroy(c);
	sim_node_reader_destroy(r);
}
