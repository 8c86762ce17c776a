/* SPDX-License-Identifier: Apache-2.0 */
/* See ask.h. Thread: main. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "printable.h"
#include "timeutil.h"

#define SLICE_MS    50 /* interval between checks for a signal */
#define IN_FLIGHT   16u
#define LATE_DUR_NS (NS_PER_S / 2) /* margin for simd's own answer that a call has timed out */

/* ---- one answer ---- */

struct text {
	char *s;
	size_t len, cap;
};

static int append(void *user, const char *data, size_t len)
{
	struct text *t = user;
	char *s = t->s;

	if (t->len + len > t->cap) {
		t->cap = 2 * (t->len + len);
		s = realloc(t->s, t->cap);
	}
	if (!s)
		return -ENOMEM;
	t->s = s;
	memcpy(t->s + t->len, data, len);
	t->len += len;
	return 0;
}

static json_t *to_json(const struct sim_type *type, const void *body, size_t size)
{
	struct sim_json_options o = { .exact = true };
	struct text t = { 0 };
	json_t *j = NULL;

	if (sim_msg_to_json(type, body, size, &o, append, &t) == 0)
		j = json_loadb(t.s, t.len, 0, NULL);
	free(t.s);
	return j;
}

static void on_answer(void *user, int r, const char *why, const void *response, size_t size)
{
	struct ask *a = user;

	a->done = true;
	a->result = r;
	if (r == 0) {
		a->response = to_json(a->type->response, response, size);
		if (!a->response)
			a->result = -EBADMSG;
		if (!a->response)
			why = "its response cannot be decoded";
	}
	if (a->result < 0 && why && *why)
		printable(a->why, sizeof(a->why), why, strlen(why)); /* the provider's reason */
	else if (a->result < 0)
		snprintf(a->why, sizeof(a->why), "%s", sim_strerror(a->result));
}

/* ---- all of them ---- */

static void start(struct ctl *c, struct ask *a, int64_t timeout_dur_ns)
{
	char *text = a->request ? json_dumps(a->request, JSON_COMPACT | JSON_REAL_PRECISION(17)) : strdup("{}");
	void *body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	size_t size;
	int r = -ENOMEM;

	if (text && body)
		r = sim_msg_from_json(a->type->request, text, strlen(text), body, SIM_SERVICE_BODY_MAX, &size);
	if (r == 0)
		r = sim_service_call_async(c->client, a->service, a->type, body, size, timeout_dur_ns, on_answer, a);
	if (r < 0)
		on_answer(a, r, sim_why(), NULL, 0);
	free(body);
	free(text);
}

static unsigned count_open(const struct ask *a, size_t n)
{
	unsigned open = 0;

	for (size_t i = 0; i < n; i++)
		open += !a[i].done;
	return open;
}

static void wait_some(struct ctl *c)
{
	struct pollfd fd = { .fd = sim_client_fd(c->client), .events = POLLIN };

	(void)poll(&fd, 1, SLICE_MS);
	(void)sim_process(c->client);
}

bool ctl_ask_all(struct ctl *c, struct ask *a, size_t n, int64_t timeout_dur_ns)
{
	int64_t end = mono_now_ns() + timeout_dur_ns, left = timeout_dur_ns;
	size_t started = 0;

	while (!simctl_stop && (started < n || count_open(a, started))) {
		left = end - mono_now_ns();
		while (started < n && count_open(a, started) < IN_FLIGHT) {
			if (left > 0)
				start(c, &a[started], left);
			else
				on_answer(&a[started], -ETIMEDOUT, "the time-out passed before it was called", NULL, 0);
			started++;
		}
		if (count_open(a, started))
			wait_some(c);
		if (left < -(timeout_dur_ns + LATE_DUR_NS)) /* simd itself does not answer */
			break;
	}
	if (count_open(a, started)) { /* disconnecting completes the open calls */
		sim_disconnect(c->client);
		c->client = NULL;
	}
	return !simctl_stop && c->client;
}

json_t *ctl_ask(struct ctl *c, const char *node, const char *what, const struct sim_service_type *type, json_t *request,
		int *ret_result)
{
	struct ask a = { .type = type, .request = request };

	*ret_result = 0;
	if (snprintf(a.service, sizeof(a.service), "%s/%s", node, what) >= (int)sizeof(a.service)) {
		fprintf(stderr, "simctl: \"%.99s\" is too long for a node's name\n", node);
		return NULL;
	}
	if (!ctl_ask_all(c, &a, 1, ASK_DUR_NS) && !a.done)
		return NULL;
	*ret_result = a.result;
	if (a.result < 0 && a.result != -ENOENT)
		fprintf(stderr, "simctl: %s/%s: %s\n", node, what, a.why);
	return a.response;
}

void ask_finish(struct ask *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_decref(a[i].request);
		json_decref(a[i].response);
	}
	free(a);
}

/* ---- which nodes there are ---- */

/* Extracts "/car/lidar" from "/car/lidar/node_info". False: another service name or type. */
static bool node_of(const json_t *service, const char *what, const char *type, char ret[SIM_CHANNEL_MAX + 1])
{
	const char *name = json_text(service, "name");
	size_t len = strlen(name), tail = strlen(what) + 1;

	if (len <= tail || len > SIM_CHANNEL_MAX || strcmp(name + len - tail + 1, what) != 0 ||
	    name[len - tail] != '/' || strcmp(json_text(service, "type"), type) != 0)
		return false;
	snprintf(ret, SIM_CHANNEL_MAX + 1, "%.*s", (int)(len - tail), name);
	return true;
}

json_t *ctl_nodes(struct ctl *c, const char *what, const struct sim_service_type *type)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListServices", NULL), *service;
	json_t *nodes = reply ? json_array() : NULL;
	char name[SIM_CHANNEL_MAX + 1];
	size_t i;

	json_array_foreach(json_object_get(reply, "services"), i, service)
		if (node_of(service, what, type->name, name))
			json_array_append_new(nodes, json_pack("{s:s}", "name", name));
	json_decref(reply);
	return nodes;
}

int ctl_no_node(struct ctl *c, const char *node, const char *what, const struct sim_service_type *type,
		const char *list)
{
	json_t *nodes = ctl_nodes(c, what, type);
	char text[NEAR_TEXT_MAX];
	const char *near = ctl_near(nodes, "name", node, "", text);

	fprintf(stderr, "simctl: no node \"%.99s\" answers; ", node);
	if (*near)
		fprintf(stderr, "%s\n", near);
	else if (json_array_size(nodes))
		fprintf(stderr, "`simctl %s` shows those there are\n", list);
	else
		fprintf(stderr, "no node offers %s at present\n", what);
	json_decref(nodes);
	return 1;
}
