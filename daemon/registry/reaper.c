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

struct reaper {
	struct list link; /* simd::reapers */
	struct simd *s;
	struct exec_io io;
	int fd; /* -1: it has exited, and its ports are being freed */
	struct remains *m;
	reaper_fn freed;
};

static void reaper_free(struct reaper *r)
{
	exec_io_del(&r->io);
	fd_close(r->fd);
	list_remove(&r->link);
	mem_free(r->m);
	mem_free(r);
}

static bool of_present_generation(const struct simd *s, const struct remains *m)
{
	return s->dataplane.ready && m->generation == s->dataplane.generation;
}

static void done(struct reaper *r, bool ok)
{
	if (ok && of_present_generation(r->s, r->m))
		r->freed(r->s, r->m);
	reaper_free(r);
}

void reaper_freed(struct simd *s, const char *app, bool ok)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link) {
		if (r->fd < 0 && strcmp(r->m->app, app) == 0)
			done(r, ok);
	}
}

/* The process has exited. */
static void free_ports(struct reaper *r)
{
	struct simd *s = r->s;
	bool old = !of_present_generation(s, r->m);
	int rc = -ENOENT;

	exec_io_del(&r->io);
	r->fd = fd_close(r->fd);
	if (s->ops && s->ops->free_app) {
		s->ops->free_app(s->user, r->m->app, old);
		if (old)
			reaper_free(r);
		return;
	}
	if (!old)
		rc = ipc_free_peer(s->dataplane.ipc, r->m->app);
	if (rc < 0 && rc != -ENOENT && rc != -EOPNOTSUPP)
		log_warn("%s: its ports could not be freed: %s", r->m->app, *ipc_why() ? ipc_why() : err_text(rc));
	done(r, rc >= 0);
}

static void on_exit_fd(void *arg, uint32_t events)
{
	(void)events;
	free_ports((struct reaper *)arg);
}

/* It may well live, and use them. */
static void not_watched(const struct remains *m, int err)
{
	log_error("%s: cannot wait for its end (%s); its ports stay until the data plane restarts", m->app,
		  err_text(err));
}

void reaper_watch(struct simd *s, struct remains *m, reaper_fn freed)
{
	struct reaper *r = MEM_NEW(struct reaper);
	int fd, rc;

	if (!r) {
		not_watched(m, -ENOMEM);
		mem_free(m);
		return;
	}
	r->s = s;
	r->m = m;
	r->freed = freed;
	r->fd = -1;
	list_append(&s->reapers, &r->link);
	fd = s->ops && s->ops->peer_exit_fd ? s->ops->peer_exit_fd(s->user, m->pid) : -EOPNOTSUPP;
	/* the process has exited already, or the hang-up is all we have */
	if (fd == -ESRCH || fd == -EOPNOTSUPP || m->pid <= 0) {
		free_ports(r);
		return;
	}
	r->fd = fd < 0 ? -1 : fd;
	rc = fd < 0 ? fd : exec_io_add(s->x, &r->io, fd, EPOLLIN, on_exit_fd, r);
	if (rc < 0) {
		not_watched(m, rc);
		reaper_free(r);
	}
}

void reaper_run(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link) {
		if (r->fd >= 0 && fd_wait(r->fd, POLLIN, 0) == 1)
			free_ports(r);
	}
}

void reaper_finish(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link)
		reaper_free(r);
}
