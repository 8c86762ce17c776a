/* SPDX-License-Identifier: Apache-2.0 */
/* See service.h. */
#include "service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/message.h>

#include "ros/ros_generic.h"
#include "ros1.h"
#include "rpc.h"

#define OPEN_MAX     16u                 /* requests of a service that the host has; the provider's default limit */
#define TURN_DUR_NS  INT64_C(5000000000) /* how long a request waits for its turn */
#define PAUSE_DUR_NS INT64_C(10000000)
#define TOO_MANY     "too many requests are unanswered"

/* ---- types ---- */

static int find_type(struct service_type *t, const struct ros_service *ros, const struct sim_service_type *sim,
		     char *why, size_t why_size)
{
	if (!rpc_same_fields(sim->request, ros->request) || !rpc_same_fields(sim->response, ros->response)) {
		snprintf(why, why_size, "%s has other fields than %s has in ROS", sim->name, ros->name);
		return -EINVAL;
	}
	t->request = ros->request;
	t->response = ros->response;
	snprintf(t->name, sizeof(t->name), "%s", ros->name);
	snprintf(t->md5, sizeof(t->md5), "%s", ros->hash);
	return 0;
}

static int make_type(struct service_type *t, const struct sim_service_type *sim, char *why, size_t why_size)
{
	char name[ROS_GENERIC_NAME_MAX];
	size_t package;
	int r = rpc_own_type(sim->name, sim->request, "Request", ros1_types, &t->made[0], why, why_size);

	if (r == 0)
		r = rpc_own_type(sim->name, sim->response, "Response", ros1_types, &t->made[1], why, why_size);
	if (r == 0)
		r = ros_text_service_md5(t->made[0], t->made[1], t->md5);
	if (r < 0)
		return r;
	t->request = ros_text_type(t->made[0]);
	t->response = ros_text_type(t->made[1]);
	ros_generic_name(sim->name, name);
	package = strcspn(name, "/");
	snprintf(t->name, sizeof(t->name), "%.*s/%s", (int)package, name, name + package + strlen("/msg/"));
	return 0;
}

int service_type_init(struct service_type *t, const struct sim_service_type *sim, char *why, size_t why_size)
{
	const struct ros_service *ros = rpc_service(ros1_services, sim->name);

	*t = (struct service_type){ .request = NULL };
	return ros ? find_type(t, ros, sim, why, why_size) : make_type(t, sim, why, why_size);
}

void service_type_finish(struct service_type *t)
{
	ros_text_destroy(t->made[0]);
	ros_text_destroy(t->made[1]);
}

/* ---- lifetime ---- */

static void service_free(struct ros1_service *s)
{
	service_type_finish(&s->type);
	sim_type_unref(s->response);
	free(s);
}

void service_unref(struct ros1_service *s)
{
	if (--s->refs)
		return;
	s->bridge->services.calls += s->calls;
	s->bridge->services.bytes_in += s->bytes_in;
	s->bridge->services.bytes_out += s->bytes_out;
	service_free(s);
}

struct ros1_service *service_find(struct sim_bridge *b, const char *name)
{
	struct ros1_service *s = b->services.all;

	while (s && strcmp(s->name, name) != 0)
		s = s->next;
	return s;
}

static void add_on_loop(void *arg)
{
	struct ros1_service *s = arg;

	s->gone = service_find(s->bridge, s->name);
	if (s->gone)
		return;
	s->next = s->bridge->services.all;
	s->bridge->services.all = s;
	s->bridge->services.n++;
}

/* 0, or an error with a reason: the service cannot be offered in ROS. */
static int service_open(struct ros1_service *s, const char *name, char *why, size_t why_size)
{
	struct sim_bridge *b = s->bridge;
	int r;

	if (!SIM_BRIDGE_HOST_HAS(b->host, call)) {
		snprintf(why, why_size, "this simbridge cannot call services: install a newer one");
		return -ENOTSUP;
	}
	if (b->services.n >= SERVICES_MAX) {
		snprintf(why, why_size, "at most %u services are possible", SERVICES_MAX);
		return -ENOSPC;
	}
	snprintf(s->own, sizeof(s->own), "%s", name);
	r = names_resolve(&b->names, name, s->name, why, why_size);
	if (r == 0)
		r = service_type_init(&s->type, s->sim, why, why_size);
	if (r < 0)
		return r;
	exec_call(b->x, add_on_loop, s);
	if (s->gone)
		snprintf(why, why_size, "another service is called %.180s already", s->name);
	return s->gone ? -EEXIST : 0;
}

static void begin(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	struct ros1_service *s = calloc(1, sizeof(*s));
	char why[256] = "no memory";
	int r = -ENOMEM;

	if (s) {
		*s = (struct ros1_service){
			.bridge = b, .refs = 1, .sim = type, .response = sim_type_ref(type->response)
		};
		r = service_open(s, name, why, sizeof(why));
	}
	if (r < 0) {
		log_warn(b, "service %s is not offered: %s", name, why);
		if (s)
			service_free(s);
		return;
	}
	if (master_want(b, MASTER_SERVES, s->name, "") < 0)
		log_error(b, "service %s is not registered: no memory", name);
	log_info(b, "service %s (%s) is offered", s->name, s->type.name);
}

static void answer(struct call *call, int result, const char *why, const void *response, size_t size);
static void finish_call(struct call *call);

struct ending {
	struct sim_bridge *bridge;
	const char *own;
	char name[NAMES_LEN + 1]; /* "": not found */
};

/* Removes the service: after that no request is made of it; pending ones are still answered. */
static void end_on_loop(void *arg)
{
	struct ending *e = arg;
	struct services *all = &e->bridge->services;
	struct ros1_service **at = &all->all, *s;
	struct call *call;

	while (*at && strcmp((*at)->own, e->own) != 0)
		at = &(*at)->next;
	s = *at;
	if (!s)
		return;
	memcpy(e->name, s->name, sizeof(e->name));
	*at = s->next;
	all->n--;
	s->gone = true;
	while ((call = s->waiting)) {
		s->waiting = call->next;
		answer(call, -EPIPE, "the service was removed", NULL, 0);
		finish_call(call);
	}
	callers_end(e->bridge, s);
	service_unref(s);
}

void services_notify(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	struct ending e = { .bridge = b, .own = name };

	exec_call(b->x, end_on_loop, &e);
	if (*e.name)
		master_unwant(b, MASTER_SERVES, e.name);
	if (type)
		begin(b, name, type);
	node_has_news(b);
}

/* ---- answers ---- */

uint8_t *caller_refusal(const char *why, size_t *ret_len)
{
	size_t n = strlen(why);
	uint8_t *out = malloc(n + 5);

	if (!out)
		return NULL;
	out[0] = 0;
	for (int i = 0; i < 4; i++)
		out[1 + i] = (uint8_t)(n >> 8 * i);
	memcpy(out + 5, why, n);
	*ret_len = n + 5;
	return out;
}

static int encode(struct call *call, const void *response, size_t size)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf o;
	uint8_t *at;
	unsigned n;
	int r;

	iov_buf_init(&o);
	r = rpc_write_ros1(call->service->response, response, size, &o);
	at = call->out = r == 0 ? malloc(o.total + 5) : NULL;
	if (at) {
		*at++ = 1;
		for (int i = 0; i < 4; i++)
			*at++ = (uint8_t)(o.total >> 8 * i);
		n = iov_buf_iov(&o, iov);
		for (unsigned i = 0; i < n; at += iov[i++].iov_len)
			memcpy(at, iov[i].iov_base, iov[i].iov_len);
		call->out_len = o.total + 5;
	}
	iov_buf_finish(&o);
	return r < 0 ? r : at ? 0 : -ENOMEM;
}

/* Encodes the answer now: the response is valid only during the callback. */
static void answer(struct call *call, int result, const char *why, const void *response, size_t size)
{
	int r = result < 0 ? result : encode(call, response, size);

	if (r < 0 && result == 0)
		why = topics_reason(r);
	call->result = result;
	if (r < 0)
		call->out = caller_refusal(*why ? why : strerror(-r), &call->out_len);
}

/* Called by the host, on a thread of its own, or from inside call(). */
static void on_answer(void *user, int result, const char *why, const void *response, size_t size)
{
	struct call *call = user;
	struct sim_bridge *b = call->service->bridge;

	answer(call, result, result == -EBUSY ? TOO_MANY : why, response, size);
	call->next = NULL;
	pthread_mutex_lock(&b->services.lock);
	*b->services.answered_end = call;
	b->services.answered_end = &call->next;
	pthread_mutex_unlock(&b->services.lock);
	exec_post(&b->services.turn);
}

static void call_free(struct call *call)
{
	service_unref(call->service);
	free(call->request);
	free(call->out);
	free(call);
}

/* Passes the answer to the caller, if it is still connected. */
static void finish_call(struct call *call)
{
	call->service->bytes_out += call->out_len;
	if (call->caller)
		caller_answer(call->caller, call->out, call->out_len);
	call_free(call);
}

/* ---- turns ---- */

static void ask_host(struct call *call)
{
	struct ros1_service *s = call->service;
	struct sim_bridge *b = s->bridge;
	int r;

	s->n_open++;
	r = b->host->call(b->host->ctx, s->own, s->sim, call->request, call->size, 0, on_answer, call);
	if (r < 0)
		on_answer(call, r, strerror(-r), NULL, 0);
}

/* Starts waiting requests in order, and refuses those that waited too long. Returns when to call again. */
static int64_t take_turns(struct ros1_service *s)
{
	int64_t now = exec_now(s->bridge->x);
	struct call *call;

	while ((call = s->waiting)) {
		bool may = s->n_open < OPEN_MAX && now >= s->pause_mono_ns;

		if (!may && call->caller && now < call->until_mono_ns)
			break;
		s->waiting = call->next;
		if (call->caller && may) {
			ask_host(call);
			continue;
		}
		answer(call, -EBUSY, TOO_MANY, NULL, 0);
		finish_call(call);
	}
	if (!call)
		return INT64_MAX;
	return s->n_open < OPEN_MAX && s->pause_mono_ns < call->until_mono_ns ? s->pause_mono_ns : call->until_mono_ns;
}

/* If the provider, or simbridge, was busy, queues the request again, before later ones. Returns whether it did. */
static bool again(struct call *call)
{
	struct ros1_service *s = call->service;

	if (call->result != -EBUSY || s->gone || !call->caller || exec_now(s->bridge->x) >= call->until_mono_ns)
		return false;
	free(call->out);
	call->out = NULL;
	call->next = s->waiting;
	s->waiting = call;
	s->pause_mono_ns = exec_now(s->bridge->x) + PAUSE_DUR_NS;
	return true;
}

static struct call *take_answered(struct services *all)
{
	struct call *list;

	pthread_mutex_lock(&all->lock);
	list = all->answered;
	all->answered = NULL;
	all->answered_end = &all->answered;
	pthread_mutex_unlock(&all->lock);
	return list;
}

/* Passes answers of the host to the callers, and starts waiting requests. */
static void turn(void *arg)
{
	struct sim_bridge *b = arg;
	int64_t due = INT64_MAX;
	struct call *call = take_answered(&b->services);

	while (call) {
		struct call *next = call->next;

		call->service->n_open--;
		if (!again(call))
			finish_call(call);
		call = next;
	}
	for (struct ros1_service *s = b->services.all; s; s = s->next) {
		int64_t at = take_turns(s);

		due = at < due ? at : due;
	}
	if (due != INT64_MAX)
		exec_timer_at(&b->services.due, due);
}

static int read_request(const struct ros1_service *s, struct call *call, const uint8_t *data, size_t len, char *why,
			size_t why_size)
{
	void *body = s->bridge->services.body;
	int r = rpc_read_ros1(s->sim->request, data, len, body, SIM_SERVICE_BODY_MAX, &call->size);

	if (r < 0) {
		snprintf(why, why_size, "the request of %s is malformed: %s", s->type.name, topics_reason(r));
		return r;
	}
	call->request = aligned_alloc(64, (call->size + 63) / 64 * 64);
	if (!call->request)
		return -ENOMEM;
	memcpy(call->request, body, call->size);
	return 0;
}

int service_call(struct ros1_service *s, struct caller *c, const uint8_t *data, size_t len, struct call **ret,
		 char *why, size_t why_size)
{
	struct call *call = calloc(1, sizeof(*call)), **at = &s->waiting;
	int r;

	snprintf(why, why_size, "no memory");
	if (!call)
		return -ENOMEM;
	r = read_request(s, call, data, len, why, why_size);
	if (r < 0) {
		free(call);
		return r;
	}
	s->refs++;
	s->calls++;
	s->bytes_in += len + 4;
	call->service = s;
	call->caller = c;
	call->until_mono_ns = exec_now(s->bridge->x) + TURN_DUR_NS;
	while (*at)
		at = &(*at)->next;
	*at = call;
	*ret = call;
	exec_post(&s->bridge->services.turn); /* starts it, if it is its turn */
	return 0;
}

/* ---- all services ---- */

int services_init(struct sim_bridge *b)
{
	pthread_mutex_init(&b->services.lock, NULL);
	b->services.answered_end = &b->services.answered;
	exec_post_init(&b->services.turn, b->x, turn, b);
	exec_timer_init(&b->services.due, b->x, turn, b);
	b->services.body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	return b->services.body ? 0 : -ENOMEM;
}

/* The host has withdrawn all services; frees answers whose callers are gone. */
void services_finish(struct sim_bridge *b)
{
	struct call *call = take_answered(&b->services);

	while (b->services.callers)
		caller_end(b->services.callers);
	while (call) {
		struct call *next = call->next;

		call_free(call);
		call = next;
	}
	while (b->services.all) {
		struct ros1_service *s = b->services.all;

		b->services.all = s->next;
		service_unref(s);
	}
	free(b->services.body);
	pthread_mutex_destroy(&b->services.lock);
}
