/* SPDX-License-Identifier: Apache-2.0 */
/* Plain callbacks, of a library in C++, that throw where nobody catches: in init, proc or a timer of its node, as its configuration says. */
#include <stdexcept>
#include <string>

#include <sim/component.h>

static void maybe(struct sim_component *c, const char *where)
{
	if (std::string(sim_component_config(c)).find(where) != std::string::npos)
		throw std::runtime_error("nobody catches this");
}

static void on_timer(void *user, int64_t, uint64_t)
{
	maybe(static_cast<struct sim_component *>(user), "timer");
}

static int init(struct sim_component *c, void *self)
{
	maybe(c, "init");
	return sim_node_timer_create(sim_component_node(c), nullptr, 5000000, false, on_timer, c,
				     static_cast<struct sim_node_timer **>(self));
}

static int proc(struct sim_component *c, void *, const struct sim_message *const *)
{
	maybe(c, "proc");
	return 0;
}

static void shut(struct sim_component *, void *self)
{
	sim_node_timer_destroy(*static_cast<struct sim_node_timer **>(self));
}

extern "C" {
SIM_COMPONENT(Thrower) = { SIM_COMPONENT_ABI,
			   sizeof(struct sim_component_class),
			   "Thrower",
			   sizeof(struct sim_node_timer *),
			   0,
			   0,
			   {},
			   init,
			   proc,
			   shut };
}
