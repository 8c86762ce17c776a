/* SPDX-License-Identifier: Apache-2.0 */
/* A component that is a class of C++: what it throws stays inside. */
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

TEST(what_a_class_throws_is_its_failure)
{
	struct sim_host_options ho = {
		.size = sizeof(ho), .name = "t", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};
	struct sim_component_options o = {
		.size = sizeof(o), .name = "picky", .n_inputs = 1, .input = { { .channel = "in" } }
	};
	struct sim_component_stats st;
	struct sim_node_reader *r;
	struct sim_node_writer *w;
	struct sim_component *c;
	struct sim_host *h;
	struct sim_node *n;
	char why[256];
	void *lib = dlopen(CXX_COMPONENT, RTLD_NOW);
	const struct sim_component_class *cls;

	if (!lib)
		fail_msg("%s", dlerror());
	cls = dlsym(lib, "sim_component_Picky");
	assert_non_null(cls);
	assert_int_equal(sim_host_create(&ho, &h), 0);
	assert_int_equal(sim_node_create(h, "n", &n), 0);
	o.config = "{\"a\": \"bad\"}";
	assert_int_equal(sim_component_create(h, cls, &o, &c), -EIO);
	assert_string_equal(sim_why(), "component picky: Init threw: a bad configuration");
	o.config = NULL;
	assert_int_equal(sim_component_create(h, cls, &o, &c), 0);
	assert_int_equal(sim_node_reader_create(n, "picked", &sim_Int32_type, NULL, NULL, NULL, &r), 0);
	assert_int_equal(sim_node_writer_create(n, "in", &sim_Int32_type, NULL, &w), 0);
	send(w, -1);
	sim_component_last_failure(c, why, sizeof(why));
	assert_string_equal(why, "component picky: Proc threw: less than nothing");
	send(w, 0);
	sim_component_last_failure(c, why, sizeof(why));
	assert_string_equal(why, "component picky: Proc threw something that is no std::exception");
	send(w, 5);
	sim_component_stats(c, &st);
	assert_int_equal(st.proc, 3);
	assert_int_equal(st.failed, 2);
	sim_node_reader_observe(r);
	assert_int_equal(sim_node_reader_count(r), 1);
	sim_component_destroy(c);
	sim_node_reader_destroy(r);
	sim_node_writer_destroy(w);
	sim_node_destroy(n);
	sim_host_destroy(h);
	dlclose(lib);
}
