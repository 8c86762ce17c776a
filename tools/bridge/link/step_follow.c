/* SPDX-License-Identifier: Apache-2.0 */
/* See step_follow.h. */
#include "step_follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS      (STEP_LOOKAHEAD_MAX + 3u) /* steps granted, or answered and not committed */
#define FULL_TIMES 10                        /* when all places are taken, JOIN is repeated this much less often */

struct slot {
	uint64_t granted; /* number of the step in `turn`; 0: none */
	struct step_turn turn;
	uint64_t answered; /* number of the step in `exports`; 0: none */
	struct step_export exports[STEP_EXPORTS_MAX];
	uint32_t n;
	uint64_t known; /* number of the step in `all`, whose COMMIT arrived before an earlier step's; 0: none */
	struct step_export *all;
	uint32_t n_all, size_all;
};

struct step_follow {
	struct step_follow_options o;
	char name[TIME_NAME_SIZE];
	uint64_t host, epoch; /* the time host; 0: none */
	enum step_follow_state state;
	bool alone;  /* the open step is ended without the other hosts */
	bool barred; /* it must not join, or not again */
	uint32_t attempt;
	uint8_t lookahead;
	uint64_t number;    /* the step that runs, or the next one */
	uint64_t committed; /* the last step committed */
	int64_t resend_mono_ns;
	struct slot slots[SLOTS];
};

int step_follow_create(const struct step_follow_options *o, struct step_follow **ret)
{
	struct step_follow *f;

	if (!o->id || !o->life || !o->name || !o->name[0] || strlen(o->name) >= TIME_NAME_SIZE || o->resend_dur_ns < 1)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->o = *o;
	snprintf(f->name, sizeof(f->name), "%s", o->name);
	*ret = f;
	return 0;
}

void step_follow_destroy(struct step_follow *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < SLOTS; i++)
		free(f->slots[i].all);
	free(f);
}

static struct slot *slot_of(struct step_follow *f, uint64_t number)
{
	return &f->slots[number % SLOTS];
}

/* ---- sending ---- */

static void send(struct step_follow *f, struct time_msg *m)
{
	m->from = f->o.id;
	m->life = f->o.life;
	m->to = f->host;
	m->epoch = f->epoch;
	f->o.send(f->o.ctx, m);
}

static void send_join(struct step_follow *f, int64_t now_mono_ns)
{
	struct time_msg m = { .kind = TIME_JOIN };

	memcpy(m.join.name, f->name, sizeof(f->name));
	m.join.attempt = f->attempt;
	f->resend_mono_ns = now_mono_ns + f->o.resend_dur_ns;
	send(f, &m);
}

static void send_done(struct step_follow *f, uint64_t number)
{
	struct slot *s = slot_of(f, number);
	struct time_msg m = { .kind = TIME_DONE };

	if (s->answered != number)
		return;
	m.done.number = number;
	m.done.exports = s->exports;
	m.done.n = s->n;
	send(f, &m);
}

/* ---- changes of state ---- */

static void join_afresh(struct step_follow *f, int64_t now_mono_ns)
{
	f->state = STEP_OUT;
	f->alone = false;
	f->attempt++;
	for (uint32_t i = 0; i < SLOTS; i++)
		f->slots[i].granted = f->slots[i].answered = f->slots[i].known = 0;
	if (f->epoch && !f->barred)
		send_join(f, now_mono_ns);
}

static void close_step(struct step_follow *f)
{
	f->state = STEP_CLOSING;
	f->o.over(f->o.ctx, f->number, f->alone);
}

static void start_if_granted(struct step_follow *f)
{
	const struct slot *s = slot_of(f, f->number);

	if (f->state != STEP_READY || s->granted != f->number)
		return;
	f->state = STEP_RUNNING;
	f->o.advance(f->o.ctx, &s->turn);
}

static void close_if_known(struct step_follow *f)
{
	if (f->state == STEP_GATHERED && f->committed + f->lookahead >= f->number)
		close_step(f);
}

/* We are no longer a member. A running step is finished first. */
static void fall_out(struct step_follow *f, int64_t now_mono_ns, uint32_t reason)
{
	bool was_in = f->state != STEP_OUT && !f->alone;

	if (was_in)
		f->o.out(f->o.ctx, reason);
	if (f->state == STEP_OUT || f->state == STEP_READY) {
		join_afresh(f, now_mono_ns);
		return;
	}
	f->alone = true;
	if (f->state == STEP_GATHERED)
		close_step(f);
}

void step_follow_host(struct step_follow *f, int64_t now_mono_ns, uint64_t id, uint64_t epoch, bool lockstep)
{
	if (f->barred && f->epoch == epoch)
		return;
	if (!lockstep)
		id = epoch = 0;
	if (f->host == id && f->epoch == epoch)
		return;
	f->host = id;
	f->epoch = epoch;
	f->barred = false;
	fall_out(f, now_mono_ns, 0);
}

int step_follow_own(struct step_follow *f, int64_t now_mono_ns, const struct step_export *exports, uint32_t n)
{
	struct slot *s = slot_of(f, f->number);

	if (f->state != STEP_RUNNING)
		return -EINVAL;
	if (n > STEP_EXPORTS_MAX)
		return -E2BIG;
	f->state = STEP_GATHERED;
	if (f->alone) {
		close_step(f);
		return 0;
	}
	if (n)
		memcpy(s->exports, exports, n * sizeof(*exports));
	s->n = n;
	s->answered = f->number;
	f->resend_mono_ns = now_mono_ns + f->o.resend_dur_ns;
	send_done(f, f->number);
	close_if_known(f);
	return 0;
}

void step_follow_ended(struct step_follow *f, int64_t now_mono_ns)
{
	if (f->state != STEP_CLOSING)
		return;
	if (f->alone) {
		join_afresh(f, now_mono_ns);
		return;
	}
	f->state = STEP_READY;
	f->number++;
	start_if_granted(f);
}

void step_follow_leave(struct step_follow *f, int64_t now_mono_ns)
{
	struct time_msg m = { .kind = TIME_LEAVE };

	if (f->epoch && !f->barred)
		send(f, &m);
	f->barred = true;
	if (f->state == STEP_RUNNING || f->state == STEP_GATHERED)
		f->alone = true;
	if (f->state == STEP_GATHERED)
		close_step(f);
	else if (f->state == STEP_READY)
		join_afresh(f, now_mono_ns);
}

/* ---- messages of the time host ---- */

static void on_welcome(struct step_follow *f, const struct time_msg *m)
{
	if (f->state != STEP_OUT || f->barred || m->welcome.attempt != f->attempt)
		return;
	f->state = STEP_READY;
	f->number = m->welcome.first;
	f->committed = m->welcome.first - 1;
	f->o.joined(f->o.ctx, f->number, m->welcome.sim_ns);
}

/* A member is never granted a step so far ahead of its own answers: the time host has started without us. */
static bool is_beyond(const struct step_follow *f, const struct time_msg *m)
{
	bool answered = f->state == STEP_GATHERED || f->state == STEP_CLOSING;

	return m->grant.number > f->number + answered + m->grant.lookahead;
}

static void on_grant(struct step_follow *f, int64_t now_mono_ns, const struct time_msg *m)
{
	struct slot *s = slot_of(f, m->grant.number);

	if (f->state == STEP_OUT || f->alone)
		return;
	if (is_beyond(f, m)) {
		fall_out(f, now_mono_ns, STEP_UNKNOWN);
		return;
	}
	/* sent again: perhaps the time host did not receive our answer */
	if (m->grant.number < f->number || s->granted == m->grant.number) {
		send_done(f, m->grant.number);
		return;
	}
	f->lookahead = m->grant.lookahead;
	s->granted = m->grant.number;
	s->turn = (struct step_turn){ .number = m->grant.number,
				      .from_sim_ns = m->grant.sim_ns - m->grant.dur_ns,
				      .dur_ns = m->grant.dur_ns,
				      .clock_generation = m->grant.clock_generation,
				      .lookahead = m->grant.lookahead };
	start_if_granted(f);
}

static void commit(struct step_follow *f, int64_t now_mono_ns, const struct step_export *exports, uint32_t n)
{
	f->committed++;
	f->resend_mono_ns = now_mono_ns + f->o.resend_dur_ns;
	f->o.committed(f->o.ctx, f->committed, exports, n);
}

/* False: out of memory; the COMMIT will be requested again. */
static bool keep_commit(struct slot *s, const struct time_msg *m)
{
	if (m->commit.n > s->size_all) { /* rare: a slot keeps its memory */
		struct step_export *all = realloc(s->all, m->commit.n * sizeof(*all));

		if (!all)
			return false;
		s->all = all;
		s->size_all = m->commit.n;
	}
	if (m->commit.n)
		memcpy(s->all, m->commit.exports, m->commit.n * sizeof(*s->all));
	s->n_all = m->commit.n;
	s->known = m->commit.number;
	return true;
}

/* Commits steps whose COMMIT arrived too early. */
static void commit_kept(struct step_follow *f, int64_t now_mono_ns)
{
	for (;;) {
		struct slot *s = slot_of(f, f->committed + 1);

		if (s->known != f->committed + 1)
			return;
		s->known = 0;
		commit(f, now_mono_ns, s->all, s->n_all);
	}
}

static void on_commit(struct step_follow *f, int64_t now_mono_ns, const struct time_msg *m)
{
	struct slot *s = slot_of(f, m->commit.number);

	if (f->state == STEP_OUT || f->alone || m->commit.number <= f->committed || s->answered != m->commit.number)
		return;
	if (m->commit.number != f->committed + 1) { /* an earlier COMMIT is missing: keep this one and ask for that */
		if (s->known != m->commit.number && keep_commit(s, m))
			send_done(f, f->committed + 1);
		return;
	}
	commit(f, now_mono_ns, m->commit.exports, m->commit.n);
	commit_kept(f, now_mono_ns);
	close_if_known(f);
}

static void on_dropped(struct step_follow *f, int64_t now_mono_ns, const struct time_msg *m)
{
	if (m->dropped.reason == STEP_FULL) {
		if (f->state == STEP_OUT)
			f->resend_mono_ns = now_mono_ns + FULL_TIMES * f->o.resend_dur_ns;
		return;
	}
	if (f->state == STEP_OUT || f->alone)
		return;
	f->barred |= m->dropped.reason == STEP_TOO_MUCH; /* joining again would fail for the same reason */
	fall_out(f, now_mono_ns, m->dropped.reason);
}

void step_follow_got(struct step_follow *f, int64_t now_mono_ns, const struct time_msg *m)
{
	if (!f->epoch || m->from != f->host || m->life != f->epoch || m->epoch != f->epoch ||
	    (m->to && m->to != f->o.id))
		return;
	if (m->kind == TIME_WELCOME)
		on_welcome(f, m);
	else if (m->kind == TIME_GRANT)
		on_grant(f, now_mono_ns, m);
	else if (m->kind == TIME_COMMIT)
		on_commit(f, now_mono_ns, m);
	else if (m->kind == TIME_DROPPED)
		on_dropped(f, now_mono_ns, m);
}

/* ---- repeating messages ---- */

static bool has_to_say(const struct step_follow *f)
{
	return f->epoch && !f->alone && !f->barred && (f->state == STEP_OUT || f->state == STEP_GATHERED);
}

void step_follow_tick(struct step_follow *f, int64_t now_mono_ns)
{
	if (!has_to_say(f) || now_mono_ns < f->resend_mono_ns)
		return;
	if (f->state == STEP_OUT) {
		send_join(f, now_mono_ns);
		return;
	}
	f->resend_mono_ns = now_mono_ns + f->o.resend_dur_ns;
	for (uint64_t n = f->committed + 1; n <= f->number; n++)
		send_done(f, n);
}

int64_t step_follow_due(const struct step_follow *f)
{
	return has_to_say(f) ? f->resend_mono_ns : INT64_MAX;
}

bool step_follow_joins(const struct step_follow *f)
{
	return f->epoch && !f->barred && f->state == STEP_OUT;
}

enum step_follow_state step_follow_state(const struct step_follow *f)
{
	return f->state;
}
