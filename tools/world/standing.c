/* SPDX-License-Identifier: Apache-2.0 */
/* See standing.h. */
#include "standing.h"

#include <string.h>

#define NS_PER_S     INT64_C(1000000000)
#define KEPT_DUR_NS  (20 * NS_PER_S)
#define KEPT_DOUBLED 6u /* limit */
#define EARN_DUR_NS  NS_PER_S
#define EARN_DOUBLED 6u
#define TIMES_MAX    1000u

/* NULL: no entry. */
static const struct standing_entry *find(const struct standing *st, const uint8_t key[STANDING_KEY],
					 int64_t now_mono_ns)
{
	for (unsigned i = 0; i < STANDING_KEPT; i++)
		if (st->at[i].times && st->at[i].until_mono_ns > now_mono_ns &&
		    memcmp(st->at[i].key, key, STANDING_KEY) == 0)
			return &st->at[i];
	return NULL;
}

/* An empty entry, or the one that expires first; cleared. */
static struct standing_entry *free_place(struct standing *st)
{
	struct standing_entry *e = &st->at[0];

	for (unsigned i = 0; i < STANDING_KEPT && e->times; i++)
		if (!st->at[i].times || st->at[i].until_mono_ns < e->until_mono_ns)
			e = &st->at[i];
	*e = (struct standing_entry){ .times = 0 };
	return e;
}

static int64_t doubled(int64_t dur_ns, uint32_t times, uint32_t most)
{
	uint32_t n = times ? times - 1 : 0;

	return dur_ns << (n < most ? n : most);
}

void standing_slow(struct standing *st, const uint8_t key[STANDING_KEY], int64_t now_mono_ns)
{
	const struct standing_entry *had = find(st, key, now_mono_ns);
	struct standing_entry *e = had ? &st->at[had - st->at] : free_place(st);

	memcpy(e->key, key, STANDING_KEY);
	e->times += e->times < TIMES_MAX;
	e->until_mono_ns = now_mono_ns + doubled(KEPT_DUR_NS, e->times, KEPT_DOUBLED);
}

uint32_t standing_times(const struct standing *st, const uint8_t key[STANDING_KEY], int64_t now_mono_ns)
{
	const struct standing_entry *e = find(st, key, now_mono_ns);

	return e ? e->times : 0;
}

int64_t standing_earn_dur_ns(uint32_t times)
{
	return times ? doubled(EARN_DUR_NS, times, EARN_DOUBLED) : 0;
}
