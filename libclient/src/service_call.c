/* SPDX-License-Identifier: Apache-2.0 */
/* Calling services; see service.h. A call is known by its tag, and its answer comes as an event. */
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

#define GRACE_DUR_NS   NS_PER_S /* simd answers at the deadline; after this we do */
#define LONGEST_DUR_NS (3600 * NS_PER_S)

/* ---- the end of a call ---- */

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
		return; /* its time was over */
	if (number == 0)
		o->response = json_incref(response);
	outgoing_end(c, o, (int)number, why);
}

void services_refused(struct sim_client *c, int64_t tag, int r, const char *why)
{
	struct outgoing *o = c->services ? by_tag(c->services, tag) : NULL;

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

/* The response as a body. */
static int unpack(const struct outgoing *o, void *body, size_t capacity, size_t *ret_size)
{
	int r;

	if (o->r < 0)
		return err_set(o->r, "%s", o->why);
	r = msg_from_value(o->response_type, o->response, body, capacity, ret_size);
	if (r == -ENOBUFS || r == 0)
		return r;
	return err_set(-EBADMSG, "the response is no %s: %s", o->response_type->name, err_why());
}

void outgoing_notify(struct sim_client *c, struct outgoing *o)
{
	size_t size = 0;
	int r = unpack(o, c->services->response, SIM_SERVICE_BODY_MAX, &size);

	o->fn(o->user, r, r < 0 ? err_why() : "", r < 0 ? NULL : c->services->response, r < 0 ? 0 : size);
	outgoing_free(o);
}

/* ---- the beginning ---- */

static int request_text(const struct sim_type *t, const void *body, size_t size, char **ret, size_t *ret_len)
{
	int r = size > SIM_SERVICE_BODY_MAX
			? err_set(-EMSGSIZE, "a request of %zu bytes; at most %u are taken", size, SIM_SERVICE_BODY_MAX)
			: services_text(t, body, size, ret, ret_len);

	return r == -EBADMSG ? err_set(-EINVAL, "the request is no valid %s: %s", t->name, err_why()) : r;
}

static json_t *call_params(const char *name, const struct sim_service_type *type, int64_t timeout_dur_ns, int64_t tag)
{
	char hash[2][17];
	json_t *p;

	snprintf(hash[0], sizeof(hash[0]), "%016llx", (unsigned long long)type->request->hash);
	snprintf(hash[1], sizeof(hash[1]), "%016llx", (unsigned long long)type->response->hash);
	p = json_pack("{ss ss ss ss sI}", "service", name, "type", type->name, "request_hash", hash[0], "response_hash",
		      hash[1], "tag", (json_int_t)tag);
	if (p && timeout_dur_ns > 0)
		json_object_set_new(p, "timeout_ms", json_integer((timeout_dur_ns + NS_PER_MS - 1) / NS_PER_MS));
	return p;
}

static int check_call(struct sim_client *c, const char *name, const struct sim_service_type *type, const void *request)
{
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (!name || !request || !type || type->abi != SIM_TYPE_ABI || !type->request || !type->response)
		return err_set(-EINVAL, "sim_service_call: no name, no request, or no service type of ABI %u",
			       SIM_TYPE_ABI);
	return services_need(c);
}

/* Takes o on success, and text always. */
static int begin(struct sim_client *c, struct session *s, const char *name, const struct sim_service_type *type,
		 char *text, size_t len, int64_t timeout_dur_ns, struct outgoing *o)
{
	const struct varlink_text request = { "request", text, len };
	json_t *params;
	int r;

	if (timeout_dur_ns > LONGEST_DUR_NS)
		timeout_dur_ns = LONGEST_DUR_NS;
	o->serial = s->serial;
	o->response_type = type->response;
	o->until_mono_ns = ns_add(client_now(c), (timeout_dur_ns > 0 ? timeout_dur_ns : LONGEST_DUR_NS) + GRACE_DUR_NS);
	pthread_mutex_lock(&c->lock);
	o->tag = c->services->next_tag++;
	list_append(&c->services->calls, &o->link);
	if (o->fn)
		services_wake(c); /* it has a deadline to keep now */
	pthread_mutex_unlock(&c->lock);
	params = call_params(name, type, timeout_dur_ns, o->tag);
	r = params ? session_post_text(c, s, "CallService", params, o->tag, &request) : err_nomem();
	free(text);
	if (r >= 0)
		return 0;
	pthread_mutex_lock(&c->lock);
	if (o->done) /* the session was found dead meanwhile: it has its end */
		r = 0;
	else
		list_remove(&o->link);
	pthread_mutex_unlock(&c->lock);
	return r;
}

static int prepare(struct sim_client *c, const char *name, const struct sim_service_type *type, const void *request,
		   size_t size, char **ret_text, size_t *ret_len, struct session **ret_s, struct outgoing **ret_o)
{
	int r = check_call(c, name, type, request);

	if (r == 0)
		r = request_text(type->request, request, size, ret_text, ret_len);
	if (r < 0)
		return r;
	r = client_session(c, ret_s);
	if (r == 0 && !(*ret_o = MEM_NEW(struct outgoing))) {
		session_unref(*ret_s);
		r = err_nomem();
	}
	if (r < 0) {
		free(*ret_text);
		return r;
	}
	list_init(&(*ret_o)->link);
	return 0;
}

int sim_service_call_async(struct sim_client *c, const char *name, const struct sim_service_type *type,
			   const void *request, size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	struct session *s = NULL;
	struct outgoing *o = NULL;
	size_t len;
	char *text;
	int r = fn ? prepare(c, name, type, request, size, &text, &len, &s, &o)
		   : err_set(-EINVAL, "sim_service_call_async: no callback");

	if (r < 0)
		return r;
	o->fn = fn;
	o->user = user;
	r = begin(c, s, name, type, text, len, timeout_dur_ns, o);
	session_unref(s);
	if (r < 0)
		outgoing_free(o);
	return r;
}

int sim_service_call(struct sim_client *c, const char *name, const struct sim_service_type *type, const void *request,
		     size_t size, int64_t timeout_dur_ns, void *response, size_t capacity, size_t *ret_size)
{
	struct session *s = NULL;
	struct outgoing *o = NULL;
	size_t got = 0;
	size_t len;
	char *text;
	int r = response ? prepare(c, name, type, request, size, &text, &len, &s, &o)
			 : err_set(-EINVAL, "sim_service_call: the output pointer is NULL");

	if (r < 0)
		return r;
	r = begin(c, s, name, type, text, len, timeout_dur_ns, o);
	if (r == 0) {
		pthread_mutex_lock(&c->lock);
		while (!o->done && !s->dead && client_now(c) < o->until_mono_ns)
			session_wait_locked(c, s, o->until_mono_ns);
		if (!o->done && s->dead)
			outgoing_end(c, o, -ENOTCONN, "simd is gone; the library connects again when it is back");
		else if (!o->done)
			outgoing_end(c, o, -ETIMEDOUT, "simd does not answer");
		pthread_mutex_unlock(&c->lock);
		r = unpack(o, response, capacity, &got);
	}
	session_unref(s);
	outgoing_free(o);
	if (r == 0 && ret_size)
		*ret_size = got;
	return r;
}
