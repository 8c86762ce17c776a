/* SPDX-License-Identifier: Apache-2.0 */
/* See members.h. */
#include "members.h"

#include <errno.h>
#include <string.h>

#include "mem.h"
#include "store.h"

#define CONNECTION_LAST ((1u << 24) - 1)

void members_init(struct members *ms, uint32_t max, const struct store *store)
{
	*ms = (struct members){ .max = max, .store = store };
}

void members_finish(struct members *ms)
{
	for (uint32_t i = 0; i < ms->n; i++)
		mem_free(ms->at[i]);
	mem_free(ms->at);
	*ms = (struct members){ 0 };
}

struct member *members_find(const struct members *ms, uint32_t connection)
{
	uint32_t low = 0, high = ms->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (ms->at[mid]->connection < connection)
			low = mid + 1;
		else
			high = mid;
	}
	return low < ms->n && ms->at[low]->connection == connection ? ms->at[low] : NULL;
}

/* Cost of forgetting a member: the objects that it would lose. */
static uint32_t cost(const struct members *ms, const struct member *m)
{
	return m->until_mono_ns == INT64_MAX ? 0 : store_owned(ms->store, m->connection);
}

/*
 * All have the same grace period, so the one whose period ends first has been away longest; those without objects come
 * before all others.
 */
static bool is_cheaper(const struct members *ms, const struct member *a, const struct member *b)
{
	uint32_t of_a = cost(ms, a), of_b = cost(ms, b);
	bool over_a = a->until_mono_ns == INT64_MAX, over_b = b->until_mono_ns == INT64_MAX;

	if (of_a != of_b)
		return of_a < of_b;
	return over_a != over_b ? over_a : a->until_mono_ns < b->until_mono_ns;
}

static int forget_one(struct members *ms, uint32_t *ret_forgotten)
{
	uint32_t best = ms->n;

	for (uint32_t i = 0; i < ms->n; i++)
		if (!ms->at[i]->session && (best == ms->n || is_cheaper(ms, ms->at[i], ms->at[best])))
			best = i;
	if (best == ms->n)
		return -ENOSPC;
	*ret_forgotten = ms->at[best]->connection;
	mem_free(ms->at[best]);
	memmove(ms->at + best, ms->at + best + 1, (ms->n - best - 1) * sizeof(struct member *));
	ms->n--;
	return 0;
}

static int room(struct members *ms)
{
	uint32_t size = ms->size < 8 ? 16 : ms->size * 2;
	struct member **at;

	if (ms->n < ms->size)
		return 0;
	at = mem_realloc(ms->at, size * sizeof(struct member *));
	if (!at)
		return -ENOMEM;
	ms->at = at;
	ms->size = size;
	return 0;
}

int members_get(struct members *ms, const uint8_t identity[IDENTITY_SIZE], struct member **ret, uint32_t *ret_forgotten)
{
	struct member *m;
	int r = 0;

	*ret_forgotten = 0;
	for (uint32_t i = 0; i < ms->n; i++)
		if (memcmp(ms->at[i]->identity, identity, IDENTITY_SIZE) == 0) {
			*ret = ms->at[i];
			return 0;
		}
	if (ms->last == CONNECTION_LAST)
		return -ENOSPC;
	if (ms->n == ms->max)
		r = forget_one(ms, ret_forgotten);
	if (!r)
		r = room(ms);
	m = r < 0 ? NULL : MEM_NEW(struct member);
	if (!m)
		return r < 0 ? r : -ENOMEM;
	memcpy(m->identity, identity, IDENTITY_SIZE);
	m->connection = ++ms->last;
	m->until_mono_ns = INT64_MAX;
	ms->at[ms->n++] = m;
	*ret = m;
	return 0;
}
