/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h */
#include "remote.h"

#include <errno.h>
#include <string.h>

#include "mem.h"
#include "pose.h"
#include "table.h"

struct cell {
	struct section_key key;
	struct section *now;  /* of the last complete tick; NULL: none yet */
	struct section *next; /* of the tick being assembled; NULL: it has none */
	struct section **got; /* owned: references, ascending by tick: sections of future ticks, and bases */
	uint32_t n_got, got_size;
	bool leaves; /* the section `now` must not be used as a base any more */
};

struct seat {
	uint64_t id;
	struct remote *remote;
};

struct remotes {
	unsigned history;
	struct cell *cells; /* ascending by key */
	uint32_t n_cells, cells_size;
	struct table table; /* of struct seat */
	struct remote_event *events;
	size_t n_events, events_size;
	struct remote **gone; /* objects that left in the last tick: its events refer to them */
	size_t n_gone, gone_size;
	uint32_t kept; /* objects in all cell::got */
	struct {
		uint64_t tick;
		uint32_t sections;
	} came[REMOTE_TICKS_MAX]; /* by tick % REMOTE_TICKS_MAX */
};

/* ---- create and destroy ---- */

static void remote_free(struct remote *o)
{
	body_unref(o->body);
	mem_free(o);
}

static void forget_gone(struct remotes *r)
{
	while (r->n_gone)
		remote_free(r->gone[--r->n_gone]);
	r->n_events = 0;
}

int remotes_create(unsigned history, struct remotes **ret)
{
	struct remotes *r = MEM_NEW(struct remotes);

	if (!r)
		return -ENOMEM;
	r->history = history;
	r->table = (struct table)TABLE_OF(struct seat, id);
	*ret = r;
	return 0;
}

static void drop_got(struct remotes *r, struct cell *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		r->kept -= c->got[i]->count;
		section_unref(c->got[i]);
	}
	c->n_got -= n;
	if (n)
		memmove(c->got, c->got + n, c->n_got * sizeof(*c->got));
}

static void cell_finish(struct remotes *r, struct cell *c)
{
	drop_got(r, c, c->n_got);
	mem_free(c->got);
	section_unref(c->now);
	section_unref(c->next);
}

void remotes_destroy(struct remotes *r)
{
	const struct seat *seat;

	if (!r)
		return;
	forget_gone(r);
	for (size_t at = 0; (seat = table_next(&r->table, &at));)
		remote_free(seat->remote);
	for (uint32_t i = 0; i < r->n_cells; i++)
		cell_finish(r, &r->cells[i]);
	mem_free(r->cells);
	table_finish(&r->table);
	mem_free(r->events);
	mem_free(r->gone);
	mem_free(r);
}

/* ---- objects ---- */

static struct remote *find(const struct remotes *r, uint64_t id)
{
	const struct seat *seat = table_find(&r->table, &id);

	return seat ? seat->remote : NULL;
}

const struct remote *remotes_find(const struct remotes *r, uint64_t id)
{
	return find(r, id);
}

static int add_event(struct remotes *r, enum remote_change change, const struct remote *o)
{
	if (r->n_events == r->events_size) {
		size_t size = r->events_size ? 2 * r->events_size : 64;
		struct remote_event *p = mem_realloc(r->events, size * sizeof(*p));

		if (!p)
			return -ENOMEM;
		r->events = p;
		r->events_size = size;
	}
	r->events[r->n_events++] = (struct remote_event){ change, o };
	return 0;
}

static int remove_object(struct remotes *r, uint64_t id)
{
	struct seat *seat = table_find(&r->table, &id);

	if (!seat || seat->remote->seen)
		return 0;
	if (r->n_gone == r->gone_size) {
		size_t size = r->gone_size ? 2 * r->gone_size : 16;
		struct remote **p = mem_realloc(r->gone, size * sizeof(struct remote *));

		if (!p)
			return -ENOMEM;
		r->gone = p;
		r->gone_size = size;
	}
	r->gone[r->n_gone++] = seat->remote;
	table_remove(&r->table, seat);
	return add_event(r, REMOTE_LEFT, r->gone[r->n_gone - 1]);
}

static void add_state(struct remote *o, unsigned history, const struct motion_real *state)
{
	if (o->n && state->time_sim_ns < o->states[o->newest].time_sim_ns)
		o->n = 0;
	if (!o->n || state->time_sim_ns > o->states[o->newest].time_sim_ns) {
		o->newest = o->n ? (o->newest + 1) % history : 0;
		o->n += o->n < history;
	}
	o->states[o->newest] = *state;
}

/* Returns 1 if it has changed. */
static int take_state(struct remotes *r, struct remote *o, const struct object_state *s, int64_t tick_sim_ns)
{
	struct motion_real real;
	bool same = o->n && o->code == s->code && o->owner == s->owner && o->body == s->body &&
		    !memcmp(&o->motion, &s->motion, sizeof(s->motion));

	o->code = s->code;
	o->owner_before = o->owner;
	o->owner = s->owner;
	o->motion = s->motion;
	if (o->body != s->body) {
		body_unref(o->body);
		o->body = body_ref(s->body);
	}
	motion_to_real(&s->motion, tick_sim_ns, &real);
	add_state(o, r->history, &real);
	o->seen = true;
	return !same;
}

static int put_object(struct remotes *r, const struct object_state *s, int64_t tick_sim_ns)
{
	struct remote *o = find(r, s->id);
	void *seat;

	if (o)
		return take_state(r, o, s, tick_sim_ns) ? add_event(r, REMOTE_UPDATED, o) : 0;
	if (r->table.n == REMOTE_OBJECTS_MAX)
		return -E2BIG;
	o = mem_zalloc(sizeof(*o) + r->history * sizeof(o->states[0]));
	if (!o || table_add(&r->table, &s->id, &seat) < 0) {
		mem_free(o);
		return -ENOMEM;
	}
	o->id = s->id;
	((struct seat *)seat)->remote = o;
	(void)take_state(r, o, s, tick_sim_ns);
	return add_event(r, REMOTE_ENTERED, o);
}

/* ---- sections ---- */

static int compare(struct section_key a, struct section_key b)
{
	if (a.level != b.level)
		return a.level < b.level ? -1 : 1;
	if (a.y != b.y)
		return a.y < b.y ? -1 : 1;
	return a.x < b.x ? -1 : a.x > b.x;
}

/* The index of the first cell not before key. */
static uint32_t cell_place(const struct remotes *r, struct section_key key)
{
	uint32_t low = 0, high = r->n_cells;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare(r->cells[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct cell *cell_find(const struct remotes *r, struct section_key key)
{
	uint32_t i = cell_place(r, key);

	return i < r->n_cells && section_key_equal(r->cells[i].key, key) ? &r->cells[i] : NULL;
}

static int cell_add(struct remotes *r, struct section_key key, struct cell **ret)
{
	uint32_t i = cell_place(r, key);

	if (r->n_cells == REMOTE_SECTIONS_MAX)
		return -E2BIG;
	if (r->n_cells == r->cells_size) {
		uint32_t size = r->cells_size ? 2 * r->cells_size : 16;
		struct cell *p = mem_realloc(r->cells, size * sizeof(*p));

		if (!p)
			return -ENOMEM;
		r->cells = p;
		r->cells_size = size;
	}
	memmove(&r->cells[i + 1], &r->cells[i], (r->n_cells - i) * sizeof(*r->cells));
	r->n_cells++;
	r->cells[i] = (struct cell){ .key = key };
	*ret = &r->cells[i];
	return 0;
}

/* The index of the first section of that tick or later. */
static uint32_t got_place(const struct cell *c, uint64_t tick)
{
	uint32_t i = c->n_got;

	while (i && c->got[i - 1]->tick >= tick)
		i--;
	return i;
}

static struct section *got_find(const struct cell *c, uint64_t tick)
{
	uint32_t i = got_place(c, tick);

	return i < c->n_got && c->got[i]->tick == tick ? c->got[i] : NULL;
}

static const struct section *base_of(const struct cell *c, uint64_t tick)
{
	if (!c || !tick)
		return NULL;
	if (c->now && c->now->tick == tick && !c->leaves)
		return c->now;
	return got_find(c, tick);
}

static int got_room(struct cell *c)
{
	uint32_t size = c->got_size ? 2 * c->got_size : 2;
	struct section **p;

	if (c->n_got < c->got_size)
		return 0;
	p = mem_realloc(c->got, size * sizeof(*p));
	if (!p)
		return -ENOMEM;
	c->got = p;
	c->got_size = size;
	return 0;
}

static void count_came(struct remotes *r, uint64_t tick)
{
	uint32_t i = tick % REMOTE_TICKS_MAX;

	if (r->came[i].tick < tick) {
		r->came[i].tick = tick;
		r->came[i].sections = 0;
	}
	r->came[i].sections += r->came[i].tick == tick;
}

/* Takes s, also on failure. Sections older than its base are dropped: the server does not use them any more. */
static int keep(struct remotes *r, struct cell *c, struct section *s, uint64_t base)
{
	uint32_t i;
	int e = r->kept + s->count > REMOTE_KEPT_MAX ? -E2BIG : got_room(c);

	if (e < 0) {
		section_unref(s);
		return e;
	}
	drop_got(r, c, got_place(c, base));
	if (c->n_got == REMOTE_TICKS_MAX)
		drop_got(r, c, 1);
	i = got_place(c, s->tick);
	memmove(&c->got[i + 1], &c->got[i], (c->n_got - i) * sizeof(*c->got));
	c->got[i] = s;
	c->n_got++;
	c->leaves = false;
	r->kept += s->count;
	count_came(r, s->tick);
	return 0;
}

int remotes_section(struct remotes *r, const void *data, size_t len)
{
	struct section_head head;
	const struct section *base;
	struct section *s;
	struct cell *c;
	int e = section_peek(data, len, &head);

	if (e < 0)
		return e;
	c = cell_find(r, head.key);
	if (c && got_find(c, head.tick))
		return 0;
	base = base_of(c, head.base);
	if (head.base && !base)
		return -ESTALE;
	e = section_decode(data, len, base, &s);
	if (e < 0)
		return e;
	if (!c)
		e = cell_add(r, head.key, &c);
	if (e < 0) {
		section_unref(s);
		return e;
	}
	return keep(r, c, s, head.base);
}

uint32_t remotes_sections(const struct remotes *r, uint64_t tick)
{
	uint32_t i = tick % REMOTE_TICKS_MAX;

	return r->came[i].tick == tick ? r->came[i].sections : 0;
}

int remotes_leave(struct remotes *r, struct section_key key)
{
	struct cell *c = cell_find(r, key);

	if (!c)
		return -EBADMSG;
	c->leaves = true;
	return 0;
}

/* ---- ticks ---- */

static int put_all(struct remotes *r)
{
	int e = 0;

	for (uint32_t i = 0; i < r->n_cells; i++) {
		const struct section *s = r->cells[i].leaves ? NULL : r->cells[i].next;

		for (uint32_t j = 0; s && j < s->count && !e; j++)
			e = put_object(r, &s->objects[j], s->time_sim_ns);
	}
	return e;
}

/* Removes objects that were in the cell and are not seen anywhere now. */
static int remove_left(struct remotes *r, const struct section *was, const struct section *is)
{
	uint32_t j = 0;
	int e = 0;

	for (uint32_t i = 0; was && i < was->count && !e; i++) {
		while (is && j < is->count && is->objects[j].id < was->objects[i].id)
			j++;
		if (!is || j == is->count || is->objects[j].id != was->objects[i].id)
			e = remove_object(r, was->objects[i].id);
	}
	return e;
}

static int remove_all_left(struct remotes *r)
{
	int e = 0;

	for (uint32_t i = 0; i < r->n_cells && !e; i++) {
		const struct cell *c = &r->cells[i];

		if (c->leaves || c->next)
			e = remove_left(r, c->now, c->leaves ? NULL : c->next);
	}
	return e;
}

/*
 * Makes the tick's sections the present ones, with no object marked as seen. bases: a cell that leaves drops its bases
 * up to that tick; 0: every cell drops them.
 */
static void turn_cells(struct remotes *r, uint64_t bases)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_cells; i++) {
		struct cell c = r->cells[i];

		for (uint32_t j = 0; c.next && j < c.next->count; j++) {
			struct remote *o = find(r, c.next->objects[j].id);

			if (o)
				o->seen = false;
		}
		if (c.leaves || c.next) {
			section_unref(c.now);
			c.now = c.next;
			c.next = NULL;
		}
		if (!bases)
			drop_got(r, &c, c.n_got);
		else if (c.leaves)
			drop_got(r, &c, got_place(&c, bases + 1));
		if (c.leaves && !c.n_got)
			cell_finish(r, &c);
		else
			r->cells[n++] = c;
	}
	r->n_cells = n;
}

static int turn(struct remotes *r, uint64_t bases, const struct remote_event **ret, size_t *ret_n)
{
	int e;

	forget_gone(r);
	e = put_all(r);
	if (!e)
		e = remove_all_left(r);
	turn_cells(r, bases);
	*ret = r->events;
	*ret_n = r->n_events;
	return e;
}

int remotes_tick(struct remotes *r, const struct remote_event **ret, size_t *ret_n)
{
	for (uint32_t i = 0; i < r->n_cells; i++) {
		struct cell *c = &r->cells[i];

		if (c->n_got)
			c->next = section_ref(c->got[c->n_got - 1]);
	}
	return turn(r, 0, ret, ret_n);
}

int remotes_tick_whole(struct remotes *r, uint64_t tick, const struct remote_event **ret, size_t *ret_n)
{
	for (uint32_t i = 0; i < r->n_cells; i++) {
		struct cell *c = &r->cells[i];

		c->next = section_ref(got_find(c, tick));
		c->leaves = !c->next;
	}
	return turn(r, tick, ret, ret_n);
}

void remotes_begin_again(struct remotes *r)
{
	for (uint32_t i = 0; i < r->n_cells; i++) {
		drop_got(r, &r->cells[i], r->cells[i].n_got);
		r->cells[i].leaves = true;
	}
	memset(r->came, 0, sizeof(r->came));
}

/* ---- queries ---- */

uint32_t remotes_count(const struct remotes *r)
{
	return r->table.n;
}

const struct remote *remotes_next(const struct remotes *r, size_t *at)
{
	const struct seat *seat = table_next(&r->table, at);

	return seat ? seat->remote : NULL;
}

uint64_t remotes_hash(const struct remotes *r)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < r->n_cells; i++)
		hash += r->cells[i].now ? r->cells[i].now->hash : 0;
	return hash;
}

enum remote_how remote_at(const struct remote *o, unsigned history, int64_t at_sim_ns, int64_t beyond_dur_ns,
			  struct motion_real *ret)
{
	const struct motion_real *b = &o->states[o->newest], *a = b;
	bool held;

	if (at_sim_ns >= b->time_sim_ns) {
		held = at_sim_ns - b->time_sim_ns > beyond_dur_ns;
		pose_beyond(b, held ? b->time_sim_ns + beyond_dur_ns : at_sim_ns, ret);
		if (at_sim_ns == b->time_sim_ns)
			return REMOTE_BETWEEN;
		return held ? REMOTE_HELD : REMOTE_BEYOND;
	}
	for (uint32_t i = 1; i < o->n && at_sim_ns < a->time_sim_ns; i++) {
		b = a;
		a = &o->states[(o->newest + history - i) % history];
	}
	if (at_sim_ns < a->time_sim_ns) {
		*ret = *a;
		return REMOTE_HELD;
	}
	pose_between(a, b, at_sim_ns, ret);
	return REMOTE_BETWEEN;
}
