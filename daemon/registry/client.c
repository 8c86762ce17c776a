/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions and what is given back when one ends; contract in client.h.
 *
 * A hang-up says that nobody listens any more, not that the process has stopped touching shared memory: its
 * ports and slots are freed when its pidfd says that it has ended (at once, as a rule: the kernel closes the
 * sockets of a killed process after its memory is gone).
 *
 * Thread: simd-main.
 */
#include "client.h"

#include "bridge.h"
#include "channel.h"
#include "err.h"
#include "fd.h"
#include "ipc.h"
#include "log.h"
#include "mem.h"
#include "simd.h"
#include "timekeeper.h"

#include "dispatch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

LOG_TOPIC("client");

struct reaper {
	struct list link; /* simd::reapers */
	struct simd *s;
	uint32_t generation;
	struct exec_io io;
	int fd;
	char app[CLIENT_APP_MAX + 32];
};

static const char *const role_names[] = {
	[CLIENT_SENSOR] = "client",
	[CLIENT_BRIDGE] = "bridge",
	[CLIENT_SOURCE] = "source",
	[CLIENT_TOOL] = "tool",
};

const char *client_role_name(enum client_role role)
{
	return role_names[role];
}

static int role_of(const char *text)
{
	for (unsigned i = 0; i < sizeof(role_names) / sizeof(*role_names); i++) {
		if (strcmp(text, role_names[i]) == 0)
			return (int)i;
	}
	return err_set(-EINVAL, "role \"%.40s\": expected client, bridge, source or tool", text);
}

struct client *client_find(struct simd *s, uint32_t id)
{
	struct client *cl;

	list_for_each(cl, &s->clients, link) {
		if (cl->id == id)
			return cl;
	}
	return NULL;
}

static uint32_t next_id(struct simd *s)
{
	do {
		s->next_client = s->next_client == INT32_MAX ? 1 : s->next_client + 1;
	} while (client_find(s, s->next_client));
	return s->next_client;
}

/* ---- descriptors of a session ---- */

static void fds_close(struct client_fds *f)
{
	for (unsigned i = 0; i < f->n; i++)
		fd_close(f->v[i]);
	f->n = 0;
}

static void fds_add(struct client_fds *f, int fd, const char *name)
{
	f->v[f->n] = fd;
	f->name[f->n++] = name;
}

static int fds_add_dup(struct client_fds *f, int fd, const char *name)
{
	int d = fd_dup(fd);

	if (d < 0)
		return d;
	fds_add(f, d, name);
	return 0;
}

static int counter_page(struct client *cl, struct client_fds *f)
{
	void *map;
	int fd, r = fd_shared_create("simd-counters", sizeof(*cl->page), FD_SHARE_RW, &map, &fd);

	if (r < 0)
		return r;
	cl->page = (struct wire_counter_page *)map;
	cl->page->abi = WIRE_ABI;
	cl->page->size = sizeof(*cl->page);
	cl->page->client_id = cl->id;
	fds_add(f, fd, "counters");
	return 0;
}

/* Doorbell and completion socket: dispatch gets one end, the client the other. */
static int dispatch_ends(struct client *cl, struct client_fds *f)
{
	int sv[2], bell, ours;

	bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bell < 0)
		return err_sys(-errno, "client %s: cannot make its doorbell", cl->name);
	fds_add(f, bell, "doorbell");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv) < 0)
		return err_sys(-errno, "client %s: cannot make its completion socket", cl->name);
	fds_add(f, sv[1], "completions");
	ours = fd_dup(bell);
	if (ours < 0) {
		fd_close(sv[0]);
		return ours;
	}
	return dispatch_client_add(cl->s->dispatch, cl->id, cl->name, sv[0], ours);
}

static int session_fds(struct client *cl, struct client_fds *f)
{
	struct simd *s = cl->s;
	int r = fds_add_dup(f, timekeeper_page_fd(s->time), "clock");

	if (r < 0 || cl->role == CLIENT_TOOL)
		return r;
	r = fds_add_dup(f, s->dispatch_page_fd, "dispatch");
	if (r == 0)
		r = counter_page(cl, f);
	return r < 0 ? r : dispatch_ends(cl, f);
}

/* ---- life ---- */

static void client_free(struct client *cl)
{
	if (cl->page)
		munmap(cl->page, sizeof(*cl->page));
	mem_free(cl->tokens);
	mem_free(cl);
}

static void changed(struct simd *s)
{
	if (s->ops && s->ops->sessions_changed)
		s->ops->sessions_changed(s->user);
}

static int check_hello(struct simd *s, const struct client_hello *h)
{
	if (s->stopping)
		return err_set(-ESHUTDOWN, "simd is shutting down");
	if (!names_plain_ok(h->name))
		return err_set(-EINVAL, "client name \"%.60s\": use 1 to %d characters of A-Z a-z 0-9 _ . -", h->name,
			       NAME_PLAIN_MAX);
	if (s->n_clients >= s->limits.clients)
		return err_set(-EMFILE, "%u clients are attached, limits.clients allows no more", s->n_clients);
	return role_of(h->role);
}

int client_create(struct simd *s, const struct client_hello *h, struct client **ret, struct client_fds *ret_fds)
{
	struct client_fds fds = { .n = 0 };
	struct client *cl;
	int r, role = check_hello(s, h);

	if (role < 0)
		return role;
	cl = MEM_NEW(struct client);
	if (!cl)
		return err_nomem();
	cl->s = s;
	cl->role = (enum client_role)role;
	cl->id = next_id(s);
	cl->pid = h->pid;
	cl->uid = h->uid;
	cl->rig = simd_rig_of(s, h->pid);
	cl->iox_generation = s->dataplane.generation;
	snprintf(cl->name, sizeof(cl->name), "%s", h->name);
	snprintf(cl->app, sizeof(cl->app), "%s-%.8s-%u", cl->name, s->id_text, cl->id);
	list_init(&cl->publishers);
	list_init(&cl->subscribers);

	r = session_fds(cl, &fds);
	if (r < 0) {
		fds_close(&fds);
		client_free(cl);
		return r;
	}
	list_append(&s->clients, &cl->link);
	s->n_clients++;
	log_debug("client %u %s (%s) has come, pid %d", cl->id, cl->name, client_role_name(cl->role), (int)cl->pid);
	changed(s);
	*ret_fds = fds;
	*ret = cl;
	return 0;
}

int client_attached(struct client *cl, uint32_t generation, const char *runtime_name)
{
	if (!*runtime_name || strchr(runtime_name, '/') || strchr(runtime_name, ','))
		return err_set(-EINVAL, "\"%.60s\" is not an application name", runtime_name);
	if (generation != cl->s->dataplane.generation)
		return err_set(-ESTALE, "life %u of the data plane is over, it is now %u; attach again", generation,
			       cl->s->dataplane.generation);
	snprintf(cl->runtime_name, sizeof(cl->runtime_name), "%s", runtime_name);
	cl->iox_generation = generation;
	changed(cl->s);
	if (cl->s->ops && cl->s->ops->client_attached)
		cl->s->ops->client_attached(cl->s->user);
	if (cl->bridge)
		return dispatch_bridge_life(cl->s->dispatch, cl->bridge->id, generation);
	return 0;
}

bool client_all_attached(const struct simd *s)
{
	const struct client *cl;

	list_for_each(cl, &s->clients, link) {
		if (cl->role != CLIENT_TOOL && cl->iox_generation != s->dataplane.generation)
			return false;
	}
	return true;
}

/* ---- what a dead process leaves in the data plane ---- */

static void reaper_free(struct reaper *r)
{
	exec_io_del(&r->io);
	fd_close(r->fd);
	list_remove(&r->link);
	mem_free(r);
}

static void free_ports(struct simd *s, uint32_t generation, const char *app)
{
	bool gone = !s->dataplane.ready || generation != s->dataplane.generation;
	int r;

	if (s->ops && s->ops->free_app) {
		s->ops->free_app(s->user, app, gone);
		return;
	}
	if (gone)
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

/* The name it attached under may be of an earlier simd: a client keeps its attachment over a restart of simd. */
static const char *name_in_plane(const struct client *cl)
{
	return cl->runtime_name[0] ? cl->runtime_name : cl->app;
}

static void reap(struct client *cl)
{
	struct simd *s = cl->s;
	const char *app = name_in_plane(cl);
	int fd = s->ops && s->ops->peer_exit_fd ? s->ops->peer_exit_fd(s->user, cl->pid) : -EOPNOTSUPP;
	struct reaper *r;

	if (fd == -ESRCH || fd == -EOPNOTSUPP ||
	    cl->pid <= 0) { /* the process is gone already, or the hang-up is all we have */
		free_ports(s, cl->iox_generation, app);
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
	r->generation = cl->iox_generation;
	snprintf(r->app, sizeof(r->app), "%s", app);
	list_append(&s->reapers, &r->link);
	if (exec_io_add(s->x, &r->io, fd, EPOLLIN, on_exit_fd, r) < 0) {
		log_error("%s: cannot wait for its end; its ports stay until the data plane restarts", app);
		reaper_free(r);
	}
}

void client_reap_ended(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link) {
		if (fd_wait(r->fd, POLLIN, 0) == 1)
			on_exit_fd(r, 0);
	}
}

void client_reap_all(struct simd *s)
{
	struct reaper *r, *tmp;

	list_for_each_safe(r, tmp, &s->reapers, link)
		reaper_free(r);
}

void client_gone(struct client *cl)
{
	struct simd *s = cl->s;
	struct publisher *p, *ptmp;
	struct subscriber *sub, *stmp;

	log_debug("client %u %s has gone", cl->id, cl->name);
	list_remove(&cl->link);
	s->n_clients--;
	if (cl->slot)
		*cl->slot = NULL;
	service_client_gone(cl);
	if (cl->bridge)
		bridge_detach(cl->bridge);
	timekeeper_client_gone(s->time, cl->id);
	/* dispatch forgets its publishers by itself, after what they had published */
	if (cl->role != CLIENT_TOOL)
		(void)dispatch_client_gone(s->dispatch, cl->id);
	list_for_each_safe(p, ptmp, &cl->publishers, in_client)
		publisher_destroy(p);
	list_for_each_safe(sub, stmp, &cl->subscribers, in_client)
		subscriber_destroy(sub);
	token_close_all(cl);
	if (cl->role != CLIENT_TOOL)
		reap(cl);
	client_free(cl);
	changed(s);
	if (s->ops && s->ops->client_attached) /* nobody to wait for any more */
		s->ops->client_attached(s->user);
}

/* ---- rows of the counter page ---- */

int client_row_get(struct client *cl)
{
	for (uint32_t i = 0; i < WIRE_ROWS_MAX; i++) {
		struct wire_counters *c = &cl->page->row[i];

		if (cl->row_used[i / 64] >> (i % 64) & 1)
			continue;
		cl->row_used[i / 64] |= 1ull << (i % 64);
		memset(c, 0, sizeof(*c));
		return (int)i;
	}
	return err_set(-EMFILE, "client %s: its %d publishers use up its counter page", cl->name, WIRE_ROWS_MAX);
}

void client_row_put(struct client *cl, uint32_t row)
{
	cl->row_used[row / 64] &= ~(1ull << (row % 64));
}
