/* SPDX-License-Identifier: Apache-2.0 */
/* See lgsvl_server.h. */
#include "lgsvl_server.h"

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
#include <unistd.h>

#define TOPICS 256
#define TEXT   256

struct topic {
	unsigned op; /* 1, 2; of this connection, 0: of an earlier one */
	char name[TEXT], type[TEXT];
	uint64_t count, bytes;
	uint8_t *last;
	uint32_t last_len;
};

struct lgsvl_server {
	int listener, fd, wake;
	unsigned port;
	pthread_t thread;
	bool stop;
	pthread_mutex_t lock; /* guards the fields below, and fd */
	bool hold, drop;
	unsigned connections;
	struct topic topic[TOPICS];
	unsigned n;
	char fault[512];
	uint8_t *data; /* what was received */
	size_t len, room;
};

/* Caller holds the lock. */
__attribute__((format(printf, 2, 3))) static void fault(struct lgsvl_server *s, const char *fmt, ...)
{
	va_list ap;

	if (s->fault[0])
		return;
	va_start(ap, fmt);
	vsnprintf(s->fault, sizeof(s->fault), fmt, ap);
	va_end(ap);
}

static struct topic *find(struct lgsvl_server *s, const char *name, bool published)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->topic[i].name, name) == 0 && (!published || s->topic[i].op == 2 || s->topic[i].count))
			return &s->topic[i];
	return NULL;
}

/* ---- frames ---- */

/* Reads a text at *at, and moves *at behind it. 1; 0: more bytes must come; -1: too long. */
static int text_at(const struct lgsvl_server *s, size_t *at, const uint8_t **ret, uint32_t *ret_len, uint32_t max)
{
	if (s->len < *at + 4)
		return 0;
	memcpy(ret_len, s->data + *at, 4);
	if (*ret_len > max)
		return -1;
	if (s->len < *at + 4 + *ret_len)
		return 0;
	*ret = s->data + *at + 4;
	*at += 4 + *ret_len;
	return 1;
}

static void on_add(struct lgsvl_server *s, unsigned op, const char *name, const char *type)
{
	const char *slash = strchr(type, '/');
	struct topic *t = NULL;

	if (!slash || strchr(slash + 1, '/') || !slash[1])
		fault(s, "%s: \"%s\" is not pkg/Name", name, type);
	for (unsigned i = 0; i < s->n; i++) {
		if (strcmp(s->topic[i].name, name) != 0 || strcmp(s->topic[i].type, type) != 0)
			continue;
		if (s->topic[i].op == op)
			fault(s, "%s is added twice", name);
		if (!s->topic[i].op || s->topic[i].op == op)
			t = &s->topic[i];
	}
	if (!t && s->n < TOPICS)
		t = &s->topic[s->n++];
	if (!t)
		return;
	snprintf(t->name, sizeof(t->name), "%s", name);
	snprintf(t->type, sizeof(t->type), "%s", type);
	t->op = op;
}

static void on_publish(struct lgsvl_server *s, const char *name, const uint8_t *message, uint32_t len)
{
	struct topic *t = find(s, name, true);

	if (!t || t->op != 2) {
		fault(s, "%s is published, but was not added", name);
		return;
	}
	free(t->last);
	t->last = malloc(len ? len : 1);
	if (t->last && len)
		memcpy(t->last, message, len);
	t->last_len = len;
	t->bytes += len;
	t->count++;
}

/* One frame from the beginning of data. Its length; 0: more must come; -1: none of the protocol. */
static ssize_t take_one(struct lgsvl_server *s)
{
	unsigned op = s->len ? s->data[0] : 2;
	const uint8_t *a, *b;
	char name[TEXT], second[TEXT];
	uint32_t n_a, n_b;
	size_t at = 1;
	int r;

	if (op < 1 || op > 3) {
		fault(s, "op %u", op);
		return -1;
	}
	r = text_at(s, &at, &a, &n_a, TEXT - 1);
	if (r > 0)
		r = text_at(s, &at, &b, &n_b, op == 3 ? UINT32_MAX : TEXT - 1);
	if (r < 0)
		fault(s, "a text of more than %d bytes", TEXT - 1);
	if (r <= 0)
		return r;
	snprintf(name, sizeof(name), "%.*s", (int)n_a, (const char *)a);
	if (op == 3) {
		on_publish(s, name, b, n_b);
		return (ssize_t)at;
	}
	snprintf(second, sizeof(second), "%.*s", (int)n_b, (const char *)b);
	on_add(s, op, name, second);
	return (ssize_t)at;
}

static bool take_all(struct lgsvl_server *s)
{
	ssize_t n = 0;

	while (s->len && (n = take_one(s)) > 0) {
		s->len -= (size_t)n;
		memmove(s->data, s->data + n, s->len);
	}
	return n >= 0;
}

static bool read_some(struct lgsvl_server *s)
{
	ssize_t n;

	if (s->room - s->len < 65536) {
		s->data = realloc(s->data, s->room = 2 * s->room + 65536);
		if (!s->data)
			abort();
	}
	n = recv(s->fd, s->data + s->len, s->room - s->len, MSG_DONTWAIT);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	s->len += (size_t)n;
	return take_all(s);
}

/* ---- connections ---- */

static void hang_up(struct lgsvl_server *s)
{
	struct linger now = { 1, 0 };

	if (s->fd < 0)
		return;
	if (s->drop)
		(void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(s->fd);
	s->fd = -1;
	s->drop = false;
	s->len = 0;
	for (unsigned i = 0; i < s->n; i++)
		s->topic[i].op = 0;
}

static void step(struct lgsvl_server *s, const struct pollfd *p)
{
	uint64_t n;

	if (p[0].revents)
		(void)!read(s->wake, &n, sizeof(n));
	if (s->drop)
		hang_up(s);
	if (p[1].revents && s->fd < 0) {
		s->fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
		s->connections += s->fd >= 0;
	} else if (p[2].revents && s->fd >= 0 && p[2].fd == s->fd && !s->hold && !read_some(s)) {
		hang_up(s);
	}
}

static void *server_main(void *arg)
{
	struct lgsvl_server *s = arg;

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

static void poke(struct lgsvl_server *s)
{
	uint64_t one = 1;

	(void)!write(s->wake, &one, sizeof(one));
}

struct lgsvl_server *lgsvl_server_create(unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct lgsvl_server *s = calloc(1, sizeof(*s));
	socklen_t size = sizeof(a);
	int on = 1;

	if (!s)
		return NULL;
	s->fd = -1;
	s->wake = eventfd(0, EFD_CLOEXEC);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	pthread_mutex_init(&s->lock, NULL);
	if (bind(s->listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->listener, 8) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &size) < 0 ||
	    pthread_create(&s->thread, NULL, server_main, s) != 0) {
		close(s->listener);
		close(s->wake);
		free(s);
		return NULL;
	}
	s->port = ntohs(a.sin_port);
	return s;
}

void lgsvl_server_destroy(struct lgsvl_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	poke(s);
	pthread_join(s->thread, NULL);
	close(s->listener);
	close(s->wake);
	for (unsigned i = 0; i < s->n; i++)
		free(s->topic[i].last);
	pthread_mutex_destroy(&s->lock);
	free(s->data);
	free(s);
}

/* ---- queries ---- */

unsigned lgsvl_server_port(const struct lgsvl_server *s)
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

unsigned lgsvl_server_connections(struct lgsvl_server *s)
{
	return LOCKED(s, unsigned, s->connections);
}

bool lgsvl_server_connected(struct lgsvl_server *s)
{
	return LOCKED(s, bool, s->fd >= 0);
}

static bool heard(struct lgsvl_server *s, unsigned op, const char *topic, const char *type)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->topic[i].op == op && strcmp(s->topic[i].name, topic) == 0 &&
		    (!type || strcmp(s->topic[i].type, type) == 0))
			return true;
	return false;
}

bool lgsvl_server_heard(struct lgsvl_server *s, unsigned op, const char *topic, const char *type)
{
	return LOCKED(s, bool, heard(s, op, topic, type));
}

static uint64_t count(struct lgsvl_server *s, const char *topic)
{
	const struct topic *t = find(s, topic, true);

	return t ? t->count : 0;
}

uint64_t lgsvl_server_count(struct lgsvl_server *s, const char *topic)
{
	return LOCKED(s, uint64_t, count(s, topic));
}

size_t lgsvl_server_last(struct lgsvl_server *s, const char *topic, uint8_t *data, size_t room)
{
	const struct topic *t;
	size_t len = SIZE_MAX;

	pthread_mutex_lock(&s->lock);
	t = find(s, topic, true);
	if (t && t->last && t->last_len <= room) {
		memcpy(data, t->last, t->last_len);
		len = t->last_len;
	}
	pthread_mutex_unlock(&s->lock);
	return len;
}

const char *lgsvl_server_fault(struct lgsvl_server *s)
{
	return LOCKED(s, const char *, s->fault);
}

void lgsvl_server_list(struct lgsvl_server *s, char *text, size_t size)
{
	size_t at = 0;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->n && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%-40s %-44s %10llu messages %14llu bytes%s\n",
				       s->topic[i].name, s->topic[i].type, (unsigned long long)s->topic[i].count,
				       (unsigned long long)s->topic[i].bytes, s->topic[i].op == 1 ? ", wanted" : "");
	pthread_mutex_unlock(&s->lock);
}

/* ---- commands ---- */

void lgsvl_server_send(struct lgsvl_server *s, const void *data, size_t n)
{
	pthread_mutex_lock(&s->lock);
	if (s->fd >= 0)
		(void)!send(s->fd, data, n, MSG_NOSIGNAL);
	pthread_mutex_unlock(&s->lock);
}

void lgsvl_server_publish(struct lgsvl_server *s, const char *topic, const void *message, uint32_t len)
{
	uint32_t n = (uint32_t)strlen(topic);
	uint8_t head[9 + TEXT] = { 3 };

	memcpy(head + 1, &n, 4);
	memcpy(head + 5, topic, n);
	memcpy(head + 5 + n, &len, 4);
	lgsvl_server_send(s, head, 9 + n);
	lgsvl_server_send(s, message, len);
}

void lgsvl_server_hold(struct lgsvl_server *s, bool on)
{
	pthread_mutex_lock(&s->lock);
	s->hold = on;
	pthread_mutex_unlock(&s->lock);
	poke(s);
}

void lgsvl_server_drop(struct lgsvl_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->drop = true;
	pthread_mutex_unlock(&s->lock);
	poke(s);
}
