/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of components, good and bad, for simhost. FACTOR: by how much Times multiplies; another one makes another library. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <sim/component.h>
#include <sim/msg/Int32.h>

#ifndef FACTOR
#define FACTOR 2
#endif

struct writing {
	struct sim_node_writer *out;
	int32_t n;
};

static int write_to(struct sim_component *c, struct writing *x, const char *channel)
{
	return sim_node_writer_create(sim_component_node(c), channel, &sim_Int32_type, NULL, &x->out);
}

static int put(struct writing *x, int32_t v)
{
	struct sim_Int32 m = { .data = v };

	return sim_node_write_copy(x->out, &m, sizeof(m), 0);
}

static int32_t value(const struct sim_message *m)
{
	const struct sim_Int32 *x = sim_Int32_from(m->body, m->body_size);

	return x ? x->data : 0;
}

static void shut(struct sim_component *c, void *self)
{
	(void)c;
	sim_node_writer_destroy(((struct writing *)self)->out);
}

/* ---- Count: a timer; /count ---- */

static int count_init(struct sim_component *c, void *self)
{
	return write_to(c, self, "/count");
}

static int count_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	struct writing *x = self;

	(void)c;
	(void)m;
	return put(x, ++x->n);
}

SIM_COMPONENT(Count) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Count",
	.self_size = sizeof(struct writing),
	.init = count_init,
	.proc = count_proc,
	.shutdown = shut,
};

/* ---- Times: what it reads, FACTOR times; /times ---- */

static int times_init(struct sim_component *c, void *self)
{
	if (FACTOR == 0)
		return sim_component_fail(c, -ENODEV, "nothing times nothing");
	return write_to(c, self, "/times");
}

static int times_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	return put(self, FACTOR * value(m[0]));
}

SIM_COMPONENT(Times) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Times",
	.self_size = sizeof(struct writing),
	.n_inputs = 1,
	.inputs = { &sim_Int32_type },
	.init = times_init,
	.proc = times_proc,
	.shutdown = shut,
};

/* ---- Quiet: reads ---- */

static int quiet(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	return value(m[0]) > 0 ? 0 : -EINVAL;
}

SIM_COMPONENT(Quiet) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Quiet",
	.n_inputs = 1,
	.inputs = { &sim_Int32_type },
	.proc = quiet,
};

/* ---- the bad ---- */

static int crash(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	(void)m;
	abort();
}

SIM_COMPONENT(Crash) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Crash",
	.n_inputs = 1,
	.inputs = { &sim_Int32_type },
	.proc = crash,
};

static int hang(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	(void)m;
	for (;;)
		pause();
	return 0;
}

SIM_COMPONENT(Hang) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Hang",
	.n_inputs = 1,
	.inputs = { &sim_Int32_type },
	.proc = hang,
};

static int fail(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)self;
	return sim_component_fail(c, -EDOM, "%d is no good", value(m[0]));
}

SIM_COMPONENT(Fail) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Fail",
	.n_inputs = 2,
	.inputs = { &sim_Int32_type, &sim_Int32_type },
	.proc = fail,
};
