/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch: making and ending it, and the turn. Every callback of the exec (doorbell, lane, timer, command) is one turn:
 *
 *   awake = 1; the callback's own work; then
 *     run commands that wait                 (a publisher is known before its first slot is taken)
 *     release slots, newest first            (d_message_release)
 *     free cells, send completions           (d_client_flush), wake waiters (credits_wake)
 *     drain the feeds of channels that rang  (d_rung_drain)
 *     fill the lanes                         (d_bridge_pump)
 *   awake = 0; fence; look at the bits once more; sleep.
 *
 * A client publishes, fences, sets its channel's bit, fences, and rings its doorbell only if it then reads awake == 0.
 * simd clears awake, fences and looks at the bits once more. Whichever store comes second is followed by a load that
 * sees the first, so either the client rings or simd finds the bit; and if the bit was set already, the same holds for
 * the client's slot and simd's clearing of the bit, after which simd checks the feed: so no slot is missed. A bell is
 * rung only once a turn: while a client that rang still reads the same `turns`, the turn that answers its bell, and
 * will check the bits, has yet to begin.
 * A feed whose bridges are all busy is left alone until one answers, see d_channel_defer(); its clients need not ring.
 *
 * Thread: the dispatch exec's, but for create and destroy.
 */
#include "dispatch.h"

#include <errno.h>
#include <stdatomic.h>

#include "dispatch_private.h"
#include "mem.h"

/* ---- turns ---- */

void d_turn_begin(struct dispatch *d)
{
	d->now = exec_now(d->x);
	d->in_turn = true;
	atomic_store_explicit(&d->shard->awake, 1, memory_order_relaxed);
	/*
	 * after the bell was read; a client that reads the old number has set its bit before the fence in fall_asleep()
	 */
	atomic_store_explicit(&d->shard->turns, ++d->turns, memory_order_release);
}

static void flush_clients(struct dispatch *d)
{
	while (!list_empty(&d->owing)) {
		struct d_client *c = list_first(&d->owing, struct d_client, owing_link);

		list_remove(&c->owing_link);
		d_client_flush(c);
	}
}

/* Slots first, because credits count slots. Completions last: cells are free before the client is notified. */
static void settle(struct dispatch *d)
{
	d_message_release(d);
	flush_clients(d);
	credits_wake(d);
}

static void drain(struct dispatch *d)
{
	if (d->mode_ends)
		d_lossless_update_all(d);
	d_backlog_flow(d);
	d_rung_drain(d);
}

static void pump(struct dispatch *d)
{
	bitmap_for_each(id, d->pumped, DISPATCH_BRIDGES_MAX)
		d_bridge_pump(d->bridges[id]);
}

/* True: nothing is left to take. */
static bool fall_asleep(struct dispatch *d)
{
	atomic_store_explicit(&d->shard->awake, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (!d_rung_pending(d))
		return true;
	atomic_store_explicit(&d->shard->awake, 1, memory_order_relaxed);
	return false;
}

/* Messages published without a credit, or by an unknown publisher, set no bit. */
static bool feeds_empty(struct dispatch *d)
{
	struct d_channel *ch;
	bool empty = true;

	list_for_each(ch, &d->channels, link) {
		if (!ch->feed || ch->starved || !d_channel_has_data(ch))
			continue;
		d_rung_look(d, ch);
		empty = false;
	}
	return empty;
}

static bool is_quiet(struct dispatch *d)
{
	return !dispatch_outstanding(d) && credits_all_free(d) && feeds_empty(d);
}

static void call_all(struct dispatch *d, struct d_waiter **list)
{
	struct d_waiter *w = *list;

	*list = NULL;
	while (w) {
		struct d_waiter *next = w->next;

		d_event_call(d, w->fn, w->arg);
		mem_free(w);
		w = next;
	}
}

/*
 * The step is completed. In each second of simulated time bridges flush once, so that the bytes are the same in each
 * run, unlike with a timer.
 */
static void step_ended(struct dispatch *d)
{
	int64_t sim_s = d->step_sim_ns / D_HOUSE_NS;

	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX && sim_s != d->flushed_sim_s; i++)
		if (d->bridges[i])
			d_bridge_flush(d->bridges[i], D_FLUSH_STEP);
	d->flushed_sim_s = sim_s;
	call_all(d, &d->step);
}

/* A client may hold a claim that it has not published yet: no event reports that, so check again soon. */
static void tell_waiters(struct dispatch *d)
{
	if (d->quiet && is_quiet(d))
		call_all(d, &d->quiet);
	else if (d->quiet && !dispatch_outstanding(d))
		exec_timer_at(&d->quiet_timer, d->now + INT64_C(500000));
	if (d->step && !d->n_step)
		step_ended(d);
	if (d->shut && (d->closing_now || !dispatch_outstanding(d)))
		call_all(d, &d->shut);
}

void d_turn_end(struct dispatch *d)
{
	bool asleep = false;

	d_commands_run(d, false);
	settle(d);
	for (int i = 0; i < D_ROUNDS && !asleep; i++) {
		drain(d);
		d_missing_run(d);
		pump(d);
		settle(d); /* for refused messages */
		d_rung_defer(d);
		asleep = fall_asleep(d);
	}
	if (!asleep)
		exec_timer_at(&d->turn, d->now); /* stay awake: continue after other events */
	if (!list_empty(&d->closing_pubs))
		d_publisher_reap(d);
	d_channel_reap(d);
	if (d->quiet || d->shut || d->step)
		tell_waiters(d);
	d->in_turn = false;
}

static void next_turn(void *arg)
{
	struct dispatch *d = arg;

	d_turn_begin(d);
	d_turn_end(d);
}

/* An earlier turn may have run them already. */
static void commands_came(void *arg)
{
	struct dispatch *d = arg;

	if (!inbox_empty(&d->in))
		next_turn(d);
}

static void renew(void *arg)
{
	struct dispatch *d = arg;

	d_turn_begin(d);
	d_channel_renewed(d);
	d_turn_end(d);
}

/* ---- once a second ---- */

static void flush_again(struct dispatch *d)
{
	struct d_client *c;

	for (unsigned i = 0; i < D_HASH; i++)
		list_for_each(c, &d->clients[i], hash_link)
			if (!list_empty(&c->owed) && !c->stuck && list_empty(&c->owing_link))
				list_append(&d->owing, &c->owing_link);
}

/* Due once a second, or as often as lanes may close. */
static void next_house(struct dispatch *d)
{
	exec_timer_at(&d->house, d->now + (d->idle_dur_ns < D_HOUSE_NS ? d->idle_dur_ns : D_HOUSE_NS));
}

static void keep_house(void *arg)
{
	struct dispatch *d = arg;

	d_turn_begin(d);
	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++)
		if (d->bridges[i])
			d_bridge_house(d->bridges[i]);
	d_rung_look_all(d);
	flush_again(d);
	credits_sweep_strangers(d);
	d_missing_house(d);
	next_house(d);
	d_turn_end(d);
}

/* ---- making and ending ---- */

uint32_t dispatch_outstanding(const struct dispatch *d)
{
	return atomic_load_explicit(&d->outstanding, memory_order_relaxed);
}

int64_t dispatch_accepted_mono_ns(const struct dispatch *d)
{
	return atomic_load_explicit(&d->accepted_mono_ns, memory_order_relaxed);
}

static void init_lists(struct dispatch *d)
{
	list_init(&d->channels);
	list_init(&d->closing_pubs);
	list_init(&d->closing_channels);
	list_init(&d->holding);
	list_init(&d->sorted);
	list_init(&d->release);
	list_init(&d->owing);
	list_init(&d->freed);
	list_init(&d->suspects);
	for (unsigned i = 0; i < D_HASH; i++) {
		list_init(&d->clients[i]);
		list_init(&d->pubs[i]);
	}
}

static bool good(const struct dispatch_options *o)
{
	return o && o->exec && o->owner && o->layout && o->page && o->clock && o->shard < WIRE_SHARDS_MAX;
}

int dispatch_create(const struct dispatch_options *o, struct dispatch **ret)
{
	struct dispatch *d;

	if (!good(o))
		return -EINVAL;
	d = MEM_NEW(struct dispatch);
	if (!d)
		return -ENOMEM;
	init_lists(d);
	d->x = o->exec;
	d->layout = o->layout;
	d->number = o->shard;
	d->n_shards = o->n_shards ? o->n_shards : 1;
	d->shard = &o->layout->shard[o->shard];
	d->page = o->page;
	d->rung = &o->page->rung[o->shard];
	d->clock = o->clock;
	d->idle_dur_ns = (o->idle_ms ? o->idle_ms : 5000) * INT64_C(1000000);
	d->cycle_dur_ns = (o->cycle_ms ? o->cycle_ms : 10) * INT64_C(1000000);
	d->lanes_max = o->lanes_max;
	d->all_lanes = o->lanes ? o->lanes : &d->own_lanes;
	d->ev = o->events ? *o->events : (struct dispatch_events){ 0 };
	d->user = o->user;
	d->limit = (struct log_limit)LOG_LIMIT(D_HOUSE_NS, 5);
	d->now = exec_now(d->x);
	exec_timer_init(&d->turn, d->x, next_turn, d);
	exec_timer_init(&d->quiet_timer, d->x, next_turn, d);
	exec_timer_init(&d->defer_timer, d->x, next_turn, d);
	exec_timer_init(&d->renew_timer, d->x, renew, d);
	exec_timer_init(&d->house, d->x, keep_house, d);
	exec_post_init(&d->in_post, d->x, commands_came, d);
	exec_post_init(&d->out_post, o->owner, d_events_read, d);
	next_house(d);
	*ret = d;
	return 0;
}

static void free_waiters(struct d_waiter *w)
{
	while (w) {
		struct d_waiter *next = w->next;

		mem_free(w);
		w = next;
	}
}

static void release_all(struct dispatch *d, struct d_channel *ch)
{
	for (uint32_t i = 0; i < ch->depth; i++) {
		struct d_message *m = &ch->messages[i];

		if (!m->feed)
			continue;
		if (m->slot)
			ipc_release(m->feed->sub, m->slot);
		m->slot = NULL;
		list_remove(&m->release_link);
		d_feed_put(d, m->feed);
		m->feed = NULL;
	}
}

static void close_lanes(struct dispatch *d)
{
	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++)
		while (d->bridges[i] && !list_empty(&d->bridges[i]->lanes))
			d_lane_close(list_last(&d->bridges[i]->lanes, struct d_lane, link));
}

static void free_bridges(struct dispatch *d)
{
	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++)
		if (d->bridges[i])
			d_bridge_free(d->bridges[i]);
}

static void free_clients(struct dispatch *d)
{
	for (unsigned i = 0; i < D_HASH; i++) /* all publishers first: their clients may be in any bucket */
		while (!list_empty(&d->pubs[i]))
			d_publisher_free(list_first(&d->pubs[i], struct d_publisher, hash_link));
	for (unsigned i = 0; i < D_HASH; i++)
		while (!list_empty(&d->clients[i]))
			d_client_free(list_first(&d->clients[i], struct d_client, hash_link));
}

/* Drops the events that this causes; subscribers in them are destroyed. */
void dispatch_destroy(struct dispatch *d)
{
	if (!d)
		return;
	exec_post_cancel(&d->in_post);
	d_commands_run(d, true);
	exec_timer_cancel(&d->turn);
	exec_timer_cancel(&d->quiet_timer);
	exec_timer_cancel(&d->defer_timer);
	exec_timer_cancel(&d->renew_timer);
	exec_timer_cancel(&d->house);
	close_lanes(d);  /* their deliveries refer to channels */
	free_clients(d); /* publishers refer to channels, channels to bridges */
	while (!list_empty(&d->channels)) {
		struct d_channel *ch = list_first(&d->channels, struct d_channel, link);

		release_all(d, ch);
		d_channel_retire(d, ch);
		d_channel_free(d, ch);
	}
	free_bridges(d);
	exec_post_cancel(&d->out_post);
	d_events_drop(d);
	free_waiters(d->quiet);
	free_waiters(d->shut);
	free_waiters(d->step);
	mem_free(d);
}
