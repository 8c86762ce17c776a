/* SPDX-License-Identifier: Apache-2.0 */
/* The data plane's memory, by size class and by channel. Contract in report_pools.h. Thread: simd-main. */
#include "report_pools.h"

#include "channel.h"
#include "ipc.h"
#include "jsonx.h"
#include "simd.h"

#define HOLDERS_SHOWN 3

struct holder {
	const struct channel *ch;
	uint32_t slots;
};

/* The slots of a class that are reserved for a channel, its publishers and its subscribers. */
static uint32_t slots_for(const struct channel *ch, int cls)
{
	uint32_t n = ch->pool == cls ? ch->reserved : 0;
	const struct subscriber *sub;
	const struct publisher *p;

	list_for_each(p, &ch->publishers, in_channel)
		n += p->pool == cls ? pools_per_publisher(&ch->s->pools, cls) : 0;
	list_for_each(sub, &ch->subscribers, in_channel)
		n += sub->pool == cls ? sub->reserved : 0;
	return n;
}

/* Inserts h into the channels with the most slots, in descending order; the smallest drops out. */
static void rank(struct holder first[HOLDERS_SHOWN], struct holder h)
{
	for (unsigned i = 0; i < HOLDERS_SHOWN; i++) {
		struct holder other = first[i];

		if (h.slots <= other.slots)
			continue;
		first[i] = h;
		h = other;
	}
}

static json_t *holders_json(const struct simd *s, int cls)
{
	struct holder first[HOLDERS_SHOWN] = { 0 };
	const struct channel *ch;
	json_t *a = json_array();

	list_for_each(ch, &s->channels, link)
		rank(first, (struct holder){ ch, slots_for(ch, cls) });
	for (unsigned i = 0; i < HOLDERS_SHOWN && first[i].slots; i++)
		json_array_append_new(a, JSONX_MAKE(JX_STR("channel", first[i].ch->name),
						    JX_INT("slots", first[i].slots)));
	return a;
}

static json_t *class_json(const struct simd *s, int cls, const struct ipc_pool *now)
{
	const struct pool_class *c = &s->pools.c[cls];

	return JSONX_MAKE(JX_INT("size", c->size), JX_INT("count", pools_backed(&s->pools, cls)),
			  JX_INT("most", c->count), JX_INT("reserved", c->reserved), JX_INT("used", now->used),
			  JX_INT("peak", now->total - now->min_free), JX_NEW("holders", holders_json(s, cls)));
}

json_t *report_pools(const struct simd *s)
{
	struct ipc_pool now[POOLS_MAX] = { 0 };
	json_t *a = json_array();

	if (s->dataplane.ready)
		(void)ipc_pools(s->dataplane.ipc, now, POOLS_MAX);
	for (unsigned i = 0; i < s->pools.n; i++)
		if (pools_backed(&s->pools, (int)i))
			json_array_append_new(a, class_json(s, (int)i, &now[i]));
	return a;
}
