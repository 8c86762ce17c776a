/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One control connection: bytes in, calls, bytes out. A connection is never freed while one of its own
 * methods runs: it is marked broken, and closed when its callback ends.
 * Thread: simd-main.
 */
#include "conn.h"

#include "client.h"
#include "service.h"
#include "session.h"
#include "simd.h"
#include "timekeeper.h"
#include "engine.h"
#include "err.h"
#include "fd.h"
#include "jsonx.h"
#include "log.h"
#include "mem.h"
#include "timeutil.h"
#include "wire/pages.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

LOG_TOPIC("control");

/* Limits without a configuration key, generous enough for a person who types into the socket. */
/* without session and call; also for one message, from its first byte to its last */
#define SILENT_DUR_NS     (60 * NS_PER_S)
#define LAST_WORDS_DUR_NS (5 * NS_PER_S) /* time to read the error before the close */
#define CALLS_A_TURN      2              /* of one connection, before others get their turn */

#define INTERFACE    "io.simd.Control"
#define ERROR_FAILED INTERFACE ".Failed"

static const struct method *const tables[] = { session_methods, service_methods, list_methods, clock_methods,
					       admin_methods };

static const struct varlink_interface interfaces[] = { { INTERFACE, control_interface }, { 0 } };

static const struct varlink_service service = {
	.vendor = "simd",
	.product = "simd",
	.version = SIM_VERSION,
	.url = "https://simd.invalid/",
	.interfaces = interfaces,
};

/* ---- calls ---- */

static const struct method *find_method(const char *full)
{
	const char *dot = strrchr(full, '.');
	size_t n = strlen(INTERFACE);

	if (!dot || (size_t)(dot - full) != n || strncmp(full, INTERFACE, n) != 0)
		return NULL;
	for (unsigned i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (const struct method *m = tables[i]; m->name; m++) {
			if (strcmp(m->name, dot + 1) == 0)
				return m;
		}
	}
	return NULL;
}

/* A session of another version may also have other parameters: the error names the cause. */
static int check_abi(const json_t *params)
{
	const char *version;
	int64_t abi;
	int r = jsonx_int(params, "abi", 0, INT32_MAX, &abi);

	if (r == 0)
		r = jsonx_opt_string(params, "version", 64, "?", &version);
	if (r < 0 || abi == WIRE_ABI)
		return r;
	return err_set(-EPROTO,
		       "client library %s speaks wire version %lld, simd %s speaks %u; update the older of the two",
		       version, (long long)abi, SIM_VERSION, WIRE_ABI);
}

static int allowed(const struct conn *c, const struct method *m, const json_t *params)
{
	bool owner_only = conf_choice(c->s->root, "socket.admin") == 1;

	if ((m->flags & METHOD_SESSION) && !c->cl)
		return err_set(-EPROTO, "%s: call Hello first", m->name);
	if ((m->flags & METHOD_ADMIN) && owner_only && c->cred.uid != 0 && c->cred.uid != geteuid())
		return err_set(-EACCES, "%s: only simd's own user and root may do that (socket.admin)", m->name);
	if (access_check(c->c->access, METHOD_RIGHT(m), &c->cred, c->fd) < 0)
		return err_prefix(-EACCES, "%s", m->name);
	return m->flags & METHOD_ABI ? check_abi(params) : 0;
}

static void mark_broken(struct conn *c, const char *why)
{
	if (!c->broken)
		log_limited(&c->c->cut_off, exec_now(c->s->x), LOG_LEVEL_INFO,
			    "control connection of pid %d%s%s is cut off: %s", (int)c->cred.pid,
			    c->cl ? ", client " : "", c->cl ? c->cl->name : "", why);
	c->broken = true;
}

static void check_queued(struct conn *c, int r)
{
	if (r < 0)
		mark_broken(c, r == -ENOBUFS ? "it does not read its replies" : err_why());
	conn_make_room(c->c);
}

static void send_failure(struct conn *c, int r)
{
	char why[ERR_WHY_MAX];

	snprintf(why, sizeof(why), "%s", *err_why() ? err_why() : err_text(r));
	check_queued(c, varlink_queue_failure(c->v, ERROR_FAILED, r, why));
}

void conn_refuse(int fd, int r, const char *why)
{
	struct varlink *v;

	if (varlink_create(NULL, &v) == 0) {
		if (varlink_queue_failure(v, ERROR_FAILED, r, why) == 0)
			(void)varlink_write(v, fd);
		varlink_destroy(v);
	}
	fd_close(fd);
}

static void send_reply(struct conn *c, json_t *reply, const int *fds, unsigned n_fds)
{
	int r = varlink_queue_reply(c->v, reply ? reply : json_object(), false, fds, n_fds);

	if (r == -EMSGSIZE)
		send_failure(c, err_prefix(r, "the reply is too long (limits.output_kib)"));
	else
		check_queued(c, r);
}

static void run_method(struct conn *c, const struct method *m, const struct varlink_request *req)
{
	struct call call = { .conn = c, .s = c->s, .more = req->more, .oneway = req->oneway };
	int r;

	err_clear();
	r = allowed(c, m, req->params);
	if (r == 0)
		r = jsonx_read(req->params, m->params, &call.a);
	if (r == 0)
		r = m->run(&call);
	if (call.later || (call.stream && r == 0))
		return;
	if (req->oneway)
		json_decref(call.reply);
	else if (r < 0)
		send_failure(c, r);
	else
		send_reply(c, call.reply, call.fds, call.n_fds);
	if (r < 0)
		log_debug("%s of pid %d: %s", m->name, (int)c->cred.pid, err_why());
	for (unsigned i = 0; i < call.n_fds; i++)
		fd_close(call.fds[i]);
}

static void on_message(struct conn *c, const struct varlink_msg *msg)
{
	struct varlink_request req;
	const struct method *m;
	int r = varlink_msg_request(msg, &req);

	if (r < 0) {
		mark_broken(c, err_why());
		return;
	}
	r = varlink_service_handle(&service, c->v, &req);
	if (r != 0) {
		if (r < 0)
			check_queued(c, r);
		return;
	}
	m = find_method(req.method);
	if (m)
		run_method(c, m, &req);
	else if (!req.oneway)
		check_queued(c, varlink_queue_method_not_found(c->v, req.method));
}

/* Handles one message. False: there is none, or it is invalid. */
static bool run_call(struct conn *c)
{
	struct varlink_msg msg = { 0 };
	int64_t begin = exec_now(c->s->x);
	int r = varlink_next(c->v, &msg);

	if (r == 0)
		return false;
	if (r < 0) {
		mark_broken(c, err_why());
	} else {
		c->since_mono_ns = begin;
		on_message(c, &msg);
		varlink_msg_finish(&msg);
	}
	share_spent(c->share, begin); /* reading the message may be most of the work */
	return r > 0;
}

/* Runs some of the received calls: a client that sends thousands at once takes turns with others. */
static void run_calls(struct conn *c)
{
	for (unsigned n = 0; !c->broken && !c->behind && !c->parked && !(varlink_is_half(c->v) && share_wait(c)); n++) {
		if (n == CALLS_A_TURN) {
			exec_timer_at(&c->more, exec_now(c->s->x));
			return;
		}
		if (!run_call(c))
			return;
	}
}

int call_reply(struct call *call, json_t *reply)
{
	call->reply = reply;
	return reply ? 0 : err_nomem();
}

const char *call_backend(const struct call *call)
{
	return conf_choice(call->s->root, "backend") == 0 ? "iox" : "mem";
}

json_t *call_give_fd(struct call *call, int fd, const char *name)
{
	call->fds[call->n_fds++] = fd;
	return json_pack("[s]", name);
}

/* ---- parked calls ---- */

static void parked_free(struct parked *p)
{
	exec_timer_cancel(&p->due);
	share_put(p->share);
	mem_free(p);
}

struct parked *call_park(struct call *call)
{
	struct parked *p = MEM_NEW(struct parked);

	if (!p)
		return NULL;
	p->conn = call->conn;
	p->share = share_ref(call->conn->share);
	list_init(&p->pause.link);
	p->oneway = call->oneway;
	call->conn->parked = p;
	call->later = true;
	return p;
}

int call_parked(struct call *call, int r)
{
	if (r < 0) {
		parked_free(call->conn->parked);
		call->conn->parked = NULL;
		call->later = false;
	}
	return r;
}

static void settle(struct conn *c);

void call_answer(struct parked *p, int r, json_t *reply)
{
	struct conn *c = p->conn;

	if (!c || p->oneway)
		json_decref(reply);
	else if (r < 0)
		send_failure(c, r);
	else
		send_reply(c, reply, NULL, 0);
	parked_free(p);
	if (!c)
		return;
	c->parked = NULL;
	c->since_mono_ns = exec_now(c->s->x);
	run_calls(c);
	settle(c);
}

/* ---- peers that do not read, or send nothing ---- */

/* Received calls wait for their turn. */
static bool has_more(const struct conn *c)
{
	return exec_timer_armed(&c->more) || !list_empty(&c->waiting);
}

/* Whether more input is read from it now. */
static bool hears(const struct conn *c)
{
	return !c->parked && !c->behind && !has_more(c);
}

/*
 * Drops the connection's data. It is closed by its own timer, because this may run inside another connection's callback
 * or a broadcast.
 */
static void fall_behind(struct conn *c)
{
	unsigned n = varlink_drop_output(c->v, c->behind);

	varlink_drop_input(c->v);
	if (c->behind) { /* a partly sent message remained, and its rest exceeds the limit too */
		c->broken = true;
	} else {
		c->behind = true;
		c->since_mono_ns = exec_now(c->s->x);
		err_set(-ENOBUFS,
			n ? "simd dropped %u messages for this connection, which does not read them"
			  : "too much waits for simd at once, and most of it on this connection (limits.output_total_kib)",
			n);
		if (varlink_queue_failure(c->v, ERROR_FAILED, -ENOBUFS, err_why()) < 0)
			c->broken = true;
	}
	exec_timer_at(&c->due, exec_now(c->s->x));
}

void conn_make_room(struct control *ctl)
{
	while (ctl->queued > ctl->max_queued) {
		struct conn *c, *last = NULL;

		list_for_each(c, &ctl->conns, link)
			if (!last || varlink_queued(c->v) > varlink_queued(last->v))
				last = c;
		if (!last)
			return;
		log_limited(&ctl->cut_off, exec_now(ctl->s->x), LOG_LEVEL_WARN,
			    "%zu KiB wait on control connections: pid %d, which has most of it, is cut off",
			    ctl->queued / 1024, (int)last->cred.pid);
		fall_behind(last);
	}
}

void conn_send_event(struct conn *c, json_t *params, const struct varlink_text *text)
{
	int r;

	if (c->broken || c->behind)
		return;
	r = varlink_queue_event(c->v, json_incref(params), text);
	if (r == -ENOBUFS)
		fall_behind(c);
	else if (r < 0 || exec_io_mod(&c->io, (hears(c) ? EPOLLIN : 0) | EPOLLOUT) < 0)
		mark_broken(c, err_why());
	if (c->broken)
		exec_timer_at(&c->due, exec_now(c->s->x));
	conn_make_room(c->c);
}

/* When the connection is cut off if nothing happens. INT64_MAX: never. */
static int64_t patience(const struct conn *c)
{
	if (c->behind)
		return c->since_mono_ns + LAST_WORDS_DUR_NS;
	if (c->parked || (!varlink_is_half(c->v) && (c->cl || c->listening)))
		return INT64_MAX;
	return c->since_mono_ns + SILENT_DUR_NS;
}

static void on_due(void *arg)
{
	struct conn *c = (struct conn *)arg;
	int64_t until = patience(c), now = exec_now(c->s->x);

	if (!c->broken && !c->behind && until <= now) {
		int r = err_set(
			-ETIMEDOUT,
			varlink_is_half(c->v)
				? "simd waited %lld s for the rest of a message (its end is a NUL byte)"
				: "simd waited %lld s for a call; a connection without a session is not kept longer",
			(long long)(SILENT_DUR_NS / NS_PER_S));

		send_failure(c, r);
		conn_flush(c);
		mark_broken(c, err_why());
	} else if (c->behind && until <= now) {
		c->broken = true;
	}
	settle(c);
}

/* ---- bytes ---- */

void conn_flush(struct conn *c)
{
	int r = c->broken ? 0 : varlink_write(c->v, c->fd);

	if (r == -EPIPE || r == -ECONNRESET)
		c->broken = true; /* the peer has disconnected; not logged */
	else if (r < 0)
		mark_broken(c, err_why());
}

static void on_io(void *arg, uint32_t events);

/* After every callback: sends, sets the awaited events, closes a broken connection. */
static void settle(struct conn *c)
{
	int64_t until;
	uint32_t events = 0;

	conn_flush(c);
	if (c->broken || (c->behind && !varlink_has_output(c->v))) {
		conn_destroy(c);
		return;
	}
	if (c->behind && c->cl) { /* it takes no more calls, so its session ends */
		event_unlisten(&c->listener);
		session_end(c->cl);
	}
	until = patience(c);
	if (until == INT64_MAX)
		exec_timer_cancel(&c->due);
	else if (!exec_timer_armed(&c->due) || c->behind)
		exec_timer_at(&c->due, until);
	if (hears(c))
		events |= EPOLLIN;
	if (varlink_has_output(c->v))
		events |= EPOLLOUT;
	if (c->unwatched && has_more(c))
		return;
	if (c->unwatched ? exec_io_add(c->s->x, &c->io, c->fd, events, on_io, c) < 0 : exec_io_mod(&c->io, events) < 0)
		conn_destroy(c);
	else
		c->unwatched = false;
}

void conn_run(struct conn *c)
{
	run_calls(c);
	settle(c);
}

static void on_more(void *arg)
{
	conn_run((struct conn *)arg);
}

static void on_io(void *arg, uint32_t events)
{
	struct conn *c = (struct conn *)arg;
	int r;

	/* the peer hung up and cannot read an answer; its earlier calls are done */
	if ((events & (EPOLLHUP | EPOLLERR)) && !(events & EPOLLIN) && !has_more(c)) {
		conn_destroy(c);
		return;
	}
	if (!list_empty(&c->waiting) && (events & (EPOLLHUP | EPOLLERR)) &&
	    !c->unwatched) { /* otherwise the event would be reported all the time */
		exec_io_del(&c->io);
		c->unwatched = true;
	}
	if (events & EPOLLIN && hears(c)) {
		if (!varlink_is_half(c->v))
			c->since_mono_ns = exec_now(c->s->x);
		r = varlink_read(c->v, c->fd);
		conn_make_room(c->c);
		run_calls(c);
		if (r == -ECONNRESET) {
			conn_destroy(c);
			return;
		}
		if (r < 0)
			mark_broken(c, err_why());
	}
	settle(c);
}

/* ---- create, destroy ---- */

int conn_create(struct control *ctl, int fd, const struct ucred *cred, struct conn **ret)
{
	struct conn *c = MEM_NEW(struct conn);
	int r;

	if (!c) {
		fd_close(fd);
		return err_nomem();
	}
	c->c = ctl;
	c->s = ctl->s;
	c->fd = fd;
	c->cred = *cred;
	c->since_mono_ns = exec_now(c->s->x);
	c->accepted_mono_ns = exec_now(c->s->x);
	list_init(&c->link);
	list_init(&c->waiting);
	exec_timer_init(&c->due, c->s->x, on_due, c);
	exec_timer_init(&c->more, c->s->x, on_more, c);
	c->share = share_get(ctl, cred->uid);
	r = c->share ? fd_set_nonblock(fd, true) : err_nomem();
	if (r == 0)
		r = varlink_create(&ctl->limits, &c->v);
	if (r == 0)
		r = exec_io_add(c->s->x, &c->io, fd, EPOLLIN, on_io, c);
	if (r < 0) {
		if (c->share)
			share_put(c->share);
		varlink_destroy(c->v);
		fd_close(fd);
		mem_free(c);
		return r;
	}
	list_append(&ctl->conns, &c->link);
	ctl->n_conns++;
	c->share->n_conns++;
	exec_timer_at(&c->due, patience(c));
	*ret = c;
	return 0;
}

void conn_evict(struct conn *c, int r)
{
	send_failure(c, r);
	conn_flush(c);
	conn_destroy(c);
}

void conn_destroy(struct conn *c)
{
	exec_timer_cancel(&c->due);
	exec_timer_cancel(&c->more);
	exec_io_del(&c->io);
	event_unlisten(&c->listener);
	service_caller_disconnected(&c->caller);
	if (c->parked && !list_empty(&c->parked->pause.link)) {
		time_wait_cancel(&c->parked->pause);
		parked_free(c->parked);
	} else if (c->parked && c->parked->service) {
		parked_free(c->parked);
	} else if (c->parked && c->parked->step) {
		time_engine_step_forget(timekeeper_engine(c->s->time), c->parked);
		parked_free(c->parked);
	} else if (c->parked) {
		c->parked->conn = NULL;
	}
	if (c->cl)
		session_end(c->cl);
	list_remove(&c->link);
	list_remove(&c->waiting);
	c->c->n_conns--;
	c->share->n_conns--;
	share_put(c->share);
	varlink_destroy(c->v);
	fd_close(c->fd);
	mem_free(c);
}
