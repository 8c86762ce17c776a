/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plug-ins that simbridge must refuse, one per BAD_ macro the object is compiled with; two are good: GOOD, and OLD, as the
 * first ABI had it. Thread: none.
 */
#include <errno.h>
#include <stdlib.h>

#include <sim/bridge.h>

struct sim_bridge {
	const struct sim_bridge_host *host;
	enum sim_bridge_status status;
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
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->host = host;
	return 0;
}

static void say(struct sim_bridge *b, enum sim_bridge_status status)
{
	b->status = status;
	b->host->status(b->host->ctx, status, "");
}

static int good_connect(struct sim_bridge *b, const char *connection)
{
	(void)connection;
	say(b, SIM_BRIDGE_CONNECTED);
	return 0;
}

static void good_disconnect(struct sim_bridge *b)
{
	say(b, SIM_BRIDGE_DISCONNECTED);
}

static enum sim_bridge_status good_status(const struct sim_bridge *b)
{
	return b->status;
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
static int good_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *msg,
			struct sim_task *task)
{
	(void)b;
	(void)t;
	(void)msg;
	(void)task;
	return 0;
}
#endif

static void good_destroy(struct sim_bridge *b)
{
	free(b);
}

#ifdef BAD_OLD
static int beyond_flush(struct sim_bridge *b)
{
	(void)b;
	abort();
}

static void beyond_listen(struct sim_bridge *b, const char *channel, int on)
{
	(void)b;
	(void)channel;
	(void)on;
	abort();
}

static void beyond_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	(void)b;
	(void)name;
	(void)type;
	abort();
}
#endif

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
#if defined(BAD_SIZE)
	.size = 24,
#elif defined(BAD_OLD)
	.size = offsetof(struct sim_bridge_ops, flush), /* the first table there was; what follows is not there */
	.flush = beyond_flush,
	.listen = beyond_listen,
	.service = beyond_service,
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
