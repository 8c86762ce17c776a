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
#include <stdio.h>
#include <sys/epoll.h>

LOG_TOPIC("client");

struct reaper {
	struct list link; /* simd::reapers */
	struct simd *s;
	uint32_t generation;
	struct exec_io io;
	int fd;
	char app[REAPER_APP_MAX];
};

static void reaper_free(struct reaper *r)
{
	exec_io_del(&r->io);
	fd_close(r->fd);
	list_remove(&r->link);
	mem_free(r);
}

static void free_ports(struct simd *s, uint32_t generation, const char *app)
{
	bool old = !s->dataplane.ready || generation != s->dataplane.generation;
	int r;

	if (s->ops && s->ops->free_app) {
		s->ops->free_app(s->user, app, old);
		return;
	}
	if (old)
		return;
	r = ipc_free_peer(s->dataplane.ipc, app);
	if (r < 0 && r != -ENOENT && r != -EOPNOTSUPP)
		log_warn("%s: its ports could not be freed: %s", app, *ipc_why() ? ipc_why() : err_text(r));
}

static void on_exit_fd(void *arg, uint32_t events)
{
	struct reaper *r = (struct reaper *)arg;

	(void)events;
	free_ports(r->s, r->generation, r->app);
	reaper_free(r);
}

void reaper_watch(struct simd *s, pid_t pid, uint32_t generation, const char *app)
{
	int fd = s->ops && s->ops->peer_exit_fd ? s->ops->peer_exit_fd(s->user, pid) : -EOPNOTSUPP;
	struct reaper *r;

	if (fd == -ESRCH || fd == -EOPNOTSUPP ||
	    pid <= 0) { /* the process has exited already, or the hang-up is all we have */
		free_ports(s, generation, app);
		return;
	}
	if (fd < 0) { /* it may well live, and use them */
		log_error("%s: cannot wait for its end (%s); its ports stay until the data plane restarts", app,
			  err_text(fd));
		return;
	}
	r = MEM_NEW(struct reaper);
	if (!r) {
		fd_close(fd);
		log_error("%s: no memory to wait for its end; its ports stay until the data plane restarts", app);
		return;
	}
	r->s = s;
	r->fd = fd;
	r->generation = generation;
	snprintf(r->app, sizeof(r->app), "%s", app);
	list_append(&s->reapers, &r->link);
	if (exec_io_add(s->x, &r->io, fd, EPOLLIN, on_exit_fd, r) < 0) {
		log_error("%s: cannot wait for its end; its ports stay until the data plane restarts", app);
		reaper_free(r);
	}
}

void reaper_run(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link) {
		if (fd_wait(r->fd, POLLIN, 0) == 1)
			on_exit_fd(r, 0);
	}
}

void reaper_finish(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link)
		reaper_free(r);
}
