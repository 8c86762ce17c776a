/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that were published and never arrive: an application that publishes without credits has pushed them out of
 * simd's queue, or a program has overwritten their header. A publisher's counter row shows up to which sequence all
 * messages have been published. So a message up to there that was not counted (d_sequence.c) after all slots were taken
 * that were in the feed when the row was read cannot come any more: it completes with `missing`, like any other. An
 * unpublished message stays claimed, however long its client is stopped, copies, or keeps the message until the end of
 * its turn. The client writes the row itself: a false value affects only its own messages. All clients can write slots
 * and cells, so these alone never make a message complete as missing.
 *
 * Thread: the dispatch exec's.
 */
#include "dispatch_private.h"

LOG_TOPIC("dispatch");

static bool is_behind(struct dispatch *d, struct d_publisher *p)
{
	p->looked = 0;
	if (p->closing || !p->counters || p->proved_generation != d->generation)
		return false;
	p->looked = atomic_load_explicit(&p->counters->sequence, memory_order_acquire);
	if (p->looked > p->sequence && !p->begun)
		d_sequence_begin(d, p, p->looked);
	return p->looked > p->sequence;
}

/* Whether the channel has published messages that are not counted. */
static bool look(struct dispatch *d, struct d_channel *ch)
{
	struct d_publisher *p;
	bool any = false;

	list_for_each(p, &ch->pubs, channel_link)
		any = is_behind(d, p) || any;
	return any;
}

/* Takes all that is in the feed now; no queue holds more. False: no room for it at present. */
static bool take_all(struct dispatch *d, struct d_channel *ch)
{
	uint64_t before = ch->drains;
	unsigned n = d_channel_drain(d, ch, IPC_DEPTH_MAX);

	return n == IPC_DEPTH_MAX || ch->drains != before;
}

static void log_missing(struct dispatch *d, const struct d_publisher *p, uint64_t sequence)
{
	log_limited(
		&p->ch->missing, d->now, LOG_LEVEL_WARN,
		"channel %s: message %llu of client %s was published and never arrived (missing): an application outside "
		"simd has pushed it out of simd's queue, or a program that writes past the end of its slots has destroyed it",
		p->ch->name, (unsigned long long)sequence, p->client->name);
}

/*
 * Completes a message as missing. Without a claim (overwritten, or made before simd received from the publisher) the
 * message is not known; then it is not counted, but a waiting client gets its answer.
 */
static void miss(struct dispatch *d, struct d_publisher *p, uint64_t sequence)
{
	struct sim_slot h = { .sequence = sequence, .publish_mono_ns = d->now };
	uint64_t claim = wire_claim(p->id, sequence);
	uint32_t cell = credits_find(d, p->ch, claim);
	struct d_message *m = cell ? d_channel_accept(d, p, &h) : d_channel_message(d, p, &h);

	if (cell)
		credits_take(m, cell);
	(void)credits_take_token(d, m, credits_find_token(d, claim));
	d_message_fail(d, m, SIM_REASON_MISSING);
	if (cell)
		log_missing(d, p, sequence);
}

/* Returns true if the message completes; false: no room for it at present. */
static bool give_up(struct dispatch *d, struct d_publisher *p, uint64_t sequence)
{
	uint64_t local = wire_claim(p->id, sequence) | WIRE_CLAIM_LOCAL;
	uint32_t cell = credits_find(d, p->ch, local);

	if (list_empty(&p->ch->free))
		return false;
	if (!d_sequence_take(d, p, sequence))
		return true;
	if (cell) /* claimed as a local message: no client waits for it */
		credits_free_local(d, p->ch, local, cell);
	else
		miss(d, p, sequence);
	return true;
}

/* Gives up the messages that were published at the last check and are still not there. True: all of them complete. */
static bool give_up_seen(struct dispatch *d, struct d_channel *ch)
{
	struct d_publisher *p;

	list_for_each(p, &ch->pubs, channel_link) {
		uint64_t end = p->looked < p->sequence + D_SPAN ? p->looked : p->sequence + D_SPAN;

		for (uint64_t s = p->sequence + 1; s <= end; s++)
			if (!d_sequence_seen(p, s) && !give_up(d, p, s))
				return false;
	}
	return true;
}

static void check(struct dispatch *d, struct d_channel *ch)
{
	if (!ch->feed || !d->ipc || !look(d, ch))
		return;
	if (!take_all(d, ch) || !ipc_alive(d->ipc) || !give_up_seen(d, ch))
		d_missing_suspect(d, ch); /* check again in the next turn */
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
