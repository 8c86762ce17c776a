/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option "call": services of the server's graph, offered to the clients of simd. A request is sent as call_service
 * with an id of ours; the service_response with that id is its answer. simd sends one request at a time to each. A
 * request without an answer in time, or at the end of the connection, fails with a reason. Thread: requests on the
 * host's, the rest on the link's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generic.h"
#include "rosbridge.h"

#define CALL_MS 4500 /* less than simd's own deadline, whose error has no reason */

/* Logs the failure and answers p with it. */
static void answer(struct sim_bridge *b, const struct remote *r, struct sim_pending *p, int result, const char *why)
{
	char text[400];

	snprintf(text, sizeof(text), "%.90s of the rosbridge server: %.280s", r->call->name, why);
	if (rosbridge_worth_saying(++b->remotes.n_failed))
		log_info(b, "service %s (%llu so far)", text, (unsigned long long)b->remotes.n_failed);
	(void)b->host->answer(b->host->ctx, p, result, text, NULL, 0);
}

/* ---- requests ---- */

/* Sends the request. Caller holds the lock, so that it cannot be queued for the next connection. */
static int ask(struct sim_bridge *b, struct remote *r, struct sim_pending *p, struct iov_buf *args)
{
	char head[ROSBRIDGE_HEAD_MAX];
	int e;

	if (!b->remotes.open || r->pending) {
		topics_put_buf(&b->common, args);
		return b->remotes.open ? -EBUSY : -ENOTCONN;
	}
	snprintf(r->id, sizeof(r->id), "simd-call-%" PRIu64, ++b->remotes.n_asked);
	snprintf(head, sizeof(head), "{\"op\":\"call_service\",\"id\":\"%s\",\"service\":\"%s\",\"args\":", r->id,
		 r->call->name);
	e = rosbridge_say(b, OUTBOX_URGENT, head, args);
	if (e == 0) {
		r->pending = p;
		r->due_mono_ms = rosbridge_mono_ms() + CALL_MS;
	}
	return e;
}

static void on_request(void *user, const void *request, size_t size, struct sim_pending *p)
{
	struct remote *r = user;
	struct sim_bridge *b = r->bridge;
	struct iov_buf *args = NULL;
	int e = rosbridge_encode(b, r->call->sim->request, request, size, &args);

	if (e == 0) {
		pthread_mutex_lock(&b->remotes.lock);
		e = ask(b, r, p, args);
		pthread_mutex_unlock(&b->remotes.lock);
	}
	if (e == 0)
		return;
	answer(b, r, p, e,
	       e == -ENOTCONN ? "there is no connection"
	       : e == -ERANGE ? "a time in the request is not valid in ROS"
			      : strerror(-e));
}

/* ---- answers ---- */

static struct sim_pending *take(struct sim_bridge *b, struct remote *r)
{
	struct sim_pending *p;

	pthread_mutex_lock(&b->remotes.lock);
	p = r->pending;
	r->pending = NULL;
	pthread_mutex_unlock(&b->remotes.lock);
	return p;
}

/* The call with that id, or NULL. */
static struct remote *find(struct sim_bridge *b, const char *id)
{
	struct remote *r = NULL;

	pthread_mutex_lock(&b->remotes.lock);
	for (unsigned i = 0; i < b->remotes.n && !r; i++)
		if (b->remotes.all[i].pending && strcmp(b->remotes.all[i].id, id) == 0)
			r = &b->remotes.all[i];
	pthread_mutex_unlock(&b->remotes.lock);
	return r;
}

static int read_values(struct sim_dec *d, const struct sim_type *t, void *body, size_t *ret_size)
{
	int r;

	if (!sim_dec_has(d, "values") && t->n_fields)
		return -EBADMSG;
	sim_dec_begin(d, "values");
	r = generic_read(t, d, body, SIM_SERVICE_BODY_MAX, ret_size);
	sim_dec_end(d);
	r = d->err ? d->err : r;
	return r == -ENOBUFS ? -EMSGSIZE : r;
}

/* Reads result and values; of a failed call values is a text, or an object without information. */
static int read_answer(struct sim_dec *d, const struct remote *r, void *body, size_t *ret_size, char why[300])
{
	bool has = sim_dec_has(d, "result"), result = sim_dec_bool(d, "result");
	int e = d->err ? d->err : has ? 0 : -EBADMSG;

	if (e == 0 && !result) {
		(void)rosbridge_text(d, "values", why, 300);
		if (!*why)
			snprintf(why, 300, "it failed without a reason");
		return -EREMOTEIO;
	}
	if (e == 0)
		e = read_values(d, r->call->sim->response, body, ret_size);
	if (e < 0)
		snprintf(why, 300, "its answer is not a valid %.80s: %s", r->call->sim->name, topics_reason(e));
	return e;
}

bool remotes_take(struct sim_bridge *b, struct sim_dec *d, const char *id)
{
	struct remote *r = find(b, id);
	char why[300] = "";
	size_t size = 0;
	void *body;
	int e;

	if (!r)
		return false;
	body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	e = body ? read_answer(d, r, body, &size, why) : -ENOMEM;
	if (e < 0)
		answer(b, r, take(b, r), e, *why ? why : strerror(-e));
	else
		(void)b->host->answer(b->host->ctx, take(b, r), 0, NULL, body, size);
	free(body);
	return true;
}

/* ---- calls without an answer ---- */

void remotes_look(struct sim_bridge *b, int64_t now_mono_ms)
{
	for (unsigned i = 0; i < b->remotes.n; i++) {
		struct remote *r = &b->remotes.all[i];
		bool late;

		pthread_mutex_lock(&b->remotes.lock);
		late = r->pending && now_mono_ms >= r->due_mono_ms;
		pthread_mutex_unlock(&b->remotes.lock);
		if (late)
			answer(b, r, take(b, r), -ETIMEDOUT, "it does not answer in time");
	}
}

void remotes_open(struct sim_bridge *b, bool on)
{
	pthread_mutex_lock(&b->remotes.lock);
	b->remotes.open = on;
	pthread_mutex_unlock(&b->remotes.lock);
	for (unsigned i = 0; !on && i < b->remotes.n; i++) {
		struct sim_pending *p = take(b, &b->remotes.all[i]);

		if (p)
			answer(b, &b->remotes.all[i], p, -ENOTCONN, "the connection has ended before it answered");
	}
}

/* ---- the option ---- */

int remotes_read(struct sim_bridge *b)
{
	int r = topics_read_call(&b->common);

	for (unsigned i = 0; r == 0 && i < b->common.n_call; i++)
		b->remotes.all[b->remotes.n++] = (struct remote){ .bridge = b, .call = &b->common.call[i] };
	return r;
}

void remotes_serve(struct sim_bridge *b, bool on)
{
	for (unsigned i = 0; i < b->remotes.n; i++) {
		struct remote *r = &b->remotes.all[i];

		if (on == r->served)
			continue;
		r->served = on && b->host->serve(b->host->ctx, r->call->own, r->call->sim, on_request, r) == 0;
		if (!on)
			(void)b->host->serve(b->host->ctx, r->call->own, NULL, NULL, NULL);
	}
}
