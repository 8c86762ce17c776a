/* SPDX-License-Identifier: Apache-2.0 */
/* Services and their requests; contract in service.h. Thread: simd-main. */
#include "service.h"

#include "bridge.h"
#include "client.h"
#include "err.h"
#include "event.h"
#include "journal.h"
#include "jsonx.h"
#include "log.h"
#include "mem.h"
#include "names.h"
#include "near.h"
#include "rig.h"
#include "simd.h"
#include "timeutil.h"
#include "varlink.h"

#include <errno.h>
#include <sim/slot.h>
#include <stdio.h>
#include <string.h>

LOG_TOPIC("service");

#define IGNORED_PER_S LOG_LIMIT(NS_PER_S, 5)

struct services {
	struct simd *s;
	struct list list; /* service::link, in the order of the offers */
	uint32_t n, next_id;
	int64_t next_request;
	uint64_t held_bytes;
	struct list done;           /* request::link: answered, not yet reported to the caller */
	struct exec_timer hand_out; /* due at once if there is an answer or the event "services" to report */
	bool changed;               /* the event "services" is due */
	bool closed;
	struct log_limit ignored;
};

struct half {
	char name[SIM_TYPE_NAME_MAX + 1], hash[17];
	char *json; /* mem_free */
};

struct service {
	struct list link; /* services::list */
	struct services *all;
	struct client *cl;
	struct event_listener *sink;
	uint32_t id, queue, deadline_ms;
	char name[CHANNEL_NAME_MAX + 1], type[SIM_TYPE_NAME_MAX + 1];
	struct half request, response;

	struct list waiting; /* request::link */
	uint32_t n_waiting;
	struct request *running; /* NULL: none, or past its deadline */
	int64_t late;            /* number of a request past its deadline that the provider still has; 0: none */

	uint64_t calls, answered, failed, timed_out, refused, dropped_late, ignored;
};

struct request {
	struct list link;              /* service::waiting or services::done; in no list while it runs */
	struct list in_caller;         /* service_caller::requests */
	struct service_caller *caller; /* NULL: disconnected */
	struct services *all;
	struct service *sv; /* NULL: answered */
	int64_t id, tag;
	char *body; /* mem_free */
	size_t bytes;
	int64_t at_mono_ns, at_sim_ns;
	char caller_name[NAME_PLAIN_MAX + 1]; /* "": a connection without a session */
	struct exec_timer deadline;
	service_answer_fn fn;
	void *arg;

	int r;
	json_t *response;
	char why[SERVICE_WHY_MAX];
};

/* ---- handing out ---- */

static void request_free(struct request *q)
{
	exec_timer_cancel(&q->deadline);
	if (q->caller) {
		list_remove(&q->in_caller);
		q->caller->n--;
	}
	q->all->held_bytes -= q->bytes;
	json_decref(q->response);
	mem_free(q->body);
	mem_free(q);
}

static void wake(struct services *all)
{
	exec_timer_at(&all->hand_out, exec_now(all->s->x));
}

static void changed(struct services *all)
{
	all->changed = true;
	wake(all);
}

/* Reports one answer at a time, from the head: the callback may end callers, providers and services. */
static void on_hand_out(void *arg)
{
	struct services *all = (struct services *)arg;
	struct request *q;

	if (all->changed) {
		all->changed = false;
		event_services(all->s);
	}
	q = list_first(&all->done, struct request, link);
	if (!q)
		return;
	wake(all);
	list_remove(&q->link);
	if (q->caller)
		q->fn(q->arg, q->tag, q->r, q->why, q->response);
	request_free(q);
}

static void note_call(const struct request *q)
{
	char *response = q->response ? jsonx_text(q->response) : NULL;
	struct journal_call c = { .service = q->sv->name,
				  .type = q->sv->type,
				  .provider = q->sv->cl->name,
				  .caller = q->caller_name,
				  .request = q->body,
				  .response = response ? response : "",
				  .why = q->why,
				  .called_sim_ns = q->at_sim_ns,
				  .took_wall_dur_ns = exec_now(q->all->s->x) - q->at_mono_ns,
				  .result = q->r };

	journal_put_call(q->all->s, &c);
	mem_free(response);
}

/* Ends a request with this result; the caller of this function removes it from its service. Owns response. */
__attribute__((format(printf, 4, 5))) static void finish(struct request *q, int r, json_t *response, const char *why,
							 ...)
{
	struct services *all = q->all;
	va_list ap;

	exec_timer_cancel(&q->deadline);
	va_start(ap, why);
	vsnprintf(q->why, sizeof(q->why), why, ap);
	va_end(ap);
	q->r = r;
	q->response = response;
	if (journal_wanted(all->s, JOURNAL_CALLS))
		note_call(q);
	q->sv = NULL;
	list_append(&all->done, &q->link);
	wake(all);
}

/* ---- one service ---- */

static void send_request(struct service *sv, struct request *q)
{
	const struct varlink_text body = { "request", q->body, q->bytes };
	json_t *j = json_pack("{s:s, s:I, s:I}", "event", "request", "service_id", (json_int_t)sv->id, "request_id",
			      (json_int_t)q->id);

	if (!j) {
		finish(q, -ENOMEM, NULL, "out of memory");
		sv->failed++;
		return;
	}
	sv->running = q;
	sv->sink->send(sv->sink->arg, j, &body);
	json_decref(j);
}

static void deliver(struct service *sv)
{
	struct request *q;

	while (!sv->running && !sv->late && (q = list_first(&sv->waiting, struct request, link))) {
		list_remove(&q->link);
		sv->n_waiting--;
		send_request(sv, q);
	}
}

static void on_deadline(void *arg)
{
	struct request *q = (struct request *)arg;
	struct service *sv = q->sv;
	bool ran = sv->running == q;

	sv->timed_out++;
	if (ran) {
		sv->running = NULL;
		sv->late = q->id;
	} else {
		list_remove(&q->link);
		sv->n_waiting--;
	}
	finish(q, -ETIMEDOUT, NULL, "service %s: %s (%s) has not %s in time", sv->name, sv->cl->name, sv->type,
	       ran ? "answered" : "reached this request");
}

static void empty(struct service *sv, int r, const char *why)
{
	struct request *q, *tmp;

	if (sv->running)
		finish(sv->running, r, NULL, "service %s: %s", sv->name, why);
	sv->running = NULL;
	sv->late = 0;
	list_for_each_safe(q, tmp, &sv->waiting, link) {
		list_remove(&q->link);
		finish(q, r, NULL, "service %s: %s", sv->name, why);
	}
	sv->n_waiting = 0;
}

static void service_free(struct service *sv)
{
	mem_free(sv->request.json);
	mem_free(sv->response.json);
	mem_free(sv);
}

static void service_end(struct service *sv, int r, const char *why)
{
	log_debug("service %s of %s has ended", sv->name, sv->cl->name);
	empty(sv, r, why);
	list_remove(&sv->link);
	sv->all->n--;
	changed(sv->all);
	service_free(sv);
}

/* ---- all of them ---- */

int service_all_create(struct simd *s)
{
	struct services *all = MEM_NEW(struct services);

	if (!all)
		return err_nomem();
	s->services = all;
	all->s = s;
	list_init(&all->list);
	list_init(&all->done);
	all->ignored = (struct log_limit)IGNORED_PER_S;
	exec_timer_init(&all->hand_out, s->x, on_hand_out, all);
	return 0;
}

void service_all_destroy(struct simd *s)
{
	struct services *all = s->services;
	struct service *sv, *stmp;
	struct request *q, *qtmp;

	if (!all)
		return;
	list_for_each_safe(sv, stmp, &all->list, link)
		service_end(sv, -ECANCELED, "simd ends");
	list_for_each_safe(q, qtmp, &all->done, link) {
		list_remove(&q->link);
		request_free(q);
	}
	exec_timer_cancel(&all->hand_out);
	mem_free(all);
	s->services = NULL;
}

void service_all_close(struct simd *s)
{
	struct service *sv;

	s->services->closed = true;
	list_for_each(sv, &s->services->list, link)
		empty(sv, -ECANCELED, "simd is shutting down");
}

static struct service *by_name(struct services *all, const char *full)
{
	struct service *sv;

	list_for_each(sv, &all->list, link) {
		if (strcmp(sv->name, full) == 0)
			return sv;
	}
	return NULL;
}

static struct service *by_id(struct services *all, uint32_t id)
{
	struct service *sv;

	list_for_each(sv, &all->list, link) {
		if (sv->id == id)
			return sv;
	}
	return NULL;
}

static uint32_t count_of(const struct services *all, const struct client *cl)
{
	const struct service *sv;
	uint32_t n = 0;

	list_for_each(sv, &all->list, link)
		n += sv->cl == cl;
	return n;
}

static int full_name(const struct client *cl, const char *name, char ret[CHANNEL_NAME_MAX + 1])
{
	return channel_name_full(cl && cl->rig ? cl->rig->prefix : "", name, ret);
}

/* A bridge sees only the services that its rig allows it to offer. */
static bool may_see(const struct client *cl, const struct service *sv)
{
	return !cl || !cl->bridge || bridge_serves(cl->bridge, sv->name);
}

/* ---- offering ---- */

static int half_init(struct half *h, const char *what, const json_t *def)
{
	const char *name, *hash;
	int r = names_type_def(def, &name, &hash);

	if (r < 0)
		return err_prefix(r, "%s", what);
	h->json = jsonx_text(def);
	if (!h->json)
		return err_nomem();
	if (strlen(h->json) > SERVICE_TYPE_MAX)
		return err_set(-E2BIG, "%s: the definition of %s is longer than %d KiB", what, name,
			       SERVICE_TYPE_MAX / 1024);
	snprintf(h->name, sizeof(h->name), "%s", name);
	snprintf(h->hash, sizeof(h->hash), "%s", hash);
	return 0;
}

static int of_user(const struct services *all, const struct client *cl)
{
	const struct service *sv;
	uint32_t n = 0;

	list_for_each(sv, &all->list, link)
		n += sv->cl->uid == cl->uid;
	return client_part_ok(cl, "services", n, all->s->limits.services);
}

static int check_offer(struct services *all, const struct service_offer *o, char full[CHANNEL_NAME_MAX + 1])
{
	struct service *other;
	int r = full_name(o->cl, o->name, full);

	if (r < 0)
		return r;
	if (all->closed)
		return err_set(-ECANCELED, "service %s: simd is shutting down", full);
	if (!names_type_ok(o->type))
		return err_set(-EINVAL, "service %s: type \"%.80s\" is not a type name, package/Name", full, o->type);
	other = by_name(all, full);
	if (other)
		return err_set(-EEXIST, "service %s is offered already, by %s (pid %d)", full, other->cl->name,
			       (int)other->cl->pid);
	if (all->n >= all->s->limits.services)
		return err_set(-EMFILE, "%u services are offered, limits.services allows no more", all->n);
	if (count_of(all, o->cl) >= all->s->limits.per_client)
		return err_set(-EMFILE, "client %s offers %u services, limits.per_client allows no more", o->cl->name,
			       all->s->limits.per_client);
	return of_user(all, o->cl);
}

static uint32_t next_id(struct services *all)
{
	do {
		all->next_id = all->next_id == INT32_MAX ? 1 : all->next_id + 1;
	} while (by_id(all, all->next_id));
	return all->next_id;
}

int service_offer(struct simd *s, const struct service_offer *o, struct service **ret)
{
	struct services *all = s->services;
	char full[CHANNEL_NAME_MAX + 1];
	struct service *sv;
	int r = check_offer(all, o, full);

	if (r < 0)
		return r;
	sv = MEM_NEW(struct service);
	if (!sv)
		return err_nomem();
	r = half_init(&sv->request, "request", o->request);
	if (r == 0)
		r = half_init(&sv->response, "response", o->response);
	if (r < 0) {
		service_free(sv);
		return err_prefix(r, "service %s", full);
	}
	sv->all = all;
	sv->cl = o->cl;
	sv->sink = o->sink;
	sv->id = next_id(all);
	sv->queue = o->queue;
	sv->deadline_ms = o->deadline_ms;
	snprintf(sv->name, sizeof(sv->name), "%s", full);
	snprintf(sv->type, sizeof(sv->type), "%s", o->type);
	list_init(&sv->waiting);
	list_append(&all->list, &sv->link);
	all->n++;
	changed(all);
	log_debug("service %s (%s) is offered by %s", sv->name, sv->type, sv->cl->name);
	*ret = sv;
	return 0;
}

int service_withdraw(struct client *cl, uint32_t id)
{
	struct service *sv = by_id(cl->s->services, id);

	if (!sv || sv->cl != cl)
		return err_set(-ENOENT, "client %s does not offer service number %u", cl->name, id);
	service_end(sv, -EPIPE, "it was withdrawn");
	return 0;
}

void service_client_disconnected(struct client *cl)
{
	struct service *sv, *tmp;
	char why[120];

	snprintf(why, sizeof(why), "%s (pid %d), which offered it, has disconnected", cl->name, (int)cl->pid);
	list_for_each_safe(sv, tmp, &cl->s->services->list, link) {
		if (sv->cl == cl)
			service_end(sv, cl->s->stopping ? -ECANCELED : -EPIPE, why);
	}
}

/* ---- calling ---- */

static int no_service(const struct simd *s, const struct client *cl, const char *full)
{
	struct near n = { .word = full };
	char text[NEAR_TEXT_MAX];
	const struct service *sv;

	list_for_each(sv, &s->services->list, link)
		if (may_see(cl, sv))
			near_offer_path(&n, sv->name);
	return err_set(-ENOENT, "no client offers service %s; %s", full,
		       near_text(&n, "`simctl service list` shows those there are", text));
}

int service_find(struct simd *s, const struct client *cl, const char *name, struct service **ret)
{
	char full[CHANNEL_NAME_MAX + 1];
	struct service *sv;
	int r = full_name(cl, name, full);

	if (r < 0)
		return r;
	sv = by_name(s->services, full);
	if (sv && !may_see(cl, sv))
		return err_set(-EACCES, "service %s: the rig does not let bridge %s offer it (\"services\")", full,
			       cl->name);
	if (!sv)
		return no_service(s, cl, full);
	*ret = sv;
	return 0;
}

static int check_half(const struct service *sv, const struct half *h, const char *hash)
{
	if (!hash || strcmp(h->hash, hash) == 0)
		return 0;
	return err_set(-EMEDIUMTYPE,
		       "service %s: %s has hash %s there, not %.16s; build both sides from the same definition",
		       sv->name, h->name, h->hash, hash);
}

static int check_type(const struct service *sv, const struct service_call *c)
{
	int r;

	if (c->type && strcmp(c->type, sv->type) != 0)
		return err_set(-EMEDIUMTYPE, "service %s is a %s, not a %.80s", sv->name, sv->type, c->type);
	r = check_half(sv, &sv->request, c->request_hash);
	return r < 0 ? r : check_half(sv, &sv->response, c->response_hash);
}

static int check_room(struct service *sv, const struct service_call *c, size_t bytes)
{
	if (bytes > SERVICE_BODY_MAX)
		return err_set(-EMSGSIZE, "service %s: a request of %zu bytes of JSON; at most %d are taken", sv->name,
			       bytes, SERVICE_BODY_MAX);
	if (sv->n_waiting >= sv->queue)
		return err_set(-EBUSY, "service %s: %u requests wait already; try again later", sv->name,
			       sv->n_waiting);
	if (c->caller->n >= SERVICE_CALLER_MAX)
		return err_set(-EBUSY, "%u requests of this connection are unanswered; wait for some of them",
			       c->caller->n);
	if (sv->all->held_bytes + bytes > SERVICE_HELD_MAX)
		return err_set(-EBUSY, "the requests of all services take %d MiB already; try again later",
			       SERVICE_HELD_MAX >> 20);
	return 0;
}

static void arm(struct request *q, const struct service *sv, uint32_t timeout_ms)
{
	uint32_t ms = timeout_ms && timeout_ms < sv->deadline_ms ? timeout_ms : sv->deadline_ms;

	exec_timer_init(&q->deadline, q->all->s->x, on_deadline, q);
	exec_timer_at(&q->deadline, exec_now(q->all->s->x) + ms * NS_PER_MS);
}

static int request_create(struct service *sv, const struct service_call *c, struct request **ret)
{
	char *text = jsonx_text(c->request);
	struct request *q;
	int r;

	if (!text)
		return err_nomem();
	r = check_room(sv, c, strlen(text));
	q = r == 0 ? MEM_NEW(struct request) : NULL;
	if (!q) {
		mem_free(text);
		return r < 0 ? r : err_nomem();
	}
	q->all = sv->all;
	q->sv = sv;
	q->id = ++sv->all->next_request;
	q->tag = c->tag;
	q->fn = c->fn;
	q->arg = c->arg;
	q->body = text;
	q->bytes = strlen(text);
	q->at_mono_ns = exec_now(q->all->s->x);
	q->at_sim_ns = journal_now(q->all->s);
	snprintf(q->caller_name, sizeof(q->caller_name), "%s", c->cl ? c->cl->name : "");
	q->all->held_bytes += q->bytes;
	if (!c->caller->requests.next)
		list_init(&c->caller->requests);
	q->caller = c->caller;
	q->caller->n++;
	list_append(&c->caller->requests, &q->in_caller);
	*ret = q;
	return 0;
}

int service_call(struct simd *s, const struct service_call *c)
{
	struct service *sv;
	struct request *q;
	int r;

	if (s->services->closed)
		return err_set(-ECANCELED, "simd is shutting down");
	r = service_find(s, c->cl, c->name, &sv);
	if (r == 0)
		r = check_type(sv, c);
	if (r < 0)
		return r;
	r = request_create(sv, c, &q);
	if (r < 0) {
		sv->refused++;
		return r;
	}
	sv->calls++;
	arm(q, sv, c->timeout_ms);
	list_append(&sv->waiting, &q->link);
	sv->n_waiting++;
	deliver(sv);
	return 0;
}

void service_caller_disconnected(struct service_caller *caller)
{
	struct request *q, *tmp;

	if (!caller->requests.next)
		return;
	list_for_each_safe(q, tmp, &caller->requests, in_caller) {
		struct service *sv = q->sv;

		list_remove(&q->in_caller);
		caller->n--;
		q->caller = NULL;
		if (sv && sv->running != q) {
			list_remove(&q->link);
			sv->n_waiting--;
			request_free(q);
		}
	}
}

/* ---- answering ---- */

static void ignore(struct client *cl, struct service *sv, int64_t request_id)
{
	if (sv)
		sv->ignored++;
	log_limited(&cl->s->services->ignored, exec_now(cl->s->x), LOG_LEVEL_WARN,
		    "client %s answers request %lld, which is not with it (answered twice?); ignoring it", cl->name,
		    (long long)request_id);
}

/* The service of this client that has the request. ret_late: the request is past its deadline. */
static struct service *holder(struct client *cl, int64_t request_id, bool *ret_late)
{
	struct service *sv;

	list_for_each(sv, &cl->s->services->list, link) {
		*ret_late = sv->late == request_id;
		if (sv->cl == cl && (*ret_late || (sv->running && sv->running->id == request_id)))
			return sv;
	}
	return NULL;
}

static struct service *any_of(struct client *cl)
{
	struct service *sv;

	list_for_each(sv, &cl->s->services->list, link) {
		if (sv->cl == cl)
			return sv;
	}
	return NULL;
}

static int check_answer(const struct service *sv, json_t *response)
{
	size_t n = json_dumpb(response, NULL, 0, JSON_COMPACT);

	if (n > SERVICE_BODY_MAX)
		return err_set(-EMSGSIZE, "service %s: an answer of %zu bytes of JSON; at most %d are taken", sv->name,
			       n, SERVICE_BODY_MAX);
	return 0;
}

int service_answer(struct client *cl, int64_t request_id, int r, const char *why, json_t *response)
{
	bool late = false;
	struct service *sv = holder(cl, request_id, &late);
	struct request *q;
	int too_big;

	if (!sv) {
		ignore(cl, any_of(cl), request_id);
		return 0;
	}
	if (late) {
		sv->dropped_late++;
		sv->late = 0;
		deliver(sv);
		return 0;
	}
	q = sv->running;
	sv->running = NULL;
	too_big = r < 0 ? 0 : check_answer(sv, response);
	if (too_big < 0)
		finish(q, too_big, NULL, "%s", err_why());
	else if (r < 0)
		finish(q, r, NULL, "%s", why);
	else
		finish(q, 0, json_incref(response), "%s", "");
	sv->failed += r < 0 || too_big < 0;
	sv->answered += r >= 0 && too_big == 0;
	deliver(sv);
	return too_big;
}

/* ---- the services ---- */

uint32_t service_id(const struct service *sv)
{
	return sv->id;
}

const char *service_name(const struct service *sv)
{
	return sv->name;
}

static json_t *summary(const struct service *sv)
{
	const struct client *cl = sv->cl;

	return JSONX_MAKE(JX_STR("name", sv->name), JX_STR("type", sv->type), JX_STR("request_hash", sv->request.hash),
			  JX_STR("response_hash", sv->response.hash), JX_STR("rig", cl->rig ? cl->rig->name : ""),
			  JX_NEW("provider", client_endpoint_json(cl->id, cl->name, cl->pid, cl->uid)),
			  JX_INT("queue", sv->queue), JX_INT("deadline_ms", sv->deadline_ms),
			  JX_INT("waiting", sv->n_waiting), JX_BOOL("running", sv->running || sv->late),
			  JX_INT("calls", sv->calls), JX_INT("answered", sv->answered), JX_INT("failed", sv->failed),
			  JX_INT("timed_out", sv->timed_out), JX_INT("refused", sv->refused),
			  JX_INT("late", sv->dropped_late), JX_INT("ignored", sv->ignored));
}

json_t *service_types_json(const struct service *sv)
{
	json_t *request = json_loads(sv->request.json, 0, NULL), *response = json_loads(sv->response.json, 0, NULL);

	return JSONX_MAKE(JX_NEW("service", summary(sv)), JX_NEW("request", request), JX_NEW("response", response));
}

json_t *service_all_json(const struct simd *s, const struct client *cl)
{
	json_t *a = json_array();
	const struct service *sv;

	list_for_each(sv, &s->services->list, link) {
		if (may_see(cl, sv))
			json_array_append_new(a, summary(sv));
	}
	return a;
}
