/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a publisher has been here: taken from the feed, or given up as missing. Nothing is so twice. A publisher numbers its
 * messages without gaps; the newest may be far from the oldest that is not here (d_missing.c), but not by more than what
 * a client waits for. What is further is no message of it: somebody has written over the slot.
 *
 * Thread: the dispatch exec's.
 */
#include <string.h>

#include "dispatch_private.h"

bool d_sequence_seen(const struct d_publisher *p, uint64_t sequence)
{
	if (sequence <= p->sequence)
		return true;
	return sequence - p->sequence <= D_SPAN && bitmap_get(p->beyond, (uint32_t)(sequence % D_SPAN));
}

static void go_on_after(struct d_publisher *p, uint64_t sequence)
{
	p->sequence = p->newest = sequence;
	memset(p->beyond, 0, sizeof(p->beyond));
}

static uint64_t published(const struct d_publisher *p)
{
	return p->counters ? atomic_load_explicit(&p->counters->sequence, memory_order_acquire) : 0;
}

void d_sequence_skip(struct d_publisher *p)
{
	if (published(p) > p->sequence)
		go_on_after(p, published(p));
}

/* The oldest that it has claimed of those up to this one; 0: none. */
static uint64_t first_claimed(const struct dispatch *d, const struct d_publisher *p, uint64_t up_to)
{
	const struct wire_channel *w = &d->page->channel[p->ch->id];
	uint64_t first = 0;

	for (uint32_t i = 0; i < p->ch->cells; i++) {
		uint64_t claim = atomic_load_explicit(&w->cell[i], memory_order_acquire), sequence;

		if (bitmap_get(p->ch->busy, i) || wire_claim_publisher(claim) != p->id)
			continue;
		sequence = wire_claim_sequence(claim, up_to);
		if (sequence && sequence <= up_to && up_to - sequence < D_SPAN && (!first || sequence < first))
			first = sequence;
	}
	return first;
}

/*
 * What a publisher sent before this simd heard it is nobody's to answer. Where that ends its oldest claim tells; if somebody has written
 * over that, it is not further back than a window.
 */
void d_sequence_begin(const struct dispatch *d, struct d_publisher *p, uint64_t up_to)
{
	uint64_t first;

	p->begun = true;
	if (up_to - p->sequence <= D_SPAN)
		return;
	first = first_claimed(d, p, up_to);
	go_on_after(p, first ? first - 1 : up_to - p->ch->cells);
}

/* A claim tells half of a sequence, its slot the other half: of the first one, that is where its publisher says that it is. */
static bool begin_with(const struct dispatch *d, struct d_publisher *p, uint64_t sequence)
{
	if (sequence <= p->sequence || wire_claim_sequence(wire_claim(p->id, sequence), published(p)) != sequence)
		return false;
	d_sequence_begin(d, p, sequence);
	return true;
}

static bool take_odd(struct dispatch *d, struct d_publisher *p, uint64_t sequence)
{
	if (!p->begun && !begin_with(d, p, sequence))
		return false;
	if (d_sequence_seen(p, sequence) || sequence - p->sequence > D_SPAN)
		return false;
	p->newest = sequence > p->newest ? sequence : p->newest;
	bitmap_set(p->beyond, (uint32_t)(sequence % D_SPAN));
	for (uint32_t i; i = (uint32_t)((p->sequence + 1) % D_SPAN), bitmap_get(p->beyond, i); p->sequence++)
		bitmap_clear(p->beyond, i);
	return true;
}

bool d_sequence_take(struct dispatch *d, struct d_publisher *p, uint64_t sequence)
{
	if (__builtin_expect(sequence != p->sequence + 1 || p->newest != p->sequence || !p->begun, 0))
		return take_odd(d, p, sequence);
	p->sequence = p->newest = sequence;
	return true;
}
