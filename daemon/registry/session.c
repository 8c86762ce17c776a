/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions; contract in session.h. Thread: simd-main. */
#include "session.h"

#include "bridge.h"
#include "channel.h"
#include "client.h"
#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "pubsub.h"
#include "reaper.h"
#include "rig.h"
#include "service.h"
#include "shards.h"
#include "simd.h"
#include "timekeeper.h"
#include "token.h"

#include "dispatch.h"
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

LOG_TOPIC("client");

static uint32_t next_id(struct simd *s)
{
	do {
		s->next_client = s->next_client == INT32_MAX ? 1 : s->next_client + 1;
	} while (client_find(s, s->next_client));
	return s->next_client;
}

/* ---- descriptors of a session ---- */

static void fds_close(struct session_fds *f)
{
	for (unsigned i = 0; i < f->n; i++)
		fd_close(f->v[i]);
	f->n = 0;
}

static void fds_add(struct session_fds *f, int fd, const char *name)
{
	f->v[f->n] = fd;
	f->name[f->n++] = name;
}

static int fds_add_dup(struct session_fds *f, int fd, const char *name)
{
	int d = fd_dup(fd);

	if (d < 0)
		return d;
	fds_add(f, d, name);
	return 0;
}

static int counter_page(struct client *cl, struct session_fds *f)
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

/* Each shard that the client publishes in gets a duplicate of our end, see client_join(). */
static int completion_pair(struct client *cl, struct session_fds *f)
{
	int sv[2], r = fd_packet_pair(sv, SOCK_NONBLOCK);

	if (r < 0)
		return err_sys(r, "client %s: cannot make its completion socket", cl->name);
	cl->completion_fd = sv[0];
	fds_add(f, sv[1], "completions");
	return 0;
}

static int make_fds(struct client *cl, struct session_fds *f)
{
	struct simd *s = cl->s;
	int r = fds_add_dup(f, timekeeper_page_fd(s->time), "clock");

	if (r < 0 || cl->role == CLIENT_TOOL)
		return r;
	r = fds_add_dup(f, s->layout_page_fd, "layout");
	if (r == 0)
		r = fds_add_dup(f, s->dispatch_page_fd, "dispatch");
	if (r == 0)
		r = counter_page(cl, f);
	return r < 0 ? r : completion_pair(cl, f);
}

/* ---- making ---- */

static void client_free(struct client *cl)
{
	if (cl->page)
		munmap(cl->page, sizeof(*cl->page));
	fd_close(cl->completion_fd);
	mem_free(cl->tokens);
	mem_free(cl);
}

static void changed(struct simd *s)
{
	if (s->ops && s->ops->sessions_changed)
		s->ops->sessions_changed(s->user);
}

static int check_hello(struct simd *s, const struct session_hello *h)
{
	if (s->stopping)
		return err_set(-ESHUTDOWN, "simd is shutting down");
	if (!names_plain_ok(h->name))
		return err_set(-EINVAL, "client name \"%.60s\": use 1 to %d characters of A-Z a-z 0-9 _ . -", h->name,
			       NAME_PLAIN_MAX);
	if (s->n_clients >= s->limits.clients)
		return err_set(-EMFILE, "%u clients are attached, limits.clients allows no more", s->n_clients);
	return client_role_parse(h->role);
}

int session_create(struct simd *s, const struct session_hello *h, struct client **ret, struct session_fds *ret_fds)
{
	struct session_fds fds = { .n = 0 };
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
	cl->completion_fd = -1;
	cl->pid = h->pid;
	cl->uid = h->uid;
	cl->rig = rig_of_process(s, h->pid);
	cl->iox_generation = s->dataplane.generation;
	snprintf(cl->name, sizeof(cl->name), "%s", h->name);
	snprintf(cl->app, sizeof(cl->app), "%s-%.8s-%u", cl->name, s->id_text, cl->id);
	list_init(&cl->publishers);
	list_init(&cl->subscribers);

	r = make_fds(cl, &fds);
	if (r < 0) {
		fds_close(&fds);
		client_free(cl);
		return r;
	}
	list_append(&s->clients, &cl->link);
	s->n_clients++;
	log_debug("client %u %s (%s) connected, pid %d", cl->id, cl->name, client_role_name(cl->role), (int)cl->pid);
	changed(s);
	*ret_fds = fds;
	*ret = cl;
	return 0;
}

int session_attached(struct client *cl, uint32_t generation, const char *runtime_name)
{
	if (!*runtime_name || strchr(runtime_name, '/') || strchr(runtime_name, ','))
		return err_set(-EINVAL, "\"%.60s\" is not an application name", runtime_name);
	if (generation != cl->s->dataplane.generation)
		return err_set(-ESTALE, "generation %u of the data plane is over, it is now %u; attach again",
			       generation, cl->s->dataplane.generation);
	snprintf(cl->runtime_name, sizeof(cl->runtime_name), "%s", runtime_name);
	cl->iox_generation = generation;
	changed(cl->s);
	if (cl->s->ops && cl->s->ops->client_attached)
		cl->s->ops->client_attached(cl->s->user);
	if (cl->bridge)
		return dispatch_bridge_generation(shard_of(cl->s, cl->bridge->rig->shard), cl->bridge->id, generation);
	return 0;
}

bool session_all_attached(const struct simd *s)
{
	const struct client *cl;

	list_for_each(cl, &s->clients, link) {
		if (cl->role != CLIENT_TOOL && cl->iox_generation != s->dataplane.generation)
			return false;
	}
	return true;
}

/* The name it attached under may be of an earlier simd: a client keeps its attachment over a restart of simd. */
static const char *name_in_plane(const struct client *cl)
{
	return cl->runtime_name[0] ? cl->runtime_name : cl->app;
}

/* NULL: no memory. */
static struct remains *remains_of(const struct client *cl)
{
	struct remains *m = (struct remains *)mem_calloc(1, sizeof(*m) + cl->n_publishers * sizeof(m->channels[0]));
	const struct publisher *p;

	if (!m)
		return NULL;
	snprintf(m->app, sizeof(m->app), "%s", name_in_plane(cl));
	m->pid = cl->pid;
	m->generation = cl->iox_generation;
	m->unclean = !cl->leaving;
	m->attached = cl->runtime_name[0];
	list_for_each(p, &cl->publishers, in_client)
		m->channels[m->n_channels++] = p->ch->id;
	return m;
}

static void on_ports_freed(struct simd *s, const struct remains *m)
{
	(void)s;
	log_debug("the ports of %s are freed%s", m->app, m->unclean ? "; it had not said Goodbye" : "");
}

static void watch_remains(struct client *cl)
{
	struct remains *m;

	if (cl->role == CLIENT_TOOL || (cl->leaving && !cl->runtime_name[0]))
		return;
	m = remains_of(cl);
	if (m)
		reaper_watch(cl->s, m, on_ports_freed);
	else
		log_error("client %s: no memory to wait for its end; its ports stay until the data plane restarts",
			  cl->name);
}

void session_end(struct client *cl)
{
	struct simd *s = cl->s;

	log_debug("client %u %s disconnected", cl->id, cl->name);
	list_remove(&cl->link);
	s->n_clients--;
	if (cl->slot)
		*cl->slot = NULL;
	service_client_disconnected(cl);
	if (cl->bridge)
		bridge_detach(cl->bridge);
	time_engine_drop_client(timekeeper_engine(s->time), cl->id);
	/* dispatch forgets its publishers by itself, after what they had published */
	client_leave(cl);
	watch_remains(cl);
	pubsub_close_all(cl);
	token_close_all(cl);
	client_free(cl);
	changed(s);
	if (s->ops && s->ops->client_attached) /* it is not waited for any more */
		s->ops->client_attached(s->user);
}
