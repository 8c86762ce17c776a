/* SPDX-License-Identifier: Apache-2.0 */
/* See fake.h. */
#include "fake.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "fake: %s:%d: not so: %s: %s\n", __FILE__, __LINE__, #cond, strerror(errno)); \
			abort(); \
		} \
	} while (0)

/* ---- bare sockets ---- */

int fake_connect(unsigned port, int room)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	MUST(fd >= 0);
	if (room)
		MUST(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) == 0);
	MUST(connect(fd, (struct sockaddr *)(void *)&a, sizeof(a)) == 0);
	return fd;
}

void fake_send(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

		MUST(sent > 0);
		p += sent;
		n -= (size_t)sent;
	}
}

static bool read_all(int fd, void *data, size_t n)
{
	char *p = data;

	while (n) {
		ssize_t got = recv(fd, p, n, 0);

		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

uint32_t fake_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint8_t *fake_message(int fd, uint32_t *ret_len)
{
	uint8_t len[4], *data;

	if (!read_all(fd, len, 4))
		return NULL;
	*ret_len = fake_u32(len);
	data = malloc(*ret_len + 1);
	MUST(data);
	if (read_all(fd, data, *ret_len))
		return data;
	free(data);
	return NULL;
}

void fake_call(int fd, const char *service, const char *md5, const char *key, const char *value)
{
	struct tcpros_writer w = { .data = NULL };

	tcpros_put(&w, "callerid", "/caller");
	if (*md5)
		tcpros_put(&w, "md5sum", md5);
	tcpros_put(&w, "service", service);
	if (key)
		tcpros_put(&w, key, value);
	MUST(tcpros_end(&w) == 0);
	fake_send(fd, w.data, w.len);
	tcpros_writer_finish(&w);
}

uint8_t *fake_answer(int fd, uint8_t *ret_ok, uint32_t *ret_len)
{
	return read_all(fd, ret_ok, 1) ? fake_message(fd, ret_len) : NULL;
}

void fake_subscribe(int fd, const char *node, const char *topic, const char *md5, const char *type)
{
	struct tcpros_writer w = { .data = NULL };

	tcpros_put(&w, "callerid", node);
	tcpros_put(&w, "md5sum", md5);
	tcpros_put(&w, "tcp_nodelay", "1");
	if (*topic)
		tcpros_put(&w, "topic", topic);
	tcpros_put(&w, "type", type);
	MUST(tcpros_end(&w) == 0);
	fake_send(fd, w.data, w.len);
	tcpros_writer_finish(&w);
}

const char *fake_field(int fd, const char *key)
{
	static uint8_t data[65536];
	static char text[16384];
	struct tcpros_header h;
	char why[100];

	text[0] = '\0';
	if (!read_all(fd, data, 4) || fake_u32(data) > sizeof(data) - 4 || !read_all(fd, data + 4, fake_u32(data)))
		return text;
	MUST(tcpros_parse(data, sizeof(data), sizeof(data), &h, why, sizeof(why)) == 1);
	tcpros_get(&h, key, text, sizeof(text));
	return text;
}

int fake_listen(unsigned *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	MUST(fd >= 0 && bind(fd, (struct sockaddr *)(void *)&a, n) == 0 && listen(fd, 16) == 0);
	MUST(getsockname(fd, (struct sockaddr *)(void *)&a, &n) == 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

int fake_accept(int fd)
{
	int c = accept(fd, NULL, NULL);

	MUST(c >= 0);
	return c;
}

/* key NULL: only its name and type. */
static void welcome(int fd, const char *md5, const char *type, const char *key, const char *value)
{
	struct tcpros_writer w = { .data = NULL };

	tcpros_put(&w, "callerid", "/talker");
	tcpros_put(&w, "md5sum", md5);
	tcpros_put(&w, "type", type);
	if (key)
		tcpros_put(&w, key, value);
	MUST(tcpros_end(&w) == 0);
	fake_send(fd, w.data, w.len);
	tcpros_writer_finish(&w);
}

void fake_welcome(int fd, const char *md5, const char *type, const char *simd)
{
	welcome(fd, md5, type, simd ? "simd" : NULL, simd);
}

void fake_introduce(int fd, const char *md5, const char *type, const char *definition)
{
	welcome(fd, md5, type, definition ? "message_definition" : NULL, definition);
}

void fake_publish(int fd, const void *data, uint32_t n)
{
	const uint8_t len[4] = { (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24) };

	fake_send(fd, len, 4);
	fake_send(fd, data, n);
}

/* ---- the master ---- */

static void begin(struct xmlrpc_writer *w, int code, const char *text)
{
	xmlrpc_response(w);
	xmlrpc_array(w);
	xmlrpc_put_int(w, code);
	xmlrpc_put_text(w, text);
}

static void note(struct fake_master *m, const struct xmlrpc_doc *d)
{
	MUST(m->n_calls < FAKE_CALLS);
	snprintf(m->call[m->n_calls].method, sizeof(m->call[0].method), "%.60s", d->method);
	snprintf(m->call[m->n_calls].topic, sizeof(m->call[0].topic), "%.60s", xmlrpc_text(xmlrpc_at(d->params, 1)));
	snprintf(m->call[m->n_calls].type, sizeof(m->call[0].type), "%.60s", xmlrpc_text(xmlrpc_at(d->params, 2)));
	m->n_calls += strcmp(d->method, "lookupNode") != 0; /* one a second */
}

static void publishers(const struct fake_master *m, struct xmlrpc_writer *w)
{
	xmlrpc_array(w);
	for (unsigned i = 0; i < 4 && *m->publishers[i]; i++)
		xmlrpc_put_text(w, m->publishers[i]);
	xmlrpc_array_end(w);
}

static void protocol(const struct fake_master *m, struct xmlrpc_writer *w)
{
	xmlrpc_array(w);
	xmlrpc_put_text(w, "TCPROS");
	xmlrpc_put_text(w, "127.0.0.1");
	xmlrpc_put_int(w, m->tcpros_port);
	xmlrpc_array_end(w);
}

static void answer(struct fake_master *m, const struct xmlrpc_doc *d, struct xmlrpc_writer *w)
{
	bool look = strcmp(d->method, "lookupNode") == 0, service = strcmp(d->method, "lookupService") == 0;
	int code = 1;

	pthread_mutex_lock(&m->lock);
	note(m, d);
	if (strncmp(d->method, "register", 8) == 0) {
		snprintf(m->node_uri, sizeof(m->node_uri), "%.120s", xmlrpc_text(xmlrpc_at(d->params, 3)));
		m->registered++;
	}
	if (strcmp(d->method, "getParam") == 0 || strcmp(d->method, "hasParam") == 0 ||
	    (look && (!m->registered || m->mode == FAKE_FORGETFUL)) || (service && !*m->service))
		code = -1; /* no such thing */
	begin(w, code, "said the master");
	if (service)
		xmlrpc_put_text(w, m->service);
	else if (look)
		xmlrpc_put_text(w, m->node_uri);
	else if (strcmp(d->method, "registerSubscriber") == 0)
		publishers(m, w);
	else if (strcmp(d->method, "requestTopic") == 0)
		protocol(m, w);
	else
		xmlrpc_put_int(w, 1);
	xmlrpc_array_end(w);
	pthread_mutex_unlock(&m->lock);
	MUST(xmlrpc_end(w) == 0);
}

static void respond(int fd, const char *body, size_t n)
{
	char head[512];
	int len = http_response_head(head, sizeof(head), 200, false, n);

	if (send(fd, head, (size_t)len, MSG_NOSIGNAL) < 0 || send(fd, body, n, MSG_NOSIGNAL) < 0)
		return; /* it does not want it any more */
}

static void serve(struct fake_master *m, int fd)
{
	static _Thread_local char data[1 << 17];
	struct xmlrpc_writer w = { .text = NULL };
	struct http_message h;
	struct xmlrpc_doc *d;
	size_t len = 0;
	char why[100];
	int r = 0;

	while (r == 0) {
		ssize_t n = recv(fd, data + len, sizeof(data) - len, 0);

		if (n <= 0)
			return;
		len += (size_t)n;
		r = http_parse(data, len, HTTP_REQUEST, &h, why, sizeof(why));
	}
	MUST(r == 1 && xmlrpc_parse(h.body, h.body_len, &d, why, sizeof(why)) == 0);
	if (m->mode == FAKE_HTML) {
		respond(fd, "<html></html>", 13);
	} else if (m->mode == FAKE_NUMBER) {
		xmlrpc_response(&w);
		xmlrpc_put_int(&w, 7);
		MUST(xmlrpc_end(&w) == 0);
		respond(fd, w.text, w.len);
	} else if (m->mode == FAKE_HANGS) {
		while (recv(fd, data, sizeof(data), 0) > 0) /* until it gives up */
			;
	} else {
		answer(m, d, &w);
		respond(fd, w.text, w.len);
	}
	xmlrpc_writer_finish(&w);
	xmlrpc_free(d);
}

static void *master_main(void *arg)
{
	struct fake_master *m = arg;

	while (!atomic_load(&m->stop)) {
		int fd = accept(m->fd, NULL, NULL);

		if (fd < 0)
			continue;
		if (!atomic_load(&m->stop))
			serve(m, fd);
		close(fd);
	}
	return NULL;
}

void fake_master_start(struct fake_master *m, unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);
	int one = 1;

	*m = (struct fake_master){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	pthread_mutex_init(&m->lock, NULL);
	MUST(setsockopt(m->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	MUST(bind(m->fd, (struct sockaddr *)(void *)&a, sizeof(a)) == 0 && listen(m->fd, 16) == 0);
	MUST(getsockname(m->fd, (struct sockaddr *)(void *)&a, &n) == 0);
	m->port = ntohs(a.sin_port);
	snprintf(m->uri, sizeof(m->uri), "http://127.0.0.1:%u", m->port);
	MUST(setenv("ROS_MASTER_URI", m->uri, 1) == 0);
	MUST(pthread_create(&m->thread, NULL, master_main, m) == 0);
}

void fake_master_stop(struct fake_master *m)
{
	atomic_store(&m->stop, true);
	close(fake_connect(m->port, 0));
	MUST(pthread_join(m->thread, NULL) == 0);
	close(m->fd);
	pthread_mutex_destroy(&m->lock);
}

unsigned fake_master_calls(struct fake_master *m, const char *method, const char *topic)
{
	unsigned n = 0;

	pthread_mutex_lock(&m->lock);
	for (unsigned i = 0; i < m->n_calls; i++)
		n += strcmp(m->call[i].method, method) == 0 && (!*topic || strcmp(m->call[i].topic, topic) == 0);
	pthread_mutex_unlock(&m->lock);
	return n;
}

void fake_master_forget(struct fake_master *m)
{
	pthread_mutex_lock(&m->lock);
	m->n_calls = m->registered = 0;
	pthread_mutex_unlock(&m->lock);
}

/* Sends the request; reads until the answer is complete. */
static struct xmlrpc_doc *call(int fd, const struct xmlrpc_writer *w)
{
	static _Thread_local char data[1 << 17];
	struct xmlrpc_doc *d = NULL;
	struct http_message h;
	char head[512], why[200] = "";
	size_t len = 0;
	int n = http_request_head(head, sizeof(head), "/", "127.0.0.1", w->len), r = 0;

	fake_send(fd, head, (size_t)n);
	fake_send(fd, w->text, w->len);
	while (r == 0) {
		ssize_t got = recv(fd, data + len, sizeof(data) - len, 0);

		MUST(got > 0);
		len += (size_t)got;
		r = http_parse(data, len, HTTP_RESPONSE, &h, why, sizeof(why));
	}
	if (r < 0 || xmlrpc_parse(h.body, h.body_len, &d, why, sizeof(why)) < 0)
		fprintf(stderr, "fake: %s\n", why);
	MUST(d && d->kind == XMLRPC_RESPONSE);
	return d;
}

struct xmlrpc_doc *fake_ask(struct fake_master *m, struct xmlrpc_writer *w)
{
	struct xmlrpc_doc *d;
	struct http_uri uri;
	int fd;

	pthread_mutex_lock(&m->lock);
	MUST(http_uri_parse(m->node_uri, &uri) == 0);
	pthread_mutex_unlock(&m->lock);
	MUST(xmlrpc_end(w) == 0);
	fd = fake_connect(uri.at.port, 0);
	d = call(fd, w);
	close(fd);
	xmlrpc_writer_finish(w);
	return d;
}

unsigned fake_request_topic(struct fake_master *m, const char *topic)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d;
	unsigned port;

	xmlrpc_call(&w, "requestTopic");
	xmlrpc_put_text(&w, "/listener");
	xmlrpc_put_text(&w, topic);
	xmlrpc_array(&w);
	xmlrpc_array(&w);
	xmlrpc_put_text(&w, "TCPROS");
	xmlrpc_array_end(&w);
	xmlrpc_array_end(&w);
	d = fake_ask(m, &w);
	port = (unsigned)xmlrpc_int(xmlrpc_at(xmlrpc_at(xmlrpc_at(d->params, 0), 2), 2), 0);
	xmlrpc_free(d);
	return port;
}

void fake_master_update(struct fake_master *m, const char *topic)
{
	struct xmlrpc_writer w = { .text = NULL };

	xmlrpc_call(&w, "publisherUpdate");
	xmlrpc_put_text(&w, "/master");
	xmlrpc_put_text(&w, topic);
	pthread_mutex_lock(&m->lock);
	publishers(m, &w);
	pthread_mutex_unlock(&m->lock);
	xmlrpc_free(fake_ask(m, &w));
}
