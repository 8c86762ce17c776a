/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that were published and never arrive: pushed out of simd's queue by an application that publishes without
 * credits, or with a header that somebody has written over. Each has claimed a credit, whose cell says whose it is and which
 * message, and its publisher's counter row says up to which message all have been published. So a claim that is published
 * by the row, and not in hand once all is taken that lay in the feed when the row was read, is of a message that
 * cannot come any more: it completes with `missing`, like any other. A claim that is not published yet stays, however long its
 * client is stopped, copies, or keeps the message to the end of its turn. The row is its client's to write, and so is
 * the claim: a lie costs its own messages, and never more than a window at a time.
 *
 * Thread: the dispatch exec's.
 */
#include "dispatch_private.h"

LOG_TOPIC("dispatch");

/* The message of a claim if it has been published, by the word of its publisher; 0: not, or nobody's. */
static uint64_t published(struct dispatch *d, const struct d_channel *ch, uint64_t claim, struct d_publisher **ret)
{
	struct d_publisher *p = d_publisher_find(d, wire_claim_publisher(claim));
	uint64_t newest;
	uint32_t behind;

	if (!p || p->ch != ch || p->closing || !p->counters || p->proved_generation != d->generation)
		return 0;
	newest = atomic_load_explicit(&p->counters->sequence, memory_order_acquire);
	behind = (uint32_t)newest - wire_claim_sequence(claim);
	if (behind > INT32_MAX || behind >= newest)
		return 0;
	*ret = p;
	return newest - behind;
}

/* Claims of published messages that are not in hand. */
static unsigned look(struct dispatch *d, struct d_channel *ch, uint64_t seen[WIRE_WINDOW_MAX])
{
	const struct wire_channel *w = &d->page->channel[ch->id];
	struct d_publisher *p;
	unsigned n = 0;

	for (uint32_t i = 0; i < ch->window; i++) {
		seen[i] = bitmap_get(ch->busy, i) ? 0 : atomic_load_explicit(&w->cell[i], memory_order_acquire);
		if (seen[i] && !published(d, ch, seen[i], &p))
			seen[i] = 0;
		n += seen[i] != 0;
	}
	return n;
}

/* Take all that lay in the feed until now; no queue holds more. False: there is no room for it at present. */
static bool take_all(struct dispatch *d, struct d_channel *ch)
{
	uint64_t before = ch->drains;
	unsigned n = d_channel_drain(d, ch, IPC_DEPTH_MAX);

	return n == IPC_DEPTH_MAX || ch->drains != before;
}

/* Somebody has copied the claim of a message that is there: of that message nothing is missing. */
static bool in_hand(const struct d_channel *ch, const struct d_publisher *p, uint64_t sequence)
{
	for (uint32_t i = 0; i < ch->depth; i++)
		if (ch->messages[i].pub == p && ch->messages[i].sequence == sequence)
			return true;
	return false;
}

/* True: it completes; false: there is no room for that at present. */
static bool give_up(struct dispatch *d, struct d_publisher *p, uint64_t sequence, uint32_t cell)
{
	struct sim_slot h = { .sequence = sequence, .publish_mono_ns = d->now };
	struct d_message *m;

	if (list_empty(&p->ch->free))
		return false;
	m = d_channel_accept(d, p, &h);
	credits_claim(d, m, cell + 1, credits_find_token(d, wire_claim(p->id, sequence)));
	p->sequence = sequence > p->sequence ? sequence : p->sequence;
	d_message_fail(d, m, SIM_REASON_MISSING);
	log_limited(
		&p->ch->missing, d->now, LOG_LEVEL_WARN,
		"channel %s: message %llu of client %s was published and never arrived (missing): an application outside "
		"simd has pushed it out of simd's queue, or a program that writes past the end of its slots has destroyed it",
		p->ch->name, (unsigned long long)sequence, p->client->name);
	return true;
}

/* Of what was seen, that which is still not there. True: all of it completes. */
static bool give_up_seen(struct dispatch *d, struct d_channel *ch, const uint64_t seen[WIRE_WINDOW_MAX])
{
	const struct wire_channel *w = &d->page->channel[ch->id];

	for (uint32_t i = 0; i < ch->window; i++) {
		struct d_publisher *p;
		uint64_t sequence;

		if (!seen[i] || bitmap_get(ch->busy, i) || atomic_load(&w->cell[i]) != seen[i])
			continue;
		sequence = published(d, ch, seen[i], &p);
		if (sequence && !in_hand(ch, p, sequence) && !give_up(d, p, sequence, i))
			return false;
	}
	return true;
}

static void check(struct dispatch *d, struct d_channel *ch)
{
	uint64_t seen[WIRE_WINDOW_MAX];

	if (!ch->feed || !d->ipc || !look(d, ch, seen))
		return;
	if (!take_all(d, ch) || !ipc_alive(d->ipc) || !give_up_seen(d, ch, seen))
		d_missing_suspect(d, ch); /* again in the next turn */
}

void d_missing_suspect(struct dispatch *d, struct d_channel *ch)
{
	if (list_empty(&ch->suspect_link))
		list_append(&d->suspects, &ch->suspect_link);
}

void d_missing_run(struct dispatch *d)
{
	for (size_t n = list_empty(&d->suspects) ? 0 : list_count(&d->suspects); n; n--) {
		struct d_channel *ch = list_first(&d->suspects, struct d_channel, suspect_link);

		list_remove(&ch->suspect_link);
		check(d, ch);
	}
}

void d_missing_house(struct dispatch *d)
{
	struct d_channel *ch;

	list_for_each(ch, &d->channels, link)
		check(d, ch);
}
