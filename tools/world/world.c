/* SPDX-License-Identifier: Apache-2.0 */
/* See world.h: ticks, and who gets them. Input of clients: session.c; output: session_out.c */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"
#include "world_private.h"

#define NS_PER_S INT64_C(1000000000)

/* ---- creation ---- */

static void defaults(struct world_options *o)
{
	o->barrier.step_dur_ns = o->store.step_dur_ns;
	o->hello_dur_ns = o->hello_dur_ns ? o->hello_dur_ns : 5 * NS_PER_S;
	o->queue_soft = o->queue_soft ? o->queue_soft : 8u << 20;
	o->queue_hard = o->queue_hard ? o->queue_hard : 32u << 20;
	o->queue_dur_ns = o->queue_dur_ns ? o->queue_dur_ns : 10 * NS_PER_S;
}

int world_create(const struct world_options *o, int64_t now_mono_ns, struct world **ret)
{
	struct world *w;
	int r;

	if (!o->number || !o->sessions_max || o->members_max < o->sessions_max || o->radius_mm < 0 ||
	    o->ahead_dur_ns < 0 || o->access.n_types > ACCESS_TYPES_MAX)
		return -EINVAL;
	w = MEM_NEW(struct world);
	if (!w)
		return -ENOMEM;
	w->o = *o;
	defaults(&w->o);
	w->encoded = (struct table)TABLE_OF(struct encoded, key);
	list_init(&w->sessions);
	r = store_create(&w->o.store, &w->store);
	members_init(&w->members, o->members_max, w->store);
	if (!r)
		r = barrier_create(&w->o.barrier, now_mono_ns, &w->barrier);
	if (r < 0) {
		world_destroy(w);
		return r;
	}
	*ret = w;
	return 0;
}

void world_destroy(struct world *w)
{
	struct session *s, *next;

	if (!w)
		return;
	list_for_each_safe(s, next, &w->sessions, link)
		session_close(s, 0);
	for (unsigned i = 0; i < RING; i++)
		snapshot_destroy(w->ring[i]);
	wire_buf_finish(&w->frames);
	table_finish(&w->encoded);
	mem_free(w->gives);
	mem_free(w->forgotten);
	members_finish(&w->members);
	barrier_destroy(w->barrier);
	store_destroy(w->store);
	mem_free(w);
}

void world_say(const struct session *s, enum world_event what, const char *fmt, ...)
{
	const struct world_options *o = &s->w->o;
	char sentence[300], name[2 * NAME_MAX_LEN + 32];
	va_list ap;

	if (!o->event)
		return;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (*s->certificate)
		snprintf(name, sizeof(name), "%s%s(certificate %s)", s->name, *s->name ? " " : "", s->certificate);
	else
		snprintf(name, sizeof(name), "%s", s->name);
	o->event(o->user, what, s->info.connection, name, sentence);
}

struct session *world_session(const struct world *w, uint32_t connection)
{
	struct member *m = members_find(&w->members, connection);

	return m ? m->session : NULL;
}

void world_leave(struct session *s, bool lost, int64_t now_mono_ns)
{
	struct member *m = s->m;

	if (!m)
		return;
	session_goes_late(s);
	s->m = NULL;
	m->session = NULL;
	barrier_leave(s->w->barrier, m->connection, s->w->now_mono_ns);
	if (lost && s->w->o.grace_dur_ns) {
		m->until_mono_ns = now_mono_ns + s->w->o.grace_dur_ns;
	} else {
		store_remove_all(s->w->store, m->connection);
		m->until_mono_ns = INT64_MAX;
	}
}

const struct session *world_next(const struct world *w, uint32_t connection)
{
	uint32_t low = 0, high = w->members.n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (w->members.at[mid]->connection <= connection)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < w->members.n; low++)
		if (w->members.at[low]->session)
			return w->members.at[low]->session;
	return NULL;
}

int world_kick(struct world *w, uint32_t connection, const char *sentence)
{
	struct session *s = world_session(w, connection);

	if (!s)
		return -ENOENT;
	session_tell_end(s, SIM__WORLD__BYE__REASON__KICKED, "%s", sentence);
	return 0;
}

void world_stop(struct world *w)
{
	struct session *s;

	list_for_each(s, &w->sessions, link)
		session_tell_end(s, SIM__WORLD__BYE__REASON__STOPPED, "the server stops");
}

/* ---- frames of a tick ---- */

static void frames_reset(struct world *w)
{
	w->frames.len = 0;
	table_clear(&w->encoded);
}

/* The same section at tick `base`; NULL: too old, so the whole section is sent. */
static const struct section *base_of(const struct world *w, const struct section *section, uint64_t base)
{
	const struct snapshot *s = w->ring[base % RING];

	return base && s && s->tick == base ? snapshot_section(s, section->key) : NULL;
}

int world_frame(struct world *w, const struct section *section, uint64_t base, const uint8_t **ret, size_t *ret_len)
{
	const struct section *from = base_of(w, section, base);
	const struct encoded_key key = { section, from ? base : 0 };
	struct encoded *e;
	void *place;
	int r = table_add(&w->encoded, &key, &place);

	if (r < 0)
		return r;
	e = place;
	if (!e->len) {
		e->at = frame_begin(&w->frames, FRAME_SECTION);
		section_encode(section, from, &w->frames);
		r = frame_end(&w->frames, e->at, FRAME_MAX_SERVER);
		if (r < 0)
			return r;
		e->len = w->frames.len - e->at;
	}
	*ret = w->frames.data + e->at;
	*ret_len = e->len;
	return 0;
}

/* ---- a tick ---- */

static uint32_t levels_of(const struct world *w)
{
	const struct session *s;
	uint32_t levels = 0;

	list_for_each(s, &w->sessions, link)
		levels |= s->m ? 1u << s->view.o.level : 0;
	return levels;
}

static void add_place(struct world *w, const struct section *section, const struct object_state *o)
{
	struct session *s = world_session(w, o->owner);
	struct view_centre *last = s && s->n_own ? &s->own[s->n_own - 1] : NULL;
	int64_t size = w->o.store.section_mm;

	if (!s || s->view.o.radius_mm == VIEW_ALL || s->n_said || s->n_own == CENTRES_MAX)
		return;
	/* with many objects, one per cell */
	if (last && store_owned(w->store, o->owner) > CENTRES_MAX && last->x_mm >= section->key.x * size - size / 10 &&
	    last->x_mm < (section->key.x + 1) * size + size / 10 && last->y_mm >= section->key.y * size - size / 10 &&
	    last->y_mm < (section->key.y + 1) * size + size / 10)
		return;
	s->own[s->n_own++] = (struct view_centre){ o->motion.v[MOTION_POSITION], o->motion.v[MOTION_POSITION + 1] };
}

/* Sets each client's centres to the places of its objects. */
static void find_places(struct world *w)
{
	struct session *s;

	list_for_each(s, &w->sessions, link)
		s->n_own = 0;
	for (uint32_t i = 0; i < w->newest->n_sections && !w->newest->sections[i]->key.level; i++)
		for (uint32_t j = 0; j < w->newest->sections[i]->count; j++)
			add_place(w, w->newest->sections[i], &w->newest->sections[i]->objects[j]);
}

/* Out of memory: the number is never freed, which is harmless. */
static void forget_later(struct world *w, uint32_t connection)
{
	uint32_t size = w->forgotten_size < 8 ? 16 : w->forgotten_size * 2, *at = w->forgotten;

	if (w->n_forgotten == w->forgotten_size) {
		at = mem_realloc(at, size * sizeof(*at));
		if (!at)
			return;
		w->forgotten = at;
		w->forgotten_size = size;
	}
	at[w->n_forgotten++] = connection;
}

/* True: all is freed. Also removes objects that it was given in the meantime. */
static bool is_forgotten(struct world *w, uint32_t connection)
{
	if (store_owned(w->store, connection))
		store_remove_all(w->store, connection);
	return store_forget_connection(w->store, connection);
}

void world_forget(struct world *w, uint32_t connection)
{
	if (!is_forgotten(w, connection))
		forget_later(w, connection);
}

static void forget_again(struct world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_forgotten; i++)
		if (!is_forgotten(w, w->forgotten[i]))
			w->forgotten[n++] = w->forgotten[i];
	w->n_forgotten = n;
}

int world_add_give(struct world *w, uint64_t id, uint32_t from, uint32_t to)
{
	uint32_t size = w->gives_size < 8 ? 16 : w->gives_size * 2;
	struct give *gives = w->gives;

	if (w->n_gives == w->gives_size) {
		gives = mem_realloc(w->gives, size * sizeof(*gives));
		if (!gives)
			return -ENOMEM;
		w->gives = gives;
		w->gives_size = size;
	}
	gives[w->n_gives++] = (struct give){ id, from, to };
	return 0;
}

static void tell_give(struct world *w, const struct give *g)
{
	Sim__World__Ownership m = SIM__WORLD__OWNERSHIP__INIT;
	struct session *from = world_session(w, g->from), *to = world_session(w, g->to);

	m.id = g->id;
	m.connection = g->to;
	m.refused = store_owner(w->store, g->id) != g->to;
	if (from)
		session_put(from, FRAME_GIVE, &m.base);
	if (to && to != from)
		session_put(to, FRAME_GIVE, &m.base);
}

/* Above queue_soft a client is sent no ticks; later ones refer to the older base that it has. */
static bool takes_ticks(struct session *s, int64_t now_mono_ns)
{
	size_t queued = s->out.len - s->sent;

	if (session_udp_is_full(s)) {
		s->info.skipped++;
		return false;
	}
	if (queued <= s->w->o.queue_soft) {
		s->full_mono_ns = INT64_MAX;
		return true;
	}
	s->info.skipped++;
	if (s->full_mono_ns == INT64_MAX)
		s->full_mono_ns = now_mono_ns;
	if (queued > s->w->o.queue_hard || now_mono_ns - s->full_mono_ns >= s->w->o.queue_dur_ns)
		session_tell_end(s, SIM__WORLD__BYE__REASON__SLOW, "it does not read its data: %zu bytes wait for it",
				 queued);
	return false;
}

static void tell_all(struct world *w, int64_t now_mono_ns)
{
	struct session *s;

	for (uint32_t i = 0; i < w->n_gives; i++)
		tell_give(w, &w->gives[i]);
	w->n_gives = 0;
	list_for_each(s, &w->sessions, link)
		if (s->m && !s->ends && takes_ticks(s, now_mono_ns))
			session_put_tick(s, false, now_mono_ns);
}

static int tick(struct world *w, int64_t now_mono_ns)
{
	struct snapshot *s;
	int r = store_tick(w->store, levels_of(w), &s);

	if (r < 0)
		return r;
	snapshot_destroy(w->ring[s->tick % RING]);
	w->ring[s->tick % RING] = w->newest = s;
	frames_reset(w);
	find_places(w);
	barrier_ticked(w->barrier, s->tick, now_mono_ns);
	forget_again(w);
	tell_all(w, now_mono_ns);
	return 0;
}

/* ---- timers ---- */

static void on_rung(struct world *w, const struct barrier_next *n, int64_t now_mono_ns)
{
	struct session *s = world_session(w, n->connection);
	double late = (double)n->late_dur_ns / 1e9;

	if (!s)
		return;
	switch (n->rung) {
	case BARRIER_WARNED:
		world_say(s, WORLD_LATE, "time has waited for it for %.3f s", late);
		break;
	case BARRIER_RESENT:
		if (session_udp_mends(s, now_mono_ns)) /* with datagrams, resending would only load a full connection */
			break;
		view_lost_all(&s->view);
		if (w->newest && takes_ticks(s, now_mono_ns))
			session_put_tick(s, true, now_mono_ns);
		break;
	case BARRIER_DEMOTED:
		session_was_slow(s);
		world_say(s, WORLD_LATE,
			  "time has waited for it for %.3f s, and goes on without it: it is an observer now", late);
		break;
	case BARRIER_OUT:
		session_tell_end(s, SIM__WORLD__BYE__REASON__SLOW,
				 n->earns ? "it has promised nothing for %.3f s" : "time has waited for it for %.3f s",
				 late);
		break;
	case BARRIER_IN_TIME:
		world_say(s, WORLD_IN_TIME, "it has caught up, and is in its role again");
		break;
	}
}

static int64_t earliest(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * Ends sessions without a Hello or with an incomplete frame, and removes objects after the grace period. Returns when
 * to call again.
 */
static int64_t expire(struct world *w, int64_t now_mono_ns)
{
	int64_t wake = INT64_MAX;
	struct session *s;

	list_for_each(s, &w->sessions, link) {
		int64_t due = session_udp_turn(s, now_mono_ns);

		wake = due < wake ? due : wake;
		session_sample(s, now_mono_ns);
		if (s->hello_mono_ns <= now_mono_ns)
			session_tell_end(s, SIM__WORLD__BYE__REASON__REFUSED, "no Hello came in %.1f s",
					 (double)w->o.hello_dur_ns / 1e9);
		else if (session_partial_until(s) <= now_mono_ns)
			session_tell_end(s, SIM__WORLD__BYE__REASON__SLOW, "it has not completed a frame in time");
		else
			wake = earliest(wake, earliest(s->hello_mono_ns, session_partial_until(s)));
	}
	for (uint32_t i = 0; i < w->members.n; i++) {
		struct member *m = w->members.at[i];

		if (m->session || m->until_mono_ns == INT64_MAX)
			continue;
		if (m->until_mono_ns <= now_mono_ns) {
			store_remove_all(w->store, m->connection);
			m->until_mono_ns = INT64_MAX;
		} else if (m->until_mono_ns < wake) {
			wake = m->until_mono_ns;
		}
	}
	return wake;
}

/* Without a pace, the regulating clients drive time; without any it stands still. */
static bool has_a_driver(const struct world *w)
{
	const struct session *s;
	struct barrier_client c;

	if (barrier_pace(w->barrier))
		return true;
	list_for_each(s, &w->sessions, link)
		if (s->m && barrier_client(w->barrier, s->m->connection, &c) && c.role == BARRIER_REGULATING)
			return true;
	return false;
}

int64_t world_turn(struct world *w, int64_t now_mono_ns)
{
	int64_t wake;
	struct barrier_next n;

	w->now_mono_ns = now_mono_ns;
	wake = expire(w, now_mono_ns);
	for (;;) {
		barrier_next(w->barrier, now_mono_ns, &n);
		if (n.connection)
			on_rung(w, &n, now_mono_ns);
		else
			break;
	}
	if (n.tick && !has_a_driver(w))
		return wake;
	if (n.tick && tick(w, now_mono_ns) == 0)
		return now_mono_ns; /* call again: another tick may be due */
	return n.tick ? now_mono_ns + NS_PER_S / 100 : n.wake_mono_ns < wake ? n.wake_mono_ns : wake;
}

void world_set_udp(struct world *w, uint16_t port)
{
	w->udp_port = port;
}

void world_info(const struct world *w, struct world_info *ret)
{
	const struct session *s;

	*ret = (struct world_info){ .tick = w->newest ? w->newest->tick : 0,
				    .hash = w->newest ? w->newest->hash : 0,
				    .time_sim_ns = w->newest ? w->newest->time_sim_ns : w->o.store.start_sim_ns,
				    .step_dur_ns = w->o.store.step_dur_ns,
				    .number = w->o.number,
				    .pace_permille = barrier_pace(w->barrier),
				    .waited_for = barrier_waited_for(w->barrier),
				    .sessions = w->n_sessions,
				    .objects = store_count(w->store),
				    .ahead = w->ahead,
				    .notes = w->notes,
				    .notes_lost = w->notes_lost,
				    .floods = w->floods,
				    .withheld = w->withheld };
	store_counters(w->store, &ret->counters);
	list_for_each(s, &w->sessions, link) {
		ret->clients += s->m != NULL;
		ret->regulating += s->m && s->role == BARRIER_REGULATING;
	}
}
