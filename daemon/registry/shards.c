/* SPDX-License-Identifier: Apache-2.0 */
/* The shards of dispatch; contract in shards.h. Thread: simd-main. */
#include "shards.h"

#include "err.h"
#include "exec.h"
#include "list.h"
#include "log.h"
#include "mem.h"
#include "simd.h"

#include <string.h>

LOG_TOPIC("dispatch");

struct shard {
	struct dispatch *d;
	struct exec *x;
	bool own; /* x is destroyed with it */
};

struct shards {
	struct list asked; /* question::link */
	atomic_uint lanes; /* number of lanes in all shards */
	unsigned n;
	struct shard v[];
};

/* A call to all shards, answered after the last one. */
struct question {
	struct list link; /* shards::asked */
	unsigned left;
	dispatch_fn fn;
	dispatch_stats_fn stats_fn;
	void *arg;
	struct dispatch_stats *sum; /* sum of the answers so far; mem_free */
	bool lost;                  /* a shard had no memory */
};

/* ---- making ---- */

static int make(struct simd *s, struct shard *sh, struct dispatch_options o)
{
	int r = 0;

	sh->x = o.exec;
	if (o.shard > 0 && o.exec != o.owner) {
		r = exec_threads_create(&sh->x);
		sh->own = r == 0;
	}
	if (r < 0)
		return r;
	o.exec = sh->x;
	o.n_shards = s->n_shards;
	return dispatch_create(&o, &sh->d);
}

int shards_create(struct simd *s, const struct dispatch_options *o)
{
	struct shards *all = (struct shards *)mem_zalloc(sizeof(*all) + s->n_shards * sizeof(all->v[0]));
	int r = 0;

	if (!all)
		return err_nomem();
	list_init(&all->asked);
	s->shards = all;
	for (; r == 0 && all->n < s->n_shards; all->n++) {
		struct dispatch_options own = *o;

		own.shard = all->n;
		own.lanes = &all->lanes;
		r = make(s, &all->v[all->n], own);
	}
	return r < 0 ? err_set(r, "dispatch cannot start: %s", err_text(r)) : 0;
}

static void question_free(struct question *q)
{
	list_remove(&q->link);
	mem_free(q->sum);
	mem_free(q);
}

void shards_destroy(struct simd *s)
{
	struct shards *all = s->shards;

	if (!all)
		return;
	for (unsigned i = 0; i < all->n; i++)
		dispatch_destroy(all->v[i].d);
	while (!list_empty(&all->asked))
		question_free(list_first(&all->asked, struct question, link));
	for (unsigned i = 0; i < all->n; i++)
		if (all->v[i].own)
			exec_destroy(all->v[i].x);
	mem_free(all);
	s->shards = NULL;
}

struct dispatch *shard_of(const struct simd *s, uint32_t shard)
{
	return s->shards->v[shard].d;
}

struct exec *shard_exec(const struct simd *s, uint32_t shard)
{
	return s->shards->v[shard].x;
}

/* ---- calls to all shards ---- */

struct order { /* one call to all shards, with its arguments */
	int (*call)(struct dispatch *d, const struct order *o, void *arg);
	struct ipc *ipc;
	uint32_t generation;
	bool flag;
	enum dispatch_hold hold;
};

static int ask_each(struct simd *s, const struct order *o, void *arg, unsigned *ret_asked)
{
	struct shards *all = s->shards;
	int failed = 0;

	*ret_asked = 0;
	for (unsigned i = 0; i < all->n; i++) {
		int r = o->call(all->v[i].d, o, arg);

		*ret_asked += r == 0;
		failed = r < 0 ? r : failed;
	}
	if (failed < 0 && *ret_asked)
		log_error("shards of dispatch: %s; the others go on", err_text(failed));
	return *ret_asked ? 0 : failed;
}

static int order_all(struct simd *s, const struct order *o)
{
	unsigned asked;

	return ask_each(s, o, NULL, &asked);
}

static int call_set_ipc(struct dispatch *d, const struct order *o, void *arg)
{
	(void)arg;
	return dispatch_set_ipc(d, o->ipc, o->generation);
}

int shards_set_ipc(struct simd *s, struct ipc *ipc, uint32_t iox_generation)
{
	return order_all(s, &(struct order){ .call = call_set_ipc, .ipc = ipc, .generation = iox_generation });
}

static int call_restart_begin(struct dispatch *d, const struct order *o, void *arg)
{
	(void)o;
	(void)arg;
	return dispatch_restart_begin(d);
}

int shards_restart_begin(struct simd *s)
{
	return order_all(s, &(struct order){ .call = call_restart_begin });
}

static int call_hold(struct dispatch *d, const struct order *o, void *arg)
{
	(void)arg;
	return dispatch_hold(d, o->hold);
}

int shards_hold(struct simd *s, enum dispatch_hold hold)
{
	return order_all(s, &(struct order){ .call = call_hold, .hold = hold });
}

static int call_freewheel(struct dispatch *d, const struct order *o, void *arg)
{
	(void)arg;
	return dispatch_freewheel(d, o->flag);
}

int shards_freewheel(struct simd *s, bool on)
{
	return order_all(s, &(struct order){ .call = call_freewheel, .flag = on });
}

uint32_t shards_outstanding(const struct simd *s)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < s->shards->n; i++)
		n += dispatch_outstanding(s->shards->v[i].d);
	return n;
}

int64_t shards_accepted_mono_ns(const struct simd *s)
{
	int64_t last = 0;

	for (unsigned i = 0; i < s->shards->n; i++) {
		int64_t mono_ns = dispatch_accepted_mono_ns(s->shards->v[i].d);

		last = mono_ns > last ? mono_ns : last;
	}
	return last;
}

/* ---- calls that are answered after the last shard ---- */

/* Answers come on this thread's loop, so none arrives before all shards have been asked. */
static int ask_all(struct simd *s, const struct order *o, const struct question *from)
{
	struct question *q = (struct question *)mem_dup(from, sizeof(*from));
	int r;

	if (!q)
		return err_nomem();
	list_append(&s->shards->asked, &q->link);
	r = ask_each(s, o, q, &q->left);
	if (r < 0)
		question_free(q);
	return r;
}

static void one_answered(void *arg)
{
	struct question *q = (struct question *)arg, copy = *q;

	if (--q->left)
		return;
	question_free(q);
	copy.fn(copy.arg);
}

static int call_step(struct dispatch *d, const struct order *o, void *arg)
{
	(void)o;
	return dispatch_step(d, one_answered, arg);
}

int shards_step(struct simd *s, dispatch_fn fn, void *arg)
{
	return ask_all(s, &(struct order){ .call = call_step }, &(struct question){ .fn = fn, .arg = arg });
}

static int call_drain(struct dispatch *d, const struct order *o, void *arg)
{
	(void)o;
	return dispatch_drain(d, one_answered, arg);
}

int shards_drain(struct simd *s, dispatch_fn fn, void *arg)
{
	return ask_all(s, &(struct order){ .call = call_drain }, &(struct question){ .fn = fn, .arg = arg });
}

static int call_quiet(struct dispatch *d, const struct order *o, void *arg)
{
	(void)o;
	return dispatch_quiet(d, one_answered, arg);
}

int shards_quiet(struct simd *s, dispatch_fn fn, void *arg)
{
	return ask_all(s, &(struct order){ .call = call_quiet }, &(struct question){ .fn = fn, .arg = arg });
}

static int call_shutdown(struct dispatch *d, const struct order *o, void *arg)
{
	return dispatch_shutdown(d, o->flag, one_answered, arg);
}

int shards_shutdown(struct simd *s, bool now, dispatch_fn fn, void *arg)
{
	return ask_all(s, &(struct order){ .call = call_shutdown, .flag = now },
		       &(struct question){ .fn = fn, .arg = arg });
}

/* ---- statistics ---- */

static void one_stats(void *arg, const struct dispatch_stats *st)
{
	struct question *q = (struct question *)arg, copy;

	if (st && !q->lost) {
		struct dispatch_stats *sum = dispatch_stats_add(q->sum, st);

		mem_free(q->sum);
		q->sum = sum;
	}
	q->lost = q->lost || !st || !q->sum;
	if (--q->left)
		return;
	copy = *q;
	q->sum = NULL;
	question_free(q);
	copy.stats_fn(copy.arg, copy.lost ? NULL : copy.sum);
	mem_free(copy.sum);
}

static int call_stats(struct dispatch *d, const struct order *o, void *arg)
{
	(void)o;
	return dispatch_stats(d, one_stats, arg);
}

int shards_stats(struct simd *s, dispatch_stats_fn fn, void *arg)
{
	return ask_all(s, &(struct order){ .call = call_stats }, &(struct question){ .stats_fn = fn, .arg = arg });
}
