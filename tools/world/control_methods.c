/* SPDX-License-Identifier: Apache-2.0 */
/* See control.h: the methods of io.simd.World. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "err.h"
#include "jsonx.h"
#include "metrics.h"
#include "printable.h"
#include "varlink.h"

#define INTERFACE    "io.simd.World"
#define PAGE         200u /* clients per answer: bounds the cost for a tick */
#define REASON_MAX   200
#define KICKED       "the operator has ended its session"
#define ERROR_FAILED INTERFACE ".Failed"

extern const char world_interface[];

struct params {
	int64_t after, connection;
	const char *reason;
};

struct call {
	struct world *w;
	int64_t now_mono_ns;
	struct params a;
	json_t *reply;
};

struct method {
	const char *name;
	int (*run)(struct call *call);
	const struct jsonx_field *params;
};

static int reply(struct call *call, json_t *j)
{
	call->reply = j;
	return j ? 0 : err_nomem();
}

static json_t *hex(uint64_t v)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, v);
	return json_string(text);
}

static json_t *known(int64_t ns)
{
	return ns < 0 ? json_null() : json_integer(ns);
}

/* ---- Status ---- */

static json_t *refused_json(const struct world_info *i)
{
	return JSONX_MAKE(JX_INT("not_owner", i->counters.not_owner), JX_INT("stale", i->counters.stale),
			  JX_INT("gone", i->counters.gone), JX_INT("full", i->counters.full),
			  JX_INT("ahead", i->ahead));
}

static int method_status(struct call *call)
{
	struct world_info i;

	world_info(call->w, &i);
	return reply(
		call,
		JSONX_MAKE(JX_NEW("world",
				  JSONX_MAKE(JX_STR("version", SIM_VERSION), JX_NEW("number", hex(i.number)),
					     JX_INT("tick", i.tick), JX_NEW("hash", hex(i.hash)),
					     JX_INT("time_sim_ns", i.time_sim_ns), JX_INT("step_dur_ns", i.step_dur_ns),
					     JX_REAL("pace", i.pace_permille / 1e3), JX_INT("waited_for", i.waited_for),
					     JX_INT("connections", i.sessions), JX_INT("clients", i.clients),
					     JX_INT("regulating", i.regulating), JX_INT("objects", i.objects),
					     JX_INT("updates", i.counters.updates), JX_NEW("refused", refused_json(&i)),
					     JX_INT("notes", i.notes), JX_INT("notes_lost", i.notes_lost)))));
}

/* ---- Clients ---- */

static const char *role_text(enum barrier_role role)
{
	return role == BARRIER_REGULATING ? "regulating" : role == BARRIER_CONSTRAINED ? "constrained" : "observer";
}

static const char *rung_text(enum barrier_rung rung)
{
	static const char *const text[] = { [BARRIER_IN_TIME] = "in_time",
					    [BARRIER_WARNED] = "warned",
					    [BARRIER_RESENT] = "resent",
					    [BARRIER_DEMOTED] = "demoted",
					    [BARRIER_OUT] = "demoted" };

	return text[rung];
}

static json_t *client_json(const struct session *s, int64_t now_mono_ns)
{
	struct session_rates r;
	struct session_info i;

	session_info(s, &i);
	session_rates(s, now_mono_ns, &r);
	return JSONX_MAKE(JX_INT("connection", i.connection), JX_STR("name", i.name), JX_STR("role", role_text(i.role)),
			  JX_STR("rung", rung_text(i.barrier.rung)), JX_INT("lag", i.lag),
			  JX_REAL("ticks_per_s", r.ticks_per_s), JX_NEW("rtt_ns", known(i.barrier.rtt_dur_ns)),
			  JX_NEW("work_ns", known(i.barrier.work_dur_ns)), JX_INT("objects", i.objects),
			  JX_INT("bytes_in", i.bytes_in), JX_INT("bytes_out", i.bytes_out),
			  JX_REAL("bytes_in_per_s", r.bytes_in_per_s), JX_REAL("bytes_out_per_s", r.bytes_out_per_s),
			  JX_INT("queued_bytes", i.queued), JX_INT("ticks", i.ticks), JX_INT("skipped", i.skipped),
			  JX_INT("updates", i.updates), JX_INT("refused", i.refused), JX_BOOL("datagrams", i.udp),
			  JX_INT("datagrams_in", i.datagrams_in), JX_INT("datagrams_out", i.datagrams_out),
			  JX_INT("frames_lost", i.datagrams_lost));
}

static int method_clients(struct call *call)
{
	const struct session *s = world_next(call->w, (uint32_t)call->a.after);
	json_t *list = json_array();
	uint32_t last = 0;

	for (unsigned n = 0; s && n < PAGE; n++, s = world_next(call->w, last)) {
		struct session_info i;

		session_info(s, &i);
		last = i.connection;
		if (json_array_append_new(list, client_json(s, call->now_mono_ns)) < 0) {
			json_decref(list);
			return err_nomem();
		}
	}
	return reply(call, JSONX_MAKE(JX_NEW("clients", list), JX_NEW("next", s ? json_integer(last) : json_null())));
}

/* ---- Kick ---- */

static int method_kick(struct call *call)
{
	const char *reason = call->a.reason ? call->a.reason : "", *why = KICKED;
	uint32_t connection = (uint32_t)call->a.connection;
	const struct session *s = world_next(call->w, connection - 1);
	char name[64], sentence[sizeof(KICKED) + REASON_MAX + 2];
	struct session_info i = { 0 };

	if (!printable_is(reason, strlen(reason)))
		return err_set(-EINVAL, "reason: only printable characters are allowed");
	if (s)
		session_info(s, &i);
	snprintf(name, sizeof(name), "%s", i.name ? i.name : "");
	if (*reason) {
		snprintf(sentence, sizeof(sentence), KICKED ": %s", reason);
		why = sentence;
	}
	if (world_kick(call->w, connection, why) < 0)
		return err_set(-ENOENT, "no client with connection %u takes part", connection);
	return reply(call, JSONX_MAKE(JX_STR("name", name)));
}

/* ---- Metrics ---- */

static int method_metrics(struct call *call)
{
	char *text = metrics_text(call->w);
	json_t *j = text ? JSONX_MAKE(JX_STR("text", text)) : NULL;

	free(text);
	return reply(call, j);
}

/* ---- calls ---- */

static const struct method methods[] = {
	{ "Status", method_status, NULL },
	{ "Clients", method_clients,
	  (const struct jsonx_field[]){
		  { "after", JSONX_INT, true, offsetof(struct params, after), .max = UINT32_MAX },
		  { 0 },
	  } },
	{ "Kick", method_kick,
	  (const struct jsonx_field[]){
		  { "connection", JSONX_INT, .off = offsetof(struct params, connection), .min = 1, .max = UINT32_MAX },
		  { "reason", JSONX_STRING, true, offsetof(struct params, reason), .max = REASON_MAX },
		  { 0 },
	  } },
	{ "Metrics", method_metrics, NULL },
};

static const struct method *find(const char *full)
{
	size_t n = strlen(INTERFACE ".");

	if (strncmp(full, INTERFACE ".", n) != 0)
		return NULL;
	for (unsigned i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(methods[i].name, full + n) == 0)
			return &methods[i];
	return NULL;
}

static int run(struct world *w, struct varlink *v, const struct method *m, const struct varlink_request *req,
	       int64_t now_mono_ns)
{
	struct call call = { .w = w, .now_mono_ns = now_mono_ns };
	char why[ERR_WHY_MAX];
	int r;

	err_clear();
	r = jsonx_read(req->params, m->params, &call.a);
	if (r == 0)
		r = m->run(&call);
	if (req->oneway)
		json_decref(call.reply);
	if (req->oneway)
		return 0;
	if (r == 0)
		return varlink_queue_reply(v, call.reply, false, NULL, 0);
	snprintf(why, sizeof(why), "%s", err_why());
	return varlink_queue_failure(v, ERROR_FAILED, r, why);
}

int control_answer(struct world *w, struct varlink *v, const struct varlink_msg *msg, int64_t now_mono_ns)
{
	static const struct varlink_interface interfaces[] = { { INTERFACE, world_interface }, { 0 } };
	static const struct varlink_service service = { "simd", "sim-world", SIM_VERSION, "https://simd.invalid/",
							interfaces };
	struct varlink_request req;
	const struct method *m;
	int r = varlink_msg_request(msg, &req);

	if (r == 0)
		r = varlink_service_handle(&service, v, &req);
	if (r != 0)
		return r < 0 ? r : 0;
	m = find(req.method);
	if (m)
		return run(w, v, m, &req, now_mono_ns);
	return req.oneway ? 0 : varlink_queue_method_not_found(v, req.method);
}
