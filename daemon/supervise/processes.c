/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the rigs; contract in processes.h. Thread: simd-main. */
#include "processes.h"

#include "exec.h"
#include "err.h"
#include "list.h"
#include "mem.h"
#include "near.h"
#include "process.h"
#include "timeutil.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct member {
	struct list link; /* processes::members, in start order */
	struct processes *f;
	struct process p;
	enum processes_part part;
	int order;
	const char *rig;
	char **argv, **env; /* owned */
	const char *source; /* runs only while this time source is active; NULL: always */
	bool wanted;        /* of a driver: its source is active */
	bool stopped;
};

struct processes {
	struct exec *x;
	const struct conf *conf;
	const struct spawn_ops *ops;
	void *user;
	char *bin_dir, *socket;
	void (*started)(void *arg);
	void *started_arg;
	struct list members;
	bool stopping; /* no process is started any more */
	struct {
		bool active;
		enum processes_part part;
		void (*done)(void *arg);
		void *arg;
	} stop;
};

/* ---- argument and environment vectors ---- */

static void free_strings(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		mem_free(v[i]);
	mem_free(v);
}

/* A program of that name beside simd takes precedence over PATH: a build runs its own programs. */
static char *program_path(const struct processes *f, const char *name)
{
	char *path;

	if (!f->bin_dir || strchr(name, '/'))
		return mem_strdup(name);
	path = mem_printf("%s/%s", f->bin_dir, name);
	if (path && access(path, X_OK) == 0)
		return path;
	mem_free(path);
	return mem_strdup(name);
}

static int set_string(char **v, size_t i, char *s)
{
	v[i] = s;
	return s ? 0 : err_nomem();
}

static int bridge_argv(struct member *m, const char *name)
{
	int r;

	m->argv = (char **)mem_calloc(3, sizeof(*m->argv));
	if (!m->argv)
		return err_nomem();
	r = set_string(m->argv, 0, program_path(m->f, conf_string(conf_root(m->f->conf), "bridge.program")));
	return r < 0 ? r : set_string(m->argv, 1, mem_strdup(name));
}

static int process_argv(struct member *m, struct conf_view v)
{
	size_t n = conf_count(v, "command");
	int r = 0;

	m->argv = (char **)mem_calloc(n + 1, sizeof(*m->argv));
	if (!m->argv)
		return err_nomem();
	for (size_t i = 0; r == 0 && i < n; i++) {
		const char *arg = conf_string_at(v, "command", i);

		r = set_string(m->argv, i, i ? mem_strdup(arg) : program_path(m->f, arg));
	}
	return r;
}

/* env: the configured object; NULL: none. */
static int make_env(struct member *m, json_t *env)
{
	size_t i = 0, n = env ? json_object_size(env) : 0;
	const char *key;
	json_t *v;
	int r;

	m->env = (char **)mem_calloc(n + 3, sizeof(*m->env));
	if (!m->env)
		return err_nomem();
	r = set_string(m->env, i++, mem_printf("SIMD_SOCKET=%s", m->f->socket));
	if (r == 0) /* allows more generations of the data plane in one process; see ipc.h */
		r = set_string(m->env, i++, mem_strdup("GLIBC_TUNABLES=glibc.rtld.nns=16"));
	json_object_foreach(env, key, v) {
		const char *s = json_string_value(v);

		if (r == 0)
			r = set_string(m->env, i++, s ? mem_printf("%s=%s", key, s) : mem_strdup(key));
	}
	return r;
}

/* ---- members ---- */

static void check_stopped(struct processes *f)
{
	void (*done)(void *) = f->stop.done;
	struct member *m;

	if (!f->stop.active)
		return;
	list_for_each(m, &f->members, link) {
		if (m->part == f->stop.part && !m->stopped)
			return;
	}
	f->stop.active = false;
	done(f->stop.arg);
}

static void on_started(void *arg)
{
	const struct processes *f = ((struct member *)arg)->f;

	if (f->started)
		f->started(f->started_arg);
}

static void on_ended(void *arg, int status)
{
	struct member *m = (struct member *)arg;

	(void)status;
	m->stopped = m->f->stop.active && m->part == m->f->stop.part;
	if (m->wanted && !m->f->stopping) /* its source was deselected and selected again while it ended */
		process_start(&m->p);
	check_stopped(m->f);
}

static void member_free(struct member *m)
{
	process_finish(&m->p);
	list_remove(&m->link);
	free_strings(m->argv);
	free_strings(m->env);
	mem_free(m);
}

/* Order: bridges before processes, processes by "order", otherwise as configured. */
static void insert(struct processes *f, struct member *m)
{
	struct member *k;

	list_for_each(k, &f->members, link) {
		if (k->part == PART_PROCESSES && (m->part == PART_BRIDGES || k->order > m->order)) {
			list_insert(k->link.prev, &m->link);
			return;
		}
	}
	list_append(&f->members, &m->link);
}

/* What a process is made from: an entry of a rig, or the driver of a time source. */
struct entry {
	enum processes_part part;
	const char *rig;    /* NULL: belongs to no rig */
	const char *source; /* NULL: always runs */
	const char *name, *dir;
	struct conf_view view;
	json_t *env; /* the configured object; NULL: none */
	int order;
	enum process_restart restart;
	uint32_t restart_limit;
};

static void member_start_rules(struct member *m, const struct entry *e)
{
	struct conf_view v = conf_object(conf_root(m->f->conf), "process");
	struct process_options o = {
		.name = e->name,
		.spawn = { .argv = (const char *const *)m->argv, .env = (const char *const *)m->env, .dir = e->dir },
		.restart = e->restart,
		.restart_dur_ns = conf_int(v, "restart_ms") * NS_PER_MS,
		.restart_max_dur_ns = conf_int(v, "restart_max_ms") * NS_PER_MS,
		.stop_dur_ns = conf_int(v, "stop_ms") * NS_PER_MS,
		.give_up = (uint32_t)conf_int(v, "give_up"),
		.restart_limit = e->restart_limit,
		.keep = e->part == PART_PROCESSES,
		.started = on_started,
		.ended = on_ended,
		.arg = m,
	};

	process_init(&m->p, m->f->x, m->f->ops, m->f->user, &o);
}

static int add(struct processes *f, const struct entry *e)
{
	struct member *m = MEM_NEW(struct member);
	int r;

	if (!m)
		return err_nomem();
	m->f = f;
	m->part = e->part;
	m->rig = e->rig;
	m->source = e->source;
	m->order = e->order;
	list_init(&m->link);
	r = e->part == PART_BRIDGES ? bridge_argv(m, e->name) : process_argv(m, e->view);
	if (r == 0)
		r = make_env(m, e->env);
	if (r < 0) {
		member_free(m);
		return r;
	}
	member_start_rules(m, e);
	insert(f, m);
	return 0;
}

static int add_bridge(struct processes *f, const char *rig, struct conf_view v)
{
	if (conf_choice(v, "start") == 1)
		return 0;
	return add(f, &(struct entry){ .part = PART_BRIDGES,
				       .rig = rig,
				       .name = conf_string(v, "name"),
				       .dir = conf_string(conf_root(f->conf), "bridge.dir"),
				       .restart = PROCESS_ALWAYS });
}

static int add_process(struct processes *f, const char *rig, struct conf_view v)
{
	return add(f, &(struct entry){ .part = PART_PROCESSES,
				       .rig = rig,
				       .name = conf_string(v, "name"),
				       .dir = conf_string(v, "dir"),
				       .view = v,
				       .env = conf_any(v, "env"),
				       .order = (int)conf_int(v, "order"),
				       .restart = (enum process_restart)conf_choice(v, "restart"),
				       .restart_limit = (uint32_t)conf_int(v, "restart_limit") });
}

/* Adds the process that drives a time source with a foreign protocol. It belongs to no rig. */
static int add_driver(struct processes *f, const char *source)
{
	struct conf_view v = conf_object(conf_root(f->conf), source);

	if (conf_count(v, "command") == 0)
		return 0;
	return add(f, &(struct entry){ .part = PART_PROCESSES,
				       .source = source,
				       .name = source,
				       .view = v,
				       .restart = PROCESS_ALWAYS });
}

static int add_rig(struct processes *f, struct conf_view rig)
{
	const char *name = conf_string(rig, "name");
	int r = 0;

	for (size_t i = 0; r == 0 && i < conf_count(rig, "bridges"); i++)
		r = add_bridge(f, name, conf_item(rig, "bridges", i));
	for (size_t i = 0; r == 0 && i < conf_count(rig, "processes"); i++)
		r = add_process(f, name, conf_item(rig, "processes", i));
	return r;
}

/* ---- the processes ---- */

int processes_create(const struct processes_options *o, struct processes **ret)
{
	struct conf_view root = conf_root(o->conf);
	struct processes *f = MEM_NEW(struct processes);
	int r = 0;

	if (!f)
		return err_nomem();
	f->x = o->x;
	f->conf = o->conf;
	f->ops = o->ops;
	f->user = o->user;
	f->started = o->started;
	f->started_arg = o->arg;
	list_init(&f->members);
	f->bin_dir = mem_strdup(o->bin_dir);
	f->socket = mem_strdup(o->socket);
	if (!f->socket || (o->bin_dir && !f->bin_dir))
		r = err_nomem();
	for (size_t i = 0; r == 0 && i < conf_count(root, "rigs"); i++)
		r = add_rig(f, conf_item(root, "rigs", i));
	if (r == 0)
		r = add_driver(f, "ss2");
	if (r < 0) {
		processes_destroy(f);
		return r;
	}
	*ret = f;
	return 0;
}

void processes_destroy(struct processes *f)
{
	struct member *m, *tmp;

	if (!f)
		return;
	f->stop.active = false;
	list_for_each_safe(m, tmp, &f->members, link)
		member_free(m);
	mem_free(f->bin_dir);
	mem_free(f->socket);
	mem_free(f);
}

void processes_start(struct processes *f)
{
	struct member *m;

	list_for_each(m, &f->members, link) {
		if (!m->source)
			process_start(&m->p);
	}
}

void processes_source(struct processes *f, const char *name)
{
	struct member *m;

	list_for_each(m, &f->members, link) {
		if (!m->source || f->stopping)
			continue;
		m->wanted = strcmp(m->source, name) == 0;
		if (m->wanted)
			process_start(&m->p);
		else
			process_stop(&m->p);
	}
}

void processes_stop(struct processes *f, enum processes_part part, void (*done)(void *arg), void *arg)
{
	struct list *l, *prev;

	f->stopping = true;
	f->stop.active = true;
	f->stop.part = part;
	f->stop.done = done;
	f->stop.arg = arg;
	for (l = f->members.prev; l != &f->members; l = prev) {
		struct member *m = list_entry(l, struct member, link);

		prev = l->prev;
		if (m->part == part)
			process_stop(&m->p);
	}
	check_stopped(f);
}

unsigned processes_children(const struct processes *f, struct state_proc *ret, unsigned max)
{
	const struct member *m;
	unsigned n = 0;

	list_for_each(m, &f->members, link) {
		if (n < max && process_alive(&m->p))
			ret[n++] = state_proc_of(m->p.child.pid);
	}
	return n;
}

/* ---- for the registry ---- */

static struct member *find_bridge(const struct processes *f, const char *name)
{
	struct member *m;

	list_for_each(m, &f->members, link) {
		if (m->part == PART_BRIDGES && strcmp(m->p.o.name, name) == 0)
			return m;
	}
	return NULL;
}

bool processes_bridge_kill(struct processes *f, const char *name, const char *why, bool now)
{
	struct member *m = find_bridge(f, name);

	if (m && now)
		process_kill(&m->p, why);
	else if (m)
		process_expect_end(&m->p, why);
	return m != NULL;
}

int processes_bridge_restart(struct processes *f, const char *name)
{
	struct member *m = find_bridge(f, name);

	if (!m)
		return err_set(-EOPNOTSUPP, "bridge %s is started by its own unit, not by simd; restart it there",
			       name);
	process_again(&m->p);
	return 0;
}

uint32_t processes_bridge_restarts(const struct processes *f, const char *name)
{
	const struct member *m = find_bridge(f, name);

	return m ? m->p.restarts : 0;
}

const char *processes_bridge_permanent(const struct processes *f, const char *name)
{
	const struct member *m = find_bridge(f, name);

	return m && m->p.permanent[0] ? m->p.permanent : NULL;
}

int processes_restart(struct processes *f, const char *name)
{
	struct near n = { .word = name };
	char text[NEAR_TEXT_MAX];
	struct member *m;

	list_for_each(m, &f->members, link) {
		if (m->part == PART_PROCESSES)
			near_offer(&n, m->p.o.name);
		if (m->part != PART_PROCESSES || strcmp(m->p.o.name, name) != 0)
			continue;
		if (m->p.state == PROCESS_IDLE)
			return err_set(-EOPNOTSUPP,
				       "process %s is stopped: its time source is not active, or simd is stopping",
				       name);
		process_again(&m->p);
		return 0;
	}
	return err_set(-ENOENT, "no rig has a process \"%.60s\"; %s", name,
		       near_text(&n, "`simctl config` lists the processes", text));
}

json_t *processes_given_up(const struct processes *f)
{
	json_t *a = json_array();
	const struct member *m;

	list_for_each(m, &f->members, link) {
		if (m->part == PART_PROCESSES && m->p.permanent[0])
			json_array_append_new(a, json_pack("{s:s, s:s}", "name", m->p.o.name, "why", m->p.permanent));
	}
	return a;
}

/*
 * The process with that pid, or with a near ancestor of it: a configured command may be a script that starts the
 * program.
 */
static const struct member *member_of(const struct processes *f, pid_t pid)
{
	for (int depth = 0; depth < 4 && pid > 1; depth++, pid = state_proc_parent(pid)) {
		const struct member *m;

		list_for_each(m, &f->members, link) {
			if (m->p.child.pid == pid)
				return m;
		}
	}
	return NULL;
}

const char *processes_rig_of(const struct processes *f, pid_t pid)
{
	const struct member *m = member_of(f, pid);

	return m ? m->rig : NULL;
}

const char *processes_name_of(const struct processes *f, pid_t pid)
{
	const struct member *m = member_of(f, pid);

	return m ? m->p.o.name : NULL;
}

int processes_bridge_may(const struct processes *f, const char *name, pid_t pid)
{
	const struct member *m = find_bridge(f, name);

	if (!m || member_of(f, pid) == m)
		return 0;
	if (!process_alive(&m->p))
		return err_set(-EPERM, "bridge %s is started by simd; process %d was not started for it", name,
			       (int)pid);
	return err_set(-EPERM, "bridge %s is started by simd, as process %d; process %d was not started for it", name,
		       (int)m->p.child.pid, (int)pid);
}
