/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of libsimclient's sessions: Hello, Advertise, Subscribe, tokens, Events, the driver, bridges. Thread: simd-main. */
#include "conn.h"

#include "bridge.h"
#include "channel.h"
#include "client.h"
#include "pubsub.h"
#include "rig.h"
#include "session.h"
#include "simd.h"
#include "timekeeper.h"
#include "token.h"
#include "err.h"
#include "fd.h"
#include "jsonx.h"
#include "mem.h"
#include "wire/pages.h"

#include <errno.h>
#include <sim/step.h>

#define VERSION_MAX 64

/* ---- Hello, Attached, Goodbye ---- */

static json_t *fds_json(const struct session_fds *f)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < f->n; i++)
		json_array_append_new(a, json_string(f->name[i]));
	return a;
}

static json_t *hello_json(const struct call *call, const struct session_fds *f)
{
	const struct client *cl = call->conn->cl;
	const struct simd *s = call->s;

	return JSONX_MAKE(JX_INT("client_id", cl->id), JX_STR("simd_id", s->id_text), JX_STR("runtime", s->runtime_dir),
			  JX_STR("plane", s->plane), JX_STR("version", SIM_VERSION),
			  JX_STR("backend", call_backend(call)), JX_INT("iox_generation", s->dataplane.generation),
			  JX_STR("app", cl->app), JX_STR("prefix", cl->rig ? cl->rig->prefix : ""),
			  JX_INT("max_loan", pools_max_slot(&s->pools)),
			  JX_INT("dispatch_wait_ms", conf_int(s->root, "dispatch.wait_ms")),
			  JX_NEW("fds", fds_json(f)));
}

/* The client's process has exited: ends the input, so that calls sent before are still read. */
static void hang_up(struct client **slot)
{
	(void)shutdown(container_of(slot, struct conn, cl)->fd, SHUT_RDWR);
}

static int method_hello(struct call *call)
{
	const char *bridge = call->a.bridge;
	struct conn *c = call->conn;
	struct session_hello h = { call->a.name, call->a.role, c->cred.pid, c->cred.uid, c->fd, c->accepted_mono_ns };
	struct session_fds fds;
	int r;

	if (c->cl)
		return err_set(-EINVAL, "this connection has called Hello already, as %s", c->cl->name);
	if (bridge && !bridge_find(call->s, bridge))
		return err_set(-ENOENT, "no rig has a bridge \"%.60s\"; `simctl bridge list` shows those there are",
			       bridge);
	r = session_create(call->s, &h, &c->cl, &fds);
	if (r < 0)
		return r;
	c->cl->slot = &c->cl;
	c->cl->hang_up = hang_up;
	for (unsigned i = 0; i < fds.n; i++)
		call->fds[call->n_fds++] = fds.v[i];
	return call_reply(call, hello_json(call, &fds));
}

static int method_attached(struct call *call)
{
	return session_attached(call->conn->cl, (uint32_t)call->a.iox_generation, call->a.app);
}

static int method_ready(struct call *call)
{
	timekeeper_ready(call->s->time, call->conn->cl);
	return 0;
}

static int method_goodbye(struct call *call)
{
	call->conn->cl->leaving = true;
	return 0;
}

/* ---- publishers, subscribers, tokens ---- */

/* Bytes of a class's memory that a client should map before use; small classes do not need it. */
static int64_t memory_bytes(const struct simd *s, int cls)
{
	if (cls < 0 || s->pools.c[cls].size < 64 * 1024)
		return 0;
	return pools_backed(&s->pools, cls) * pools_chunk_bytes(&s->pools, cls);
}

static int64_t memory_at(const struct simd *s, int cls)
{
	return cls >= 0 ? pools_at(&s->pools, cls) : 0;
}

/* Slots that a publisher's client can loan at once: all of its slots but one, which holds the last message sent. */
static int64_t loans_of(const struct simd *s, const struct publisher *p)
{
	return pools_per_publisher(&s->pools, p->pool) - 1;
}

static int method_advertise(struct call *call)
{
	const struct advertise a = { call->a.channel, call->a.definition, call->a.max_body, call->a.flags,
				     call->a.host };
	struct publisher *p;
	int bell, r = pubsub_advertise(call->conn->cl, &a, &p, &bell);

	if (r < 0)
		return r;
	return call_reply(call,
			  JSONX_MAKE(JX_STR("channel", p->ch->name), JX_INT("channel_id", p->ch->id),
				     JX_INT("publisher_id", p->id), JX_INT("row", p->row),
				     JX_INT("window", p->ch->window), JX_INT("slot_size", p->ch->slot_size),
				     JX_INT("shard", p->ch->shard), JX_BOOL("local", p->flags & ADVERTISE_LOCAL),
				     JX_INT("loans", loans_of(call->s, p)),
				     JX_INT("memory_at", memory_at(call->s, p->pool)),
				     JX_INT("memory_bytes", memory_bytes(call->s, p->pool)),
				     JX_NEW("fds", bell < 0 ? json_array() : call_give_fd(call, bell, "doorbell"))));
}

struct enlarged {
	struct parked *parked;
	json_t *reply;
};

static void on_enlarged(void *arg)
{
	struct enlarged *e = (struct enlarged *)arg;

	call_answer(e->parked, e->reply ? 0 : err_nomem(), e->reply);
	mem_free(e);
}

static json_t *enlarged_json(const struct simd *s, const struct publisher *p)
{
	return JSONX_MAKE(JX_INT("max_body", p->max_body), JX_INT("window", p->ch->window),
			  JX_INT("slot_size", p->ch->slot_size), JX_INT("loans", loans_of(s, p)),
			  JX_INT("memory_at", memory_at(s, p->pool)), JX_INT("memory_bytes", memory_bytes(s, p->pool)));
}

/* Answers when dispatch accepts the larger messages: the client publishes as soon as it has the answer. */
static int answer_when_enlarged(struct call *call, const struct publisher *p)
{
	struct enlarged *e = MEM_NEW(struct enlarged);
	int r = e && (e->parked = call_park(call)) ? 0 : err_nomem();

	if (r == 0) {
		e->reply = enlarged_json(call->s, p);
		r = call_parked(call, pubsub_when_enlarged(p, on_enlarged, e));
	}
	if (r < 0 && e) {
		json_decref(e->reply);
		mem_free(e);
	}
	return r;
}

static int method_enlarge(struct call *call)
{
	const struct args *a = &call->a;
	struct publisher *p;
	int r = pubsub_enlarge(call->conn->cl, (uint32_t)a->publisher_id, (uint64_t)a->max_body, &p);

	if (r < 0)
		return r;
	return p->flags & ADVERTISE_LOCAL ? call_reply(call, enlarged_json(call->s, p)) : answer_when_enlarged(call, p);
}

static int method_unadvertise(struct call *call)
{
	return pubsub_unadvertise(call->conn->cl, (uint32_t)call->a.publisher_id);
}

static int method_subscribe(struct call *call)
{
	const struct args *a = &call->a;
	struct subscriber *sub;
	int r = pubsub_subscribe(call->conn->cl, a->channel, a->type, a->hash, a->depth, &sub);

	if (r < 0)
		return r;
	return call_reply(call, JSONX_MAKE(JX_STR("channel", sub->ch->name), JX_INT("channel_id", sub->ch->id),
					   JX_INT("subscriber_id", sub->id), JX_INT("depth", sub->depth),
					   JX_INT("memory_at", memory_at(call->s, sub->pool)),
					   JX_INT("memory_bytes", memory_bytes(call->s, sub->pool))));
}

static int method_unsubscribe(struct call *call)
{
	return pubsub_unsubscribe(call->conn->cl, (uint32_t)call->a.subscriber_id);
}

static int method_requeue(struct call *call)
{
	struct subscriber *sub;
	int r = pubsub_requeue(call->conn->cl, (uint32_t)call->a.subscriber_id, (uint32_t)call->a.depth, &sub);

	if (r < 0)
		return r;
	return call_reply(call, JSONX_MAKE(JX_INT("depth", r), JX_INT("memory_at", memory_at(call->s, sub->pool)),
					   JX_INT("memory_bytes", memory_bytes(call->s, sub->pool))));
}

static int method_open_token(struct call *call)
{
	uint32_t cell;
	int r = token_open(call->conn->cl, call->a.name, &cell);

	return r < 0 ? r : call_reply(call, JSONX_MAKE(JX_INT("cell", cell)));
}

static int method_close_token(struct call *call)
{
	return token_close(call->conn->cl, (uint32_t)call->a.cell);
}

/* ---- Events ---- */

static void send_event(void *arg, json_t *params, const struct varlink_text *text)
{
	conn_send_event((struct conn *)arg, params, text);
}

static int method_events(struct call *call)
{
	struct conn *c = call->conn;
	json_t *now;

	if (!call->more)
		return err_set(-EINVAL, "Events is a stream: call it with \"more\"");
	if (c->listening)
		return err_set(-EBUSY, "this connection has an Events stream already");
	c->listening = true;
	c->listener = (struct event_listener){ .send = send_event, .arg = c };
	event_listen(c->s, &c->listener);
	call->stream = true;
	now = event_dataplane_json(c->s);
	send_event(c, now, NULL);
	json_decref(now);
	return 0;
}

/* ---- the driver, bridges ---- */

/* Without the page, a driver gets its answers as packets. */
static void give_page(struct call *call, json_t *fds, int page_fd, const char *name)
{
	int fd = fd_dup(page_fd);

	if (fd < 0)
		return;
	json_decref(call_give_fd(call, fd, name));
	json_array_append_new(fds, json_string(name));
}

static int method_acquire_driver(struct call *call)
{
	json_t *clock, *source, *sim_ns, *scale, *fds;
	const struct simd *s = call->s;
	int fd, r = timekeeper_acquire(call->s->time, call->conn->cl, call->a.freewheel, call->a.lockstep, &fd);

	if (r < 0)
		return r;
	clock = timekeeper_json(call->s->time);
	source = json_incref(json_object_get(clock, "source"));
	sim_ns = json_incref(json_object_get(clock, "sim_ns"));
	scale = json_incref(json_object_get(clock, "scale"));
	json_decref(clock);
	fds = call_give_fd(call, fd, "driver");
	give_page(call, fds, s->layout_page_fd, "layout");
	give_page(call, fds, s->dispatch_page_fd, "dispatch");
	return call_reply(call, JSONX_MAKE(JX_NEW("source", source), JX_NEW("sim_ns", sim_ns), JX_NEW("scale", scale),
					   JX_NEW("fds", fds)));
}

static int method_driver_waits(struct call *call)
{
	return timekeeper_driver_waits(call->s->time, call->conn->cl, call->a.what);
}

static int method_join_step(struct call *call)
{
	int fd, r = timekeeper_join(call->s->time, call->conn->cl, (uint32_t)call->a.rank, &fd);

	return r < 0 ? r : call_reply(call, JSONX_MAKE(JX_NEW("fds", call_give_fd(call, fd, "step"))));
}

static int method_attach_bridge(struct call *call)
{
	struct bridge *b;
	int fd, r = bridge_attach(call->conn->cl, call->a.bridge, &b, &fd);

	if (r < 0)
		return r;
	r = call_reply(call, bridge_config(b));
	json_object_set_new(call->reply, "fds", call_give_fd(call, fd, "lane"));
	return r;
}

static int method_name_topic(struct call *call)
{
	return bridge_name_topic(call->conn->cl, call->a.channel, call->a.inbound, call->a.name, call->a.type);
}

const struct method session_methods[] = {
	{ "Hello", method_hello, METHOD_ABI,
	  PARAMS(ARG_STR("name", name, TEXT_MAX), ARG_STR("role", role, TEXT_MAX), ARG_INT("abi", abi, 0, INT32_MAX),
		 OPT_STR("version", version, VERSION_MAX), OPT_STR("bridge", bridge, TEXT_MAX)) },
	{ "Attached", method_attached, METHOD_SESSION,
	  PARAMS(ARG_INT("iox_generation", iox_generation, 0, UINT32_MAX), ARG_STR("app", app, CLIENT_APP_MAX + 30)) },
	{ "Ready", method_ready, METHOD_SESSION, NULL },
	{ "Goodbye", method_goodbye, METHOD_SESSION, NULL },
	{ "Advertise", method_advertise, METHOD_SESSION | RIGHT(PUBLISH),
	  PARAMS(ARG_STR("channel", channel, TEXT_MAX), ARG_OBJ("type", definition),
		 ARG_INT("max_body", max_body, 0, 1LL << 32), OPT_INT("flags", flags, 0, UINT16_MAX, 0),
		 OPT_STR("host", host, TEXT_MAX)) },
	{ "Enlarge", method_enlarge, METHOD_SESSION | RIGHT(PUBLISH),
	  PARAMS(ARG_INT("publisher_id", publisher_id, 1, UINT32_MAX), ARG_INT("max_body", max_body, 0, 1LL << 32)) },
	{ "Unadvertise", method_unadvertise, METHOD_SESSION,
	  PARAMS(ARG_INT("publisher_id", publisher_id, 1, UINT32_MAX)) },
	{ "Subscribe", method_subscribe, METHOD_SESSION | RIGHT(SUBSCRIBE),
	  PARAMS(ARG_STR("channel", channel, TEXT_MAX), OPT_STR("type", type, TEXT_MAX),
		 OPT_STR("hash", hash, TEXT_MAX), OPT_INT("depth", depth, 1, 256, 16)) },
	{ "Unsubscribe", method_unsubscribe, METHOD_SESSION,
	  PARAMS(ARG_INT("subscriber_id", subscriber_id, 1, UINT32_MAX)) },
	{ "Requeue", method_requeue, METHOD_SESSION,
	  PARAMS(ARG_INT("subscriber_id", subscriber_id, 1, UINT32_MAX), ARG_INT("depth", depth, 1, 256)) },
	{ "OpenToken", method_open_token, METHOD_SESSION | RIGHT(PUBLISH), PARAMS(ARG_STR("name", name, TEXT_MAX)) },
	{ "CloseToken", method_close_token, METHOD_SESSION, PARAMS(ARG_INT("cell", cell, 0, WIRE_TOKENS_MAX - 1)) },
	{ "Events", method_events, 0, NULL },
	{ "AcquireDriver", method_acquire_driver, METHOD_SESSION | RIGHT(DRIVE),
	  PARAMS(OPT_BOOL("freewheel", freewheel), OPT_BOOL("lockstep", lockstep)) },
	{ "DriverWaits", method_driver_waits, METHOD_SESSION | RIGHT(DRIVE),
	  PARAMS(ARG_STR("what", what, TIMEKEEPER_WAITS_MAX)) },
	{ "JoinStep", method_join_step, METHOD_SESSION | RIGHT(DRIVE),
	  PARAMS(OPT_INT("rank", rank, 0, SIM_STEP_RANK_MAX, 0)) },
	{ "AttachBridge", method_attach_bridge, METHOD_SESSION | RIGHT(BRIDGE),
	  PARAMS(ARG_STR("bridge", bridge, TEXT_MAX)) },
	{ "NameTopic", method_name_topic, METHOD_SESSION,
	  PARAMS(ARG_STR("channel", channel, TEXT_MAX), ARG_STR("name", name, TEXT_MAX),
		 ARG_STR("type", type, TEXT_MAX), OPT_BOOL("inbound", inbound)) },
	{ 0 },
};
