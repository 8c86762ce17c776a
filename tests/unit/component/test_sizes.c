/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that were built with older or newer headers: each structure that they pass has its own size in it. Thread:
 * one.
 */
#include "tests/support/sizes.h"

#include <sim/component.h>
#include <sim/msg/Int32.h>
#include <sim/param.h>

static struct sim_host *h;
static struct sim_node *n;

static int setup(void **state)
{
	struct sim_host_options o = {
		.size = sizeof(o), .name = "test", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};

	(void)state;
	return sim_host_create(&o, &h) < 0 || sim_host_start(h) < 0 || sim_node_create(h, "n", &n) < 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_node_destroy(n);
	sim_host_destroy(h);
	return 0;
}

static int hosts(const void *options, void *arg)
{
	struct sim_host *other = NULL;
	int r = sim_host_create(options, &other);

	(void)arg;
	sim_host_destroy(other);
	return r;
}

static int reads(const void *options, void *arg)
{
	struct sim_node_reader *reader = NULL;
	int r = sim_node_reader_create(n, "/a", arg, options, NULL, NULL, &reader);

	sim_node_reader_destroy(reader);
	return r;
}

static int writes(const void *options, void *arg)
{
	struct sim_node_writer *writer = NULL;
	int r = sim_node_writer_create(n, "/a", arg, options, &writer);

	sim_node_writer_destroy(writer);
	return r;
}

static int makes(const void *options, void *arg)
{
	struct sim_component *c = NULL;
	int r = sim_component_create(h, arg, options, &c);

	sim_component_destroy(c);
	return r;
}

static int declares(const void *options, void *arg)
{
	struct sim_param_value one = { .type = SIM_PARAM_INT, .as.i = 1 };
	struct sim_params *p;
	int r = sim_params_create(NULL, "other", &p);

	(void)arg;
	if (r == 0)
		r = sim_params_declare(p, "a", &one, options);
	sim_params_destroy(p);
	return r;
}

TEST_WITH(programs_built_with_other_struct_sizes_are_served, setup, teardown)
{
	static const struct sim_component_class cls = { .abi = SIM_COMPONENT_ABI,
							.size = sizeof(cls),
							.name = "Empty" };
	struct sim_host_options ho = {
		.size = sizeof(ho), .name = "other", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};
	struct sim_node_reader_options ro = { .size = sizeof(ro), .depth = 2 };
	struct sim_node_writer_options wo = { .size = sizeof(wo), .max_body = 64 };
	struct sim_component_options co = { .size = sizeof(co), .name = "c" };
	struct sim_param_options po = { .size = sizeof(po), .description = "a number" };

	sizes_check(&ho, sizeof(ho), hosts, NULL);
	sizes_check(&ro, sizeof(ro), reads, (void *)(uintptr_t)&sim_Int32_type);
	sizes_check(&wo, sizeof(wo), writes, (void *)(uintptr_t)&sim_Int32_type);
	sizes_check(&co, sizeof(co), makes, (void *)(uintptr_t)&cls);
	sizes_check(&po, sizeof(po), declares, NULL);
}
