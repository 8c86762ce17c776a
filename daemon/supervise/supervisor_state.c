/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor keeps across a crash of simd: it writes the state file, and takes over from a simd that was
 * killed. A bridge reads the slots that the old simd took for it in place, until it reports that it is idle, or exits:
 * only then the old simd's slots and ports are freed.
 * Thread: simd-main.
 */
#include "supervisor_private.h"

#include "bridge.h"
#include "client.h"
#include "reaper.h"
#include "simd.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "roudi_files.h"
#include "timeutil.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

LOG_TOPIC("supervisor");

#define SAVE_DELAY_DUR_NS (50 * NS_PER_MS)
#define SWEEP_DUR_NS      (10 * NS_PER_S) /* by then every client of the earlier simd has reconnected, or is dead */
#define DOUBT_DUR_NS      (2 * NS_PER_S)  /* by then a process that executes another program has closed its lock */

/* ---- the file ---- */

int supervisor_load_state(struct supervisor *k)
{
	int r;

	k->left = MEM_NEW(struct state);
	if (!k->left)
		return err_nomem();
	r = state_load(k->o.rt->state, k->left);
	if (r < 0) {
		mem_free(k->left);
		k->left = NULL;
		if (r != -ENOENT)
			log_warn("ignoring previous state file: %s", err_why());
	}
	return 0;
}

static void add_app(struct state *st, const char *app, bool client, bool bridge, pid_t pid)
{
	struct state_app *a = &st->apps[st->n_apps];

	if (!*app || st->n_apps == STATE_APPS_MAX)
		return;
	snprintf(a->app, sizeof(a->app), "%s", app);
	a->client = client;
	a->bridge = bridge;
	a->proc = state_proc_of(pid);
	st->n_apps++;
}

static void collect(struct supervisor *k, struct state *st)
{
	struct roudi_info info;
	const struct client *cl;
	const struct reaper *p;
	const struct remains *m;
	const struct wait *w;
	char app[CLIENT_PLANE_MAX];

	roudi_info(k->roudi, &info);
	snprintf(st->simd_app, sizeof(st->simd_app), "%s", k->runtime_name);
	st->simd = state_proc_of(getpid());
	st->generation = info.generation;
	st->roudi = info.proc;
	st->roudi_owned = info.owned;
	st->roudi_hash = info.config_hash;
	list_for_each(cl, &k->s->clients, link) {
		client_plane_name_of(cl, app);
		if (cl->role != CLIENT_TOOL)
			add_app(st, app, true, cl->bridge != NULL, cl->pid);
	}
	list_for_each(p, &k->s->reapers, link) {
		list_for_each(m, &p->remains, link)
			add_app(st, m->app, false, false, p->pid);
	}
	/* not exited yet: still to be freed, should simd be killed again */
	list_for_each(w, &k->waits, link)
		add_app(st, w->app.app, false, w->app.bridge && !w->idle, w->app.proc.pid);
	st->n_children = processes_children(k->processes, st->children, STATE_CHILDREN_MAX);
}

void supervisor_save_state(struct supervisor *k)
{
	struct state *st = MEM_NEW(struct state);

	exec_timer_cancel(&k->save_timer);
	if (!st || !k->roudi || !k->s) {
		mem_free(st);
		return;
	}
	collect(k, st);
	if (state_save(k->o.rt->state, st) < 0)
		log_warn("the state file cannot be written, so a new simd cannot take over from this one: %s",
			 err_why());
	mem_free(st);
}

void supervisor_child_started(void *arg)
{
	supervisor_save_state((struct supervisor *)arg);
}

void supervisor_on_save_timer(void *arg)
{
	supervisor_save_state((struct supervisor *)arg);
}

void supervisor_sessions_changed(void *user)
{
	struct supervisor *k = (struct supervisor *)user;

	if (k->roudi && !exec_timer_armed(&k->save_timer))
		exec_timer_at(&k->save_timer, exec_now(k->x) + SAVE_DELAY_DUR_NS);
}

void supervisor_remove_state(struct supervisor *k)
{
	if (k->s && !k->reexec) /* after a re-exec the next simd continues the generation numbers */
		(void)unlink(k->o.rt->state);
}

/* ---- taking over ---- */

static void free_dead(void *arg, const char *app)
{
	supervisor_free_swept((struct supervisor *)arg, app, false);
}

static void forget_dead(void *arg, const char *app)
{
	supervisor_free_swept((struct supervisor *)arg, app, true);
}

/*
 * Frees clients that died between two simds and that neither had recorded: they died before they had sent their name,
 * or they now execute another program.
 */
void supervisor_on_sweep_timer(void *arg)
{
	roudi_dead_apps(((struct supervisor *)arg)->o.rt->plane, true, free_dead, arg);
}

void supervisor_sweep(void *user)
{
	struct supervisor *k = (struct supervisor *)user;

	if (!exec_timer_armed(&k->sweep_timer))
		exec_timer_at(&k->sweep_timer, exec_now(k->x) + DOUBT_DUR_NS);
}

static void free_old_simd(struct supervisor *k)
{
	const struct wait *w;

	if (k->old_app_freed || !k->left)
		return;
	list_for_each(w, &k->waits, link) {
		if (w->app.bridge && !w->idle && !w->old)
			return;
	}
	k->old_app_freed = true;
	log_info("freeing what the earlier simd (pid %d) held", (int)k->left->simd.pid);
	/* also those that were killed before they had sent their names */
	roudi_dead_apps(k->o.rt->plane, false, free_dead, k);
	if (k->left->simd_app[0])
		supervisor_free_app(k, k->left->simd_app, false);
}

static unsigned sessions_of(const struct simd *s, pid_t pid)
{
	const struct client *cl;
	unsigned n = 0;

	list_for_each(cl, &s->clients, link)
		n += cl->role != CLIENT_TOOL && cl->pid == pid;
	return n;
}

/* Whether that process has as many sessions as it had: it may have several clients. */
static bool is_back(const struct supervisor *k, pid_t pid)
{
	const struct wait *w;
	unsigned had = 0;

	list_for_each(w, &k->waits, link)
		had += w->app.client && w->app.proc.pid == pid;
	return sessions_of(k->s, pid) >= had;
}

bool supervisor_all_came_back(struct supervisor *k)
{
	struct wait *w;
	bool all = true;

	list_for_each(w, &k->waits, link) {
		w->back |= !w->app.client || is_back(k, w->app.proc.pid);
		all &= w->back;
	}
	return all || k->lives > 1;
}

void wait_free(struct wait *w)
{
	exec_io_del(&w->io);
	fd_close(w->pidfd);
	list_remove(&w->link);
	mem_free(w);
}

static void on_exit_fd(void *arg, uint32_t events)
{
	struct wait *w = (struct wait *)arg;

	(void)events;
	w->exited(w);
}

int wait_create(struct list *all, const struct wait *like, int fd)
{
	struct wait *w = MEM_NEW(struct wait);
	int r;

	if (!w)
		return -ENOMEM;
	*w = *like;
	r = exec_io_add(w->k->x, &w->io, fd, EPOLLIN, on_exit_fd, w);
	if (r < 0) {
		mem_free(w);
		return r;
	}
	w->pidfd = fd;
	list_append(all, &w->link);
	return 0;
}

static void on_app_exit(struct wait *w)
{
	struct supervisor *k = w->k;

	supervisor_free_app(k, w->app.app, w->old);
	wait_free(w);
	free_old_simd(k);
	supervisor_sessions_changed(k);
}

static void take_over_app(struct supervisor *k, const struct state_app *a, bool old)
{
	int fd = state_proc_open(&a->proc);

	if (fd < 0)
		supervisor_free_app(k, a->app, old);
	else if (wait_create(&k->waits, &(struct wait){ .k = k, .exited = on_app_exit, .app = *a, .old = old }, fd) < 0)
		fd_close(fd);
}

void supervisor_adopt(struct supervisor *k)
{
	struct roudi_info info;

	roudi_info(k->roudi, &info);
	if (!k->left || !info.adopted) { /* all ports went with their RouDi; only files of dead applications are left */
		k->old_app_freed = true;
		roudi_dead_apps(k->o.rt->plane, false, forget_dead, k);
		for (unsigned i = 0; k->left && i < k->left->n_apps; i++)
			take_over_app(k, &k->left->apps[i], true);
		return;
	}
	log_info("taking over from an earlier simd (pid %d): %u applications, generation %u of the data plane",
		 (int)k->left->simd.pid, k->left->n_apps, info.generation);
	exec_timer_at(&k->sweep_timer, exec_now(k->x) + SWEEP_DUR_NS);
	for (unsigned i = 0; i < k->left->n_apps; i++)
		take_over_app(k, &k->left->apps[i], false);
	free_old_simd(k);
}

void supervisor_bridge_idle(void *user, uint32_t id)
{
	struct supervisor *k = (struct supervisor *)user;
	const struct bridge *b;
	struct wait *w;

	list_for_each(b, &k->s->bridges, link) {
		if (b->id != id)
			continue;
		list_for_each(w, &k->waits, link) {
			if (w->app.proc.pid == b->pid)
				w->idle = true;
		}
	}
	free_old_simd(k);
}

void supervisor_forget_waits(struct supervisor *k)
{
	struct wait *w, *tmp;

	list_for_each_safe(w, tmp, &k->waits, link)
		wait_free(w);
}
