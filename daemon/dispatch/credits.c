/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of the dispatch page: credits, tokens, and the word with a channel's numbers of bridges.
 *
 * Clients claim a cell by compare-and-swap and publish; simd frees it when the message is done. The content of the page
 * is never trusted: channel::busy and dispatch::token_busy have the cells of messages in hand, so a cell is freed at
 * most once, whatever a client writes.
 *
 * Thread: the dispatch exec's.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dispatch_private.h"

/* Wake-ups never block; the page is shared between processes, so not FUTEX_PRIVATE. */
static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool claimed(_Atomic uint64_t *cell, uint64_t claim)
{
	return atomic_load_explicit(cell, memory_order_acquire) == claim;
}

static uint64_t claim_of(const struct d_message *m)
{
	return wire_claim(m->pub->id, m->sequence);
}

bool credits_holds(const struct dispatch *d, const struct d_channel *ch, uint64_t claim, uint32_t credit_cell)
{
	return credit_cell >= 1 && credit_cell <= ch->cells && !bitmap_get(ch->busy, credit_cell - 1) &&
	       claimed(&d->page->channel[ch->id].cell[credit_cell - 1], claim);
}

uint32_t credits_find(const struct dispatch *d, const struct d_channel *ch, uint64_t claim)
{
	for (uint32_t i = 1; i <= ch->cells; i++)
		if (credits_holds(d, ch, claim, i))
			return i;
	return 0;
}

void credits_take(struct d_message *m, uint32_t credit_cell)
{
	bitmap_set(m->ch->busy, credit_cell - 1);
	m->credit = credit_cell;
}

static bool holds_token(const struct dispatch *d, uint64_t claim, uint32_t token_cell)
{
	return token_cell <= WIRE_TOKENS_MAX && !bitmap_get(d->token_busy, token_cell - 1) &&
	       claimed(&d->page->token[token_cell - 1], claim);
}

bool credits_take_token(struct dispatch *d, struct d_message *m, uint32_t token_cell)
{
	uint32_t named = token_cell;

	if (!token_cell)
		return true;
	if (!holds_token(d, claim_of(m), token_cell))
		token_cell = credits_find_token(d, claim_of(m));
	if (token_cell) {
		bitmap_set(d->token_busy, token_cell - 1);
		m->token = token_cell;
	}
	return token_cell == named;
}

/* Frees a cell only if it still has that claim: a peer that overwrote it has already freed it, or stolen it. */
static void free_cell(_Atomic uint64_t *cell, uint64_t claim)
{
	uint64_t expect = claim;

	atomic_compare_exchange_strong(cell, &expect, 0);
}

static void credit_back(struct dispatch *d, struct d_channel *ch)
{
	if (list_empty(&ch->freed_link))
		list_append(&d->freed, &ch->freed_link);
}

void credits_free(struct dispatch *d, struct d_message *m)
{
	if (m->token) {
		bitmap_clear(d->token_busy, m->token - 1);
		free_cell(&d->page->token[m->token - 1], claim_of(m));
		m->token = 0;
	}
	if (m->credit) {
		bitmap_clear(m->ch->busy, m->credit - 1);
		free_cell(&d->page->channel[m->ch->id].cell[m->credit - 1], claim_of(m));
		m->credit = 0;
		credit_back(d, m->ch);
	}
}

void credits_free_local(struct dispatch *d, struct d_channel *ch, uint64_t claim, uint32_t credit_cell)
{
	if (credit_cell < 1 || credit_cell > ch->cells || bitmap_get(ch->busy, credit_cell - 1))
		return;
	free_cell(&d->page->channel[ch->id].cell[credit_cell - 1], claim);
	credit_back(d, ch);
}

/* Shards share the tokens: each handles the claims of its own publishers, the first shard also those of no shard. */
static bool is_own(const struct dispatch *d, uint64_t claim)
{
	uint32_t shard = wire_shard_of(wire_claim_publisher(claim));

	return shard == d->number || (!d->number && shard >= d->n_shards);
}

/*
 * Whether the claim is invalid: of no publisher, of a message that is already counted, or too far ahead. A client has
 * written it, here or into a slot that was not its own any more.
 */
static bool is_strange(const struct dispatch *d, uint64_t claim)
{
	const struct d_publisher *p = d_publisher_find(d, wire_claim_publisher(claim));
	uint64_t sequence;

	if (!p || !p->begun)
		return !p;
	sequence = wire_claim_sequence(claim, p->newest);
	return d_sequence_seen(p, sequence) || sequence - p->sequence > D_SPAN;
}

/* Whether a claim without a message in hand may be freed. publisher_id 0: any; UINT32_MAX: strange ones. */
static bool matches(const struct dispatch *d, uint64_t claim, uint32_t publisher_id)
{
	if (!claim)
		return false;
	if (publisher_id == UINT32_MAX)
		return is_strange(d, claim);
	return !publisher_id || wire_claim_publisher(claim) == publisher_id;
}

static void sweep_channel(struct dispatch *d, struct d_channel *ch, uint32_t publisher_id)
{
	struct wire_channel *w = &d->page->channel[ch->id];

	for (uint32_t i = 0; i < ch->cells; i++) {
		uint64_t v = atomic_load_explicit(&w->cell[i], memory_order_acquire);

		if (bitmap_get(ch->busy, i) || !matches(d, v, publisher_id))
			continue;
		free_cell(&w->cell[i], v);
		credit_back(d, ch);
		d->n.strange_claims += publisher_id == UINT32_MAX;
	}
}

static void sweep_tokens(struct dispatch *d, uint32_t publisher_id)
{
	for (uint32_t i = 0; i < WIRE_TOKENS_MAX; i++) {
		uint64_t v = atomic_load_explicit(&d->page->token[i], memory_order_relaxed);

		if (!v || !is_own(d, v) || bitmap_get(d->token_busy, i) || !matches(d, v, publisher_id))
			continue;
		free_cell(&d->page->token[i], v);
		d->n.strange_claims += publisher_id == UINT32_MAX;
	}
}

uint32_t credits_find_token(const struct dispatch *d, uint64_t claim)
{
	for (uint32_t i = 1; i <= WIRE_TOKENS_MAX; i++)
		if (holds_token(d, claim, i))
			return i;
	return 0;
}

void credits_sweep(struct dispatch *d, struct d_channel *ch, uint32_t publisher_id)
{
	struct d_channel *c;

	if (ch)
		sweep_channel(d, ch, publisher_id);
	else
		list_for_each(c, &d->channels, link)
			sweep_channel(d, c, publisher_id);
	sweep_tokens(d, publisher_id);
}

/*
 * A client that has not noticed the loss of its control socket can claim a cell after its publishers were swept. Such
 * claims have a number that no publisher has, and are freed once a second; so are those of messages that came to rest
 * without their cells, because a client had overwritten the cell numbers in the slot.
 */
void credits_sweep_strangers(struct dispatch *d)
{
	credits_sweep(d, NULL, UINT32_MAX);
}

static bool is_claimed(const struct dispatch *d, const struct d_channel *ch)
{
	for (uint32_t i = 0; i < ch->cells; i++)
		if (atomic_load_explicit(&d->page->channel[ch->id].cell[i], memory_order_acquire))
			return true;
	return false;
}

/* Called in each turn while a caller waits; first checks the channel that had a claim last time. */
bool credits_all_free(struct dispatch *d)
{
	struct d_channel *ch = d->by_id[d->claimed_id];

	if (ch && is_claimed(d, ch))
		return false;
	list_for_each(ch, &d->channels, link) {
		d->claimed_id = ch->id;
		if (is_claimed(d, ch))
			return false;
	}
	return true;
}

/*
 * A client that finds no free cell reads `freed`, sets `waiters`, tries once more and sleeps on `freed`. The fence
 * orders the freeing of cells before the read of `waiters` here, so at least one side sees the other. A client that has
 * set `waiters` before it is cleared has read the old `freed` and does not sleep; all others set it again. So a waiter
 * that was killed costs one wake-up.
 */
void credits_wake(struct dispatch *d)
{
	if (list_empty(&d->freed))
		return;
	atomic_thread_fence(memory_order_seq_cst);
	while (!list_empty(&d->freed)) {
		struct d_channel *ch = list_first(&d->freed, struct d_channel, freed_link);
		struct wire_channel_info *info = &d->layout->info[ch->id];

		list_remove(&ch->freed_link);
		if (!atomic_load(&d->page->channel[ch->id].waiters))
			continue;
		atomic_store(&d->page->channel[ch->id].waiters, 0);
		atomic_fetch_add(&info->freed, 1);
		wake(&info->freed);
	}
}

void credits_bridges(struct dispatch *d, struct d_channel *ch)
{
	struct wire_channel_info *w = &d->layout->info[ch->id];
	uint32_t connected = 0, word;

	d_lossless_count(d, ch);
	for (uint32_t i = 0; i < ch->n_routes; i++)
		connected += ch->routes[i]->b->attached && ch->routes[i]->b->status == SIM_BRIDGE_CONNECTED;
	word = connected << 16 | ch->n_routes;
	if (atomic_load_explicit(&w->bridges, memory_order_relaxed) == word)
		return;
	atomic_store(&w->bridges, word);
	atomic_fetch_add(&d->layout->bridges_seq, 1);
	wake(&d->layout->bridges_seq);
}
