/* SPDX-License-Identifier: Apache-2.0 */
/* See rosbridge_server.h. */
#include "rosbridge_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
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

#define HEARD 1024
#define TEXT  256

struct heard { /* one kind of operation, of one topic or service */
	char op[24], name[TEXT];
	bool on; /* this client has said so, and has not taken it back */
	uint64_t count, bytes;
	json_t *last;
	char *text; /* of the last */
};

struct bytes {
	uint8_t *data;
	size_t n, room;
};

struct rosbridge_server {
	int listener, fd, wake;
	unsigned port;
	struct rosbridge_server_how how;
	SSL_CTX *tls;
	pthread_t thread;
	bool stop;
	pthread_mutex_t lock; /* guards what follows, and fd */
	SSL *ssl;
	bool hold, drop, greeted, authenticated;
	unsigned connections, n_greeted;
	struct heard heard[HEARD];
	unsigned n;
	char fault[512];
	struct bytes in, message, fragments;
	unsigned opcode; /* of the message that is being read; 0: none */
	char fragment_id[TEXT];
	json_int_t next_fragment;
};

/* Under lock. */
__attribute__((format(printf, 2, 3))) static void fault(struct rosbridge_server *s, const char *fmt, ...)
{
	va_list ap;

	if (s->fault[0])
		return;
	va_start(ap, fmt);
	vsnprintf(s->fault, sizeof(s->fault), fmt, ap);
	va_end(ap);
}

static void append(struct bytes *b, const void *data, size_t n)
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

static void put(struct rosbridge_server *s, const void *data, size_t n)
{
	if (s->fd < 0)
		return;
	if (s->ssl)
		(void)SSL_write(s->ssl, data, (int)n);
	else
		(void)!send(s->fd, data, n, MSG_NOSIGNAL);
}

static ssize_t get(struct rosbridge_server *s, void *to, size_t n)
{
	return s->ssl ? SSL_read(s->ssl, to, (int)n) : recv(s->fd, to, n, MSG_DONTWAIT);
}

static void put_frame(struct rosbridge_server *s, unsigned opcode, const void *data, size_t n)
{
	uint8_t head[10] = { (uint8_t)(0x80 | opcode) };
	size_t head_len = n < 126 ? 2 : n < 65536 ? 4 : 10;

	head[1] = (uint8_t)(n < 126 ? n : n < 65536 ? 126 : 127);
	for (size_t i = 2; i < head_len; i++)
		head[i] = (uint8_t)(n >> 8 * (head_len - 1 - i));
	put(s, head, head_len);
	put(s, data, n);
}

static void hang_up(struct rosbridge_server *s)
{
	struct linger now = { 1, 0 };

	if (s->fd < 0)
		return;
	if (s->drop)
		(void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	SSL_free(s->ssl);
	close(s->fd);
	s->ssl = NULL;
	s->fd = -1;
	s->drop = s->greeted = s->authenticated = false;
	s->in.n = s->message.n = s->fragments.n = 0;
	s->opcode = 0;
	for (unsigned i = 0; i < s->n; i++)
		s->heard[i].on = false;
}

/* ---- operations ---- */

static struct heard *find(struct rosbridge_server *s, const char *op, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->heard[i].op, op) == 0 && strcmp(s->heard[i].name, name) == 0)
			return &s->heard[i];
	return NULL;
}

static bool is_on(struct rosbridge_server *s, const char *op, const char *name)
{
	const struct heard *h = find(s, op, name);

	return h && h->on;
}

static void take_back(struct rosbridge_server *s, const char *op, const char *name)
{
	struct heard *h = find(s, op, name);

	if (!h || !h->on)
		fault(s, "%s: no %s precedes", name, op);
	else
		h->on = false;
}

/* What an operation has: s a string, i an integer, b a bool, o an object; an upper case letter: it must. */
static const struct {
	const char *op, *keys, *name;
} ops[] = {
	{ "advertise", "S:topic S:type s:id b:latch i:queue_size", "topic" },
	{ "unadvertise", "S:topic s:id", "topic" },
	{ "publish", "S:topic O:msg s:id", "topic" },
	{ "subscribe", "S:topic s:type i:throttle_rate i:queue_length i:fragment_size s:compression s:id", "topic" },
	{ "unsubscribe", "S:topic s:id", "topic" },
	{ "advertise_service", "S:service S:type", "service" },
	{ "unadvertise_service", "S:service", "service" },
	{ "call_service", "S:service o:args s:id", "service" },
	{ "service_response", "S:service s:id O:values B:result", "id" },
	{ "fragment", "S:id S:data I:num I:total", "id" },
	{ "auth", "S:mac S:client S:dest S:rand I:t S:level I:end", "client" },
};

static bool kind_ok(char kind, const json_t *v)
{
	switch (kind | 0x20) {
	case 's':
		return json_is_string(v);
	case 'i':
		return json_is_integer(v) && json_integer_value(v) >= 0;
	case 'b':
		return json_is_boolean(v);
	default:
		return json_is_object(v);
	}
}

/* One word of keys, "S:topic". */
static void check_key(struct rosbridge_server *s, const char *op, const char *word, size_t len, const json_t *j,
		      size_t *known)
{
	char key[32];
	const json_t *v;

	snprintf(key, sizeof(key), "%.*s", (int)(len - 2), word + 2);
	v = json_object_get(j, key);
	*known += v != NULL;
	if (v ? !kind_ok(*word, v) : *word < 'a')
		fault(s, "%s: \"%s\" is %s", op, key, v ? "of another kind" : "missing");
}

static bool check_keys(struct rosbridge_server *s, const char *op, const char *keys, const json_t *j)
{
	size_t known = 1, len; /* "op" */

	for (const char *w = keys; *w; w += len + (w[len] == ' ')) {
		len = strcspn(w, " ");
		check_key(s, op, w, len, j, &known);
	}
	if (known != json_object_size(j))
		fault(s, "%s: it has a key that the protocol does not have", op);
	return !s->fault[0];
}

static void check_type(struct rosbridge_server *s, const char *name, const char *type)
{
	const char *slash = strchr(type, '/');

	if (slash && (strncmp(slash, "/msg/", 5) == 0 || strncmp(slash, "/srv/", 5) == 0))
		slash += 4;
	if (!slash || slash == type || !slash[1] || strchr(slash + 1, '/'))
		fault(s, "%s: \"%s\" is no type", name, type);
}

/* What must have been said before, and what is taken back. */
static void check_order(struct rosbridge_server *s, const char *op, const char *name, const json_t *j)
{
	const char *type = json_string_value(json_object_get(j, "type"));

	if (type)
		check_type(s, name, type);
	if (s->how.auth && !s->authenticated && strcmp(op, "auth") != 0)
		fault(s, "%s comes before auth", op);
	s->authenticated |= strcmp(op, "auth") == 0;
	if (strcmp(op, "publish") == 0 && !is_on(s, "advertise", name))
		fault(s, "%s is published, but was not advertised", name);
	if ((strcmp(op, "advertise") == 0 || strcmp(op, "subscribe") == 0 || strcmp(op, "advertise_service") == 0) &&
	    is_on(s, op, name))
		fault(s, "%s: %s twice", name, op);
	if (strcmp(op, "service_response") == 0 &&
	    !is_on(s, "advertise_service", json_string_value(json_object_get(j, "service"))))
		fault(s, "%s: a response of a service that was not advertised", name);
	if (strncmp(op, "un", 2) == 0)
		take_back(s, strcmp(op, "unsubscribe") == 0 ? "subscribe" : op + 2, name);
}

static void keep(struct rosbridge_server *s, const char *op, const char *name, json_t *j, const char *text, size_t n)
{
	struct heard *h = find(s, op, name);

	if (!h && s->n < HEARD) {
		h = &s->heard[s->n++];
		snprintf(h->op, sizeof(h->op), "%s", op);
		snprintf(h->name, sizeof(h->name), "%s", name);
	}
	if (!h)
		return;
	json_decref(h->last);
	h->last = json_incref(j);
	free(h->text);
	h->text = strndup(text, n);
	h->on = true;
	h->count++;
	h->bytes += n;
}

static void on_text(struct rosbridge_server *s, const char *text, size_t n);

static void on_fragment(struct rosbridge_server *s, const char *id, const json_t *j)
{
	json_int_t num = json_integer_value(json_object_get(j, "num")),
		   total = json_integer_value(json_object_get(j, "total"));
	const json_t *data = json_object_get(j, "data");
	struct bytes whole;

	if (num == 0) {
		s->fragments.n = 0;
		s->next_fragment = 0;
		snprintf(s->fragment_id, sizeof(s->fragment_id), "%s", id);
	}
	if (num != s->next_fragment++ || strcmp(id, s->fragment_id) != 0 || num >= total)
		fault(s, "fragment %lld of %lld of %s out of turn", (long long)num, (long long)total, id);
	append(&s->fragments, json_string_value(data), json_string_length(data));
	if (num + 1 != total)
		return;
	whole = s->fragments;
	s->fragments = (struct bytes){ NULL, 0, 0 };
	on_text(s, (const char *)whole.data, whole.n);
	free(whole.data);
}

static void on_op(struct rosbridge_server *s, json_t *j, const char *text, size_t n)
{
	const char *op = json_string_value(json_object_get(j, "op")), *name;
	size_t i = 0;

	while (i < sizeof(ops) / sizeof(ops[0]) && (!op || strcmp(ops[i].op, op) != 0))
		i++;
	if (!op || i == sizeof(ops) / sizeof(ops[0])) {
		fault(s, "no operation: %.40s", op ? op : "none");
		return;
	}
	if (!check_keys(s, op, ops[i].keys, j))
		return;
	name = json_string_value(json_object_get(j, ops[i].name));
	check_order(s, op, name, j);
	keep(s, op, name, j, text, n);
	if (strcmp(op, "fragment") == 0)
		on_fragment(s, name, j);
}

/* The length of a number that JSON does not have, or no double holds. */
static size_t odd_number(const char *text, size_t n)
{
	static const char *const words[] = { "NaN", "1e999", "-1e999" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (n >= strlen(words[i]) && memcmp(text, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return 0;
}

/* Such numbers outside of strings are null. */
static json_t *load_as_python(const char *text, size_t n, json_error_t *e)
{
	struct bytes b = { NULL, 0, 0 };
	bool quoted = false;
	json_t *j;

	for (size_t i = 0; i < n; i++) {
		size_t odd = quoted ? 0 : odd_number(text + i, n - i);

		quoted ^= text[i] == '"' && (i == 0 || text[i - 1] != '\\');
		append(&b, odd ? "null" : text + i, odd ? 4 : 1);
		i += odd ? odd - 1 : 0;
	}
	j = json_loadb((const char *)b.data, b.n, JSON_REJECT_DUPLICATES, e);
	free(b.data);
	return j;
}

static void on_text(struct rosbridge_server *s, const char *text, size_t n)
{
	json_error_t e;
	json_t *j = s->how.python ? load_as_python(text, n, &e) : json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);

	if (json_is_object(j))
		on_op(s, j, text, n);
	else
		fault(s, "no JSON: %s: %.*s", e.text, (int)(n < 200 ? n : 200), text);
	json_decref(j);
}

/* ---- frames ---- */

struct frame {
	unsigned opcode;
	bool final;
	uint8_t *data;
	size_t len, total;
};

/* From the beginning of in. 1; 0: more must come; -1: none. */
static int parse_frame(struct rosbridge_server *s, struct frame *f)
{
	uint8_t *p = s->in.data;
	size_t len = s->in.n >= 2 ? p[1] & 0x7f : 0, wide = len == 126 ? 2 : len == 127 ? 8 : 0, at = 2 + wide + 4;

	if (s->in.n < 2 || s->in.n < at)
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
	if (s->in.n < at + len)
		return 0;
	*f = (struct frame){ p[0] & 0xf, p[0] & 0x80, p + at, len, at + len };
	for (size_t i = 0; i < len; i++)
		f->data[i] ^= p[at - 4 + i % 4];
	return 1;
}

static bool on_control(struct rosbridge_server *s, const struct frame *f)
{
	if (f->len > 125 || !f->final)
		fault(s, "a control frame that is long or goes on");
	if (f->opcode == 9 && !s->how.keeps_open)
		put_frame(s, 10, f->data, f->len);
	if (f->opcode == 8 && !s->how.keeps_open)
		put_frame(s, 8, f->data, f->len);
	if (f->opcode > 10)
		fault(s, "opcode %u", f->opcode);
	return f->opcode != 8 || s->how.keeps_open;
}

static bool on_frame(struct rosbridge_server *s, const struct frame *f)
{
	if (f->opcode >= 8)
		return on_control(s, f);
	if (f->opcode > 2 || (f->opcode == 0) != (s->opcode != 0))
		fault(s, "opcode %u in a message of opcode %u", f->opcode, s->opcode);
	s->opcode = f->opcode ? f->opcode : s->opcode;
	append(&s->message, f->data, f->len);
	if (!f->final)
		return true;
	if (s->opcode == 1)
		on_text(s, (const char *)s->message.data, s->message.n);
	else
		fault(s, "a binary message");
	s->message.n = 0;
	s->opcode = 0;
	return true;
}

static void consume(struct bytes *b, size_t n)
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

static void greet(struct rosbridge_server *s, const char *request)
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
	put(s, text, strlen(text));
	s->greeted = true;
	s->n_greeted++;
}

/* 1: done; 0: more must come; -1: no client. */
static int take_handshake(struct rosbridge_server *s)
{
	const uint8_t *end = s->in.n ? memmem(s->in.data, s->in.n, "\r\n\r\n", 4) : NULL;
	char request[4096];

	if (!end || s->how.deaf)
		return s->in.n < sizeof(request) ? 0 : -1;
	if (s->how.greeting) {
		put(s, s->how.greeting, strlen(s->how.greeting));
		return -1;
	}
	snprintf(request, sizeof(request), "%.*s", (int)(end + 4 - s->in.data), (const char *)s->in.data);
	consume(&s->in, (size_t)(end + 4 - s->in.data));
	greet(s, request);
	return 1;
}

/* ---- connections ---- */

static bool take_all(struct rosbridge_server *s)
{
	struct frame f;
	size_t at = 0;
	int r = s->greeted ? 1 : take_handshake(s);

	while (r > 0 && (r = parse_frame(s, &f)) > 0) {
		if (!on_frame(s, &f))
			return false;
		at = f.total;
		consume(&s->in, at);
	}
	return r >= 0;
}

static bool read_some(struct rosbridge_server *s)
{
	static uint8_t data[1 << 18];
	ssize_t n = get(s, data, sizeof(data));

	if (n <= 0)
		return !s->ssl && n < 0 && errno == EAGAIN;
	append(&s->in, data, (size_t)n);
	return take_all(s);
}

static void accept_one(struct rosbridge_server *s)
{
	struct timeval patience = { .tv_sec = 5 };

	s->fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	if (s->fd < 0)
		return;
	s->connections++;
	if (!s->tls)
		return;
	(void)setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	s->ssl = SSL_new(s->tls);
	SSL_set_fd(s->ssl, s->fd);
	if (SSL_accept(s->ssl) <= 0)
		hang_up(s);
}

static void step(struct rosbridge_server *s, const struct pollfd *p)
{
	uint64_t n;

	if (p[0].revents)
		(void)!read(s->wake, &n, sizeof(n));
	if (s->drop)
		hang_up(s);
	if (p[1].revents && s->fd < 0)
		accept_one(s);
	else if (p[2].revents && s->fd >= 0 && p[2].fd == s->fd && !s->hold)
		do
			if (!read_some(s))
				hang_up(s);
		while (s->ssl && SSL_pending(s->ssl));
}

static void *server_main(void *arg)
{
	struct rosbridge_server *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		struct pollfd p[3] = { { .fd = s->wake, .events = POLLIN },
				       { .fd = s->fd < 0 ? s->listener : -1, .events = POLLIN },
				       { .fd = s->hold ? -1 : s->fd, .events = POLLIN } };

		pthread_mutex_unlock(&s->lock);
		(void)poll(p, 3, -1);
		pthread_mutex_lock(&s->lock);
		step(s, p);
	}
	hang_up(s);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void poke(struct rosbridge_server *s)
{
	uint64_t one = 1;

	(void)!write(s->wake, &one, sizeof(one));
}

static bool set_up_tls(struct rosbridge_server *s)
{
	if (!s->how.cert)
		return true;
	signal(SIGPIPE, SIG_IGN); /* SSL_write() has no flag */
	s->tls = SSL_CTX_new(TLS_server_method());
	return s->tls && SSL_CTX_use_certificate_file(s->tls, s->how.cert, SSL_FILETYPE_PEM) == 1 &&
	       SSL_CTX_use_PrivateKey_file(s->tls, s->how.key, SSL_FILETYPE_PEM) == 1;
}

struct rosbridge_server *rosbridge_server_create(unsigned port, const struct rosbridge_server_how *how)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rosbridge_server *s = calloc(1, sizeof(*s));
	socklen_t size = sizeof(a);
	int on = 1;

	if (!s)
		return NULL;
	s->how = how ? *how : (struct rosbridge_server_how){ .greeting = NULL };
	s->fd = -1;
	s->wake = eventfd(0, EFD_CLOEXEC);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	pthread_mutex_init(&s->lock, NULL);
	if (!set_up_tls(s) || bind(s->listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->listener, 8) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &size) < 0 ||
	    pthread_create(&s->thread, NULL, server_main, s) != 0) {
		SSL_CTX_free(s->tls);
		close(s->listener);
		close(s->wake);
		free(s);
		return NULL;
	}
	s->port = ntohs(a.sin_port);
	return s;
}

void rosbridge_server_destroy(struct rosbridge_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	poke(s);
	pthread_join(s->thread, NULL);
	close(s->listener);
	close(s->wake);
	for (unsigned i = 0; i < s->n; i++) {
		json_decref(s->heard[i].last);
		free(s->heard[i].text);
	}
	SSL_CTX_free(s->tls);
	pthread_mutex_destroy(&s->lock);
	free(s->in.data);
	free(s->message.data);
	free(s->fragments.data);
	free(s);
}

/* ---- asking ---- */

unsigned rosbridge_server_port(const struct rosbridge_server *s)
{
	return s->port;
}

#define LOCKED(s, type, expr) \
	({ \
		pthread_mutex_lock(&(s)->lock); \
		type value_ = (expr); \
		pthread_mutex_unlock(&(s)->lock); \
		value_; \
	})

unsigned rosbridge_server_connections(struct rosbridge_server *s)
{
	return LOCKED(s, unsigned, s->connections);
}

unsigned rosbridge_server_greeted(struct rosbridge_server *s)
{
	return LOCKED(s, unsigned, s->n_greeted);
}

bool rosbridge_server_connected(struct rosbridge_server *s)
{
	return LOCKED(s, bool, s->fd >= 0);
}

static bool heard(struct rosbridge_server *s, const char *op, const char *name, const char *key, const char *value)
{
	const struct heard *h = find(s, op, name);
	const char *has = h && key ? json_string_value(json_object_get(h->last, key)) : NULL;

	return h && h->on && (!key || (has && strcmp(has, value) == 0));
}

bool rosbridge_server_heard(struct rosbridge_server *s, const char *op, const char *name, const char *key,
			    const char *value)
{
	return LOCKED(s, bool, heard(s, op, name, key, value));
}

static uint64_t count(struct rosbridge_server *s, const char *op, const char *name)
{
	const struct heard *h = find(s, op, name);

	return h ? h->count : 0;
}

uint64_t rosbridge_server_count(struct rosbridge_server *s, const char *op, const char *name)
{
	return LOCKED(s, uint64_t, count(s, op, name));
}

/* A copy: the thread that decodes changes counters of what it keeps. */
static json_t *last(struct rosbridge_server *s, const char *op, const char *name)
{
	const struct heard *h = find(s, op, name);

	return h ? json_deep_copy(h->last) : NULL;
}

json_t *rosbridge_server_last(struct rosbridge_server *s, const char *op, const char *name)
{
	return LOCKED(s, json_t *, last(s, op, name));
}

static char *last_text(struct rosbridge_server *s, const char *op, const char *name)
{
	const struct heard *h = find(s, op, name);

	return h ? strdup(h->text) : NULL;
}

char *rosbridge_server_last_text(struct rosbridge_server *s, const char *op, const char *name)
{
	return LOCKED(s, char *, last_text(s, op, name));
}

const char *rosbridge_server_fault(struct rosbridge_server *s)
{
	return LOCKED(s, const char *, s->fault);
}

void rosbridge_server_list(struct rosbridge_server *s, char *text, size_t size)
{
	size_t at = 0;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->n && at < size; i++) {
		const struct heard *h = &s->heard[i], *p = find(s, "publish", h->name);
		const char *type = json_string_value(json_object_get(h->last, "type"));

		if (type)
			at += (size_t)snprintf(text + at, size - at, "%-20s %-40s %-44s %10llu messages %14llu bytes\n",
					       h->op, h->name, type, p ? (unsigned long long)p->count : 0,
					       p ? (unsigned long long)p->bytes : 0);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- doing ---- */

#define DO(s, what) \
	do { \
		pthread_mutex_lock(&(s)->lock); \
		what; \
		pthread_mutex_unlock(&(s)->lock); \
		poke(s); \
	} while (0)

void rosbridge_server_text(struct rosbridge_server *s, const char *text)
{
	DO(s, put_frame(s, 1, text, strlen(text)));
}

void rosbridge_server_binary(struct rosbridge_server *s, const void *data, size_t n)
{
	DO(s, put_frame(s, 2, data, n));
}

void rosbridge_server_raw(struct rosbridge_server *s, const void *data, size_t n)
{
	DO(s, put(s, data, n));
}

void rosbridge_server_hold(struct rosbridge_server *s, bool on)
{
	DO(s, s->hold = on);
}

void rosbridge_server_close(struct rosbridge_server *s, unsigned code)
{
	uint8_t said[2] = { (uint8_t)(code >> 8), (uint8_t)code };

	DO(s, put_frame(s, 8, said, sizeof(said)));
}

void rosbridge_server_drop(struct rosbridge_server *s)
{
	DO(s, s->drop = true);
}
