/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vnet.h: the linker has what dials and listens call these functions here. A socket of TCP becomes the end of a pair in
 * memory, under the same descriptor; the other end is the network's, which carries the bytes between two such pairs.
 */
#include "vnet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec.h"
#include "list.h"
#include "rnd.h"
#include "support/test.h"
#include "timeutil.h"

#define WINDOW       65536u /* bytes under way to one side */
#define SOCKET_BYTES 32768  /* of a socket pair, each way */
#define AGAIN_DUR_NS (200 * NS_PER_MS)
#define PORT_FIRST   20000u

enum what { BYTES, END, RESET };

struct piece {
	struct list link; /* tip::pieces */
	int64_t due_mono_ns;
	enum what what;
	size_t at, len;
	uint8_t data[];
};

struct tip { /* a side of a connection */
	struct connection *c;
	struct tip *other;
	ino_t user; /* the program's socket */
	int fd;     /* our end of the pair; -1: closed */
	struct exec_io io;
	bool watched, full; /* full: the program has to read before more can be written */
	bool said_all;      /* the program has ended or closed it */
	int error;          /* error that the program gets: SO_ERROR, recv() */
	struct list pieces; /* pieces under way to it */
	size_t n;
	int64_t line_mono_ns, last_mono_ns; /* the line is free again; the last piece is due */
	struct exec_timer timer;
};

struct connection {
	struct list link; /* connections */
	struct tip near, far;
	struct exec_timer dial;
	struct sockaddr_in from, to;
	int given; /* far's, until it is accepted; -1 */
	bool answered, gone;
};

struct door {             /* a socket that is bound */
	struct list link; /* doors */
	ino_t user;
	int fd; /* the other end of what the program has: a byte for each connection that waits; -1: it does not listen yet */
	struct sockaddr_in at;
};

static struct {
	struct exec *x;
	const struct vnet_rules *rules;
	struct rnd rnd;
	struct list connections, doors;
	unsigned n_connections, n_pieces, next_port;
	bool out;
} net;

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static struct tip *tip_of(int fd)
{
	ino_t user = net.x ? inode_of(fd) : 0;
	struct connection *c;

	if (user)
		list_for_each(c, &net.connections, link)
			if (c->near.user == user || c->far.user == user)
				return c->near.user == user ? &c->near : &c->far;
	return NULL;
}

static struct door *door_of(int fd)
{
	ino_t user = net.x ? inode_of(fd) : 0;
	struct door *d;

	if (user)
		list_for_each(d, &net.doors, link)
			if (d->user == user)
				return d;
	return NULL;
}

/* A pair of which the program has one end. */
static void make_pair(int ret[2])
{
	const int bytes = SOCKET_BYTES / 2; /* the system doubles it */

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ret), 0);
	for (int i = 0; i < 2; i++)
		(void)setsockopt(ret[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* ---- bytes ---- */

static void on_tip(void *arg, uint32_t events);

/* What the loop waits for; a descriptor of which it wants nothing is not looked at: it may have hung up. */
static void watch(struct tip *t)
{
	bool in = !t->said_all && t->other->n < WINDOW && !t->c->gone;
	uint32_t events = (in ? EPOLLIN : 0) | (t->full ? EPOLLOUT : 0);

	if (t->watched && (!events || t->fd < 0))
		exec_io_del(&t->io);
	else if (t->watched)
		(void)exec_io_mod(&t->io, events);
	else if (events && t->fd >= 0)
		assert_int_equal(exec_io_add(net.x, &t->io, t->fd, events, on_tip, t), 0);
	t->watched = events && t->fd >= 0;
}

static void shut(struct tip *t)
{
	int fd = t->fd;

	t->fd = -1;
	t->full = false;
	watch(t);
	if (fd >= 0)
		close(fd);
}

static struct piece *first_of(const struct tip *t)
{
	return list_empty(&t->pieces) ? NULL : list_first(&t->pieces, struct piece, link);
}

static void drop(struct tip *t, struct piece *p)
{
	t->n -= p->len;
	list_remove(&p->link);
	free(p);
}

static void arm(struct tip *t)
{
	const struct piece *p = first_of(t);

	if (p && !net.out && !t->full && !t->c->gone)
		exec_timer_at(&t->timer, p->due_mono_ns);
	else
		exec_timer_cancel(&t->timer);
}

static int64_t at_random(int64_t most)
{
	return most ? (int64_t)rnd_below(&net.rnd, (uint32_t)most) : 0;
}

/* When bytes that are sent now arrive. */
static int64_t due(struct tip *to, size_t len)
{
	int64_t now = exec_now(net.x), due_mono_ns;

	to->line_mono_ns = to->line_mono_ns > now ? to->line_mono_ns : now;
	if (net.rules->bytes_per_s)
		to->line_mono_ns += (int64_t)len * NS_PER_S / net.rules->bytes_per_s;
	due_mono_ns = to->line_mono_ns + net.rules->delay_dur_ns + at_random(net.rules->jitter_dur_ns);
	if (rnd_below(&net.rnd, 1000) < net.rules->lost_permille)
		due_mono_ns += AGAIN_DUR_NS;
	if (due_mono_ns < to->last_mono_ns)
		due_mono_ns = to->last_mono_ns;
	to->last_mono_ns = due_mono_ns;
	return due_mono_ns;
}

static void post(struct tip *to, enum what what, const uint8_t *data, size_t len)
{
	struct piece *p = calloc(1, sizeof(*p) + len);

	assert_non_null(p);
	p->what = what;
	p->len = len;
	if (len)
		memcpy(p->data, data, len);
	p->due_mono_ns = due(to, len);
	list_append(&to->pieces, &p->link);
	to->n += len;
	arm(to);
}

/* Takes a piece of what the program has written. */
static void pull(struct tip *t)
{
	static uint8_t data[WINDOW];
	size_t most = net.rules->piece ? 1 + rnd_below(&net.rnd, (uint32_t)net.rules->piece) : sizeof(data);
	ssize_t n = read(t->fd, data, most);

	if (n < 0 && errno == EAGAIN)
		return;
	t->said_all = n <= 0;
	post(t->other, n > 0 ? BYTES : n == 0 ? END : RESET, data, n > 0 ? (size_t)n : 0);
}

/* Returns false if the program has to read first. */
static bool push(struct tip *t, struct piece *p)
{
	ssize_t n = p->what == BYTES && t->fd >= 0 ? send(t->fd, p->data + p->at, p->len - p->at, MSG_NOSIGNAL) : 0;

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n < 0 && !t->other->error) /* nobody has it any more */
		post(t->other, RESET, NULL, 0);
	if (n > 0 && p->at + (size_t)n < p->len) {
		p->at += (size_t)n;
		return false;
	}
	if (p->what == END && t->fd >= 0)
		(void)shutdown(t->fd, SHUT_WR);
	if (p->what == RESET) {
		t->error = ECONNRESET;
		shut(t);
	}
	return true;
}

/* Delivers the pieces that are due to the program. */
static void deliver(struct tip *t)
{
	struct piece *p;

	while ((p = first_of(t)) && p->due_mono_ns <= exec_now(net.x)) {
		t->full = !push(t, p);
		if (t->full)
			break;
		net.n_pieces++;
		drop(t, p);
	}
	arm(t);
	watch(t);
	watch(t->other);
}

static void on_due(void *arg)
{
	deliver(arg);
}

static void on_tip(void *arg, uint32_t events)
{
	struct tip *t = arg;

	if (t->full && events & EPOLLOUT) {
		t->full = false;
		deliver(t);
	}
	if (t->fd >= 0 && !t->said_all && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		pull(t);
	watch(t);
}

/* ---- connections ---- */

static void tip_init(struct tip *t, struct connection *c, struct tip *other)
{
	t->c = c;
	t->other = other;
	t->fd = -1;
	list_init(&t->pieces);
	exec_timer_init(&t->timer, net.x, on_due, t);
}

static struct door *door_at(const struct sockaddr_in *to)
{
	struct door *d;

	list_for_each(d, &net.doors, link) {
		struct pollfd p = { .fd = d->fd };

		if (d->fd >= 0 && d->at.sin_port == to->sin_port && poll(&p, 1, 0) == 0) /* it has not hung up */
			return d;
	}
	return NULL;
}

/* Drains the pair, so that the program's descriptor is writable and thus connected; or fails it with error. */
static void answer(struct connection *c, int error)
{
	char junk[4096];

	while (read(c->near.fd, junk, sizeof(junk)) > 0)
		continue;
	c->answered = true;
	c->near.error = error;
	if (error)
		shut(&c->near);
	else
		watch(&c->near);
}

static void reach(struct connection *c, struct door *d)
{
	int pair[2];

	make_pair(pair);
	c->far.fd = pair[0];
	c->far.user = inode_of(pair[1]);
	c->given = pair[1];
	c->far.line_mono_ns = c->far.last_mono_ns = exec_now(net.x);
	assert_int_equal(send(d->fd, "", 1, MSG_NOSIGNAL), 1);
	watch(&c->far);
}

/* There, and back: a call that is lost is made again. */
static void on_dial(void *arg)
{
	struct connection *c = arg;
	struct door *d = door_at(&c->to);

	if (c->gone)
		return;
	if (net.out) {
		exec_timer_at(&c->dial, exec_now(net.x) + AGAIN_DUR_NS);
	} else if (c->far.fd >= 0 || c->near.error) {
		answer(c, c->near.error);
	} else {
		if (d)
			reach(c, d);
		else
			c->near.error = ECONNREFUSED;
		c->near.last_mono_ns = due(&c->near, 0);
		exec_timer_at(&c->dial, c->near.last_mono_ns);
	}
}

/* Fills the pair, so that the program's end is not writable until the connection is answered. */
static void fill(int fd)
{
	static const char junk[4096];

	while (write(fd, junk, sizeof(junk)) > 0)
		continue;
}

static bool is_tcp(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0, domain = 0;

	return net.x && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_INET;
}

static struct sockaddr_in address(const char *host, unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	assert_int_equal(inet_pton(AF_INET, host, &a.sin_addr), 1);
	return a;
}

/* ---- calls of programs ---- */

int __real_connect(int fd, const struct sockaddr *a, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *a, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *a, socklen_t len)
{
	const struct door *bound = door_of(fd);
	struct connection *c;
	int pair[2];

	if (!is_tcp(fd))
		return __real_connect(fd, a, len);
	c = calloc(1, sizeof(*c));
	assert_non_null(c);
	make_pair(pair);
	fill(pair[1]);
	tip_init(&c->near, c, &c->far);
	tip_init(&c->far, c, &c->near);
	memcpy(&c->to, a, sizeof(c->to));
	c->from = bound ? bound->at : address("127.0.0.1", net.next_port++);
	c->given = -1;
	c->near.fd = pair[0];
	assert_true(dup3(pair[1], fd, O_CLOEXEC) == fd);
	close(pair[1]);
	c->near.user = inode_of(fd);
	exec_timer_init(&c->dial, net.x, on_dial, c);
	list_append(&net.connections, &c->link);
	exec_timer_at(&c->dial, due(&c->far, 0));
	errno = EINPROGRESS;
	return -1;
}

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct tip *t = level == SOL_SOCKET && name == SO_ERROR ? tip_of(fd) : NULL;

	if (!t)
		return __real_getsockopt(fd, level, name, value, len);
	memcpy(value, &t->error, sizeof(int));
	return 0;
}

ssize_t __real_recv(int fd, void *to, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t size, int flags)
{
	const struct tip *t = tip_of(fd);

	if (!t || !t->error)
		return __real_recv(fd, to, size, flags);
	errno = t->error;
	return -1;
}

int __real_bind(int fd, const struct sockaddr *a, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *a, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *a, socklen_t len)
{
	struct door *d;

	if (!is_tcp(fd))
		return __real_bind(fd, a, len);
	d = calloc(1, sizeof(*d));
	assert_non_null(d);
	memcpy(&d->at, a, sizeof(d->at));
	if (d->at.sin_port && door_at(&d->at)) {
		free(d);
		errno = EADDRINUSE;
		return -1;
	}
	if (!d->at.sin_port)
		d->at.sin_port = htons((uint16_t)net.next_port++);
	d->user = inode_of(fd);
	d->fd = -1;
	list_append(&net.doors, &d->link);
	return 0;
}

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog)
{
	struct door *d = door_of(fd);
	int pair[2];

	if (!d)
		return __real_listen(fd, backlog);
	make_pair(pair);
	assert_true(dup3(pair[1], fd, O_CLOEXEC) == fd);
	close(pair[1]);
	d->fd = pair[0];
	d->user = inode_of(fd);
	return 0;
}

int __real_getsockname(int fd, struct sockaddr *ret, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *ret, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *ret, socklen_t *len)
{
	const struct door *d = door_of(fd);

	if (!d)
		return __real_getsockname(fd, ret, len);
	memcpy(ret, &d->at, sizeof(d->at));
	*len = sizeof(d->at);
	return 0;
}

int __real_accept4(int fd, struct sockaddr *ret, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *ret, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *ret, socklen_t *len, int flags)
{
	const struct door *d = door_of(fd);
	struct connection *c;
	char byte;
	int given;

	if (!d)
		return __real_accept4(fd, ret, len, flags);
	if (__real_recv(fd, &byte, 1, MSG_DONTWAIT) != 1)
		return -1;
	list_for_each(c, &net.connections, link)
		if (c->given >= 0 && c->to.sin_port == d->at.sin_port)
			break;
	if (ret) {
		memcpy(ret, &c->from, sizeof(c->from));
		*len = sizeof(c->from);
	}
	given = c->given;
	c->given = -1;
	net.n_connections++;
	return given;
}

int __wrap_accept(int fd, struct sockaddr *ret, socklen_t *len);
int __wrap_accept(int fd, struct sockaddr *ret, socklen_t *len)
{
	return __wrap_accept4(fd, ret, len, SOCK_CLOEXEC);
}

/* ---- the network ---- */

void vnet_create(struct exec *x, uint64_t seed, const struct vnet_rules *rules)
{
	assert_null(net.x);
	memset(&net, 0, sizeof(net));
	net.x = x;
	net.rules = rules;
	net.next_port = PORT_FIRST;
	rnd_seed(&net.rnd, seed);
	list_init(&net.connections);
	list_init(&net.doors);
}

static void silence(struct tip *t)
{
	exec_timer_cancel(&t->timer);
	watch(t);
}

static void vanish(struct connection *c)
{
	c->gone = true;
	exec_timer_cancel(&c->dial);
	silence(&c->near);
	silence(&c->far);
}

static void tip_finish(struct tip *t)
{
	struct piece *p;

	shut(t);
	while ((p = first_of(t)))
		drop(t, p);
}

void vnet_destroy(void)
{
	struct connection *c, *next;
	struct door *d, *next_door;

	if (!net.x)
		return;
	list_for_each_safe(c, next, &net.connections, link) {
		vanish(c);
		tip_finish(&c->near);
		tip_finish(&c->far);
		if (c->given >= 0)
			close(c->given);
		free(c);
	}
	list_for_each_safe(d, next_door, &net.doors, link) {
		if (d->fd >= 0)
			close(d->fd);
		free(d);
	}
	net.x = NULL;
}

void vnet_cut(bool out)
{
	struct connection *c;

	net.out = out;
	list_for_each(c, &net.connections, link) {
		arm(&c->near);
		arm(&c->far);
	}
}

static struct connection *nth(unsigned which)
{
	struct connection *c;

	list_for_each(c, &net.connections, link)
		if (which-- == 0)
			return c;
	fail_msg("nobody has dialled so often");
	return NULL;
}

void vnet_vanish(unsigned which)
{
	vanish(nth(which));
}

static void reset(struct tip *t)
{
	t->error = ECONNRESET;
	shut(t);
}

void vnet_reset(unsigned which)
{
	struct connection *c = nth(which);

	vanish(c);
	reset(&c->near);
	reset(&c->far);
}

unsigned vnet_dialled(void)
{
	return (unsigned)list_count(&net.connections);
}

unsigned vnet_connections(void)
{
	return net.n_connections;
}

unsigned vnet_pieces(void)
{
	return net.n_pieces;
}
