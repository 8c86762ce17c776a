/* SPDX-License-Identifier: Apache-2.0 */
/* Processes behind sessions, and what they leave; contract in reaper.h. Thread: simd-main. */
#include "reaper.h"

#include "client.h"
#include "err.h"
#include "fd.h"
#include "ipc.h"
#include "log.h"
#include "mem.h"
#include "simd.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

LOG_TOPIC("client");

/* ---- what is left ---- */

static void remains_drop(struct reaper *r, struct remains *m)
{
	list_remove(&m->link);
	r->n_remains--;
	mem_free(m);
}

static bool of_present_generation(const struct simd *s, const struct remains *m)
{
	return s->dataplane.ready && m->generation == s->dataplane.generation;
}

static void done(struct reaper *r, struct remains *m, bool ok)
{
	if (ok && m->freed && of_present_generation(r->s, m))
		m->freed(r->s, m);
	r->failed |= !ok;
	remains_drop(r, m);
}

static void free_ports(struct reaper *r, struct remains *m)
{
	struct simd *s = r->s;
	bool old = !of_present_generation(s, m);
	int rc = -ENOENT;

	m->freeing = true;
	if (s->ops && s->ops->free_app) {
		s->ops->free_app(s->user, m->app, old);
		if (old)
			remains_drop(r, m);
		return;
	}
	if (!old)
		rc = ipc_free_peer(s->dataplane.ipc, m->app);
	if (rc < 0 && rc != -ENOENT && rc != -EOPNOTSUPP)
		log_warn("%s: its ports could not be freed: %s", m->app, *ipc_why() ? ipc_why() : err_text(rc));
	done(r, m, rc >= 0);
}

/* The oldest entry with the same name and generation. */
static struct remains *remains_find(const struct reaper *r, const struct remains *like)
{
	struct remains *m;

	list_for_each(m, &r->remains, link) {
		if (m->generation == like->generation && strcmp(m->app, like->app) == 0)
			return m;
	}
	return NULL;
}

bool reaper_has(const struct reaper *r, const char *app)
{
	const struct remains *m;

	list_for_each(m, &r->remains, link) {
		if (strcmp(m->app, app) == 0)
			return true;
	}
	return false;
}

void reaper_add(struct reaper *r, struct remains *m)
{
	struct remains *same = m ? remains_find(r, m) : NULL;

	r->failed |= !m;
	if (!m)
		return;
	r->unclean |= m->unclean;
	if (same && (!m->unclean || !m->n_channels)) { /* nothing new */
		mem_free(m);
		return;
	}
	if (same && (!same->unclean || r->n_remains == REAPER_REMAINS))
		remains_drop(r, same);
	if (r->n_remains == REAPER_REMAINS) {
		log_error("%s: its process %d has attached too often; its ports stay until the data plane restarts",
			  m->app, (int)r->pid);
		r->failed = true;
		mem_free(m);
		return;
	}
	list_append(&r->remains, &m->link);
	r->n_remains++;
}

/* ---- processes ---- */

static void reaper_free(struct reaper *r)
{
	struct remains *m, *tmp;

	if (r->s->process_over)
		r->s->process_over(r->s, r, r->fd < 0 && !r->failed && list_empty(&r->remains));
	exec_io_del(&r->io);
	fd_close(r->fd);
	list_for_each_safe(m, tmp, &r->remains, link)
		remains_drop(r, m);
	list_remove(&r->link);
	mem_free(r);
}

bool reaper_is_over(const struct reaper *r)
{
	return r->fd < 0 || fd_wait(r->fd, POLLIN, 0) == 1;
}

/* The process has exited, and its last session has ended. */
static void reap(struct reaper *r)
{
	struct remains *m, *tmp;

	list_for_each_safe(m, tmp, &r->remains, link) {
		if (!m->freeing)
			free_ports(r, m);
	}
	if (list_empty(&r->remains))
		reaper_free(r);
}

static void exited(struct reaper *r)
{
	struct client *cl;

	exec_io_del(&r->io);
	r->fd = fd_close(r->fd);
	if (!r->sessions) {
		reap(r);
		return;
	}
	list_for_each(cl, &r->s->clients, link) {
		if (cl->process == r && cl->hang_up)
			cl->hang_up(cl->slot);
	}
}

static void on_exit_fd(void *arg, uint32_t events)
{
	(void)events;
	exited((struct reaper *)arg);
}

/* Forgets the process that has been without a session for longest; the sweep finds what it leaves. */
static void bound_idle(struct simd *s)
{
	struct reaper *r, *first = NULL;
	unsigned n = 0;

	list_for_each(r, &s->reapers, link) {
		if (r->sessions || r->fd < 0)
			continue;
		first = first ? first : r;
		n++;
	}
	if (n > REAPERS_IDLE)
		reaper_free(first);
}

void reaper_put(struct reaper *r)
{
	struct simd *s = r->s;

	if (--r->sessions)
		return;
	if (r->fd < 0) {
		reap(r);
	} else if (reaper_is_over(r)) {
		exited(r);
	} else if (list_empty(&r->remains)) {
		reaper_free(r);
	} else {
		list_remove(&r->link); /* move to the end */
		list_append(&s->reapers, &r->link);
		bound_idle(s);
	}
}

/* Finds only watched, living processes: the pid of one that has exited may have been reused. */
static struct reaper *find(struct simd *s, pid_t pid)
{
	struct reaper *r;

	list_for_each(r, &s->reapers, link) {
		if (pid > 0 && r->pid == pid && !reaper_is_over(r))
			return r;
	}
	return NULL;
}

static int watch(struct reaper *r, int sock, int64_t connected_mono_ns)
{
	const struct simd *s = r->s;
	int fd = s->ops && s->ops->peer_exit_fd ? s->ops->peer_exit_fd(s->user, sock, connected_mono_ns) : -EOPNOTSUPP;

	if (fd == -EOPNOTSUPP) /* only the closed socket shows the exit */
		return 0;
	if (fd < 0)
		return fd;
	r->fd = fd;
	return exec_io_add(s->x, &r->io, fd, EPOLLIN, on_exit_fd, r);
}

int reaper_get(struct simd *s, pid_t pid, int sock, int64_t connected_mono_ns, struct reaper **ret)
{
	struct reaper *r = find(s, pid);
	int e;

	if (!r) {
		r = MEM_NEW(struct reaper);
		if (!r)
			return err_nomem();
		r->s = s;
		r->pid = pid;
		r->fd = -1;
		list_init(&r->remains);
		list_append(&s->reapers, &r->link);
		e = watch(r, sock, connected_mono_ns);
		if (e < 0) {
			reaper_free(r);
			return err_set(e, "process %d cannot be watched for its end: %s", (int)pid, err_text(e));
		}
	}
	r->sessions++;
	*ret = r;
	return 0;
}

/* ---- all ---- */

void reaper_freed(struct simd *s, const char *app, bool ok)
{
	struct reaper *r, *next_r;
	struct remains *m, *next_m;

	list_for_each_safe(r, next_r, &s->reapers, link) {
		list_for_each_safe(m, next_m, &r->remains, link) {
			if (m->freeing && strcmp(m->app, app) == 0)
				done(r, m, ok);
		}
		if (r->fd < 0 && !r->sessions && list_empty(&r->remains))
			reaper_free(r);
	}
}

void reaper_run(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link) {
		if (r->fd >= 0 && reaper_is_over(r))
			exited(r);
	}
}

void reaper_finish(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link)
		reaper_free(r);
}
