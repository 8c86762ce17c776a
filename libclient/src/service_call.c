/* SPDX-License-Identifier: Apache-2.0 */
/* Calling services; see service.h. A call has a tag, and its answer comes as an event. */
#include "service.h"

#include <sim/introspect.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "jsonx.h"
#include "mem.h"
#include "session.h"
#include "timeutil.h"
#include "value.h"

#define GRACE_DUR_NS   NS_PER_S /* simd answers at the deadline; after this the client does */
#define LONGEST_DUR_NS (3600 * NS_PER_S)

/* ---- ending a call ---- */

static void outgoing_free(struct outgoing *o)
{
	if (!o)
		return;
	json_decref(o->response);
	mem_free(o);
}

void outgoing_end(struct sim_client *c, struct outgoing *o, int r, const char *why)
{
	list_remove(&o->link);
	o->done = true;
	o->r = r;
	snprintf(o->why, sizeof(o->why), "%s", why);
	if (o->fn) {
		list_append(&c->services->answered, &o->link);
		services_wake(c);
	} else {
		pthread_cond_broadcast(&c->changed);
	}
}

static struct outgoing *by_tag(struct services *ss, int64_t tag)
{
	struct outgoing *o = NULL;

	list_for_each(o, &ss->calls, link)
		if (o->tag == tag)
			return o;
	return NULL;
}

void outgoing_event(struct sim_client *c, const json_t *params)
{
	json_t *response = json_object_get(params, "response");
	struct outgoing *o = NULL;
	int64_t tag, number;
	const char *why;

	if (jsonx_int(params, "tag", 0, INT64_MAX, &tag) < 0 ||
	    jsonx_opt_int(params, "errno", -4095, 0, 0, &number) < 0 ||
	    jsonx_opt_string(params, "why", 4096, "", &why) < 0 || (number == 0 && !json_is_object(response)))
		return;
	o = by_tag(c->services, tag);
	if (!o)
		return; /* its deadline has passed */
	if (number == 0)
		o->response = json_incref(response);
	outgoing_end(c, o, (int)number, why);
}

void services_refused(struct sim_client *c, int64_t tag, int r, const char *why)
{
	struct services *ss = __atomic_load_n(&c->services, __ATOMIC_ACQUIRE);
	struct outgoing *o = ss ? by_tag(ss, tag) : NULL;

	if (o)
		outgoing_end(c, o, r, why);
}

int64_t outgoing_expire(struct sim_client *c)
{
	int64_t next_mono_ns = INT64_MAX, now_mono_ns = client_now(c);
	struct outgoing *o, *tmp;

	list_for_each_safe(o, tmp, &c->services->calls, link) {
		if (!o->fn)
			continue;
		if (o->until_mono_ns <= now_mono_ns)
			outgoing_end(c, o, -ETIMEDOUT, "simd does not answer");
		else if (o->until_mono_ns < next_mono_ns)
			next_mono_ns = o->until_mono_ns;
	}
	return next_mono_ns;
}

/* Converts the response to a body. */
static int unpack(const struct outgoing *o, void *body, size_t capacity, size_t *ret_size)
{
	int r;

	if (o->r < 0)
		return err_set(o->r, "%s", o->why);
	r = msg_from_value(o->response_type, o->response, body, capacity, ret_size);
	if (r == -ENOBUFS || r == 0)
		return r;
	return err_set(-EBADMSG, "the response is not a valid %s: %s", o->response_type->name, err_why());
}

void outgoing_notify(struct sim_client *c, struct outgoing *o)
{
	size_t size = 0;
	int r = unpack(o, c->services->response, SIM_SERVICE_BODY_MAX, &size);

	o->fn(o->user, r, r < 0 ? err_why() : "", r < 0 ? NULL : c->services->response, r < 0 ? 0 : size);
	outgoing_free(o);
}

/* ---- starting a call ---- */

/* A call's request, and the callback for its answer; fn NULL: the caller waits. */
struct ask {
	const char *name;
	const struct sim_service_type *type;
	const void *request;
	size_t size;
	int64_t timeout_dur_ns;
	sim_answer_fn fn;
	void *user;
};

static int check(struct sim_client *c, const struct ask *a)
{
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (!a->name || !a->request || !a->type || a->type->abi != SIM_TYPE_ABI || !a->type->request ||
	    !a->type->response)
		return err_set(-EINVAL, "sim_service_call: no name, no request, or no service type of ABI %u",
			       SIM_TYPE_ABI);
	if (a->size > SIM_SERVICE_BODY_MAX)
		return err_set(-EMSGSIZE, "a request of %zu bytes; at most %u are taken", a->size,
			       SIM_SERVICE_BODY_MAX);
	return services_need(c);
}

static json_t *call_params(const struct ask *a, int64_t tag)
{
	char hash[2][17];
	json_t *p;

	snprintf(hash[0], sizeof(hash[0]), "%016llx", (unsigned long long)a->type->request->hash);
	snprintf(hash[1], sizeof(hash[1]), "%016llx", (unsigned long long)a->type->response->hash);
	p = json_pack("{ss ss ss ss sI}", "service", a->name, "type", a->type->name, "request_hash", hash[0],
		      "response_hash", hash[1], "tag", (json_int_t)tag);
	if (p && a->timeout_dur_ns > 0)
		json_object_set_new(p, "timeout_ms", json_integer((a->timeout_dur_ns + NS_PER_MS - 1) / NS_PER_MS));
	return p;
}

/* Takes o on success: it is in the list of calls before its answer can come. */
static int send_call(struct sim_client *c, struct session *s, const struct ask *a, const struct varlink_text *request,
		     struct outgoing *o)
{
	json_t *params;
	int r;

	*o = (struct outgoing){ .serial = s->serial, .response_type = a->type->response, .fn = a->fn, .user = a->user };
	o->until_mono_ns =
		ns_add(client_now(c), (a->timeout_dur_ns > 0 ? a->timeout_dur_ns : LONGEST_DUR_NS) + GRACE_DUR_NS);
	pthread_mutex_lock(&c->lock);
	o->tag = c->services->next_tag++;
	list_append(&c->services->calls, &o->link);
	if (o->fn)
		services_wake(c); /* its deadline must be watched */
	pthread_mutex_unlock(&c->lock);
	params = call_params(a, o->tag);
	r = params ? session_post_text(c, s, "CallService", params, o->tag, request) : err_nomem();
	if (r >= 0)
		return 0;
	pthread_mutex_lock(&c->lock);
	if (o->done) /* the session was found dead meanwhile, which has ended the call */
		r = 0;
	else
		list_remove(&o->link);
	pthread_mutex_unlock(&c->lock);
	return r;
}

/* Returns 0: *ret_s is referenced, and *ret belongs to the callback if there is one. */
static int begin(struct sim_client *c, struct ask *a, struct session **ret_s, struct outgoing **ret)
{
	struct varlink_text request = { .name = "request" };
	struct outgoing *o;
	char *text;
	int r = check(c, a);

	if (r < 0)
		return r;
	if (a->timeout_dur_ns > LONGEST_DUR_NS)
		a->timeout_dur_ns = LONGEST_DUR_NS;
	r = services_text(a->type->request, a->request, a->size, &text, &request.len);
	if (r == -EBADMSG)
		r = err_set(-EINVAL, "the request is not a valid %s: %s", a->type->request->name, err_why());
	if (r < 0)
		return r;
	request.json = text;
	r = client_session(c, ret_s);
	if (r == 0) {
		o = MEM_NEW(struct outgoing);
		r = o ? send_call(c, *ret_s, a, &request, o) : err_nomem();
		if (r < 0) {
			outgoing_free(o);
			session_unref(*ret_s);
			*ret_s = NULL;
		}
	}
	free(text);
	if (r == 0)
		*ret = o;
	return r;
}

int sim_service_call_async(struct sim_client *c, const char *name, const struct sim_service_type *type,
			   const void *request, size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	struct ask a = { name, type, request, size, timeout_dur_ns, fn, user };
	struct session *s = NULL;
	struct outgoing *o;
	int r = fn ? begin(c, &a, &s, &o) : err_set(-EINVAL, "sim_service_call_async: no callback");

	session_unref(s);
	return r;
}

int sim_service_call(struct sim_client *c, const char *name, const struct sim_service_type *type, const void *request,
		     size_t size, int64_t timeout_dur_ns, void *response, size_t capacity, size_t *ret_size)
{
	struct ask a = { name, type, request, size, timeout_dur_ns, NULL, NULL };
	struct session *s;
	struct outgoing *o;
	size_t got = 0;
	int r = response ? begin(c, &a, &s, &o) : err_set(-EINVAL, "sim_service_call: the output pointer is NULL");

	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	while (!o->done && !s->dead && client_now(c) < o->until_mono_ns)
		session_wait_locked(c, s, o->until_mono_ns);
	if (!o->done && s->dead)
		outgoing_end(c, o, -ENOTCONN, "disconnected from simd; the library connects again when it is back");
	else if (!o->done)
		outgoing_end(c, o, -ETIMEDOUT, "simd does not answer");
	pthread_mutex_unlock(&c->lock);
	r = unpack(o, response, capacity, &got);
	session_unref(s);
	outgoing_free(o);
	if (r == 0 && ret_size)
		*ret_size = got;
	return r;
}
