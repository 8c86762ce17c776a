/* SPDX-License-Identifier: Apache-2.0 */
/* world_original.h */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "world_original.h"

#define BODY 361u /* VEHICLE_MESSAGE_SIZE */
#define FLAT 64u  /* an object of the ceiling */

enum { CODE_VEHICLE = 2, CODE_END = 3 };

/* ---- sockets that block ---- */

static int listen_any(struct original *o)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 512) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return -1;
	atomic_store(&o->port, ntohs(a.sin_port));
	return fd;
}

static int no_delay(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static int dial(const struct original *o)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atomic_load(&o->port)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -1 : no_delay(fd);
}

static bool read_all(int fd, uint8_t *to, size_t n)
{
	return recv(fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

static bool write_all(int fd, const uint8_t *from, size_t n)
{
	while (n) {
		ssize_t r = send(fd, from, n, MSG_NOSIGNAL);

		if (r <= 0)
			return false;
		from += r;
		n -= (size_t)r;
	}
	return true;
}

/* ---- the original's server ---- */

struct world {
	struct original *o;
	pthread_mutex_t lock;
	uint8_t *bodies; /* of each client's objects, in order */
};

struct connection {
	struct world *w;
	int fd;
	unsigned index;
};

static bool take_update(const struct connection *c, uint8_t *buffer)
{
	unsigned n = c->w->o->objects;

	if (!read_all(c->fd, buffer, n * (1 + BODY)))
		return false;
	pthread_mutex_lock(&c->w->lock);
	for (unsigned i = 0; i < n; i++)
		memcpy(c->w->bodies + (c->index * n + i) * BODY, buffer + i * (1 + BODY) + 1, BODY);
	pthread_mutex_unlock(&c->w->lock);
	return true;
}

/* From a copy of the map, as it has it. */
static bool answer(const struct connection *c, uint8_t *copy)
{
	static const uint8_t vehicle = CODE_VEHICLE, end = CODE_END;
	unsigned n = c->w->o->objects, all = c->w->o->clients * n;
	bool there = true;

	pthread_mutex_lock(&c->w->lock);
	memcpy(copy, c->w->bodies, all * BODY);
	pthread_mutex_unlock(&c->w->lock);
	for (unsigned i = 0; i < all && there; i++)
		if (i / n != c->index)
			there = write_all(c->fd, &vehicle, 1) && write_all(c->fd, copy + i * BODY, BODY);
	return there && write_all(c->fd, &end, 1);
}

static void *serve(void *arg)
{
	struct connection *c = arg;
	uint8_t *copy = malloc(c->w->o->clients * c->w->o->objects * BODY),
		*buffer = malloc(c->w->o->objects * (1 + BODY));

	while (copy && buffer && take_update(c, buffer) && answer(c, copy))
		;
	return NULL;
}

int original_server(void *arg)
{
	struct original *o = arg;
	struct world w = { .o = o, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct connection *all = calloc(o->clients, sizeof(*all));
	pthread_t thread;
	int fd = listen_any(o);

	bench_pin(0);
	w.bodies = calloc(o->clients * o->objects, BODY);
	for (unsigned i = 0; all && w.bodies && i < o->clients; i++) {
		all[i] = (struct connection){ &w, no_delay(accept(fd, NULL, NULL)), i };
		if (all[i].fd < 0 || pthread_create(&thread, NULL, serve, &all[i]))
			return 1;
	}
	pause();
	return 1;
}

/* ---- its clients ---- */

static bool take_world(int fd, uint8_t *buffer)
{
	uint8_t code;

	while (read_all(fd, &code, 1))
		if (code == CODE_END)
			return true;
		else if (!read_all(fd, buffer, BODY))
			return false;
	return false;
}

static void *drive(void *arg)
{
	struct original *o = arg;
	uint8_t *update = calloc(o->objects, 1 + BODY), body[BODY];
	int fd = dial(o);

	for (unsigned i = 0; update && i < o->objects; i++)
		update[i * (1 + BODY)] = CODE_VEHICLE;
	while (update && write_all(fd, update, o->objects * (1 + BODY)) && take_world(fd, body))
		atomic_fetch_add(&o->worlds, 1);
	return NULL;
}

int original_clients(void *arg)
{
	struct original *o = arg;
	pthread_t thread;

	bench_pin(1);
	for (unsigned i = 0; i < o->clients; i++)
		if (pthread_create(&thread, NULL, drive, o))
			return 1;
	pause();
	return 1;
}

/* ---- the ceiling ---- */

static int epoll_of(const int *fds, unsigned n)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	for (unsigned i = 0; i < n; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u32 = i };

		if (fds[i] < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[i], &e) < 0)
			return -1;
	}
	return epoll_fd;
}

/* Reads the available data, up to size of each in all; counts the clients whose message is complete then. */
static unsigned gather(int epoll_fd, const int *fds, size_t *got, size_t size, uint8_t *buffer)
{
	struct epoll_event e[64];
	int n = epoll_wait(epoll_fd, e, 64, -1);
	unsigned whole = 0;

	for (int i = 0; i < n; i++) {
		uint32_t k = e[i].data.u32;
		ssize_t r = recv(fds[k], buffer, size - got[k], 0);

		if (r <= 0)
			exit(1);
		got[k] += (size_t)r;
		if (got[k] == size) {
			got[k] = 0;
			whole++;
		}
	}
	return whole;
}

int ceiling_server(void *arg)
{
	static int fds[ORIGINAL_CLIENTS_MAX];
	static size_t got[ORIGINAL_CLIENTS_MAX];
	struct original *o = arg;
	size_t all = (size_t)o->clients * o->objects * FLAT;
	uint8_t *buffer = calloc(1, all);
	int fd = listen_any(o), epoll_fd;
	unsigned whole = 0;

	bench_pin(0);
	for (unsigned i = 0; i < o->clients; i++)
		fds[i] = no_delay(accept(fd, NULL, NULL));
	epoll_fd = epoll_of(fds, o->clients);
	while (buffer && epoll_fd >= 0) {
		whole += gather(epoll_fd, fds, got, o->objects * FLAT, buffer);
		if (whole < o->clients)
			continue;
		whole = 0;
		for (unsigned i = 0; i < o->clients; i++)
			if (!write_all(fds[i], buffer, all))
				return 1;
	}
	return 1;
}

int ceiling_clients(void *arg)
{
	static int fds[ORIGINAL_CLIENTS_MAX];
	static size_t got[ORIGINAL_CLIENTS_MAX];
	struct original *o = arg;
	size_t all = (size_t)o->clients * o->objects * FLAT, own = o->objects * FLAT;
	uint8_t *buffer = calloc(1, all + own);
	unsigned whole = o->clients;
	int epoll_fd;

	bench_pin(1);
	for (unsigned i = 0; i < o->clients; i++)
		fds[i] = dial(o);
	epoll_fd = epoll_of(fds, o->clients);
	while (buffer && epoll_fd >= 0) {
		for (unsigned i = 0; whole == o->clients && i < o->clients; i++)
			if (!write_all(fds[i], buffer + all, own))
				return 1;
		if (whole == o->clients)
			whole = 0;
		whole += gather(epoll_fd, fds, got, all, buffer);
		if (whole == o->clients)
			atomic_fetch_add(&o->worlds, whole);
	}
	return 1;
}
