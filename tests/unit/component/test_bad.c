/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors in a class, an init, a type: refused with a matching error text; and which component's function a thread is
 * in. Thread: one.
 */
#include "tests/support/test.h"

#include <errno.h>

#include <sim/component.h>
#include <sim/msg/Int32.h>

#include "err.h"

#define MS INT64_C(1000000)

static struct sim_host *h;

static int setup(void **state)
{
	struct sim_host_options o = {
		.size = sizeof(o), .name = "test", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};

	(void)state;
	return sim_host_create(&o, &h) < 0 || sim_host_start(h) < 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_host_destroy(h);
	return 0;
}

static int make(const struct sim_component_class *cls, const char *channel, struct sim_component **ret)
{
	struct sim_component_options o = { .size = sizeof(o), .name = "c", .n_inputs = channel ? 1 : 0 };

	o.input[0].channel = channel;
	return sim_component_create(h, cls, &o, ret);
}

/* Of another version, so that no other field is at its place; not even its name is a pointer. */
TEST_WITH(a_class_of_another_version_is_not_read, setup, teardown)
{
	struct sim_component_class cls = { .abi = SIM_COMPONENT_ABI + 1, .size = sizeof(cls) };
	struct sim_component *c;

	cls.name = (const char *)(uintptr_t)1; /* NOLINT(performance-no-int-to-ptr) */
	assert_int_equal(make(&cls, NULL, &c), -EINVAL);
	assert_non_null(strstr(sim_why(), "was compiled for ABI 2"));
	cls.abi = SIM_COMPONENT_ABI;
	cls.size -= 8;
	assert_int_equal(make(&cls, NULL, &c), -EINVAL);
	assert_non_null(strstr(sim_why(), "compile it again"));
	assert_int_equal(make(NULL, NULL, &c), -EINVAL);
}

static int fails(struct sim_component *c, void *self)
{
	(void)c;
	(void)self;
	return -ENODEV;
}

TEST_WITH(an_init_without_an_error_text_does_not_get_an_older_one, setup, teardown)
{
	static const struct sim_component_class cls = {
		.abi = SIM_COMPONENT_ABI, .size = sizeof(cls), .name = "Mute", .init = fails
	};
	struct sim_component *c;

	(void)err_set(-EIO, "what went wrong an hour ago");
	assert_int_equal(make(&cls, NULL, &c), -ENODEV);
	assert_string_equal(sim_why(), "component c: init of class Mute failed: No such device");
}

TEST_WITH(two_definitions_of_one_type_are_distinguished, setup, teardown)
{
	struct sim_type other = sim_Int32_type;
	struct sim_node_writer *w, *v;
	struct sim_node *n;

	other.hash ^= 1;
	assert_int_equal(sim_node_create(h, "n", &n), 0);
	assert_int_equal(sim_node_writer_create(n, "x", &sim_Int32_type, NULL, &w), 0);
	assert_int_equal(sim_node_writer_create(n, "x", &other, NULL, &v), -EMEDIUMTYPE);
	assert_non_null(strstr(sim_why(), "channel /x carries another version of sim/Int32 in this host (hash "));
	assert_non_null(strstr(sim_why(), "rebuild both sides from the same definition"));
	sim_node_writer_destroy(w);
	sim_node_destroy(n);
}

/* ---- the component of a running function ---- */

static char seen[256];

static void see(const char *where)
{
	const char *who = sim_component_current();
	size_t len = strlen(seen);

	snprintf(seen + len, sizeof(seen) - len, "%s:%s ", where, who ? who : "-");
}

struct outer {
	struct sim_node_writer *out;
	struct sim_node_reader *in;
	struct sim_node_timer *timer;
};

static void on_message(void *user, const struct sim_message *m)
{
	(void)user;
	(void)m;
	see("reader");
}

static void on_timer(void *user, int64_t due_sim_ns, uint64_t missed)
{
	struct outer *x = user;
	struct sim_Int32 m = { .data = 1 };

	(void)due_sim_ns;
	(void)missed;
	assert_int_equal(sim_node_write_copy(x->out, &m, sizeof(m), 0), 0);
	see("timer");
}

static const struct sim_component_class inner_class;

static int outer_init(struct sim_component *c, void *self)
{
	struct sim_component_options io = {
		.size = sizeof(io), .name = "inner", .n_inputs = 1, .input = { { .channel = "/x" } }
	};
	struct sim_node *n = sim_component_node(c);
	struct outer *x = self;
	struct sim_component *inner;

	assert_int_equal(sim_component_create(h, &inner_class, &io, &inner), 0);
	see("init");
	sim_component_destroy(inner);
	see("init");
	assert_int_equal(sim_node_writer_create(n, "x", &sim_Int32_type, NULL, &x->out), 0);
	assert_int_equal(sim_node_reader_create(n, "x", NULL, NULL, on_message, x, &x->in), 0);
	return sim_node_timer_create(n, NULL, 10 * MS, true, on_timer, x, &x->timer);
}

static void outer_shutdown(struct sim_component *c, void *self)
{
	struct outer *x = self;

	(void)c;
	see("shutdown");
	sim_node_timer_destroy(x->timer);
	sim_node_reader_destroy(x->in);
	sim_node_writer_destroy(x->out);
}

static int inner_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	(void)m;
	see("proc");
	return 0;
}

static void inner_shutdown(struct sim_component *c, void *self)
{
	(void)c;
	(void)self;
	see("shutdown");
}

static const struct sim_component_class inner_class = { .abi = SIM_COMPONENT_ABI,
							.size = sizeof(inner_class),
							.name = "Inner",
							.n_inputs = 1,
							.inputs = { &sim_Int32_type },
							.proc = inner_proc,
							.shutdown = inner_shutdown };
static const struct sim_component_class outer_class = { .abi = SIM_COMPONENT_ABI,
							.size = sizeof(outer_class),
							.name = "Outer",
							.self_size = sizeof(struct outer),
							.init = outer_init,
							.shutdown = outer_shutdown };

TEST_WITH(nested_callbacks_are_attributed_to_their_components, setup, teardown)
{
	struct sim_component_options io = {
		.size = sizeof(io), .name = "behind", .n_inputs = 1, .input = { { .channel = "/x" } }
	};
	struct sim_component *c, *behind;

	seen[0] = '\0';
	assert_int_equal(make(&outer_class, NULL, &c), 0);
	assert_string_equal(seen, "init:c shutdown:inner init:c ");
	assert_int_equal(sim_component_create(h, &inner_class, &io, &behind), 0);
	seen[0] = '\0';
	assert_int_equal(sim_host_advance(h, 10 * MS), 0);
	assert_string_equal(seen, "reader:c proc:behind timer:c ");
	see("main");
	sim_component_destroy(behind);
	sim_component_destroy(c);
	assert_string_equal(seen, "reader:c proc:behind timer:c main:- shutdown:behind shutdown:c ");
}
