/* SPDX-License-Identifier: Apache-2.0 */
/* The services that this client offers, and the thread that does all work of services; see service.h. */
#include "service.h"

#include <sim/introspect.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "jsonx.h"
#include "mem.h"
#include "session.h"
#include "sized.h"
#include "thread.h"
#include "timeutil.h"
#include "value.h"
#include "whose.h"

#define ALIGN               64
#define DEADLINE_MAX_DUR_NS (3600 * NS_PER_S)
#define QUEUE_MAX           256

struct sim_service {
	struct list link; /* services::offers */
	struct sim_client *c;
	const struct sim_service_type *type;
	sim_service_fn fn;
	void *user;
	char *asked; /* name as the program gave it; mem_free */
	char *whose; /* name of the component that offers it; NULL: none */
	struct whose_call call;
	uint32_t queue;
	int64_t deadline_dur_ns;
	_Atomic int state;
	bool dead; /* destroyed by its own handler */

	/* session::serial of its registration; guarded by lock */
	uint64_t serial;
	int64_t id; /* 0: none */
	char name[SIM_CHANNEL_MAX + 1];
};

struct incoming {
	struct list link; /* services::incoming */
	uint64_t serial;
	int64_t service_id, request_id;
	json_t *request;
};

struct sim_pending {
	struct sim_client *c;
	const struct sim_type *response;
	uint64_t serial;
	int64_t request_id;
};

static void service_free(struct sim_service *sv)
{
	whose_remove(&sv->call);
	mem_free(sv->whose);
	mem_free(sv->asked);
	mem_free(sv);
}

/* ---- answering a request ---- */

/*
 * Whether a JSON string has a NUL, which no message may carry: the printer escapes backslashes, so "\u0000" is nothing
 * else.
 */
static bool holds_nul(const char *json)
{
	for (; (json = strchr(json, '\\')); json += 2)
		if (strncmp(json, "\\u0000", 6) == 0)
			return true;
	return false;
}

int services_text(const struct sim_type *t, const void *body, size_t size, char **ret, size_t *ret_len)
{
	static const struct sim_json_options exact = { .exact = true };
	char *text = NULL;
	int r = sim_msg_to_json_alloc(t, body, size, &exact, &text, ret_len);

	if (r == 0 && holds_nul(text))
		r = err_set(-EBADMSG, "a string holds a NUL byte");
	if (r < 0)
		free(text);
	else
		*ret = text;
	return r;
}

/* response: NULL with a negative r. */
static void send_answer(const struct sim_pending *in, int r, const char *why, const struct varlink_text *response)
{
	struct sim_client *c = in->c;
	struct session *s = NULL;
	json_t *p;

	if (client_session(c, &s) < 0)
		return;
	p = r < 0 ? json_pack("{sI si ss}", "request_id", (json_int_t)in->request_id, "errno", r, "why", why)
		  : json_pack("{sI}", "request_id", (json_int_t)in->request_id);
	if (s->serial == in->serial && p)
		(void)session_post_text(c, s, "AnswerService", p, -1, response);
	else
		json_decref(p);
	session_unref(s);
}

static int read_request(struct sim_service *sv, const json_t *request, struct sim_request *req)
{
	int r = msg_from_value(sv->type->request, request, sv->c->services->request, SIM_SERVICE_BODY_MAX, &req->size);

	return r < 0 ? err_prefix(r, "request to service %s", req->service) : 0;
}

static int write_response(const struct sim_pending *in, const void *body, size_t size)
{
	struct varlink_text response = { .name = "response" };
	char *text;
	int r = size > SIM_SERVICE_BODY_MAX ? err_set(-EMSGSIZE, "it is said to be %zu bytes", size)
					    : services_text(in->response, body, size, &text, &response.len);

	if (r == 0 && response.len > SIM_SERVICE_BODY_MAX) {
		free(text);
		r = err_set(-EMSGSIZE, "it is %zu bytes of JSON", response.len);
	}
	if (r < 0)
		return r;
	response.json = text;
	send_answer(in, 0, "", &response);
	free(text);
	return 0;
}

static int run_handler(struct sim_service *sv, struct sim_pending *in, struct sim_request *req, bool *ret_later)
{
	struct services *ss = sv->c->services;
	struct whose_run run;
	int r;

	ss->handling = in;
	ss->handler = pthread_self();
	whose_begin(&run, &sv->call);
	r = sv->fn(sv->user, req);
	whose_end(&run);
	*ret_later = !ss->handling;
	ss->handling = NULL;
	req->why[sizeof(req->why) - 1] = '\0';
	return r;
}

static void answer(struct sim_service *sv, struct sim_pending *in, const json_t *request, struct sim_request *req)
{
	bool later;
	int r = read_request(sv, request, req);

	if (r < 0) {
		send_answer(in, r, err_why(), NULL);
		return;
	}
	r = run_handler(sv, in, req, &later);
	if (later)
		return;
	if (r < 0) {
		send_answer(in, r, req->why[0] ? req->why : err_text(r), NULL);
		return;
	}
	r = write_response(in, req->response, req->response_size ? req->response_size : in->response->fixed_size);
	if (r < 0)
		send_answer(in, err_prefix(r, "response of service %s", req->service), err_why(), NULL);
}

int sim_service_defer(struct sim_client *c, struct sim_pending **ret)
{
	int r = client_guard(c);
	struct services *ss;

	if (r < 0)
		return r;
	ss = __atomic_load_n(&c->services, __ATOMIC_ACQUIRE);
	if (!ret || !ss || !ss->handling || !pthread_equal(ss->handler, pthread_self()))
		return err_set(-EINVAL,
			       "sim_service_defer: not inside a handler of this client, or for the second time");
	*ret = MEM_NEW(struct sim_pending);
	if (!*ret)
		return err_nomem();
	**ret = *ss->handling;
	sim_type_ref(ss->handling->response);
	ss->handling = NULL;
	return 0;
}

int sim_service_answer(struct sim_pending *p, int result, const char *why, const void *response, size_t size)
{
	int r = 0;

	if (result < 0)
		send_answer(p, result, why && *why ? why : err_text(result), NULL);
	else
		r = write_response(p, response, size);
	if (r < 0)
		send_answer(p, err_prefix(r, "response of the service"), err_why(), NULL);
	sim_type_unref(p->response);
	mem_free(p);
	return r;
}

/* Called and returns with lock held. */
static void handle(struct sim_client *c, struct sim_service *sv, struct incoming *in)
{
	struct services *ss = c->services;
	struct sim_request req = { .body = ss->request,
				   .response = ss->response,
				   .response_capacity = SIM_SERVICE_BODY_MAX };
	struct sim_pending pending = { c, sv->type->response, in->serial, in->request_id };
	char name[SIM_CHANNEL_MAX + 1];

	memcpy(name, sv->name, sizeof(name));
	req.service = name;
	running_begin(&ss->running, sv, &c->lock);
	memset(ss->response, 0, SIM_SERVICE_BODY_MAX);
	answer(sv, &pending, in->request, &req);
	running_end(&ss->running, &c->lock, &c->changed);
	if (sv->dead)
		service_free(sv);
}

static void incoming_free(struct incoming *in)
{
	json_decref(in->request);
	mem_free(in);
}

/* ---- the work ---- */

static struct sim_service *by_id(struct services *ss, uint64_t serial, int64_t id)
{
	struct sim_service *sv;

	list_for_each(sv, &ss->offers, link)
		if (sv->serial == serial && sv->id == id)
			return sv;
	return NULL;
}

/*
 * The next request of a service that is known here; or, while no registration is under way, of one that was withdrawn
 * (simd answers it).
 */
static struct incoming *next_incoming(struct services *ss, struct sim_service **ret_sv)
{
	struct incoming *in;

	list_for_each(in, &ss->incoming, link) {
		*ret_sv = by_id(ss, in->serial, in->service_id);
		if (*ret_sv || !ss->offering)
			return in;
	}
	return NULL;
}

static bool has_incoming(struct services *ss)
{
	struct sim_service *sv;

	return next_incoming(ss, &sv) != NULL;
}

bool services_pending(const struct sim_client *c)
{
	struct services *ss = __atomic_load_n(&c->services, __ATOMIC_ACQUIRE);

	return ss && !ss->busy &&
	       (!list_empty(&ss->answered) || (ss->look && !list_empty(&ss->watchers)) || has_incoming(ss));
}

/* Called and returns with lock held. Returns 1: a callback ran, 0: other work was done, -1: there is no work. */
static int work(struct sim_client *c)
{
	struct services *ss = c->services;
	struct outgoing *o = list_first(&ss->answered, struct outgoing, link);
	struct sim_service *sv = NULL;
	struct incoming *in;
	int n;

	if (o) {
		list_remove(&o->link);
		pthread_mutex_unlock(&c->lock);
		outgoing_notify(c, o);
		pthread_mutex_lock(&c->lock);
		return 1;
	}
	in = next_incoming(ss, &sv);
	if (in) {
		list_remove(&in->link);
		if (sv)
			handle(c, sv, in);
		incoming_free(in);
		return sv != NULL;
	}
	if (!ss->look || list_empty(&ss->watchers))
		return -1;
	ss->look = false;
	pthread_mutex_unlock(&c->lock);
	n = watchers_look(c);
	pthread_mutex_lock(&c->lock);
	return n > 0;
}

/* Called and returns with lock held. */
static int run_all(struct sim_client *c)
{
	struct services *ss = c->services;
	int n = 0, r;

	if (ss->busy)
		return 0;
	ss->busy = true;
	outgoing_expire(c);
	while (!ss->stop && (r = work(c)) >= 0)
		n += r;
	ss->busy = false;
	return n;
}

int services_run(struct sim_client *c)
{
	int n = 0;

	if (!__atomic_load_n(&c->services, __ATOMIC_ACQUIRE))
		return 0;
	pthread_mutex_lock(&c->lock);
	n = run_all(c);
	pthread_mutex_unlock(&c->lock);
	return n;
}

static void *service_main(void *arg)
{
	struct sim_client *c = arg;
	struct services *ss = c->services;

	pthread_mutex_lock(&c->lock);
	while (!ss->stop) {
		int64_t due_mono_ns;

		run_all(c);
		due_mono_ns = outgoing_expire(c);
		if (ss->stop || services_pending(c))
			continue;
		if (due_mono_ns == INT64_MAX) {
			pthread_cond_wait(&ss->wake, &c->lock);
		} else {
			struct timespec t = timespec_from_ns(due_mono_ns);

			pthread_cond_timedwait(&ss->wake, &c->lock, &t);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

void services_wake(struct sim_client *c)
{
	struct services *ss = c->services;

	if (ss->started)
		pthread_cond_signal(&ss->wake);
	else
		client_kick(c);
}

/* ---- events ---- */

static void on_request(struct sim_client *c, struct session *s, const json_t *params)
{
	struct incoming *in;
	json_t *request;
	int64_t service_id, request_id;

	if (jsonx_int(params, "service_id", 1, INT64_MAX, &service_id) < 0 ||
	    jsonx_int(params, "request_id", 1, INT64_MAX, &request_id) < 0 ||
	    jsonx_object(params, "request", &request) < 0)
		return;
	in = MEM_NEW(struct incoming);
	if (!in)
		return; /* simd answers it at the deadline */
	*in = (struct incoming){ .serial = s->serial, .service_id = service_id, .request_id = request_id };
	in->request = json_incref(request);
	list_append(&c->services->incoming, &in->link);
	services_wake(c);
}

void services_event(struct sim_client *c, struct session *s, const char *event, const json_t *params)
{
	if (!__atomic_load_n(&c->services, __ATOMIC_ACQUIRE)) /* another thread may be creating it */
		return;
	if (strcmp(event, "request") == 0) {
		on_request(c, s, params);
	} else if (strcmp(event, "answer") == 0) {
		outgoing_event(c, params);
	} else if (strcmp(event, "services") == 0) {
		c->services->look = true;
		services_wake(c);
	}
}

void services_lost(struct sim_client *c, struct session *s)
{
	struct services *ss = __atomic_load_n(&c->services, __ATOMIC_ACQUIRE);
	struct incoming *in, *itmp;
	struct outgoing *o, *otmp;
	struct sim_service *sv;

	if (!ss)
		return;
	pthread_mutex_lock(&c->lock);
	list_for_each(sv, &ss->offers, link) {
		sv->id = 0;
		atomic_store(&sv->state, -ENOTCONN);
	}
	list_for_each_safe(in, itmp, &ss->incoming, link) {
		list_remove(&in->link);
		incoming_free(in);
	}
	list_for_each_safe(o, otmp, &ss->calls, link)
		if (o->serial == s->serial)
			outgoing_end(c, o, -ENOTCONN,
				     "disconnected from simd; the library connects again when it is back");
	pthread_mutex_unlock(&c->lock);
}

/* ---- registering ---- */

static int offer_params(const struct sim_service *sv, json_t **ret)
{
	json_t *request = NULL, *response = NULL;

	if (type_to_value(sv->type->request, &request) < 0 || type_to_value(sv->type->response, &response) < 0) {
		json_decref(request);
		json_decref(response);
		return err_prefix(-EINVAL, "sim_service_offer: type %s", sv->type->name);
	}
	*ret = json_pack("{ss ss so so sI sI}", "name", sv->asked, "type", sv->type->name, "request", request,
			 "response", response, "queue", (json_int_t)sv->queue, "deadline_ms",
			 (json_int_t)((sv->deadline_dur_ns + NS_PER_MS - 1) / NS_PER_MS));
	return *ret ? 0 : err_nomem();
}

static int read_offered(struct sim_client *c, struct session *s, struct sim_service *sv, const json_t *reply)
{
	const char *name;
	int64_t id;
	int r = jsonx_string(reply, "name", SIM_CHANNEL_MAX, &name);

	if (r == 0)
		r = jsonx_int(reply, "service_id", 1, INT64_MAX, &id);
	if (r < 0)
		return err_prefix(r, "simd's answer to OfferService");
	pthread_mutex_lock(&c->lock);
	sv->serial = s->serial;
	sv->id = id;
	snprintf(sv->name, sizeof(sv->name), "%s", name);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static int offer(struct sim_client *c, struct session *s, struct sim_service *sv)
{
	struct services *ss = c->services;
	struct varlink_msg m;
	json_t *params, *reply;
	int r = offer_params(sv, &params);

	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	ss->offering++;
	pthread_mutex_unlock(&c->lock);
	r = session_call(c, s, "OfferService", params, &m, &reply);
	if (r == 0) {
		r = read_offered(c, s, sv, reply);
		varlink_msg_finish(&m);
	}
	pthread_mutex_lock(&c->lock);
	ss->offering--;
	atomic_store(&sv->state, r);
	if (services_pending(c))
		services_wake(c);
	pthread_mutex_unlock(&c->lock);
	return r;
}

void services_register(struct sim_client *c, struct session *s)
{
	struct services *ss = __atomic_load_n(&c->services, __ATOMIC_ACQUIRE);
	struct sim_service *sv;

	if (!ss)
		return;
	list_for_each(sv, &ss->offers, link)
		if (sv->serial != s->serial || !sv->id)
			(void)offer(c, s, sv);
	pthread_mutex_lock(&c->lock);
	ss->look = true;
	services_wake(c);
	pthread_mutex_unlock(&c->lock);
}

/* ---- creating and ending ---- */

static int serving_start(struct sim_client *c)
{
	struct services *ss = c->services;
	int r;

	if (ss->started || (c->flags & SIM_CLIENT_NO_THREAD))
		return 0;
	pthread_mutex_lock(&c->lock);
	r = thread_start(&ss->thread, "sim-service", service_main, c);
	ss->started = r == 0;
	pthread_mutex_unlock(&c->lock);
	if (r < 0)
		return err_sys(r, "cannot start the client's thread for services");
	return 0;
}

static void services_free(struct services *ss)
{
	if (!ss)
		return;
	pthread_cond_destroy(&ss->wake);
	free(ss->request);
	free(ss->response);
	mem_free(ss);
}

static int services_create(struct services **ret)
{
	struct services *ss = MEM_NEW(struct services);

	if (!ss)
		return err_nomem();
	thread_cond_init(&ss->wake);
	list_init(&ss->offers);
	list_init(&ss->incoming);
	list_init(&ss->calls);
	list_init(&ss->answered);
	list_init(&ss->watchers);
	list_init(&ss->known);
	ss->request = aligned_alloc(ALIGN, SIM_SERVICE_BODY_MAX);
	ss->response = aligned_alloc(ALIGN, SIM_SERVICE_BODY_MAX);
	if (!ss->request || !ss->response) {
		services_free(ss);
		return err_nomem();
	}
	*ret = ss;
	return 0;
}

int services_need(struct sim_client *c)
{
	struct services *ss = __atomic_load_n(&c->services, __ATOMIC_ACQUIRE);
	bool ready;
	int r = 0;

	if (ss) { /* the usual case; a call that must not block must not wait for setup either */
		pthread_mutex_lock(&c->lock);
		ready = ss->started || (c->flags & SIM_CLIENT_NO_THREAD);
		pthread_mutex_unlock(&c->lock);
		if (ready)
			return 0;
	}
	client_setup_lock(c);
	if (!c->services) {
		r = services_create(&ss);
		if (r == 0)
			__atomic_store_n(&c->services, ss, __ATOMIC_RELEASE);
	}
	if (r == 0)
		r = serving_start(c);
	client_setup_unlock(c);
	return r;
}

void services_finish(struct sim_client *c)
{
	struct services *ss = c->services;
	struct incoming *in, *itmp;
	struct outgoing *o, *otmp;

	if (!ss)
		return;
	pthread_mutex_lock(&c->lock);
	ss->stop = true;
	pthread_cond_signal(&ss->wake);
	pthread_mutex_unlock(&c->lock);
	if (ss->started)
		pthread_join(ss->thread, NULL);
	pthread_mutex_lock(&c->lock);
	list_for_each_safe(o, otmp, &ss->calls, link)
		outgoing_end(c, o, -ECANCELED, "this client disconnects");
	list_for_each_safe(in, itmp, &ss->incoming, link) {
		list_remove(&in->link);
		incoming_free(in);
	}
	while ((o = list_first(&ss->answered, struct outgoing, link))) {
		list_remove(&o->link);
		pthread_mutex_unlock(&c->lock);
		outgoing_notify(c, o);
		pthread_mutex_lock(&c->lock);
	}
	c->services = NULL;
	pthread_mutex_unlock(&c->lock);
	watchers_finish(ss);
	services_free(ss);
}

/* ---- public ---- */

static int check_type(const struct sim_service_type *t)
{
	if (!t || t->abi != SIM_TYPE_ABI || !t->request || !t->response || !t->name)
		return err_set(-EINVAL, "sim_service_offer: no service type of ABI %u", SIM_TYPE_ABI);
	return 0;
}

static int check_options(const struct sim_service_options *o)
{
	if (o->queue > QUEUE_MAX)
		return err_set(-EINVAL, "sim_service_offer: a queue of %u requests; at most %d", o->queue, QUEUE_MAX);
	if (o->deadline_dur_ns < 0 || o->deadline_dur_ns > DEADLINE_MAX_DUR_NS)
		return err_set(-EINVAL, "sim_service_offer: a deadline of %lld ns; at most one hour",
			       (long long)o->deadline_dur_ns);
	return 0;
}

static int service_new(struct sim_client *c, const char *name, const struct sim_service_type *type,
		       const struct sim_service_options *o, struct sim_service **ret)
{
	struct sim_service *sv = MEM_NEW(struct sim_service);

	if (!sv)
		return err_nomem();
	sv->asked = mem_strdup(name);
	sv->whose = whose() ? mem_strdup(whose()) : NULL;
	if (!sv->asked || (whose() && !sv->whose)) {
		service_free(sv);
		return err_nomem();
	}
	sv->c = c;
	sv->type = type;
	sv->queue = o->queue ? o->queue : 16;
	sv->deadline_dur_ns = o->deadline_dur_ns ? o->deadline_dur_ns : 5 * NS_PER_S;
	if (sv->whose)
		whose_add(&sv->call, WHOSE_SERVICE, sv->whose, sv->asked);
	*ret = sv;
	return 0;
}

/* Under setup. */
static int service_begin(struct sim_client *c, struct sim_service *sv)
{
	struct session *s = NULL;
	int r = client_session(c, &s);

	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	list_append(&c->services->offers, &sv->link);
	pthread_mutex_unlock(&c->lock);
	r = offer(c, s, sv);
	session_unref(s);
	if (r < 0) {
		pthread_mutex_lock(&c->lock);
		list_remove(&sv->link);
		pthread_mutex_unlock(&c->lock);
	}
	return r;
}

int sim_service_offer(struct sim_client *c, const char *name, const struct sim_service_type *type,
		      const struct sim_service_options *given, sim_service_fn fn, void *user, struct sim_service **ret)
{
	struct sim_service_options o;
	struct sim_service *sv = NULL;
	int r = client_guard(c);

	if (r == 0)
		r = check_type(type);
	if (r == 0)
		r = SIZED_TAKE(&o, given, "sim_service_offer: the options");
	if (r == 0)
		r = check_options(&o);
	if (r == 0 && (!name || !fn || !ret))
		r = err_set(-EINVAL, "sim_service_offer: no name, no handler, or the output pointer is NULL");
	if (r == 0)
		r = services_need(c);
	if (r == 0)
		r = service_new(c, name, type, &o, &sv);
	if (r < 0)
		return r;
	sv->fn = fn;
	sv->user = user;
	client_setup_lock(c);
	r = service_begin(c, sv);
	client_setup_unlock(c);
	if (r < 0) {
		service_free(sv);
		return r;
	}
	*ret = sv;
	return 0;
}

void sim_service_destroy(struct sim_service *sv)
{
	struct sim_client *c;
	struct session *s = NULL;
	bool mine;

	if (!sv || !client_alive(sv->c))
		return;
	c = sv->c;
	client_setup_lock(c);
	pthread_mutex_lock(&c->lock);
	list_remove(&sv->link);
	pthread_mutex_unlock(&c->lock);
	client_setup_unlock(c);
	if (sv->id && client_session(c, &s) == 0 && s->serial == sv->serial)
		(void)session_post(c, s, "WithdrawService", json_pack("{sI}", "service_id", (json_int_t)sv->id), 0);
	session_unref(s);
	pthread_mutex_lock(&c->lock);
	mine = running_settle(&c->services->running, sv, &c->lock, &c->changed);
	if (mine)
		sv->dead = true; /* freed when its handler returns */
	pthread_mutex_unlock(&c->lock);
	if (!mine)
		service_free(sv);
}

int sim_service_state(const struct sim_service *sv)
{
	if (!sv)
		return err_set(-EINVAL, "sim_service_state: no service was given");
	return atomic_load(&((struct sim_service *)(uintptr_t)sv)->state);
}
