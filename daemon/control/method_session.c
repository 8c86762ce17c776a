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
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define TEXT_MAX 4096

static json_t *fds_json(const char *const *names, unsigned n)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(a, json_string(names[i]));
	return a;
}

/* ---- Hello, Attached ---- */

static int check_abi(const json_t *params)
{
	int64_t abi;
	const char *version;
	int r = jsonx_int(params, "abi", 0, INT32_MAX, &abi);

	if (r == 0)
		r = jsonx_opt_string(params, "version", 64, "?", &version);
	if (r < 0)
		return r;
	if (abi != WIRE_ABI)
		return err_set(
			-EPROTO,
			"client library %s speaks wire version %lld, simd %s speaks %u; update the older of the two",
			version, (long long)abi, SIM_VERSION, WIRE_ABI);
	return 0;
}

static json_t *hello_json(const struct client *cl, const struct session_fds *f)
{
	const struct simd *s = cl->s;

	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:o}", "client_id", (json_int_t)cl->id,
			 "simd_id", s->id_text, "runtime", s->runtime_dir, "version", SIM_VERSION, "backend",
			 conf_choice(s->root, "backend") == 0 ? "iox" : "mem", "iox_generation",
			 (json_int_t)s->dataplane.generation, "app", cl->app, "prefix", cl->rig ? cl->rig->prefix : "",
			 "max_loan", (json_int_t)pools_max_slot(&s->pools), "dispatch_wait_ms",
			 (json_int_t)conf_int(s->root, "dispatch.wait_ms"), "fds", fds_json(f->name, f->n));
}

static int method_hello(struct call *call)
{
	struct conn *c = call->conn;
	struct session_hello h = { .pid = c->cred.pid, .uid = c->cred.uid };
	struct session_fds fds;
	const char *bridge;
	int r = check_abi(call->params);

	if (c->cl)
		return err_set(-EINVAL, "this connection has said Hello already, as %s", c->cl->name);
	if (r == 0)
		r = jsonx_string(call->params, "name", TEXT_MAX, &h.name);
	if (r == 0)
		r = jsonx_string(call->params, "role", TEXT_MAX, &h.role);
	if (r == 0)
		r = jsonx_opt_string(call->params, "bridge", TEXT_MAX, NULL, &bridge);
	if (r == 0 && bridge && !bridge_find(call->s, bridge))
		r = err_set(-ENOENT, "no rig has a bridge \"%.60s\"; `simctl bridge list` shows those there are",
			    bridge);
	if (r == 0)
		r = session_create(call->s, &h, &c->cl, &fds);
	if (r < 0)
		return r;
	c->cl->slot = &c->cl;
	call->reply = hello_json(c->cl, &fds);
	for (unsigned i = 0; i < fds.n; i++)
		call->fds[call->n_fds++] = fds.v[i];
	return call->reply ? 0 : err_nomem();
}

static int method_attached(struct call *call)
{
	int64_t generation;
	const char *app;
	int r = jsonx_int(call->params, "iox_generation", 0, UINT32_MAX, &generation);

	if (r == 0)
		r = jsonx_string(call->params, "app", CLIENT_APP_MAX + 30, &app);
	return r < 0 ? r : session_attached(call->conn->cl, (uint32_t)generation, app);
}

/* ---- publishers, subscribers, tokens ---- */

static int method_advertise(struct call *call)
{
	struct advertise a;
	struct publisher *p;
	int r = jsonx_string(call->params, "channel", TEXT_MAX, &a.channel);

	if (r == 0)
		r = jsonx_object(call->params, "type", &a.type);
	if (r == 0)
		r = jsonx_int(call->params, "max_body", 0, 1LL << 32, &a.max_body);
	if (r == 0)
		r = jsonx_opt_int(call->params, "flags", 0, UINT16_MAX, 0, &a.flags);
	if (r == 0)
		r = pubsub_advertise(call->conn->cl, &a, &p);
	if (r < 0)
		return r;
	call->reply = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "channel", p->ch->name, "channel_id",
				(json_int_t)p->ch->id, "publisher_id", (json_int_t)p->id, "row", (json_int_t)p->row,
				"window", (json_int_t)p->ch->window, "slot_size", (json_int_t)p->ch->slot_size);
	return call->reply ? 0 : err_nomem();
}

static int method_unadvertise(struct call *call)
{
	int64_t id;
	int r = jsonx_int(call->params, "publisher_id", 1, UINT32_MAX, &id);

	return r < 0 ? r : pubsub_unadvertise(call->conn->cl, (uint32_t)id);
}

static int method_subscribe(struct call *call)
{
	const char *channel, *type, *hash;
	struct subscriber *sub;
	int64_t depth;
	int r = jsonx_string(call->params, "channel", TEXT_MAX, &channel);

	if (r == 0)
		r = jsonx_opt_string(call->params, "type", TEXT_MAX, NULL, &type);
	if (r == 0)
		r = jsonx_opt_string(call->params, "hash", TEXT_MAX, NULL, &hash);
	if (r == 0)
		r = jsonx_opt_int(call->params, "depth", 1, 256, 16, &depth);
	if (r == 0)
		r = pubsub_subscribe(call->conn->cl, channel, type, hash, depth, &sub);
	if (r < 0)
		return r;
	call->reply = json_pack("{s:s, s:I, s:I, s:I}", "channel", sub->ch->name, "channel_id", (json_int_t)sub->ch->id,
				"subscriber_id", (json_int_t)sub->id, "depth", (json_int_t)sub->depth);
	return call->reply ? 0 : err_nomem();
}

static int method_unsubscribe(struct call *call)
{
	int64_t id;
	int r = jsonx_int(call->params, "subscriber_id", 1, UINT32_MAX, &id);

	return r < 0 ? r : pubsub_unsubscribe(call->conn->cl, (uint32_t)id);
}

static int method_open_token(struct call *call)
{
	const char *name;
	uint32_t cell;
	int r = jsonx_string(call->params, "name", TEXT_MAX, &name);

	if (r == 0)
		r = token_open(call->conn->cl, name, &cell);
	if (r < 0)
		return r;
	call->reply = json_pack("{s:I}", "cell", (json_int_t)cell);
	return call->reply ? 0 : err_nomem();
}

static int method_close_token(struct call *call)
{
	int64_t cell;
	int r = jsonx_int(call->params, "cell", 0, WIRE_TOKENS_MAX - 1, &cell);

	return r < 0 ? r : token_close(call->conn->cl, (uint32_t)cell);
}

/* ---- Events ---- */

/* From inside other connections' methods: only queue, and let this connection's own callback send or end it. */
static void send_event(void *arg, json_t *params, const struct varlink_text *text)
{
	struct conn *c = (struct conn *)arg;
	int r;

	if (c->broken)
		return;
	r = text ? varlink_queue_event_text(c->v, json_incref(params), text)
		 : varlink_queue_reply(c->v, json_incref(params), true, NULL, 0);
	if (r < 0) {
		c->broken = true;
		shutdown(c->fd, SHUT_RDWR);
		return;
	}
	if (exec_io_mod(&c->io, (c->parked ? 0 : EPOLLIN) | EPOLLOUT) < 0)
		c->broken = true;
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

static int method_acquire_driver(struct call *call)
{
	static const char *const names[] = { "driver" };
	json_t *clock;
	bool freewheel;
	int fd, r = jsonx_opt_bool(call->params, "freewheel", false, &freewheel);

	if (r == 0)
		r = timekeeper_acquire(call->s->time, call->conn->cl, freewheel, &fd);
	if (r < 0)
		return r;
	call->fds[call->n_fds++] = fd;
	clock = timekeeper_json(call->s->time);
	call->reply = json_pack("{s:O, s:O, s:O, s:o}", "source", json_object_get(clock, "source"), "sim_ns",
				json_object_get(clock, "sim_ns"), "scale", json_object_get(clock, "scale"), "fds",
				fds_json(names, 1));
	json_decref(clock);
	return call->reply ? 0 : err_nomem();
}

static int method_join_step(struct call *call)
{
	static const char *const names[] = { "step" };
	int64_t rank;
	int fd, r = jsonx_opt_int(call->params, "rank", 0, SIM_STEP_RANK_MAX, 0, &rank);

	if (r == 0)
		r = timekeeper_join(call->s->time, call->conn->cl, (uint32_t)rank, &fd);
	if (r < 0)
		return r;
	call->fds[call->n_fds++] = fd;
	call->reply = json_pack("{s:o}", "fds", fds_json(names, 1));
	return call->reply ? 0 : err_nomem();
}

static int method_attach_bridge(struct call *call)
{
	static const char *const names[] = { "lane" };
	struct bridge *b;
	const char *name;
	int fd, r = jsonx_string(call->params, "bridge", TEXT_MAX, &name);

	if (r == 0)
		r = bridge_attach(call->conn->cl, name, &b, &fd);
	if (r < 0)
		return r;
	call->fds[call->n_fds++] = fd;
	call->reply = bridge_config(b);
	if (!call->reply)
		return err_nomem();
	return json_object_set_new(call->reply, "fds", fds_json(names, 1)) < 0 ? err_nomem() : 0;
}

#define P(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
static const char *const none[] = { NULL };

const struct method session_methods[] = {
	{ "Hello", method_hello, 0, P("name", "role", "abi", "version", "bridge") },
	{ "Attached", method_attached, METHOD_SESSION, P("iox_generation", "app") },
	{ "Advertise", method_advertise, METHOD_SESSION, P("channel", "type", "max_body", "flags") },
	{ "Unadvertise", method_unadvertise, METHOD_SESSION, P("publisher_id") },
	{ "Subscribe", method_subscribe, METHOD_SESSION, P("channel", "type", "hash", "depth") },
	{ "Unsubscribe", method_unsubscribe, METHOD_SESSION, P("subscriber_id") },
	{ "OpenToken", method_open_token, METHOD_SESSION, P("name") },
	{ "CloseToken", method_close_token, METHOD_SESSION, P("cell") },
	{ "Events", method_events, 0, none },
	{ "AcquireDriver", method_acquire_driver, METHOD_SESSION, P("freewheel") },
	{ "JoinStep", method_join_step, METHOD_SESSION, P("rank") },
	{ "AttachBridge", method_attach_bridge, METHOD_SESSION, P("bridge") },
	{ 0 },
};
