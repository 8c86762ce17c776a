/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "mem.h"
#include "place.h"
#include "sized.h"

/* ---- receiving ---- */

/* After a jump of time, drops what is held: it belongs to the old run. */
static void follow_jump(struct sim_node_reader *r, const struct msg *m)
{
	bool jumped = r->received && m->m.header.clock_generation != r->clock_generation;

	r->clock_generation = m->m.header.clock_generation;
	if (!jumped)
		return;
	cache_clear(&r->history);
	r->last_sim_ns = r->gap_sim_ns = -1;
}

/* Takes m. */
static void take_in(struct sim_node_reader *r, struct msg *m, int64_t now_sim_ns)
{
	follow_jump(r, m);
	r->received++;
	r->by_shm += m->shm;
	r->by_network += m->shm && m->m.header.origin_host;
	if (r->last_sim_ns >= 0)
		r->gap_sim_ns = now_sim_ns - r->last_sim_ns;
	r->last_sim_ns = now_sim_ns;
	cache_put(&r->history, (struct tuple){ .m = { m } });
}

/* The callback may destroy r. */
static void call(struct sim_node_reader *r, const struct msg *m)
{
	struct whose_run run;

	/* no other thread runs it */
	atomic_store_explicit(&r->processed, atomic_load_explicit(&r->processed, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	whose_begin(&run, &r->call);
	r->fn(r->user, &m->m);
	whose_end(&run);
}

/*
 * The first input that sees a new generation clears what all inputs hold of the old one. A message of an older one
 * (latched) clears nothing.
 */
static void feed_follow_jump(struct reader_feed *f, uint32_t generation)
{
	uint32_t newest = atomic_load(f->clock_generation);

	while ((int32_t)(generation - newest) > 0)
		if (atomic_compare_exchange_weak(f->clock_generation, &newest, generation)) {
			fusion_clear(f->fusion);
			return;
		}
}

static void feed(struct reader_feed *f, struct msg *m)
{
	if (!f->fusion)
		return;
	feed_follow_jump(f, m->m.header.clock_generation);
	if (fusion_put(f->fusion, f->input, m))
		f->wake(f->user);
}

/* Reality, under host_channel::lock. */
static void reader_put(struct sink *s, struct msg *m, int64_t now_sim_ns)
{
	struct sim_node_reader *r = container_of(s, struct sim_node_reader, sink);

	take_in(r, msg_ref_held(m), now_sim_ns);
	if (!r->task) {
		feed(&r->feed, m);
		msg_unref(m);
	} else if (pending_put(&r->pending, m)) {
		sched_notify(r->task);
	}
}

/* Simulation: the callback runs inside this call. */
static void reader_put_in_turn(struct sink *s, struct msg *m, int64_t now_sim_ns)
{
	struct sim_node_reader *r = container_of(s, struct sim_node_reader, sink);

	pthread_mutex_lock(&r->ch->lock);
	take_in(r, msg_ref_held(m), now_sim_ns);
	pthread_mutex_unlock(&r->ch->lock);
	feed(&r->feed, m);
	if (r->fn)
		call(r, m);
	msg_unref(m);
}

/* ---- the callback, on a worker ---- */

static struct msg *skip(struct sim_node_reader *r)
{
	uint64_t skipped;
	struct msg *m;

	pthread_mutex_lock(&r->ch->lock);
	m = pending_skip(&r->pending, &skipped);
	r->overrun += skipped;
	pthread_mutex_unlock(&r->ch->lock);
	return m;
}

static struct msg *next(struct sim_node_reader *r)
{
	struct msg *m = pending_overrun(&r->pending) ? NULL : pending_take(&r->pending);

	return m || !pending_overrun(&r->pending) ? m : skip(r);
}

static bool reader_step(void *user)
{
	struct sim_node_reader *r = user;
	struct msg *m = next(r);

	if (!m)
		return false;
	call(r, m);
	msg_unref(m);
	return true;
}

/* ---- observing ---- */

static void observed_drop(struct sim_node_reader *r)
{
	while (r->n_observed)
		msg_unref(r->observed[--r->n_observed]);
}

void sim_node_reader_observe(struct sim_node_reader *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->ch->lock);
	observed_drop(r);
	for (uint32_t n = cache_count(&r->history); r->n_observed < n; r->n_observed++)
		r->observed[r->n_observed] = msg_ref(cache_newest(&r->history, r->n_observed)->m[0]);
	pthread_mutex_unlock(&r->ch->lock);
}

static struct sim_node_reader *writable(const struct sim_node_reader *r)
{
	return (struct sim_node_reader *)(uintptr_t)r;
}

unsigned sim_node_reader_count(const struct sim_node_reader *r)
{
	struct sim_node_reader *w = writable(r);
	unsigned n;

	if (!r)
		return 0;
	pthread_mutex_lock(&w->ch->lock);
	n = w->n_observed;
	pthread_mutex_unlock(&w->ch->lock);
	return n;
}

const struct sim_message *sim_node_reader_get(const struct sim_node_reader *r, unsigned i)
{
	struct sim_node_reader *w = writable(r);
	const struct sim_message *m;

	if (!r)
		return NULL;
	pthread_mutex_lock(&w->ch->lock);
	m = i < w->n_observed ? &w->observed[i]->m : NULL;
	pthread_mutex_unlock(&w->ch->lock);
	return m;
}

bool sim_node_reader_has_received(const struct sim_node_reader *r)
{
	struct sim_node_reader *w = writable(r);
	bool any;

	if (!r)
		return false;
	pthread_mutex_lock(&w->ch->lock);
	any = cache_count(&w->history) > 0;
	pthread_mutex_unlock(&w->ch->lock);
	return any;
}

void sim_node_reader_clear(struct sim_node_reader *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->ch->lock);
	cache_clear(&r->history);
	observed_drop(r);
	pthread_mutex_unlock(&r->ch->lock);
}

int64_t sim_node_reader_delay_ns(const struct sim_node_reader *r)
{
	struct sim_node_reader *w = writable(r);
	int64_t since, gap;

	if (!r)
		return -1;
	pthread_mutex_lock(&w->ch->lock);
	since = w->last_sim_ns < 0 ? -1 : sim_host_now(w->n->h) - w->last_sim_ns;
	gap = w->gap_sim_ns;
	pthread_mutex_unlock(&w->ch->lock);
	return since > gap ? since : gap;
}

void sim_node_reader_stats(const struct sim_node_reader *r, struct sim_node_reader_stats *ret)
{
	struct sim_node_reader *w = writable(r);

	*ret = (struct sim_node_reader_stats){ 0 };
	if (!r)
		return;
	pthread_mutex_lock(&w->ch->lock);
	ret->received = w->received;
	ret->overrun = w->overrun;
	pthread_mutex_unlock(&w->ch->lock);
	ret->processed = atomic_load_explicit(&w->processed, memory_order_relaxed);
	ret->lost = host_channel_lost(w->ch);
}

const struct sim_message *sim_node_message_ref(const struct sim_message *m)
{
	return m ? &msg_ref(msg_of(m))->m : NULL;
}

void sim_node_message_unref(const struct sim_message *m)
{
	msg_unref(m ? msg_of(m) : NULL);
}

/* ---- create and destroy ---- */

static int check(const struct sim_node *n, const char *channel, const struct sim_node_reader_options *o)
{
	const char *name = channel ? channel : "?";

	if (!n)
		return err_set(-EINVAL, "channel %s: a reader needs a node", name);
	if (o->depth > DEPTH_MAX)
		return err_set(-EINVAL, "channel %s: depth %u is out of range, 1 to %u", name, o->depth, DEPTH_MAX);
	if (o->pending > DEPTH_MAX)
		return err_set(-EINVAL, "channel %s: pending %u is out of range, 1 to %u", name, o->pending, DEPTH_MAX);
	return 0;
}

/* Adds the reader to the node's list, if it is the only one of its channel. */
static int enlist(struct sim_node_reader *r)
{
	struct sim_node_reader *other;
	int res = 0;

	pthread_mutex_lock(&r->n->h->lock);
	list_for_each(other, &r->n->readers, link)
		if (other->ch == r->ch)
			res = err_set(-EEXIST, "node %s has a reader of %s already; a node has one per channel",
				      r->n->name, r->ch->name);
	if (res == 0) {
		list_append(&r->n->readers, &r->link);
		r->sink.place = place_take(r->n->h, PLACE_READER, r->n->name, r->ch->name);
	}
	pthread_mutex_unlock(&r->n->h->lock);
	return res;
}

/* Named as in Cyber: the channel as it is configured, without the rig's prefix. */
static int task_create(struct sim_node_reader *r, const char *channel)
{
	char name[TASK_NAME_MAX + 1];
	int res;

	if (!r->fn || host_simulates(r->n->h))
		return 0;
	snprintf(name, sizeof(name), "%s_%s", r->n->name, channel);
	res = pending_init(&r->pending, r->room);
	return res < 0 ? res : sched_task_create(r->n->h->sched, name, reader_step, r, &r->task);
}

static int reader_init(struct sim_node_reader *r, const char *channel, const struct sim_type *type)
{
	int res = host_channel_get(r->n->h, channel, type, &r->ch);

	if (res == 0)
		res = cache_init(&r->history, r->depth);
	if (res < 0)
		return res;
	r->observed = mem_calloc(r->depth, sizeof(*r->observed));
	if (!r->observed)
		return err_nomem();
	res = enlist(r);
	r->sink.node = r->n->name;
	if (res == 0 && r->fn)
		whose_add(&r->call, WHOSE_READER, r->n->name, r->ch->name);
	if (res == 0)
		res = task_create(r, channel);
	if (res == 0)
		res = host_channel_add(r->ch, &r->sink);
	return res;
}

int reader_create(struct sim_node *n, const char *channel, const struct sim_type *type,
		  const struct sim_node_reader_options *given, sim_node_reader_fn fn, void *user,
		  const struct reader_feed *feed, struct sim_node_reader **ret)
{
	struct sim_node_reader_options own;
	const struct sim_node_reader_options *o = &own;
	struct sim_node_reader *r;
	int res = SIZED_TAKE(&own, given, "channel %.63s: the options", channel ? channel : "?");

	if (res == 0)
		res = check(n, channel, o);
	if (res < 0)
		return res;
	r = MEM_NEW(struct sim_node_reader);
	if (!r)
		return err_nomem();
	list_init(&r->link);
	list_init(&r->sink.link);
	r->n = n;
	r->fn = fn;
	r->user = user;
	r->feed = feed ? *feed : (struct reader_feed){ 0 };
	r->depth = o->depth ? o->depth : 1;
	r->room = o->pending ? o->pending : 1;
	r->last_sim_ns = r->gap_sim_ns = -1;
	r->sink.put = host_simulates(n->h) ? reader_put_in_turn : reader_put;
	r->sink.depth = r->depth + r->room;
	r->sink.latched = o->latched;
	res = reader_init(r, channel, type);
	if (res < 0) {
		sim_node_reader_destroy(r);
		return res;
	}
	*ret = r;
	return 0;
}

int sim_node_reader_create(struct sim_node *n, const char *channel, const struct sim_type *type,
			   const struct sim_node_reader_options *o, sim_node_reader_fn fn, void *user,
			   struct sim_node_reader **ret)
{
	if (!ret)
		return err_set(-EINVAL, "sim_node_reader_create: the output pointer is NULL");
	return reader_create(n, channel, type, o, fn, user, NULL, ret);
}

void sim_node_reader_destroy(struct sim_node_reader *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->n->h->lock);
	list_remove(&r->link);
	pthread_mutex_unlock(&r->n->h->lock);
	if (r->ch) {
		host_channel_remove(r->ch, &r->sink);
		place_leave(r->n->h, PLACE_READER, r->n->name, r->ch->name, r->sink.place);
	}
	sched_task_destroy(r->task);
	whose_remove(&r->call);
	if (r->observed)
		observed_drop(r);
	cache_finish(&r->history);
	pending_finish(&r->pending);
	host_channel_unref(r->ch);
	mem_free(r->observed);
	mem_free(r);
}
