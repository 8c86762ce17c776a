/* SPDX-License-Identifier: Apache-2.0 */
/* See step_host.h. */
#include "step_host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Steps that a host may still ask for: those granted but not committed, the last committed one, and a spare. */
#define SLOTS (STEP_LOOKAHEAD_MAX + 3u)

struct slot {
	uint64_t number; /* 0: unused */
	int64_t sim_ns, dur_ns;
	uint32_t clock_generation;
	struct step_export *exports;
	uint32_t n, size;
};

struct member {
	uint64_t id, life;
	uint32_t attempt;
	char name[TIME_NAME_SIZE];
	bool pending; /* will join between two steps */
	bool gone;    /* sweep() removes it */
	bool late;
	uint64_t first, done;
	int64_t since_mono_ns;  /* since when an answer is awaited */
	int64_t resend_mono_ns; /* when to send its grants again */
};

struct step_host {
	struct step_host_options o;
	struct slot slots[SLOTS];
	struct member all[TIME_HOSTS_MAX]; /* unordered */
	uint32_t n;
	uint64_t number, committed;
	uint64_t own; /* the last step that our own participants have finished */
	bool open;
};

int step_host_create(const struct step_host_options *o, struct step_host **ret)
{
	struct step_host *h;

	if (!o->id || !o->life || o->lookahead > STEP_LOOKAHEAD_MAX || o->deadline_dur_ns < 1 || o->resend_dur_ns < 1)
		return -EINVAL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->o = *o;
	*ret = h;
	return 0;
}

void step_host_destroy(struct step_host *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < SLOTS; i++)
		free(h->slots[i].exports);
	free(h);
}

static struct slot *slot_of(struct step_host *h, uint64_t number)
{
	return &h->slots[number % SLOTS];
}

/* ---- sending ---- */

static void send(struct step_host *h, struct time_msg *m, uint64_t to)
{
	m->from = h->o.id;
	m->life = m->epoch = h->o.life;
	m->to = to;
	h->o.send(h->o.ctx, m);
}

static void send_grant(struct step_host *h, uint64_t number, uint64_t to)
{
	struct time_msg m = { .kind = TIME_GRANT };
	const struct slot *s = slot_of(h, number);

	m.grant.number = number;
	m.grant.sim_ns = s->sim_ns;
	m.grant.dur_ns = s->dur_ns;
	m.grant.clock_generation = s->clock_generation;
	m.grant.lookahead = h->o.lookahead;
	send(h, &m, to);
}

static void send_commit(struct step_host *h, uint64_t number, uint64_t to)
{
	struct time_msg m = { .kind = TIME_COMMIT };
	const struct slot *s = slot_of(h, number);

	m.commit.number = number;
	m.commit.exports = s->exports;
	m.commit.n = s->n;
	send(h, &m, to);
}

static void send_dropped(struct step_host *h, uint64_t to, enum step_reason reason)
{
	struct time_msg m = { .kind = TIME_DROPPED };

	m.dropped.reason = reason;
	send(h, &m, to);
}

static void send_welcome(struct step_host *h, const struct member *m)
{
	struct time_msg w = { .kind = TIME_WELCOME };
	const struct slot *before = slot_of(h, m->first - 1);

	w.welcome.attempt = m->attempt;
	w.welcome.first = m->first;
	w.welcome.sim_ns = before->number == m->first - 1 ? before->sim_ns : 0;
	send(h, &w, m->id);
}

/* ---- members ---- */

static struct member *find(struct step_host *h, uint64_t id)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->all[i].id == id && !h->all[i].gone)
			return &h->all[i];
	return NULL;
}

static bool is_awaited(const struct step_host *h, const struct member *m)
{
	return !m->pending && !m->gone && m->done < h->number;
}

static struct step_member shown(const struct step_host *h, const struct member *m, int64_t now_mono_ns)
{
	bool awaited = is_awaited(h, m);

	return (struct step_member){ .id = m->id,
				     .name = m->name,
				     .done = m->done,
				     .awaited = awaited,
				     .late = awaited && m->late,
				     .waited_dur_ns = awaited ? now_mono_ns - m->since_mono_ns : 0 };
}

static void report(struct step_host *h, enum step_event what, const struct member *m, int64_t now_mono_ns)
{
	struct step_member who = shown(h, m, now_mono_ns);

	h->o.event(h->o.ctx, what, &who);
}

static void sweep(struct step_host *h)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < h->n; i++)
		if (!h->all[i].gone)
			h->all[kept++] = h->all[i];
	h->n = kept;
}

static void take_out(struct step_host *h, struct member *m, enum step_event what, int64_t now_mono_ns)
{
	struct step_member who = shown(h, m, now_mono_ns);

	m->gone = true;
	if (!m->pending)
		h->o.event(h->o.ctx, what, &who);
}

/* Pending members join, between two steps. */
static void admit(struct step_host *h, int64_t now_mono_ns)
{
	for (uint32_t i = 0; i < h->n && !h->open; i++) {
		struct member *m = &h->all[i];

		if (!m->pending || m->gone)
			continue;
		m->pending = false;
		m->first = h->number + 1;
		m->done = h->number;
		send_welcome(h, m);
		report(h, STEP_JOINED, m, now_mono_ns);
	}
}

/* ---- progress of steps ---- */

/* The last step that all members have finished. */
static uint64_t through(const struct step_host *h)
{
	uint64_t least = h->own;

	for (uint32_t i = 0; i < h->n; i++)
		if (!h->all[i].pending && !h->all[i].gone && h->all[i].done < least)
			least = h->all[i].done;
	return least;
}

/* Commits and ends steps and admits members as far as possible now. */
static void settle(struct step_host *h, int64_t now_mono_ns)
{
	uint64_t up_to = through(h);

	while (h->committed < up_to) {
		const struct slot *s = slot_of(h, ++h->committed);

		send_commit(h, h->committed, 0);
		h->o.committed(h->o.ctx, h->committed, s->exports, s->n);
	}
	if (h->open && h->own == h->number && h->committed + h->o.lookahead >= h->number) {
		h->open = false;
		h->o.over(h->o.ctx, h->number);
	}
	admit(h, now_mono_ns);
	sweep(h);
}

static void await_from(struct step_host *h, struct member *m, int64_t now_mono_ns)
{
	m->since_mono_ns = now_mono_ns;
	m->resend_mono_ns = now_mono_ns + h->o.resend_dur_ns;
	m->late = false;
}

int step_host_begin(struct step_host *h, int64_t now_mono_ns, int64_t sim_ns, int64_t dur_ns, uint32_t clock_generation,
		    uint64_t *ret_number)
{
	struct slot *s = slot_of(h, h->number + 1);

	if (h->open)
		return -EBUSY;
	if (dur_ns < 1 || sim_ns < dur_ns || sim_ns > TIME_AT_MAX_NS)
		return -EINVAL;
	admit(h, now_mono_ns);
	for (uint32_t i = 0; i < h->n; i++)
		/* its time starts now; for a member that is behind it is already running */
		if (!is_awaited(h, &h->all[i]))
			await_from(h, &h->all[i], now_mono_ns);
	h->number++;
	h->open = true;
	s->number = h->number;
	s->sim_ns = sim_ns;
	s->dur_ns = dur_ns;
	s->clock_generation = clock_generation;
	s->n = 0;
	*ret_number = h->number;
	send_grant(h, h->number, 0);
	return 0;
}

static int add_exports(struct slot *s, uint64_t host, const struct step_export *exports, uint32_t n)
{
	uint32_t size = s->size ? s->size : 64;
	struct step_export *more = s->exports;

	if (n > STEP_EXPORTS_MAX || s->n + n > STEP_ALL_EXPORTS_MAX)
		return -E2BIG;
	while (size < s->n + n)
		size *= 2;
	if (size > s->size) { /* rare: a slot keeps its memory */
		more = realloc(s->exports, size * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->exports = more;
		s->size = size;
	}
	for (uint32_t i = 0; i < n; i++) {
		more[s->n] = exports[i];
		more[s->n++].host = host;
	}
	return 0;
}

int step_host_own(struct step_host *h, int64_t now_mono_ns, const struct step_export *exports, uint32_t n)
{
	int r;

	if (!h->open || h->own == h->number)
		return -EINVAL;
	r = add_exports(slot_of(h, h->number), h->o.id, exports, n);
	if (r < 0)
		return r;
	h->own = h->number;
	settle(h, now_mono_ns);
	return 0;
}

/* ---- messages of other hosts ---- */

static void on_join(struct step_host *h, int64_t now_mono_ns, const struct time_msg *m)
{
	struct member *was = find(h, m->from);

	if (was && was->life == m->life && was->attempt == m->join.attempt) {
		if (!was->pending)
			send_welcome(h, was);
		return;
	}
	if (was)
		take_out(h, was, STEP_LEFT, now_mono_ns);
	sweep(h);
	if (h->n == TIME_HOSTS_MAX) {
		send_dropped(h, m->from, STEP_FULL);
	} else {
		h->all[h->n] =
			(struct member){ .id = m->from, .life = m->life, .attempt = m->join.attempt, .pending = true };
		memcpy(h->all[h->n].name, m->join.name, TIME_NAME_SIZE);
		h->n++;
	}
	settle(h, now_mono_ns);
}

static void on_done(struct step_host *h, int64_t now_mono_ns, const struct time_msg *m)
{
	struct member *who = find(h, m->from);
	uint64_t number = m->done.number;
	int r;

	if (!who || who->life != m->life) {
		send_dropped(h, m->from, STEP_UNKNOWN);
		return;
	}
	if (who->pending || number < who->first || number > h->number) /* sent before it joined again */
		return;
	if (number <= h->committed) { /* it has missed the COMMIT */
		if (slot_of(h, number)->number == number)
			send_commit(h, number, m->from);
		return;
	}
	if (number != who->done + 1) { /* repeated, or an earlier one is missing */
		for (uint64_t n = who->done + 1; n <= number; n++)
			send_grant(h, n, who->id);
		return;
	}
	r = add_exports(slot_of(h, number), who->id, m->done.exports, m->done.n);
	if (r == -E2BIG) {
		send_dropped(h, who->id, STEP_TOO_MUCH);
		take_out(h, who, STEP_DROPPED_OUT, now_mono_ns);
	} else if (r == 0) { /* else its grant is repeated */
		who->done = number;
		await_from(h, who, now_mono_ns);
	}
	settle(h, now_mono_ns);
}

static void on_leave(struct step_host *h, int64_t now_mono_ns, const struct time_msg *m)
{
	struct member *who = find(h, m->from);

	if (!who || who->life != m->life)
		return;
	take_out(h, who, STEP_LEFT, now_mono_ns);
	settle(h, now_mono_ns);
}

void step_host_got(struct step_host *h, int64_t now_mono_ns, const struct time_msg *m)
{
	if (m->epoch != h->o.life || m->to != h->o.id || m->from == h->o.id)
		return;
	if (m->kind == TIME_JOIN)
		on_join(h, now_mono_ns, m);
	else if (m->kind == TIME_DONE)
		on_done(h, now_mono_ns, m);
	else if (m->kind == TIME_LEAVE)
		on_leave(h, now_mono_ns, m);
}

/* ---- late members ---- */

static void resend(struct step_host *h, struct member *m, int64_t now_mono_ns)
{
	m->resend_mono_ns = now_mono_ns + h->o.resend_dur_ns;
	for (uint64_t n = m->done + 1; n <= h->number; n++)
		send_grant(h, n, m->id);
}

static void on_late(struct step_host *h, struct member *m, int64_t now_mono_ns)
{
	m->late = true;
	if (h->o.late == STEP_LATE_DROP) {
		send_dropped(h, m->id, STEP_TOO_LATE);
		take_out(h, m, STEP_DROPPED_OUT, now_mono_ns);
	} else if (h->o.late == STEP_LATE_WARN) {
		report(h, STEP_LATE, m, now_mono_ns);
	}
}

void step_host_tick(struct step_host *h, int64_t now_mono_ns)
{
	bool out = false;

	for (uint32_t i = 0; i < h->n; i++) {
		struct member *m = &h->all[i];

		if (!is_awaited(h, m))
			continue;
		if (!m->late && now_mono_ns >= m->since_mono_ns + h->o.deadline_dur_ns)
			on_late(h, m, now_mono_ns);
		if (!m->gone && now_mono_ns >= m->resend_mono_ns)
			resend(h, m, now_mono_ns);
		out |= m->gone;
	}
	if (out)
		settle(h, now_mono_ns);
}

int64_t step_host_due(const struct step_host *h)
{
	int64_t due = INT64_MAX;

	for (uint32_t i = 0; i < h->n; i++) {
		const struct member *m = &h->all[i];
		int64_t late_ns = m->since_mono_ns + h->o.deadline_dur_ns;

		if (!is_awaited(h, m))
			continue;
		if (!m->late && late_ns < due)
			due = late_ns;
		if (m->resend_mono_ns < due)
			due = m->resend_mono_ns;
	}
	return due;
}

/* ---- queries ---- */

bool step_host_open(const struct step_host *h)
{
	return h->open;
}

uint64_t step_host_number(const struct step_host *h)
{
	return h->number;
}

uint64_t step_host_committed(const struct step_host *h)
{
	return h->committed;
}

uint32_t step_host_members(const struct step_host *h, int64_t now_mono_ns, struct step_member *ret, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->n && n < max; i++)
		if (!h->all[i].pending)
			ret[n++] = shown(h, &h->all[i], now_mono_ns);
	return n;
}
