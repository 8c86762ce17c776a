/* SPDX-License-Identifier: Apache-2.0 */
/* See clock_follow.h. */
#include "clock_follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKS_OPEN   8u /* questions that may be unanswered */
#define FIRST_TRIPS 8u
#define FIRST_PART  10
/* largest plausible age of a claim; claims are sent several times per lease */
#define FIT_MAX_NS (INT64_C(1000000) * 1000000000)

struct ask {
	uint64_t seq; /* 0: unused */
	int64_t sent_mono_ns;
};

struct clock_follow {
	struct clock_follow_options o;
	char want[TIME_NAME_SIZE]; /* "": any time host */
	bool has_host, lost;       /* lost: has_host, but it is no longer heard */
	uint64_t host, epoch;
	int64_t since_real_ns; /* of its claim, in this epoch */
	char name[TIME_NAME_SIZE];
	bool lockstep;
	uint8_t lookahead;
	int64_t heard_mono_ns;
	struct time_state at;
	bool told; /* told() was called in this epoch */
	uint32_t told_generation;
	struct clock_filter filter;
	struct ask asks[ASKS_OPEN];
	uint64_t seq;
	int64_t ask_mono_ns; /* when the next question is due */
	uint64_t refused;
};

int clock_follow_create(const struct clock_follow_options *o, int64_t now_mono_ns, struct clock_follow **ret)
{
	struct clock_follow *f;

	(void)now_mono_ns;
	if (!o->id || !o->life || o->lease_dur_ns < 1 || o->ask_dur_ns < 1 ||
	    (o->host && strlen(o->host) >= TIME_NAME_SIZE))
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->o = *o;
	if (o->host)
		snprintf(f->want, sizeof(f->want), "%s", o->host);
	*ret = f;
	return 0;
}

void clock_follow_destroy(struct clock_follow *f)
{
	free(f);
}

/* ---- telling the time ---- */

static int64_t scaled(int64_t dur_ns, int64_t rate_e6)
{
	return dur_ns / 1000000 * rate_e6 + dur_ns % 1000000 * rate_e6 / 1000000;
}

/* Whether claim and answer can be from the same clock. */
static bool fits(const struct clock_follow *f, int64_t since_dur_ns)
{
	return since_dur_ns > -FIT_MAX_NS && since_dur_ns < FIT_MAX_NS &&
	       f->at.sim_ns < TIME_AT_MAX_NS - 100 * FIT_MAX_NS;
}

static void tell(struct clock_follow *f, int64_t now_mono_ns)
{
	struct clock_told t = { .rate_e6 = f->at.rate_e6, .scale_e6 = f->at.scale_e6, .flags = f->at.flags };
	struct clock_offset off;
	int64_t since_dur_ns;

	if (!clock_filter_offset(&f->filter, now_mono_ns, &off))
		return;
	since_dur_ns = now_mono_ns + off.ahead_dur_ns - f->at.mono_ns;
	if (!fits(f, since_dur_ns)) {
		f->refused++;
		return;
	}
	/* extrapolate to now, since the claim may be a third of a lease old */
	t.mono_ns = now_mono_ns;
	t.sim_ns = f->at.sim_ns + scaled(since_dur_ns, f->at.rate_e6);
	if (t.sim_ns < 0)
		t.sim_ns = 0;
	t.jump = !f->told || f->told_generation != f->at.clock_generation;
	t.lockstep = f->lockstep;
	t.error_dur_ns = off.error_dur_ns;
	f->told = true;
	f->told_generation = f->at.clock_generation;
	f->o.told(f->o.ctx, &t);
}

static void ask(struct clock_follow *f, int64_t now_mono_ns)
{
	struct time_msg m = { .kind = TIME_ASK, .from = f->o.id, .life = f->o.life, .to = f->host, .epoch = f->epoch };

	m.ask.seq = ++f->seq;
	m.ask.sent_mono_ns = now_mono_ns;
	f->asks[f->seq % ASKS_OPEN] = (struct ask){ f->seq, now_mono_ns };
	/* the first trips seldom have the shortest delay, so they follow each other faster */
	f->ask_mono_ns = now_mono_ns + (f->filter.n < FIRST_TRIPS ? f->o.ask_dur_ns / FIRST_PART : f->o.ask_dur_ns);
	f->o.send(f->o.ctx, &m);
}

/* ---- choosing the time host ---- */

static void lose(struct clock_follow *f, const char *why)
{
	char text[160];

	f->lost = true;
	snprintf(text, sizeof(text), "the time host %s %s: time holds until it is back", f->name, why);
	f->o.lost(f->o.ctx, text);
}

static void report(struct clock_follow *f)
{
	struct clock_time_host host;

	if (clock_follow_host(f, &host))
		f->o.found(f->o.ctx, &host);
}

static void adopt(struct clock_follow *f, int64_t now_mono_ns, const struct time_msg *m)
{
	f->has_host = true;
	f->lost = f->told = false;
	f->host = m->from;
	f->epoch = m->life;
	f->since_real_ns = m->claim.since_real_ns;
	memcpy(f->name, m->claim.name, sizeof(f->name));
	f->lockstep = m->claim.lockstep;
	f->lookahead = m->claim.lookahead;
	f->heard_mono_ns = now_mono_ns;
	f->at = m->claim.at;
	clock_filter_reset(&f->filter);
	memset(f->asks, 0, sizeof(f->asks));
	report(f);
	ask(f, now_mono_ns);
}

static bool may_follow(const struct clock_follow *f, const struct time_msg *m)
{
	if (m->from == f->o.id || (f->want[0] && strcmp(f->want, m->claim.name) != 0))
		return false;
	/* the same host was restarted: its earlier run is over even if the lease has not expired */
	return !f->has_host || f->lost || (m->from == f->host && m->claim.since_real_ns > f->since_real_ns);
}

static void heard(struct clock_follow *f, int64_t now_mono_ns)
{
	f->heard_mono_ns = now_mono_ns;
	if (!f->lost)
		return;
	f->lost = false;
	report(f);
	ask(f, now_mono_ns);
}

static bool is_later(const struct clock_follow *f, const struct time_state *at)
{
	return at->mono_ns >= f->at.mono_ns;
}

static void on_claim(struct clock_follow *f, int64_t now_mono_ns, const struct time_msg *m)
{
	if (!f->has_host || m->life != f->epoch || m->from != f->host) {
		if (may_follow(f, m))
			adopt(f, now_mono_ns, m);
		return;
	}
	if (is_later(f, &m->claim.at)) /* else a later one has overtaken it */
		f->at = m->claim.at;
	heard(f, now_mono_ns);
	tell(f, now_mono_ns);
}

/* Uses our own record of the question, not the copy in the answer. */
static void on_answer(struct clock_follow *f, int64_t now_mono_ns, const struct time_msg *m)
{
	struct ask *a = &f->asks[m->answer.seq % ASKS_OPEN];
	struct clock_trip trip = { .sent_mono_ns = a->sent_mono_ns,
				   .came_mono_ns = m->answer.came_mono_ns,
				   .left_mono_ns = m->answer.left_mono_ns,
				   .back_mono_ns = now_mono_ns };

	if (!m->answer.seq || a->seq != m->answer.seq)
		return;
	a->seq = 0;
	if (m->answer.sent_mono_ns != a->sent_mono_ns || clock_filter_add(&f->filter, &trip) < 0) {
		f->refused++;
		return;
	}
	heard(f, now_mono_ns);
	tell(f, now_mono_ns);
}

void clock_follow_got(struct clock_follow *f, int64_t now_mono_ns, const struct time_msg *m)
{
	bool ours = f->has_host && m->from == f->host && m->life == f->epoch;

	if (m->kind == TIME_CLAIM)
		on_claim(f, now_mono_ns, m);
	else if (m->kind == TIME_ANSWER && ours && m->to == f->o.id)
		on_answer(f, now_mono_ns, m);
	else if (m->kind == TIME_RESIGN && ours && !f->lost)
		lose(f, "no longer gives time");
	else if (ours && !f->lost)
		f->heard_mono_ns = now_mono_ns; /* any message shows that it is alive */
}

void clock_follow_tick(struct clock_follow *f, int64_t now_mono_ns)
{
	if (!f->has_host)
		return;
	if (!f->lost && now_mono_ns >= f->heard_mono_ns + f->o.lease_dur_ns)
		lose(f, "is not heard");
	if (now_mono_ns >= f->ask_mono_ns)
		ask(f, now_mono_ns);
}

int64_t clock_follow_due(const struct clock_follow *f)
{
	int64_t lease_ns = f->heard_mono_ns + f->o.lease_dur_ns;

	if (!f->has_host)
		return INT64_MAX;
	return !f->lost && lease_ns < f->ask_mono_ns ? lease_ns : f->ask_mono_ns;
}

bool clock_follow_host(const struct clock_follow *f, struct clock_time_host *ret)
{
	if (!f->has_host || f->lost)
		return false;
	*ret = (struct clock_time_host){
		.id = f->host, .epoch = f->epoch, .name = f->name, .lockstep = f->lockstep, .lookahead = f->lookahead
	};
	return true;
}

uint64_t clock_follow_refused(const struct clock_follow *f)
{
	return f->refused;
}
