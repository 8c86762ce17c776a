/* SPDX-License-Identifier: Apache-2.0 */
/* See control.h: the sockets. */
#include "control.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "list.h"
#include "log.h"
#include "mem.h"
#include "timeutil.h"
#include "varlink.h"

LOG_TOPIC("world");

#define EVENTS   (CONTROL_CONNECTIONS + 1)
#define CALL_MAX ((size_t)64 << 10)

struct conn {
	struct list link; /* control::conns, longest silent first */
	int fd;
	bool calls; /* complete calls have been received; no more is read until they are answered */
	struct varlink *v;
};

struct control {
	struct world *w;
	int epoll_fd, listen_fd;
	struct list conns; /* conn::link */
	unsigned n_conns;
	char *path;
	struct log_limit refused;
};

/* ---- creation ---- */

int control_create(struct world *w, struct control **ret)
{
	struct control *c = MEM_NEW(struct control);

	if (!c)
		return err_nomem();
	c->w = w;
	c->listen_fd = -1;
	list_init(&c->conns);
	c->refused = (struct log_limit)LOG_LIMIT(NS_PER_S, 1);
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll_fd < 0) {
		control_destroy(c);
		return err_sys(-errno, "the control socket");
	}
	*ret = c;
	return 0;
}

static void conn_destroy(struct control *c, struct conn *k)
{
	list_remove(&k->link);
	c->n_conns--;
	varlink_destroy(k->v);
	fd_close(k->fd);
	mem_free(k);
}

void control_destroy(struct control *c)
{
	struct conn *k, *next;

	if (!c)
		return;
	list_for_each_safe(k, next, &c->conns, link)
		conn_destroy(c, k);
	if (c->path)
		(void)unlink(c->path);
	mem_free(c->path);
	fd_close(c->listen_fd);
	fd_close(c->epoll_fd);
	mem_free(c);
}

char *control_usual_path(void)
{
	const char *env = getenv("SIM_WORLD_SOCKET"), *xdg = getenv("XDG_RUNTIME_DIR");
	char *path;

	if (env && *env)
		return mem_strdup(env);
	if (access("/run/simd", W_OK) == 0)
		return mem_strdup("/run/simd/world");
	path = xdg && *xdg ? mem_printf("%s/simd", xdg) : NULL;
	if (path && fd_mkdir_p(path, 0755) < 0) {
		mem_free(path);
		return NULL;
	}
	mem_free(path);
	return xdg && *xdg ? mem_printf("%s/simd/world", xdg) : NULL;
}

static int watch(const struct control *c, int op, int fd, uint32_t events, void *who)
{
	struct epoll_event e = { .events = events, .data.ptr = who };

	return epoll_ctl(c->epoll_fd, op, fd, &e) < 0 ? err_sys(-errno, "the control socket") : 0;
}

int control_listen(struct control *c, const char *path)
{
	int fd = fd_unix_listen(path, SOCK_STREAM, 0600), r;

	if (fd < 0)
		return fd;
	c->path = fd_absolute(path);
	c->listen_fd = fd;
	r = c->path ? watch(c, EPOLL_CTL_ADD, fd, EPOLLIN, NULL) : err_nomem();
	return r;
}

int control_fd(const struct control *c)
{
	return c->epoll_fd;
}

/* ---- connections ---- */

int control_serve(struct control *c, int fd)
{
	const struct varlink_limits limits = { .message_max = CALL_MAX,
					       .send_max = VARLINK_MESSAGE_MAX,
					       .no_fds = true };
	struct conn *k = MEM_NEW(struct conn), *oldest;
	int r = k ? varlink_create(&limits, &k->v) : err_nomem();

	if (r < 0) {
		mem_free(k);
		fd_close(fd);
		return r;
	}
	if (c->n_conns == CONTROL_CONNECTIONS) {
		oldest = list_first(&c->conns, struct conn, link);
		conn_destroy(c, oldest);
	}
	k->fd = fd;
	list_init(&k->link);
	list_append(&c->conns, &k->link);
	c->n_conns++;
	r = watch(c, EPOLL_CTL_ADD, fd, EPOLLIN, k);
	if (r < 0)
		conn_destroy(c, k);
	return r;
}

/* Accepts one connection per turn; others wait in the socket's queue. */
static void accept_one(struct control *c, int64_t now_mono_ns)
{
	struct ucred cred;
	int fd = fd_unix_accept(c->listen_fd), r;

	if (fd < 0)
		return;
	r = fd_peer_cred(fd, &cred);
	if (r == 0 && cred.uid != 0 && cred.uid != geteuid())
		r = err_set(-EACCES, "user %u is neither root nor the user of this server", cred.uid);
	if (r < 0)
		fd_close(fd);
	else
		r = control_serve(c, fd);
	if (r < 0)
		log_limited(&c->refused, now_mono_ns, LOG_LEVEL_WARN, "control connection refused: %s", err_why());
}

/* Sends the pending answer, then handles the next received call. Negative: close the connection. */
static int go_on(struct control *c, struct conn *k, int64_t now_mono_ns)
{
	struct varlink_msg m = { 0 };
	int r = varlink_write(k->v, k->fd);

	if (r <= 0)
		return r;
	r = varlink_next(k->v, &m);
	if (r > 0) {
		r = control_answer(c->w, k->v, &m, now_mono_ns);
		varlink_msg_finish(&m);
		return r < 0 ? r : varlink_write(k->v, k->fd);
	}
	k->calls = false;
	return r;
}

static int on_conn(struct control *c, struct conn *k, uint32_t events, int64_t now_mono_ns)
{
	bool had = k->calls;
	int r = 0;

	if (!had && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		r = varlink_read(k->v, k->fd);
		k->calls = r > 0;
	} else if (events & (EPOLLHUP | EPOLLERR)) {
		r = -ECONNRESET;
	}
	if (r >= 0 && k->calls)
		r = go_on(c, k, now_mono_ns);
	/* otherwise the loop wakes up when the socket is writable */
	if (r >= 0 && had != k->calls)
		r = watch(c, EPOLL_CTL_MOD, k->fd, k->calls ? EPOLLOUT : EPOLLIN, k);
	list_remove(&k->link);
	list_append(&c->conns, &k->link);
	return r;
}

void control_turn(struct control *c, int64_t now_mono_ns)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(c->epoll_fd, events, EVENTS, 0);
	bool more = false;

	for (int i = 0; i < n; i++) {
		struct conn *k = events[i].data.ptr;

		if (!k)
			more = true;
		else if (on_conn(c, k, events[i].events, now_mono_ns) < 0)
			conn_destroy(c, k);
	}
	if (more) /* last, as it may close a connection */
		accept_one(c, now_mono_ns);
}
