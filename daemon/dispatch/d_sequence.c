/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which messages of a publisher are counted: taken from the feed, or given up as missing; each once. A publisher
 * numbers its messages without gaps; the newest may be ahead of the oldest missing one (d_missing.c), but by no more
 * than a client waits for. A slot with a number further ahead is not its message: a program has overwritten it.
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

/* The oldest sequence up to this one that it has claimed; 0: none. */
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
 * Messages that a publisher sent before this simd received from it are not answered. Its oldest claim shows where they
 * end; if that was overwritten, at most a window back.
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

/*
 * A claim has only the lower half of a sequence number. So the first message of a publisher is accepted only if that
 * half and the publisher's counter page give the sequence number in its slot.
 */
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
