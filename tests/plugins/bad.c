/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plug-ins that simbridge must refuse, one per BAD_ macro the object is compiled with; with none of them, a small
 * good one. Thread: none.
 */
#include <errno.h>
#include <stdlib.h>

#include <sim/bridge.h>

struct sim_bridge {
	int unused;
};

static int good_reg(struct sim_bridge_registry *r)
{
#ifdef BAD_REG
	(void)r;
	return -EDOM;
#else
	return r->add_publisher(r->ctx, "sim/Imu", "test/Imu");
#endif
}

static int good_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	(void)host;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static int good_connect(struct sim_bridge *b, const char *connection)
{
	(void)b;
	(void)connection;
	return 0;
}

static void good_disconnect(struct sim_bridge *b)
{
	(void)b;
}

static enum sim_bridge_status good_status(const struct sim_bridge *b)
{
	(void)b;
	return SIM_BRIDGE_CONNECTED;
}

static int good_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	(void)ch;
	*ret = (struct sim_bridge_topic *)(void *)b;
	return 0;
}

static void good_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	(void)b;
	(void)t;
}

#ifndef BAD_NULL
static int good_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_slot *slot,
			struct sim_task *task)
{
	(void)b;
	(void)t;
	(void)slot;
	(void)task;
	return 0;
}
#endif

static void good_destroy(struct sim_bridge *b)
{
	free(b);
}

static const struct sim_bridge_option good_options[] = {
	{ "needed", NULL, "an option without a default" },
	{ "spare", "7", "an option with one" },
	{ "tree", "{}", "one that takes an object" },
	{ "row", "[]", "one that takes a list" },
	{ NULL, NULL, NULL },
};

/* one of the bad plug-ins hands out nothing */
static const struct sim_bridge_ops ops __attribute__((unused)) = {
#ifdef BAD_ABI
	.abi = SIM_BRIDGE_ABI + 41,
#else
	.abi = SIM_BRIDGE_ABI,
#endif
#ifdef BAD_SIZE
	.size = 24,
#else
	.size = sizeof(ops),
#endif
	.name = "good",
	.type = "a test",
	.options = good_options,
	.reg = good_reg,
	.create = good_create,
	.connect = good_connect,
	.disconnect = good_disconnect,
	.status = good_status,
	.open = good_open,
	.close = good_close,
#ifndef BAD_NULL
	.publish = good_publish,
#endif
	.destroy = good_destroy,
};

#ifdef BAD_SYMBOL
#define ENTRY some_other_symbol
#else
#define ENTRY sim_bridge_plugin
#endif

SIM_API const struct sim_bridge_ops *ENTRY(void);

const struct sim_bridge_ops *ENTRY(void)
{
#ifdef BAD_NOTHING
	return NULL;
#else
	return &ops;
#endif
}
