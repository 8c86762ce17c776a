/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: from the time when simd holds a slot until slot, cells and completion are all settled.
 *
 * `open` counts deliveries without an outcome: at 0 the completion is decided. `held` counts deliveries that a bridge
 * may still be reading: at 0 the slot is released. Normally both reach 0 together; after a deadline `held` follows
 * later, and slot, credit and token wait for it.
 *
 * Thread: the dispatch exec's.
 */
#include <stdlib.h>
#include <string.h>

#include "dispatch_private.h"
#include "mem.h"

LOG_TOPIC("dispatch");

/* Returns the message to its channel: slot and completion are done. */
static void finish(struct dispatch *d, struct d_message *m)
{
	struct d_channel *ch = m->ch;

	credits_free(d, m);
	d_feed_put(d, m->feed);
	m->feed = NULL;
	m->pub->in_flight--;
	m->pub = NULL;
	ch->stats.in_flight--;
	if (m->counted)
		atomic_fetch_sub_explicit(&d->outstanding, 1, memory_order_relaxed);
	list_remove(&m->link);
	list_append(&ch->free, &m->link);
	if (ch->starved)
		d_rung_look(d, ch);
}

/* While the slot is in the release list, d_message_release() finishes the message later. */
static void finish_if_settled(struct dispatch *d, struct d_message *m)
{
	if (m->answered && !m->held && !m->slot)
		finish(d, m);
}

void d_message_answered(struct dispatch *d, struct d_message *m)
{
	m->answered = true;
	finish_if_settled(d, m);
}

static void count_outcome(struct d_message *m)
{
	struct dispatch_channel_stats *s = &m->ch->stats;

	if (!m->counted)
		return;
	if (m->reason == SIM_REASON_NONE)
		s->completed++;
	else
		s->failed[m->reason]++;
}

static void decide(struct dispatch *d, struct d_message *m)
{
	count_outcome(m);
	d_lossless_decided(d, m);
	d->n_step -= m->of_step;
	m->of_step = false;
	if (m->pub->client)
		d_client_owe(m->pub->client, m);
	else
		d_message_unreported(d, m);
}

void d_message_unreported(struct dispatch *d, struct d_message *m)
{
	if (m->counted && m->reason != SIM_REASON_NONE)
		m->ch->stats.unreported[m->reason]++;
	d_message_answered(d, m);
}

/* No bridge reads the slot any more: it is released at the end of the turn. */
static void give_back(struct dispatch *d, struct d_message *m)
{
	if (!m->open && !m->held && m->slot && list_empty(&m->release_link))
		list_prepend(&d->release, &m->release_link);
}

void d_message_outcome(struct dispatch *d, struct d_message *m, enum sim_reason reason)
{
	if (reason != SIM_REASON_NONE && m->reason == SIM_REASON_NONE)
		m->reason = (uint8_t)reason;
	if (--m->open)
		return;
	give_back(d, m);
	decide(d, m);
}

/* If no bridge is left that carries the channel, the outcome is as if there were none. */
void d_message_not_carried(struct dispatch *d, struct d_message *m)
{
	m->carriers--;
	d_message_outcome(d, m, m->carriers ? SIM_REASON_NONE : SIM_REASON_NO_BRIDGE);
}

void d_message_unheld(struct dispatch *d, struct d_message *m)
{
	m->held--;
	give_back(d, m);
}

void d_message_fail(struct dispatch *d, struct d_message *m, enum sim_reason reason)
{
	m->open++;
	d_message_outcome(d, m, reason);
}

void d_message_offer(struct dispatch *d, struct d_message *m)
{
	struct d_channel *ch = m->ch;
	bool lags[DISPATCH_ROUTES_MAX];

	if (!ch->n_routes) {
		d_message_fail(d, m, SIM_REASON_NO_BRIDGE);
		return;
	}
	for (uint32_t i = 0; i < ch->n_routes; i++)
		lags[i] = d_route_lags(ch->routes[i]); /* before this message counts for any of them */
	m->carriers = (uint8_t)ch->n_routes;
	m->open = 1; /* keeps it undecided until all bridges were asked */
	for (uint32_t i = 0; i < ch->n_routes; i++) {
		struct d_route *rt = ch->routes[i];
		enum sim_reason why;

		m->open++;
		why = d_bridge_offer(rt->b, rt, m, lags[i]);
		if (why != SIM_REASON_NONE)
			d_message_outcome(d, m, why);
	}
	d_message_outcome(d, m, SIM_REASON_NONE);
}

void d_message_route(struct dispatch *d, struct d_message *m)
{
	if (!d_backlog_take(d, m))
		d_message_offer(d, m);
}

/* The list is newest first, because the library searches its held slots from the newest on. */
void d_message_release(struct dispatch *d)
{
	while (!list_empty(&d->release)) {
		struct d_message *m = list_first(&d->release, struct d_message, release_link);
		int r = ipc_release(m->feed->sub, m->slot);

		if (r < 0)
			log_limited(&d->limit, d->now, LOG_LEVEL_ERROR,
				    "channel %s: a slot could not be released (%s); ignoring", m->ch->name, ipc_why());
		m->slot = NULL;
		list_remove(&m->release_link);
		finish_if_settled(d, m);
	}
}

/* ---- lock-step: held messages ---- */

static int by_stamp(const void *a, const void *b)
{
	const struct d_message *x = *(struct d_message *const *)a, *y = *(struct d_message *const *)b;
	int c;

	if (x->stamp_sim_ns != y->stamp_sim_ns)
		return x->stamp_sim_ns < y->stamp_sim_ns ? -1 : 1;
	c = strcmp(x->ch->name, y->ch->name);
	if (c)
		return c;
	/* publisher numbers depend on the order in which processes connect; names are the same in every run */
	c = strcmp(x->pub->client_name, y->pub->client_name);
	if (c)
		return c;
	if (x->pub->id != y->pub->id)
		return x->pub->id < y->pub->id ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void sort_held(struct dispatch *d)
{
	size_t n = list_count(&d->holding), i = 0;
	struct d_message **v = n ? mem_calloc(n, sizeof(*v)) : NULL, *m;

	if (!v) {
		if (n)
			log_error(
				"no memory to order %zu held messages: sending them in the order in which they arrived",
				n);
		return;
	}
	list_for_each(m, &d->holding, link)
		v[i++] = m;
	qsort(v, n, sizeof(*v), by_stamp);
	for (i = 0; i < n; i++) {
		list_remove(&v[i]->link);
		list_append(&d->holding, &v[i]->link);
	}
	mem_free(v);
}

void d_message_hold(struct dispatch *d, struct d_message *m)
{
	m->in_order = true;
	list_append(&d->holding, &m->link);
}

void d_message_step(struct dispatch *d)
{
	struct d_message *m;

	list_for_each(m, &d->holding, link) {
		m->of_step = true;
		d->n_step++;
	}
	sort_held(d);
	d_backlog_sorted(d, &d->holding);
}

static bool page_holds(const struct dispatch *d)
{
	return SIM_LOAD_(&d->clock->flags, __ATOMIC_ACQUIRE) & SIM_CLOCK_LOCKSTEP;
}

static void set_hold(struct dispatch *d, enum dispatch_hold hold)
{
	d->hold = hold == DISPATCH_HELD;
	d->hold_paused = hold == DISPATCH_PAUSED;
	d->unheld_mono_ns = d->now;
	d_lossless_update_all(d);
}

void d_message_hold_look(struct dispatch *d)
{
	if (!d->hold && page_holds(d))
		set_hold(d, DISPATCH_HELD);
}

void d_message_hold_told(struct dispatch *d, enum dispatch_hold hold)
{
	if (hold != DISPATCH_HELD) {
		if (page_holds(
			    /*
			     * a new round has begun: its end releases these messages too, and a command to hold will
			     * follow
			     */
			    d))
			return;
		d_message_step(d);
	}
	set_hold(d, hold);
}

void d_message_drop_held(struct dispatch *d, enum sim_reason reason)
{
	while (!list_empty(&d->holding)) {
		struct d_message *m = list_first(&d->holding, struct d_message, link);

		list_remove(&m->link);
		d_message_fail(d, m, reason);
	}
	d_backlog_drop(d, reason);
}
