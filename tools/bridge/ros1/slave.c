/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XML-RPC server of the node: what the master and other nodes ask it ("slave API"). Connections are bounded in number, in
 * what they send and in time. Thread: the I/O thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"
#include "publication.h"
#include "ros1.h"
#include "xmlrpc.h"

#define ASKERS_MAX   64u
#define ASKER_DUR_NS INT64_C(30000000000)
#define REQUEST_MAX  (HTTP_HEAD_MAX + HTTP_BODY_MAX)

struct asker {
	struct io_source io;
	struct sim_bridge *bridge;
	char peer[NET_TEXT_MAX];
	char *in, *out;
	size_t in_len, in_cap, out_len, out_at;
	bool keep_alive; /* after what is in out */
};

/* ---- answers ---- */

typedef void (*answer_fn)(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w);

static const char *param(const struct xmlrpc_value *params, unsigned i)
{
	return xmlrpc_text(xmlrpc_at(params, i));
}

static void begin(struct xmlrpc_writer *w, int code, const char *text)
{
	xmlrpc_response(w);
	xmlrpc_array(w);
	xmlrpc_put_int(w, code);
	xmlrpc_put_text(w, text);
}

static void answer_int(struct xmlrpc_writer *w, int code, const char *text, int v)
{
	begin(w, code, text);
	xmlrpc_put_int(w, v);
	xmlrpc_array_end(w);
}

static void get_pid(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	(void)b;
	(void)params;
	answer_int(w, 1, "", (int)getpid());
}

static void get_master_uri(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	char uri[NET_TEXT_MAX];

	(void)params;
	master_uri(b, uri);
	begin(w, 1, "");
	xmlrpc_put_text(w, uri);
	xmlrpc_array_end(w);
}

static void pair(struct xmlrpc_writer *w, const char *name, const char *type)
{
	xmlrpc_array(w);
	xmlrpc_put_text(w, name);
	xmlrpc_put_text(w, type);
	xmlrpc_array_end(w);
}

static void get_publications(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	(void)params;
	begin(w, 1, "publications");
	xmlrpc_array(w);
	pthread_mutex_lock(&b->lock);
	for (const struct publication *p = b->publications; p; p = p->next)
		pair(w, p->name, p->type);
	pthread_mutex_unlock(&b->lock);
	xmlrpc_array_end(w);
	xmlrpc_array_end(w);
}

static void get_subscriptions(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	(void)params;
	begin(w, 1, "subscriptions");
	xmlrpc_array(w);
	pthread_mutex_lock(&b->links.lock);
	for (unsigned i = 0; i < b->links.n; i++)
		if (b->links.all[i].wanted)
			pair(w, b->links.all[i].in.name, b->links.all[i].type->name);
	pthread_mutex_unlock(&b->links.lock);
	xmlrpc_array_end(w);
	xmlrpc_array_end(w);
}

/* [[topic, bytes, [[connection, bytes, messages, connected], ...]], ...] */
static void publish_stats(struct sim_bridge *b, struct xmlrpc_writer *w)
{
	xmlrpc_array(w);
	pthread_mutex_lock(&b->lock);
	for (struct publication *p = b->publications; p; p = p->next) {
		xmlrpc_array(w);
		xmlrpc_put_text(w, p->name);
		pthread_mutex_lock(&p->lock);
		xmlrpc_put_int(w, (int64_t)p->bytes);
		xmlrpc_array(w);
		for (const struct subscriber *s = p->subscribers; s; s = s->next) {
			xmlrpc_array(w);
			xmlrpc_put_int(w, s->id);
			xmlrpc_put_int(w, (int64_t)s->bytes);
			xmlrpc_put_int(w, (int64_t)s->sent);
			xmlrpc_put_bool(w, true);
			xmlrpc_array_end(w);
		}
		pthread_mutex_unlock(&p->lock);
		xmlrpc_array_end(w);
		xmlrpc_array_end(w);
	}
	pthread_mutex_unlock(&b->lock);
	xmlrpc_array_end(w);
}

/* [[topic, [[connection, bytes, messages, lost or -1, connected], ...]], ...] */
static void subscribe_stats(struct sim_bridge *b, struct xmlrpc_writer *w)
{
	xmlrpc_array(w);
	pthread_mutex_lock(&b->links.lock);
	for (unsigned i = 0; i < b->links.n; i++) {
		xmlrpc_array(w);
		xmlrpc_put_text(w, b->links.all[i].in.name);
		xmlrpc_array(w);
		for (const struct link *l = b->links.all[i].list; l; l = l->next) {
			const struct incoming *c = l->connection;

			if (!c)
				continue;
			xmlrpc_array(w);
			xmlrpc_put_int(w, c->id);
			xmlrpc_put_int(w, (int64_t)c->bytes);
			xmlrpc_put_int(w, (int64_t)c->messages);
			xmlrpc_put_int(w, -1);
			xmlrpc_put_bool(w, c->greeted);
			xmlrpc_array_end(w);
		}
		xmlrpc_array_end(w);
		xmlrpc_array_end(w);
	}
	pthread_mutex_unlock(&b->links.lock);
	xmlrpc_array_end(w);
}

/* [calls, bytes in, bytes out] */
static void service_stats(struct sim_bridge *b, struct xmlrpc_writer *w)
{
	uint64_t sum[3] = { b->services.calls, b->services.bytes_in, b->services.bytes_out };

	for (const struct ros1_service *s = b->services.all; s; s = s->next) {
		sum[0] += s->calls;
		sum[1] += s->bytes_in;
		sum[2] += s->bytes_out;
	}
	xmlrpc_array(w);
	for (int i = 0; i < 3; i++)
		xmlrpc_put_int(w, (int64_t)sum[i]);
	xmlrpc_array_end(w);
}

static void get_bus_stats(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	(void)params;
	begin(w, 1, "");
	xmlrpc_array(w);
	publish_stats(b, w);
	subscribe_stats(b, w);
	service_stats(b, w);
	xmlrpc_array_end(w);
	xmlrpc_array_end(w);
}

static void connection(struct xmlrpc_writer *w, unsigned id, const char *node, const char *direction, const char *topic,
		       const char *where)
{
	xmlrpc_array(w);
	xmlrpc_put_int(w, id);
	xmlrpc_put_text(w, node);
	xmlrpc_put_text(w, direction);
	xmlrpc_put_text(w, "TCPROS");
	xmlrpc_put_text(w, topic);
	xmlrpc_put_bool(w, true);
	xmlrpc_put_text(w, where);
	xmlrpc_array_end(w);
}

static void outbound_info(struct sim_bridge *b, struct xmlrpc_writer *w)
{
	pthread_mutex_lock(&b->lock);
	for (struct publication *p = b->publications; p; p = p->next) {
		pthread_mutex_lock(&p->lock);
		for (const struct subscriber *s = p->subscribers; s; s = s->next)
			connection(w, s->id, s->node, "o", p->name, s->peer);
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&b->lock);
}

/* Of publishers ROS' tools want the URI, where the name of the node is. */
static void inbound_info(struct sim_bridge *b, struct xmlrpc_writer *w)
{
	pthread_mutex_lock(&b->links.lock);
	for (unsigned i = 0; i < b->links.n; i++)
		for (const struct link *l = b->links.all[i].list; l; l = l->next)
			if (l->connection && l->connection->greeted)
				connection(w, l->connection->id, l->uri, "i", b->links.all[i].in.name,
					   l->connection->node);
	pthread_mutex_unlock(&b->links.lock);
}

/* [[connection, node, direction, transport, topic, connected, where], ...] */
static void get_bus_info(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	(void)params;
	begin(w, 1, "bus info");
	xmlrpc_array(w);
	outbound_info(b, w);
	inbound_info(b, w);
	xmlrpc_array_end(w);
	xmlrpc_array_end(w);
}

static bool publishes(struct sim_bridge *b, const char *topic)
{
	const struct publication *p;

	pthread_mutex_lock(&b->lock);
	for (p = b->publications; p && strcmp(p->name, topic) != 0; p = p->next)
		;
	pthread_mutex_unlock(&b->lock);
	return p;
}

static void request_topic(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	const struct xmlrpc_value *protocols = xmlrpc_at(params, 2);
	bool tcpros = false;

	for (unsigned i = 0; protocols && i < protocols->n && !tcpros; i++)
		tcpros = strcmp(xmlrpc_text(xmlrpc_at(xmlrpc_at(protocols, i), 0)), "TCPROS") == 0;
	if (!tcpros || !publishes(b, param(params, 1))) {
		answer_int(w, tcpros ? -1 : 0,
			   tcpros ? "not a publisher of that topic" : "no supported protocol: TCPROS is", 0);
		return;
	}
	begin(w, 1, "ready");
	xmlrpc_array(w);
	xmlrpc_put_text(w, "TCPROS");
	xmlrpc_put_text(w, b->address);
	xmlrpc_put_int(w, b->tcpros_port);
	xmlrpc_array_end(w);
	xmlrpc_array_end(w);
}

static void shut_down(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	char why[120];

	snprintf(why, sizeof(why), "%s", param(params, 1));
	log_printable(why);
	answer_int(w, 1, "shutdown", 0);
	master_shut_down(b, why);
}

static void ignored(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	(void)b;
	(void)params;
	answer_int(w, 1, "", 0);
}

static void publisher_update(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	subscription_publishers(b, param(params, 1), xmlrpc_at(params, 2), true);
	answer_int(w, 1, "", 0);
}

static const struct {
	const char *name;
	unsigned n_params;
	answer_fn fn;
} methods[] = {
	{ "getBusStats", 1, get_bus_stats },
	{ "getBusInfo", 1, get_bus_info },
	{ "getMasterUri", 1, get_master_uri },
	{ "getPid", 1, get_pid },
	{ "getSubscriptions", 1, get_subscriptions },
	{ "getPublications", 1, get_publications },
	{ "paramUpdate", 3, ignored },
	{ "publisherUpdate", 3, publisher_update },
	{ "requestTopic", 3, request_topic },
	{ "shutdown", 1, shut_down },
};

static void call(struct sim_bridge *b, const struct xmlrpc_doc *d, struct xmlrpc_writer *w, size_t i)
{
	if (d->params->n < methods[i].n_params)
		answer_int(w, -1, "arguments are missing", 0);
	else
		methods[i].fn(b, d->params, w);
	(void)xmlrpc_end(w); /* its error stays in w */
}

void slave_answer(struct sim_bridge *b, const struct xmlrpc_doc *d, struct xmlrpc_writer *w)
{
	size_t i = 0;

	while (i < sizeof(methods) / sizeof(methods[0]) && strcmp(methods[i].name, d->method) != 0)
		i++;
	if (d->kind != XMLRPC_CALL || i == sizeof(methods) / sizeof(methods[0]))
		xmlrpc_fault(w, 1, "this node has no such method");
	else
		call(b, d, w, i);
}

/* ---- connections ---- */

static struct asker *of(struct io_source *io)
{
	return (struct asker *)(void *)io;
}

static void free_it(struct io_source *io)
{
	struct asker *a = of(io);

	a->bridge->n_askers--;
	free(a->in);
	free(a->out);
	free(a);
}

/* A response, whole, into out. */
static int respond(struct asker *a, int status, const struct xmlrpc_writer *w, bool keep_alive)
{
	char head[512];
	size_t len = w ? w->len : 0;
	int n = http_response_head(head, sizeof(head), status, keep_alive, len);

	free(a->out);
	a->out = n < 0 ? NULL : malloc((size_t)n + len);
	if (!a->out)
		return -ENOMEM;
	memcpy(a->out, head, (size_t)n);
	if (len)
		memcpy(a->out + n, w->text, len);
	a->out_len = (size_t)n + len;
	a->out_at = 0;
	a->keep_alive = keep_alive;
	return 0;
}

static int answer(struct asker *a, const struct http_message *m)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d = NULL;
	char why[160];
	int r = m->post ? xmlrpc_parse(m->body, m->body_len, &d, why, sizeof(why)) : -EBADMSG;

	if (r == 0)
		slave_answer(a->bridge, d, &w);
	else if (m->post)
		xmlrpc_fault(&w, 1, why);
	xmlrpc_free(d);
	r = w.err ? w.err : respond(a, m->post ? 200 : 405, &w, m->keep_alive);
	xmlrpc_writer_finish(&w);
	return r;
}

/* What is whole is answered, one after the other, when the answer before is out. Negative: it is to be closed. */
static int serve(struct asker *a)
{
	struct http_message m;
	char why[160];
	int r;

	while (!a->out && a->in_len && (r = http_parse(a->in, a->in_len, HTTP_REQUEST, &m, why, sizeof(why))) != 0) {
		if (r < 0) {
			node_refuses(a->bridge, "a request from %s: %s", a->peer, why);
			return respond(a, 400, NULL, false);
		}
		r = answer(a, &m);
		if (r < 0)
			return r;
		memmove(a->in, a->in + m.total, a->in_len - m.total);
		a->in_len -= m.total;
		a->io.calm = IO_BUSY;
	}
	return 0;
}

static int flush(struct asker *a)
{
	while (a->out) {
		ssize_t n = send(a->io.fd, a->out + a->out_at, a->out_len - a->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN ? 0 : errno == EINTR ? flush(a) : -errno;
		a->out_at += (size_t)n;
		if (a->out_at < a->out_len)
			continue;
		free(a->out);
		a->out = NULL;
		a->io.calm = IO_IDLE;
		a->io.due_mono_ns = io_mono_ns() + ASKER_DUR_NS;
		if (!a->keep_alive)
			return -ECONNRESET;
	}
	return 0;
}

static int receive(struct asker *a)
{
	ssize_t n;

	if (a->in_len == a->in_cap) {
		size_t cap = a->in_cap ? 2 * a->in_cap : 4096;
		char *in = a->in_cap < REQUEST_MAX ? realloc(a->in, cap) : NULL;

		if (!in)
			return -EMSGSIZE;
		a->in = in;
		a->in_cap = cap;
	}
	n = recv(a->io.fd, a->in + a->in_len, a->in_cap - a->in_len, MSG_DONTWAIT);
	if (n == 0)
		return -ECONNRESET;
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	a->in_len += (size_t)n;
	return 0;
}

static void ready(struct io_source *io, uint32_t events)
{
	struct asker *a = of(io);
	int r;

	(void)events;
	do { /* while an answer waits to be read nothing more is taken */
		r = flush(a);
		if (r == 0 && !a->out)
			r = serve(a);
		if (r == 0 && a->out)
			r = flush(a);
		if (r == 0)
			r = a->out ? -EAGAIN : receive(a);
	} while (r == 0);
	if (r != -EAGAIN)
		io_close(a->bridge->io, io);
}

void slave_accept(struct sim_bridge *b, int fd, const char *peer)
{
	bool room = b->n_askers < ASKERS_MAX || io_make_room(b->io, free_it);
	struct asker *a = room ? calloc(1, sizeof(*a)) : NULL;

	if (!a) {
		node_refuses(b, "a request from %s: %u are connected", peer, b->n_askers);
		close(fd);
		return;
	}
	a->io = (struct io_source){
		.fd = fd, .ready = ready, .free = free_it, .calm = IO_SILENT, .due_mono_ns = io_mono_ns() + ASKER_DUR_NS
	};
	a->bridge = b;
	snprintf(a->peer, sizeof(a->peer), "%s", peer);
	b->n_askers++;
	if (io_add(b->io, &a->io) < 0)
		free_it(&a->io);
}
