/* SPDX-License-Identifier: Apache-2.0 */
/* Services: offering, calling, answering, what there is. Thread: simd-main. */
#include "conn.h"

#include "client.h"
#include "service.h"
#include "simd.h"
#include "err.h"
#include "jsonx.h"

#include <errno.h>
#include <limits.h>

#define TEXT_MAX  4096
#define ERRNO_MAX 4095

/* ---- offering ---- */

static int offer_numbers(struct call *call, struct service_offer *o)
{
	int64_t queue, deadline_ms;
	int r = jsonx_opt_int(call->params, "queue", 1, SERVICE_QUEUE_MAX, SERVICE_QUEUE, &queue);

	if (r == 0)
		r = jsonx_opt_int(call->params, "deadline_ms", 1, SERVICE_TIME_MAX_MS, SERVICE_DEADLINE_MS,
				  &deadline_ms);
	if (r < 0)
		return r;
	o->queue = (uint32_t)queue;
	o->deadline_ms = (uint32_t)deadline_ms;
	return 0;
}

static int method_offer(struct call *call)
{
	struct conn *c = call->conn;
	struct service_offer o = { .cl = c->cl, .sink = &c->listener };
	json_t *request, *response;
	struct service *sv;
	int r = jsonx_string(call->params, "name", TEXT_MAX, &o.name);

	if (r == 0)
		r = jsonx_string(call->params, "type", TEXT_MAX, &o.type);
	if (r == 0)
		r = jsonx_object(call->params, "request", &request);
	if (r == 0)
		r = jsonx_object(call->params, "response", &response);
	if (r == 0)
		r = offer_numbers(call, &o);
	if (r == 0 && !c->listening)
		r = err_set(-EINVAL, "OfferService: requests come as events: call Events first, with \"more\"");
	if (r < 0)
		return r;
	o.request = request;
	o.response = response;
	r = service_offer(call->s, &o, &sv);
	if (r < 0)
		return r;
	call->reply = json_pack("{s:s, s:I}", "name", service_name(sv), "service_id", (json_int_t)service_id(sv));
	return call->reply ? 0 : err_nomem();
}

static int method_withdraw(struct call *call)
{
	int64_t id;
	int r = jsonx_int(call->params, "service_id", 1, UINT32_MAX, &id);

	return r < 0 ? r : service_withdraw(call->conn->cl, (uint32_t)id);
}

static int method_answer(struct call *call)
{
	json_t *response = NULL;
	int64_t id, number;
	const char *why;
	int r = jsonx_int(call->params, "request_id", 1, INT64_MAX, &id);

	if (r == 0)
		r = jsonx_opt_int(call->params, "errno", -ERRNO_MAX, 0, 0, &number);
	if (r == 0)
		r = jsonx_opt_string(call->params, "why", TEXT_MAX, "", &why);
	if (r == 0)
		r = jsonx_opt_object(call->params, "response", &response);
	if (r < 0)
		return r;
	if (number == 0 && !response)
		return err_set(-EINVAL, "AnswerService: neither a response (an object) nor an errno (negative)");
	return service_answer(call->conn->cl, id, (int)number, *why ? why : err_text((int)number), response);
}

/* ---- calling ---- */

static int hash_param(struct call *call, const char *key, const char **ret)
{
	return jsonx_opt_string(call->params, key, 16, NULL, ret);
}

static int call_params(struct call *call, struct service_call *c, int64_t *ret_tag)
{
	int64_t ms = 0;
	json_t *request;
	int r = jsonx_string(call->params, "service", TEXT_MAX, &c->name);

	if (r == 0)
		r = jsonx_object(call->params, "request", &request);
	if (r == 0)
		r = jsonx_opt_string(call->params, "type", TEXT_MAX, NULL, &c->type);
	if (r == 0)
		r = hash_param(call, "request_hash", &c->request_hash);
	if (r == 0)
		r = hash_param(call, "response_hash", &c->response_hash);
	if (r == 0)
		r = jsonx_opt_int(call->params, "timeout_ms", 1, SERVICE_TIME_MAX_MS, 0, &ms);
	if (r == 0)
		r = jsonx_opt_int(call->params, "tag", 0, INT64_MAX, -1, ret_tag);
	if (r < 0)
		return r;
	c->request = request;
	c->timeout_ms = (uint32_t)ms;
	return 0;
}

static void on_answer(void *arg, int64_t tag, int r, const char *why, json_t *response)
{
	(void)tag;
	if (r < 0)
		call_answer((struct parked *)arg, err_set(r, "%s", why), NULL);
	else
		call_answer((struct parked *)arg, 0, json_pack("{s:O}", "response", response));
}

static int call_parked(struct call *call, struct service_call *c)
{
	struct parked *p = call_park(call);
	int r;

	if (!p)
		return err_nomem();
	p->service = true;
	c->fn = on_answer;
	c->arg = p;
	r = service_call(call->s, c);
	if (r < 0)
		call_unpark(call);
	return r;
}

/* Through the connection's own Events stream. */
static void on_tagged(void *arg, int64_t tag, int r, const char *why, json_t *response)
{
	struct conn *c = (struct conn *)arg;
	json_t *j =
		r < 0 ? json_pack("{s:s, s:I, s:i, s:s}", "event", "answer", "tag", (json_int_t)tag, "errno", r, "why",
				  why)
		      : json_pack("{s:s, s:I, s:O}", "event", "answer", "tag", (json_int_t)tag, "response", response);

	if (j)
		c->listener.send(c->listener.arg, j, NULL);
	json_decref(j);
}

static int call_tagged(struct call *call, struct service_call *c)
{
	char why[ERR_WHY_MAX];
	int r;

	if (!call->conn->listening)
		return err_set(-EINVAL,
			       "CallService: with a tag the answer is an event: call Events first, with \"more\"");
	c->fn = on_tagged;
	c->arg = call->conn;
	r = service_call(call->s, c);
	if (r < 0) {
		snprintf(why, sizeof(why), "%s", err_why());
		on_tagged(call->conn, c->tag, r, why, NULL);
	}
	return 0;
}

static int method_call(struct call *call)
{
	struct service_call c = { .caller = &call->conn->caller, .cl = call->conn->cl };
	int r = call_params(call, &c, &c.tag);

	if (r < 0)
		return r;
	return c.tag >= 0 ? call_tagged(call, &c) : call_parked(call, &c);
}

/* ---- what there is ---- */

static int method_list(struct call *call)
{
	call->reply = json_pack("{s:o}", "services", service_all_json(call->s, call->conn->cl));
	return call->reply ? 0 : err_nomem();
}

static int method_get(struct call *call)
{
	struct service *sv;
	const char *name;
	int r = jsonx_string(call->params, "name", TEXT_MAX, &name);

	if (r == 0)
		r = service_find(call->s, call->conn->cl, name, &sv);
	if (r < 0)
		return r;
	call->reply = service_types_json(sv);
	return call->reply ? 0 : err_nomem();
}

#define P(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
static const char *const none[] = { NULL };

const struct method service_methods[] = {
	{ "OfferService", method_offer, METHOD_SESSION,
	  P("name", "type", "request", "response", "queue", "deadline_ms") },
	{ "WithdrawService", method_withdraw, METHOD_SESSION, P("service_id") },
	{ "AnswerService", method_answer, METHOD_SESSION, P("request_id", "response", "errno", "why") },
	{ "CallService", method_call, 0,
	  P("service", "request", "type", "request_hash", "response_hash", "timeout_ms", "tag") },
	{ "ListServices", method_list, 0, none },
	{ "GetService", method_get, 0, P("name") },
	{ 0 },
};
