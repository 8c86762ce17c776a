/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages: how long a channel's messages take to be taken, sent on a lane, and answered. Only counted for channels for
 * which a client has requested it; others pay one comparison. Histograms are allocated at the first request.
 *
 * Thread: the dispatch exec's.
 */
#include <errno.h>

#include "dispatch_private.h"
#include "mem.h"

void d_stages_taken(struct dispatch *d, struct d_message *m, int64_t publish_mono_ns)
{
	m->take_mono_ns = exec_now(d->x);
	if (publish_mono_ns >= 0 && publish_mono_ns <= m->take_mono_ns) /* its publisher writes this time */
		histogram_add(m->ch->take, m->take_mono_ns - publish_mono_ns);
}

/* A message taken before the first request is not counted. */
static void add(struct dispatch *d, struct histogram *h, const struct d_message *m)
{
	if (m->take_mono_ns)
		histogram_add(h, exec_now(d->x) - m->take_mono_ns);
}

void d_stages_handed(const struct d_route *rt, const struct d_message *m)
{
	add(rt->b->d, &rt->stages->lane, m);
}

void d_stages_answered(const struct d_route *rt, const struct d_message *m)
{
	add(rt->b->d, &rt->stages->answer, m);
}

/* Starts counting for the channel and each route that is not counted yet. */
static int begin(struct d_channel *ch)
{
	ch->take = ch->take ? ch->take : MEM_NEW(struct histogram);
	for (uint32_t i = 0; ch->take && i < ch->n_routes; i++) {
		struct d_route *rt = ch->routes[i];

		rt->stages = rt->stages ? rt->stages : MEM_NEW(struct d_route_stages);
		if (!rt->stages)
			return -ENOMEM;
	}
	return ch->take ? 0 : -ENOMEM;
}

static void copy(const struct d_channel *ch, struct dispatch_stages *s)
{
	histogram_merge(&s->take, ch->take);
	for (uint32_t i = 0; i < s->n_bridges; i++) {
		const struct d_route *rt = ch->routes[i];

		s->bridges[i].id = rt->b->id;
		histogram_merge(&s->bridges[i].lane, &rt->stages->lane);
		histogram_merge(&s->bridges[i].answer, &rt->stages->answer);
	}
}

struct dispatch_stages *d_stages_take(struct d_channel *ch)
{
	struct dispatch_stages *s = NULL;

	if (begin(ch) == 0)
		s = (struct dispatch_stages *)mem_zalloc(sizeof(*s) + ch->n_routes * sizeof(s->bridges[0]));
	if (!s)
		return NULL;
	s->n_bridges = ch->n_routes;
	copy(ch, s);
	return s;
}
