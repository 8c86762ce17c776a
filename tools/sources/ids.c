/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of objects. See ids.h. */
#include "ids.h"

#include <errno.h>

void ids_finish(struct ids *t)
{
	table_finish(&t->table);
	*t = (struct ids){ 0 };
}

/* Remove the objects that have not been seen since `since_sim_ns`. */
static void forget(struct ids *t, int64_t since_sim_ns)
{
	struct ids_entry *e;

	for (size_t at = 0; (e = table_next(&t->table, &at));)
		if (e->last_sim_ns < since_sim_ns) {
			table_remove(&t->table, e);
			at--;
		}
}

int ids_see(struct ids *t, uint64_t key, int64_t now_sim_ns, const struct ids_entry **ret)
{
	struct ids_entry *e;
	void *place;
	int r;

	t->table.entry = sizeof(*e); /* the table may be new and all zero */
	t->table.key = sizeof(key);
	if (t->table.n >= IDS_MAX && !table_find(&t->table, &key))
		forget(t, now_sim_ns - IDS_FORGET_NS);
	if (t->table.n >= IDS_MAX && !table_find(&t->table, &key))
		return -ENOMEM;
	r = table_add(&t->table, &key, &place);
	if (r < 0)
		return r;
	e = place;
	if (r > 0) {
		e->id = ++t->last_id;
		e->first_sim_ns = now_sim_ns;
	}
	if (now_sim_ns < e->first_sim_ns)
		e->first_sim_ns = now_sim_ns;
	e->last_sim_ns = now_sim_ns;
	*ret = e;
	return 0;
}
