/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Main's calls about bridges and routes; as dispatch_api.c.
 *
 * Thread: public functions: any; run_*(): the dispatch exec's.
 */
#include <errno.h>
#include <string.h>

#include "d_command.h"
#include "fd.h"
#include "mem.h"

LOG_TOPIC("dispatch");

static void free_bridge_object(void *object)
{
	d_bridge_free(object);
}

static void run_bridge_add(struct dispatch *d, struct d_command *c)
{
	if (d_bridge_add(d, c->object) >= 0)
		c->object = NULL;
}

static void init_bridge(struct d_bridge *b, const struct dispatch_bridge *from)
{
	b->id = from->id;
	strcpy(b->name, from->name);
	b->queue_max = from->queue ? from->queue : 256;
	b->deadline_dur_ns = from->deadline_dur_ns ? from->deadline_dur_ns : INT64_C(1000000000);
	b->kill_after_dur_ns = from->kill_after_dur_ns ? from->kill_after_dur_ns : INT64_C(5000000000);
	b->lanes_max = from->lanes_max ? from->lanes_max : DISPATCH_LANES_MAX;
	b->asked = from->lossless;
	b->comes_back = from->comes_back;
	b->limit = (struct log_limit)LOG_LIMIT(D_HOUSE_NS, 5);
	list_init(&b->free);
	list_init(&b->queue);
	list_init(&b->orphans);
	list_init(&b->aging);
	list_init(&b->late);
	list_init(&b->lanes);
	list_init(&b->routes);
}

int dispatch_bridge_add(struct dispatch *d, const struct dispatch_bridge *from)
{
	struct d_bridge *b;

	if (from->id >= DISPATCH_BRIDGES_MAX || !d_command_name_ok(from->name) || from->queue > DISPATCH_QUEUE_MAX ||
	    from->deadline_dur_ns < 0 || from->kill_after_dur_ns < 0 || from->lanes_max > DISPATCH_LANES_MAX)
		return -EINVAL;
	b = MEM_NEW(struct d_bridge);
	if (!b)
		return -ENOMEM;
	init_bridge(b, from);
	b->pool = mem_calloc(b->queue_max, sizeof(*b->pool));
	if (!b->pool) {
		d_bridge_free(b);
		return -ENOMEM;
	}
	return COMMAND(d, .run = run_bridge_add, .object = b, .free_object = free_bridge_object);
}

static const char *why_not_carried(int error)
{
	switch (error) {
	case -ENOSPC:
		return "it has as many bridges as it may have";
	case -EMSGSIZE:
		return "its definition is too long for a lane";
	default:
		return strerror(-error);
	}
}

/* Makes the text that the lane announces the channel with; -ENOMEM, -EMSGSIZE. */
static int write_route(const struct d_channel *ch, const char *options, struct d_route *rt)
{
	rt->text = mem_printf("{\"id\":%u,\"name\":\"%s\",\"max_body\":%llu,\"type\":%s,\"options\":%s}", ch->id,
			      ch->name, (unsigned long long)ch->max_body, ch->type_json, options ? options : "{}");
	if (!rt->text)
		return -ENOMEM;
	rt->text_len = (uint32_t)strlen(rt->text);
	return rt->text_len > LANE_PACKET_MAX - sizeof(struct lane_head) ? -EMSGSIZE : 0;
}

static void run_route(struct dispatch *d, struct d_command *c)
{
	struct d_channel *ch = d_command_channel(d, c->id, "route");
	struct d_bridge *b = d_command_bridge(d, c->id2, "route");
	struct d_route *rt = c->object;
	int r;

	if (!ch || !b)
		return;
	r = write_route(ch, c->text, rt);
	if (r == 0)
		r = d_route_add(ch, b, rt);
	if (r >= 0) {
		c->object = NULL;
		return;
	}
	if (r != -EEXIST)
		log_error("channel %s: %s: bridge %s does not carry it", ch->name, why_not_carried(r), b->name);
	mem_free(rt->text);
}

int dispatch_route(struct dispatch *d, uint32_t channel_id, uint32_t bridge_id, const char *options_json)
{
	struct d_route *rt;
	char *text;

	if (channel_id >= WIRE_CHANNELS_MAX || bridge_id >= DISPATCH_BRIDGES_MAX ||
	    (options_json && strlen(options_json) > DISPATCH_TEXT_MAX))
		return -EINVAL;
	rt = MEM_NEW(struct d_route);
	text = mem_strdup(options_json ? options_json : "{}");
	if (!rt || !text) {
		mem_free(rt);
		mem_free(text);
		return -ENOMEM;
	}
	return COMMAND(d, .run = run_route, .id = channel_id, .id2 = bridge_id, .object = rt, .text = text);
}

static void run_bridge_attach(struct dispatch *d, struct d_command *c)
{
	struct d_bridge *b = d_command_bridge(d, c->id, "attach");

	if (!b)
		return;
	if (b->attached) {
		log_error("bridge %s: a second process cannot attach; ignoring it", b->name);
		return;
	}
	d_bridge_attach(b, fd_steal(&c->fd[0]));
}

int dispatch_bridge_attach(struct dispatch *d, uint32_t bridge_id, int lane0_fd)
{
	if (bridge_id >= DISPATCH_BRIDGES_MAX) {
		fd_close(lane0_fd);
		return -EINVAL;
	}
	return d_command(d, (struct d_command){ .run = run_bridge_attach, .id = bridge_id, .fd = { lane0_fd, -1 } });
}

static void run_bridge_gone(struct dispatch *d, struct d_command *c)
{
	struct d_bridge *b = d_command_bridge(d, c->id, "exited");

	if (b)
		d_bridge_gone(b);
}

int dispatch_bridge_gone(struct dispatch *d, uint32_t bridge_id)
{
	return bridge_id < DISPATCH_BRIDGES_MAX ? COMMAND(d, .run = run_bridge_gone, .id = bridge_id) : -EINVAL;
}

static void run_bridge_connect(struct dispatch *d, struct d_command *c)
{
	struct d_bridge *b = d_command_bridge(d, c->id, "connect");

	if (!b)
		return;
	mem_free(b->connection);
	b->connection = c->text;
	c->text = NULL;
	b->connect_due |= c->flag;
	d_bridge_pump_due(b);
}

int dispatch_bridge_connect(struct dispatch *d, uint32_t bridge_id, const char *connection, bool now)
{
	char *text = mem_strdup(connection);

	if (connection && !text)
		return -ENOMEM;
	if (bridge_id >= DISPATCH_BRIDGES_MAX || (text && strlen(text) > DISPATCH_TEXT_MAX)) {
		mem_free(text);
		return -EINVAL;
	}
	return COMMAND(d, .run = run_bridge_connect, .id = bridge_id, .text = text, .flag = now);
}
