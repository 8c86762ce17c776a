/* SPDX-License-Identifier: Apache-2.0 */
#include "component.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "err.h"
#include "mem.h"
#include "sized.h"
#include "timeutil.h"
#include "writer.h"

/* ---- running ---- */

const char *sim_component_current(void)
{
	return whose();
}

struct look {
	sim_component_call_fn fn;
	void *user;
};

static void on_call(void *user, const struct whose_call *c)
{
	static const char *const what[] = { [WHOSE_PROC] = "proc",
					    [WHOSE_READER] = "reader",
					    [WHOSE_TIMER] = "timer",
					    [WHOSE_SERVICE] = "service",
					    [WHOSE_PARAM] = "parameter" };
	struct sim_component_call call = { .name = c->name,
					   .what = what[c->kind],
					   .of = c->of ? c->of : "",
					   .thread = atomic_load(&c->thread),
					   .depth = atomic_load(&c->depth),
					   .since_mono_ns = c->seen_mono_ns };
	struct look *l = user;

	if (call.thread) /* else the function has just returned */
		l->fn(l->user, &call);
}

void sim_component_calls(sim_component_call_fn fn, void *user)
{
	struct look l = { fn, user };

	whose_look(mono_now_ns(), on_call, &l);
}

static void begin(struct sim_component *c)
{
	atomic_store_explicit(&c->since_mono_ns, mono_now_ns(), memory_order_relaxed);
}

static void note_failure(struct sim_component *c, int r)
{
	atomic_fetch_add_explicit(&c->n_failed, 1, memory_order_relaxed);
	pthread_mutex_lock(&c->lock);
	snprintf(c->last_failure, sizeof(c->last_failure), "%s", *err_why() ? err_why() : err_text(r));
	pthread_mutex_unlock(&c->lock);
}

static void end(struct sim_component *c, int r)
{
	int64_t dur_ns = mono_now_ns() - atomic_exchange_explicit(&c->since_mono_ns, 0, memory_order_relaxed);

	atomic_fetch_add_explicit(&c->n_proc, 1, memory_order_relaxed);
	if (r < 0)
		note_failure(c, r);
	atomic_fetch_add_explicit(&c->busy_dur_ns, dur_ns, memory_order_relaxed);
	if (dur_ns > atomic_load_explicit(&c->longest_dur_ns, memory_order_relaxed))
		atomic_store_explicit(&c->longest_dur_ns, dur_ns, memory_order_relaxed);
}

static void run_proc(struct sim_component *c, const struct sim_message *const *m)
{
	struct whose_run run;

	if (!c->cls->proc || atomic_load(&c->closing))
		return;
	whose_begin(&run, &c->call);
	err_clear();
	begin(c);
	end(c, c->cls->proc(c, c->self, m));
	whose_end(&run);
}

static bool component_next(struct sim_component *c)
{
	const struct sim_message *m[SIM_COMPONENT_INPUTS] = { NULL };
	struct tuple t;

	if (atomic_load(&c->closing) || !fusion_fetch(c->fusion, &t))
		return false;
	for (uint32_t i = 0; i < c->cls->n_inputs; i++)
		m[i] = &t.m[i]->m;
	run_proc(c, m);
	tuple_unref(&t);
	return true;
}

static bool component_step(void *user)
{
	return component_next(user);
}

/* A tuple can be fetched. Reality: notifies the task. Simulation: runs proc now. */
static void component_wake(void *user)
{
	struct sim_component *c = user;

	if (c->task) {
		sched_notify(c->task);
		return;
	}
	if (atomic_load_explicit(&c->since_mono_ns, memory_order_relaxed))
		/* its own proc wrote a message that came back to it: the loop of the outer call continues with it */
		return;
	while (component_next(c))
		;
}

static void component_tick(void *user, int64_t due_sim_ns, uint64_t missed)
{
	(void)due_sim_ns;
	(void)missed;
	run_proc(user, NULL);
}

/* ---- what its functions may query ---- */

const char *sim_component_name(const struct sim_component *c)
{
	return c->node->name;
}

struct sim_node *sim_component_node(const struct sim_component *c)
{
	return c->node;
}

const char *sim_component_config(const struct sim_component *c)
{
	return c->config;
}

int64_t sim_component_now(const struct sim_component *c)
{
	return sim_host_now(c->node->h);
}

int sim_component_fail(struct sim_component *c, int r, const char *fmt, ...)
{
	char text[ERR_WHY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!c) /* NULL in the constructor of a C++ class */
		return err_set(r, "a component: %s", text);
	/* only if the caller is a callback of the component, not a thread that it has started */
	if (whose() && strcmp(whose(), c->node->name) == 0)
		c->said = true;
	return err_set(r, "component %s: %s", c->node->name, text);
}

void sim_component_failed(struct sim_component *c, int r)
{
	if (c && r < 0)
		note_failure(c, r);
}

struct sim_node_reader *sim_component_reader(const struct sim_component *c, uint32_t input)
{
	return c && input < c->cls->n_inputs ? c->reader[input] : NULL;
}

static uint64_t node_refused(struct sim_node *n)
{
	struct sim_node_writer *w;
	uint64_t refused = 0;

	pthread_mutex_lock(&n->h->lock);
	list_for_each(w, &n->writers, link)
		refused += atomic_load_explicit(&w->refused, memory_order_relaxed);
	pthread_mutex_unlock(&n->h->lock);
	return refused;
}

void sim_component_stats(const struct sim_component *c, struct sim_component_stats *ret)
{
	struct fusion_stats f = { 0 };

	*ret = (struct sim_component_stats){ 0 };
	if (!c)
		return;
	if (c->fusion)
		fusion_stats(c->fusion, &f);
	ret->refused = node_refused(c->node);
	ret->proc = atomic_load(&c->n_proc);
	ret->failed = atomic_load(&c->n_failed);
	ret->overrun = f.overrun;
	memcpy(ret->unmatched, f.unmatched, sizeof(ret->unmatched));
	ret->busy_dur_ns = atomic_load(&c->busy_dur_ns);
	ret->longest_dur_ns = atomic_load(&c->longest_dur_ns);
	ret->since_mono_ns = atomic_load(&c->since_mono_ns);
}

void sim_component_last_failure(const struct sim_component *c, char *ret, size_t size)
{
	struct sim_component *w = (struct sim_component *)(uintptr_t)c;

	pthread_mutex_lock(&w->lock);
	snprintf(ret, size, "%s", w->last_failure);
	pthread_mutex_unlock(&w->lock);
}

/* ---- create ---- */

static int check_class(const struct sim_component_class *cls)
{
	if (!cls)
		return err_set(-EINVAL, "a component needs a class");
	/* otherwise the other members may lie elsewhere */
	if (cls->abi != SIM_COMPONENT_ABI || cls->size != sizeof(*cls))
		return err_set(
			-EINVAL,
			"the class was compiled for ABI %u of %u bytes, this library has %u of %zu; compile it again",
			cls->abi, cls->size, SIM_COMPONENT_ABI, sizeof(*cls));
	if (!cls->name || !*cls->name)
		return err_set(-EINVAL, "a component's class has no name");
	if (cls->n_inputs > SIM_COMPONENT_INPUTS)
		return err_set(-EINVAL, "class %s has %u inputs, at most %u are possible", cls->name, cls->n_inputs,
			       SIM_COMPONENT_INPUTS);
	if (cls->n_inputs && !cls->proc)
		return err_set(-EINVAL, "class %s has inputs and no proc", cls->name);
	return 0;
}

static int check_options(const struct sim_component_class *cls, const struct sim_component_options *o)
{
	if (!o->name)
		return err_set(-EINVAL, "class %s: a component needs a name", cls->name);
	if (o->n_inputs < cls->n_inputs || o->n_inputs > SIM_COMPONENT_INPUTS)
		return err_set(-EINVAL, "component %s: class %s has %u inputs, and readers for %u are configured",
			       o->name, cls->name, cls->n_inputs, o->n_inputs);
	if ((unsigned)o->fusion > SIM_FUSION_BY_TIME)
		return err_set(-EINVAL, "component %s: unknown fusion %d", o->name, (int)o->fusion);
	if (o->fusion == SIM_FUSION_BY_TIME && o->tolerance_dur_ns <= 0)
		return err_set(-EINVAL, "component %s: fusion by time needs a tolerance above 0", o->name);
	if (o->interval_dur_ns < 0 || (o->interval_dur_ns && (cls->n_inputs || !cls->proc)))
		return err_set(-EINVAL, "component %s: an interval is for a class without inputs, with proc", o->name);
	return 0;
}

static int take_config(struct sim_component *c, const char *config)
{
	json_error_t at;
	json_t *j = json_loads(config ? config : "{}", JSON_REJECT_DUPLICATES, &at);
	int r = 0;

	if (!j)
		return err_set(-EINVAL, "component %s: its configuration, line %d: %s", c->node->name, at.line,
			       at.text);
	if (!json_is_object(j))
		r = err_set(-EINVAL, "component %s: its configuration is no JSON object", c->node->name);
	json_decref(j);
	if (r < 0)
		return r;
	c->config = mem_strdup(config ? config : "{}");
	return c->config ? 0 : err_nomem();
}

static int run_init(struct sim_component *c)
{
	const char *before;
	int r;

	c->initialised = true;
	if (!c->cls->init)
		return 0;
	before = whose_enter(c->node->name);
	err_clear();
	r = c->cls->init(c, c->self);
	whose_leave(before);
	if (r < 0 && !c->said)
		return err_prefix(r, "component %s: init of class %s failed", c->node->name, c->cls->name);
	return r < 0 ? r : 0;
}

static int fusion_make(struct sim_component *c, const struct sim_component_options *o)
{
	struct fusion_options f = { .kind = o->fusion,
				    .n = c->cls->n_inputs,
				    .pending = o->input[0].pending ? o->input[0].pending : 1,
				    .tolerance_dur_ns = o->tolerance_dur_ns };

	for (uint32_t i = 0; i < f.n; i++) {
		uint32_t pending = o->input[i].pending ? o->input[i].pending : 1;

		f.depth[i] = pending > WAIT_MIN ? pending : WAIT_MIN;
	}
	return fusion_create(&f, &c->fusion);
}

static int reader_make(struct sim_component *c, const struct sim_component_options *o, uint32_t i)
{
	const struct sim_component_input *in = &o->input[i];
	struct sim_node_reader_options ro = { .size = sizeof(ro), .depth = in->depth, .pending = in->pending };
	struct reader_feed feed = { .fusion = c->fusion,
				    .clock_generation = &c->clock_generation,
				    .input = i,
				    .wake = component_wake,
				    .user = c };

	if (o->fusion != SIM_FUSION_ALL_LATEST && ro.pending < WAIT_MIN)
		ro.pending = WAIT_MIN;
	return reader_create(c->node, in->channel, c->cls->inputs[i], &ro, NULL, NULL, &feed, &c->reader[i]);
}

/* Partners first, as Cyber does: when the reader of input 0 exists, theirs do too. */
static int readers_make(struct sim_component *c, const struct sim_component_options *o)
{
	int r = fusion_make(c, o);

	if (r == 0 && !host_simulates(c->node->h))
		r = sched_task_create(c->node->h->sched, c->node->name, component_step, c, &c->task);
	for (uint32_t i = 1; r == 0 && i < c->cls->n_inputs; i++)
		r = reader_make(c, o, i);
	return r == 0 ? reader_make(c, o, 0) : r;
}

static int component_init(struct sim_component *c, struct sim_host *h, const struct sim_component_options *o)
{
	int r = sim_node_create(h, o->name, &c->node);

	if (r < 0)
		return r;
	c->node->class_name = c->cls->name;
	c->node->component = c;
	whose_add(&c->call, WHOSE_PROC, c->node->name, NULL);
	c->self = mem_zalloc(c->cls->self_size ? c->cls->self_size : 1);
	if (!c->self)
		return err_nomem();
	r = take_config(c, o->config);
	if (r == 0)
		r = run_init(c);
	if (r == 0 && c->cls->n_inputs)
		r = readers_make(c, o);
	if (r == 0 && o->interval_dur_ns)
		r = sim_node_timer_create(c->node, c->node->name, o->interval_dur_ns, false, component_tick, c,
					  &c->timer);
	return r;
}

int sim_component_create(struct sim_host *h, const struct sim_component_class *cls,
			 const struct sim_component_options *given, struct sim_component **ret)
{
	struct sim_component_options o;
	struct sim_component *c;
	int r = h && ret ? check_class(cls)
			 : err_set(-EINVAL, "sim_component_create: no host, or the output pointer is NULL");

	if (r == 0)
		r = SIZED_TAKE(&o, given, "class %.63s: the options", cls->name);
	if (r == 0)
		r = check_options(cls, &o);
	if (r < 0)
		return r;
	c = MEM_NEW(struct sim_component);
	if (!c)
		return err_nomem();
	c->cls = cls;
	pthread_mutex_init(&c->lock, NULL);
	r = component_init(c, h, &o);
	if (r < 0) {
		char why[ERR_WHY_MAX];

		snprintf(why, sizeof(why), "%s", err_why());
		sim_component_destroy(c);
		return err_set(r, "%s", why);
	}
	*ret = c;
	return 0;
}

/* ret_why is "" if shutdown reported no failure. */
static void run_shutdown(struct sim_component *c, char *ret_why, size_t size)
{
	const char *before;

	ret_why[0] = '\0';
	if (!c->initialised || !c->cls->shutdown)
		return;
	before = whose_enter(c->node->name);
	c->said = false;
	c->cls->shutdown(c, c->self);
	whose_leave(before);
	if (c->said)
		snprintf(ret_why, size, "%s", err_why());
}

void sim_component_destroy(struct sim_component *c)
{
	char why[ERR_WHY_MAX];

	if (!c)
		return;
	atomic_store(&c->closing, true);
	sim_node_timer_destroy(c->timer);
	for (uint32_t i = 0; i < SIM_COMPONENT_INPUTS; i++)
		sim_node_reader_destroy(c->reader[i]);
	sched_task_destroy(c->task);
	run_shutdown(c, why, sizeof(why));
	fusion_destroy(c->fusion);
	whose_remove(&c->call);
	sim_node_destroy(c->node);
	mem_free(c->config);
	pthread_mutex_destroy(&c->lock);
	mem_free(c->self);
	mem_free(c);
	if (why[0])
		err_tell("%s", why);
	else
		err_clear();
}
