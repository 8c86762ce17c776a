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
#include "renew.h"
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
#include <unistd.h>

LOG_TOPIC("client");

#define KEPT_MAX 16 /* sessions reserved for root and simd's own user */

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
	r = fd_shared_hold(map, sizeof(*cl->page), &cl->page_held);
	if (r < 0) {
		fd_shared_unmap(map, sizeof(*cl->page));
		fd_close(fd);
		return r;
	}
	cl->page = (struct wire_counter_page *)map;
	cl->page->abi = WIRE_ABI;
	cl->page->size = sizeof(*cl->page);
	cl->page->client_id = cl->id;
	fds_add(f, fd, "counters");
	return 0;
}

/* Each shard that the client publishes in gets a duplicate of simd's end; see client_join(). */
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
	fd_shared_unref(cl->page_held);
	fd_close(cl->completion_fd);
	mem_free(cl->tokens);
	mem_free(cl);
}

static void changed(struct simd *s)
{
	if (s->ops && s->ops->sessions_changed)
		s->ops->sessions_changed(s->user);
}

/* No user can take all sessions, and some are left for bridges and tools of simd's own user. */
static int check_room(const struct simd *s, uid_t uid)
{
	uint32_t kept = s->limits.clients / 8 < KEPT_MAX ? s->limits.clients / 8 : KEPT_MAX, of_user = 0;
	bool own = uid == 0 || uid == geteuid();
	const struct client *cl;

	if (s->n_clients >= s->limits.clients - (own ? 0 : kept))
		return err_set(-EMFILE, "%u clients are attached, limits.clients allows no more%s", s->n_clients,
			       own ? "" : " but for root and simd's own user");
	list_for_each(cl, &s->clients, link)
		of_user += cl->uid == uid;
	if (of_user >= s->limits.clients_per_user && !own)
		return err_set(-EMFILE, "user %u has %u clients attached, limits.clients_per_user allows no more", uid,
			       of_user);
	return 0;
}

static int check_hello(struct simd *s, const struct session_hello *h)
{
	int r;

	if (s->stopping)
		return err_set(-ESHUTDOWN, "simd is shutting down");
	if (!names_plain_ok(h->name))
		return err_set(-EINVAL, "client name \"%.60s\": use 1 to %d characters of A-Z a-z 0-9 _ . -", h->name,
			       NAME_PLAIN_MAX);
	r = check_room(s, h->uid);
	return r < 0 ? r : client_role_parse(h->role);
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
	r = reaper_get(s, h->pid, h->sock, h->connected_mono_ns, &cl->process);
	if (r < 0) {
		client_free(cl);
		return r;
	}
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
		reaper_put(cl->process);
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

static void on_ports_freed(struct simd *s, const struct remains *m)
{
	if (m->unclean)
		renew_channels(s, m->channels, m->n_channels);
	log_debug("the ports of %s are freed%s", m->app, m->unclean ? "; it had not said Goodbye" : "");
}

/* What the client has in the data plane under its present name. NULL: no memory. */
static struct remains *remains_of(const struct client *cl, bool unclean)
{
	struct remains *m = (struct remains *)mem_calloc(1, sizeof(*m) + cl->n_publishers * sizeof(m->channels[0]));
	const struct publisher *p;

	if (!m) {
		log_error("client %s: no memory to wait for its end; its ports stay until the data plane restarts",
			  cl->name);
		return NULL;
	}
	client_plane_name_of(cl, m->app);
	m->generation = cl->iox_generation;
	m->unclean = unclean;
	m->freed = on_ports_freed;
	list_for_each(p, &cl->publishers, in_client)
		m->channels[m->n_channels++] = p->ch->id;
	return m;
}

/*
 * Whether the process may use that name. The ports of the name are freed when the process exits, so it must be the
 * process's own: given to this client, or to another client of the process, now or earlier; or given by an earlier
 * simd, and then the process must hold RouDi's lock of that name.
 */
static bool may_have(const struct client *cl, const char *runtime_name)
{
	const struct simd *s = cl->s;
	const struct client *other;
	char name[CLIENT_PLANE_MAX], its[CLIENT_PLANE_MAX];

	client_plane_name(runtime_name, name);
	list_for_each(other, &s->clients, link) {
		client_plane_name_of(other, its);
		if (strcmp(other->app, name) == 0 || strcmp(its, name) == 0)
			return other->process == cl->process;
	}
	return reaper_has(cl->process, name) || !s->ops || !s->ops->has_name ||
	       s->ops->has_name(s->user, cl->pid, runtime_name);
}

/*
 * Stores the name. The ports of an earlier name are freed when the process exits: they may still be in use, and the
 * next attachment may have another name.
 */
static void note_name(struct client *cl, const char *runtime_name)
{
	char before[CLIENT_PLANE_MAX], after[CLIENT_PLANE_MAX];

	client_plane_name_of(cl, before);
	client_plane_name(runtime_name, after);
	if (cl->runtime_name[0] && strcmp(before, after) != 0)
		reaper_add(cl->process, remains_of(cl, false));
	snprintf(cl->runtime_name, sizeof(cl->runtime_name), "%s", runtime_name);
}

int session_attached(struct client *cl, uint32_t generation, const char *runtime_name)
{
	if (!*runtime_name || strchr(runtime_name, '/') || strchr(runtime_name, ','))
		return err_set(-EINVAL, "\"%.60s\" is not an application name", runtime_name);
	if (generation != cl->s->dataplane.generation)
		return err_set(-ESTALE, "generation %u of the data plane is over, it is now %u; attach again",
			       generation, cl->s->dataplane.generation);
	if (!may_have(cl, runtime_name))
		return err_set(-EACCES, "\"%.60s\" is not a name of process %d in the data plane", runtime_name,
			       (int)cl->pid);
	note_name(cl, runtime_name);
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

/*
 * A process that lives on after its socket has closed keeps its ports until it exits. Two cases are not noticed and
 * left to the sweep: it now executes another program, which has no ports; or it was about to attach under a name that
 * simd does not know.
 */
static void leave_remains(struct client *cl)
{
	struct simd *s = cl->s;
	bool lives = !reaper_is_over(cl->process);

	if (cl->role == CLIENT_TOOL)
		return;
	if (cl->runtime_name[0] || !lives)
		reaper_add(cl->process, remains_of(cl, !cl->leaving));
	if (lives && !cl->leaving && s->ops && s->ops->sweep)
		s->ops->sweep(s->user);
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
	/* dispatch forgets its publishers by itself, after their messages */
	client_leave(cl);
	leave_remains(cl);
	pubsub_close_all(cl);
	token_close_all(cl);
	reaper_put(cl->process);
	client_free(cl);
	changed(s);
	if (s->ops && s->ops->client_attached) /* it may have been the last client that had not moved */
		s->ops->client_attached(s->user);
}
