/* SPDX-License-Identifier: Apache-2.0 */
/* See model.h. Thread: one. */
#include "scenario/dispatch/model.h"

const uint32_t windows[CHANNELS] = { 4, 9, 3 };
const bool ordered[CHANNELS] = { false, false, true };
const bool carries[CHANNELS][BRIDGES] = { { true, true, false }, { false, true, false }, { false, true, true } };

/* ---- messages ---- */

bool model_is_open(const struct msg *g, unsigned b)
{
	return g->part[b] == PENDING || g->part[b] == LATE;
}

bool model_unfinished(const struct msg *g)
{
	bool open = !g->offered || g->lost;

	for (unsigned b = 0; b < BRIDGES; b++)
		open = open || model_is_open(g, b);
	return open;
}

unsigned model_in_flight(struct model *m, uint32_t channel)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		n += m->msgs[i].channel == channel && model_unfinished(&m->msgs[i]);
	return n;
}

static unsigned n_offered(struct model *m, uint32_t channel)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		n += m->msgs[i].channel == channel && m->msgs[i].offered && !m->msgs[i].lost &&
		     model_unfinished(&m->msgs[i]);
	return n;
}

unsigned model_open_at(struct model *m, uint32_t channel, unsigned bridge)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		n += m->msgs[i].channel == channel && model_is_open(&m->msgs[i], bridge);
	return n;
}

bool model_token_in_use(struct model *m, uint32_t token)
{
	for (unsigned i = 0; i < m->n; i++)
		if (m->msgs[i].token == token && model_unfinished(&m->msgs[i]))
			return true;
	return false;
}

void model_settle(struct msg *g, unsigned bridge, enum part end, enum sim_reason reason)
{
	bool all = true;

	if (reason != SIM_REASON_NONE && !g->decided && g->reason == SIM_REASON_NONE)
		g->reason = reason;
	g->part[bridge] = end;
	for (unsigned b = 0; b < BRIDGES; b++)
		all = all && g->part[b] != PENDING;
	g->decided = g->decided || all;
}

static struct held *find_held(struct model *m, unsigned bridge, const struct msg *g)
{
	struct test_bridge *b = &m->w->bridges[bridge];

	for (unsigned i = 0; i < b->n_held; i++)
		if (b->held[i].publisher_id == g->publisher_id && b->held[i].sequence == g->sequence)
			return &b->held[i];
	return NULL;
}

/* A bridge that holds a good share of a nearly used up window, while another has caught up, is refused. */
static bool lags(struct model *m, uint32_t ch, unsigned bridge, unsigned flying)
{
	uint32_t spare = windows[ch] / 4 ? windows[ch] / 4 : 1, half = windows[ch] / 2 ? windows[ch] / 2 : 1;
	bool other = false;

	for (unsigned b = 0; b < BRIDGES; b++)
		other = other || (b != bridge && carries[ch][b] && m->b[b].connected &&
				  model_open_at(m, ch, b) <= model_open_at(m, ch, bridge) / 2);
	return other && !m->b[bridge].waited && model_open_at(m, ch, bridge) >= half &&
	       flying + 1 + spare > windows[ch];
}

/* ---- bridges that are waited for ---- */

static unsigned n_patient(struct model *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		n += !m->msgs[i].decided && m->msgs[i].patient;
	return n;
}

static void update(struct model *m, unsigned bridge)
{
	struct mbridge *b = &m->b[bridge];
	bool was = b->lossless;

	b->lossless = b->asked != DISPATCH_LOSSLESS_AUTO ? b->asked == DISPATCH_LOSSLESS_YES
							 : m->freewheel || (was && n_patient(m));
	b->waited = b->lossless && !b->stalled && (b->connected || b->back_mono_ns);
	for (unsigned i = 0; was && !b->lossless && i < m->n; i++)
		m->msgs[i].deadline_mono_ns[bridge] = exec_now(m->w->x) + b->deadline_dur_ns;
}

static void update_all(struct model *m)
{
	for (unsigned b = 0; b < BRIDGES; b++)
		update(m, b);
}

static bool blocked(struct model *m, uint32_t ch)
{
	uint32_t share = windows[ch] / 2 ? windows[ch] / 2 : 1;

	for (unsigned b = 0; b < BRIDGES; b++)
		if (carries[ch][b] && m->b[b].waited && (!m->b[b].connected || model_open_at(m, ch, b) >= share))
			return true;
	return false;
}

static void offer_to(struct model *m, struct msg *g, unsigned bridge, bool lag)
{
	struct mbridge *b = &m->b[bridge];
	bool busy = false;

	if (!b->connected) {
		model_settle(g, bridge, OVER, SIM_REASON_DISCONNECTED);
	} else if (lag || b->stalled) {
		model_settle(g, bridge, OVER, SIM_REASON_BRIDGE_SLOW);
	} else {
		for (unsigned i = 0; i < m->n; i++)
			busy = busy || (&m->msgs[i] != g && m->msgs[i].part[bridge] == PENDING);
		if (!busy)
			b->busy_mono_ns = exec_now(m->w->x);
		g->deadline_mono_ns[bridge] = exec_now(m->w->x) + b->deadline_dur_ns;
	}
}

static void offer(struct model *m, struct msg *g, unsigned flying)
{
	bool lag[BRIDGES];

	for (unsigned b = 0; b < BRIDGES; b++)
		lag[b] = lags(m, g->channel, b, flying);
	g->offered = true;
	for (unsigned b = 0; b < BRIDGES; b++)
		if (carries[g->channel][b])
			g->part[b] = PENDING;
	for (unsigned b = 0; b < BRIDGES; b++)
		if (carries[g->channel][b])
			offer_to(m, g, b, lag[b]);
}

/* In order, as far as there is room. What ends at once keeps its credit until all have been asked. */
static void flow(struct model *m, uint32_t ch)
{
	unsigned ended = 0;

	for (unsigned i = 0; i < m->n; i++) {
		struct msg *g = &m->msgs[i];

		if (g->channel != ch || g->offered)
			continue;
		if (blocked(m, ch))
			return;
		offer(m, g, n_offered(m, ch) + ended);
		ended += !model_unfinished(g);
	}
}

static unsigned n_backlog(struct model *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		n += !m->msgs[i].offered;
	return n;
}

/* Round by round: what one channel releases may be what others wait for. */
void model_flow(struct model *m)
{
	unsigned before;

	do {
		before = n_backlog(m);
		update_all(m);
		for (uint32_t ch = 0; ch < CHANNELS; ch++)
			flow(m, ch);
	} while (n_backlog(m) < before);
}

/* Reports all lost messages of the channel as missing. */
void model_miss(struct model *m, uint32_t channel)
{
	for (unsigned i = 0; i < m->n; i++) {
		struct msg *g = &m->msgs[i];

		if (g->channel != channel || !g->lost || g->client < 0)
			continue;
		g->lost = false;
		g->decided = true;
		g->reason = SIM_REASON_MISSING;
		if (m->seen[g->client][channel] < g->sequence)
			m->seen[g->client][channel] = g->sequence;
	}
}

/* Claims of dead clients: swept when nothing else of their publisher is left. */
void model_sweep(struct model *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		bool others = false;

		for (unsigned k = 0; k < m->n; k++)
			others = others || (m->msgs[k].publisher_id == m->msgs[i].publisher_id && !m->msgs[k].lost &&
					    model_unfinished(&m->msgs[k]));
		if (m->msgs[i].client < 0 && !others)
			m->msgs[i].lost = false;
	}
}

static struct msg *note(struct model *m, int client, const struct test_pub *p, uint32_t token)
{
	struct msg *g = &m->msgs[m->n];

	assert_true(m->n < MESSAGES);
	*g = (struct msg){ .publisher_id = p->id,
			   .channel = p->channel,
			   .token = token,
			   .life = m->w->life,
			   .sequence = p->sequence,
			   .client = client,
			   .patient = m->freewheel };
	m->n++;
	m->accepted++;
	return g;
}

void model_publish(struct model *m, int client, const struct test_pub *p, uint32_t token)
{
	note(m, client, p, token);
	if (p->sequence != m->seen[client][p->channel] + 1)
		model_miss(m, p->channel);
	m->seen[client][p->channel] = p->sequence;
	model_flow(m);
}

void model_lost(struct model *m, int client, const struct test_pub *p, uint32_t token)
{
	struct msg *g = note(m, client, p, token);

	g->lost = g->offered = true;
	g->patient = false;
}

/* ---- what ends deliveries ---- */

void model_fail_queued(struct model *m, unsigned bridge, enum sim_reason reason)
{
	for (unsigned i = 0; i < m->n; i++)
		if (m->msgs[i].part[bridge] == PENDING && !find_held(m, bridge, &m->msgs[i]))
			model_settle(&m->msgs[i], bridge, OVER, reason);
}

void model_backlogs_end(struct model *m, enum sim_reason reason)
{
	for (unsigned i = 0; i < m->n; i++)
		if (!m->msgs[i].offered) {
			m->msgs[i].offered = m->msgs[i].decided = true;
			m->msgs[i].reason = reason;
		}
}

void model_away(struct model *m, unsigned bridge)
{
	struct mbridge *b = &m->b[bridge];

	b->connected = false;
	if (b->comes_back && !b->stalled && !b->back_mono_ns && (b->answered || !m->w->bridges[bridge].n_held))
		b->back_mono_ns = exec_now(m->w->x) + b->deadline_dur_ns;
	update(m, bridge);
}

void model_back(struct model *m, unsigned bridge)
{
	struct mbridge *b = &m->b[bridge];

	b->connected = true;
	b->back_mono_ns = 0;
	b->stalled = b->answered = false;
	b->busy_mono_ns = exec_now(m->w->x);
	update(m, bridge);
}

void model_broken(struct model *m, unsigned bridge)
{
	if (m->b[bridge].connected)
		model_away(m, bridge);
	m->b[bridge].broken = true;
	for (unsigned i = 0; i < m->n; i++)
		m->msgs[i].sent_mono_ns[bridge] = exec_now(m->w->x);
	if (m->b[bridge].lossless && !m->b[bridge].waited)
		model_fail_queued(m, bridge, SIM_REASON_BRIDGE_DIED);
	model_flow(m);
}

void model_bridge_dies(struct model *m, unsigned bridge)
{
	if (!m->b[bridge].waited)
		model_fail_queued(m, bridge, SIM_REASON_BRIDGE_DIED);
	for (unsigned i = 0; i < m->n; i++)
		if (model_is_open(&m->msgs[i], bridge) && find_held(m, bridge, &m->msgs[i]))
			model_settle(&m->msgs[i], bridge, OVER, SIM_REASON_BRIDGE_DIED);
}

/* ---- time ---- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t out_until(struct model *m, unsigned bridge, const struct msg *g)
{
	const struct mbridge *b = &m->b[bridge];

	return later(g->sent_mono_ns[bridge], b->broken ? 0 : b->head_mono_ns) + b->deadline_dur_ns;
}

static int64_t silent_until(struct model *m, unsigned bridge)
{
	return later(m->b[bridge].answered_mono_ns, m->b[bridge].busy_mono_ns) + m->b[bridge].deadline_dur_ns;
}

static int64_t part_until(struct model *m, unsigned bridge, const struct msg *g)
{
	if (!m->b[bridge].lossless)
		return g->deadline_mono_ns[bridge];
	return find_held(m, bridge, g) ? out_until(m, bridge, g) : INT64_MAX;
}

/* When something is due for this bridge. */
int64_t model_due(struct model *m, unsigned bridge)
{
	const struct mbridge *b = &m->b[bridge];
	int64_t due = b->back_mono_ns ? b->back_mono_ns : INT64_MAX, at;

	for (unsigned i = 0; i < m->n; i++) {
		if (m->msgs[i].part[bridge] != PENDING)
			continue;
		at = part_until(m, bridge, &m->msgs[i]);
		due = at < due ? at : due;
		if (b->lossless && b->connected && silent_until(m, bridge) < due)
			due = silent_until(m, bridge);
	}
	return due;
}

void model_expire(struct model *m, unsigned bridge)
{
	struct mbridge *b = &m->b[bridge];
	int64_t now = exec_now(m->w->x);
	bool pending = false;

	if (b->back_mono_ns && b->back_mono_ns <= now) {
		b->back_mono_ns = 0;
		model_fail_queued(m, bridge, SIM_REASON_DISCONNECTED);
		update(m, bridge);
	}
	for (unsigned i = 0; i < m->n; i++)
		pending = pending || m->msgs[i].part[bridge] == PENDING;
	if (b->lossless && b->connected && pending && silent_until(m, bridge) <= now) {
		b->stalled = true;
		model_fail_queued(m, bridge, SIM_REASON_BRIDGE_SLOW);
		for (unsigned i = 0; i < m->n; i++)
			if (m->msgs[i].part[bridge] == PENDING)
				model_settle(&m->msgs[i], bridge, LATE, SIM_REASON_DEADLINE);
	}
	for (unsigned i = 0; i < m->n; i++)
		if (m->msgs[i].part[bridge] == PENDING && part_until(m, bridge, &m->msgs[i]) <= now)
			model_settle(&m->msgs[i], bridge, find_held(m, bridge, &m->msgs[i]) ? LATE : OVER,
				     SIM_REASON_DEADLINE);
	model_flow(m);
}

struct msg *model_msg(struct model *m, const struct held *h)
{
	for (unsigned i = m->n; i-- > 0;)
		if (m->msgs[i].publisher_id == h->publisher_id && m->msgs[i].sequence == h->sequence)
			return &m->msgs[i];
	fail_msg("a delivery of a message that nobody published");
	return NULL;
}
