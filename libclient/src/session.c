/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to one run of simd: Hello, calls, events. Thread: see session.h. */
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "err.h"
#include "fd.h"
#include "group.h"
#include "jump.h"
#include "jsonx.h"
#include "mem.h"
#include "service.h"
#include "subscriber.h"
#include "timeutil.h"

#define INTERFACE         "io.simd.Control."
#define PUMP_SLICE_DUR_NS (20 * NS_PER_MS)
#define MIB_DUR_NS        (100 * NS_PER_MS) /* time for simd to make the slots of a message, per MiB */
#define AGAIN_DUR_NS      (100 * NS_PER_MS) /* pause before a call is repeated that simd could not do at the moment */
#define AGAIN_MOST_DUR_NS (60 * NS_PER_S)   /* limit of repeating: an overloaded machine is not a refusal */

struct call {
	struct list link;     /* session::calls */
	bool done, abandoned; /* abandoned: no caller waits, the reply is dropped */
	int64_t tag;          /* of a CallService, for services_refused(); -1: none */
	int result;           /* with done: 0: msg holds the reply, or -ENOTCONN */
	struct varlink_msg msg;
};

struct session *session_ref(struct session *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

static void call_free(struct call *call)
{
	varlink_msg_finish(&call->msg);
	mem_free(call);
}

void session_unref(struct session *s)
{
	struct call *call, *tmp;

	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	list_for_each_safe(call, tmp, &s->calls, link) {
		list_remove(&call->link);
		call_free(call);
	}
	varlink_destroy(s->v);
	if (s->layout) {
		fd_shared_unmap(s->dispatch, s->layout->dispatch_size);
		fd_shared_unmap(s->counters, s->layout->counter_size);
		fd_shared_unmap((void *)(uintptr_t)s->layout, s->layout->size);
	}
	if (s->clock)
		munmap((void *)(uintptr_t)s->clock, SIM_CLOCK_PAGE_SIZE);
	fd_close(s->clock_fd);
	for (unsigned i = 0; i < WIRE_SHARDS_MAX; i++)
		fd_close(s->bells[i].fd);
	fd_close(s->completion);
	fd_close(s->sock);
	mem_free(s);
}

/* ---- receiving ---- */

static void session_broken(struct sim_client *c, struct session *s, const char *why)
{
	struct call *call, *tmp;

	if (s->dead)
		return;
	s->dead = true;
	snprintf(s->dead_why, sizeof(s->dead_why), "%s", why);
	list_for_each_safe(call, tmp, &s->calls, link) {
		list_remove(&call->link);
		if (call->abandoned) {
			call_free(call);
			continue;
		}
		call->result = -ENOTCONN;
		call->done = true;
	}
	pthread_cond_broadcast(&c->changed);
}

static void clock_event(struct sim_client *c, const json_t *params)
{
	struct sim_clock_jump j;
	int64_t generation;

	if (jsonx_int(params, "old_sim_ns", INT64_MIN, INT64_MAX, &j.old_sim_ns) < 0 ||
	    jsonx_int(params, "new_sim_ns", INT64_MIN, INT64_MAX, &j.new_sim_ns) < 0 ||
	    jsonx_int(params, "clock_generation", 0, UINT32_MAX, &generation) < 0)
		return;
	j.clock_generation = (uint32_t)generation;
	jump_note(c, &j);
}

/*
 * Marks the subscribers of a channel: their port is damaged and must be replaced, or they must ask for their queue's
 * depth.
 */
static void renew_event(struct sim_client *c, const json_t *params, bool queues)
{
	struct sim_subscriber *sub;
	const char *channel;

	if (jsonx_string(params, queues ? "queues_of" : "subscribers_of", SIM_CHANNEL_MAX, &channel) < 0)
		return;
	list_for_each(sub, &c->subs, link) {
		if (strcmp(sub->name, channel) != 0)
			continue;
		atomic_store(queues ? &sub->depth_due : &sub->renew_due, true);
		c->renew_due = true;
	}
}

static void session_event(struct sim_client *c, struct session *s, const json_t *params)
{
	const char *event = "";
	int64_t generation = 0;
	bool ready = false;

	if (jsonx_string(params, "event", 40, &event) < 0)
		return; /* sent by a later version */
	if (strcmp(event, "clock") == 0) {
		clock_event(c, params);
	} else if (strcmp(event, "renew") == 0) {
		renew_event(c, params, false);
	} else if (strcmp(event, "queues") == 0) {
		renew_event(c, params, true);
	} else if (strcmp(event, "request") == 0 || strcmp(event, "answer") == 0 || strcmp(event, "services") == 0) {
		services_event(c, s, event, params);
	} else if (strcmp(event, "dataplane") == 0) {
		if (jsonx_opt_int(params, "iox_generation", 0, UINT32_MAX, 0, &generation) < 0 ||
		    jsonx_opt_bool(params, "ready", false, &ready) < 0)
			return;
		s->ev_dataplane = true;
		s->ev_generation = (uint32_t)generation;
		s->ev_ready = ready;
	}
}

static int session_message(struct sim_client *c, struct session *s, struct varlink_msg *msg)
{
	struct varlink_answer a;
	struct call *call;
	int r = varlink_msg_answer(msg, &a);

	if (r < 0)
		return r;
	if (a.continues) {
		session_event(c, s, a.params);
		varlink_msg_finish(msg);
		return 0;
	}
	call = list_first(&s->calls, struct call, link);
	if (!call) { /* sent by a simd that closes the connection, or malformed */
		r = varlink_answer_errno(&a);
		return r < 0 ? r : err_set(-EBADMSG, "simd sent a reply to no call");
	}
	list_remove(&call->link);
	if (call->abandoned) {
		r = varlink_answer_errno(&a);
		if (r < 0 && call->tag >= 0)
			services_refused(c, call->tag, r, err_why());
		varlink_msg_finish(msg);
		call_free(call);
		return 0;
	}
	call->msg = *msg;
	call->done = true;
	pthread_cond_broadcast(&c->changed);
	return 0;
}

void session_pump(struct sim_client *c, struct session *s)
{
	struct varlink_msg msg;
	int r = 0, n, w;

	if (s->dead)
		return;
	/* if that fails, simd may still have sent the reason before it closed the connection */
	w = varlink_write(s->v, s->sock);
	do {
		n = varlink_read(s->v, s->sock);
		while (r >= 0 && (r = varlink_next(s->v, &msg)) == 1) {
			r = session_message(c, s, &msg);
			if (r < 0)
				varlink_msg_finish(&msg);
		}
	} while (n == 1 && r >= 0);
	if (n == -ECONNRESET || n == -EPIPE)
		session_broken(c, s, "simd closed its control socket");
	else if (n < 0 || r < 0)
		session_broken(c, s, err_why());
	else if (w < 0)
		session_broken(c, s, "simd closed its control socket");
}

void session_hangup(struct session *s)
{
	shutdown(s->sock, SHUT_RDWR); /* not closed: another thread may be polling it */
}

/* ---- calls ---- */

/* ret NULL: no caller waits for the reply. Takes params. */
static int call_begin(struct sim_client *c, struct session *s, const char *method, json_t *params, unsigned flags,
		      int64_t tag, const struct varlink_text *text, struct call **ret)
{
	struct call *call = MEM_NEW(struct call);
	char name[80];
	int r;

	if (!call) {
		json_decref(params);
		return err_nomem();
	}
	snprintf(name, sizeof(name), "%s%s", strchr(method, '.') ? "" : INTERFACE, method);
	call->abandoned = !ret;
	call->tag = tag;
	pthread_mutex_lock(&c->lock);
	if (s->dead) {
		json_decref(params);
		r = err_set(-ENOTCONN, "%s", s->dead_why);
	} else {
		r = varlink_queue_call(s->v, name, params, flags, text);
	}
	if (r >= 0 && !flags) {
		list_append(&s->calls, &call->link);
		if (ret)
			*ret = call;
	} else { /* streamed replies are matched by "continues", not by order; other calls with flags have no reply */
		mem_free(call);
	}
	if (r >= 0 && varlink_write(s->v, s->sock) < 0)
		session_pump(c, s); /* reads simd's last messages */
	pthread_mutex_unlock(&c->lock);
	return r < 0 ? r : 0;
}

void session_wait_locked(struct sim_client *c, struct session *s, int64_t until_mono_ns)
{
	int64_t left = until_mono_ns - client_now(c);
	short events = (short)(POLLIN | (varlink_has_output(s->v) ? POLLOUT : 0));
	struct timespec t;

	if (client_pumps(c)) {
		int fd = s->sock;

		/* two threads may pump, and the other may read this reply: look again soon */
		pthread_mutex_unlock(&c->lock);
		client_sleep(c, fd, events, left < PUMP_SLICE_DUR_NS ? left : PUMP_SLICE_DUR_NS);
		pthread_mutex_lock(&c->lock);
		session_pump(c, s);
		return;
	}
	t = timespec_from_ns(until_mono_ns);
	pthread_cond_timedwait(&c->changed, &c->lock, &t);
}

static int call_finish(struct call *call, const char *method, struct varlink_msg *ret, json_t **ret_params)
{
	struct varlink_answer a;
	int r = call->result;

	if (r < 0)
		return err_set(r, "%s: disconnected from simd; the library connects again when it is back", method);
	r = varlink_msg_answer(&call->msg, &a);
	if (r == 0)
		r = varlink_answer_errno(&a);
	if (r < 0 || !ret)
		return r;
	*ret = call->msg;
	if (ret_params)
		*ret_params = a.params;
	memset(&call->msg, 0, sizeof(call->msg));
	return 0;
}

/* Time limit: sim_connect() has its own. */
static int64_t call_until(const struct sim_client *c, int64_t now_mono_ns, int64_t wall_timeout_dur_ns)
{
	int64_t until = wall_timeout_dur_ns < 0 ? INT64_MAX : ns_add(now_mono_ns, wall_timeout_dur_ns);

	return c->connecting ? c->connect_until_mono_ns : until;
}

int session_call(struct sim_client *c, struct session *s, const char *method, json_t *params, struct varlink_msg *ret,
		 json_t **ret_params)
{
	return session_call_within(c, s, method, params, CALL_DUR_NS, ret, ret_params);
}

int session_call_within(struct sim_client *c, struct session *s, const char *method, json_t *params,
			int64_t wall_timeout_dur_ns, struct varlink_msg *ret, json_t **ret_params)
{
	int64_t start = client_now(c), until = call_until(c, start, wall_timeout_dur_ns);
	struct call *call;
	int r = call_begin(c, s, method, params, 0, -1, NULL, &call);

	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	while (!call->done && client_now(c) < until)
		session_wait_locked(c, s, until);
	if (!call->done) {
		call->abandoned = true;
		pthread_mutex_unlock(&c->lock);
		return err_set(-ETIMEDOUT, "%s: simd has not answered within %lld ms", method,
			       (long long)((until - start) / NS_PER_MS));
	}
	pthread_mutex_unlock(&c->lock);
	r = call_finish(call, method, ret, ret_params);
	call_free(call);
	return r;
}

static void wait_a_moment(struct sim_client *c, struct session *s)
{
	int64_t until = client_now(c) + AGAIN_DUR_NS;

	pthread_mutex_lock(&c->lock);
	while (!s->dead && client_now(c) < until)
		session_wait_locked(c, s, until);
	pthread_mutex_unlock(&c->lock);
}

int session_call_again(struct sim_client *c, struct session *s, const char *method, json_t *params, size_t max_body,
		       struct varlink_msg *ret, json_t **ret_params)
{
	int64_t until = client_now(c) + AGAIN_MOST_DUR_NS;
	int64_t within = CALL_DUR_NS + (int64_t)(max_body >> 20) * MIB_DUR_NS;
	int r;

	while ((r = session_call_within(c, s, method, json_incref(params), within, ret, ret_params)) == -EAGAIN &&
	       client_now(c) < until) {
		wait_a_moment(c, s);
		client_renew(c); /* it may concern this client's own queues */
	}
	json_decref(params);
	return r;
}

/* An abandoned call belongs to the session: session_broken() or its reply frees it. */
int session_post(struct sim_client *c, struct session *s, const char *method, json_t *params, unsigned flags)
{
	return call_begin(c, s, method, params, flags, -1, NULL, NULL);
}

int session_post_text(struct sim_client *c, struct session *s, const char *method, json_t *params, int64_t tag,
		      const struct varlink_text *text)
{
	return call_begin(c, s, method, params, 0, tag, text, NULL);
}

/* ---- Hello ---- */

static const char *role_of(const struct sim_client *c)
{
	if (c->flags & SIM_CLIENT_NO_DATA)
		return "tool";
	if (c->flags & SIM_CLIENT_BRIDGE)
		return "bridge";
	return c->flags & SIM_CLIENT_SOURCE ? "source" : "client";
}

static json_t *hello_params(const struct sim_client *c)
{
	json_t *p = json_pack("{ss ss si ss}", "name", c->name, "role", role_of(c), "abi", (int)WIRE_ABI, "version",
			      SIM_VERSION);

	if (p && (c->flags & SIM_CLIENT_BRIDGE))
		json_object_set_new(p, "bridge", json_string(c->name));
	return p;
}

static int copy_string(const json_t *o, const char *key, char *ret, size_t size)
{
	const char *text;
	int r = jsonx_opt_string(o, key, size - 1, "", &text);

	if (r == 0)
		snprintf(ret, size, "%s", text);
	return r;
}

static int hello_fields(struct session *s, const json_t *o)
{
	int64_t generation;
	int r;

	if ((r = jsonx_opt_int(o, "iox_generation", 0, UINT32_MAX, 0, &generation)) < 0 ||
	    (r = jsonx_opt_int(o, "max_loan", 0, INT64_MAX, 0, &s->max_loan)) < 0 ||
	    (r = copy_string(o, "app", s->app, sizeof(s->app))) < 0 ||
	    (r = copy_string(o, "backend", s->backend, sizeof(s->backend))) < 0 ||
	    (r = copy_string(o, "prefix", s->prefix, sizeof(s->prefix))) < 0 ||
	    (r = copy_string(o, "plane", s->plane, sizeof(s->plane))) < 0 ||
	    (r = copy_string(o, "runtime", s->runtime, sizeof(s->runtime))) < 0 ||
	    (r = copy_string(o, "simd_id", s->simd_id, sizeof(s->simd_id))) < 0)
		return err_prefix(r, "simd's answer to Hello");
	s->iox_generation = (uint32_t)generation;
	return 0;
}

static int hello_clock(struct session *s, struct varlink_msg *m)
{
	const struct sim_clock_page *page;
	void *map;
	int r;

	s->clock_fd = varlink_msg_take_fd(m, 0);
	if (s->clock_fd < 0)
		return err_set(-EPROTO, "simd handed out no clock page");
	r = fd_shared_map(s->clock_fd, SIM_CLOCK_PAGE_SIZE, false, &map);
	if (r < 0)
		return err_prefix(r, "clock page");
	page = s->clock = map;
	if (page->magic != SIM_CLOCK_PAGE_MAGIC || page->abi != SIM_CLOCK_PAGE_ABI)
		return err_set(-EPROTO,
			       "simd's clock page has layout %u, this library knows %u; install matching versions",
			       page->abi, SIM_CLOCK_PAGE_ABI);
	return 0;
}

static int page_fd(struct varlink_msg *m, unsigned i, const char *what)
{
	int fd = varlink_msg_take_fd(m, i);

	return fd < 0 ? err_set(-EPROTO, "simd handed out no %s", what) : fd;
}

static int map_page(struct varlink_msg *m, unsigned i, size_t size, const char *what, void **ret)
{
	int r, fd = page_fd(m, i, what);

	if (fd < 0)
		return fd;
	r = fd_shared_map(fd, size, true, ret);
	fd_close(fd);
	return r < 0 ? err_prefix(r, "%s", what) : 0;
}

static bool array_ok(struct wire_array a, uint32_t page_size, size_t item_size)
{
	return a.stride >= item_size && a.stride % sizeof(uint64_t) == 0 && a.offset % sizeof(uint64_t) == 0 &&
	       a.offset + (uint64_t)a.stride * a.count <= page_size;
}

static bool layout_ok(const struct wire_layout_page *l)
{
	return l->abi == WIRE_ABI && l->size >= WIRE_LAYOUT_HEAD &&
	       array_ok(l->shards, l->size, sizeof(struct wire_shard)) &&
	       array_ok(l->infos, l->size, sizeof(struct wire_channel_info)) &&
	       array_ok(l->channels, l->dispatch_size, offsetof(struct wire_channel, cell)) &&
	       l->tokens.stride == sizeof(uint64_t) &&
	       l->tokens.offset + UINT64_C(8) * l->tokens.count <= l->dispatch_size &&
	       array_ok(l->steppers, l->dispatch_size, sizeof(struct wire_stepper)) &&
	       (!l->turns.count || array_ok(l->turns, l->size, sizeof(struct wire_turn))) &&
	       (!l->grants.count || array_ok(l->grants, l->dispatch_size, sizeof(struct wire_grant))) &&
	       array_ok(l->rung, l->dispatch_size, sizeof(uint64_t)) && l->rung.stride <= UINT32_MAX / 8 &&
	       array_ok(l->rows, l->counter_size, sizeof(struct wire_counters));
}

/* Reads the head first, which holds its length. */
static int map_layout(int fd, const struct wire_layout_page **ret)
{
	const struct wire_layout_page *l;
	uint32_t abi, size;
	void *map;
	bool ok;
	int r = fd_shared_map(fd, WIRE_LAYOUT_HEAD, false, &map);

	if (r < 0)
		return err_prefix(r, "layout page");
	l = map;
	abi = l->abi;
	size = l->size;
	ok = layout_ok(l);
	fd_shared_unmap(map, WIRE_LAYOUT_HEAD);
	if (!ok)
		return err_set(-EPROTO, "simd's pages have layout %u, this library knows %u; install matching versions",
			       abi, WIRE_ABI);
	r = fd_shared_map(fd, size, false, &map);
	if (r < 0)
		return err_prefix(r, "layout page");
	*ret = map;
	return 0;
}

/* Maps the layout and dispatch pages, descriptors i and i + 1. */
static int map_pages(struct varlink_msg *m, unsigned i, struct session_pages *ret)
{
	struct session_pages p = { NULL, NULL };
	int r, fd = page_fd(m, i, "layout page");

	if (fd < 0)
		return fd;
	r = map_layout(fd, &p.layout);
	fd_close(fd);
	if (r == 0)
		r = map_page(m, i + 1, p.layout->dispatch_size, "dispatch page", &p.dispatch);
	if (r < 0)
		session_pages_unmap(&p);
	else
		*ret = p;
	return r;
}

void session_pages_unmap(struct session_pages *p)
{
	if (p->layout) {
		fd_shared_unmap(p->dispatch, p->layout->dispatch_size);
		fd_shared_unmap((void *)(uintptr_t)p->layout, p->layout->size);
	}
	*p = (struct session_pages){ NULL, NULL };
}

static int hello_data(struct session *s, struct varlink_msg *m)
{
	struct session_pages p;
	int r = map_pages(m, 1, &p);

	if (r < 0)
		return r;
	s->layout = p.layout;
	s->dispatch = p.dispatch;
	r = map_page(m, 3, s->layout->counter_size, "counter page", &s->counters);
	if (r < 0)
		return r;
	s->completion = page_fd(m, 4, "completion socket");
	return s->completion < 0 ? s->completion : fd_set_nonblock(s->completion, true);
}

int session_call_pages(struct sim_client *c, struct session *s, const char *method, json_t *params, const char *what,
		       int *ret_fd, struct session_pages *ret)
{
	struct varlink_msg m;
	int fd, r = session_call(c, s, method, params, &m, NULL);

	if (r < 0)
		return r;
	fd = varlink_msg_take_fd(&m, 0);
	if (fd >= 0 && ret && map_pages(&m, 1, ret) < 0)
		*ret = (struct session_pages){ NULL, NULL };
	varlink_msg_finish(&m);
	if (fd < 0)
		return err_set(-EPROTO, "simd handed out no %s", what);
	/* with a sim-io thread, which notices the loss of simd, recv() may block */
	r = fd_set_nonblock(fd, c->flags & SIM_CLIENT_NO_THREAD);
	if (r < 0)
		fd_close(fd);
	else
		*ret_fd = fd;
	return r;
}

int session_call_fd(struct sim_client *c, struct session *s, const char *method, json_t *params, const char *what,
		    int *ret_fd)
{
	return session_call_pages(c, s, method, params, what, ret_fd, NULL);
}

int session_bell(struct sim_client *c, struct session *s, uint32_t shard, struct varlink_msg *m, struct bell **ret)
{
	struct bell *b = &s->bells[shard];

	if (b->fd < 0) {
		b->shard = wire_at_const(s->layout, s->layout->shards, shard);
		b->fd = varlink_msg_take_fd(m, 0);
	}
	if (b->fd >= 0) {
		*ret = b;
		return fd_set_nonblock(b->fd, true);
	}
	pthread_mutex_lock(&c->lock); /* it came in a reply that was dropped: a new session gets another one */
	session_hangup(s);
	pthread_mutex_unlock(&c->lock);
	return err_set(-EPROTO, "simd handed out no doorbell of shard %u", shard);
}

static int session_hello(struct sim_client *c, struct session *s)
{
	json_t *params = hello_params(c), *reply;
	struct varlink_msg m;
	int r;

	if (!params)
		return err_nomem();
	r = session_call(c, s, "Hello", params, &m, &reply);
	if (r < 0)
		return r;
	r = hello_fields(s, reply);
	if (r == 0)
		r = hello_clock(s, &m);
	if (r == 0 && !(c->flags & SIM_CLIENT_NO_DATA))
		r = hello_data(s, &m);
	varlink_msg_finish(&m);
	return r;
}

/*
 * The error if access is denied: names the group of the socket, or of the first directory above it that hides it, if
 * this process is not in that group.
 */
static int socket_forbidden(const char *path)
{
	char owner[GROUP_NAME_MAX], *at = mem_strdup(path), *slash;
	struct stat st;
	int r = -EACCES;

	if (!at)
		return err_nomem();
	while (stat(at, &st) < 0 && errno == EACCES && (slash = strrchr(at, '/')) && slash > at)
		*slash = '\0';
	if (stat(at, &st) < 0)
		err_set(r, "%s: permission denied", path);
	else if (!group_has(st.st_gid) && group_check(st.st_gid) < 0)
		err_set(r, "simd at %s is not for this user: %s", path, err_why());
	else
		err_set(r, "simd at %s is for user %s alone: run this as that user", path,
			group_user_name(st.st_uid, owner));
	mem_free(at);
	return r;
}

/* The reason why there is no connection, and what to do. */
static int no_socket(const struct sim_client *c, int r)
{
	switch (r) {
	case -ENOENT:
		return err_set(r, "no simd at %s: start it, or say where its socket is (SIMD_SOCKET)", c->path);
	case -ECONNREFUSED:
		return err_set(r, "no process listens at %s: simd has ended; start it again", c->path);
	case -ENOTSOCK:
	case -ENOTDIR:
		return err_set(r, "%s: say where simd's socket is (SIMD_SOCKET)", err_why());
	case -EACCES:
		return socket_forbidden(c->path);
	default:
		return err_prefix(r, "simd's socket");
	}
}

int session_open(struct sim_client *c, struct session **ret)
{
	struct session *s = MEM_NEW(struct session);
	struct ucred simd = { 0 };
	int r;

	if (!s)
		return err_nomem();
	atomic_init(&s->refs, 1);
	list_init(&s->calls);
	s->serial = ++c->sessions;
	s->completion = s->clock_fd = -1;
	for (unsigned i = 0; i < WIRE_SHARDS_MAX; i++)
		s->bells[i].fd = -1;
	s->sock = fd_unix_connect(c->path, SOCK_STREAM, c->timeout_dur_ns);
	r = s->sock < 0 ? no_socket(c, s->sock) : varlink_create(NULL, &s->v);
	if (r == 0 && fd_peer_cred(s->sock, &simd) == 0)
		s->simd = simd.pid;
	if (r == 0)
		r = session_hello(c, s);
	if (r < 0) {
		session_unref(s);
		return r;
	}
	*ret = s;
	return 0;
}
