/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by all kinds of fusion: the ring of complete tuples, waiting messages, dropped references. Thread: any;
 * fusion::lock is a leaf, and no reference is released while it is held.
 */
#include "fusion.h"

#include <assert.h>
#include <errno.h>

#include "err.h"
#include "fusion_private.h"
#include "mem.h"

/* ---- under the lock ---- */

void fusion_push(struct fusion *f, struct tuple t, struct fallen *x)
{
	struct tuple old = cache_push(&f->ring, t);

	if (!old.m[0])
		return;
	f->overflowed = true;
	f->stats.overrun++;
	fallen_add_tuple(x, &old);
}

void fusion_count(struct fusion *f, uint32_t missing)
{
	for (unsigned i = 1; i < f->o.n; i++)
		f->stats.unmatched[i] += missing >> i & 1;
}

void fusion_waits_no_more(struct fusion *f, struct waiting *w)
{
	list_remove(&w->link);
	list_prepend(&f->spare, &w->link);
}

static void drop_waiting(struct fusion *f, struct waiting *w, struct fallen *x)
{
	fallen_add_tuple(x, &w->t);
	fusion_waits_no_more(f, w);
}

void fusion_wait(struct fusion *f, const struct waiting *w, struct fallen *x)
{
	struct waiting *oldest = list_first(&f->waiting, struct waiting, link), *node;

	if (list_empty(&f->spare)) {
		fusion_count(f, oldest->open);
		drop_waiting(f, oldest, x);
	}
	node = list_first(&f->spare, struct waiting, link);
	list_remove(&node->link);
	*node = *w;
	list_append(&f->waiting, &node->link);
}

/* After an overflow, drops all tuples but the newest. */
static void skip_to_newest(struct fusion *f, struct fallen *x)
{
	struct tuple t;

	while (f->overflowed && cache_count(&f->ring) > 1 && cache_pop(&f->ring, &t)) {
		f->stats.overrun++;
		fallen_add_tuple(x, &t);
	}
	f->overflowed = false;
}

static void clear(struct fusion *f, struct fallen *x)
{
	struct waiting *w, *tmp;
	struct tuple t;

	while (cache_pop(&f->ring, &t))
		fallen_add_tuple(x, &t);
	f->overflowed = false;
	list_for_each_safe(w, tmp, &f->waiting, link)
		drop_waiting(f, w, x);
	for (unsigned i = 0; i < TUPLE_MAX; i++) {
		fallen_add(x, f->latest[i]);
		f->latest[i] = NULL;
		past_clear(&f->past[i], x);
	}
	f->missing = fusion_partners(f);
}

/* ---- creating ---- */

static int check_depth(const struct fusion_options *o, unsigned input)
{
	if (o->depth[input] >= 1 && o->depth[input] <= CACHE_MAX)
		return 0;
	return err_set(-EINVAL, "fusion: a depth of %u at input %u: 1 to %u are allowed", o->depth[input], input,
		       CACHE_MAX);
}

static int check(const struct fusion_options *o)
{
	int r = 0;

	if (o->n < 1 || o->n > TUPLE_MAX)
		return err_set(-EINVAL, "fusion: %u inputs: 1 to %u are allowed", o->n, TUPLE_MAX);
	if (o->pending < 1 || o->pending > CACHE_MAX)
		return err_set(-EINVAL, "fusion: a pending size of %u: 1 to %u are allowed", o->pending, CACHE_MAX);
	switch (o->kind) {
	case SIM_FUSION_ALL_LATEST:
		return 0;
	case SIM_FUSION_HOLD:
		return check_depth(o, 0);
	case SIM_FUSION_BY_TIME:
		if (o->tolerance_dur_ns <= 0)
			return err_set(-EINVAL, "fusion by-time: a tolerance of %lld ns is not positive",
				       (long long)o->tolerance_dur_ns);
		for (unsigned i = 0; r == 0 && i < o->n; i++)
			r = check_depth(o, i);
		return r;
	}
	return err_set(-EINVAL, "fusion: %u is no kind of it", (unsigned)o->kind);
}

static fusion_put_fn put_of(const struct fusion_options *o)
{
	if (o->n == 1 || o->kind == SIM_FUSION_ALL_LATEST)
		return fusion_put_latest;
	return o->kind == SIM_FUSION_HOLD ? fusion_put_hold : fusion_put_by_time;
}

/* Allocates room for waiting messages, and for the past of the partners. */
static int make_room(struct fusion *f)
{
	f->nodes = mem_calloc(f->o.depth[0], sizeof(*f->nodes));
	if (!f->nodes)
		return err_nomem();
	for (uint32_t i = 0; i < f->o.depth[0]; i++)
		list_append(&f->spare, &f->nodes[i].link);
	for (unsigned i = 1; f->put == fusion_put_by_time && i < f->o.n; i++) {
		f->past[i].size = f->o.depth[i];
		f->past[i].at = mem_calloc(f->o.depth[i], sizeof(*f->past[i].at));
		if (!f->past[i].at)
			return err_nomem();
	}
	return 0;
}

int fusion_create(const struct fusion_options *o, struct fusion **ret)
{
	int r = check(o);
	struct fusion *f;
	bool waits;

	if (r < 0)
		return r;
	f = MEM_NEW(struct fusion);
	if (!f)
		return err_nomem();
	pthread_mutex_init(&f->lock, NULL);
	f->o = *o;
	f->put = put_of(o);
	f->missing = fusion_partners(f);
	list_init(&f->waiting);
	list_init(&f->spare);
	waits = f->put != fusion_put_latest;
	r = cache_init(&f->ring, waits && o->depth[0] > o->pending ? o->depth[0] : o->pending);
	if (r == 0 && waits)
		r = make_room(f);
	if (r < 0) {
		fusion_destroy(f);
		return r;
	}
	*ret = f;
	return 0;
}

void fusion_destroy(struct fusion *f)
{
	if (!f)
		return;
	fusion_clear(f);
	cache_finish(&f->ring);
	for (unsigned i = 0; i < TUPLE_MAX; i++)
		mem_free(f->past[i].at);
	mem_free(f->nodes);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
}

/* ---- using it ---- */

static void give_back(const struct fallen *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		msg_unref(x->m[i]);
}

static bool put_locked(struct fusion *f, unsigned input, struct msg *m, struct fallen *x)
{
	bool ret;

	pthread_mutex_lock(&f->lock);
	ret = f->put(f, input, m, x);
	pthread_mutex_unlock(&f->lock);
	give_back(x);
	return ret;
}

static __attribute__((noinline)) bool put_by_time(struct fusion *f, unsigned input, struct msg *m)
{
	struct msg *room[FALLEN_PUT];

	return put_locked(f, input, m, &(struct fallen){ .m = room });
}

bool fusion_put(struct fusion *f, unsigned input, struct msg *m)
{
	/* hold: waiting messages go into a ring that is empty and large enough, so they displace nothing */
	struct msg *room[TUPLE_MAX + 1];

	assert(input < f->o.n);
	if (f->put == fusion_put_by_time)
		return put_by_time(f, input, m);
	return put_locked(f, input, m, &(struct fallen){ .m = room });
}

static __attribute__((noinline)) void fetch_newest(struct fusion *f, struct tuple *ret, bool *ret_got)
{
	struct msg *room[FALLEN_ALL];
	struct fallen x = { .m = room };

	pthread_mutex_lock(&f->lock);
	skip_to_newest(f, &x);
	*ret_got = cache_pop(&f->ring, ret);
	f->stats.fetched += *ret_got;
	pthread_mutex_unlock(&f->lock);
	give_back(&x);
}

bool fusion_fetch(struct fusion *f, struct tuple *ret)
{
	bool overflowed, got = false;

	pthread_mutex_lock(&f->lock);
	overflowed = f->overflowed;
	if (!overflowed)
		got = cache_pop(&f->ring, ret);
	f->stats.fetched += got;
	pthread_mutex_unlock(&f->lock);
	if (overflowed)
		fetch_newest(f, ret, &got);
	return got;
}

void fusion_clear(struct fusion *f)
{
	struct msg *room[FALLEN_ALL];
	struct fallen x = { .m = room };

	pthread_mutex_lock(&f->lock);
	clear(f, &x);
	pthread_mutex_unlock(&f->lock);
	give_back(&x);
}

void fusion_stats(struct fusion *f, struct fusion_stats *ret)
{
	pthread_mutex_lock(&f->lock);
	*ret = f->stats;
	pthread_mutex_unlock(&f->lock);
}
