/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics: a snapshot of all counters in one block of memory. Thread: the dispatch exec's. */
#include <string.h>

#include "dispatch_private.h"
#include "mem.h"

static void bridge_stats(const struct d_bridge *b, struct dispatch_bridge_stats *ret)
{
	*ret = b->stats;
	ret->id = b->id;
	ret->status = b->status;
	ret->lanes = b->n_lanes;
	ret->queued = b->n_queued;
	ret->held = b->n_out;
	ret->late = (uint32_t)list_count(&b->late);
	ret->restarts = b->attaches ? b->attaches - 1 : 0;
	ret->service_dur_ns = b->service_dur_ns;
	ret->lossless = b->lossless;
	ret->stalled = b->stalled;
}

static uint32_t count_bridges(const struct dispatch *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++)
		n += d->bridges[i] != NULL;
	return n;
}

static void quantiles(struct dispatch_stats *s)
{
	s->queue_p50_dur_ns = histogram_quantile(s->queue_hist, 500000);
	s->queue_p99_dur_ns = histogram_quantile(s->queue_hist, 990000);
	s->publish_p50_dur_ns = histogram_quantile(s->publish_hist, 500000);
	s->publish_p99_dur_ns = histogram_quantile(s->publish_hist, 990000);
}

static void totals(const struct dispatch *d, struct dispatch_stats *s)
{
	s->lanes = d->n_lanes;
	s->lanes_max = d->lanes_max;
	s->wakeups = d->n.wakeups;
	s->packets_out = d->n.packets_out;
	s->packets_in = d->n.packets_in;
	s->invalid = d->n.invalid;
	s->strange_claims = d->n.strange_claims;
	s->queue_hist = &d->queue_hist;
	s->publish_hist = &d->publish_hist;
	quantiles(s);
}

/* Fills ret, if not NULL; returns the number of pairs. */
static uint32_t slow_pairs(const struct dispatch *d, struct dispatch_slow_stats *ret)
{
	const struct d_channel *ch;
	uint32_t n = 0;

	list_for_each(ch, &d->channels, link)
		for (uint32_t i = 0; i < ch->n_routes; i++) {
			const struct d_route *rt = ch->routes[i];

			if (!rt->slow)
				continue;
			if (ret)
				ret[n] = (struct dispatch_slow_stats){ ch->id, rt->b->id, rt->slow };
			n++;
		}
	return n;
}

/* A snapshot or a sum, with its arrays in one block. */
struct block {
	struct dispatch_stats s;
	struct dispatch_shard_stats *shards;
	struct dispatch_channel_stats *channels;
	struct dispatch_bridge_stats *bridges;
	struct dispatch_slow_stats *slow;
	struct histogram queue, publish; /* used by a sum */
};

static struct block *block_new(const struct dispatch_stats *n)
{
	struct block *b = (struct block *)mem_zalloc(sizeof(*b) + n->n_shards * sizeof(*n->shards) +
						     n->n_channels * sizeof(*n->channels) +
						     n->n_bridges * sizeof(*n->bridges) + n->n_slow * sizeof(*n->slow));

	if (!b)
		return NULL;
	b->s = *n;
	b->s.shards = b->shards = (void *)(b + 1);
	b->s.channels = b->channels = (void *)(b->shards + n->n_shards);
	b->s.bridges = b->bridges = (void *)(b->channels + n->n_channels);
	b->s.slow = b->slow = (void *)(b->bridges + n->n_bridges);
	return b;
}

struct dispatch_stats *d_stats_take(const struct dispatch *d)
{
	struct dispatch_stats n = { .n_channels = (uint32_t)list_count(&d->channels),
				    .n_bridges = count_bridges(d),
				    .n_slow = slow_pairs(d, NULL),
				    .n_shards = 1 };
	struct block *b = block_new(&n);
	struct dispatch_channel_stats *cs;
	struct dispatch_bridge_stats *bs;
	struct d_channel *ch;

	if (!b)
		return NULL;
	cs = b->channels;
	bs = b->bridges;
	slow_pairs(d, b->slow);
	list_for_each(ch, &d->channels, link) {
		*cs = ch->stats;
		cs++->id = ch->id;
	}
	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++)
		if (d->bridges[i])
			bridge_stats(d->bridges[i], bs++);
	b->shards[0] = (struct dispatch_shard_stats){ d->number, n.n_channels, n.n_bridges, d->turns };
	totals(d, &b->s);
	return &b->s;
}

/* ---- sums ---- */

static void join(void *to, const void *a, uint32_t n_a, const void *b, uint32_t n_b, size_t size)
{
	if (n_a)
		memcpy(to, a, n_a * size);
	if (n_b)
		memcpy((char *)to + n_a * size, b, n_b * size);
}

static void add_counts(struct dispatch_stats *s, const struct dispatch_stats *b)
{
	s->n_shards += b->n_shards;
	s->n_channels += b->n_channels;
	s->n_bridges += b->n_bridges;
	s->n_slow += b->n_slow;
	s->lanes += b->lanes;
	s->lanes_max = b->lanes_max; /* the same for all */
	s->wakeups += b->wakeups;
	s->packets_out += b->packets_out;
	s->packets_in += b->packets_in;
	s->invalid += b->invalid;
	s->strange_claims += b->strange_claims;
}

struct dispatch_stats *dispatch_stats_add(const struct dispatch_stats *a, const struct dispatch_stats *b)
{
	static const struct dispatch_stats none;
	struct dispatch_stats n = a ? *a : none;
	struct block *sum;

	a = a ? a : &none;
	add_counts(&n, b);
	sum = block_new(&n);
	if (!sum)
		return NULL;
	join(sum->shards, a->shards, a->n_shards, b->shards, b->n_shards, sizeof(*a->shards));
	join(sum->channels, a->channels, a->n_channels, b->channels, b->n_channels, sizeof(*a->channels));
	join(sum->bridges, a->bridges, a->n_bridges, b->bridges, b->n_bridges, sizeof(*a->bridges));
	join(sum->slow, a->slow, a->n_slow, b->slow, b->n_slow, sizeof(*a->slow));
	if (a->queue_hist)
		histogram_merge(&sum->queue, a->queue_hist);
	if (a->publish_hist)
		histogram_merge(&sum->publish, a->publish_hist);
	histogram_merge(&sum->queue, b->queue_hist);
	histogram_merge(&sum->publish, b->publish_hist);
	sum->s.queue_hist = &sum->queue;
	sum->s.publish_hist = &sum->publish;
	quantiles(&sum->s);
	return &sum->s;
}
