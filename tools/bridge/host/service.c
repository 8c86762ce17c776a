/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services for the far side: between connect() and disconnect() the plug-in is notified of available services, and
 * calls them without waiting. Each call is answered exactly once, at the latest before disconnect().
 *
 * Thread: callbacks run on the client's "sim-service", one at a time; calls that end with the connection are answered
 * on the thread that disconnects. Calls: any thread of the plug-in's. A call may outlive its host in the library, so
 * the state that both share (struct host_gate) is reference-counted; its lock is not held while the plug-in is called.
 */
#include <errno.h>
#include <string.h>

#include "host.h"
#include "log.h"
#include "mem.h"

LOG_TOPIC("service");

#define SERVED_QUEUE 256 /* requests of a service of the far side that may wait */

struct host_gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned refs;
	unsigned n_calls;
	bool open;
	struct list calls;               /* host_call::link: unanswered */
	const struct host_call *running; /* the call whose callback runs */
};

struct host_call {
	struct list link; /* host_gate::calls */
	struct host_gate *gate;
	sim_answer_fn fn; /* NULL: it has been answered */
	void *user;
};

struct host_known {       /* a service that the plug-in was notified of */
	struct list link; /* host_service::known; used by the watcher's thread; after its end by the stopping thread */
	char *name;
};

struct host_served {      /* a service of the far side */
	struct list link; /* host_service::served */
	struct host *h;
	char *name; /* as the plug-in calls it */
	struct sim_service *sv;
	sim_bridge_serve_fn fn;
	void *user;
};

/* ---- services of the far side ---- */

/* Caller holds served_lock. full: the name as simd has it, or as the plug-in does. */
static struct host_served *find_served(struct host *h, const char *full)
{
	const char *prefix = json_string_value(json_object_get(h->config, "prefix"));
	struct host_served *s;
	size_t n;

	list_for_each(s, &h->service.served, link) {
		n = *s->name == '/' || !prefix ? 0 : strlen(prefix);
		if (!strcmp(s->name, full) ||
		    (!strncmp(full, prefix ? prefix : "", n) && full[n] == '/' && !strcmp(full + n + 1, s->name)))
			return s;
	}
	return NULL;
}

static bool is_served(struct host *h, const char *full)
{
	bool yes;

	pthread_mutex_lock(&h->service.served_lock);
	yes = find_served(h, full);
	pthread_mutex_unlock(&h->service.served_lock);
	return yes;
}

static int on_request(void *user, struct sim_request *req)
{
	struct host_served *s = user;
	struct sim_pending *p;
	int r = sim_service_defer(s->h->client, &p);

	if (r == 0)
		s->fn(s->user, req->body, req->size, p);
	return r;
}

/* Lists the service before offering it, so that the plug-in is not notified of its own service. */
static int serve(struct host *h, const char *service, const struct sim_service_type *type, sim_bridge_serve_fn fn,
		 void *user)
{
	static const struct sim_service_options o = { .size = sizeof(o), .queue = SERVED_QUEUE };
	struct host_served *s = MEM_NEW(struct host_served);
	int r = -ENOMEM;

	if (!s)
		return r;
	*s = (struct host_served){ .h = h, .name = mem_strdup(service), .fn = fn, .user = user };
	if (s->name) {
		pthread_mutex_lock(&h->service.served_lock);
		list_append(&h->service.served, &s->link);
		pthread_mutex_unlock(&h->service.served_lock);
		r = sim_service_offer(h->client, service, type, &o, on_request, s, &s->sv);
	}
	if (r == 0)
		return 0;
	log_warn("service %s is not offered: %s", service, sim_why());
	if (s->name) {
		pthread_mutex_lock(&h->service.served_lock);
		list_remove(&s->link);
		pthread_mutex_unlock(&h->service.served_lock);
	}
	mem_free(s->name);
	mem_free(s);
	return r;
}

int host_service_serve(void *ctx, const char *service, const struct sim_service_type *type, sim_bridge_serve_fn fn,
		       void *user)
{
	struct host *h = ctx;
	struct host_served *s;

	if (!service || (fn && !type))
		return -EINVAL;
	pthread_mutex_lock(&h->service.served_lock);
	s = find_served(h, service);
	if (s && !fn)
		list_remove(&s->link);
	pthread_mutex_unlock(&h->service.served_lock);
	if (fn)
		return s ? -EEXIST : serve(h, service, type, fn, user);
	if (!s)
		return -ENOENT;
	sim_service_destroy(s->sv);
	mem_free(s->name);
	mem_free(s);
	return 0;
}

int host_service_answer(void *ctx, struct sim_pending *p, int result, const char *why, const void *response,
			size_t size)
{
	(void)ctx;
	return sim_service_answer(p, result, why, response, size);
}

/* ---- services available ---- */

static struct host_known *find(struct host *h, const char *name)
{
	struct host_known *t;

	list_for_each(t, &h->service.known, link)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

static void forget(struct host *h, struct host_known *t)
{
	h->plugin->ops->service(h->bridge, t->name, NULL);
	list_remove(&t->link);
	mem_free(t->name);
	mem_free(t);
}

static bool remember(struct host *h, const char *name)
{
	struct host_known *t = MEM_NEW(struct host_known);

	if (!t)
		return false;
	t->name = mem_strdup(name);
	if (!t->name) {
		mem_free(t);
		return false;
	}
	list_append(&h->service.known, &t->link);
	return true;
}

static void on_service(void *user, const char *name, const struct sim_service_type *type)
{
	struct host *h = user;
	struct host_known *t = find(h, name);

	if (!type && t) {
		log_debug("%s removed", name);
		forget(h, t);
	} else if (type && !t && plugin_serves(h->plugin, type->name) && !is_served(h, name) && remember(h, name)) {
		log_debug("%s (%s) available", name, type->name);
		h->plugin->ops->service(h->bridge, name, type);
	}
}

/* ---- calling ---- */

static void gate_unref(struct host_gate *g)
{
	bool last;

	pthread_mutex_lock(&g->lock);
	last = --g->refs == 0;
	pthread_mutex_unlock(&g->lock);
	if (!last)
		return;
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	mem_free(g);
}

/* Caller holds lock, which is released during the callback. */
static void answer(struct host_gate *g, struct host_call *call, int r, const char *why, const void *response,
		   size_t size)
{
	sim_answer_fn fn = call->fn;

	list_remove(&call->link);
	call->fn = NULL;
	g->n_calls--;
	g->running = call;
	pthread_mutex_unlock(&g->lock);
	fn(call->user, r, why, response, size);
	pthread_mutex_lock(&g->lock);
	g->running = NULL;
	pthread_cond_broadcast(&g->changed);
}

/* Called by the library exactly once for each call, which it does not use afterwards. */
static void on_answer(void *user, int r, const char *why, const void *response, size_t size)
{
	struct host_call *call = user;
	struct host_gate *g = call->gate;

	pthread_mutex_lock(&g->lock);
	while (g->running) /* the disconnecting thread may be answering another call */
		pthread_cond_wait(&g->changed, &g->lock);
	if (call->fn)
		answer(g, call, r, why, response, size);
	pthread_mutex_unlock(&g->lock);
	mem_free(call);
	gate_unref(g);
}

static int take(struct host_gate *g, struct host_call *call)
{
	int r = 0;

	pthread_mutex_lock(&g->lock);
	if (!g->open)
		r = -ENOTCONN;
	else if (g->n_calls == HOST_CALLS_MAX)
		r = -EBUSY;
	if (r == 0) {
		list_append(&g->calls, &call->link);
		g->n_calls++;
		g->refs++;
	}
	pthread_mutex_unlock(&g->lock);
	return r;
}

/*
 * Undoes take() after the library refused the call. Returns false if the call was answered meanwhile, by the end of the
 * connection.
 */
static bool take_back(struct host_gate *g, struct host_call *call)
{
	bool mine;

	pthread_mutex_lock(&g->lock);
	while (g->running == call)
		pthread_cond_wait(&g->changed, &g->lock);
	mine = call->fn != NULL;
	if (mine) {
		list_remove(&call->link);
		g->n_calls--;
	}
	pthread_mutex_unlock(&g->lock);
	gate_unref(g);
	return mine;
}

int host_service_call(void *ctx, const char *service, const struct sim_service_type *type, const void *request,
		      size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	struct host *h = ctx;
	struct host_gate *g = h->service.gate;
	struct host_call *call;
	int r;

	if (!service || !type || !request || !fn || timeout_dur_ns < 0)
		return -EINVAL;
	call = MEM_NEW(struct host_call);
	if (!call)
		return -ENOMEM;
	*call = (struct host_call){ .gate = g, .fn = fn, .user = user };
	r = take(g, call);
	if (r < 0) {
		mem_free(call);
		return r;
	}
	r = sim_service_call_async(h->client, service, type, request, size, timeout_dur_ns, on_answer, call);
	if (r == 0)
		return 0;
	if (!take_back(g, call))
		r = 0;
	mem_free(call);
	return r;
}

/* ---- start and stop ---- */

int host_service_init(struct host *h)
{
	struct host_gate *g = MEM_NEW(struct host_gate);

	list_init(&h->service.known);
	list_init(&h->service.served);
	pthread_mutex_init(&h->service.served_lock, NULL);
	pthread_mutex_init(&h->service.watch_lock, NULL);
	if (!g)
		return -ENOMEM;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	list_init(&g->calls);
	g->refs = 1;
	h->service.gate = g;
	return 0;
}

static void watch(struct host *h)
{
	if (SIM_BRIDGE_HAS(h->plugin->ops, service) && !h->service.watcher &&
	    sim_service_watch(h->client, on_service, h, &h->service.watcher) < 0)
		log_warn("services are not offered: %s", sim_why());
}

void host_service_start(struct host *h)
{
	struct host_gate *g = h->service.gate;

	if (!h->client)
		return;
	pthread_mutex_lock(&h->service.watch_lock);
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_mutex_unlock(&g->lock);
	watch(h);
	pthread_mutex_unlock(&h->service.watch_lock);
}

static void end(struct host *h)
{
	struct host_gate *g = h->service.gate;
	struct host_known *t, *tmp;
	struct host_call *call;

	sim_service_watcher_destroy(h->service.watcher);
	h->service.watcher = NULL;
	list_for_each_safe(t, tmp, &h->service.known, link)
		forget(h, t);
	pthread_mutex_lock(&g->lock);
	g->open = false;
	while (g->running)
		pthread_cond_wait(&g->changed, &g->lock);
	while ((call = list_first(&g->calls, struct host_call, link)))
		answer(g, call, -ECANCELED, "the bridge disconnects", NULL, 0);
	pthread_mutex_unlock(&g->lock);
}

void host_service_stop(struct host *h)
{
	if (!h->service.gate)
		return;
	pthread_mutex_lock(&h->service.watch_lock);
	end(h);
	pthread_mutex_unlock(&h->service.watch_lock);
}

void host_service_finish(struct host *h)
{
	if (!h->service.gate)
		return;
	gate_unref(h->service.gate);
	pthread_mutex_destroy(&h->service.served_lock);
	pthread_mutex_destroy(&h->service.watch_lock);
}
