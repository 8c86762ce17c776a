/* SPDX-License-Identifier: Apache-2.0 */
/* members.h */
#include "members.h"

#include <errno.h>
#include <string.h>

#include "mem.h"

#define CONNECTION_LAST ((1u << 24) - 1)

void members_init(struct members *ms, uint32_t max)
{
	*ms = (struct members){ .max = max };
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

/* The one that has been away longest, without objects, makes room. */
static int forget_one(struct members *ms, uint32_t *ret_forgotten)
{
	for (uint32_t i = 0; i < ms->n; i++) {
		struct member *m = ms->at[i];

		if (m->session || m->until_mono_ns != INT64_MAX)
			continue;
		*ret_forgotten = m->connection;
		mem_free(m);
		memmove(ms->at + i, ms->at + i + 1, (ms->n - i - 1) * sizeof(struct member *));
		ms->n--;
		return 0;
	}
	return -ENOSPC;
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
