/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Components for graphs of any shape: each writes the channel of its name, and its output depends on all messages it
 * has ever read, on their times, and on their order.
 */
#include <stdio.h>

#include <sim/component.h>
#include <sim/msg/Int64.h>

struct mix {
	struct sim_node_writer *out;
	uint64_t sum;
};

static int mix_init(struct sim_component *c, void *self)
{
	struct mix *x = self;
	char channel[64];

	snprintf(channel, sizeof(channel), "/%s", sim_component_name(c));
	return sim_node_writer_create(sim_component_node(c), channel, &sim_Int64_type, NULL, &x->out);
}

static void mix_in(struct mix *x, uint64_t v)
{
	x->sum = (x->sum ^ v) * 1099511628211u;
}

static int mix_put(struct sim_component *c, struct mix *x)
{
	struct sim_Int64 m;

	mix_in(x, (uint64_t)sim_component_now(c));
	m = (struct sim_Int64){ .data = (int64_t)x->sum };
	return sim_node_write_copy(x->out, &m, sizeof(m), 0);
}

static int mix(struct sim_component *c, struct mix *x, const struct sim_message *const *m, int n)
{
	for (int i = 0; i < n; i++) {
		const struct sim_Int64 *in = sim_Int64_from(m[i]->body, m[i]->body_size);

		mix_in(x, in ? (uint64_t)in->data : 0);
		mix_in(x, (uint64_t)m[i]->header.stamp_sim_ns);
	}
	return mix_put(c, x);
}

static int mix1_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	return mix(c, self, m, 1);
}

static int mix2_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	return mix(c, self, m, 2);
}

static int tick_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)m;
	return mix_put(c, self);
}

static void mix_shutdown(struct sim_component *c, void *self)
{
	(void)c;
	sim_node_writer_destroy(((struct mix *)self)->out);
}

#define CLASS(name_, n_, proc_, ...) \
	SIM_COMPONENT(name_) = { \
		.abi = SIM_COMPONENT_ABI, \
		.size = sizeof(struct sim_component_class), \
		.name = #name_, \
		.self_size = sizeof(struct mix), \
		.n_inputs = (n_), \
		.inputs = { __VA_ARGS__ }, \
		.init = mix_init, \
		.proc = (proc_), \
		.shutdown = mix_shutdown, \
	}

CLASS(Tick, 0, tick_proc, NULL);
CLASS(Mix1, 1, mix1_proc, &sim_Int64_type);
CLASS(Mix2, 2, mix2_proc, &sim_Int64_type, &sim_Int64_type);
