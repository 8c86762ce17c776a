/* SPDX-License-Identifier: Apache-2.0 */
/* See ask.h. */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "ros1.h"
#include "timeutil.h"

#define RESPONSE_MAX (HTTP_HEAD_MAX + HTTP_BODY_MAX)

struct ask {
	struct stream *stream; /* NULL: dialling failed */
	struct exec_timer due;
	struct exec_post over;
	struct xmlrpc_writer call;
	struct http_uri uri;
	bool opened, answered; /* answered: r, d and why are final */
	int r;
	struct xmlrpc_doc *d;
	char why[256];
	ask_fn fn;
	void *arg;
};

static void ask_free(struct ask *a)
{
	exec_timer_cancel(&a->due);
	exec_post_cancel(&a->over);
	stream_destroy(a->stream);
	xmlrpc_writer_finish(&a->call);
	xmlrpc_free(a->d);
	free(a);
}

static void on_over(void *arg)
{
	struct ask *a = arg;
	struct xmlrpc_doc *d = a->d;

	a->d = NULL;
	a->fn(a->arg, a->r, d, a->why);
	ask_free(a);
}

/* Stores the result. why NULL: a->why is set already. */
static void answered(struct ask *a, int r, const char *why)
{
	if (a->answered)
		return;
	a->answered = true;
	a->r = r;
	if (why)
		snprintf(a->why, sizeof(a->why), "%.250s", why);
	exec_post(&a->over);
}

static int read_fault(struct ask *a)
{
	const struct xmlrpc_value *v = a->d->params->first ? a->d->params->first->first : NULL;

	while (v && strcmp(v->name, "faultString") != 0)
		v = v->next;
	snprintf(a->why, sizeof(a->why), "it answers with a fault: %.200s", xmlrpc_text(v));
	xmlrpc_free(a->d);
	a->d = NULL;
	return -EREMOTEIO;
}

static int read_response(struct ask *a, const struct http_message *m)
{
	int r;

	if (m->status != 200) {
		snprintf(a->why, sizeof(a->why), "it answers with HTTP status %d", m->status);
		return -EBADMSG;
	}
	r = xmlrpc_parse(m->body, m->body_len, &a->d, a->why, sizeof(a->why));
	return r == 0 && a->d->kind != XMLRPC_RESPONSE ? read_fault(a) : r;
}

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct ask *a = arg;
	struct http_message m;
	int r;

	(void)why;
	if (a->answered)
		return (ssize_t)len;
	r = http_parse((const char *)data, len, HTTP_RESPONSE, &m, a->why, sizeof(a->why));
	if (r == 0)
		return 0;
	answered(a, r < 0 ? r : read_response(a, &m), NULL);
	return (ssize_t)len;
}

static void on_opened(void *arg)
{
	struct ask *a = arg;
	char head[1024];
	int n = http_request_head(head, sizeof(head), a->uri.path, a->uri.at.host, a->call.len), r = n < 0 ? n : 0;

	a->opened = true;
	if (r == 0)
		r = stream_send(a->stream, head, (size_t)n);
	if (r >= 0)
		r = stream_send(a->stream, a->call.text, a->call.len);
	if (r < 0)
		answered(a, r, strerror(-r));
}

static void on_ended(void *arg, int error, const char *why)
{
	struct ask *a = arg;
	char text[256];

	snprintf(text, sizeof(text), "%.90s: %.150s", a->uri.at.host, why);
	if (error == -ECONNRESET && a->opened)
		answered(a, -EBADMSG, "it ends the connection in the middle of an answer");
	else
		answered(a, error, error == -ENOENT ? text : why);
}

static void on_due(void *arg)
{
	answered(arg, -ETIMEDOUT, "it does not answer in time");
}

static void dial(struct sim_bridge *b, struct lookup *names, struct ask *a, const char *uri)
{
	static const struct stream_ops ops = { .opened = on_opened, .take = take, .ended = on_ended };
	const struct stream_options o = { .ops = &ops, .arg = a, .buffer = RESPONSE_MAX, .lookup = names };
	char why[STREAM_WHY_MAX] = "no memory";
	int r = xmlrpc_end(&a->call);

	if (r == 0 && (r = http_uri_parse(uri, &a->uri)) < 0)
		snprintf(why, sizeof(why), "\"%.100s\" is not of the form http://host:port", uri);
	if (r == 0)
		r = stream_dial(b->x, &a->uri.at, &o, &a->stream, why);
	if (r < 0)
		answered(a, r, why);
}

struct ask *ask_start(struct sim_bridge *b, struct lookup *names, const char *uri, struct xmlrpc_writer *w,
		      int64_t dur_ns, ask_fn fn, void *arg)
{
	struct ask *a = calloc(1, sizeof(*a));

	if (!a) {
		xmlrpc_writer_finish(w);
		return NULL;
	}
	a->call = *w;
	a->fn = fn;
	a->arg = arg;
	exec_post_init(&a->over, b->x, on_over, a);
	exec_timer_init(&a->due, b->x, on_due, a);
	exec_timer_at(&a->due, ns_add(exec_now(b->x), dur_ns));
	dial(b, names, a, uri);
	return a;
}

void ask_cancel(struct ask *a)
{
	if (a)
		ask_free(a);
}
