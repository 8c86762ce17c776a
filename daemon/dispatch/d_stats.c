/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics: a snapshot of all counters in one block of memory. Thread: the dispatch exec's. */
#include <string.h>

#include "dispatch_private.h"
#include "mem.h"

static void bridge_figures(const struct d_bridge *b, struct dispatch_bridge_stats *ret)
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

static void totals(const struct dispatch *d, struct dispatch_stats *s)
{
	s->threads = 1;
	s->lanes = d->n_lanes;
	s->lanes_max = d->lanes_max;
	s->wakeups = d->n.wakeups;
	s->packets_out = d->n.packets_out;
	s->packets_in = d->n.packets_in;
	s->invalid = d->n.invalid;
	s->queue_p50_dur_ns = histogram_quantile(&d->queue_hist, 500000);
	s->queue_p99_dur_ns = histogram_quantile(&d->queue_hist, 990000);
	s->publish_p50_dur_ns = histogram_quantile(&d->publish_hist, 500000);
	s->publish_p99_dur_ns = histogram_quantile(&d->publish_hist, 990000);
}

/* Into ret, if it is not NULL; returns how many there are. */
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

struct dispatch_stats *d_stats_take(const struct dispatch *d)
{
	size_t n_ch = list_count(&d->channels), n_br = count_bridges(d), n_slow = slow_pairs(d, NULL);
	struct dispatch_stats *s = mem_zalloc(sizeof(*s) + n_ch * sizeof(*s->channels) + n_br * sizeof(*s->bridges) +
					      n_slow * sizeof(*s->slow));
	struct dispatch_slow_stats *ss;
	struct dispatch_channel_stats *cs;
	struct dispatch_bridge_stats *bs;
	struct d_channel *ch;

	if (!s)
		return NULL;
	cs = (void *)(s + 1);
	bs = (void *)(cs + n_ch);
	ss = (void *)(bs + n_br);
	s->channels = cs;
	s->bridges = bs;
	s->slow = ss;
	s->n_slow = slow_pairs(d, ss);
	list_for_each(ch, &d->channels, link) {
		*cs = ch->stats;
		cs++->id = ch->id;
	}
	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++)
		if (d->bridges[i])
			bridge_figures(d->bridges[i], bs++);
	s->n_channels = (uint32_t)n_ch;
	s->n_bridges = (uint32_t)n_br;
	totals(d, s);
	return s;
}
