/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of a REP socket. See peers.h; what outlives the process is in peers_keep.c. */
#include "peers_private.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "err.h"
#include "fd.h"
#include "listen.h"
#include "timeutil.h"

LOG_TOPIC("peers");

#define GREETING_NS (10 * NS_PER_S) /* wall: a client must send its greeting and READY within that time */
#define LINGER_NS   (100 * NS_PER_MS)

/* ---- one connection ---- */

void peers_change(struct peers *p, unsigned i, const struct peers_line *next)
{
	peers_memory_change(&p->memory, i, next, peers_memory_answered(&p->memory));
}

/* why: for the log; NULL: the client has disconnected. */
static void cut_off(struct peers *p, unsigned i, const char *why)
{
	struct peers_peer *c = &p->peer[i];
	int fd = fd_steal(&c->fd);

	if (why)
		log_limited(&p->limit, mono_now_ns(), LOG_LEVEL_WARN, "%s is cut off: %s", c->name, why);
	else
		log_debug("%s has disconnected", c->name);
	peers_keep(p); /* before closing: the connection would stay open while its descriptor is kept */
	fd_close(fd);
	peers_change(p, i, &(struct peers_line){ 0 });
	peers_memory_forget(&p->memory, i);
}

static uint64_t unsent(const struct peers *p, unsigned i)
{
	return peers_memory_line(&p->memory, i).out_to - p->peer[i].sent;
}

static void flush(struct peers *p, unsigned i)
{
	struct peers_line l = peers_memory_line(&p->memory, i);
	struct peers_peer *c = &p->peer[i];

	while (c->fd >= 0 && c->sent < l.out_to) {
		ssize_t n = send(c->fd, peers_out(&p->memory, i, &l, c->sent), l.out_to - c->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			cut_off(p, i, NULL);
		else
			c->sent += (uint64_t)n;
	}
}

/*
 * Append bytes to those to be sent; the caller makes the change that makes them count. False: there is no room, or too
 * many bytes at once.
 */
static bool say(struct peers *p, unsigned i, struct peers_line *next, const void *bytes, size_t len)
{
	if (p->peer[i].sent == next->out_to)
		next->out_base = next->out_to;
	if (next->out_to + len - p->peer[i].sent > PEERS_RING)
		return false;
	if (len)
		memcpy(peers_out(&p->memory, i, next, next->out_to), bytes, len);
	next->out_to += len;
	return true;
}

/* The unit at `done` has been handled. */
static void pass(const struct peers *p, unsigned i, struct peers_line *next, size_t size)
{
	next->done += size;
	if (next->done == p->peer[i].in_to)
		next->in_base = next->done;
}

static size_t room(const struct peers *p, unsigned i)
{
	return PEERS_RING - (size_t)(p->peer[i].in_to - peers_memory_line(&p->memory, i).done);
}

static void hear(struct peers *p, unsigned i)
{
	struct peers_line l = peers_memory_line(&p->memory, i);
	struct peers_peer *c = &p->peer[i];
	ssize_t n = recv(c->fd, peers_in(&p->memory, i, &l, c->in_to), room(p, i), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		cut_off(p, i, NULL);
		return;
	}
	c->in_to += (uint64_t)n;
	c->heard_mono_ns = mono_now_ns();
}

/* ---- greeting and commands ---- */

static int greet(struct peers *p, unsigned i, struct peers_line *l)
{
	uint8_t ready[ZMTP_READY_MAX];
	int r = zmtp_greeting_check(peers_in(&p->memory, i, l, l->done), p->peer[i].in_to - l->done);

	if (r <= 0)
		return r;
	(void)say(p, i, l, ready, zmtp_ready(ready));
	l->phase = PEERS_READY;
	pass(p, i, l, ZMTP_GREETING);
	return 1;
}

/* 1: a command, handled; 0: a request. */
static int obey(struct peers *p, unsigned i, struct peers_line *l)
{
	const struct zmtp_unit *u = &p->peer[i].unit;
	const uint8_t *at = peers_in(&p->memory, i, l, l->done + u->at);
	uint8_t pong[ZMTP_PONG_MAX];
	int r;

	if (!u->command && l->phase == PEERS_OPEN)
		return 0;
	if (!u->command)
		return err_set(-EPROTO, "it sends a request before READY");
	r = l->phase == PEERS_OPEN ? zmtp_command(at, u->len, pong) : zmtp_ready_check(at, u->len);
	if (r < 0)
		return r;
	if (r > 0)
		(void)say(p, i, l, pong, (size_t)r);
	l->phase = PEERS_OPEN;
	pass(p, i, l, u->size);
	return 1;
}

/*
 * Handle the unit at `done`. 1: it was no request and is done, and more may follow; 0: nothing to do, or, with *ret set
 * to true, it is a request.
 */
static int look_at(struct peers *p, unsigned i, bool *ret)
{
	struct peers_line l = peers_memory_line(&p->memory, i);
	struct peers_peer *c = &p->peer[i];
	int r;

	if (l.phase == PEERS_GREETING) {
		r = greet(p, i, &l);
	} else {
		r = zmtp_scan(&c->unit, peers_in(&p->memory, i, &l, l.done), c->in_to - l.done);
		if (r == 1)
			r = obey(p, i, &l);
		else if (r == 0)
			return 0;
		*ret = r == 0;
	}
	if (r == 1) {
		c->unit = (struct zmtp_unit){ 0 };
		peers_change(p, i, &l);
		flush(p, i);
	}
	return r;
}

/* Whether a complete request of this client is there. A client that does not take its answers is not served. */
static bool has_request(struct peers *p, unsigned i)
{
	bool request = false;
	int r = 1;

	if (p->peer[i].fd >= 0 && p->peer[i].unit.whole)
		return unsent(p, i) == 0;
	while (r == 1 && p->peer[i].fd >= 0 && unsent(p, i) == 0)
		r = look_at(p, i, &request);
	if (r < 0)
		cut_off(p, i, err_why());
	return request;
}

/* ---- connecting ---- */

void peers_meet(struct peers *p, unsigned i, int fd)
{
	struct peers_peer *c = &p->peer[i];
	struct sockaddr_storage at = { 0 };
	socklen_t len = sizeof(at);
	int yes = 1;

	*c = (struct peers_peer){ .fd = fd, .met_mono_ns = mono_now_ns() };
	c->heard_mono_ns = c->met_mono_ns;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	if (getpeername(fd, (struct sockaddr *)&at, &len) == 0)
		listen_name(&at, c->name, sizeof(c->name));
}

static bool is_spared(const struct peers *p, unsigned i)
{
	return (int)i == p->in_hand || (p->spared && strcmp(p->peer[i].name, p->spared) == 0);
}

/* Order for cutting off: clients that have not sent READY first, then the one that has been silent longest. */
static bool goes_before(const struct peers *p, unsigned a, unsigned b)
{
	bool a_open = peers_memory_line(&p->memory, a).phase == PEERS_OPEN;
	bool b_open = peers_memory_line(&p->memory, b).phase == PEERS_OPEN;

	return a_open != b_open ? b_open : p->peer[a].heard_mono_ns < p->peer[b].heard_mono_ns;
}

/* A free index for one more connection. */
static unsigned make_room(struct peers *p)
{
	unsigned out = PEERS_MAX;

	for (unsigned i = 0; i < PEERS_MAX; i++) {
		if (p->peer[i].fd < 0)
			return i;
		if (!is_spared(p, i) && (out == PEERS_MAX || goes_before(p, i, out)))
			out = i;
	}
	cut_off(p, out, "there are too many connections, and it has been silent for longest");
	return out;
}

static void welcome(struct peers *p, int fd)
{
	unsigned i = make_room(p);
	struct peers_line l = { .id = peers_memory_new_id(&p->memory) };
	uint8_t greeting[ZMTP_GREETING];

	peers_meet(p, i, fd);
	zmtp_greeting(greeting);
	(void)say(p, i, &l, greeting, sizeof(greeting));
	peers_change(p, i, &l);
	peers_keep(p); /* before the client can send a request */
	log_debug("%s has connected", p->peer[i].name);
	flush(p, i);
}

static void accept_all(struct peers *p)
{
	for (int n = 0; n < PEERS_MAX; n++) {
		int fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		welcome(p, fd);
	}
}

static void put_out_silent(struct peers *p)
{
	int64_t now_mono_ns = mono_now_ns();

	for (unsigned i = 0; i < PEERS_MAX; i++) {
		if (p->peer[i].fd >= 0 && peers_memory_line(&p->memory, i).phase != PEERS_OPEN &&
		    now_mono_ns - p->peer[i].met_mono_ns > GREETING_NS)
			cut_off(p, i, "it has not sent its greeting and READY within 10 s");
	}
}

/* ---- waiting ---- */

unsigned peers_poll(struct peers *p, struct pollfd ret[PEERS_POLL_MAX])
{
	unsigned n = 0;

	ret[n++] = (struct pollfd){ .fd = p->listen_fd, .events = POLLIN };
	for (unsigned i = 0; i < PEERS_MAX; i++) {
		int events = p->peer[i].fd < 0 ? 0 : (room(p, i) ? POLLIN : 0) | (unsent(p, i) ? POLLOUT : 0);

		ret[n++] = (struct pollfd){ .fd = p->peer[i].fd, .events = (short)events };
	}
	return n;
}

void peers_look(struct peers *p, const struct pollfd *polled, unsigned n)
{
	for (unsigned i = 0; i + 1 < n; i++) {
		short events = polled[i + 1].revents;

		if (p->peer[i].fd < 0 || p->peer[i].fd != polled[i + 1].fd)
			continue;
		if (events & POLLOUT)
			flush(p, i);
		if (p->peer[i].fd >= 0 && (events & POLLIN) && room(p, i))
			hear(p, i);
		else if (p->peer[i].fd >= 0 && (events & (POLLERR | POLLHUP)))
			cut_off(p, i, NULL);
	}
	put_out_silent(p);
	if (n && polled[0].revents)
		accept_all(p);
}

/* ---- requests ---- */

int peers_next(struct peers *p, struct peers_request *ret)
{
	for (unsigned k = 1; k <= PEERS_MAX; k++) {
		unsigned i = ((unsigned)p->last + k) % PEERS_MAX;
		const struct zmtp_unit *u = &p->peer[i].unit;
		struct peers_line l;

		if (!has_request(p, i))
			continue;
		l = peers_memory_line(&p->memory, i);
		l.tries++;
		peers_change(p, i, &l);
		p->in_hand = p->last = (int)i;
		*ret = (struct peers_request){ .data = peers_in(&p->memory, i, &l, l.done + u->at),
					       .len = u->len,
					       .parts = u->parts,
					       .tries = l.tries,
					       .number = peers_answered(p) + 1,
					       .from = p->peer[i].name };
		return 0;
	}
	return -EAGAIN;
}

void peers_answer(struct peers *p, const void *data, size_t len)
{
	unsigned i = (unsigned)p->in_hand;
	struct peers_line l = peers_memory_line(&p->memory, i), next = l;
	struct zmtp_unit u = p->peer[i].unit;
	uint8_t header[ZMTP_HEADER_MAX];
	bool fits;

	fits = say(p, i, &next, peers_in(&p->memory, i, &l, l.done), u.envelope) &&
	       say(p, i, &next, header, zmtp_header(len, header)) && say(p, i, &next, data, len);
	next.tries = 0;
	pass(p, i, &next, u.size);
	p->peer[i].unit = (struct zmtp_unit){ 0 };
	p->in_hand = -1;
	peers_memory_change(&p->memory, i, &next, peers_answered(p) + 1);
	if (fits)
		flush(p, i);
	else
		cut_off(p, i, "its answer is too large");
}

uint64_t peers_answered(const struct peers *p)
{
	return peers_memory_answered(&p->memory);
}

void peers_spare(struct peers *p, const char *name)
{
	p->spared = name;
}

/* The client may have disconnected since peers_look(), so the socket is checked. */
bool peers_has(struct peers *p, const char *name)
{
	char byte;

	for (unsigned i = 0; i < PEERS_MAX; i++) {
		if (p->peer[i].fd >= 0 && strcmp(p->peer[i].name, name) == 0)
			return recv(p->peer[i].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
	}
	return false;
}

void peers_linger(struct peers *p)
{
	for (unsigned i = 0; i < PEERS_MAX; i++) {
		int64_t until_mono_ns = mono_now_ns() + LINGER_NS, left;

		while (p->peer[i].fd >= 0 && unsent(p, i) && (left = until_mono_ns - mono_now_ns()) > 0 &&
		       fd_wait(p->peer[i].fd, POLLOUT, left) > 0)
			flush(p, i);
	}
}
