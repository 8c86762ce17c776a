/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bridges: each has its own bounded queue, lanes and deadline; none waits for another.
 *
 * A delivery is QUEUED, then OUT on a lane, then free. Its outcome may be known before it is free: past the deadline it
 * is decided, but the bridge may still be reading the slot, so it stays OUT until DONE or until the bridge's process
 * has exited.
 *
 * A lane is one thread in the bridge, which handles deliveries one by one: so a channel stays in order while all its
 * deliveries that are out are on one lane.
 *
 * Thread: the dispatch exec's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dispatch_private.h"
#include "mem.h"

LOG_TOPIC("dispatch");

static void expire(void *arg);

int d_bridge_add(struct dispatch *d, struct d_bridge *b)
{
	if (d->bridges[b->id]) {
		log_error("bridge number %u is taken by %s: ignoring %s", b->id, d->bridges[b->id]->name, b->name);
		return -EEXIST;
	}
	for (uint32_t i = 0; i < b->queue_max; i++)
		list_append(&b->free, &b->pool[i].link);
	b->d = d;
	exec_timer_init(&b->deadline, d->x, expire, b);
	d->bridges[b->id] = b;
	d_lossless_away(b); /* its process is expected to attach */
	return 0;
}

void d_bridge_free(struct d_bridge *b)
{
	if (b->d) {
		exec_timer_cancel(&b->deadline);
		b->d->bridges[b->id] = NULL;
		bitmap_clear(b->d->pumped, b->id);
		bitmap_clear(b->d->loaded, b->id);
	}
	mem_free(b->connection);
	mem_free(b->pool);
	mem_free(b);
}

void d_bridge_violation(struct d_bridge *b, const char *what)
{
	b->stats.violations++;
	log_limited(&b->limit, b->d->now, LOG_LEVEL_WARN, "bridge %s broke the protocol: %s", b->name, what);
}

/* ---- status ---- */

static void tell_channels(struct d_bridge *b)
{
	struct d_route *rt;

	list_for_each(rt, &b->routes, bridge_link)
		credits_bridges(b->d, rt->ch);
}

static void change_status(struct d_bridge *b, enum sim_bridge_status status, const char *detail)
{
	if (b->status == status && !strcmp(b->detail, detail))
		return;
	b->status = status;
	strncpy(b->detail, detail, sizeof(b->detail) - 1);
	tell_channels(b);
	d_event_bridge_status(b);
}

void d_bridge_set_status(struct d_bridge *b, enum sim_bridge_status status, const char *detail)
{
	bool was = b->status == SIM_BRIDGE_CONNECTED;

	change_status(b, status, detail);
	if (!was && status == SIM_BRIDGE_CONNECTED) {
		d_bridge_pump_due(b);
		d_lossless_back(b);
	}
	if (!was || status == SIM_BRIDGE_CONNECTED)
		return;
	d_lossless_away(b);
	if (!b->waited)
		d_bridge_fail_queued(b, SIM_REASON_DISCONNECTED);
}

static void connect_out(struct d_bridge *b)
{
	struct d_lane *lane0 = list_first(&b->lanes, struct d_lane, link);
	const char *text = b->connection;

	if (!b->connect_due || !lane0 || lane0->blocked)
		return;
	if (d_lane_control(lane0, LANE_CONNECT, text != NULL, text, text ? (uint32_t)strlen(text) : 0) >= 0)
		b->connect_due = false;
}

void d_bridge_attach(struct d_bridge *b, int lane0_fd)
{
	struct d_lane *lane0;
	int r = d_lane_open(b, lane0_fd, &lane0);

	if (r < 0) {
		d_bridge_broken(b, "its first lane cannot be watched");
		return;
	}
	b->attached = true;
	b->attaches++;
	b->generation = b->d->ipc ? b->d->generation : 0;
	b->measured = b->idle_reported = false;
	b->order.ticket = 0;
	b->order.unflushed = b->order.stepping = false;
	b->order.flush = D_FLUSH_NONE;
	b->connect_due = b->connection != NULL;
	d_bridge_pump_due(b);
	b->status = SIM_BRIDGE_DISCONNECTED;
	b->detail[0] = '\0';
	d_route_forget(b);
	d_lossless_update(b);
	tell_channels(b);
	d_event_bridge_status(b);
}

/* ---- deliveries ---- */

static struct d_delivery *new_delivery(struct d_bridge *b, struct d_route *rt, struct d_message *m)
{
	struct d_delivery *dl = list_first(&b->free, struct d_delivery, link);

	list_remove(&dl->link);
	dl->number = ++b->d->serial << D_INDEX_BITS | (uint64_t)(dl - b->pool);
	dl->m = m;
	dl->route = rt;
	dl->lane = NULL;
	dl->decided = false;
	dl->deadline_mono_ns = b->d->now + b->deadline_dur_ns;
	if (list_empty(&b->aging))
		b->busy_mono_ns = b->d->now;
	list_append(&b->aging, &dl->age_link);
	rt->open++;
	return dl;
}

static void goes_out(struct d_lane *l, struct d_route *rt)
{
	rt->lane = !rt->n_out || rt->lane == l ? l : NULL;
	rt->n_out++;
	l->n_out++;
}

void d_bridge_off_lane(struct d_delivery *dl)
{
	struct d_route *rt = dl->route;

	dl->lane->n_out--;
	dl->lane = NULL;
	if (--rt->n_out)
		return;
	rt->lane = NULL;
	if (rt->b->moving == rt)
		rt->b->moving = NULL;
}

static void free_delivery(struct d_bridge *b, struct d_delivery *dl)
{
	if (dl->state == D_OUT)
		b->n_out--;
	else
		b->n_queued--;
	if (b->n_out < D_DEFER_OUT)
		bitmap_clear(b->d->loaded, b->id);
	if (dl->lane)
		d_bridge_off_lane(dl);
	dl->state = D_FREE;
	dl->m = NULL;
	list_remove(&dl->age_link);
	list_remove(&dl->link);
	list_prepend(&b->free, &dl->link); /* used next, as it is in the cache */
	dl->route->open--;
}

/*
 * With several bridges on a channel the slowest must not pin all its credits, or the others would wait for it. When
 * the window is nearly used up, a bridge that holds half of it while another has caught up is refused.
 */
bool d_route_lags(const struct d_route *rt)
{
	const struct d_channel *ch = rt->ch;
	uint32_t spare = ch->window / 4 ? ch->window / 4 : 1, half = ch->window / 2 ? ch->window / 2 : 1;

	if (ch->n_routes < 2 || rt->b->waited || rt->open < half ||
	    ch->stats.in_flight - ch->n_backlog + spare <= ch->window)
		return false;
	for (uint32_t i = 0; i < ch->n_routes; i++) {
		const struct d_route *o = ch->routes[i];

		if (o != rt && o->b->attached && o->b->status == SIM_BRIDGE_CONNECTED && o->open <= rt->open / 2)
			return true;
	}
	return false;
}

/* Logged once; the counter has the rest. */
static void tell_missed(struct d_route *rt)
{
	if (rt->slow_told || rt->b->stalled) /* the stall was logged */
		return;
	rt->slow_told = true;
	log_warn("channel %s: bridge %s has fallen behind its other bridges and holds half of the window (%u): it misses "
		 "messages (bridge-slow; `simctl doctor` counts them)",
		 rt->ch->name, rt->b->name, rt->ch->window);
}

enum sim_reason d_bridge_offer(struct d_bridge *b, struct d_route *rt, struct d_message *m, bool lags)
{
	struct d_delivery *dl;

	b->stats.attempted++;
	if (!b->attached || b->status != SIM_BRIDGE_CONNECTED) {
		b->stats.dropped++;
		return SIM_REASON_DISCONNECTED;
	}
	if (lags || b->stalled) {
		b->stats.dropped++;
		rt->slow++;
		tell_missed(rt);
		return SIM_REASON_BRIDGE_SLOW;
	}
	if (list_empty(&b->free)) {
		b->stats.dropped++;
		return SIM_REASON_BRIDGE_BUSY;
	}
	dl = new_delivery(b, rt, m);
	d_bridge_pump_due(b);
	b->n_queued++;
	dl->state = D_QUEUED;
	list_append(&b->queue, &dl->link);
	if (!b->armed_mono_ns)
		d_bridge_arm(b, dl->deadline_mono_ns);
	return SIM_REASON_NONE;
}

/* Fails a delivery that was never sent to the bridge. */
static void fail_one_queued(struct d_bridge *b, struct d_delivery *dl, enum sim_reason reason)
{
	struct d_message *m = dl->m;

	b->stats.dropped++;
	dl->route->slow += reason == SIM_REASON_BRIDGE_SLOW;
	free_delivery(b, dl);
	d_message_outcome(b->d, m, reason);
}

void d_bridge_fail_queued(struct d_bridge *b, enum sim_reason reason)
{
	struct d_delivery *dl, *next;

	list_for_each_safe(dl, next, &b->aging, age_link)
		if (dl->state == D_QUEUED)
			fail_one_queued(b, dl, reason);
}

/* Decides a delivery that was sent to the bridge; the slot is released later. */
void d_bridge_decide_out(struct d_bridge *b, struct d_delivery *dl, enum sim_reason reason)
{
	dl->decided = true;
	if (b->lossless)
		dl->deadline_mono_ns = b->d->now; /* start of its lateness */
	list_remove(&dl->age_link);
	list_append(&b->late, &dl->age_link);
	b->stats.failed++;
	d_message_outcome(b->d, dl->m, reason);
}

void d_bridge_fail_out(struct d_bridge *b, enum sim_reason reason)
{
	struct d_delivery *dl, *next;

	list_for_each_safe(dl, next, &b->aging, age_link)
		if (dl->state == D_OUT)
			d_bridge_decide_out(b, dl, reason);
}

void d_bridge_arm(struct d_bridge *b, int64_t due_mono_ns)
{
	if (b->armed_mono_ns && b->armed_mono_ns <= due_mono_ns)
		return;
	b->armed_mono_ns = due_mono_ns;
	exec_timer_at(&b->deadline, due_mono_ns);
}

/* Expires deliveries by age. Returns when the next one is due. */
static int64_t expire_old(struct d_bridge *b)
{
	struct d_delivery *dl;

	while ((dl = list_first(&b->aging, struct d_delivery, age_link)) && dl->deadline_mono_ns <= b->d->now) {
		if (dl->state == D_OUT)
			d_bridge_decide_out(b, dl, SIM_REASON_DEADLINE);
		else
			fail_one_queued(b, dl, SIM_REASON_DEADLINE);
	}
	return dl ? dl->deadline_mono_ns : INT64_MAX;
}

static void expire(void *arg)
{
	struct d_bridge *b = arg;
	int64_t due;

	d_turn_begin(b->d);
	b->armed_mono_ns = 0;
	d_lossless_check_away(b);
	due = b->lossless ? d_lossless_expire(b) : expire_old(b);
	if (due != INT64_MAX)
		d_bridge_arm(b, due);
	if (b->back_mono_ns)
		d_bridge_arm(b, b->back_mono_ns);
	d_turn_end(b->d);
}

/* ---- answers ---- */

static const struct d_delivery *at_number(const struct d_bridge *b, uint64_t number)
{
	uint64_t i = number & ((UINT64_C(1) << D_INDEX_BITS) - 1);

	return i < b->queue_max && b->pool[i].number == number ? &b->pool[i] : NULL;
}

static void stray_answer(struct d_bridge *b, uint64_t number)
{
	struct dispatch *d = b->d;
	char text[160];

	if (at_number(b, number)) {
		snprintf(text, sizeof(text), "it answered delivery %llu: stale delivery id",
			 (unsigned long long)number);
		d_bridge_violation(b, text);
		return;
	}
	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++) {
		const struct d_delivery *dl = d->bridges[i] ? at_number(d->bridges[i], number) : NULL;

		if (!dl || dl->state == D_FREE)
			continue;
		snprintf(text, sizeof(text), "it answered delivery %llu, which is bridge %s's",
			 (unsigned long long)number, d->bridges[i]->name);
		d_bridge_violation(b, text);
		return;
	}
	snprintf(text, sizeof(text), "it answered delivery %llu, which it was not given or has answered before",
		 (unsigned long long)number);
	d_bridge_violation(b, text);
}

static void measure(struct d_bridge *b, uint32_t service_us)
{
	int64_t dur_ns = (int64_t)service_us * 1000;

	b->service_dur_ns = b->measured ? b->service_dur_ns + (dur_ns - b->service_dur_ns) / 8 : dur_ns;
	b->measured = true;
}

static void settle_answer(struct d_bridge *b, struct d_message *m, int32_t result)
{
	if (result == LANE_NOT_CARRIED) {
		b->stats.attempted--;
		d_message_not_carried(b->d, m);
		return;
	}
	if (result == 0)
		b->stats.sent++;
	else
		b->stats.failed++;
	d_message_outcome(b->d, m, result == 0 ? SIM_REASON_NONE : SIM_REASON_FAILED);
}

void d_bridge_done(struct d_bridge *b, const struct lane_done *r)
{
	struct d_delivery *dl = (struct d_delivery *)at_number(b, r->delivery);
	struct d_message *m;

	if (!dl || dl->state != D_OUT) {
		stray_answer(b, r->delivery);
		return;
	}
	m = dl->m;
	b->answered_mono_ns = b->d->now;
	b->answered = true;
	if (dl->lane && list_first(&dl->lane->out, struct d_delivery, link) == dl)
		dl->lane->head_mono_ns = b->d->now;
	d_lossless_answered(b);
	measure(b, r->service_us);
	histogram_add_recent(&b->d->publish_hist, b->d->now - dl->sent_mono_ns);
	if (dl->route->stages)
		d_stages_answered(dl->route, m);
	if (!dl->decided)
		settle_answer(b, m, r->result);
	free_delivery(b, dl);
	d_message_unheld(b->d, m);
}

/* ---- ends ---- */

/* Packets that the bridge sent before its end are handled first, on all lanes. */
static void drain_lanes(struct d_bridge *b)
{
	struct d_lane *l;

	list_for_each(l, &b->lanes, link)
		d_lane_drain(l);
}

static void close_lanes(struct d_bridge *b)
{
	drain_lanes(b);
	while (!list_empty(&b->lanes))
		d_lane_close(list_last(&b->lanes, struct d_lane, link));
}

bool d_bridge_leaves(const struct d_bridge *b)
{
	return b->status == SIM_BRIDGE_DISCONNECTED || b->status == SIM_BRIDGE_DISCONNECTING;
}

/* Queued deliveries wait for the next process, for bridge_gone() (the process has exited), or for their deadline. */
void d_bridge_broken(struct d_bridge *b, const char *why)
{
	bool orderly = d_bridge_leaves(b); /* it has announced its end */
	bool was = b->status == SIM_BRIDGE_CONNECTED;

	log_at(orderly ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN, "bridge %s: lane 0 is lost: %s", b->name, why);
	b->attached = false;
	close_lanes(b);
	if (!orderly)
		change_status(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, why);
	if (was)
		d_lossless_away(b);
	if (b->lossless && !b->waited)
		d_bridge_fail_queued(b, SIM_REASON_BRIDGE_DIED); /* otherwise they would have no deadline */
	d_event_bridge_broken(b, why);
}

void d_bridge_left(struct d_bridge *b)
{
	b->attached = false;
	close_lanes(b);
	log_debug("bridge %s has left", b->name);
}

void d_bridge_gone(struct d_bridge *b)
{
	bool was;

	drain_lanes(b);
	was = b->attached && b->status == SIM_BRIDGE_CONNECTED;
	b->attached = false;
	close_lanes(b);
	if (was)
		d_lossless_away(b);
	if (!b->waited)
		d_bridge_fail_queued(b, SIM_REASON_BRIDGE_DIED);
	d_bridge_fail_out(b, SIM_REASON_BRIDGE_DIED);
	while (!list_empty(&b->orphans)) {
		struct d_delivery *dl = list_first(&b->orphans, struct d_delivery, link);
		struct d_message *m = dl->m;

		free_delivery(b, dl);
		d_message_unheld(b->d, m);
	}
	b->generation = 0;
	if (b->status != SIM_BRIDGE_DISCONNECTED) /* otherwise the bridge has reported the reason itself, which stays */
		change_status(b, SIM_BRIDGE_DISCONNECTED, "");
}

/* ---- sending ---- */

/* Another bridge has attached, whose first lane may exceed the limit: then further lanes of this one are given up. */
static bool too_many_lanes(const struct d_bridge *b)
{
	return b->n_lanes > 1 && atomic_load_explicit(b->d->all_lanes, memory_order_relaxed) > b->d->lanes_max;
}

/*
 * The lane with the least to do that has room; with full_too also one without room, if its socket takes packets. Of
 * equal ones the first, so that the last lanes become idle.
 */
static struct d_lane *pick_lane(struct d_bridge *b, bool full_too)
{
	struct d_lane *l, *best = NULL;
	bool first_only = too_many_lanes(b);

	list_for_each(l, &b->lanes, link) {
		if (l->blocked || !(full_too || d_lane_room(l)) || (first_only && l->number))
			continue;
		best = best && best->n_out <= l->n_out ? best : l;
	}
	return best;
}

/*
 * The next lane with room, in rotation: neighbours of an ordered sequence are converted in parallel only on different
 * lanes.
 */
static struct d_lane *next_lane(struct d_bridge *b)
{
	struct d_lane *l, *first = NULL;

	list_for_each(l, &b->lanes, link) {
		if (!d_lane_room(l))
			continue;
		if (l->number > b->order.lane)
			return l;
		first = first ? first : l;
	}
	return first;
}

static unsigned batch_size(const struct d_bridge *b, const struct d_lane *l, bool in_order)
{
	unsigned n = in_order && b->n_lanes > 1 ? 1 : (b->n_queued + b->n_lanes - 1) / (b->n_lanes ? b->n_lanes : 1),
		 room = d_lane_room(l);

	n = n < room ? n : room;
	return n < LANE_BATCH ? n : LANE_BATCH;
}

/*
 * The lane for a delivery of the route; NULL: it must wait. An unordered channel uses `spare`, any lane with room. An
 * ordered one stays on the lane that has its other deliveries. A lane counts all that is unanswered, also messages that
 * the bridge has published and whose peer has not confirmed; so D_ROOM_FIRST of a channel go to its lane even if that
 * is full, because a bridge that drops old messages for new ones must see the new ones. A channel with nothing out
 * sends one to `any`, full or not; otherwise the other channels would leave it no room forever.
 */
static struct d_lane *lane_for(const struct d_route *rt, struct d_lane *spare, struct d_lane *any, bool first_only)
{
	struct d_lane *l = rt->lane;

	if (!rt->n_out)
		return any;
	if (!rt->ch->ordered)
		return spare;
	if (!l || l->blocked || (first_only && l->number) || rt->b->moving == rt)
		return NULL;
	return d_lane_room(l) || rt->n_out < D_ROOM_FIRST ? l : NULL;
}

/* The oldest queued delivery that can go (ret), and its lane; NULL: none can. The queue must not be empty. */
static struct d_lane *first_to_go(struct d_bridge *b, struct d_delivery **ret)
{
	struct d_lane *spare = pick_lane(b, false), *any = spare ? spare : pick_lane(b, true), *l;
	bool first_only = too_many_lanes(b);
	struct d_delivery *dl;

	*ret = list_first(&b->queue, struct d_delivery, link);
	if ((*ret)->m->in_order)
		return next_lane(b);
	list_for_each(dl, &b->queue, link) {
		if (dl->m->in_order)
			return NULL;
		*ret = dl;
		l = lane_for(dl->route, spare, any, first_only);
		if (l)
			return l;
	}
	return NULL;
}

/*
 * Collects the deliveries from this one on that can go to the same lane: only deliveries of lock-step, or only others.
 */
static unsigned collect(struct d_bridge *b, struct d_lane *l, struct d_delivery *first,
			struct d_delivery *v[LANE_BATCH])
{
	bool in_order = first->m->in_order;
	unsigned n = 0, room = batch_size(b, l, in_order), max = room ? room : 1; /* one goes even without room */

	for (struct list *at = &first->link; n < max && at != &b->queue; at = at->next) {
		struct d_delivery *dl = list_entry(at, struct d_delivery, link);

		if (dl->m->in_order != in_order)
			break;
		if (in_order || lane_for(dl->route, l, l, false) == l)
			v[n++] = dl;
	}
	return n;
}

static void mark_out(struct d_lane *l, struct d_delivery *dl)
{
	struct d_bridge *b = l->b;

	list_remove(&dl->link);
	if (list_empty(&l->out))
		l->head_mono_ns = b->d->now;
	list_append(&l->out, &dl->link);
	dl->state = D_OUT;
	dl->lane = l;
	dl->sent_mono_ns = b->d->now;
	dl->m->held++;
	goes_out(l, dl->route);
	b->n_queued--;
	if (++b->n_out >= D_DEFER_OUT)
		bitmap_set(b->d->loaded, b->id);
	histogram_add_recent(&b->d->queue_hist, b->d->now - dl->m->publish_mono_ns);
	if (dl->route->stages)
		d_stages_handed(dl->route, dl->m);
}

/* Whether one more lane would have work: an ordered channel uses one lane at a time. */
static bool could_use_more(const struct d_bridge *b)
{
	const struct d_route *rt;
	unsigned n = 0;

	if (list_first(&b->queue, struct d_delivery, link)->m->in_order)
		return true;
	list_for_each(rt, &b->routes, bridge_link) {
		if (rt->open && !rt->ch->ordered)
			return true;
		n += rt->open > 0;
	}
	return n > b->n_lanes;
}

static bool has_another(const struct d_lane *l, const struct d_route *rt)
{
	const struct d_delivery *dl;

	list_for_each(dl, &l->out, link)
		if (dl->route != rt)
			return true;
	return false;
}

/*
 * If a lane is idle and all queued deliveries must stay on others, a channel that shares its lane waits until nothing
 * of it is out, and then moves.
 */
static void move(struct d_bridge *b)
{
	const struct d_lane *l = pick_lane(b, false);
	struct d_route *rt;

	if (!l || l->n_out || b->moving)
		return;
	list_for_each(rt, &b->routes, bridge_link)
		if (rt->lane && rt->ch->ordered && rt->open > rt->n_out && has_another(rt->lane, rt)) {
			b->moving = rt;
			return;
		}
}

static void grow(struct d_bridge *b)
{
	struct dispatch *d = b->d;

	if (!b->measured || !b->n_lanes || b->n_lanes >= b->lanes_max ||
	    atomic_load_explicit(d->all_lanes, memory_order_relaxed) >= d->lanes_max ||
	    d->now - b->grown_mono_ns < d->cycle_dur_ns)
		return;
	if (b->n_queued * b->service_dur_ns / b->n_lanes <= d->cycle_dur_ns || !could_use_more(b))
		return;
	b->grown_mono_ns = d->now;
	if (d_lane_open_further(b) >= 0)
		log_info("bridge %s: %u lanes (%u deliveries queued, %lld us each)", b->name, b->n_lanes, b->n_queued,
			 (long long)(b->service_dur_ns / 1000));
}

void d_bridge_pump_due(struct d_bridge *b)
{
	bitmap_set(b->d->pumped, b->id);
}

/* False: the flush could not be sent, and must be sent first. */
static bool flush_out(struct d_bridge *b)
{
	struct d_lane *lane0 = list_first(&b->lanes, struct d_lane, link);
	struct lane_ticket t = d_lane_ticket(b, 0);

	if (b->order.flush == D_FLUSH_NONE)
		return true;
	if (lane0->blocked || d_lane_control(lane0, LANE_FLUSH, b->order.flush == D_FLUSH_STEP, &t, sizeof(t)) < 0)
		return false;
	b->order.ticket++;
	b->order.unflushed = false;
	b->order.stepping = b->order.flush == D_FLUSH_STEP;
	b->order.flush = D_FLUSH_NONE;
	return true;
}

void d_bridge_flush(struct d_bridge *b, enum d_flush flush)
{
	if (!b->attached || !(flush == D_FLUSH_STEP ? b->order.unflushed : b->order.stepping))
		return;
	b->order.flush = flush;
	d_bridge_pump_due(b);
	d_bridge_pump(b);
}

/* What cannot be sent now is due again when a lane has room, the bridge is connected, or another process attaches. */
void d_bridge_pump(struct d_bridge *b)
{
	bitmap_clear(b->d->pumped, b->id);
	if (!b->attached)
		return;
	connect_out(b);
	d_route_announce(b);
	if (!flush_out(b))
		return;
	while (b->attached && b->status == SIM_BRIDGE_CONNECTED && b->generation == b->d->generation &&
	       !list_empty(&b->queue)) {
		struct d_delivery *first, *v[LANE_BATCH];
		struct d_lane *l = first_to_go(b, &first);
		unsigned n;
		int r;

		if (!l)
			break;
		n = collect(b, l, first, v);
		r = d_lane_deliver(l, v, n);
		if (r < 0)
			continue; /* the lane is blocked or closed now: try another one */
		for (unsigned i = 0; i < n; i++)
			mark_out(l, v[i]);
		l->worked_mono_ns = b->d->now;
	}
	if (!b->n_queued)
		return;
	d_bridge_pump_due(b);
	if (b->n_lanes > 1)
		move(b);
	grow(b);
}

bool d_bridge_busy(const struct d_bridge *b)
{
	const struct d_lane *l;

	if (!b->attached || b->status != SIM_BRIDGE_CONNECTED || !b->measured ||
	    b->service_dur_ns > D_DEFER_SERVICE_NS || b->d->now - b->answered_mono_ns >= D_DEFER_NS)
		return false;
	list_for_each(l, &b->lanes, link)
		if (l->n_out < D_DEFER_OUT)
			return false;
	return true;
}

/* ---- once a second ---- */

static void shrink(struct d_bridge *b)
{
	uint32_t before = b->n_lanes;
	struct d_lane *l, *next;

	list_for_each_safe(l, next, &b->lanes, link)
		if (l->number && !l->n_out && (b->d->now - l->worked_mono_ns >= b->d->idle_dur_ns || too_many_lanes(b)))
			d_lane_retire(l);
	if (b->n_lanes < before)
		log_info("bridge %s: %u lane%s (the others had no work for %lld ms, or another bridge has come)",
			 b->name, b->n_lanes, b->n_lanes > 1 ? "s" : "", (long long)(b->d->idle_dur_ns / 1000000));
}

void d_bridge_house(struct d_bridge *b)
{
	const struct d_delivery *oldest = list_first(&b->late, struct d_delivery, age_link);
	int64_t late_dur_ns = oldest ? b->d->now - oldest->deadline_mono_ns : 0;

	d_route_report(b);
	if (b->status_due)
		d_event_bridge_status(b);
	if (oldest && late_dur_ns >= b->kill_after_dur_ns)
		d_event_bridge_stuck(b, late_dur_ns);
	if (!b->d->hold && !b->d->hold_paused && b->d->now - b->d->unheld_mono_ns >= D_HOUSE_NS)
		d_bridge_flush(b, D_FLUSH_OVER);
	if (b->n_lanes > 1)
		shrink(b);
}
