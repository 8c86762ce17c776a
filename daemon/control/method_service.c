/* SPDX-License-Identifier: Apache-2.0 */
/* Methods about services: offering, calling, answering, listing. Thread: simd-main. */
#include "conn.h"

#include "client.h"
#include "service.h"
#include "simd.h"
#include "err.h"
#include "jsonx.h"

#include <errno.h>
#include <limits.h>

#define ERRNO_MAX 4095
#define HASH_MAX  16

/* ---- offering ---- */

static int method_offer(struct call *call)
{
	const struct args *a = &call->a;
	struct conn *c = call->conn;
	struct service_offer o = { .cl = c->cl,
				   .sink = &c->listener,
				   .name = a->name,
				   .type = a->type,
				   .request = a->request,
				   .response = a->response,
				   .queue = (uint32_t)a->queue,
				   .deadline_ms = (uint32_t)a->deadline_ms };
	struct service *sv;
	int r;

	if (!c->listening)
		return err_set(-EINVAL, "OfferService: requests come as events: call Events first, with \"more\"");
	r = service_offer(call->s, &o, &sv);
	if (r < 0)
		return r;
	return call_reply(call, JSONX_MAKE(JX_STR("name", service_name(sv)), JX_INT("service_id", service_id(sv))));
}

static int method_withdraw(struct call *call)
{
	return service_withdraw(call->conn->cl, (uint32_t)call->a.service_id);
}

static int method_answer(struct call *call)
{
	const struct args *a = &call->a;
	int number = (int)a->number;

	if (!number && !a->response)
		return err_set(-EINVAL, "AnswerService: neither a response (an object) nor an errno (negative)");
	return service_answer(call->conn->cl, a->request_id, number, a->why && *a->why ? a->why : err_text(number),
			      a->response);
}

/* ---- calling ---- */

static void on_answer(void *arg, int64_t tag, int r, const char *why, json_t *response)
{
	(void)tag;
	if (r < 0)
		call_answer((struct parked *)arg, err_set(r, "%s", why), NULL);
	else
		call_answer((struct parked *)arg, 0, JSONX_MAKE(JX_NEW("response", json_incref(response))));
}

static int call_waiting(struct call *call, struct service_call *c)
{
	struct parked *p = call_park(call);

	if (!p)
		return err_nomem();
	p->service = true;
	c->fn = on_answer;
	c->arg = p;
	return call_parked(call, service_call(call->s, c));
}

/* Sends the answer as an event of the connection's own stream. */
static void on_tagged(void *arg, int64_t tag, int r, const char *why, json_t *response)
{
	struct conn *c = (struct conn *)arg;
	json_t *j = r < 0 ? JSONX_MAKE(JX_STR("event", "answer"), JX_INT("tag", tag), JX_INT("errno", r),
				       JX_STR("why", why))
			  : JSONX_MAKE(JX_STR("event", "answer"), JX_INT("tag", tag),
				       JX_NEW("response", json_incref(response)));

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
	const struct args *a = &call->a;
	struct service_call c = { .caller = &call->conn->caller,
				  .cl = call->conn->cl,
				  .name = a->service,
				  .type = a->type,
				  .request_hash = a->request_hash,
				  .response_hash = a->response_hash,
				  .request = a->request,
				  .timeout_ms = (uint32_t)a->timeout_ms,
				  .tag = a->tag };

	return c.tag >= 0 ? call_tagged(call, &c) : call_waiting(call, &c);
}

/* ---- listing ---- */

static int method_list(struct call *call)
{
	return call_reply(call, JSONX_MAKE(JX_NEW("services", service_all_json(call->s, call->conn->cl))));
}

static int method_get(struct call *call)
{
	struct service *sv;
	int r = service_find(call->s, call->conn->cl, call->a.name, &sv);

	return r < 0 ? r : call_reply(call, service_types_json(sv));
}

const struct method service_methods[] = {
	{ "OfferService", method_offer, METHOD_SESSION | RIGHT(SERVE),
	  PARAMS(ARG_STR("name", name, TEXT_MAX), ARG_STR("type", type, TEXT_MAX), ARG_OBJ("request", request),
		 ARG_OBJ("response", response), OPT_INT("queue", queue, 1, SERVICE_QUEUE_MAX, SERVICE_QUEUE),
		 OPT_INT("deadline_ms", deadline_ms, 1, SERVICE_TIME_MAX_MS, SERVICE_DEADLINE_MS)) },
	{ "WithdrawService", method_withdraw, METHOD_SESSION,
	  PARAMS(ARG_INT("service_id", service_id, 1, UINT32_MAX)) },
	{ "AnswerService", method_answer, METHOD_SESSION,
	  PARAMS(ARG_INT("request_id", request_id, 1, INT64_MAX), OPT_INT("errno", number, -ERRNO_MAX, 0, 0),
		 OPT_STR("why", why, TEXT_MAX), OPT_OBJ("response", response)) },
	{ "CallService", method_call, RIGHT(CALL),
	  PARAMS(ARG_STR("service", service, TEXT_MAX), ARG_OBJ("request", request), OPT_STR("type", type, TEXT_MAX),
		 OPT_STR("request_hash", request_hash, HASH_MAX), OPT_STR("response_hash", response_hash, HASH_MAX),
		 OPT_INT("timeout_ms", timeout_ms, 1, SERVICE_TIME_MAX_MS, 0), OPT_INT("tag", tag, 0, INT64_MAX, -1)) },
	{ "ListServices", method_list, 0, NULL },
	{ "GetService", method_get, 0, PARAMS(ARG_STR("name", name, TEXT_MAX)) },
	{ 0 },
};
