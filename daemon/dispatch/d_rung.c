/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which channels a turn checks: those that rang (a bit in the dispatch page, set by a publisher's client), and those
 * with slots left from an earlier check. A bit is cleared before its channel is checked: a later publish sets it again.
 * Bits are hints that any client can set and clear: once a second all channels are checked.
 *
 * Thread: the dispatch exec's.
 */
#include "dispatch_private.h"

void d_rung_look(struct dispatch *d, struct d_channel *ch)
{
	ch->starved = false;
	bitmap_set(d->due, ch->id);
}

void d_rung_look_all(struct dispatch *d)
{
	struct d_channel *ch;

	list_for_each(ch, &d->channels, link)
		d_rung_look(d, ch);
}

/* Skips deferred channels: their bits stay set, so that clients need not set them again. */
static uint64_t rung(struct dispatch *d, uint32_t w)
{
	return atomic_load_explicit(&d->rung->word[w], memory_order_relaxed) & ~d->deferred[w];
}

void d_rung_collect(struct dispatch *d)
{
	bool any = false;

	for (uint32_t w = 0; w < BITMAP_WORDS(d->n_ids); w++) {
		uint64_t set = rung(d, w);

		if (!set)
			continue;
		atomic_fetch_and(&d->rung->word[w], ~set);
		d->due[w] |= set;
		any = true;
	}
	if (any)
		/* a client that saw its bit set has published before the check that follows */
		atomic_thread_fence(memory_order_seq_cst);
}

bool d_rung_pending(struct dispatch *d)
{
	for (uint32_t w = 0; w < BITMAP_WORDS(d->n_ids); w++)
		if (d->due[w] || rung(d, w))
			return true;
	return false;
}

/* Ends deferrals whose bridges have answered, or whose time is over: these channels are checked in any case. */
static void end_deferrals(struct dispatch *d)
{
	bitmap_for_each(id, d->deferred, d->n_ids) {
		struct d_channel *ch = d->by_id[id];

		if (d_channel_defer(d, ch))
			continue;
		d_rung_look(d, ch);
		ch->asked = true;
	}
}

/* Whether the channel is deferred in this round. */
static bool is_deferred(struct dispatch *d, struct d_channel *ch, bool busy)
{
	bool asked = ch->asked;

	ch->asked = false;
	return busy && !asked && d_channel_defer(d, ch);
}

/* Checked once for all channels, of which there may be a thousand. */
static bool any_busy(const struct dispatch *d)
{
	bitmap_for_each(id, d->loaded, DISPATCH_BRIDGES_MAX)
		if (d_bridge_busy(d->bridges[id]))
			return true;
	return false;
}

void d_rung_drain(struct dispatch *d)
{
	bool busy = any_busy(d);

	end_deferrals(d);
	d_rung_collect(d);
	bitmap_for_each(id, d->due, d->n_ids) {
		struct d_channel *ch = d->by_id[id];

		bitmap_clear(d->due, id);
		if (ch && !is_deferred(d, ch, busy) && d_channel_drain(d, ch, D_DRAIN))
			bitmap_set(d->flowing, id);
	}
}

void d_rung_defer(struct dispatch *d)
{
	bool busy = any_busy(d);

	bitmap_for_each(id, d->flowing, d->n_ids) {
		bitmap_clear(d->flowing, id);
		if (busy && d->by_id[id] && d_channel_defer(d, d->by_id[id]))
			bitmap_clear(d->due, id);
	}
}
