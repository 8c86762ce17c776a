/* SPDX-License-Identifier: Apache-2.0 */
/* See remote.h. */
#include "remote.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "http.h"
#include "ros1.h"
#include "rpc.h"
#include "timeutil.h"

#define CALL_DUR_NS (4500 * NS_PER_MS) /* less than simd's own deadline, whose error has no reason */

static void hang_up(struct remote *r)
{
	ask_cancel(r->ask);
	r->ask = NULL;
	stream_destroy(r->stream);
	r->stream = NULL;
	r->opened = r->greeted = false;
}

/* ---- answers ---- */

static void answer(struct remote *r, int result, const char *why, const void *body, size_t size)
{
	struct sim_bridge *b = r->bridge;
	struct sim_pending *p = r->pending;

	exec_timer_cancel(&r->due);
	r->asking = false;
	r->pending = NULL;
	free(r->request);
	r->request = NULL;
	atomic_store(&r->taken, false); /* a new request may arrive during this answer */
	(void)b->host->answer(b->host->ctx, p, result, why, body, size);
}

__attribute__((format(printf, 3, 4))) static void failed(struct remote *r, int result, const char *fmt, ...)
{
	char why[300], all[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	log_printable(why);
	snprintf(all, sizeof(all), "%.90s of ROS 1: %.280s", r->call->name, why);
	log_stranger(r->bridge, 2, "service %s", all);
	answer(r, result, all, NULL, 0);
}

static void on_due(void *arg)
{
	struct remote *r = arg;

	hang_up(r);
	failed(r, -ETIMEDOUT, "it does not answer in time");
}

static void on_ended(void *arg, int error, const char *why)
{
	struct remote *r = arg;
	bool midst = error == -ECONNRESET && r->opened;

	if (r->asking)
		failed(r, midst ? -EBADMSG : error, "%s",
		       midst ? "it ends the connection in the middle of an answer" : why);
	hang_up(r);
}

/* Reads an answer: a byte for success, a length, and a response or an error. Returns as take(). */
static ssize_t take_answer(struct remote *r, const uint8_t *data, size_t len, char *why, size_t why_size)
{
	void *body = r->bridge->services.body;
	size_t size = 0;
	uint32_t n;
	int e;

	if (len < 5)
		return 0;
	n = tcpros_u32(data + 1);
	if (n > SERVICE_REQUEST_MAX) {
		snprintf(why, why_size, "it answers with %u bytes: %u at most", n, SERVICE_REQUEST_MAX);
		return -EMSGSIZE;
	}
	if (len - 5 < n)
		return 0;
	if (!data[0]) {
		failed(r, -EREMOTEIO, "%.*s", n < 250 ? (int)n : 250, (const char *)data + 5);
		return (ssize_t)n + 5;
	}
	e = rpc_read_ros1(r->call->sim->response, data + 5, n, body, SIM_SERVICE_BODY_MAX, &size);
	if (e < 0) {
		snprintf(why, why_size, "its answer is malformed: %s", topics_reason(e));
		return e;
	}
	answer(r, 0, "", body, size);
	return (ssize_t)n + 5;
}

/* ---- the connection ---- */

static ssize_t take_header(struct remote *r, const uint8_t *data, size_t len, char *why, size_t why_size)
{
	struct tcpros_header h;
	char theirs[200];
	int e = tcpros_parse(data, len, TCPROS_PEER_MAX, &h, why, why_size);

	if (e != 1)
		return e;
	if (tcpros_get(&h, "error", theirs, sizeof(theirs))) {
		snprintf(why, why_size, "it refuses: %s", theirs);
		return -EPROTO;
	}
	if (!tcpros_is(&h, "md5sum", r->type.md5)) {
		tcpros_get(&h, "md5sum", theirs, 40);
		snprintf(why, why_size, "it has another definition of %.100s: md5sum %.39s, not %.32s", r->type.name,
			 theirs, r->type.md5);
		return -EPROTO;
	}
	r->greeted = true;
	(void)stream_send(r->stream, r->request, r->len);
	return (ssize_t)h.total;
}

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct remote *r = arg;
	size_t at = 0;
	ssize_t n = 1;

	while (n > 0 && at < len) {
		n = !r->greeted ? take_header(r, data + at, len - at, why, STREAM_WHY_MAX)
		    : r->asking ? take_answer(r, data + at, len - at, why, STREAM_WHY_MAX)
				: -EPROTO; /* no request is pending */
		at += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? n : (ssize_t)at;
}

static void on_opened(void *arg)
{
	struct remote *r = arg;
	struct tcpros_writer w = { .data = NULL };

	r->opened = true;
	tcpros_put(&w, "callerid", r->bridge->names.node);
	tcpros_put(&w, "md5sum", r->type.md5);
	tcpros_put(&w, "persistent", "1");
	tcpros_put(&w, "service", r->call->name);
	tcpros_put(&w, "tcp_nodelay", "1");
	tcpros_put(&w, "type", r->type.name);
	if (tcpros_end(&w) == 0)
		(void)stream_send(r->stream, w.data, w.len);
	tcpros_writer_finish(&w);
}

static void dial(struct remote *r, const struct address *at)
{
	static const struct stream_ops ops = { .opened = on_opened, .take = take, .ended = on_ended };
	const struct stream_options o = {
		.ops = &ops, .arg = r, .buffer = SERVICE_REQUEST_MAX + 8, .lookup = r->bridge->service_names
	};
	char why[STREAM_WHY_MAX] = "no memory";
	int e;

	e = stream_dial(r->bridge->x, at, &o, &r->stream, why);
	if (e < 0)
		failed(r, e, "%s", why);
}

/* Handles the service's address from the master: "rosrpc://host:port", parsed as an http URI. */
static void on_found(void *arg, int e, struct xmlrpc_doc *d, const char *why)
{
	struct remote *r = arg;
	const struct xmlrpc_value *v = d ? xmlrpc_at(d->params, 0) : NULL;
	char text[ROS1_TEXT_MAX + 16] = "";
	struct http_uri uri;

	r->ask = NULL;
	if (xmlrpc_int(xmlrpc_at(v, 0), 0) == 1)
		snprintf(text, sizeof(text), "%.*s", (int)ROS1_TEXT_MAX, xmlrpc_text(xmlrpc_at(v, 2)));
	xmlrpc_free(d);
	if (e < 0) {
		failed(r, e, "%s", why);
	} else if (!*text) {
		failed(r, -ENOENT, "the master knows no node that offers it");
	} else if (strcmp(text, r->bridge->rpc_uri) == 0) {
		failed(r, -ELOOP, "this bridge itself offers it");
	} else if (strncmp(text, "rosrpc://", 9) != 0) {
		failed(r, -EPROTO, "its address at the master, \"%.80s\", is not of the form rosrpc://host:port", text);
	} else {
		memmove(text + 4, text + 6, strlen(text + 6) + 1);
		memcpy(text, "http", 4);
		if (http_uri_parse(text, &uri) < 0)
			failed(r, -EPROTO, "its address at the master is malformed");
		else
			dial(r, &uri.at);
	}
}

/* Sends the request. Reuses the previous request's connection, unless the peer has closed it. */
static void on_asked(void *arg)
{
	struct remote *r = arg;
	struct sim_bridge *b = r->bridge;
	struct xmlrpc_writer w = { .text = NULL };

	r->asking = true;
	exec_timer_at(&r->due, exec_now(b->x) + CALL_DUR_NS);
	if (r->greeted && stream_quiet(r->stream)) {
		(void)stream_send(r->stream, r->request, r->len);
		return;
	}
	hang_up(r);
	xmlrpc_call(&w, "lookupService");
	xmlrpc_put_text(&w, b->names.node);
	xmlrpc_put_text(&w, r->call->name);
	r->ask = ask_start(b, b->master_names, b->master.uri, &w, CALL_DUR_NS, on_found, r);
	if (!r->ask)
		failed(r, -ENOMEM, "no memory");
}

/* ---- from the host ---- */

/* Encodes a request with its length in front; free with free(). */
static int encode(const struct remote *r, const void *request, size_t size, uint8_t **ret, size_t *ret_len)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf o;
	uint8_t *at = NULL;
	unsigned n;
	int e;

	iov_buf_init(&o);
	e = rpc_write_ros1(r->call->sim->request, request, size, &o);
	if (e == 0)
		at = *ret = malloc(o.total + 4);
	if (at) {
		for (int i = 0; i < 4; i++)
			*at++ = (uint8_t)(o.total >> 8 * i);
		n = iov_buf_iov(&o, iov);
		for (unsigned i = 0; i < n; at += iov[i++].iov_len)
			memcpy(at, iov[i].iov_base, iov[i].iov_len);
		*ret_len = o.total + 4;
	}
	iov_buf_finish(&o);
	return e < 0 ? e : at ? 0 : -ENOMEM;
}

static void on_request(void *user, const void *request, size_t size, struct sim_pending *p)
{
	struct remote *r = user;
	struct sim_bridge *b = r->bridge;
	uint8_t *data = NULL;
	size_t len = 0;
	int e = encode(r, request, size, &data, &len);

	if (e == 0 && atomic_exchange(&r->taken, true))
		e = -EBUSY;
	if (e < 0) {
		free(data);
		(void)b->host->answer(b->host->ctx, p, e, e == -ERANGE ? "a time in it is not valid in ROS 1" : NULL,
				      NULL, 0);
		return;
	}
	r->pending = p;
	r->request = data;
	r->len = len;
	exec_post(&r->asked);
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

/* ---- the option ---- */

static int open_one(struct sim_bridge *b, const struct topics_call *call)
{
	struct remote *r = &b->remotes.all[b->remotes.n];
	char why[300] = "no memory";
	int e;

	r->bridge = b;
	r->call = call;
	exec_post_init(&r->asked, b->x, on_asked, r);
	exec_timer_init(&r->due, b->x, on_due, r);
	e = service_type_init(&r->type, call->sim, why, sizeof(why));
	if (e < 0) {
		log_error(b, "options.call.%.80s: %s", call->name, why);
		service_type_finish(&r->type);
	}
	b->remotes.n += e == 0;
	return e;
}

int remotes_open(struct sim_bridge *b)
{
	int r = topics_read_call(&b->common);

	for (unsigned i = 0; r == 0 && i < b->common.n_call; i++)
		r = open_one(b, &b->common.call[i]);
	return r;
}

void remotes_close(struct sim_bridge *b)
{
	for (unsigned i = 0; i < b->remotes.n; i++) {
		struct remote *r = &b->remotes.all[i];

		hang_up(r);
		if (r->pending)
			answer(r, -ECANCELED, "the bridge ends", NULL, 0);
		service_type_finish(&r->type);
	}
}
