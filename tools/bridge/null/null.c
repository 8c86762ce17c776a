/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_null counts the messages of each channel and sends them nowhere. Copy it to write a bridge; with simd installed:
 *
 *     cp -r "$(pkg-config --variable=examplesdir simclient)/bridge" mine && make -C mine check
 *     cc -shared -fPIC -o bridge_mine.so mine.c $(pkg-config --cflags --libs simclient)    # by hand
 *
 * A rig names it: { "name": "out", "plugin": "/path/to/bridge_mine.so", "connection": "host:port" }. The contract, with the
 * optional members (options, check, flush, listen, service), is <sim/bridge.h>.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <sim/bridge.h>

struct sim_bridge {                         /* one connection */
	const struct sim_bridge_host *host; /* valid until destroy() */
	_Atomic int status;                 /* enum sim_bridge_status; status() may be called on any thread */
};

struct sim_bridge_topic { /* one channel, from open() to close() */
	const char *name;
	_Atomic unsigned long messages; /* publish() of one channel may run on several threads at once */
};

static int null_reg(struct sim_bridge_registry *r)
{
	return r->add_publisher(r->ctx, "*", "nothing"); /* every type; else one call each: "sim/Imu", "far_side/Imu" */
}

static int null_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->host = host;
	*ret = b;
	return 0;
}

static void report(struct sim_bridge *b, enum sim_bridge_status status, const char *detail)
{
	atomic_store(&b->status, (int)status);
	b->host->status(b->host->ctx, status, detail);
}

/*
 * Must not block: report CONNECTING here and CONNECTED from a thread of yours; report UNEXPECTEDLY_DISCONNECTED to be
 * called again.
 */
static int null_connect(struct sim_bridge *b, const char *connection)
{
	report(b, SIM_BRIDGE_CONNECTED, connection);
	return 0;
}

static void null_disconnect(struct sim_bridge *b)
{
	report(b, SIM_BRIDGE_DISCONNECTED, "");
}

static enum sim_bridge_status null_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

/*
 * channel->type has the field table, channel->options the options of the rig. -ENOTSUP: such messages cannot be sent.
 */
static int null_open(struct sim_bridge *b, const struct sim_bridge_channel *channel, struct sim_bridge_topic **ret)
{
	struct sim_bridge_topic *t = calloc(1, sizeof(*t));

	(void)b;
	if (!t)
		return -ENOMEM;
	t->name = channel->name; /* valid until close() */
	*ret = t;
	return 0;
}

static void null_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	b->host->log(b->host->ctx, 2, "%s: %lu messages", t->name, atomic_load(&t->messages));
	free(t);
}

/*
 * Sends m->body, of m->body_size bytes: read it in place, after sim_msg_check(). Returns 0 (sent), a negative errno
 * (failed), or 1 (pending): then m is valid until host->complete(host->ctx, task, result), which must be called once,
 * from any thread. /clock has no task.
 */
static int null_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
			struct sim_task *task)
{
	(void)m;
	/* after converting; in lock-step waits for the message's turn to be written */
	if (SIM_BRIDGE_HOST_HAS(b->host, in_order))
		b->host->in_order(b->host->ctx, task);
	atomic_fetch_add(&t->messages, 1);
	return 0;
}

static void null_destroy(struct sim_bridge *b) /* all topics are closed; answer pending tasks */
{
	free(b);
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "null",
		.type = "counts and discards",
		.reg = null_reg,
		.create = null_create,
		.connect = null_connect,
		.disconnect = null_disconnect,
		.status = null_status,
		.open = null_open,
		.close = null_close,
		.publish = null_publish,
		.destroy = null_destroy,
		.flags = SIM_BRIDGE_IN_ORDER,
	};

	return &ops;
}
