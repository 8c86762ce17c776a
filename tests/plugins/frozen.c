/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_FROZEN: a plug-in as it was built against bridge ABI 2 when that was frozen, with the layouts of that day
 * written out here and no header of ours. It must load and work with every later host. Never change this file: a change
 * of the host that breaks it needs a new ABI.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct host {
	uint32_t abi, size;
	void *ctx;
	void (*log)(void *ctx, int level, const char *fmt, ...);
	const char *(*option)(void *ctx, const char *name);
	void (*status)(void *ctx, int status, const char *detail);
	void (*complete)(void *ctx, void *task, int result);
	int64_t (*now)(void *ctx);
};

struct registry {
	uint32_t abi, size;
	void *ctx;
	int (*add_publisher)(void *ctx, const char *type_name, const char *foreign);
	int (*add_subscriber)(void *ctx, const char *type_name, const char *foreign);
};

struct channel {
	uint32_t id;
	const char *name;
	const void *type;
	const char *options;
};

struct message {
	uint8_t header[56];
	uint64_t header_body_size;
	uint8_t rest[64];
	const void *body;
	size_t body_size;
};

struct option {
	const char *name, *deflt, *help;
};

struct ops {
	uint32_t abi, size;
	const char *name, *type;
	const struct option *options;
	int (*reg)(struct registry *r);
	int (*create)(const struct host *host, void **ret);
	int (*connect)(void *b, const char *connection);
	void (*disconnect)(void *b);
	int (*status)(const void *b);
	int (*open)(void *b, const struct channel *ch, void **ret);
	void (*close)(void *b, void *t);
	int (*publish)(void *b, void *t, const struct message *m, void *task);
	void (*destroy)(void *b);
};

enum { DISCONNECTED = 0, CONNECTED = 3 };

struct bridge {
	const struct host *host;
	int status, mixed;
	unsigned n;
};

static const struct option options[] = { { "greeting", "hello", "told at connect" }, { NULL, NULL, NULL } };

static int reg(struct registry *r)
{
	return r->abi == 2 ? r->add_publisher(r->ctx, "*", "anything") : -1;
}

static int create(const struct host *host, void **ret)
{
	struct bridge *b = calloc(1, sizeof(*b));

	if (!b || host->abi != 2 || host->size < sizeof(*host)) {
		free(b);
		return -1;
	}
	b->host = host;
	*ret = b;
	return 0;
}

static int connect_it(void *p, const char *connection)
{
	struct bridge *b = p;

	b->mixed = connection[0] == 'm';
	b->status = CONNECTED;
	b->host->status(b->host->ctx, CONNECTED, b->host->option(b->host->ctx, "greeting"));
	b->host->log(b->host->ctx, 3, "connected to %s", connection);
	return 0;
}

static void disconnect(void *p)
{
	struct bridge *b = p;

	b->status = DISCONNECTED;
	b->host->status(b->host->ctx, DISCONNECTED, "");
}

static int status(const void *p)
{
	return ((const struct bridge *)p)->status;
}

static int open_it(void *p, const struct channel *ch, void **ret)
{
	*ret = p;
	return ch->name[0] == '/' ? 0 : -1;
}

static void close_it(void *p, void *t)
{
	(void)p;
	(void)t;
}

/* Done; connected to "mixed": done, then pending, then failed, and so on. */
static int publish(void *p, void *t, const struct message *m, void *task)
{
	struct bridge *b = p;

	(void)t;
	if (!m->body || m->body_size != m->header_body_size)
		return -22;
	if (!b->mixed || !task)
		return 0;
	switch (b->n++ % 3) {
	case 0:
		return 0;
	case 1:
		b->host->complete(b->host->ctx, task, 0);
		return 1;
	default:
		return -5;
	}
}

__attribute__((visibility("default"))) const struct ops *sim_bridge_plugin(void);

const struct ops *sim_bridge_plugin(void)
{
	static const struct ops ops = {
		.abi = 2,
		.size = sizeof(ops),
		.name = "frozen",
		.type = "bridge ABI 2 of its first day",
		.options = options,
		.reg = reg,
		.create = create,
		.connect = connect_it,
		.disconnect = disconnect,
		.status = status,
		.open = open_it,
		.close = close_it,
		.publish = publish,
		.destroy = free,
	};

	return &ops;
}
