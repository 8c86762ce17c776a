/* SPDX-License-Identifier: Apache-2.0 */
/* See remote.h. */
#include "remote.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"
#include "net.h"
#include "ros1.h"
#include "timeutil.h"
#include "rpc.h"

#define CALL_DUR_NS INT64_C(4500000000) /* before simd's own deadline, which knows no reason */
#define HEADER_MAX  65536u

struct exchange { /* of a request and its answer */
	struct remote *r;
	int64_t due_mono_ns;
	char why[300];
};

__attribute__((format(printf, 3, 4))) static int failed(struct exchange *x, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->why, sizeof(x->why), fmt, ap);
	va_end(ap);
	log_printable(x->why);
	return r;
}

/* ---- the connection ---- */

static int receive(struct exchange *x, void *data, size_t n)
{
	return net_receive(x->r->fd, data, n, x->due_mono_ns, x->r->bridge->remotes.stop_fd, x->why, sizeof(x->why));
}

static int send_all(struct exchange *x, const void *data, size_t n)
{
	return net_send(x->r->fd, data, n, x->due_mono_ns, x->r->bridge->remotes.stop_fd, x->why, sizeof(x->why));
}

/* Who serves it: "rosrpc://host:port", which is http_uri_parse()'s but for its beginning. */
static int look_up(struct exchange *x, struct http_uri *ret)
{
	struct sim_bridge *b = x->r->bridge;
	char text[ROS1_TEXT_MAX + 16] = "";
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d = NULL;
	const struct xmlrpc_value *v;
	int r;

	xmlrpc_call(&w, "lookupService");
	xmlrpc_put_text(&w, b->names.node);
	xmlrpc_put_text(&w, x->r->call->name);
	r = xmlrpc_end(&w);
	if (r == 0)
		r = net_call(b->master.uri, &w, x->due_mono_ns, b->remotes.stop_fd, &d, x->why, sizeof(x->why));
	xmlrpc_writer_finish(&w);
	if (r < 0)
		return r;
	v = xmlrpc_at(d->params, 0);
	if (xmlrpc_int(xmlrpc_at(v, 0), 0) == 1)
		snprintf(text, sizeof(text), "%.*s", (int)ROS1_TEXT_MAX, xmlrpc_text(xmlrpc_at(v, 2)));
	xmlrpc_free(d);
	if (!*text)
		return failed(x, -ENOENT, "the master knows no node that offers it");
	if (strcmp(text, b->rpc_uri) == 0)
		return failed(x, -ELOOP, "this very bridge offers it");
	if (strncmp(text, "rosrpc://", 9) != 0)
		return failed(x, -EPROTO, "its address at the master, \"%.80s\", is not of the form rosrpc://host:port",
			      text);
	memmove(text + 4, text + 6, strlen(text + 6) + 1);
	memcpy(text, "http", 4);
	return http_uri_parse(text, ret) < 0 ? failed(x, -EPROTO, "its address at the master is malformed") : 0;
}

static int send_header(struct exchange *x)
{
	const struct remote *r = x->r;
	struct tcpros_writer w = { .data = NULL };
	int e;

	tcpros_put(&w, "callerid", r->bridge->names.node);
	tcpros_put(&w, "md5sum", r->type.md5);
	tcpros_put(&w, "persistent", "1");
	tcpros_put(&w, "service", r->call->name);
	tcpros_put(&w, "tcp_nodelay", "1");
	tcpros_put(&w, "type", r->type.name);
	e = tcpros_end(&w);
	if (e == 0)
		e = send_all(x, w.data, w.len);
	tcpros_writer_finish(&w);
	return e;
}

static uint32_t get_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int check_header(struct exchange *x, const uint8_t *data, size_t len)
{
	struct tcpros_header h;
	char theirs[200];
	int r = tcpros_parse(data, len, HEADER_MAX - 4, &h, x->why, sizeof(x->why));

	if (r != 1)
		return r < 0 ? r : failed(x, -EBADMSG, "its header is malformed");
	if (tcpros_get(&h, "error", theirs, sizeof(theirs)))
		return failed(x, -EPROTO, "it refuses: %s", theirs);
	if (!tcpros_is(&h, "md5sum", x->r->type.md5)) {
		tcpros_get(&h, "md5sum", theirs, 40);
		return failed(x, -EPROTO, "it has another definition of %s: md5sum %s, not %s", x->r->type.name, theirs,
			      x->r->type.md5);
	}
	return 0;
}

static int receive_header(struct exchange *x)
{
	uint8_t *data = malloc(HEADER_MAX);
	int r = data ? receive(x, data, 4) : -ENOMEM;

	if (r == 0 && get_u32(data) <= HEADER_MAX - 4)
		r = receive(x, data + 4, get_u32(data));
	if (r == 0)
		r = check_header(x, data, HEADER_MAX);
	free(data);
	return r;
}

static void hang_up(struct remote *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

/* The connection of the request before is used again, unless the other side has ended it. */
static int connect_it(struct exchange *x)
{
	struct remote *r = x->r;
	struct http_uri uri;
	char c;
	int e;

	if (r->fd >= 0 && recv(r->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)
		return 0;
	hang_up(r);
	e = look_up(x, &uri);
	if (e == 0)
		e = r->fd = net_connect(uri.host, uri.port, x->why, sizeof(x->why));
	if (e >= 0)
		e = send_header(x);
	return e < 0 ? e : receive_header(x);
}

/* ---- a request ---- */

static int receive_answer(struct exchange *x, uint8_t **ret, size_t *ret_len)
{
	uint8_t head[5], *data;
	uint32_t len;
	int r = receive(x, head, sizeof(head));

	if (r < 0)
		return r;
	len = get_u32(head + 1);
	if (len > SERVICE_REQUEST_MAX)
		return failed(x, -EMSGSIZE, "it answers with %u bytes: %u at most", len, SERVICE_REQUEST_MAX);
	data = malloc(len + 1);
	if (!data)
		return -ENOMEM;
	r = receive(x, data, len);
	data[len] = '\0';
	if (r == 0 && !head[0])
		r = failed(x, -EREMOTEIO, "%.250s", (const char *)data);
	if (r < 0) {
		free(data);
		return r;
	}
	*ret = data;
	*ret_len = len;
	return 0;
}

static int ask(struct exchange *x, const uint8_t *request, size_t len, void *body, size_t *ret_size)
{
	uint8_t *data = NULL;
	size_t n = 0;
	int r = connect_it(x);

	if (r == 0)
		r = send_all(x, request, len);
	if (r == 0)
		r = receive_answer(x, &data, &n);
	if (r < 0 && r != -EREMOTEIO)
		hang_up(x->r);
	if (r < 0)
		return r;
	r = rpc_read_ros1(x->r->call->sim->response, data, n, body, SIM_SERVICE_BODY_MAX, ret_size);
	free(data);
	return r < 0 ? failed(x, r, "its answer is malformed: %s", topics_reason(r)) : 0;
}

/* Takes request. */
static void serve(struct remote *r, struct sim_pending *p, uint8_t *request, size_t len)
{
	struct exchange x = { .r = r, .due_mono_ns = mono_now_ns() + CALL_DUR_NS };
	struct sim_bridge *b = r->bridge;
	void *body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	size_t size = 0;
	char why[400];
	int e = body ? ask(&x, request, len, body, &size) : -ENOMEM;

	snprintf(why, sizeof(why), "%.90s of ROS 1: %.280s", r->call->name, *x.why ? x.why : strerror(-e));
	if (e < 0)
		log_limited(b, 2, "service %s", why);
	(void)b->host->answer(b->host->ctx, p, e, why, body, size);
	free(request);
	free(body);
}

static void *remote_main(void *arg)
{
	struct remote *r = arg;
	struct remotes *all = &r->bridge->remotes;

	pthread_mutex_lock(&all->lock);
	while (!all->stop) {
		struct sim_pending *p = r->pending;
		uint8_t *request = r->request;
		size_t len = r->len;

		if (!p) {
			pthread_cond_wait(&all->changed, &all->lock);
			continue;
		}
		r->pending = NULL;
		pthread_mutex_unlock(&all->lock);
		serve(r, p, request, len);
		pthread_mutex_lock(&all->lock);
	}
	pthread_mutex_unlock(&all->lock);
	hang_up(r);
	return NULL;
}

/* ---- from the host ---- */

/* As it is sent, its length in front: malloc(). */
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

	if (e == 0) {
		pthread_mutex_lock(&b->remotes.lock);
		e = r->pending || b->remotes.stop ? -EBUSY : 0;
		if (e == 0) {
			r->pending = p;
			r->request = data;
			r->len = len;
			pthread_cond_broadcast(&b->remotes.changed);
		}
		pthread_mutex_unlock(&b->remotes.lock);
	}
	if (e == 0)
		return;
	free(data);
	(void)b->host->answer(b->host->ctx, p, e, e == -ERANGE ? "a time of it is none in ROS 1" : NULL, NULL, 0);
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
	r->fd = -1;
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
	struct remotes *all = &b->remotes;
	int r;

	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->changed, NULL);
	all->opened = true;
	all->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = all->stop_fd < 0 ? -errno : topics_read_call(&b->common);
	for (unsigned i = 0; r == 0 && i < b->common.n_call; i++)
		r = open_one(b, &b->common.call[i]);
	for (unsigned i = 0; r == 0 && i < all->n; i++) {
		r = -pthread_create(&all->all[i].thread, NULL, remote_main, &all->all[i]);
		all->all[i].running = r == 0;
		if (r == 0)
			pthread_setname_np(all->all[i].thread, "ros1-call");
	}
	return r;
}

void remotes_close(struct sim_bridge *b)
{
	struct remotes *all = &b->remotes;

	if (!all->opened)
		return;
	pthread_mutex_lock(&all->lock);
	all->stop = true;
	pthread_cond_broadcast(&all->changed);
	pthread_mutex_unlock(&all->lock);
	if (all->stop_fd >= 0)
		(void)eventfd_write(all->stop_fd, 1);
	for (unsigned i = 0; i < all->n; i++) {
		struct remote *r = &all->all[i];

		if (r->running)
			pthread_join(r->thread, NULL);
		if (r->pending) {
			(void)b->host->answer(b->host->ctx, r->pending, -ECANCELED, "the bridge ends", NULL, 0);
			free(r->request);
		}
		service_type_finish(&r->type);
	}
	if (all->stop_fd >= 0)
		close(all->stop_fd);
	pthread_cond_destroy(&all->changed);
	pthread_mutex_destroy(&all->lock);
}
