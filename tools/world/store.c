/* SPDX-License-Identifier: Apache-2.0 */
/* See store.h: objects by id, and statements about them. store_tick.c applies these. */
#include <errno.h>
#include <string.h>

#include "mem.h"
#include "store_private.h"

#define CONNECTIONS_MAX (1u << 24)

int store_create(const struct store_options *o, struct store **ret)
{
	struct store *st;

	if (o->section_mm < 1000 || o->section_mm > 1000000000 || o->step_dur_ns < 1 || !o->objects_max ||
	    !o->objects_each_max || o->objects_each_max > 1u << 24)
		return -EINVAL;
	st = MEM_NEW(struct store);
	if (!st)
		return -ENOMEM;
	st->o = *o;
	*ret = st;
	return 0;
}

void object_destroy(struct object *o)
{
	body_unref(o->now.body);
	body_unref(o->said.body);
	mem_free(o);
}

static void destroy_all(struct objects *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		object_destroy(a->at[i]);
	mem_free(a->at);
}

void store_destroy(struct store *st)
{
	if (!st)
		return;
	destroy_all(&st->all);
	destroy_all(&st->fresh);
	mem_free(st->said.at);
	mem_free(st->gone);
	for (uint32_t i = 0; i < st->n_makers; i++)
		mem_free(st->makers[i]);
	mem_free(st->makers);
	mem_free(st);
}

int objects_room(struct objects *a, uint32_t n)
{
	uint32_t size = a->size < 32 ? 64 : a->size * 2;
	struct object **at;

	if (n <= a->size)
		return 0;
	if (size < n)
		size = n;
	at = mem_realloc(a->at, size * sizeof(struct object *));
	if (!at)
		return -ENOMEM;
	a->at = at;
	a->size = size;
	return 0;
}

/* ---- ids ---- */

struct maker *store_maker(const struct store *st, uint32_t connection)
{
	return connection < st->n_makers ? st->makers[connection] : NULL;
}

static int room_for_maker(struct store *st, uint32_t connection)
{
	uint32_t n = st->n_makers < 32 ? 64 : st->n_makers * 2;
	struct maker **makers;

	if (connection < st->n_makers)
		return 0;
	if (n <= connection)
		n = connection + 1;
	makers = mem_realloc(st->makers, n * sizeof(struct maker *));
	if (!makers)
		return -ENOMEM;
	memset(makers + st->n_makers, 0, (n - st->n_makers) * sizeof(struct maker *));
	st->makers = makers;
	st->n_makers = n;
	return 0;
}

static int make_maker(struct store *st, uint32_t connection, struct maker **ret)
{
	int r = room_for_maker(st, connection);
	struct maker *m;

	if (r < 0)
		return r;
	m = st->makers[connection];
	if (!m) {
		m = mem_zalloc(sizeof(*m) + st->o.objects_each_max * sizeof(m->numbers[0]));
		if (!m)
			return -ENOMEM;
		st->makers[connection] = m;
	}
	*ret = m;
	return 0;
}

static uint32_t number_of(uint64_t id)
{
	return (uint32_t)(id >> 16) & 0xffffff;
}

static struct object *find(const struct store *st, uint64_t id)
{
	struct maker *m = store_maker(st, store_id_connection(id));
	struct object *o = m && number_of(id) < st->o.objects_each_max ? m->numbers[number_of(id)].object : NULL;

	return o && o->now.id == id ? o : NULL;
}

uint32_t store_owner(const struct store *st, uint64_t id)
{
	const struct object *o = find(st, id);

	return o && o->now.code ? o->now.owner : 0;
}

uint32_t store_code(const struct store *st, uint64_t id)
{
	const struct object *o = find(st, id);

	return !o ? 0 : o->said.update ? o->said.code : o->now.code;
}

void store_drop(struct store *st, struct object *o)
{
	struct maker *made = store_maker(st, store_id_connection(o->now.id)), *owner = store_maker(st, o->now.owner);

	if (made->numbers[number_of(o->now.id)].object == o) { /* otherwise a successor already uses its number */
		made->numbers[number_of(o->now.id)].object = NULL;
		made->made--;
	}
	owner->owned--;
}

/* ---- statements ---- */

static int list(struct store *st, struct object *o)
{
	int r;

	if (o->listed)
		return 0;
	r = objects_room(&st->said, st->said.n + 1);
	if (r < 0)
		return r;
	st->said.at[st->said.n++] = o;
	o->listed = true;
	return 0;
}

/*
 * Creates an object with a new id: a number of the connection itself, which is free or is being removed, and a
 * generation that was not used yet.
 */
static int make_object(struct store *st, uint32_t connection, uint64_t id, struct object **ret)
{
	uint32_t number = number_of(id), generation = (uint32_t)(id & 0xffff);
	struct object *o, *before;
	struct maker *m;
	int r;

	if (store_id_connection(id) != connection) {
		st->counters.not_owner++;
		return -EPERM;
	}
	r = number < st->o.objects_each_max ? make_maker(st, connection, &m) : -ENOSPC;
	if (r == -ENOSPC || (!r && m->owned == st->o.objects_each_max)) {
		st->counters.full++;
		return -ENOSPC;
	}
	if (r < 0)
		return r;
	before = m->numbers[number].object;
	if ((before && !(before->said.remove && before->now.owner == connection)) ||
	    generation < m->numbers[number].generations) {
		st->counters.gone++;
		return -ESTALE;
	}
	r = objects_room(&st->fresh, st->fresh.n + 1);
	o = r < 0 ? NULL : MEM_NEW(struct object);
	if (!o)
		return -ENOMEM;
	o->now.id = id;
	o->now.owner = connection;
	o->said_sim_ns = INT64_MIN;
	o->listed = true;
	st->fresh.at[st->fresh.n++] = o;
	m->numbers[number] = (struct maker_number){ o, generation + 1 };
	m->made += !before;
	m->owned++;
	*ret = o;
	return 0;
}

/* Checks an update before it can create an object. */
static int check_update(const struct store *st, uint32_t connection, const struct store_update *u, struct motion *ret)
{
	if (!connection || connection >= CONNECTIONS_MAX || !u->code || !u->id)
		return -EINVAL;
	return motion_from_real(&u->motion, store_next_sim_ns(st), ret);
}

static int object_for(struct store *st, uint32_t connection, const struct store_update *u, struct object **ret)
{
	struct object *o = find(st, u->id);

	if (!o)
		return make_object(st, connection, u->id, ret);
	if (o->now.owner != connection) {
		st->counters.not_owner++;
		return -EPERM;
	}
	if (u->motion.time_sim_ns < o->said_sim_ns || o->said.remove) {
		st->counters.stale++;
		return -ESTALE;
	}
	*ret = o;
	return list(st, o);
}

int store_update(struct store *st, uint32_t connection, const struct store_update *u)
{
	struct object *o = NULL;
	struct motion motion;
	int r = check_update(st, connection, u, &motion);

	if (!r)
		r = object_for(st, connection, u, &o);
	if (r < 0) {
		body_unref(u->body);
		return r;
	}
	o->said.update = true;
	o->said.code = u->code;
	o->said.motion = motion;
	o->said_sim_ns = u->motion.time_sim_ns;
	store_tell(st, &(struct store_told){ .what = STORE_UPDATE, .connection = connection, .update = u });
	if (u->has_body) {
		body_unref(o->said.body);
		o->said.body = u->body;
		o->said.has_body = true;
	} else {
		body_unref(u->body);
	}
	st->counters.updates++;
	return 0;
}

static int owned_by(struct store *st, uint32_t connection, uint64_t id, struct object **ret)
{
	struct object *o = find(st, id);

	if (!o)
		return -ENOENT;
	if (o->now.owner != connection) {
		st->counters.not_owner++;
		return -EPERM;
	}
	*ret = o;
	return 0;
}

int store_remove(struct store *st, uint32_t connection, uint64_t id)
{
	struct object *o = NULL;
	int r = owned_by(st, connection, id, &o);

	if (!r)
		r = list(st, o);
	if (r < 0)
		return r;
	o->said.remove = true;
	store_tell(st, &(struct store_told){ .what = STORE_REMOVE, .connection = connection, .id = id });
	return 0;
}

int store_give(struct store *st, uint32_t from, uint32_t to, uint64_t id)
{
	struct object *o = NULL;
	struct maker *m;
	int r = to && to < CONNECTIONS_MAX ? owned_by(st, from, id, &o) : -EINVAL;

	if (!r)
		r = make_maker(st, to, &m);
	if (!r)
		r = list(st, o);
	if (r < 0)
		return r;
	o->said.give = to;
	store_tell(st, &(struct store_told){ .what = STORE_GIVE, .connection = from, .to = to, .id = id });
	return 0;
}

/* Cannot fail: there is room to list each object in the world. */
void store_remove_all(struct store *st, uint32_t connection)
{
	for (uint32_t i = 0; i < st->all.n; i++)
		if (st->all.at[i]->now.owner == connection && list(st, st->all.at[i]) == 0)
			st->all.at[i]->said.remove = true;
	for (uint32_t i = 0; i < st->fresh.n; i++)
		if (st->fresh.at[i]->now.owner == connection)
			st->fresh.at[i]->said.remove = true;
	store_tell(st, &(struct store_told){ .what = STORE_REMOVE_ALL, .connection = connection });
}

uint64_t store_next_tick(const struct store *st)
{
	return st->tick + 1;
}

int64_t store_next_sim_ns(const struct store *st)
{
	return st->o.start_sim_ns + (int64_t)st->tick * st->o.step_dur_ns;
}

uint32_t store_count(const struct store *st)
{
	return st->all.n;
}

uint32_t store_owned(const struct store *st, uint32_t connection)
{
	const struct maker *m = store_maker(st, connection);

	return m ? m->owned : 0;
}

bool store_forget_connection(struct store *st, uint32_t connection)
{
	struct maker *m = store_maker(st, connection);

	if (!m)
		return true;
	if (m->owned || m->made)
		return false;
	mem_free(m);
	st->makers[connection] = NULL;
	store_tell(st, &(struct store_told){ .what = STORE_FORGET, .connection = connection });
	return true;
}

void store_counters(const struct store *st, struct store_counters *ret)
{
	*ret = st->counters;
}
