/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels: takes slots from the feed and checks their headers.
 *
 * The publisher can still write into its slot, so the header is copied once and only the copy is used. A slot with an
 * impossible header is answered INVALID if its publisher is known, otherwise only released.
 *
 * Thread: the dispatch exec's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dispatch_private.h"
#include "mem.h"

LOG_TOPIC("dispatch");

/* ---- making and ending ---- */

int d_channel_add(struct dispatch *d, struct d_channel *ch)
{
	if (d->by_id[ch->id]) {
		log_error("channel number %u is taken by %s: ignoring %s", ch->id, d->by_id[ch->id]->name, ch->name);
		return -EEXIST;
	}
	for (uint32_t i = 0; i < ch->depth; i++) {
		struct d_message *m = &ch->messages[i];

		m->ch = ch;
		list_init(&m->release_link);
		list_append(&ch->free, &m->link);
	}
	d->by_id[ch->id] = ch;
	atomic_store(&d->layout->info[ch->id].deferred, 0);
	d_lossless_count(d, ch);
	list_append(&d->channels, &ch->link);
	d->n_ids = ch->id < d->n_ids ? d->n_ids : (ch->id | 63) + 1;
	return 0;
}

void d_channel_free(struct dispatch *d, struct d_channel *ch)
{
	if (d->by_id[ch->id] == ch) {
		while (ch->n_routes + ch->n_refused)
			d_route_drop(d, ch->routes[0]);
		atomic_store(&d->layout->info[ch->id].bridges, 0);
		d->by_id[ch->id] = NULL;
		bitmap_clear(d->due, ch->id);
		bitmap_clear(d->deferred, ch->id);
		bitmap_clear(d->flowing, ch->id);
		bitmap_clear(d->backlogged, ch->id);
	}
	list_remove(&ch->link);
	list_remove(&ch->freed_link);
	list_remove(&ch->closing_link);
	list_remove(&ch->suspect_link);
	mem_free(ch->messages);
	mem_free(ch->take);
	mem_free(ch->type_json);
	mem_free(ch->name);
	mem_free(ch);
}

/* Frees deleted channels without publishers and messages. */
void d_channel_reap(struct dispatch *d)
{
	struct d_channel *ch, *next;

	list_for_each_safe(ch, next, &d->closing_channels, closing_link) {
		uint32_t id = ch->id;

		if (!list_empty(&ch->pubs) || ch->stats.in_flight)
			continue;
		d_channel_retire(d, ch);
		d_channel_free(d, ch);
		d_event_channel_free(d, id);
	}
}

/* ---- feeds ---- */

void d_feed_put(struct dispatch *d, struct d_feed *f)
{
	if (!f || --f->held || !f->retired)
		return;
	d_event_sub_free(d, f->sub, f->generation);
	if (f->replaced_in) {
		f->replaced_in->n_replaced--;
		f->replaced_in->replaced_mono_ns = d->now;
	}
	mem_free(f);
}

void d_channel_feed(struct dispatch *d, struct d_channel *ch, struct d_feed *f)
{
	if (ch->feed)
		d_channel_retire(d, ch);
	f->generation = d->generation;
	f->held = 1; /* the channel's own reference */
	ch->feed = f;
	d_rung_look(d, ch);
}

static void feed_retire(struct dispatch *d, struct d_feed *f)
{
	f->retired = true;
	d_feed_put(d, f);
}

/*
 * A publisher that dies inside a push damages the queue. The fresh feed is not connected to all publishers at once, and
 * both feeds get what is published meanwhile. So slots are taken from both, the old one first; repeated messages are
 * recognised by their number; and when the fresh feed has been connected for a while, it replaces the old one.
 */
void d_channel_renew(struct dispatch *d, struct d_channel *ch, struct d_feed *f)
{
	if (!ch->feed || ch->fresh) {          /* the data plane restarts, or a replacement is in progress */
		ch->replaced_mono_ns = d->now; /* this feed was connected as well */
		d_event_sub_free(d, f->sub, d->generation);
		mem_free(f);
		return;
	}
	f->generation = d->generation;
	f->held = 1;
	ch->fresh = f;
	ch->fresh_connected = ch->fresh_due = false;
	if (!exec_timer_armed(&d->renew_timer))
		exec_timer_at(&d->renew_timer, d->now + D_RENEW_NS);
}

/*
 * The old feed was found empty since the fresh one is connected, so the fresh one has all that the old one gets now; it
 * also repeats slots that were taken.
 */
static void fresh_takes_over(struct dispatch *d, struct d_channel *ch)
{
	ch->feed->replaced_in = ch;
	ch->n_replaced++;
	feed_retire(d, ch->feed);
	ch->feed = ch->fresh;
	ch->fresh = NULL;
	ch->fresh_due = false;
	ch->repeats = ch->depth + 1;
	d_rung_look(d, ch);
}

void d_channel_renewed(struct dispatch *d)
{
	struct d_channel *ch;
	bool more = false;

	list_for_each(ch, &d->channels, link) {
		if (ch->fresh_due && !ipc_sub_has_data(ch->feed->sub))
			fresh_takes_over(d, ch);
		if (!ch->fresh)
			continue;
		d_rung_look(d, ch);
		ch->fresh_due = ch->fresh_connected; /* not when first seen connected: connecting takes several steps */
		ch->fresh_connected = ipc_sub_connected(ch->fresh->sub);
		more = true;
	}
	if (more)
		exec_timer_at(&d->renew_timer, d->now + D_RENEW_NS);
}

static void ahead_drop(struct d_channel *ch)
{
	if (ch->ahead)
		(void)ipc_release((ch->fresh ? ch->fresh : ch->feed)->sub, ch->ahead);
	ch->ahead = NULL;
}

void d_channel_retire(struct dispatch *d, struct d_channel *ch)
{
	ahead_drop(ch);
	if (ch->fresh)
		feed_retire(d, ch->fresh);
	if (ch->feed)
		feed_retire(d, ch->feed);
	ch->feed = ch->fresh = NULL;
	ch->fresh_due = false;
	ch->repeats = 0;
}

bool d_channel_has_data(const struct d_channel *ch)
{
	return ipc_sub_has_data(ch->feed->sub) || ch->ahead || (ch->fresh && ipc_sub_has_data(ch->fresh->sub));
}

/* ---- deferring ---- */

/* Whether a caller besides the bridges waits for what may be in the feed. */
static bool is_awaited(const struct dispatch *d)
{
	return d->hold || d->closing || d->quiet || d->step || d->shut || !list_empty(&d->closing_pubs);
}

static bool all_busy(const struct d_channel *ch)
{
	for (uint32_t i = 0; i < ch->n_routes; i++)
		if (!d_bridge_busy(ch->routes[i]->b))
			return false;
	return ch->n_routes > 0;
}

/*
 * While all lanes of the channel's bridges have work, taken slots would only wait here. So they are left in the feed
 * until a bridge answers: they then go out as one packet, and slots are released while no newer ones are held, which
 * makes releasing cheap. The page word tells clients that no bell is needed: an answer starts a turn, and otherwise the
 * timer does. A client that reads the old word has set its bit before the check that follows.
 */
bool d_channel_defer(struct dispatch *d, struct d_channel *ch)
{
	_Atomic uint32_t *word = &d->layout->info[ch->id].deferred;

	if (is_awaited(d) || !all_busy(ch) || (ch->deferred_mono_ns && d->now - ch->deferred_mono_ns >= D_DEFER_NS)) {
		if (ch->deferred_mono_ns)
			atomic_store_explicit(word, 0, memory_order_relaxed);
		ch->deferred_mono_ns = 0;
		bitmap_clear(d->deferred, ch->id);
		return false;
	}
	if (!ch->deferred_mono_ns)
		atomic_store_explicit(word, 1, memory_order_relaxed);
	bitmap_set(d->deferred, ch->id);
	ch->deferred_mono_ns = ch->deferred_mono_ns ? ch->deferred_mono_ns : d->now;
	if (!exec_timer_armed(&d->defer_timer))
		exec_timer_at(&d->defer_timer, ch->deferred_mono_ns + D_DEFER_NS);
	return true;
}

/* ---- slots ---- */

static void release_now(struct dispatch *d, struct d_channel *ch, struct d_feed *from, const void *slot)
{
	int r = ipc_release(from->sub, slot);

	if (r < 0)
		log_limited(&ch->limit, d->now, LOG_LEVEL_ERROR,
			    "channel %s: a slot could not be released (%s); ignoring", ch->name, ipc_why());
}

static void log_lie(struct dispatch *d, struct d_channel *ch, const struct sim_slot *h, const char *what)
{
	d->n.invalid++;
	log_limited(&ch->limit, d->now, LOG_LEVEL_WARN, "channel %s: slot %llu of publisher %u refused: %s", ch->name,
		    (unsigned long long)h->sequence, h->publisher_id, what);
}

/* The publisher of a slot that begins without a header, as far as it can be found. */
static const char *stranger(const struct d_channel *ch, const struct sim_slot *slot, char *text, size_t len)
{
	uint64_t origin = ipc_slot_origin(ch->feed->sub, slot);
	const struct d_publisher *p;

	if (!origin)
		return "some program writes past the end of its slots, and has destroyed another one";
	list_for_each(p, &ch->pubs, channel_link)
		if (p->origin == origin && p->client) {
			snprintf(text, len, "client %s, or what it has loaded, writes over the headers of its slots",
				 p->client->name);
			return text;
		}
	return "an iceoryx application outside simd publishes on it, and may push messages out of simd's queue (missing): end it";
}

/* Logged at most once a minute: it may go on forever. */
static void log_stranger(struct dispatch *d, struct d_channel *ch, const struct sim_slot *slot)
{
	char text[DISPATCH_NAME_MAX + 80];

	d->n.invalid++;
	log_limited(&ch->strangers, d->now, LOG_LEVEL_WARN, "channel %s: a slot without a header: %s", ch->name,
		    stranger(ch, slot, text, sizeof(text)));
}

/* The slot's publisher, with a copy of its header; NULL: there is no publisher that could be answered. */
static struct d_publisher *whose(struct dispatch *d, struct d_channel *ch, const struct sim_slot *slot, size_t size,
				 struct sim_slot *ret)
{
	struct d_publisher *p;

	if (size >= sizeof(*ret))
		memcpy(ret, slot, sizeof(*ret));
	if (size < sizeof(*ret) || ret->magic != SIM_SLOT_MAGIC || ret->version != SIM_SLOT_VERSION) {
		log_stranger(d, ch, slot);
		return NULL;
	}
	p = d_publisher_find(d, ret->publisher_id);
	if (p && p->ch == ch)
		return p;
	/*
	 * of a publisher that was killed, or that main has added since this turn began: the publisher will probe again
	 */
	if (!p && (ret->flags & SIM_SLOT_PROBE) && !ret->sequence)
		return NULL;
	log_lie(d, ch, ret, p ? "this publisher belongs to another channel" : "no such publisher");
	return NULL;
}

/* The publisher writes this time: it is limited to a range that statistics can use. */
static int64_t not_after(int64_t now_mono_ns, int64_t mono_ns)
{
	return mono_ns >= 0 && mono_ns < now_mono_ns ? mono_ns : now_mono_ns;
}

struct d_message *d_channel_message(struct dispatch *d, struct d_publisher *p, const struct sim_slot *h)
{
	struct d_channel *ch = p->ch;
	struct d_message *m = list_first(&ch->free, struct d_message, link);

	list_remove(&m->link);
	m->pub = p;
	m->feed = ch->feed;
	m->feed->held++;
	m->slot = NULL;
	m->ref = 0;
	m->size = sizeof(*h) + h->body_size;
	m->sequence = h->sequence;
	m->stamp_sim_ns = h->stamp_sim_ns;
	m->publish_mono_ns = not_after(d->now, h->publish_mono_ns);
	m->take_mono_ns = 0;
	m->token = m->credit = 0;
	m->open = m->held = 0;
	m->reason = SIM_REASON_NONE;
	m->counted = m->answered = m->of_step = m->in_order = m->patient = false;
	p->in_flight++;
	ch->stats.in_flight++;
	return m;
}

/*
 * A publisher checks whether simd receives from it: after its creation, and after a restart of the data plane. Messages
 * that it had claimed in an earlier generation cannot arrive any more; its library has completed them itself.
 */
static void take_probe(struct dispatch *d, struct d_publisher *p, const struct sim_slot *h)
{
	struct d_message *m = d_channel_message(d, p, h);

	if (p->proved_generation != d->generation) {
		p->proved_generation = d->generation;
		credits_sweep(d, p->ch, p->id);
		d_sequence_skip(p);
	}
	p->ch->stats.probes++;
	m->sequence = 0;
	d_message_fail(d, m, SIM_REASON_NONE);
}

static const char *lie_in(struct dispatch *d, struct d_message *m, const struct sim_slot *h, size_t size)
{
	if (!credits_take_token(d, m, h->token_cell))
		return "it has not claimed the token that it names";
	if (h->channel_id != m->ch->id)
		return "it names another channel";
	if (h->type_hash != m->ch->type_hash)
		return "it names another type";
	if (h->body_size > m->pub->max_body)
		return "it is larger than its publisher may publish";
	if (h->body_size > size - sizeof(*h))
		return "it is larger than its slot";
	return NULL;
}

/*
 * The publisher has checked the pause too: a message published before the pause is accepted, however late it is taken.
 */
static bool came_in_pause(const struct dispatch *d, const struct sim_slot *h)
{
	return (SIM_LOAD_(&d->clock->flags, __ATOMIC_ACQUIRE) & SIM_CLOCK_PAUSED) &&
	       h->publish_mono_ns > SIM_LOAD_(&d->clock->pause_mono_ns, __ATOMIC_RELAXED);
}

static enum sim_reason refuse(struct dispatch *d, struct d_message *m, const struct sim_slot *h, size_t size)
{
	const char *lie = lie_in(d, m, h, size);

	if (lie) {
		log_lie(d, m->ch, h, lie);
		return SIM_REASON_INVALID;
	}
	if (d->closing)
		return SIM_REASON_SHUTDOWN;
	if (came_in_pause(d, h))
		return SIM_REASON_PAUSED;
	if (ipc_export(d->ipc, m->slot, &m->ref) < 0) {
		log_limited(&m->ch->limit, d->now, LOG_LEVEL_ERROR, "channel %s: a slot cannot be handed on: %s",
			    m->ch->name, ipc_why());
		return SIM_REASON_RESTART;
	}
	return SIM_REASON_NONE;
}

struct d_message *d_channel_accept(struct dispatch *d, struct d_publisher *p, const struct sim_slot *h)
{
	struct d_message *m = d_channel_message(d, p, h);

	m->generation = d->generation;
	m->counted = true;
	d_lossless_accept(d, m);
	p->ch->stats.accepted++;
	atomic_fetch_add_explicit(&d->outstanding, 1, memory_order_relaxed);
	if (m->publish_mono_ns > atomic_load_explicit(&d->accepted_mono_ns, memory_order_relaxed))
		atomic_store_explicit(&d->accepted_mono_ns, m->publish_mono_ns, memory_order_relaxed);
	return m;
}

static void take_message(struct dispatch *d, struct d_publisher *p, struct d_feed *from, const struct sim_slot *slot,
			 const struct sim_slot *h, size_t size)
{
	struct d_message *m;
	enum sim_reason why;

	d_message_hold_look(d);
	m = d_channel_accept(d, p, h);
	credits_take(m, h->credit_cell);
	m->slot = slot;
	m->feed->held--; /* the channel still holds the feed */
	m->feed = from;
	m->feed->held++;
	if (m->ch->take)
		d_stages_taken(d, m, h->publish_mono_ns);
	why = refuse(d, m, h, size);
	if (why != SIM_REASON_NONE)
		d_message_fail(d, m, why);
	else if (d->hold)
		d_message_hold(d, m);
	else
		d_message_route(d, m);
}

/*
 * A slot counts as the message that it claims to be if its credit is claimed for that message, and the message was not
 * counted before. If a program has overwritten the header, the publisher's counter row shows the message as missing.
 */
static bool is_message(struct dispatch *d, struct d_publisher *p, const struct sim_slot *h)
{
	uint64_t claim = wire_claim(p->id, h->sequence) | (h->flags & SIM_SLOT_DISPATCH ? 0 : WIRE_CLAIM_LOCAL);
	uint64_t next = p->newest + 1;

	if (h->flags & SIM_SLOT_PROBE || !credits_holds(d, p->ch, claim, h->credit_cell) ||
	    !d_sequence_take(d, p, h->sequence))
		return false;
	if (h->sequence != next)
		d_missing_suspect(d, p->ch); /* a publisher's messages come in order, so some may be missing */
	return true;
}

static void take_local(struct dispatch *d, struct d_publisher *p, const struct sim_slot *h)
{
	p->ch->stats.local++;
	credits_free_local(d, p->ch, wire_claim(p->id, h->sequence) | WIRE_CLAIM_LOCAL, h->credit_cell);
}

static void take_stray(struct dispatch *d, struct d_publisher *p, const struct sim_slot *h)
{
	bool seen = d_sequence_seen(p, h->sequence);

	if (seen && (p->ch->fresh || p->ch->repeats))
		return; /* it was in the other feed too */
	if (seen && h->flags & SIM_SLOT_LATCHED && !h->credit_cell && !(h->flags & SIM_SLOT_DISPATCH))
		return; /* a latched message, repeated for later subscribers; its port, or its simd, is a new one */
	d_missing_suspect(d, p->ch);
	if (!seen && !h->credit_cell && !(h->flags & SIM_SLOT_DISPATCH))
		/* without a credit, because its client did not know yet that simd receives from it */
		p->ch->stats.local++;
	else
		log_lie(d, p->ch, h,
			seen ? "it was here before, or was completed as missing"
			     : "it has not claimed the credit that it names, or its header was written over");
}

static void take(struct dispatch *d, struct d_channel *ch, struct d_feed *from, const struct sim_slot *slot,
		 size_t size)
{
	struct sim_slot h;
	struct d_publisher *p = whose(d, ch, slot, size, &h);
	bool message = p && is_message(d, p, &h), probe = p && (h.flags & SIM_SLOT_PROBE) && !h.sequence;

	if (message && (h.flags & SIM_SLOT_DISPATCH)) {
		take_message(d, p, from, slot, &h, size);
		return;
	}
	if (probe)
		p->origin = ipc_slot_origin(from->sub, slot);
	release_now(d, ch, from, slot);
	if (!p)
		d_missing_suspect(d, ch); /* it may have been a message */
	else if (message)
		take_local(d, p, &h);
	else if (probe)
		take_probe(d, p, &h);
	else
		take_stray(d, p, &h);
}

/*
 * The next slot of either feed. A slot of the fresh feed waits until the old feed is found empty after it was taken:
 * the old one may have earlier messages of its publisher.
 */
static int take_next(struct dispatch *d, struct d_channel *ch, struct d_feed **ret_from, const void **ret,
		     size_t *ret_size)
{
	int r = -EAGAIN;

	for (;;) {
		*ret_from = ch->feed;
		if (!ch->ahead || ch->fresh)
			r = ipc_take(ch->feed->sub, ret, ret_size);
		if (r != -EAGAIN || (!ch->ahead && !ch->fresh))
			return r;
		if (ch->fresh_due)
			fresh_takes_over(d, ch);
		if (ch->ahead) {
			*ret_from = ch->fresh ? ch->fresh : ch->feed;
			*ret = ch->ahead;
			*ret_size = ch->ahead_size;
			ch->ahead = NULL;
			return 0;
		}
		if (!ch->fresh)
			continue; /* the fresh feed has become the feed */
		r = ipc_take(ch->fresh->sub, &ch->ahead, &ch->ahead_size);
		if (r < 0)
			return r;
	}
}

/*
 * While the old feed is drained, the fresh one may overflow; the slots pushed out were in the old feed as well. So no
 * warning is logged until all repeated slots are taken.
 */
static void feed_was_full(struct dispatch *d, struct d_channel *ch, bool repeated)
{
	ch->overflowed = true;
	if (!repeated && !ch->repeats)
		log_limited(&ch->strangers, d->now, LOG_LEVEL_WARN,
			    "channel %s: a publisher sent more than its credits allow: messages were lost", ch->name);
}

unsigned d_channel_drain(struct dispatch *d, struct d_channel *ch, unsigned max)
{
	bool repeated = ch->repeats;
	unsigned n = 0;

	while (ch->feed && !list_empty(&ch->free) && n < max) {
		struct d_feed *from;
		const void *slot;
		size_t size;
		int r = take_next(d, ch, &from, &slot, &size);

		if (r == -EAGAIN) {
			ch->drains++;
			break;
		}
		if (r == -EBADMSG) { /* the next slot may be a message */
			d->n.invalid++;
			log_limited(&ch->strangers, d->now, LOG_LEVEL_WARN, "channel %s: %s", ch->name, ipc_why());
			d_missing_suspect(d, ch);
			n++;
			continue;
		}
		if (r < 0) {
			if (r == -ESTALE)
				ch->drains++; /* no slot can come any more */
			else
				log_limited(&ch->limit, d->now, LOG_LEVEL_ERROR, "channel %s: cannot take: %s",
					    ch->name, ipc_why());
			break;
		}
		take(d, ch, from, slot, size);
		if (__builtin_expect(ch->repeats && !ch->fresh, 0))
			ch->repeats--;
		n++;
	}
	if (list_empty(&ch->free))
		ch->starved = true;
	else if (n == max)
		d_rung_look(d, ch);
	if (n && ipc_sub_lost(ch->feed->sub))
		feed_was_full(d, ch, repeated);
	return n;
}
