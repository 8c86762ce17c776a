/* SPDX-License-Identifier: Apache-2.0 */
/* See clock_host.h. */
#include "clock_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLAIMS_A_LEASE 3

struct clock_host {
	struct clock_host_options o;
	char name[TIME_NAME_SIZE];
	enum clock_host_state state;
	bool resigned;
	int64_t since_real_ns; /* time of its first claim; 0: none yet */
	int64_t claim_mono_ns; /* when the next claim is due */
	int64_t heard_mono_ns; /* LISTENING: no other host was heard since; REFUSED: when the other was last heard */
	uint64_t other, other_life;
	char other_name[TIME_NAME_SIZE];
	uint64_t number;
	bool known;          /* clock_host_set() was called */
	int64_t real_off_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	struct time_state at;
};

int clock_host_create(const struct clock_host_options *o, int64_t now_mono_ns, struct clock_host **ret)
{
	struct clock_host *h;

	if (!o->id || !o->life || !o->name || !o->name[0] || strlen(o->name) >= TIME_NAME_SIZE || o->lease_dur_ns < 1 ||
	    o->lookahead > STEP_LOOKAHEAD_MAX)
		return -EINVAL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->o = *o;
	snprintf(h->name, sizeof(h->name), "%s", o->name);
	h->o.name = h->name;
	h->heard_mono_ns = now_mono_ns;
	*ret = h;
	return 0;
}

void clock_host_destroy(struct clock_host *h)
{
	free(h);
}

enum clock_host_state clock_host_state(const struct clock_host *h)
{
	return h->state;
}

static void send(struct clock_host *h, struct time_msg *m, uint64_t to)
{
	m->from = h->o.id;
	m->life = m->epoch = h->o.life;
	m->to = to;
	h->o.send(h->o.ctx, m);
}

static void claim(struct clock_host *h, int64_t now_mono_ns)
{
	struct time_msg m = { .kind = TIME_CLAIM };

	memcpy(m.claim.name, h->name, sizeof(h->name));
	m.claim.since_real_ns = h->since_real_ns;
	m.claim.lockstep = h->o.lockstep;
	m.claim.lookahead = h->o.lookahead;
	m.claim.number = h->number;
	m.claim.at = h->at;
	h->claim_mono_ns = now_mono_ns + h->o.lease_dur_ns / CLAIMS_A_LEASE;
	send(h, &m, 0);
}

static void change(struct clock_host *h, enum clock_host_state state)
{
	h->state = state;
	h->o.changed(h->o.ctx, state, state == CLOCK_REFUSED ? h->other_name : NULL);
}

void clock_host_set(struct clock_host *h, int64_t now_mono_ns, int64_t real_ns, const struct time_state *s)
{
	h->at = *s;
	h->known = true;
	h->real_off_ns = real_ns - now_mono_ns;
	if (h->state == CLOCK_GIVING)
		claim(h, now_mono_ns);
}

void clock_host_step(struct clock_host *h, uint64_t number)
{
	h->number = number;
}

/* Whether its claim has priority over ours. */
static bool is_before(const struct clock_host *h, const struct time_msg *m)
{
	if (h->state != CLOCK_GIVING)
		return true;
	if (m->claim.since_real_ns != h->since_real_ns)
		return m->claim.since_real_ns < h->since_real_ns;
	return m->from < h->o.id;
}

static void on_claim(struct clock_host *h, int64_t now_mono_ns, const struct time_msg *m)
{
	bool same = h->state == CLOCK_REFUSED && h->other == m->from && h->other_life == m->life;

	if (m->from == h->o.id && m->life == h->o.life)
		return;
	if (h->state == CLOCK_REFUSED && !same)
		return;
	if (!is_before(h, m)) {
		claim(h, now_mono_ns); /* shows the other host our claim */
		return;
	}
	h->heard_mono_ns = now_mono_ns;
	if (same)
		return;
	h->other = m->from;
	h->other_life = m->life;
	memcpy(h->other_name, m->claim.name, sizeof(h->other_name));
	if (h->state == CLOCK_GIVING) {
		struct time_msg bye = { .kind = TIME_RESIGN };

		send(h, &bye, 0);
	}
	change(h, CLOCK_REFUSED);
}

static void on_ask(struct clock_host *h, int64_t now_mono_ns, const struct time_msg *m)
{
	struct time_msg a = { .kind = TIME_ANSWER };

	a.answer.seq = m->ask.seq;
	a.answer.sent_mono_ns = m->ask.sent_mono_ns;
	a.answer.came_mono_ns = a.answer.left_mono_ns = now_mono_ns;
	send(h, &a, m->from);
}

void clock_host_got(struct clock_host *h, int64_t now_mono_ns, const struct time_msg *m)
{
	if (h->resigned)
		return;
	if (m->kind == TIME_CLAIM) {
		on_claim(h, now_mono_ns, m);
	} else if (m->kind == TIME_RESIGN && h->state == CLOCK_REFUSED && m->from == h->other &&
		   m->life == h->other_life) {
		h->heard_mono_ns = now_mono_ns;
		change(h, CLOCK_LISTENING);
	} else if (m->kind == TIME_ASK && h->state == CLOCK_GIVING && m->epoch == h->o.life && m->to == h->o.id) {
		on_ask(h, now_mono_ns, m);
	}
}

void clock_host_tick(struct clock_host *h, int64_t now_mono_ns)
{
	if (h->resigned || now_mono_ns < clock_host_due(h))
		return;
	if (h->state == CLOCK_GIVING) {
		claim(h, now_mono_ns);
	} else if (h->state == CLOCK_REFUSED) {
		h->heard_mono_ns = now_mono_ns;
		change(h, CLOCK_LISTENING);
	} else if (h->known) {
		if (!h->since_real_ns)
			h->since_real_ns = h->real_off_ns + now_mono_ns;
		if (h->since_real_ns < 0)
			h->since_real_ns = 0;
		change(h, CLOCK_GIVING);
		claim(h, now_mono_ns);
	} else {
		h->heard_mono_ns = now_mono_ns;
	}
}

int64_t clock_host_due(const struct clock_host *h)
{
	if (h->resigned)
		return INT64_MAX;
	return h->state == CLOCK_GIVING ? h->claim_mono_ns : h->heard_mono_ns + h->o.lease_dur_ns;
}

void clock_host_resign(struct clock_host *h)
{
	struct time_msg m = { .kind = TIME_RESIGN };

	if (h->state == CLOCK_GIVING)
		send(h, &m, 0);
	h->resigned = true;
	h->state = CLOCK_LISTENING;
}
