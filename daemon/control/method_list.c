/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods that tell what there is: channels, clients, bridges, figures of dispatch. Rates come from sampled
 * counters, so asking costs the data plane nothing.
 * Thread: simd-main.
 */
#include "control/conn.h"

#include "core/carried.h"
#include "core/channel.h"
#include "core/client.h"
#include "core/report.h"
#include "core/simd.h"
#include "err.h"
#include "jsonx.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- channels ---- */

static json_t *endpoint(const struct client *cl)
{
	return json_pack("{s:I, s:s, s:i, s:I}", "client_id", (json_int_t)cl->id, "client", cl->name, "pid",
			 (int)cl->pid, "uid", (json_int_t)cl->uid);
}

static json_t *age_json(const struct totals *t, int64_t now_mono_ns)
{
	if (!t->last_mono_ns)
		return json_null();
	return json_integer(now_mono_ns > (int64_t)t->last_mono_ns ? (now_mono_ns - (int64_t)t->last_mono_ns) / 1000000
								   : 0);
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
	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
			 "id", (json_int_t)ch->id, "name", ch->name, "type", ch->type, "hash", ch->hash, "rig",
			 ch->rig ? ch->rig->name : "", "window", (json_int_t)ch->window, "slot_size",
			 (json_int_t)ch->slot_size, "max_body", (json_int_t)ch->max_body, "hz", hz, "bytes_per_s", bps,
			 "age_ms", age_json(&t, now), "messages", (json_int_t)t.messages, "bytes", (json_int_t)t.bytes,
			 "drops", report_drops(&t), "publishers", pubs, "subscribers", subs, "bridges",
			 channel_bridges(ch), "topics", carried_of_channel(ch));
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
		r = names_channel_full(call->conn->cl && call->conn->cl->rig ? call->conn->cl->rig->prefix : "", name,
				       full);
	if (r < 0)
		return r;
	ch = channel_find(call->s, full);
	if (!ch || !ch->typed)
		return err_set(-ENOENT,
			       "%s: nobody has published a channel of that name; `simctl list` shows those there are",
			       full);
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
	return json_pack("{s:I, s:s, s:s, s:s, s:i, s:I, s:o, s:I, s:I, s:I}", "id", (json_int_t)cl->id, "name",
			 cl->name, "app", cl->runtime_name[0] ? cl->runtime_name : cl->app, "role",
			 client_role_name(cl->role), "pid", (int)cl->pid, "uid", (json_int_t)cl->uid, "exe", exe,
			 "publishers", (json_int_t)cl->n_publishers, "subscribers", (json_int_t)cl->n_subscribers,
			 "iox_generation", (json_int_t)cl->iox_generation);
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

static void on_report(void *arg, json_t *reply)
{
	call_answer((struct parked *)arg, reply ? 0 : err_nomem(), reply);
}

static int ask(struct call *call, int (*report)(struct simd *s, report_fn fn, void *arg))
{
	struct parked *p = call_park(call);
	int r;

	if (!p)
		return err_nomem();
	r = report(call->s, on_report, p);
	if (r < 0)
		call_unpark(call);
	return r;
}

static int method_list_bridges(struct call *call)
{
	return ask(call, report_bridges);
}

static int method_get_dispatch(struct call *call)
{
	return ask(call, report_dispatch);
}

#define P(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
static const char *const none[] = { NULL };

const struct method list_methods[] = {
	{ "ListChannels", method_list_channels, 0, none }, { "GetChannel", method_get_channel, 0, P("name") },
	{ "ListClients", method_list_clients, 0, none },   { "ListBridges", method_list_bridges, 0, none },
	{ "GetDispatch", method_get_dispatch, 0, none },   { 0 },
};
