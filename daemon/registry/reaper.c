/* SPDX-License-Identifier: Apache-2.0 */
/* Ports and slots of exited processes; contract in reaper.h. Thread: simd-main. */
#include "reaper.h"

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

/* A session that has ended. */
struct ended {
	struct list link; /* reaper::ended */
	struct reaper *r;
	struct remains *m;
	reaper_fn freed;
};

/* Its process. */
struct reaper {
	struct list link; /* simd::reapers */
	struct simd *s;
	struct exec_io io;
	pid_t pid;
	int fd;            /* -1: it has exited, and its ports are being freed */
	struct list ended; /* ended::link */
	unsigned n;
};

static void ended_free(struct ended *e)
{
	list_remove(&e->link);
	e->r->n--;
	mem_free(e->m);
	mem_free(e);
}

static void reaper_free(struct reaper *r)
{
	struct ended *e, *tmp;

	list_for_each_safe(e, tmp, &r->ended, link)
		ended_free(e);
	exec_io_del(&r->io);
	fd_close(r->fd);
	list_remove(&r->link);
	mem_free(r);
}

static bool of_present_generation(const struct simd *s, const struct remains *m)
{
	return s->dataplane.ready && m->generation == s->dataplane.generation;
}

static void done(struct ended *e, bool ok)
{
	if (ok && of_present_generation(e->r->s, e->m))
		e->freed(e->r->s, e->m);
	ended_free(e);
}

void reaper_freed(struct simd *s, const char *app, bool ok)
{
	struct reaper *r, *next_r;
	struct ended *e, *next;

	list_for_each_safe(r, next_r, &s->reapers, link) {
		if (r->fd >= 0)
			continue;
		list_for_each_safe(e, next, &r->ended, link)
			if (strcmp(e->m->app, app) == 0)
				done(e, ok);
		if (!r->n)
			reaper_free(r);
	}
}

static void free_ports(struct simd *s, struct ended *e)
{
	bool old = !of_present_generation(s, e->m);
	int rc = -ENOENT;

	if (s->ops && s->ops->free_app) {
		s->ops->free_app(s->user, e->m->app, old);
		if (old)
			ended_free(e);
		return;
	}
	if (!old)
		rc = ipc_free_peer(s->dataplane.ipc, e->m->app);
	if (rc < 0 && rc != -ENOENT && rc != -EOPNOTSUPP)
		log_warn("%s: its ports could not be freed: %s", e->m->app, *ipc_why() ? ipc_why() : err_text(rc));
	done(e, rc >= 0);
}

/* The process has exited. */
static void exited(struct reaper *r)
{
	struct ended *e, *next;

	exec_io_del(&r->io);
	r->fd = fd_close(r->fd);
	list_for_each_safe(e, next, &r->ended, link)
		free_ports(r->s, e);
	if (!r->n)
		reaper_free(r);
}

static void on_exit_fd(void *arg, uint32_t events)
{
	(void)events;
	exited((struct reaper *)arg);
}

/* ---- watching ---- */

/* The number of an exited process may be another's by now. */
static struct reaper *find(struct simd *s, pid_t pid)
{
	struct reaper *r;

	list_for_each(r, &s->reapers, link)
		if (r->pid == pid && r->fd >= 0 && fd_wait(r->fd, POLLIN, 0) == 0)
			return r;
	return NULL;
}

static bool has_attached(const struct reaper *r)
{
	const struct ended *e;

	list_for_each(e, &r->ended, link)
		if (e->m->attached)
			return true;
	return false;
}

static int make_room(struct simd *s)
{
	struct reaper *r;

	if (list_count(&s->reapers) < REAPERS_MAX)
		return 0;
	list_for_each(r, &s->reapers, link) {
		if (r->fd >= 0 && !has_attached(r)) {
			reaper_free(r);
			return 0;
		}
	}
	return err_set(-EMFILE, "%d processes are waited for already", REAPERS_MAX);
}

static int watch(struct simd *s, pid_t pid, struct reaper **ret)
{
	int fd, rc = make_room(s);
	struct reaper *r = rc == 0 ? MEM_NEW(struct reaper) : NULL;

	if (!r)
		return rc < 0 ? rc : err_nomem();
	r->s = s;
	r->pid = pid;
	r->fd = -1;
	list_init(&r->ended);
	list_append(&s->reapers, &r->link);
	fd = s->ops && s->ops->peer_exit_fd && pid > 0 ? s->ops->peer_exit_fd(s->user, pid) : -EOPNOTSUPP;
	if (fd >= 0) {
		r->fd = fd;
		rc = exec_io_add(s->x, &r->io, fd, EPOLLIN, on_exit_fd, r);
	} else if (fd != -ESRCH && fd != -EOPNOTSUPP) {
		rc = fd;
	} /* else: the process has exited already, or the hang-up is all we have */
	if (rc < 0)
		reaper_free(r);
	else
		*ret = r;
	return rc < 0 ? err_set(rc, "%s", err_text(rc)) : 0;
}

/* Whether it must be kept: of those of one name the unclean ones count. */
static bool is_news(struct reaper *r, const struct remains *m)
{
	struct ended *e, *next;

	list_for_each_safe(e, next, &r->ended, link) {
		if (strcmp(e->m->app, m->app) != 0 || e->m->generation != m->generation)
			continue;
		if (e->m->unclean && !m->unclean)
			return false;
		if (!e->m->unclean)
			ended_free(e);
	}
	return true;
}

static int make_place(struct reaper *r, const struct remains *m)
{
	struct ended *e;

	if (r->n < REAPER_APPS)
		return 0;
	list_for_each(e, &r->ended, link) {
		if (!e->m->attached || strcmp(e->m->app, m->app) == 0) {
			ended_free(e);
			return 0;
		}
	}
	return err_set(-EMFILE, "process %d has attached too often", (int)r->pid);
}

/* takes m on success */
static int add(struct reaper *r, struct remains *m, reaper_fn freed)
{
	int rc = make_place(r, m);
	struct ended *e = rc == 0 ? MEM_NEW(struct ended) : NULL;

	if (!e)
		return rc < 0 ? rc : err_nomem();
	*e = (struct ended){ .r = r, .m = m, .freed = freed };
	list_append(&r->ended, &e->link);
	r->n++;
	return 0;
}

void reaper_watch(struct simd *s, struct remains *m, reaper_fn freed)
{
	struct reaper *r = find(s, m->pid);
	int rc = r ? 0 : watch(s, m->pid, &r);

	if (rc == 0 && !is_news(r, m)) {
		mem_free(m);
		return;
	}
	if (rc == 0)
		rc = add(r, m, freed);
	if (rc < 0) { /* it may well live, and use them */
		if (m->attached)
			log_error("%s: cannot wait for its end (%s); its ports stay until the data plane restarts",
				  m->app, err_why());
		mem_free(m);
	}
	if (r && (r->fd < 0 || !r->n))
		exited(r);
}

void reaper_run(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link) {
		if (r->fd >= 0 && fd_wait(r->fd, POLLIN, 0) == 1)
			exited(r);
	}
}

void reaper_finish(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link)
		reaper_free(r);
}
