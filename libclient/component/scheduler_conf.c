/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's configuration, in JSON with Cyber's keys. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "err.h"
#include "mem.h"
#include "scheduler_private.h"

#define CONF_MAX    (256u * 1024)
#define THREADS_MAX 64u /* most of them do not exist here */

/* ---- notes ---- */

/* Whether `line` is already a line of that text. */
static bool is_said(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
		if ((at == text || at[-1] == '\n') && (at[len] == '\n' || !at[len]))
			return true;
	return false;
}

void sched_note(struct sched_said *to, const char *fmt, ...)
{
	static const char more[] = "\nand more";
	size_t n = strlen(to->text), room = sizeof(to->text) - sizeof(more) - n;
	char one[256];
	va_list ap;

	if (to->full)
		return;
	va_start(ap, fmt);
	vsnprintf(one, sizeof(one), fmt, ap);
	va_end(ap);
	if (is_said(to->text, one))
		return;
	to->full = strlen(one) + 2 >= room;
	if (to->full)
		memcpy(to->text + n, more, sizeof(more));
	else
		snprintf(to->text + n, room, "%s%s", n ? "\n" : "", one);
}

/* ---- reading an object ---- */

/* The key path so far, for error sentences: "classic_conf.groups[1].tasks[0]". */
struct at {
	char path[160];
};

static struct at at_key(const struct at *up, const char *key)
{
	struct at a;

	snprintf(a.path, sizeof(a.path), "%.100s%s%.48s", up->path, *up->path ? "." : "", key);
	return a;
}

static struct at at_item(const struct at *up, const char *key, size_t i)
{
	struct at a;

	snprintf(a.path, sizeof(a.path), "%.90s%s%.40s[%zu]", up->path, *up->path ? "." : "", key, i);
	return a;
}

static int check_keys(const json_t *o, const struct at *a, const char *const *known)
{
	const char *key;
	json_t *v;
	json_t *w = (json_t *)(uintptr_t)o;

	if (!json_is_object(o))
		return err_set(-EINVAL, "%s: an object is expected", *a->path ? a->path : "the configuration");
	json_object_foreach(w, key, v) {
		const char *const *k = known;

		while (*k && strcmp(*k, key) != 0)
			k++;
		if (!*k)
			return err_set(-EINVAL, "%s: unknown key", at_key(a, key).path);
	}
	return 0;
}

static int get_string(const json_t *o, const struct at *a, const char *key, const char *def, const char **ret)
{
	const json_t *v = json_object_get(o, key);

	*ret = v ? json_string_value(v) : def;
	if (v && !*ret)
		return err_set(-EINVAL, "%s: a string is expected", at_key(a, key).path);
	return 0;
}

static int get_int(const json_t *o, const struct at *a, const char *key, int min, int max, int def, int *ret)
{
	const json_t *v = json_object_get(o, key);
	json_int_t n = v ? json_integer_value(v) : def;

	if (v && (!json_is_integer(v) || n < min || n > max))
		return err_set(-EINVAL, "%s: a whole number from %d to %d is expected", at_key(a, key).path, min, max);
	*ret = (int)n;
	return 0;
}

static int get_cpus(struct sched_conf *c, const json_t *o, const struct at *a, const char *key, struct sched_cpus *ret)
{
	const char *s;
	int r = get_string(o, a, key, "", &s);

	*ret = (struct sched_cpus){ .n = 0 };
	if (r < 0 || !*s)
		return r;
	r = sched_cpus_parse(s, ret);
	if (r > 0)
		sched_note(&c->notes, "%s: there is no CPU beyond %d, left out", at_key(a, key).path, CPU_SETSIZE - 1);
	return r < 0 ? err_prefix(r, "%s", at_key(a, key).path) : 0;
}

static int get_array(const json_t *o, const struct at *a, const char *key, size_t max, const json_t **ret)
{
	const json_t *v = json_object_get(o, key);

	*ret = v;
	if (v && (!json_is_array(v) || json_array_size(v) > max))
		return err_set(-EINVAL, "%s: a list of at most %zu is expected", at_key(a, key).path, max);
	return 0;
}

/* ---- groups ---- */

/* Names of the keys of a group's threads; with choreography they begin with "choreography_" or "pool_". */
struct group_keys {
	const char *workers, *affinity, *cpus, *policy, *prio;
};

static int get_prio(struct sched_conf *c, const json_t *o, const struct at *a, const struct group_keys *k,
		    struct sched_place *ret)
{
	bool is_other = ret->policy == SCHED_OTHER;
	int min = is_other ? -20 : 1, max = is_other ? 19 : 99, prio = 0;
	int r = get_int(o, a, k->prio, INT_MIN, INT_MAX, is_other ? 0 : 1, &prio);

	if (r < 0)
		return r;
	ret->prio = prio < min ? min : prio > max ? max : prio;
	if (ret->prio == prio)
		return 0;
	if (!is_other)
		*ret = (struct sched_place){ .cpus = ret->cpus, .policy = SCHED_OTHER };
	sched_note(&c->notes, "%s: %d is none of %d to %d; %s, as in Cyber", at_key(a, k->prio).path, prio, min, max,
		   is_other ? "the nearest is taken" : "SCHED_OTHER is taken");
	return 0;
}

static int get_policy(struct sched_conf *c, const json_t *o, const struct at *a, const struct group_keys *k,
		      struct sched_place *ret)
{
	static const struct {
		const char *name;
		int policy;
	} policies[] = { { "SCHED_OTHER", SCHED_OTHER }, { "SCHED_FIFO", SCHED_FIFO }, { "SCHED_RR", SCHED_RR } };
	const char *s;
	int r = get_string(o, a, k->policy, "SCHED_OTHER", &s);

	for (size_t i = 0; r == 0 && i < sizeof(policies) / sizeof(policies[0]); i++)
		if (!strcmp(s, policies[i].name)) {
			ret->policy = policies[i].policy;
			return get_prio(c, o, a, k, ret);
		}
	if (r == 0 && *s)
		sched_note(&c->notes, "%s: \"%.40s\" is unknown; SCHED_OTHER is taken, as in Cyber",
			   at_key(a, k->policy).path, s);
	return r;
}

/* If there are too few CPUs for one per thread, the threads share them. */
static void fit_one_to_one(struct sched_conf *c, const struct at *a, const struct group_keys *k,
			   struct sched_group_conf *g)
{
	if (!g->one_to_one || g->place.cpus.n >= g->workers)
		return;
	g->one_to_one = false;
	sched_note(&c->notes, "%s: 1to1 needs a CPU for each of %u threads, and %s has %u: they %s",
		   at_key(a, k->affinity).path, g->workers, k->cpus, g->place.cpus.n,
		   g->place.cpus.n ? "share these" : "run on any CPU");
}

static int get_affinity(struct sched_conf *c, const json_t *o, const struct at *a, const struct group_keys *k,
			struct sched_group_conf *g)
{
	const char *s = "";
	int r = get_cpus(c, o, a, k->cpus, &g->place.cpus);

	if (r == 0)
		r = get_string(o, a, k->affinity, "range", &s);
	if (r < 0)
		return r;
	g->one_to_one = !strcmp(s, "1to1");
	if (!g->one_to_one && strcmp(s, "range") != 0) {
		if (*s || g->place.cpus.n)
			sched_note(&c->notes,
				   "%s: \"%.40s\" is neither range nor 1to1: its threads run on any CPU, as in Cyber",
				   at_key(a, k->affinity).path, s);
		g->place.cpus.n = 0;
	}
	fit_one_to_one(c, a, k, g);
	return 0;
}

static int get_group(struct sched_conf *c, const json_t *o, const struct at *a, const struct group_keys *k,
		     int def_workers, struct sched_group_conf *g)
{
	int n = 0, r = get_int(o, a, k->workers, 0, (int)SCHED_WORKERS_MAX, def_workers, &n);

	if (r < 0)
		return r;
	g->workers = (uint32_t)(n ? n : def_workers); /* 0 means the default, as in Cyber */
	r = get_affinity(c, o, a, k, g);
	return r < 0 ? r : get_policy(c, o, a, k, &g->place);
}

/* ---- tasks ---- */

/* If several tasks have one name, the last counts, as in Cyber. */
static int put_task(struct sched_conf *c, const char *name, const struct at *a, uint32_t group, uint32_t prio)
{
	uint32_t i = 0;

	while (i < c->n_tasks && strcmp(c->tasks[i].name, name) != 0)
		i++;
	if (i < c->n_tasks) {
		sched_note(&c->notes, "%s: task \"%.80s\" is listed twice; the last entry counts", a->path, name);
		c->tasks[i].group = group;
		c->tasks[i].prio = prio;
		return 0;
	}
	if (c->n_tasks == SCHED_TASKS_MAX)
		return err_set(-EINVAL, "%s: more than %u tasks", a->path, SCHED_TASKS_MAX);
	c->tasks[i] = (struct sched_task_conf){ mem_strdup(name), group, prio };
	return c->tasks[c->n_tasks++].name ? 0 : err_nomem();
}

static int add_task(struct sched_conf *c, const json_t *o, const struct at *a, uint32_t group)
{
	const char *name = NULL;
	int prio = 0, r = get_string(o, a, "name", NULL, &name);

	if (r == 0 && (!name || !*name))
		r = err_set(-EINVAL, "%s.name: missing", a->path);
	if (r == 0)
		r = get_int(o, a, "prio", 0, 1000000, 1, &prio);
	if (r < 0)
		return r;
	if (prio >= (int)SCHED_PRIOS) {
		sched_note(&c->notes, "%s.prio: %d is taken as %u, the highest", a->path, prio, SCHED_PRIOS - 1);
		prio = (int)SCHED_PRIOS - 1;
	}
	return put_task(c, name, a, group, (uint32_t)prio);
}

/* ---- classic ---- */

static int classic_tasks(struct sched_conf *c, const json_t *o, const struct at *a, uint32_t group)
{
	static const char *const keys[] = { "name", "prio", NULL };
	const json_t *tasks;
	int r = get_array(o, a, "tasks", SCHED_TASKS_MAX, &tasks);

	for (size_t i = 0; r == 0 && i < json_array_size(tasks); i++) {
		struct at t = at_item(a, "tasks", i);
		const json_t *task = json_array_get(tasks, i);

		r = check_keys(task, &t, keys);
		if (r == 0)
			r = add_task(c, task, &t, group);
	}
	return r;
}

/* Returns its number. Groups of the same name are one group in Cyber: their threads take from one queue. */
static uint32_t put_group(struct sched_conf *c, const struct at *a, const struct group_keys *k,
			  const struct sched_group_conf *g)
{
	uint32_t i = 0;
	struct sched_group_conf *old;

	while (i < c->n_groups && strcmp(c->groups[i].name, g->name) != 0)
		i++;
	if (i == c->n_groups) {
		c->groups[c->n_groups++] = *g;
		return i;
	}
	old = &c->groups[i];
	old->workers = old->workers + g->workers < SCHED_WORKERS_MAX ? old->workers + g->workers : SCHED_WORKERS_MAX;
	sched_note(&c->notes, "%s: group \"%s\" is there already, and gets its threads and tasks", a->path, g->name);
	fit_one_to_one(c, a, k, old);
	return i;
}

static int classic_group(struct sched_conf *c, const json_t *o, const struct at *a, int def_workers)
{
	static const char *const keys[] = { "name",  "processor_num",    "affinity",       "cpuset",
					    "tasks", "processor_policy", "processor_prio", NULL };
	static const struct group_keys k = { "processor_num", "affinity", "cpuset", "processor_policy",
					     "processor_prio" };
	struct sched_group_conf g = { .workers = 0 };
	const char *name = "";
	int r = check_keys(o, a, keys);

	if (r == 0)
		r = get_string(o, a, "name", "", &name);
	if (r == 0 && strlen(name) > SCHED_NAME_MAX)
		r = err_set(-EINVAL, "%s.name: at most %d characters are expected", a->path, SCHED_NAME_MAX);
	if (r < 0)
		return r;
	snprintf(g.name, sizeof(g.name), "%s", *name ? name : "default_grp");
	r = get_group(c, o, a, &k, def_workers, &g);
	return r < 0 ? r : classic_tasks(c, o, a, put_group(c, a, &k, &g));
}

static int read_classic(struct sched_conf *c, const json_t *o, const struct at *a, int def_workers)
{
	static const char *const keys[] = { "groups", NULL };
	const json_t *groups = NULL;
	int r = o ? check_keys(o, a, keys) : 0;

	if (r == 0 && o)
		r = get_array(o, a, "groups", SCHED_GROUPS_MAX, &groups);
	for (size_t i = 0; r == 0 && i < json_array_size(groups); i++) {
		struct at g = at_item(a, "groups", i);

		r = classic_group(c, json_array_get(groups, i), &g, def_workers);
	}
	if (r == 0 && c->n_groups == 0) {
		json_t *none = json_object();

		r = classic_group(c, none, a, def_workers);
		json_decref(none);
	}
	return r;
}

/* ---- choreography ---- */

static int choreography_tasks(struct sched_conf *c, const json_t *o, const struct at *a, uint32_t processors)
{
	static const char *const keys[] = { "name", "processor", "prio", NULL };
	const json_t *tasks;
	int processor = 0, r = get_array(o, a, "tasks", SCHED_TASKS_MAX, &tasks);

	for (size_t i = 0; r == 0 && i < json_array_size(tasks); i++) {
		struct at t = at_item(a, "tasks", i);
		const json_t *task = json_array_get(tasks, i);

		r = check_keys(task, &t, keys);
		if (r == 0)
			r = get_int(task, &t, "processor", 0, 1000000, 1000000, &processor);
		if (r == 0)
			r = add_task(c, task, &t, (uint32_t)processor < processors ? (uint32_t)processor : processors);
	}
	return r;
}

/* Each processor is a group of one thread; the pool is the last group. */
static void spread(struct sched_conf *c, const struct sched_group_conf *all)
{
	size_t cpu = SIZE_MAX;

	for (uint32_t i = 0; i < all->workers; i++) {
		struct sched_group_conf *g = &c->groups[i];

		*g = *all;
		g->workers = 1;
		snprintf(g->name, sizeof(g->name), "processor %u", i);
		if (!all->one_to_one)
			continue;
		do
			cpu++;
		while (!CPU_ISSET(cpu, &all->place.cpus.set));
		CPU_ZERO(&g->place.cpus.set);
		CPU_SET(cpu, &g->place.cpus.set);
		g->place.cpus.n = 1;
	}
	c->n_groups = all->workers;
}

static int read_choreography(struct sched_conf *c, const json_t *o, const struct at *a, int def_workers)
{
	static const struct group_keys own = { "choreography_processor_num", "choreography_affinity",
					       "choreography_cpuset", "choreography_processor_policy",
					       "choreography_processor_prio" };
	static const struct group_keys pool = { "pool_processor_num", "pool_affinity", "pool_cpuset",
						"pool_processor_policy", "pool_processor_prio" };
	static const char *const keys[] = { "choreography_processor_num",
					    "choreography_affinity",
					    "choreography_cpuset",
					    "choreography_processor_policy",
					    "choreography_processor_prio",
					    "pool_processor_num",
					    "pool_affinity",
					    "pool_cpuset",
					    "pool_processor_policy",
					    "pool_processor_prio",
					    "tasks",
					    NULL };
	struct sched_group_conf all = { .workers = 0 }, *p;
	json_t *none = json_object();
	int r = check_keys(o = o ? o : none, a, keys);

	if (r == 0)
		r = get_group(c, o, a, &own,
			      def_workers < (int)SCHED_GROUPS_MAX ? def_workers : (int)SCHED_GROUPS_MAX - 1, &all);
	if (r == 0 && all.workers >= SCHED_GROUPS_MAX)
		r = err_set(-EINVAL, "%s: at most %u processors", at_key(a, own.workers).path, SCHED_GROUPS_MAX - 1);
	if (r == 0) {
		spread(c, &all);
		p = &c->groups[c->n_groups];
		snprintf(p->name, sizeof(p->name), "pool");
		r = get_group(c, o, a, &pool, def_workers, p);
	}
	if (r == 0) {
		c->others = c->n_groups++;
		r = choreography_tasks(c, o, a, c->others);
	}
	json_decref(none);
	return r;
}

/* ---- inner threads ---- */

static const struct {
	const char *name;
	bool have;
} inner[] = { { "shm", true }, { "shm_disp", true }, { "timer", false }, { "async_log", false } };

#define INNER (sizeof(inner) / sizeof(inner[0]))

static int add_thread(struct sched_conf *c, const json_t *o, const struct at *a)
{
	static const char *const keys[] = { "name", "cpuset", "policy", "prio", NULL };
	static const struct group_keys k = { NULL, NULL, "cpuset", "policy", "prio" };
	struct sched_place place = { .policy = SCHED_OTHER };
	const char *name = NULL;
	size_t i = 0;
	int r = check_keys(o, a, keys);

	if (r == 0)
		r = get_string(o, a, "name", "", &name);
	if (r == 0)
		r = get_cpus(c, o, a, k.cpus, &place.cpus);
	if (r == 0)
		r = get_policy(c, o, a, &k, &place);
	if (r < 0)
		return r;
	while (i < INNER && strcmp(inner[i].name, name) != 0)
		i++;
	if (i == INNER || !inner[i].have)
		sched_note(&c->notes, "%s: there is no thread %.60s to put anywhere, ignored", a->path, name);
	else if (c->has_intake)
		sched_note(&c->notes, "%s: thread shm is there already, ignored", a->path);
	else
		c->intake = place;
	c->has_intake |= i < INNER && inner[i].have;
	return 0;
}

static int read_threads(struct sched_conf *c, const json_t *o, const struct at *a)
{
	const json_t *threads;
	int r = get_array(o, a, "threads", THREADS_MAX, &threads);

	for (size_t i = 0; r == 0 && i < json_array_size(threads); i++) {
		struct at t = at_item(a, "threads", i);

		r = add_thread(c, json_array_get(threads, i), &t);
	}
	return r;
}

/* ---- the whole configuration ---- */

/* One worker for each CPU that this process may use, at most SCHED_WORKERS_MAX. */
static int default_workers(const struct sched_conf *c)
{
	uint32_t n = c->process.n ? c->process.n : sched_cpu_count();

	return (int)(n < SCHED_WORKERS_MAX ? n : SCHED_WORKERS_MAX);
}

static int read_top(struct sched_conf *c, const json_t *o, const struct at *top, const char **ret_policy,
		    int *ret_workers)
{
	static const char *const keys[] = { "policy",  "routine_num",  "default_proc_num",  "process_level_cpuset",
					    "threads", "classic_conf", "choreography_conf", NULL };
	int n, r = check_keys(o, top, keys);

	if (r == 0)
		r = get_string(o, top, "policy", "classic", ret_policy);
	if (r == 0)
		r = get_cpus(c, o, top, "process_level_cpuset", &c->process);
	if (r == 0)
		r = get_int(o, top, "default_proc_num", 1, (int)SCHED_WORKERS_MAX, default_workers(c), ret_workers);
	if (r == 0)
		r = get_int(o, top, "routine_num", 0, INT_MAX, 0, &n);
	if (r == 0 && json_object_get(o, "routine_num"))
		sched_note(&c->notes, "routine_num: there are no coroutines, ignored");
	return r < 0 ? r : read_threads(c, o, top);
}

static int read_all(struct sched_conf *c, const json_t *o)
{
	const struct at top = { "" };
	const char *policy = "";
	int workers = 0, r = read_top(c, o, &top, &policy, &workers);

	if (r < 0)
		return r;
	c->choreography = strcmp(policy, "choreography") == 0;
	if (c->choreography) {
		struct at a = { "choreography_conf" };

		return read_choreography(c, json_object_get(o, "choreography_conf"), &a, workers);
	}
	if (strcmp(policy, "classic") != 0)
		sched_note(&c->notes, "policy: \"%.40s\" is unknown; classic is taken, as in Cyber", policy);
	return read_classic(c, json_object_get(o, "classic_conf"), &(struct at){ "classic_conf" }, workers);
}

int sched_conf_read(const char *json, struct sched_conf **ret)
{
	struct sched_conf *c;
	json_error_t e;
	json_t *o;
	int r;

	if (json && strlen(json) > CONF_MAX)
		return err_set(-EINVAL, "the configuration has more than %u bytes", CONF_MAX);
	o = json_loads(json ? json : "{}", JSON_REJECT_DUPLICATES, &e);
	if (!o)
		return err_set(-EINVAL, "line %d: %s", e.line, e.text);
	c = MEM_NEW(struct sched_conf);
	r = c ? 0 : err_nomem();
	if (c) {
		c->groups = mem_calloc(SCHED_GROUPS_MAX, sizeof(*c->groups));
		c->tasks = mem_calloc(SCHED_TASKS_MAX, sizeof(*c->tasks));
		r = c->groups && c->tasks ? read_all(c, o) : err_nomem();
	}
	json_decref(o);
	if (r < 0) {
		sched_conf_destroy(c);
		return r;
	}
	*ret = c;
	return 0;
}

static int fit_group(struct sched_conf *c, struct sched_group_conf *g)
{
	char what[32 + SCHED_NAME_MAX];
	int r;

	snprintf(what, sizeof(what), "cpuset of group %s", g->name);
	r = sched_cpus_fit(&g->place.cpus, what, &c->notes);
	if (r == 0 && g->one_to_one && g->place.cpus.n < g->workers) {
		g->one_to_one = false;
		sched_note(&c->notes, "affinity of group %s: its %u threads share these, as with range", g->name,
			   g->workers);
	}
	return r;
}

int sched_conf_fit(struct sched_conf *c)
{
	int r = sched_cpus_fit(&c->process, "process_level_cpuset", &c->notes);

	for (uint32_t i = 0; i < c->n_groups && r == 0; i++)
		r = fit_group(c, &c->groups[i]);
	return r < 0 ? r : sched_cpus_fit(&c->intake.cpus, "cpuset of thread shm", &c->notes);
}

const char *sched_conf_notes(const struct sched_conf *c)
{
	return c->notes.text;
}

void sched_conf_destroy(struct sched_conf *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n_tasks; i++)
		mem_free(c->tasks[i].name);
	mem_free(c->groups);
	mem_free(c->tasks);
	mem_free(c);
}
