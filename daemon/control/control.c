/* SPDX-License-Identifier: Apache-2.0 */
/* Listening and accepting; contract in control.h. Thread: simd-main. */
#include "control.h"

#include "conn.h"
#include "config.h"
#include "simd.h"
#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "timeutil.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

LOG_TOPIC("control");

#define ACCEPT_BATCH 16
#define AGAIN_DUR_NS (100 * NS_PER_MS) /* pause after descriptors ran out; the socket stays readable meanwhile */
#define LIMIT_PER_S  LOG_LIMIT(NS_PER_S, 5)
#define KEPT_MAX     16 /* connections reserved for root and simd's own user */
#define KEPT_ROOT    4  /* part of them that is reserved for root */
#define KEPT_FILES   64

static void on_again(void *arg);

int control_create(struct simd *s, struct control **ret)
{
	struct control *c = MEM_NEW(struct control);
	int r;

	if (!c)
		return err_nomem();
	c->s = s;
	c->fd = -1;
	c->max_conns = (uint32_t)conf_int(s->root, "limits.connections");
	c->max_of_user = (uint32_t)conf_int(s->root, "limits.connections_per_user");
	c->max_of_process = (uint32_t)conf_int(s->root, "limits.connections_per_process");
	c->max_queued = (size_t)conf_int(s->root, "limits.output_total_kib") * 1024;
	c->limits.queued = &c->queued;
	c->limits.no_fds = true; /* no method takes descriptors */
	c->limits.message_max = (size_t)conf_int(s->root, "limits.message_kib") * 1024;
	c->limits.output_max = (size_t)conf_int(s->root, "limits.output_kib") * 1024;
	c->limits.send_max = c->limits.output_max - 1; /* a list of all channels is longer than any call */
	if (c->limits.send_max > VARLINK_MESSAGE_MAX)
		c->limits.send_max = VARLINK_MESSAGE_MAX; /* the limit of clients */
	list_init(&c->conns);
	list_init(&c->shares);
	exec_timer_init(&c->again, s->x, on_again, c);
	c->refused = c->cut_off = (struct log_limit)LIMIT_PER_S;
	r = access_create(s->conf, &c->access);
	if (r < 0) {
		mem_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void control_close(struct control *c)
{
	if (!c)
		return;
	exec_timer_cancel(&c->again);
	exec_io_del(&c->io);
	c->fd = fd_close(c->fd);
}

void control_destroy(struct control *c)
{
	struct conn *k, *tmp;

	if (!c)
		return;
	control_close(c);
	list_for_each_safe(k, tmp, &c->conns, link)
		conn_destroy(k);
	share_destroy_all(c);
	access_destroy(c->access);
	mem_free(c);
}

void control_flush(struct control *c)
{
	struct conn *k, *tmp;

	list_for_each_safe(k, tmp, &c->conns, link)
		conn_flush(k);
}

uint32_t control_connections(const struct control *c)
{
	return c->n_conns;
}

/* Keeps room for users who may end simd, however many connections others hold. */
static uint32_t room_for(const struct control *c, uid_t uid)
{
	uint32_t kept = c->max_conns / 8 < KEPT_MAX ? c->max_conns / 8 : KEPT_MAX;

	return c->max_conns - (uid == 0 ? 0 : uid == geteuid() ? kept * KEPT_ROOT / KEPT_MAX : kept);
}

/*
 * If all are in use, the user with most connections loses the newest one without session and stream, in favour of a
 * user with fewer. So a few users cannot keep all others out.
 */
static bool make_room(struct control *c, unsigned of_user)
{
	const struct share *largest = share_largest(c);
	struct conn *k, *newest = NULL;

	if (!largest || largest->n_conns <= of_user + 1)
		return false;
	list_for_each(k, &c->conns, link)
		if (k->share == largest && !k->cl && !k->listening)
			newest = k;
	if (!newest)
		return false;
	conn_evict(newest,
		   err_set(-EMFILE,
			   "all control connections are in use (limits.connections), and user %u has most of them",
			   largest->uid));
	return true;
}

static int admit(struct control *c, const struct ucred *cred)
{
	uint32_t of_user = 0, of_process = 0;
	const struct conn *k;

	list_for_each(k, &c->conns, link) {
		of_user += k->cred.uid == cred->uid;
		of_process += k->cred.pid == cred->pid;
	}
	if (c->n_conns >= room_for(c, cred->uid) && !make_room(c, of_user))
		return err_set(-EMFILE, "%u control connections are open, limits.connections allows no more",
			       c->n_conns);
	if (of_process >= c->max_of_process)
		return err_set(-EMFILE,
			       "process %d has %u control connections, limits.connections_per_process allows no more",
			       (int)cred->pid, of_process);
	if (of_user >= c->max_of_user && cred->uid != 0 && cred->uid != geteuid())
		return err_set(-EMFILE,
			       "user %u has %u control connections, limits.connections_per_user allows no more",
			       cred->uid, of_user);
	return 0;
}

/* simd needs descriptors for its own work; the lowest free number shows how many are used. */
static int check_files(int fd)
{
	struct rlimit files;
	rlim_t kept;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == RLIM_INFINITY)
		return 0;
	kept = files.rlim_cur / 4 < KEPT_FILES ? files.rlim_cur / 4 : KEPT_FILES;
	if ((rlim_t)fd < files.rlim_cur - kept)
		return 0;
	return err_set(-EMFILE,
		       "fewer than %llu of simd's descriptors are left (ulimit -n %llu), and simd needs these itself",
		       (unsigned long long)kept, (unsigned long long)files.rlim_cur);
}

int control_serve(struct control *c, int fd)
{
	struct ucred cred;
	struct conn *k;
	int r = fd_peer_cred(fd, &cred);

	if (r < 0) {
		fd_close(fd);
		return r;
	}
	r = check_files(fd);
	if (r == 0)
		r = admit(c, &cred);
	if (r < 0) {
		char why[ERR_WHY_MAX];

		snprintf(why, sizeof(why), "%s", err_why());
		conn_refuse(fd, r, why);
		return err_set(r, "%s", why);
	}
	return conn_create(c, fd, &cred, &k);
}

static void on_again(void *arg)
{
	struct control *c = (struct control *)arg;

	if (c->fd >= 0)
		(void)exec_io_mod(&c->io, EPOLLIN);
}

static void rest(struct control *c)
{
	log_limited(&c->refused, exec_now(c->s->x), LOG_LEVEL_ERROR, "cannot accept a control connection: %s",
		    err_why());
	if (exec_io_mod(&c->io, 0) == 0)
		exec_timer_at(&c->again, exec_now(c->s->x) + AGAIN_DUR_NS);
}

static void on_accept(void *arg, uint32_t events)
{
	struct control *c = (struct control *)arg;

	(void)events;
	for (unsigned i = 0; i < ACCEPT_BATCH; i++) {
		int r, fd = fd_unix_accept(c->fd);

		if (fd < 0) {
			if (fd != -EAGAIN)
				rest(c);
			return;
		}
		r = control_serve(c, fd);
		if (r < 0)
			log_limited(&c->refused, exec_now(c->s->x), LOG_LEVEL_WARN, "control connection refused: %s",
				    err_why());
	}
}

static int set_group(const struct control *c, const char *path)
{
	const char *name = conf_string(c->s->root, "socket.group");
	const struct group *g;

	if (!*name)
		return 0;
	errno = 0;
	g = getgrnam(name);
	if (!g)
		return err_set(-ENOENT, "socket.group: there is no group \"%s\"", name);
	if (chown(path, (uid_t)-1, g->gr_gid) < 0)
		return err_sys(-errno, "socket.group: cannot give %s to group %s", path, name);
	return 0;
}

int control_listen(struct control *c, const char *path)
{
	unsigned mode;
	int r = config_mode(conf_string(c->s->root, "socket.mode"), &mode);

	if (r < 0)
		return r;
	r = fd_unix_listen(path, SOCK_STREAM, mode);
	if (r < 0)
		return r;
	c->fd = r;
	r = set_group(c, path);
	if (r == 0) {
		r = exec_io_add(c->s->x, &c->io, c->fd, EPOLLIN, on_accept, c);
		if (r < 0)
			err_set(r, "%s: cannot watch the socket: %s", path, err_text(r));
	}
	if (r < 0)
		control_close(c);
	return r;
}
