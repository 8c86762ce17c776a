/* SPDX-License-Identifier: Apache-2.0 */
/* Which object is which. See ids.h. Open addressing with linear probing, three quarters full at most. */
#include "ids.h"

#include <errno.h>

#include "mem.h"
#include "rnd.h"

#define FIRST_SIZE 256u

void ids_finish(struct ids *t)
{
	mem_free(t->at);
	*t = (struct ids){ 0 };
}

/* Where it is, or would be. */
static struct ids_entry *place_of(struct ids_entry *at, uint32_t size, uint64_t key)
{
	uint64_t i = hash64(HASH64_INIT, &key, sizeof(key));

	while (at[i & (size - 1)].id && at[i & (size - 1)].key != key)
		i++;
	return &at[i & (size - 1)];
}

/* All entries but those unseen since `since_sim_ns` into a table of that size. */
static int rebuild(struct ids *t, uint32_t size, int64_t since_sim_ns)
{
	struct ids_entry *at = mem_calloc(size, sizeof(*at));
	uint32_t n = 0;

	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->size; i++) {
		if (!t->at[i].id || t->at[i].last_sim_ns < since_sim_ns)
			continue;
		*place_of(at, size, t->at[i].key) = t->at[i];
		n++;
	}
	mem_free(t->at);
	t->at = at;
	t->size = size;
	t->n = n;
	return 0;
}

static int make_room(struct ids *t, int64_t now_sim_ns)
{
	int r = 0;

	if (t->n < t->size / 4 * 3)
		return 0;
	if (t->n >= IDS_MAX)
		r = rebuild(t, t->size, now_sim_ns - IDS_FORGET_NS);
	else
		r = rebuild(t, t->size ? 2 * t->size : FIRST_SIZE, INT64_MIN);
	return r == 0 && t->n >= t->size / 4 * 3 ? -ENOMEM : r;
}

int ids_see(struct ids *t, uint64_t key, int64_t now_sim_ns, const struct ids_entry **ret)
{
	struct ids_entry *e = t->size ? place_of(t->at, t->size, key) : NULL;
	int r;

	if (!e || !e->id) {
		r = make_room(t, now_sim_ns);
		if (r < 0)
			return r;
		e = place_of(t->at, t->size, key);
		*e = (struct ids_entry){ .key = key, .id = ++t->last_id, .first_sim_ns = now_sim_ns };
		t->n++;
	}
	if (now_sim_ns < e->first_sim_ns)
		e->first_sim_ns = now_sim_ns;
	e->last_sim_ns = now_sim_ns;
	*ret = e;
	return 0;
}
