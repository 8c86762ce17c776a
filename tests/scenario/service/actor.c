/* SPDX-License-Identifier: Apache-2.0 */
/* See actor.h. */
#include "scenario/service/actor.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/control.h"

static int64_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void on_event(struct actor *a, const json_t *p)
{
	const char *event = json_string_value(json_object_get(p, "event"));

	assert_non_null(event);
	if (strcmp(event, "request") == 0) {
		assert_true(a->n_held < HELD_MAX);
		a->held[a->n_held].id = number(p, "request_id");
		a->held[a->n_held++].n = number(json_object_get(p, "request"), "n");
		a->requests++;
	} else if (strcmp(event, "answer") == 0) {
		int64_t tag = number(p, "tag");

		assert_in_range(tag, 0, TAGS_MAX - 1);
		a->answers[tag]++;
		a->answer[tag] = (int)number(p, "errno");
		a->echo[tag] = number(json_object_get(p, "response"), "n");
		assert_true((a->answer[tag] == 0) == json_is_object(json_object_get(p, "response")));
	} else if (strcmp(event, "services") == 0) {
		a->told++;
	}
}

static void on_message(struct actor *a, const struct varlink_msg *m)
{
	struct varlink_answer ans;

	assert_int_equal(varlink_msg_answer(m, &ans), 0);
	if (ans.continues) {
		on_event(a, ans.params);
		return;
	}
	assert_true(a->n_replies < REPLIES_MAX);
	a->reply[a->n_replies++] = varlink_answer_errno(&ans);
	json_decref(a->last);
	a->last = json_incref(ans.params);
}

void actor_read(struct actor *a)
{
	struct varlink_msg m;
	int n;

	if (a->fd < 0)
		return;
	(void)!varlink_write(a->v, a->fd);
	do {
		n = varlink_read(a->v, a->fd);
		while (varlink_next(a->v, &m) == 1) {
			on_message(a, &m);
			varlink_msg_finish(&m);
		}
	} while (n == 1);
	a->cut_off |= n == -ECONNRESET;
}

void actor_post(struct actor *a, const char *method, const char *params)
{
	json_t *p = json_loads(params, 0, NULL);
	char name[80];
	bool stream = strcmp(method, "Events") == 0;

	if (a->fd < 0) {
		json_decref(p);
		return;
	}
	assert_non_null(p);
	snprintf(name, sizeof(name), "io.simd.Control.%s", method);
	assert_true(varlink_queue_call(a->v, name, p, stream ? VARLINK_MORE : 0, NULL) >= 0);
	(void)!varlink_write(a->v, a->fd);
}

int actor_ask(struct actor *a, const char *method, const char *params)
{
	unsigned before = a->n_replies;

	actor_post(a, method, params);
	for (int i = 0; a->n_replies == before; i++) {
		assert_true(i < 1000 && !a->cut_off);
		assert_true(exec_sim_settle(a->d->x) >= 0);
		actor_read(a);
		if (i > 10)
			desk_run(a->d, MS);
	}
	return a->reply[a->n_replies - 1];
}

void actor_open(struct desk *d, struct actor *a, const char *name)
{
	char text[256];
	int sv[2];

	memset(a, 0, sizeof(*a));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv), 0);
	a->d = d;
	a->fd = sv[0];
	assert_int_equal(varlink_create(NULL, &a->v), 0);
	assert_int_equal(control_serve(d->control, sv[1]), 0);
	if (!name)
		return;
	snprintf(text, sizeof(text), "{\"name\": \"%s\", \"role\": \"%s\", \"abi\": 5, \"version\": \"t\"}", name,
		 strcmp(name, "log") == 0 ? "bridge" : "client");
	assert_int_equal(actor_ask(a, "Hello", text), 0);
	actor_post(a, "Events", "{}");
	assert_true(exec_sim_settle(d->x) >= 0);
	actor_read(a);
}

void actor_vanish(struct actor *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

void actor_finish(struct actor *a)
{
	actor_vanish(a);
	json_decref(a->last);
	varlink_destroy(a->v);
}

int actor_offer(struct actor *a, const char *name, int queue, int deadline_ms)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"name\": \"%s\", \"type\": \"t/S\", \"queue\": %d, \"deadline_ms\": %d, \"request\": " TYPE_A
		 ", \"response\": " TYPE_B "}",
		 name, queue, deadline_ms);
	return actor_ask(a, "OfferService", text);
}

void actor_call(struct actor *a, const char *name, int tag, int n)
{
	char text[256];

	if (tag < 0)
		snprintf(text, sizeof(text), "{\"service\": \"%s\", \"request\": {\"n\": %d}}", name, n);
	else
		snprintf(text, sizeof(text), "{\"service\": \"%s\", \"request\": {\"n\": %d}, \"tag\": %d}", name, n,
			 tag);
	actor_post(a, "CallService", text);
}

void actor_answer_id(struct actor *a, int64_t id, int r, int64_t n)
{
	char text[256];

	if (r < 0)
		snprintf(text, sizeof(text), "{\"request_id\": %lld, \"errno\": %d, \"why\": \"no\"}", (long long)id,
			 r);
	else
		snprintf(text, sizeof(text), "{\"request_id\": %lld, \"response\": {\"n\": %lld}}", (long long)id,
			 (long long)n);
	actor_post(a, "AnswerService", text);
}

void actor_answer(struct actor *a, int r)
{
	assert_true(a->n_held > 0);
	actor_answer_id(a, a->held[0].id, r, a->held[0].n);
	a->n_held--;
	memmove(a->held, a->held + 1, a->n_held * sizeof(a->held[0]));
}
