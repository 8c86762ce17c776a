/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods that tell what there is: channels, clients, bridges, figures of dispatch. Rates come from sampled
 * counters, so asking costs the data plane nothing.
 * Thread: simd-main.
 */
#include "conn.h"

#include "channel.h"
#include "client.h"
#include "report.h"
#include "rig.h"
#include "simd.h"
#include "err.h"
#include "near.h"
#include "jsonx.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* ---- figures: dispatch's are asked of its thread ---- */

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

static int method_list_channels(struct call *call)
{
	return ask(call, report_channels);
}

static int no_channel(const struct simd *s, const char *full)
{
	struct near n = { .word = full };
	const struct channel *ch;

	list_for_each(ch, &s->channels, link)
		if (ch->typed)
			near_offer(&n, ch->name);
	return err_set(-ENOENT, "%s: nobody has published a channel of that name; %s%s%s", full,
		       n.found ? "did you mean " : "`simctl list` shows those there are", n.found ? n.found : "",
		       n.found ? "?" : "");
}

static int method_get_channel(struct call *call)
{
	char full[CHANNEL_NAME_MAX + 1];
	struct channel *ch;
	struct parked *p;
	const char *name;
	int r = jsonx_string(call->params, "name", 4096, &name);

	if (r == 0)
		r = names_channel_full(call->conn->cl && call->conn->cl->rig ? call->conn->cl->rig->prefix : "", name,
				       full);
	if (r < 0)
		return r;
	ch = channel_find(call->s, full);
	if (!ch || !ch->typed)
		return no_channel(call->s, full);
	p = call_park(call);
	if (!p)
		return err_nomem();
	r = report_channel(call->s, full, on_report, p);
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
