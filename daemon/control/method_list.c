/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods that list channels, clients, bridges and the statistics of dispatch. Rates come from sampled
 * counters, so a call costs the data plane nothing.
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
#include "printable.h"
#include "jsonx.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- clients ---- */

static json_t *exe_json(pid_t pid)
{
	char path[64], exe[PATH_MAX], fit[2 * PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	printable(fit, sizeof(fit), exe, n > 0 ? (size_t)n : 0);
	return json_string(fit);
}

static json_t *client_json(const struct client *cl)
{
	json_t *exe = exe_json(cl->pid);

	if (!exe)
		exe = json_string("?");
	return JSONX_MAKE(JX_INT("id", cl->id), JX_STR("name", cl->name),
			  JX_STR("app", cl->runtime_name[0] ? cl->runtime_name : cl->app),
			  JX_STR("role", client_role_name(cl->role)), JX_INT("pid", cl->pid), JX_INT("uid", cl->uid),
			  JX_NEW("exe", exe), JX_INT("publishers", cl->n_publishers),
			  JX_INT("subscribers", cl->n_subscribers), JX_INT("iox_generation", cl->iox_generation));
}

static int method_list_clients(struct call *call)
{
	json_t *a = json_array();
	struct client *cl;

	list_for_each(cl, &call->s->clients, link)
		json_array_append_new(a, client_json(cl));
	return call_reply(call, JSONX_MAKE(JX_NEW("clients", a)));
}

/* ---- statistics: those of dispatch come from its threads ---- */

static void on_report(void *arg, json_t *reply, int64_t begin_mono_ns)
{
	share_close(((struct parked *)arg)->share, begin_mono_ns);
	call_answer((struct parked *)arg, reply ? 0 : err_nomem(), reply);
}

static int asked(struct call *call, int r)
{
	if (r == 0)
		share_open(call->conn->share);
	return call_parked(call, r);
}

static int ask(struct call *call, int (*report)(struct simd *s, report_fn fn, void *arg))
{
	struct parked *p = call_park(call);

	return p ? asked(call, report(call->s, on_report, p)) : err_nomem();
}

static int method_list_channels(struct call *call)
{
	return ask(call, report_channels);
}

static int no_channel(const struct simd *s, const char *full)
{
	struct near n = { .word = full };
	char text[NEAR_TEXT_MAX];
	const struct channel *ch;

	list_for_each(ch, &s->channels, link)
		if (ch->typed)
			near_offer_path(&n, ch->name);
	return err_set(-ENOENT, "%s: no client has published a channel of that name; %s", full,
		       near_text(&n, "`simctl list` shows those there are", text));
}

static int method_get_channel(struct call *call)
{
	char full[CHANNEL_NAME_MAX + 1];
	struct channel *ch;
	struct parked *p;
	const struct client *cl = call->conn->cl;
	int r = channel_name_full(cl && cl->rig ? cl->rig->prefix : "", call->a.name, full);

	if (r < 0)
		return r;
	ch = channel_find(call->s, full);
	if (!ch || !ch->typed)
		return no_channel(call->s, full);
	p = call_park(call);
	if (!p)
		return err_nomem();
	return asked(call, call->a.stages && ch->open ? report_stages(call->s, ch, on_report, p)
						      : report_channel(call->s, full, on_report, p));
}

static int method_list_bridges(struct call *call)
{
	return ask(call, report_bridges);
}

static int method_get_dispatch(struct call *call)
{
	return ask(call, report_dispatch);
}

const struct method list_methods[] = {
	{ "ListChannels", method_list_channels, 0, NULL },
	{ "GetChannel", method_get_channel, 0, PARAMS(ARG_STR("name", name, TEXT_MAX), OPT_BOOL("stages", stages)) },
	{ "ListClients", method_list_clients, 0, NULL },
	{ "ListBridges", method_list_bridges, 0, NULL },
	{ "GetDispatch", method_get_dispatch, 0, NULL },
	{ 0 },
};
