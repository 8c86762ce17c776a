/* SPDX-License-Identifier: Apache-2.0 */
/* See ws_server.h. */
#include "ws_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/ssl.h>

struct peer {
	int fd; /* negative: not connected */
	SSL *ssl;
	bool greeted;
	struct ws_bytes in, message;
	unsigned opcode; /* of the message being read; 0: none */
};

struct ws_server {
	int listener, wake;
	unsigned port;
	struct ws_server_how how;
	struct ws_events events;
	SSL_CTX *tls;
	pthread_t thread;
	bool stopped;         /* the caller's */
	pthread_mutex_t lock; /* guards the fields below */
	bool stop, hold, drop;
	struct peer peer[WS_PEERS_MAX];
	unsigned connections, n_greeted, n_binary;
};

__attribute__((format(printf, 2, 3))) static void fault(struct ws_server *s, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	s->events.fault(s->events.arg, what);
}

void ws_append(struct ws_bytes *b, const void *data, size_t n)
{
	if (b->room - b->n < n) {
		b->room = 2 * b->room + n;
		b->data = realloc(b->data, b->room);
		if (!b->data)
			abort();
	}
	if (n)
		memcpy(b->data + b->n, data, n);
	b->n += n;
}

/* ---- the socket ---- */

static void put(struct peer *p, const void *data, size_t n)
{
	if (p->fd < 0)
		return;
	if (p->ssl)
		(void)SSL_write(p->ssl, data, (int)n);
	else
		(void)!send(p->fd, data, n, MSG_NOSIGNAL);
}

static ssize_t get(struct peer *p, void *to, size_t n)
{
	return p->ssl ? SSL_read(p->ssl, to, (int)n) : recv(p->fd, to, n, MSG_DONTWAIT);
}

static void put_frame(struct peer *p, unsigned opcode, const void *data, size_t n)
{
	uint8_t head[10] = { (uint8_t)(0x80 | opcode) };
	size_t head_len = n < 126 ? 2 : n < 65536 ? 4 : 10;

	head[1] = (uint8_t)(n < 126 ? n : n < 65536 ? 126 : 127);
	for (size_t i = 2; i < head_len; i++)
		head[i] = (uint8_t)(n >> 8 * (head_len - 1 - i));
	put(p, head, head_len);
	put(p, data, n);
}

void ws_server_put(struct ws_server *s, unsigned peer, unsigned opcode, const void *data, size_t n)
{
	s->n_binary += opcode == 2;
	for (unsigned i = 0; i < WS_PEERS_MAX; i++)
		if ((peer == WS_ALL || peer == i) && opcode)
			put_frame(&s->peer[i], opcode, data, n);
		else if (peer == WS_ALL || peer == i)
			put(&s->peer[i], data, n);
}

static void hang_up(struct ws_server *s, struct peer *p)
{
	struct linger now = { 1, 0 };

	if (p->fd < 0)
		return;
	if (s->drop)
		(void)setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	SSL_free(p->ssl);
	close(p->fd);
	p->ssl = NULL;
	p->fd = -1;
	p->greeted = false;
	p->in.n = p->message.n = 0;
	p->opcode = 0;
	s->events.gone(s->events.arg, (unsigned)(p - s->peer));
}

/* ---- frames ---- */

struct frame {
	unsigned opcode;
	bool final;
	uint8_t *data;
	size_t len, total;
};

/* From the beginning of in. 1; 0: more must come; -1: none. */
static int parse_frame(struct ws_server *s, struct peer *from, struct frame *f)
{
	uint8_t *p = from->in.data;
	size_t len = from->in.n >= 2 ? p[1] & 0x7f : 0, wide = len == 126 ? 2 : len == 127 ? 8 : 0, at = 2 + wide + 4;

	if (from->in.n < 2 || from->in.n < at)
		return 0;
	if (p[0] & 0x70 || !(p[1] & 0x80)) {
		fault(s, "a frame %s", p[0] & 0x70 ? "with reserved bits" : "without a mask");
		return -1;
	}
	for (size_t i = 0, v = 0; i < wide; i++)
		len = v = v << 8 | p[2 + i];
	if (len > 256u << 20) {
		fault(s, "a frame of %zu bytes", len);
		return -1;
	}
	if (from->in.n < at + len)
		return 0;
	*f = (struct frame){ p[0] & 0xf, p[0] & 0x80, p + at, len, at + len };
	for (size_t i = 0; i < len; i++)
		f->data[i] ^= p[at - 4 + i % 4];
	return 1;
}

static bool on_control(struct ws_server *s, struct peer *p, const struct frame *f)
{
	if (f->len > 125 || !f->final)
		fault(s, "a control frame that is long or goes on");
	if (f->opcode == 9 && !s->how.keeps_open)
		put_frame(p, 10, f->data, f->len);
	if (f->opcode == 8 && !s->how.keeps_open)
		put_frame(p, 8, f->data, f->len);
	if (f->opcode > 10)
		fault(s, "opcode %u", f->opcode);
	return f->opcode != 8 || s->how.keeps_open;
}

static bool on_frame(struct ws_server *s, struct peer *p, const struct frame *f)
{
	if (f->opcode >= 8)
		return on_control(s, p, f);
	if (f->opcode > 2 || (f->opcode == 0) != (p->opcode != 0))
		fault(s, "opcode %u in a message of opcode %u", f->opcode, p->opcode);
	p->opcode = f->opcode ? f->opcode : p->opcode;
	ws_append(&p->message, f->data, f->len);
	if (!f->final)
		return true;
	if (p->opcode == 1)
		s->events.text(s->events.arg, (unsigned)(p - s->peer), (const char *)p->message.data, p->message.n);
	else
		fault(s, "a binary message");
	p->message.n = 0;
	p->opcode = 0;
	return true;
}

static void consume(struct ws_bytes *b, size_t n)
{
	b->n -= n;
	memmove(b->data, b->data + n, b->n);
}

/* ---- the handshake ---- */

/* The value of a header, in ret. */
static bool header(const char *text, const char *name, char *ret, size_t size)
{
	for (const char *line = text; (line = strstr(line, "\r\n")) && line[2] != '\r';) {
		line += 2;
		if (strncasecmp(line, name, strlen(name)) != 0 || line[strlen(name)] != ':')
			continue;
		line += strlen(name) + 1;
		line += strspn(line, " ");
		snprintf(ret, size, "%.*s", (int)strcspn(line, "\r"), line);
		return true;
	}
	return false;
}

static void greet(struct ws_server *s, struct peer *p, const char *request)
{
	char key[128] = "", value[128], text[300];
	uint8_t sum[EVP_MAX_MD_SIZE], accept[64];
	unsigned n = 0;

	if (strncmp(request, "GET /", 5) != 0 || !header(request, "Sec-WebSocket-Key", key, 64) ||
	    !header(request, "Sec-WebSocket-Version", value, sizeof(value)) || strcmp(value, "13") != 0 ||
	    !header(request, "Upgrade", value, sizeof(value)) || strcasecmp(value, "websocket") != 0 ||
	    !header(request, "Host", value, sizeof(value)))
		fault(s, "no handshake of WebSocket: %.200s", request);
	strcat(key, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
	EVP_Digest(key, strlen(key), sum, &n, EVP_sha1(), NULL);
	EVP_EncodeBlock(accept, sum, (int)n);
	snprintf(text, sizeof(text),
		 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		 "Sec-WebSocket-Accept: %s\r\n\r\n",
		 accept);
	put(p, text, strlen(text));
	p->greeted = true;
	s->n_greeted++;
}

/* 1: done; 0: more must come; -1: no client. */
static int take_handshake(struct ws_server *s, struct peer *p)
{
	const uint8_t *end = p->in.n ? memmem(p->in.data, p->in.n, "\r\n\r\n", 4) : NULL;
	char request[4096];

	if (!end || s->how.deaf)
		return p->in.n < sizeof(request) ? 0 : -1;
	if (s->how.greeting) {
		put(p, s->how.greeting, strlen(s->how.greeting));
		return -1;
	}
	snprintf(request, sizeof(request), "%.*s", (int)(end + 4 - p->in.data), (const char *)p->in.data);
	consume(&p->in, (size_t)(end + 4 - p->in.data));
	greet(s, p, request);
	return 1;
}

/* ---- connections ---- */

static bool take_all(struct ws_server *s, struct peer *p)
{
	struct frame f;
	int r = p->greeted ? 1 : take_handshake(s, p);

	while (r > 0 && (r = parse_frame(s, p, &f)) > 0) {
		size_t total = f.total;

		if (!on_frame(s, p, &f))
			return false;
		consume(&p->in, total);
	}
	return r >= 0;
}

static bool read_some(struct ws_server *s, struct peer *p)
{
	static uint8_t data[1 << 18];
	ssize_t n = get(p, data, sizeof(data));

	if (n <= 0)
		return !p->ssl && n < 0 && errno == EAGAIN;
	ws_append(&p->in, data, (size_t)n);
	return take_all(s, p);
}

static struct peer *free_peer(struct ws_server *s)
{
	for (unsigned i = 0; i < WS_PEERS_MAX; i++)
		if (s->peer[i].fd < 0)
			return &s->peer[i];
	return NULL;
}

static void accept_one(struct ws_server *s)
{
	struct timeval patience = { .tv_sec = 30 };
	struct peer *p = free_peer(s);

	if (p)
		p->fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	if (!p || p->fd < 0)
		return;
	s->connections++;
	if (!s->tls)
		return;
	(void)setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	p->ssl = SSL_new(s->tls);
	SSL_set_fd(p->ssl, p->fd);
	if (SSL_accept(p->ssl) <= 0)
		hang_up(s, p);
}

static void step(struct ws_server *s, const struct pollfd *fds)
{
	uint64_t n;

	if (fds[0].revents)
		(void)!read(s->wake, &n, sizeof(n));
	for (unsigned i = 0; s->drop && i < WS_PEERS_MAX; i++)
		hang_up(s, &s->peer[i]);
	s->drop = false;
	for (unsigned i = 0; i < WS_PEERS_MAX && !s->hold; i++) {
		struct peer *p = &s->peer[i];

		if (!fds[2 + i].revents || p->fd < 0 || p->fd != fds[2 + i].fd)
			continue;
		do
			if (!read_some(s, p))
				hang_up(s, p);
		while (p->ssl && SSL_pending(p->ssl));
	}
	if (fds[1].revents)
		accept_one(s);
}

static void *server_main(void *arg)
{
	struct ws_server *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		struct pollfd fds[2 + WS_PEERS_MAX] = { { .fd = s->wake, .events = POLLIN },
							{ .fd = free_peer(s) ? s->listener : -1, .events = POLLIN } };

		for (unsigned i = 0; i < WS_PEERS_MAX; i++)
			fds[2 + i] = (struct pollfd){ .fd = s->hold ? -1 : s->peer[i].fd, .events = POLLIN };
		pthread_mutex_unlock(&s->lock);
		(void)poll(fds, 2 + WS_PEERS_MAX, -1);
		pthread_mutex_lock(&s->lock);
		step(s, fds);
	}
	for (unsigned i = 0; i < WS_PEERS_MAX; i++)
		hang_up(s, &s->peer[i]);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void poke(struct ws_server *s)
{
	uint64_t one = 1;

	(void)!write(s->wake, &one, sizeof(one));
}

static bool set_up_tls(struct ws_server *s)
{
	if (!s->how.cert)
		return true;
	signal(SIGPIPE, SIG_IGN); /* SSL_write() has no flag */
	s->tls = SSL_CTX_new(TLS_server_method());
	return s->tls && SSL_CTX_use_certificate_file(s->tls, s->how.cert, SSL_FILETYPE_PEM) == 1 &&
	       SSL_CTX_use_PrivateKey_file(s->tls, s->how.key, SSL_FILETYPE_PEM) == 1;
}

struct ws_server *ws_server_create(unsigned port, const struct ws_server_how *how, const struct ws_events *events)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ws_server *s = calloc(1, sizeof(*s));
	socklen_t size = sizeof(a);
	int on = 1;

	if (!s)
		return NULL;
	s->how = *how;
	s->events = *events;
	for (unsigned i = 0; i < WS_PEERS_MAX; i++)
		s->peer[i].fd = -1;
	s->wake = eventfd(0, EFD_CLOEXEC);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	pthread_mutex_init(&s->lock, NULL);
	if (!set_up_tls(s) || bind(s->listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->listener, 8) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &size) < 0) {
		SSL_CTX_free(s->tls);
		close(s->listener);
		close(s->wake);
		free(s);
		return NULL;
	}
	s->port = ntohs(a.sin_port);
	if (pthread_create(&s->thread, NULL, server_main, s) != 0)
		abort();
	return s;
}

void ws_server_stop(struct ws_server *s)
{
	if (s->stopped)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	poke(s);
	pthread_join(s->thread, NULL);
	s->stopped = true;
}

void ws_server_destroy(struct ws_server *s)
{
	ws_server_stop(s);
	close(s->listener);
	close(s->wake);
	for (unsigned i = 0; i < WS_PEERS_MAX; i++) {
		free(s->peer[i].in.data);
		free(s->peer[i].message.data);
	}
	SSL_CTX_free(s->tls);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

unsigned ws_server_port(const struct ws_server *s)
{
	return s->port;
}

void ws_server_lock(struct ws_server *s)
{
	pthread_mutex_lock(&s->lock);
}

void ws_server_unlock(struct ws_server *s)
{
	pthread_mutex_unlock(&s->lock);
}

struct ws_counts ws_server_counts(const struct ws_server *s)
{
	struct ws_counts c = { .connections = s->connections, .greeted = s->n_greeted, .binary = s->n_binary };

	for (unsigned i = 0; i < WS_PEERS_MAX; i++)
		c.connected |= s->peer[i].fd >= 0;
	return c;
}

void ws_server_hold(struct ws_server *s, bool on)
{
	s->hold = on;
	poke(s);
}

void ws_server_drop(struct ws_server *s)
{
	s->drop = true;
	poke(s);
}
