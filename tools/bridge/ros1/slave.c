/* SPDX-License-Identifier: Apache-2.0 */
/* The node's XML-RPC server: requests of the master and other nodes ("slave API"). Thread: the loop's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http.h"
#include "listener.h"
#include "publication.h"
#include "ros1.h"
#include "timeutil.h"
#include "xmlrpc.h"

struct asker {
	struct list link; /* sim_bridge::askers */
	struct sim_bridge *bridge;
	struct stream *stream;
	char peer[ROS1_TEXT_MAX];
	bool waits; /* the last answer is not sent completely: nothing is read */
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
	(void)params;
	begin(w, 1, "");
	xmlrpc_put_text(w, b->master.uri);
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
	for (const struct publication *p = b->publications; p; p = p->next)
		pair(w, p->name, p->type);
	xmlrpc_array_end(w);
	xmlrpc_array_end(w);
}

static void get_subscriptions(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	(void)params;
	begin(w, 1, "subscriptions");
	xmlrpc_array(w);
	for (unsigned i = 0; i < b->links.n; i++)
		if (b->links.all[i].wanted)
			pair(w, b->links.all[i].in.name, b->links.all[i].type->name);
	xmlrpc_array_end(w);
	xmlrpc_array_end(w);
}

/* [[topic, bytes, [[connection, bytes, messages, connected], ...]], ...] */
static void publish_stats(struct sim_bridge *b, struct xmlrpc_writer *w)
{
	struct subscriber *s;

	xmlrpc_array(w);
	for (struct publication *p = b->publications; p; p = p->next) {
		xmlrpc_array(w);
		xmlrpc_put_text(w, p->name);
		xmlrpc_put_int(w, (int64_t)p->bytes);
		xmlrpc_array(w);
		list_for_each(s, &p->subscribers, link) {
			xmlrpc_array(w);
			xmlrpc_put_int(w, s->id);
			xmlrpc_put_int(w, (int64_t)s->bytes);
			xmlrpc_put_int(w, (int64_t)outbox_sent(&s->outbox, s->topic));
			xmlrpc_put_bool(w, true);
			xmlrpc_array_end(w);
		}
		xmlrpc_array_end(w);
		xmlrpc_array_end(w);
	}
	xmlrpc_array_end(w);
}

/* [[topic, [[connection, bytes, messages, lost or -1, connected], ...]], ...] */
static void subscribe_stats(struct sim_bridge *b, struct xmlrpc_writer *w)
{
	xmlrpc_array(w);
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
	struct subscriber *s;

	for (struct publication *p = b->publications; p; p = p->next)
		list_for_each(s, &p->subscribers, link)
			connection(w, s->id, s->node, "o", p->name, s->peer);
}

/* ROS's tools expect the URI of a publisher where the node's name would be. */
static void inbound_info(struct sim_bridge *b, struct xmlrpc_writer *w)
{
	for (unsigned i = 0; i < b->links.n; i++)
		for (const struct link *l = b->links.all[i].list; l; l = l->next)
			if (l->connection && l->connection->greeted)
				connection(w, l->connection->id, l->uri, "i", b->links.all[i].in.name,
					   l->connection->node);
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

static void request_topic(struct sim_bridge *b, const struct xmlrpc_value *params, struct xmlrpc_writer *w)
{
	const struct xmlrpc_value *protocols = xmlrpc_at(params, 2);
	bool tcpros = false;

	for (unsigned i = 0; protocols && i < protocols->n && !tcpros; i++)
		tcpros = strcmp(xmlrpc_text(xmlrpc_at(xmlrpc_at(protocols, i), 0)), "TCPROS") == 0;
	if (!tcpros || !publication_find(b, param(params, 1))) {
		answer_int(w, tcpros ? -1 : 0,
			   tcpros ? "not a publisher of that topic" : "no supported protocol: only TCPROS is supported",
			   0);
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
	(void)xmlrpc_end(w); /* its error is kept in w */
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

static void asker_end(struct asker *a)
{
	list_remove(&a->link);
	stream_destroy(a->stream);
	free(a);
}

static void on_ended(void *arg, int error, const char *why)
{
	(void)error;
	(void)why;
	asker_end(arg);
}

static void on_room(void *arg)
{
	struct asker *a = arg;

	a->waits = false;
	listener_mood(a->stream, PEER_RESTS);
	stream_pause(a->stream, false);
}

/* Sends a response. Negative: end the connection. */
static int respond(struct asker *a, int status, const struct xmlrpc_writer *w, bool keep_alive)
{
	char head[512];
	size_t len = w ? w->len : 0;
	int r = http_response_head(head, sizeof(head), status, keep_alive, len);

	if (r > 0)
		r = stream_send(a->stream, head, (size_t)r);
	if (r >= 0 && len)
		r = stream_send(a->stream, w->text, len);
	a->waits = r == 1 || !keep_alive;
	listener_mood(a->stream, a->waits ? PEER_BUSY : PEER_RESTS);
	stream_pause(a->stream, a->waits);
	if (!keep_alive)
		stream_end(a->stream, NS_PER_S);
	return r;
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

/* Answers complete requests one after the other, each once the previous answer is sent. */
static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct asker *a = arg;
	struct http_message m;
	size_t at = 0;
	int r = 1;

	while (r > 0 && at < len && !a->waits) {
		r = http_parse((const char *)data + at, len - at, HTTP_REQUEST, &m, why, STREAM_WHY_MAX);
		if (r < 0) {
			node_refuses(a->bridge, "a request from %s: %s", a->peer, why);
			(void)respond(a, 400, NULL, false);
			return (ssize_t)len;
		}
		if (r > 0) {
			at += m.total;
			r = answer(a, &m) < 0 ? -EIO : 1;
		}
	}
	return r < 0 ? r : (ssize_t)at;
}

const struct stream_ops slave_ops = { .take = take, .room = on_room, .ended = on_ended };

void *slave_came(void *bridge, struct stream *s, const char *from)
{
	struct sim_bridge *b = bridge;
	struct asker *a = b->off ? NULL : calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->bridge = b;
	a->stream = s;
	snprintf(a->peer, sizeof(a->peer), "%s", from);
	list_prepend(&b->askers, &a->link);
	return a;
}

void askers_end(struct sim_bridge *b)
{
	while (!list_empty(&b->askers))
		asker_end(list_first(&b->askers, struct asker, link));
}
