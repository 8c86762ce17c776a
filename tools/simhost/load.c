/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock: load::lock protects the list. A component that is being created, ended or replaced is marked busy: only the
 * thread that does so uses it, and others see only what is being done and since when.
 */
#include "load.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "crash.h"
#include "dag_check.h"
#include "err.h"
#include "library.h"
#include "log.h"
#include "mem.h"
#include "timeutil.h"

LOG_TOPIC("simhost");

struct loaded {
	const struct dag *dag;
	const struct dag_component *d;
	struct library *library;
	struct sim_component *c; /* NULL: not created, or a reload failed */
	enum load_work work;     /* if not LOAD_NOTHING, other threads must not use c; guarded by load::lock */
	int64_t since_mono_ns;   /* start of `work`; guarded by load::lock */
};

struct load {
	struct sim_host *h;
	pthread_mutex_t lock;
	struct loaded *at; /* guarded by lock */
	unsigned n;
	_Atomic bool whole;
};

/* ---- what is done to one ---- */

static void work(struct load *l, struct loaded *x, enum load_work w)
{
	pthread_mutex_lock(&l->lock);
	x->work = w;
	x->since_mono_ns = mono_now_ns();
	pthread_mutex_unlock(&l->lock);
	crash_works_for(w == LOAD_NOTHING ? NULL : x->d->name);
}

static void know_code(struct load *l, const struct loaded *x, const struct sim_component_class *cls)
{
	crash_code((unsigned)(x - l->at), x->d->name, cls);
}

static void forget_code(struct load *l, const struct loaded *x)
{
	crash_code((unsigned)(x - l->at), NULL, NULL);
}

/* ---- one component ---- */

static struct sim_component_options options_of(const struct dag_component *d)
{
	struct sim_component_options o = { .size = sizeof(o),
					   .name = d->name,
					   .config = d->config,
					   .n_inputs = d->n_readers,
					   .fusion = (enum sim_fusion)d->fusion,
					   .tolerance_dur_ns = d->tolerance_dur_ns,
					   .interval_dur_ns = d->interval_dur_ns };

	for (unsigned i = 0; i < d->n_readers; i++)
		o.input[i] = (struct sim_component_input){ .channel = d->reader[i].channel,
							   .depth = d->reader[i].depth,
							   .pending = d->reader[i].pending };
	return o;
}

/* Creates the component from x->library. On failure err_why() begins with the place in the DAG file. */
static int make(struct load *l, struct loaded *x)
{
	struct sim_component_options o = options_of(x->d);
	const struct sim_component_class *cls;
	int r = library_class(x->library, x->d->class_name, &cls);

	if (r < 0)
		return err_set(r, "%s:%u: component %s: %s", x->dag->path, x->d->line, x->d->name, err_why());
	work(l, x, LOAD_STARTS);
	know_code(l, x, cls);
	r = sim_component_create(l->h, cls, &o, &x->c);
	if (r == 0)
		return 0;
	forget_code(l, x);
	x->c = NULL;
	if (strncmp(sim_why(), "component ", strlen("component ")) == 0)
		return err_set(r, "%s:%u: %s", x->dag->path, x->d->line, sim_why());
	return err_set(r, "%s:%u: component %s: %s", x->dag->path, x->d->line, x->d->name, sim_why());
}

static int load_one(struct load *l, const struct dag *dag, const struct dag_component *d)
{
	const struct dag_module *m = &dag->modules[d->module];
	struct loaded *x;
	int r;

	pthread_mutex_lock(&l->lock);
	x = &l->at[l->n++];
	*x = (struct loaded){ .dag = dag, .d = d };
	pthread_mutex_unlock(&l->lock);
	work(l, x, LOAD_OPENS);
	r = library_open(m->path, false, &x->library);
	if (r < 0)
		r = err_set(r, "%s:%u: component %s: %s", dag->path, m->line, d->name, err_why());
	else
		r = make(l, x);
	work(l, x, LOAD_NOTHING);
	return r;
}

static void end(struct sim_component *c)
{
	sim_component_destroy(c);
	if (c && *sim_why())
		log_warn("%s", sim_why());
}

static void unload(struct load *l, struct loaded *x)
{
	work(l, x, LOAD_ENDS);
	end(x->c);
	x->c = NULL;
	forget_code(l, x);
	library_close(x->library);
	x->library = NULL;
	work(l, x, LOAD_NOTHING);
}

/* ---- all ---- */

int load_create(struct sim_host *h, struct load **ret)
{
	struct load *l = MEM_NEW(struct load);

	if (!l)
		return err_nomem();
	l->h = h;
	pthread_mutex_init(&l->lock, NULL);
	*ret = l;
	return 0;
}

int load_all(struct load *l, struct dag *const *dags, unsigned n)
{
	unsigned total = 0;
	int r = 0;

	for (unsigned i = 0; i < n; i++)
		total += dags[i]->n_components;
	l->at = mem_calloc(total + 1, sizeof(*l->at));
	if (!l->at)
		return err_nomem();
	for (unsigned i = 0; r == 0 && i < n; i++)
		for (unsigned k = 0; r == 0 && k < dags[i]->n_components; k++)
			r = load_one(l, dags[i], &dags[i]->components[k]);
	atomic_store(&l->whole, r == 0);
	return r;
}

void load_none(struct load *l)
{
	if (l)
		atomic_store(&l->whole, false);
	for (unsigned i = l ? l->n : 0; i > 0; i--)
		unload(l, &l->at[i - 1]);
}

void load_destroy(struct load *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	mem_free(l->at);
	mem_free(l);
}

void load_each(struct load *l, load_fn fn, void *user)
{
	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < l->n; i++)
		if (l->at[i].c && l->at[i].work == LOAD_NOTHING)
			fn(user, i, l->at[i].d, l->at[i].c);
	pthread_mutex_unlock(&l->lock);
}

void load_each_busy(struct load *l, load_busy_fn fn, void *user)
{
	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < l->n; i++)
		if (l->at[i].work != LOAD_NOTHING)
			fn(user, i, l->at[i].d, l->at[i].work, l->at[i].since_mono_ns);
	pthread_mutex_unlock(&l->lock);
}

struct sim_host *load_host(const struct load *l)
{
	return l->h;
}

bool load_is_whole(const struct load *l)
{
	return atomic_load(&l->whole);
}

unsigned load_count(const struct load *l)
{
	return l->n;
}

/* ---- again ---- */

/* The component of the new library failed: creates it from the old one again. Returns r with the original reason. */
static int back_to(struct load *l, struct loaded *x, struct library *old, int r)
{
	char why[ERR_WHY_MAX];
	int again;

	snprintf(why, sizeof(why), "%s", err_why());
	work(l, x, LOAD_ENDS);
	library_close(x->library);
	x->library = old;
	again = make(l, x);
	if (again < 0)
		return err_set(-ENOTRECOVERABLE, "%s; and it could not be made of the old library either: %s", why,
			       err_why());
	return err_set(r, "%s; the old one runs again", why);
}

/* x is marked busy: no other thread uses it. */
static int replace(struct load *l, struct loaded *x, struct sim_component *running)
{
	const struct dag_module *m = &x->dag->modules[x->d->module];
	const struct sim_component_class *cls;
	struct library *fresh, *old = x->library;
	int r = library_open(m->path, true, &fresh);

	if (r < 0)
		return err_set(r, "%s:%u: component %s: %s", x->dag->path, m->line, x->d->name, err_why());
	r = library_class(fresh, x->d->class_name, &cls);
	if (r < 0) { /* checked while the old component still runs */
		library_close(fresh);
		return err_set(r, "%s:%u: component %s: %s", x->dag->path, x->d->line, x->d->name, err_why());
	}
	work(l, x, LOAD_ENDS);
	end(running);
	x->library = fresh;
	r = make(l, x);
	if (r < 0)
		return back_to(l, x, old, r);
	work(l, x, LOAD_ENDS);
	library_close(old);
	return 0;
}

static struct loaded *find(struct load *l, const char *name)
{
	for (unsigned i = 0; i < l->n; i++)
		if (strcmp(l->at[i].d->name, name) == 0)
			return &l->at[i];
	return NULL;
}

int load_again(struct load *l, const char *name)
{
	struct sim_component *running = NULL;
	struct loaded *x;
	bool busy;
	int r;

	pthread_mutex_lock(&l->lock);
	x = find(l, name);
	busy = x && x->work != LOAD_NOTHING;
	if (x && !busy) {
		x->work = LOAD_OPENS;
		x->since_mono_ns = mono_now_ns();
		running = x->c;
	}
	pthread_mutex_unlock(&l->lock);
	if (!x)
		return err_set(-ENOENT, "there is no component \"%s\" in this host", name);
	if (busy)
		return err_set(-EBUSY, "component %s is being loaded already", name);
	crash_works_for(name);
	r = replace(l, x, running);
	work(l, x, LOAD_NOTHING);
	return r;
}

/* ---- flow ---- */

struct flow {
	const struct load *l;
	struct flow_component *all;
	const char **outside;
	unsigned n, n_outside;
	void (*fn)(void *user, bool error, const char *sentence);
	void *user;
	int r;
};

static void add_name(const char *const **list, unsigned *n, const char *name, int *r)
{
	char **grown = mem_realloc((void *)(uintptr_t)*list, (*n + 1) * sizeof(*grown));
	char *copy = grown ? mem_strdup(name) : NULL;

	if (grown)
		*list = (const char *const *)grown;
	if (!copy) {
		*r = err_nomem();
		return;
	}
	grown[(*n)++] = copy;
}

struct channel_to {
	struct flow *f;
	struct flow_component *c;
};

static void on_channel(void *user, const char *channel, bool written)
{
	struct channel_to *to = user;

	if (written)
		add_name(&to->c->writes, &to->c->n_writes, channel, &to->f->r);
}

/*
 * Adds the component's inputs. Other readers of its node are not relevant: the component runs without messages on them.
 */
static void add_reads(struct flow *f, struct flow_component *c, const struct dag_component *d)
{
	char full[SIM_CHANNEL_MAX + 1];

	for (unsigned i = 0; i < d->n_readers; i++)
		if (sim_channel_full_name(sim_host_client(f->l->h), d->reader[i].channel, full, sizeof(full)) == 0)
			add_name(&c->reads, &c->n_reads, full, &f->r);
}

static void on_component(void *user, unsigned index, const struct dag_component *d, struct sim_component *c)
{
	struct flow *f = user;
	struct channel_to to = { f, &f->all[f->n++] };

	to.c->name = d->name;
	to.c->file = f->l->at[index].dag->path;
	to.c->line = d->line;
	add_reads(f, to.c, d);
	sim_node_channels(sim_component_node(c), on_channel, &to);
}

static bool is_ours(const struct flow *f, const char *channel)
{
	for (unsigned i = 0; i < f->n; i++)
		for (unsigned k = 0; k < f->all[i].n_writes; k++)
			if (strcmp(f->all[i].writes[k], channel) == 0)
				return true;
	return false;
}

/*
 * Adds channels that have a publisher outside; of a channel that a component of this host writes, only if there is a
 * second publisher.
 */
static void add_outside(struct flow *f, const json_t *channels)
{
	size_t i;
	json_t *ch;

	json_array_foreach((json_t *)(uintptr_t)channels, i, ch) {
		const char *name = json_string_value(json_object_get(ch, "name"));
		size_t n = json_array_size(json_object_get(ch, "publishers"));

		if (name && n > (is_ours(f, name) ? 1u : 0u))
			add_name((const char *const **)&f->outside, &f->n_outside, name, &f->r);
	}
}

static void ask_outside(struct flow *f, struct sim_client *c)
{
	char *reply = NULL;
	json_t *o;

	if (!c || sim_call(c, "ListChannels", NULL, &reply) < 0)
		return;
	o = json_loads(reply, 0, NULL);
	add_outside(f, json_object_get(o, "channels"));
	json_decref(o);
	free(reply);
}

static void on_finding(void *user, enum flow_finding kind, const char *sentence)
{
	struct flow *f = user;

	f->fn(f->user, kind == FLOW_CYCLE, sentence);
}

static void names_free(const char *const *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		mem_free((void *)(uintptr_t)list[i]);
	mem_free((void *)(uintptr_t)list);
}

int load_flow(struct load *l, void (*fn)(void *user, bool error, const char *sentence), void *user)
{
	struct flow f = { .l = l, .fn = fn, .user = user };

	f.all = mem_calloc(l->n + 1, sizeof(*f.all));
	if (!f.all)
		return err_nomem();
	load_each(l, on_component, &f);
	ask_outside(&f, sim_host_client(l->h));
	if (f.r == 0)
		f.r = flow_check(f.all, f.n, f.outside, f.n_outside, on_finding, &f);
	for (unsigned i = 0; i < f.n; i++) {
		names_free(f.all[i].reads, f.all[i].n_reads);
		names_free(f.all[i].writes, f.all[i].n_writes);
	}
	names_free((const char *const *)f.outside, f.n_outside);
	mem_free(f.all);
	return f.r < 0 ? f.r : 0;
}
