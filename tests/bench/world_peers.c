/* SPDX-License-Identifier: Apache-2.0 */
/* world_peers.h */
#include "world_peers.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "tests/unit/world/old_client.h"
#include "timeutil.h"

#define CODE_VEHICLE 2
#define CODE_END     3
#define KEPT         65536u /* of a client's updates, when they were sent */

static bool read_all(int fd, void *to, size_t n)
{
	return recv(fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

static bool write_all(int fd, const void *from, size_t n)
{
	return send(fd, from, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* ---- the server ---- */

struct map {
	unsigned clients;
	pthread_mutex_t lock;
	bool there[PEERS_MAX];
	uint8_t bodies[PEERS_MAX][OLD_SIZE];
};

struct served {
	struct map *map;
	int fd;
	unsigned number;
};

static bool answer(const struct served *s)
{
	static const uint8_t vehicle = CODE_VEHICLE, end = CODE_END;
	bool there[PEERS_MAX], open = true;
	uint8_t bodies[PEERS_MAX][OLD_SIZE];

	pthread_mutex_lock(&s->map->lock);
	memcpy(there, s->map->there, sizeof(there));
	memcpy(bodies, s->map->bodies, sizeof(bodies));
	pthread_mutex_unlock(&s->map->lock);
	for (unsigned i = 0; i < s->map->clients && open; i++)
		if (i != s->number && there[i])
			open = write_all(s->fd, &vehicle, 1) && write_all(s->fd, bodies[i], OLD_SIZE);
	return open && write_all(s->fd, &end, 1);
}

static void *serve(void *arg)
{
	const struct served *s = arg;
	uint8_t code, body[OLD_SIZE];
	uint32_t number = s->number;

	if (!write_all(s->fd, &number, sizeof(number)))
		return NULL;
	while (read_all(s->fd, &code, 1) && code == CODE_VEHICLE && read_all(s->fd, body, sizeof(body))) {
		pthread_mutex_lock(&s->map->lock);
		s->map->there[s->number] = true;
		memcpy(s->map->bodies[s->number], body, sizeof(body));
		pthread_mutex_unlock(&s->map->lock);
		if (!answer(s))
			break;
	}
	return NULL;
}

int peers_server(void *arg)
{
	static struct map map = { .lock = PTHREAD_MUTEX_INITIALIZER };
	static struct served all[PEERS_MAX];
	struct peers *p = arg;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t thread;

	bench_pin(0);
	map.clients = p->clients;
	if (bind(fd, (const struct sockaddr *)&a, len) < 0 || listen(fd, PEERS_MAX) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return 1;
	atomic_store(&p->port, ntohs(a.sin_port));
	for (unsigned i = 0; i < p->clients; i++) {
		all[i] = (struct served){ &map, accept(fd, NULL, NULL), i };
		if (all[i].fd < 0 || pthread_create(&thread, NULL, serve, &all[i]))
			return 1;
	}
	pause();
	return 1;
}

/* ---- clients ---- */

struct peer {
	struct peers *p;
	int fd;
	uint32_t number;
	uint32_t last[PEERS_MAX];           /* that it has seen of each of the others */
	_Atomic int64_t sent_mono_ns[KEPT]; /* of its own, by number; read by the others */
};

static struct peer peers[PEERS_MAX]; /* by the order in which they came */
static struct peer *numbered[PEERS_MAX];

/* As a message of the original's: its id, and x of the chassis, in which the update's number is. */
static void look(const uint8_t *at, uint32_t *ret_id, uint32_t *ret_x)
{
	const uint8_t *end = at + OLD_SIZE;
	double x = 0;

	*ret_id = PEERS_MAX;
	while (at < end) {
		unsigned field = *at >> 3, kind = *at & 7;

		at++;
		if (field == 2)
			*ret_id = *at;
		if (field == 5)
			memcpy(&x, at + 2, sizeof(x)); /* behind the length and x's tag */
		if (kind == 0)
			while (*at++ & 0x80)
				;
		else
			at += kind == 1 ? 8 : 1 + *at;
	}
	*ret_x = (uint32_t)x;
}

static void note(struct peer *me, const uint8_t *body)
{
	struct peers *p = me->p;
	uint32_t id, x, i;
	int64_t age;

	look(body, &id, &x);
	if (id >= p->clients || !numbered[id] || x <= me->last[id])
		return;
	me->last[id] = x;
	atomic_fetch_add(&p->seen, 1);
	if (!atomic_load(&p->window))
		return;
	age = mono_now_ns() - atomic_load(&numbered[id]->sent_mono_ns[x % KEPT]);
	i = atomic_fetch_add(&p->n_ages, 1);
	if (i < AGES_MAX)
		p->ages_us[i] = (uint32_t)(age / 1000);
}

static void *hear(void *arg)
{
	struct peer *me = arg;
	uint8_t in[65536];
	size_t n = 0, at;
	ssize_t r;

	while ((r = recv(me->fd, in + n, sizeof(in) - n, 0)) > 0) {
		n += (size_t)r;
		for (at = 0; at < n; at++) {
			if (in[at] != CODE_VEHICLE)
				continue;
			if (n - at < 1 + OLD_SIZE)
				break;
			note(me, in + at + 1);
			at += OLD_SIZE;
		}
		n -= at;
		memmove(in, in + at, n);
	}
	exit(1);
}

static void *speak(void *arg)
{
	struct peer *me = arg;
	int64_t next_mono_ns = mono_now_ns();
	uint8_t update[1 + OLD_SIZE];

	for (uint32_t x = 1;; x++) {
		(void)old_update_of((int32_t)me->number, &(struct old_vehicle){ .x = x }, update);
		atomic_store(&me->sent_mono_ns[x % KEPT], mono_now_ns());
		if (!write_all(me->fd, update, 1) || !write_all(me->fd, update + 1, OLD_SIZE))
			exit(1);
		atomic_fetch_add(&me->p->sent, 1);
		next_mono_ns += NS_PER_MS;
		if (next_mono_ns < mono_now_ns()) /* a step of its simulation took longer */
			next_mono_ns = mono_now_ns();
		mono_sleep_until(next_mono_ns);
	}
	return NULL;
}

int peers_clients(void *arg)
{
	struct peers *p = arg;
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atomic_load(&p->port)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	pthread_t thread;

	bench_pin(1);
	for (unsigned i = 0; i < p->clients; i++) {
		struct peer *me = &peers[i];

		me->p = p;
		me->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(me->fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
		    !read_all(me->fd, &me->number, sizeof(me->number)) || me->number >= PEERS_MAX)
			return 1;
		numbered[me->number] = me;
	}
	for (unsigned i = 0; i < p->clients; i++)
		if (pthread_create(&thread, NULL, hear, &peers[i]) || pthread_create(&thread, NULL, speak, &peers[i]))
			return 1;
	pause();
	return 1;
}
