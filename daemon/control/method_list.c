/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods that tell what there is: channels, clients, bridges, figures of dispatch. Rates come from sampled
 * counters, so asking costs the data plane nothing.
 * Thread: simd-main.
 */
#include "control/conn.h"

#include "core/bridge.h"
#include "core/channel.h"
#include "core/client.h"
#include "core/simd.h"
#include "core/dispatch.h"
#include "err.h"
#include "jsonx.h"
#include "mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- channels ---- */

static json_t *endpoint(const struct client *cl)
{
	return json_pack("{s:I, s:s, s:i, s:I}", "client_id", (json_int_t)cl->id, "client", cl->name, "pid", (int)cl->pid, "uid",
			 (json_int_t)cl->uid);
}

static json_t *drops_json(const struct totals *t)
{
	json_t *o = json_object();

	for (unsigned i = 1; i < SIM_REASON_COUNT; i++) {
		if (t->dropped[i])
			json_object_set_new(o, sim_reason_name((enum sim_reason)i), json_integer((json_int_t)t->dropped[i]));
	}
	return o;
}

static json_t *age_json(const struct totals *t, int64_t now_mono_ns)
{
	if (!t->last_mono_ns)
		return json_null();
	return json_integer(now_mono_ns > (int64_t)t->last_mono_ns ? (now_mono_ns - (int64_t)t->last_mono_ns) / 1000000 : 0);
}

static json_t *channel_json(const struct channel *ch)
{
	int64_t now = exec_now(ch->s->x);
	json_t *pubs = json_array(), *subs = json_array();
	struct publisher *p;
	struct subscriber *sub;
	struct totals t;
	double hz, bps;

	channel_totals(ch, &t);
	rate_get(&ch->rate, now, t.messages, t.bytes, &hz, &bps);
	list_for_each(p, &ch->publishers, in_channel)
		json_array_append_new(pubs, endpoint(p->cl));
	list_for_each(sub, &ch->subscribers, in_channel)
		json_array_append_new(subs, endpoint(sub->cl));
	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "id",
			 (json_int_t)ch->id, "name", ch->name, "type", ch->type, "hash", ch->hash, "rig", ch->rig ? ch->rig->name : "",
			 "window", (json_int_t)ch->window, "slot_size", (json_int_t)ch->slot_size, "max_body", (json_int_t)ch->max_body,
			 "hz", hz, "bytes_per_s", bps, "age_ms", age_json(&t, now), "messages", (json_int_t)t.messages, "bytes",
			 (json_int_t)t.bytes, "drops", drops_json(&t), "publishers", pubs, "subscribers", subs, "bridges",
			 channel_bridges(ch));
}

static int method_list_channels(struct call *call)
{
	json_t *a = json_array();
	struct channel *ch;

	list_for_each(ch, &call->s->channels, link) {
		if (!ch->replaced)
			json_array_append_new(a, channel_json(ch));
	}
	call->reply = json_pack("{s:I, s:o}", "mono_ns", (json_int_t)exec_now(call->s->x), "channels", a);
	return call->reply ? 0 : err_nomem();
}

static int method_get_channel(struct call *call)
{
	char full[CHANNEL_NAME_MAX + 1];
	struct channel *ch;
	const char *name;
	json_t *type;
	int r = jsonx_string(call->params, "name", 4096, &name);

	if (r == 0)
		r = names_channel_full(call->conn->cl && call->conn->cl->rig ? call->conn->cl->rig->prefix : "", name, full);
	if (r < 0)
		return r;
	ch = channel_find(call->s, full);
	if (!ch || !ch->typed)
		return err_set(-ENOENT, "%s: nobody has published a channel of that name; `simctl list` shows those there are", full);
	type = json_loads(ch->type_json, 0, NULL);
	call->reply = json_pack("{s:o, s:o}", "channel", channel_json(ch), "type", type);
	return call->reply ? 0 : err_nomem();
}

/* ---- clients ---- */

static json_t *exe_json(pid_t pid)
{
	char path[64], exe[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	return json_stringn_nocheck(exe, n > 0 ? (size_t)n : 0);
}

static json_t *client_json(const struct client *cl)
{
	json_t *exe = exe_json(cl->pid);

	if (!exe)
		exe = json_string("?");
	return json_pack("{s:I, s:s, s:s, s:s, s:i, s:I, s:o, s:I, s:I, s:I}", "id", (json_int_t)cl->id, "name", cl->name, "app",
			 cl->runtime_name[0] ? cl->runtime_name : cl->app, "role", client_role_name(cl->role), "pid", (int)cl->pid,
			 "uid", (json_int_t)cl->uid, "exe", exe, "publishers", (json_int_t)cl->n_publishers, "subscribers",
			 (json_int_t)cl->n_subscribers, "iox_generation", (json_int_t)cl->iox_generation);
}

static int method_list_clients(struct call *call)
{
	json_t *a = json_array();
	struct client *cl;

	list_for_each(cl, &call->s->clients, link)
		json_array_append_new(a, client_json(cl));
	call->reply = json_pack("{s:o}", "clients", a);
	return call->reply ? 0 : err_nomem();
}

/* ---- bridges and dispatch: the figures are asked of the dispatch thread ---- */

static const struct dispatch_bridge_stats *stats_of(const struct dispatch_stats *st, uint32_t id)
{
	static const struct dispatch_bridge_stats nothing;

	for (uint32_t i = 0; i < st->n_bridges; i++) {
		if (st->bridges[i].id == id)
			return &st->bridges[i];
	}
	return &nothing;
}

static json_t *carried(const struct bridge *b)
{
	json_t *a = json_array();
	struct channel *ch;

	list_for_each(ch, &b->s->channels, link) {
		if (ch->typed && !ch->replaced && bridge_carries(b, ch))
			json_array_append_new(a, json_string(ch->name));
	}
	return a;
}

/* "bridge_logging.so" and "logging" are both of type logging. */
static void type_of(const struct bridge *b, char *ret, size_t size)
{
	const char *base = strrchr(b->plugin, '/');
	size_t n;

	base = base ? base + 1 : b->plugin;
	if (strncmp(base, "bridge_", 7) == 0)
		base += 7;
	snprintf(ret, size, "%s", base);
	n = strlen(ret);
	if (n > 3 && strcmp(ret + n - 3, ".so") == 0)
		ret[n - 3] = '\0';
}

static json_t *bridge_json(const struct bridge *b, const struct dispatch_bridge_stats *d)
{
	const struct simd *s = b->s;
	uint32_t restarts = s->ops && s->ops->bridge_restarts ? s->ops->bridge_restarts(s->user, b->name) : (uint32_t)d->restarts;
	char type[64];

	type_of(b, type, sizeof(type));
	return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "name",
			 b->name, "type", type, "rig", b->rig->name, "plugin", b->plugin, "pid", (int)b->pid, "status",
			 sim_bridge_status_name(b->status), "detail", b->detail, "connection", b->connection, "start",
			 b->external ? "external" : "simd", "lanes", (json_int_t)d->lanes, "queued", (json_int_t)d->queued, "held",
			 (json_int_t)d->held, "attempted", (json_int_t)d->attempted, "sent", (json_int_t)d->sent, "failed",
			 (json_int_t)d->failed, "dropped", (json_int_t)d->dropped, "bytes", (json_int_t)d->reported_bytes, "restarts",
			 (json_int_t)restarts, "channels", carried(b));
}

static void on_bridge_stats(void *arg, const struct dispatch_stats *st)
{
	struct parked *p = (struct parked *)arg;
	json_t *a = json_array();
	struct bridge *b;

	if (p->conn) {
		list_for_each(b, &p->conn->s->bridges, link)
			json_array_append_new(a, bridge_json(b, stats_of(st, b->id)));
	}
	call_answer(p, 0, json_pack("{s:o}", "bridges", a));
}

static json_t *dispatch_json(const struct simd *s, const struct dispatch_stats *st)
{
	json_t *chans = json_array();

	for (uint32_t i = 0; i < st->n_channels; i++) {
		const struct dispatch_channel_stats *c = &st->channels[i];
		struct totals t = { 0 };

		if (c->id >= WIRE_CHANNELS_MAX || !s->by_id[c->id])
			continue;
		memcpy(t.dropped, c->failed, sizeof(t.dropped));
		json_array_append_new(chans, json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "name", s->by_id[c->id]->name, "in_flight",
						       (json_int_t)c->in_flight, "accepted", (json_int_t)c->accepted, "completed",
						       (json_int_t)c->completed, "local", (json_int_t)c->local, "failed", drops_json(&t)));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I}, s:{s:I, s:I}, s:o}", "threads", (json_int_t)st->threads,
			 "lanes", (json_int_t)st->lanes, "lanes_max", (json_int_t)st->lanes_max, "wakeups", (json_int_t)st->wakeups,
			 "packets_out", (json_int_t)st->packets_out, "packets_in", (json_int_t)st->packets_in, "invalid",
			 (json_int_t)st->invalid, "queue_ns", "p50", (json_int_t)st->queue_p50_dur_ns, "p99",
			 (json_int_t)st->queue_p99_dur_ns, "publish_ns", "p50", (json_int_t)st->publish_p50_dur_ns, "p99",
			 (json_int_t)st->publish_p99_dur_ns, "channels", chans);
}

static void on_dispatch_stats(void *arg, const struct dispatch_stats *st)
{
	struct parked *p = (struct parked *)arg;

	call_answer(p, 0, p->conn ? json_pack("{s:o}", "dispatch", dispatch_json(p->conn->s, st)) : NULL);
}

static int ask_dispatch(struct call *call, dispatch_stats_fn fn)
{
	struct parked *p = call_park(call);
	int r;

	if (!p)
		return err_nomem();
	r = dispatch_stats(call->s->dispatch, fn, p);
	if (r < 0)
		call_unpark(call);
	return r;
}

static int method_list_bridges(struct call *call)
{
	return ask_dispatch(call, on_bridge_stats);
}

static int method_get_dispatch(struct call *call)
{
	return ask_dispatch(call, on_dispatch_stats);
}

#define P(...) (const char *const[]){ __VA_ARGS__, NULL }
static const char *const none[] = { NULL };

const struct method list_methods[] = {
	{ "ListChannels", method_list_channels, 0, none },
	{ "GetChannel", method_get_channel, 0, P("name") },
	{ "ListClients", method_list_clients, 0, none },
	{ "ListBridges", method_list_bridges, 0, none },
	{ "GetDispatch", method_get_dispatch, 0, none },
	{ 0 },
};
