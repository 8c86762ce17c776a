/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the next tick: applies statements, predicts objects without updates, and divides the result into sections.
 * Always in the order of ids, so the order of arrival does not matter.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "store_private.h"
#include "table.h"

/* ---- removal, creation and ownership ---- */

static int by_id(const void *a, const void *b)
{
	uint64_t x = (*(struct object *const *)a)->now.id, y = (*(struct object *const *)b)->now.id;

	return x < y ? -1 : x > y;
}

/* Sorts by id. If there are many, by a pass over `all`, which is sorted. */
static void order_said(struct store *st)
{
	struct objects *said = &st->said;
	uint32_t n = 0;

	if (said->n < st->all.n / 8) {
		if (said->n > 1)
			qsort(said->at, said->n, sizeof(struct object *), by_id);
		return;
	}
	for (uint32_t i = 0; i < st->all.n; i++)
		if (st->all.at[i]->listed)
			said->at[n++] = st->all.at[i];
}

static void give(struct store *st, struct object *o)
{
	struct maker *from = store_maker(st, o->now.owner), *to = store_maker(st, o->said.give);

	if (!to || (to != from && to->owned == st->o.objects_each_max)) { /* NULL: forgotten since */
		st->counters.full++;
	} else {
		from->owned--;
		to->owned++;
		o->now.owner = o->said.give;
	}
	o->said.give = 0;
}

static int gone_room(struct store *st, uint32_t more)
{
	uint64_t *gone = mem_realloc(st->gone, ((size_t)st->n_gone + more + 1) * sizeof(*gone));

	if (!gone)
		return -ENOMEM;
	st->gone = gone;
	return 0;
}

/* Removes objects from `all`, keeping its order. */
static void remove_said(struct store *st)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < st->all.n; i++) {
		struct object *o = st->all.at[i];

		if (!o->said.remove) {
			st->all.at[kept++] = o;
			continue;
		}
		st->gone[st->n_gone++] = o->now.id;
		store_drop(st, o);
		object_destroy(o);
	}
	st->all.n = kept;
}

/* Accepts new objects in the order of their ids, up to the limit; the others are dropped. */
static void admit(struct store *st)
{
	struct objects *fresh = &st->fresh;
	uint32_t kept = 0;

	if (fresh->n > 1)
		qsort(fresh->at, fresh->n, sizeof(struct object *), by_id);
	for (uint32_t i = 0; i < fresh->n; i++) {
		struct object *o = fresh->at[i];

		if (o->said.give)
			give(st, o);
		if (!o->said.remove && st->all.n + kept < st->o.objects_max) {
			fresh->at[kept++] = o;
			continue;
		}
		st->counters.full += !o->said.remove;
		store_drop(st, o);
		object_destroy(o);
	}
	fresh->n = kept;
}

/* Merges from the end, as `all` has room for both. */
static void merge_fresh(struct store *st)
{
	struct objects *all = &st->all, *fresh = &st->fresh;
	uint32_t to = all->n + fresh->n, i = all->n, j = fresh->n;

	all->n = to;
	while (j) {
		struct object *o = fresh->at[j - 1];

		if (i && all->at[i - 1]->now.id > o->now.id) {
			all->at[--to] = all->at[--i];
			continue;
		}
		all->at[--to] = o;
		st->said.at[st->said.n++] = o; /* already `listed` */
		j--;
	}
	fresh->n = 0;
}

/* Reserves memory first: nothing after that fails until the objects are in place. */
static int change_members(struct store *st)
{
	uint32_t n = st->all.n + st->fresh.n, removed = 0;
	int r = objects_room(&st->all, n);

	for (uint32_t i = 0; i < st->said.n; i++)
		removed += st->said.at[i]->said.remove;
	if (!r)
		r = objects_room(&st->said, n);
	if (!r)
		r = gone_room(st, removed);
	if (r < 0)
		return r;
	order_said(st);
	for (uint32_t i = 0, kept = 0, said = st->said.n; i < said; i++) {
		struct object *o = st->said.at[i];

		if (o->said.give)
			give(st, o);
		if (!o->said.remove)
			st->said.at[kept++] = o;
		st->said.n = kept;
	}
	if (removed)
		remove_said(st);
	admit(st);
	merge_fresh(st);
	return 0;
}

/* ---- motion ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* One axis of an object's cell: keeps the old one until the object is a tenth of the size beyond its border. */
static int32_t cell_of(int64_t mm, int64_t size, int32_t was, bool had)
{
	int64_t begin = (int64_t)was * size, margin = size / 10;

	if (had && mm >= begin - margin && mm < begin + size + margin)
		return was;
	return (int32_t)floor_div(mm, size);
}

static void next_motion(struct store *st, struct object *o)
{
	if (o->said.update) {
		o->next = o->said.motion;
	} else {
		motion_predict(&o->now.motion, st->o.step_dur_ns, &o->next);
		if (!motion_valid(&o->next))
			o->next = o->now.motion; /* at the world's edge it stays in place */
	}
	for (int i = 0; i < 2; i++) {
		int32_t *was = i ? &o->cell.y : &o->cell.x, *is = i ? &o->next_cell.y : &o->next_cell.x;

		*is = cell_of(o->next.v[MOTION_POSITION + i], st->o.section_mm, *was, o->now.code != 0);
	}
}

/* The object's next state, without a reference to its body. */
static struct object_state next_state(const struct object *o)
{
	struct object_state s = o->now;

	s.motion = o->next;
	if (o->said.update)
		s.code = o->said.code;
	if (o->said.has_body)
		s.body = o->said.body;
	return s;
}

static void commit(struct store *st)
{
	for (uint32_t i = 0; i < st->all.n; i++) {
		st->all.at[i]->now.motion = st->all.at[i]->next;
		st->all.at[i]->cell = st->all.at[i]->next_cell;
	}
	for (uint32_t i = 0; i < st->said.n; i++) {
		struct object *o = st->said.at[i];
		struct body *before = o->now.body;

		o->now = next_state(o);
		if (o->said.has_body)
			body_unref(before);
		o->said = (struct statement){ 0 };
		o->listed = false;
	}
	st->said.n = 0;
	st->gone = NULL;
	st->n_gone = 0;
	st->tick++;
}

/* ---- sections ---- */

struct cell {
	struct section_key key;
	uint32_t count, first; /* number of objects; index of the first in `states` */
};

/* During filling. */
struct cells {
	struct table table; /* of struct cell, with room for one per object */
	struct object_state *states;
	struct cell **of; /* cell of each object */
};

static int cells_init(struct cells *c, uint32_t objects)
{
	*c = (struct cells){ .table = TABLE_OF(struct cell, key) };
	c->states = mem_calloc(objects + 1, sizeof(*c->states));
	c->of = mem_calloc(objects + 1, sizeof(struct cell *));
	return c->states && c->of ? table_reserve(&c->table, objects) : -ENOMEM;
}

static void cells_finish(struct cells *c)
{
	table_finish(&c->table);
	mem_free(c->states);
	mem_free(c->of);
}

/* Groups objects by cell, within each by id. */
static int fill(struct store *st, struct cells *c, uint32_t level)
{
	uint32_t first = 0;
	struct cell *cell;
	void *place;

	for (uint32_t i = 0; i < st->all.n; i++) {
		struct section_key at = st->all.at[i]->next_cell;

		at = (struct section_key){ at.x >> level, at.y >> level, level };
		if (table_add(&c->table, &at, &place) < 0)
			return -ENOMEM;
		c->of[i] = place;
		c->of[i]->count++;
	}
	for (size_t i = 0; (cell = table_next(&c->table, &i));) {
		cell->first = first;
		first += cell->count;
		cell->count = 0;
	}
	for (uint32_t i = 0; i < st->all.n; i++)
		c->states[c->of[i]->first + c->of[i]->count++] = next_state(st->all.at[i]);
	return 0;
}

static int add_section(struct snapshot *s, const struct cell *cell, struct object_state *states)
{
	struct section *made = NULL;
	int r;

	for (uint32_t i = 0; i < cell->count; i++)
		body_ref(states[i].body);
	r = section_create(cell->key, s->tick, s->time_sim_ns, states, cell->count, &made);
	if (r < 0)
		return r;
	if (!cell->key.level)
		s->hash += made->hash;
	s->sections[s->n_sections++] = made;
	return 0;
}

static int add_level(struct store *st, struct snapshot *s, uint32_t level)
{
	struct cells c;
	struct section **sections;
	const struct cell *cell;
	int r = cells_init(&c, st->all.n);

	if (!r)
		r = fill(st, &c, level);
	sections = r ? NULL : mem_realloc(s->sections, (s->n_sections + c.table.n + 1) * sizeof(struct section *));
	if (!sections)
		r = -ENOMEM;
	else
		s->sections = sections;
	for (size_t i = 0; !r && (cell = table_next(&c.table, &i));)
		r = add_section(s, cell, c.states + cell->first);
	cells_finish(&c);
	return r;
}

static int by_key(const void *a, const void *b)
{
	return section_key_compare((*(struct section *const *)a)->key, (*(struct section *const *)b)->key);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int store_tick(struct store *st, uint32_t levels, struct snapshot **ret)
{
	struct snapshot *s = MEM_NEW(struct snapshot);
	int r;

	if (!s)
		return -ENOMEM;
	*s = (struct snapshot){ .tick = store_next_tick(st), .time_sim_ns = store_next_sim_ns(st) };
	r = change_members(st);
	for (uint32_t i = 0; !r && i < st->all.n; i++)
		next_motion(st, st->all.at[i]);
	for (uint32_t level = 0; !r && level < SECTION_LEVELS; level++)
		if (!level || levels & 1u << level)
			r = add_level(st, s, level);
	if (r < 0) {
		snapshot_destroy(s);
		return r;
	}
	if (s->n_sections > 1)
		qsort(s->sections, s->n_sections, sizeof(struct section *), by_key);
	s->gone = st->gone;
	s->n_gone = st->n_gone;
	if (s->n_gone > 1)
		qsort(s->gone, s->n_gone, sizeof(*s->gone), by_number);
	commit(st);
	store_tell(st, &(struct store_told){ .what = STORE_TICK, .snapshot = s });
	*ret = s;
	return 0;
}
