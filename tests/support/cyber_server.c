/* SPDX-License-Identifier: Apache-2.0 */
/* See cyber_server.h. */
#include "cyber_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cyber_types.h"
#include "rnd.h"

#define CHANNELS 256
#define CLIENTS  16
#define TEXT     256
#define CHUNK    (1u << 20) /* as much is received at once */
#define GIB      (1u << 30)

enum op { REGISTER_DESC = 1, ADD_READER = 2, ADD_WRITER = 3, PUBLISH = 4 };

struct bytes {
	uint8_t *data;
	size_t n, room;
};

struct client {
	int fd; /* -1: free */
	struct bytes in, out;
	size_t at_out, got; /* sent of out; received in all */
};

struct channel {
	char name[TEXT], type[TEXT]; /* type: of the writer */
	uint32_t owners, readers;    /* bits of clients; owners 0: no writer */
	uint64_t count, refused, n_bytes, sum;
	int64_t first_mono_ns, last_mono_ns;
	struct bytes last;
	bool fresh; /* the readers have not had it */
};

struct cyber_server {
	int listener, wake;
	unsigned port;
	pthread_t thread;
	bool stop;
	pthread_mutex_t lock; /* guards what follows */
	struct cyber_server_how how;
	bool hold, drop;
	unsigned connections;
	struct client client[CLIENTS];
	struct channel channel[CHANNELS];
	unsigned n;
	struct cyber_types *types;
	unsigned registered;
	uint64_t echoed, dropped;
	char fault[512];
};

/* Under lock, as all that follows. */
__attribute__((format(printf, 2, 3))) static void fault(struct cyber_server *s, const char *fmt, ...)
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
	if (b->n + n > b->room) {
		b->room = 2 * (b->n + n);
		b->data = realloc(b->data, b->room);
		if (!b->data)
			abort();
	}
	if (n)
		memcpy(b->data + b->n, data, n);
	b->n += n;
}

static struct channel *find(struct cyber_server *s, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->channel[i].name, name) == 0)
			return &s->channel[i];
	return NULL;
}

static struct channel *get(struct cyber_server *s, const char *name)
{
	struct channel *c = find(s, name);

	if (c || s->n == CHANNELS)
		return c;
	c = &s->channel[s->n++];
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

/* ---- sending ---- */

static size_t pending_max(const struct cyber_server *s)
{
	return s->how.pending_max ? s->how.pending_max : GIB;
}

static void flush(struct client *k)
{
	ssize_t n = 1;

	while (k->fd >= 0 && k->at_out < k->out.n && n > 0) {
		n = send(k->fd, k->out.data + k->at_out, k->out.n - k->at_out, MSG_NOSIGNAL | MSG_DONTWAIT);
		k->at_out += n > 0 ? (size_t)n : 0;
	}
	if (k->at_out == k->out.n)
		k->at_out = k->out.n = 0;
}

static void deliver(struct cyber_server *s, const struct channel *c, const void *message, uint32_t len)
{
	uint32_t n = (uint32_t)strlen(c->name);
	uint8_t head[9 + TEXT] = { PUBLISH };

	memcpy(head + 1, &n, 4);
	memcpy(head + 5, c->name, n);
	memcpy(head + 5 + n, &len, 4);
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *k = &s->client[i];

		if (k->fd < 0 || !(c->readers & 1u << i))
			continue;
		if (k->out.n - k->at_out >= pending_max(s)) {
			s->dropped++;
			continue;
		}
		append(&k->out, head, 9 + n);
		append(&k->out, message, len);
		s->echoed++;
		flush(k);
	}
}

/* ---- receiving ---- */

static bool is_linked_in(const char *type)
{
	return strncmp(type, "apollo.cyber.proto.", 19) == 0;
}

static bool is_question(const char *channel)
{
	return strncmp(channel, "/simd/knows/", 12) == 0;
}

static void on_file(struct cyber_server *s, const uint8_t *blob, uint32_t n)
{
	char why[1024];

	s->registered++;
	if (!s->how.no_types && cyber_types_add(s->types, blob, n, why, sizeof(why)) < 0)
		fault(s, "%.400s", why);
}

static void on_writer(struct cyber_server *s, unsigned client, const char *name, const char *type)
{
	struct channel *c = get(s, name);

	if (!c)
		return;
	if (c->owners & 1u << client)
		fault(s, "%s has its writer twice", name);
	if (!c->owners && !is_linked_in(type) && !cyber_types_has(s->types, type)) {
		if (!is_question(name))
			fault(s, "%s: no writer: %s is not known", name, type);
		return;
	}
	if (!c->owners)
		snprintf(c->type, sizeof(c->type), "%s", type);
	c->owners |= 1u << client;
}

static void on_reader(struct cyber_server *s, unsigned client, const char *name)
{
	struct channel *c = get(s, name);

	if (!c)
		return;
	if (c->readers & 1u << client)
		fault(s, "%s has its reader twice", name);
	c->readers |= 1u << client;
}

static void on_publish(struct cyber_server *s, const char *name, const uint8_t *message, uint32_t len)
{
	struct channel *c = get(s, name);
	struct timespec t;

	if (!c)
		return;
	if (!c->owners) {
		c->refused++;
		if (!is_question(name))
			fault(s, "%s is published, but has no writer", name);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	c->last_mono_ns = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
	if (!c->count++)
		c->first_mono_ns = c->last_mono_ns;
	c->n_bytes += len;
	if (s->how.sums)
		c->sum = hash64(c->sum, message, len);
	c->last.n = 0;
	append(&c->last, message, len);
	c->fresh = true;
}

/* Reads a text at *at, and moves *at behind it. False: more bytes must come. */
static bool text_at(const struct bytes *b, size_t *at, const uint8_t **ret, uint32_t *ret_len)
{
	if (b->n < *at + 4)
		return false;
	memcpy(ret_len, b->data + *at, 4);
	if (b->n - *at - 4 < *ret_len)
		return false;
	*ret = b->data + *at + 4;
	*at += 4 + (size_t)*ret_len;
	return true;
}

/* Registers the files of a RegisterDesc at `begin`; returns its length, 0: more bytes must come. */
static size_t take_files(struct cyber_server *s, const struct bytes *b, size_t begin)
{
	size_t at = begin + 5, end;
	const uint8_t *blob;
	uint32_t count, n;

	if (b->n < at)
		return 0;
	memcpy(&count, b->data + begin + 1, 4);
	for (uint32_t i = 0; i < count; i++)
		if (!text_at(b, &at, &blob, &n))
			return 0;
	end = at;
	at = begin + 5;
	for (uint32_t i = 0; i < count && text_at(b, &at, &blob, &n); i++)
		on_file(s, blob, n);
	return end - begin;
}

static size_t take_pair(struct cyber_server *s, unsigned client, const struct bytes *b, size_t begin)
{
	enum op op = (enum op)b->data[begin];
	const uint8_t *first, *second;
	char name[TEXT], type[TEXT];
	uint32_t n, len;
	size_t at = begin + 1;

	if (!text_at(b, &at, &first, &n) || !text_at(b, &at, &second, &len))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(n < TEXT ? n : TEXT - 1), (const char *)first);
	if (op == PUBLISH) {
		on_publish(s, name, second, len);
		return at - begin;
	}
	snprintf(type, sizeof(type), "%.*s", (int)(len < TEXT ? len : TEXT - 1), (const char *)second);
	if (op == ADD_WRITER)
		on_writer(s, client, name, type);
	else
		on_reader(s, client, name);
	return at - begin;
}

/* Handles all complete frames. False: unknown op. */
static bool take_all(struct cyber_server *s, unsigned client)
{
	struct bytes *b = &s->client[client].in;
	size_t at = 0, n = 1;

	while (n && at < b->n) {
		unsigned op = b->data[at];

		if (op < REGISTER_DESC || op > PUBLISH) {
			fault(s, "op %u", op);
			return false;
		}
		n = op == REGISTER_DESC ? take_files(s, b, at) : take_pair(s, client, b, at);
		at += n;
	}
	b->n -= at;
	memmove(b->data, b->data + at, b->n);
	return true;
}

/* A reader has room for one message. */
static bool is_mute(const struct cyber_server *s, const struct channel *c)
{
	return s->how.mute && (strcmp(s->how.mute, "*") == 0 || strcmp(s->how.mute, c->name) == 0);
}

static void read_newest(struct cyber_server *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct channel *c = &s->channel[i];

		if (c->fresh && c->readers && !is_mute(s, c))
			deliver(s, c, c->last.data, (uint32_t)c->last.n);
		c->fresh = false;
	}
}

/* Returns false if the client is disconnected. */
static bool read_some(struct cyber_server *s, unsigned client)
{
	struct client *k = &s->client[client];
	size_t want = CHUNK;
	ssize_t n;

	if (s->how.close_after && s->how.close_after - k->got < want)
		want = s->how.close_after - k->got;
	if (k->in.room - k->in.n < want) {
		k->in.room = 2 * k->in.room + want;
		k->in.data = realloc(k->in.data, k->in.room);
		if (!k->in.data)
			abort();
	}
	n = recv(k->fd, k->in.data + k->in.n, want, MSG_DONTWAIT);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	k->in.n += (size_t)n;
	k->got += (size_t)n;
	if (!take_all(s, client))
		return false;
	read_newest(s);
	return !s->how.close_after || k->got < s->how.close_after;
}

/* ---- clients ---- */

static void hang_up(struct cyber_server *s, unsigned client)
{
	struct client *k = &s->client[client];
	struct linger now = { 1, 0 };

	if (k->fd < 0)
		return;
	if (s->drop)
		(void)setsockopt(k->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(k->fd);
	k->fd = -1;
	k->in.n = k->out.n = k->at_out = k->got = 0;
	for (unsigned i = 0; i < s->n; i++) {
		s->channel[i].owners &= ~(1u << client);
		s->channel[i].readers &= ~(1u << client);
	}
}

static void welcome(struct cyber_server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	const char *greeting = s->how.greeting;
	unsigned i = 0;

	if (fd < 0)
		return;
	while (i < CLIENTS && s->client[i].fd >= 0)
		i++;
	if (i == CLIENTS) {
		close(fd);
		return;
	}
	s->client[i].fd = fd;
	s->connections++;
	if (greeting) {
		append(&s->client[i].out, greeting, s->how.greeting_len ? s->how.greeting_len : strlen(greeting));
		flush(&s->client[i]);
	}
}

static void step(struct cyber_server *s, const struct pollfd *p)
{
	uint64_t n;

	if (p[0].revents)
		(void)!read(s->wake, &n, sizeof(n));
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *k = &s->client[i];

		if (s->drop)
			hang_up(s, i);
		if (k->fd < 0 || p[2 + i].fd != k->fd)
			continue;
		if (p[2 + i].revents & POLLOUT)
			flush(k);
		if ((p[2 + i].revents & (POLLIN | POLLHUP | POLLERR)) && !s->hold && !read_some(s, i))
			hang_up(s, i);
	}
	s->drop = false;
	if (p[1].revents)
		welcome(s);
}

static void *server_main(void *arg)
{
	struct cyber_server *s = arg;
	struct pollfd p[2 + CLIENTS];

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		p[0] = (struct pollfd){ .fd = s->wake, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = s->listener, .events = POLLIN };
		for (unsigned i = 0; i < CLIENTS; i++) {
			const struct client *k = &s->client[i];
			int events = (s->hold ? 0 : POLLIN) | (k->at_out < k->out.n ? POLLOUT : 0);

			p[2 + i] = (struct pollfd){ .fd = events ? k->fd : -1, .events = (short)events };
		}
		pthread_mutex_unlock(&s->lock);
		(void)poll(p, 2 + CLIENTS, -1);
		pthread_mutex_lock(&s->lock);
		step(s, p);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		hang_up(s, i);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void poke(struct cyber_server *s)
{
	uint64_t one = 1;

	(void)!write(s->wake, &one, sizeof(one));
}

static bool begin(struct cyber_server *s, unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	int on = 1;

	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s->listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->listener, 8) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &size) < 0)
		return false;
	s->port = ntohs(a.sin_port);
	return pthread_create(&s->thread, NULL, server_main, s) == 0;
}

struct cyber_server *cyber_server_create(unsigned port, const struct cyber_server_how *how)
{
	struct cyber_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (how)
		s->how = *how;
	for (unsigned i = 0; i < CLIENTS; i++)
		s->client[i].fd = -1;
	s->types = cyber_types_create();
	s->wake = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&s->lock, NULL);
	if (s->types && begin(s, port))
		return s;
	close(s->listener);
	close(s->wake);
	cyber_types_destroy(s->types);
	free(s);
	return NULL;
}

void cyber_server_destroy(struct cyber_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	poke(s);
	pthread_join(s->thread, NULL);
	close(s->listener);
	close(s->wake);
	for (unsigned i = 0; i < s->n; i++)
		free(s->channel[i].last.data);
	for (unsigned i = 0; i < CLIENTS; i++) {
		free(s->client[i].in.data);
		free(s->client[i].out.data);
	}
	cyber_types_destroy(s->types);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- queries ---- */

unsigned cyber_server_port(const struct cyber_server *s)
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

unsigned cyber_server_connections(struct cyber_server *s)
{
	return LOCKED(s, unsigned, s->connections);
}

static unsigned clients(const struct cyber_server *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CLIENTS; i++)
		n += s->client[i].fd >= 0;
	return n;
}

unsigned cyber_server_clients(struct cyber_server *s)
{
	return LOCKED(s, unsigned, clients(s));
}

static bool writer(struct cyber_server *s, const char *channel, const char *type)
{
	const struct channel *c = find(s, channel);

	return c && c->owners && (!type || strcmp(c->type, type) == 0);
}

bool cyber_server_writer(struct cyber_server *s, const char *channel, const char *type)
{
	return LOCKED(s, bool, writer(s, channel, type));
}

static bool reader(struct cyber_server *s, const char *channel)
{
	const struct channel *c = find(s, channel);

	return c && c->readers;
}

bool cyber_server_reader(struct cyber_server *s, const char *channel)
{
	return LOCKED(s, bool, reader(s, channel));
}

unsigned cyber_server_registered(struct cyber_server *s)
{
	return LOCKED(s, unsigned, s->registered);
}

void cyber_server_know(struct cyber_server *s, const void *set, size_t n)
{
	char why[1024];

	pthread_mutex_lock(&s->lock);
	if (cyber_types_add_set(s->types, set, n, why, sizeof(why)) < 0)
		fault(s, "%.400s", why);
	pthread_mutex_unlock(&s->lock);
}

bool cyber_server_file(struct cyber_server *s, const char *name)
{
	return LOCKED(s, bool, cyber_types_has_file(s->types, name));
}

static size_t descriptor(struct cyber_server *s, const char *name, uint8_t *data, size_t room)
{
	size_t n;
	const uint8_t *blob = cyber_types_file(s->types, name, &n);

	if (!blob || n > room)
		return 0;
	memcpy(data, blob, n);
	return n;
}

size_t cyber_server_descriptor(struct cyber_server *s, const char *name, uint8_t *data, size_t room)
{
	return LOCKED(s, size_t, descriptor(s, name, data, room));
}

static uint64_t count(struct cyber_server *s, const char *channel, bool refused)
{
	const struct channel *c = find(s, channel);

	return !c ? 0 : refused ? c->refused : c->count;
}

uint64_t cyber_server_count(struct cyber_server *s, const char *channel)
{
	return LOCKED(s, uint64_t, count(s, channel, false));
}

uint64_t cyber_server_refused(struct cyber_server *s, const char *channel)
{
	return LOCKED(s, uint64_t, count(s, channel, true));
}

uint64_t cyber_server_echoed(struct cyber_server *s)
{
	return LOCKED(s, uint64_t, s->echoed);
}

uint64_t cyber_server_dropped(struct cyber_server *s)
{
	return LOCKED(s, uint64_t, s->dropped);
}

size_t cyber_server_last(struct cyber_server *s, const char *channel, uint8_t *data, size_t room)
{
	const struct channel *c;
	size_t len = SIZE_MAX;

	pthread_mutex_lock(&s->lock);
	c = find(s, channel);
	if (c && c->count && c->last.n <= room) {
		memcpy(data, c->last.data, c->last.n);
		len = c->last.n;
	}
	pthread_mutex_unlock(&s->lock);
	return len;
}

const char *cyber_server_fault(struct cyber_server *s)
{
	return LOCKED(s, const char *, s->fault);
}

void cyber_server_forgive(struct cyber_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->fault[0] = '\0';
	pthread_mutex_unlock(&s->lock);
}

bool cyber_server_channel(struct cyber_server *s, unsigned i, struct cyber_server_channel *ret)
{
	const struct channel *c;
	unsigned k = 0;
	bool there;

	pthread_mutex_lock(&s->lock);
	while (k < s->n && (is_question(s->channel[k].name) || i--))
		k++;
	there = k < s->n;
	c = &s->channel[there ? k : 0];
	if (there) {
		*ret = (struct cyber_server_channel){ .writer = c->owners,
						      .reader = c->readers,
						      .count = c->count,
						      .refused = c->refused,
						      .bytes = c->n_bytes,
						      .sum = c->sum,
						      .first_mono_ns = c->first_mono_ns,
						      .last_mono_ns = c->last_mono_ns };
		memcpy(ret->name, c->name, sizeof(ret->name));
		memcpy(ret->type, c->type, sizeof(ret->type));
	}
	pthread_mutex_unlock(&s->lock);
	return there;
}

/* ---- commands ---- */

void cyber_server_set(struct cyber_server *s, const struct cyber_server_how *how)
{
	pthread_mutex_lock(&s->lock);
	s->how = *how;
	pthread_mutex_unlock(&s->lock);
}

bool cyber_server_publish(struct cyber_server *s, const char *channel, const void *message, uint32_t len)
{
	const struct channel *c;
	bool heard;

	pthread_mutex_lock(&s->lock);
	c = find(s, channel);
	heard = c && c->readers;
	if (heard)
		deliver(s, c, message, len);
	pthread_mutex_unlock(&s->lock);
	poke(s);
	return heard;
}

void cyber_server_send(struct cyber_server *s, const void *data, size_t n)
{
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < CLIENTS; i++) {
		append(&s->client[i].out, data, s->client[i].fd >= 0 ? n : 0);
		flush(&s->client[i]);
	}
	pthread_mutex_unlock(&s->lock);
	poke(s);
}

void cyber_server_hold(struct cyber_server *s, bool on)
{
	pthread_mutex_lock(&s->lock);
	s->hold = on;
	pthread_mutex_unlock(&s->lock);
	poke(s);
}

void cyber_server_drop(struct cyber_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->drop = true;
	pthread_mutex_unlock(&s->lock);
	poke(s);
}
