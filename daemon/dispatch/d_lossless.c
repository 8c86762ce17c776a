/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lossless bridges: producers wait for them while they answer, and no longer.
 *
 * A message goes to all bridges of its channel at once, when each lossless one has room: fewer open deliveries than
 * half of the channel's window, and a free place in its queue. Until then it waits in the channel's backlog and keeps
 * its credit; so the window fills up, and producers wait as long as the page's word `waited` is set. Messages of a step
 * of lock-step wait in one order for all channels instead, so that each run is the same.
 *
 * A lossless bridge that has work and gives no answer for its deadline is stalled: its queued deliveries fail, and new
 * messages skip it until it answers again. A bridge whose process simd restarts is waited for up to the same deadline,
 * and keeps its queue; deliveries sent to it before are decided when its process exits.
 *
 * Thread: the dispatch exec's.
 */
#include "dispatch_private.h"

LOG_TOPIC("dispatch");

static bool mode_on(const struct dispatch *d)
{
	return d->freewheel || d->hold;
}

static bool is_connected(const struct d_bridge *b)
{
	return b->attached && b->status == SIM_BRIDGE_CONNECTED;
}

static bool wants(const struct d_bridge *b)
{
	if (b->asked != DISPATCH_LOSSLESS_AUTO)
		return b->asked == DISPATCH_LOSSLESS_YES;
	/* messages accepted in that mode keep it */
	return b->keeps || mode_on(b->d) || (b->lossless && b->d->n_patient);
}

/* ---- which bridges producers wait for ---- */

/*
 * Whether unread completions hold credits: a producer that waits for these would wait for that client, which may be
 * itself.
 */
static bool holds_credits(const struct d_channel *ch)
{
	const struct d_publisher *p;

	list_for_each(p, &ch->pubs, channel_link)
		if (p->client && p->client->full)
			return true;
	return false;
}

void d_lossless_count(struct dispatch *d, struct d_channel *ch)
{
	ch->n_waited = 0;
	for (uint32_t i = 0; i < ch->n_routes; i++)
		ch->n_waited += ch->routes[i]->b->waited;
	atomic_store_explicit(&d->layout->info[ch->id].waited, holds_credits(ch) ? 0 : ch->n_waited,
			      memory_order_relaxed);
}

void d_lossless_full(struct d_client *c, bool full)
{
	struct d_publisher *p;

	if (c->full == full)
		return;
	c->full = full;
	list_for_each(p, &c->pubs, client_link)
		d_lossless_count(c->d, p->ch);
}

/* Restarts the deadlines of its deliveries: from now, not from when they were taken. */
static void no_more(struct d_bridge *b)
{
	struct d_delivery *dl;

	list_for_each(dl, &b->aging, age_link)
		dl->deadline_mono_ns = b->d->now + b->deadline_dur_ns;
	if (!list_empty(&b->aging))
		d_bridge_arm(b, b->d->now + b->deadline_dur_ns);
}

void d_lossless_update(struct d_bridge *b)
{
	bool was = b->lossless, waited;
	struct d_route *rt;

	b->lossless = wants(b);
	if (was && !b->lossless)
		no_more(b);
	if (!was && b->lossless && !list_empty(&b->aging))
		d_bridge_arm(b, b->d->now); /* by other rules, deliveries may be due earlier */
	waited = b->lossless && !b->stalled && !b->d->closing && (is_connected(b) || b->back_mono_ns);
	if (b->waited == waited)
		return;
	b->waited = waited;
	if (!waited)
		exec_timer_at(&b->d->turn, b->d->now); /* backlogs may flow that this turn does not check any more */
	list_for_each(rt, &b->routes, bridge_link)
		d_lossless_count(b->d, rt->ch);
}

/* A message accepted while all bridges are lossless is delivered like that, also if the mode ends meanwhile. */
void d_lossless_accept(struct dispatch *d, struct d_message *m)
{
	m->patient = mode_on(d);
	d->n_patient += m->patient;
}

void d_lossless_decided(struct dispatch *d, struct d_message *m)
{
	if (m->patient && !--d->n_patient)
		d->mode_ends = !mode_on(d);
	m->patient = false;
}

void d_lossless_update_all(struct dispatch *d)
{
	d->mode_ends = false;
	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++)
		if (d->bridges[i])
			d_lossless_update(d->bridges[i]);
}

/* ---- backlogs ---- */

static bool has_room(const struct d_route *rt)
{
	uint32_t share = rt->ch->window / 2 ? rt->ch->window / 2 : 1;

	return is_connected(rt->b) && rt->open < share && !list_empty(&rt->b->free);
}

static bool is_blocked(const struct d_channel *ch)
{
	if (!ch->n_waited)
		return false;
	for (uint32_t i = 0; i < ch->n_routes; i++)
		if (ch->routes[i]->b->waited && !has_room(ch->routes[i]))
			return true;
	return false;
}

static void hold_back(struct list *list, struct d_message *m)
{
	m->ch->n_backlog++;
	list_append(list, &m->link);
}

static struct d_message *take_first(struct list *list)
{
	struct d_message *m = list_first(list, struct d_message, link);

	list_remove(&m->link);
	m->ch->n_backlog--;
	return m;
}

bool d_backlog_take(struct dispatch *d, struct d_message *m)
{
	struct d_channel *ch = m->ch;

	if (list_empty(&d->sorted) && list_empty(&ch->backlog) && !is_blocked(ch))
		return false;
	if (list_empty(&d->sorted)) {
		hold_back(&ch->backlog, m);
		bitmap_set(d->backlogged, ch->id);
	} else {
		hold_back(&d->sorted, m);
	}
	return true;
}

static void flow_sorted(struct dispatch *d)
{
	while (!list_empty(&d->sorted)) {
		const struct d_channel *ch = list_first(&d->sorted, struct d_message, link)->ch;

		if (!list_empty(&ch->backlog) || is_blocked(ch))
			return;
		d_message_offer(d, take_first(&d->sorted));
	}
}

void d_backlog_sorted(struct dispatch *d, struct list *messages)
{
	while (!list_empty(messages)) {
		struct d_message *m = list_first(messages, struct d_message, link);

		list_remove(&m->link);
		hold_back(&d->sorted, m);
	}
	flow_sorted(d);
}

void d_backlog_flow(struct dispatch *d)
{
	flow_sorted(d);
	bitmap_for_each(id, d->backlogged, d->n_ids) {
		struct d_channel *ch = d->by_id[id];

		while (!list_empty(&ch->backlog) && !is_blocked(ch))
			d_message_offer(d, take_first(&ch->backlog));
		if (list_empty(&ch->backlog))
			bitmap_clear(d->backlogged, id);
	}
}

static void drop_list(struct dispatch *d, struct list *list, enum sim_reason reason)
{
	while (!list_empty(list))
		d_message_fail(d, take_first(list), reason);
}

void d_backlog_drop(struct dispatch *d, enum sim_reason reason)
{
	drop_list(d, &d->sorted, reason);
	bitmap_for_each(id, d->backlogged, d->n_ids) {
		drop_list(d, &d->by_id[id]->backlog, reason);
		bitmap_clear(d->backlogged, id);
	}
}

/* ---- bridges that do not answer ---- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t silent_until(const struct d_bridge *b)
{
	return later(b->answered_mono_ns, b->busy_mono_ns) + b->deadline_dur_ns;
}

/* A lane handles deliveries one by one: the time of a delivery begins when it becomes the first, or when it is sent. */
static int64_t out_until(const struct d_bridge *b, const struct d_delivery *dl)
{
	return later(dl->sent_mono_ns, dl->lane ? dl->lane->head_mono_ns : 0) + b->deadline_dur_ns;
}

static void stall(struct d_bridge *b)
{
	log_warn("bridge %s: no answer for %lld ms (dispatch.deadline_ms): it is stalled; messages skip it "
		 "(bridge-slow) until it answers",
		 b->name, (long long)(b->deadline_dur_ns / 1000000));
	b->stalled = true;
	d_bridge_fail_queued(b, SIM_REASON_BRIDGE_SLOW);
	d_bridge_fail_out(b, SIM_REASON_DEADLINE);
	d_lossless_update(b);
}

void d_lossless_answered(struct d_bridge *b)
{
	if (!b->stalled)
		return;
	b->stalled = false;
	log_info("bridge %s answers again", b->name);
	d_lossless_update(b);
}

static void give_up(struct d_bridge *b)
{
	if (b->waited)
		log_warn("bridge %s is not connected after %lld ms (dispatch.deadline_ms): messages skip it", b->name,
			 (long long)(b->deadline_dur_ns / 1000000));
	b->back_mono_ns = 0;
	d_bridge_fail_queued(b, SIM_REASON_DISCONNECTED);
	d_lossless_update(b);
}

/* Decides deliveries on a lane that hangs, or one that is never answered while others are. */
static int64_t check_out(struct d_bridge *b)
{
	struct d_delivery *dl, *next;
	int64_t due = INT64_MAX;

	list_for_each_safe(dl, next, &b->aging, age_link) {
		if (dl->state != D_OUT)
			continue;
		if (out_until(b, dl) <= b->d->now)
			d_bridge_decide_out(b, dl, SIM_REASON_DEADLINE);
		else
			due = sooner(due, out_until(b, dl));
	}
	return due;
}

int64_t d_lossless_expire(struct d_bridge *b)
{
	int64_t due;

	if (is_connected(b) && !list_empty(&b->aging) && silent_until(b) <= b->d->now)
		stall(b);
	due = check_out(b);
	if (is_connected(b) && !list_empty(&b->aging))
		due = sooner(due, silent_until(b));
	return due;
}

/* ---- disconnected bridges ---- */

/* A bridge that dies of its first message is not waited for; one that leaves in order still answers its messages. */
void d_lossless_away(struct d_bridge *b)
{
	struct dispatch *d = b->d;

	if (b->comes_back && !b->stalled && !d->closing && !b->back_mono_ns &&
	    (b->answered || !b->n_out || d_bridge_leaves(b))) {
		b->back_mono_ns = d->now + b->deadline_dur_ns;
		d_bridge_arm(b, b->back_mono_ns);
	}
	d_lossless_update(b);
}

void d_lossless_back(struct d_bridge *b)
{
	b->back_mono_ns = 0;
	b->stalled = b->answered = false;
	b->busy_mono_ns = b->d->now;
	if (!list_empty(&b->aging))
		d_bridge_arm(b, b->d->now + b->deadline_dur_ns);
	d_lossless_update(b);
}

void d_lossless_check_away(struct d_bridge *b)
{
	if (b->back_mono_ns && b->back_mono_ns <= b->d->now)
		give_up(b);
}
