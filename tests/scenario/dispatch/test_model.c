/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random life against a small reference model: clients, bridges, lossless or not, pause, tokens, failures, deadlines,
 * crashes and restarts of the data plane, messages that never arrive, one at a time. After each the model says which completions must have come, with
 * which reason, and what must still be held; nothing else may have.
 *
 * SEED=n repeats a run; RUNS=n makes more of them.
 */
#include "scenario/dispatch/world.h"

#include <errno.h>

#include "log.h"
#include "rnd.h"

#define CHANNELS 3
#define BRIDGES  3
#define CLIENTS  3
#define TOKENS   4
#define MESSAGES 2048

static const uint32_t windows[CHANNELS] = { 4, 9, 3 };
static const bool ordered[CHANNELS] = { false, false, true };
static const bool carries[CHANNELS][BRIDGES] = { { true, true, false }, { false, true, false }, { false, true, true } };

enum part { NOT, PENDING, LATE, OVER }; /* of one bridge in one message */

struct msg {
	uint32_t publisher_id, channel, token, life;
	uint64_t sequence;
	int client;            /* -1: died */
	bool offered, patient; /* to the bridges; accepted while the engine ran free */
	enum part part[BRIDGES];
	int64_t deadline_mono_ns[BRIDGES], sent_mono_ns[BRIDGES];
	enum sim_reason reason;
	bool decided, reported;
	bool lost; /* on its way, and not missed yet */
};

struct mbridge {
	enum dispatch_lossless asked;
	bool comes_back, there, connected, broken;
	bool lossless, stalled, waited, answered;
	int64_t deadline_dur_ns, back_mono_ns, busy_mono_ns, answered_mono_ns, head_mono_ns;
	uint64_t last_answered;
};

struct model {
	struct rnd rnd;
	struct msg msgs[MESSAGES];
	unsigned n;
	bool paused, freewheel;
	int64_t house_mono_ns;            /* when dispatch looks for lost ones next */
	uint64_t seen[CLIENTS][CHANNELS]; /* by dispatch, or missed: newest sequence */
	struct mbridge b[BRIDGES];
	unsigned accepted, completed[SIM_REASON_COUNT];
};

static struct world w;
static struct model m;

/* ---- the model ---- */

static bool is_open(const struct msg *g, unsigned b)
{
	return g->part[b] == PENDING || g->part[b] == LATE;
}

static bool unfinished(const struct msg *g)
{
	bool open = !g->offered || g->lost;

	for (unsigned b = 0; b < BRIDGES; b++)
		open = open || is_open(g, b);
	return open;
}

static unsigned in_flight(uint32_t channel)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m.n; i++)
		n += m.msgs[i].channel == channel && unfinished(&m.msgs[i]);
	return n;
}

static unsigned n_offered(uint32_t channel)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m.n; i++)
		n += m.msgs[i].channel == channel && m.msgs[i].offered && !m.msgs[i].lost && unfinished(&m.msgs[i]);
	return n;
}

static unsigned open_at(uint32_t channel, unsigned bridge)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m.n; i++)
		n += m.msgs[i].channel == channel && is_open(&m.msgs[i], bridge);
	return n;
}

static bool token_in_use(uint32_t token)
{
	for (unsigned i = 0; i < m.n; i++)
		if (m.msgs[i].token == token && unfinished(&m.msgs[i]))
			return true;
	return false;
}

static void settle_part(struct msg *g, unsigned bridge, enum part end, enum sim_reason reason)
{
	bool all = true;

	if (reason != SIM_REASON_NONE && !g->decided && g->reason == SIM_REASON_NONE)
		g->reason = reason;
	g->part[bridge] = end;
	for (unsigned b = 0; b < BRIDGES; b++)
		all = all && g->part[b] != PENDING;
	g->decided = g->decided || all;
}

static struct held *find_held(unsigned bridge, const struct msg *g)
{
	struct test_bridge *b = &w.bridges[bridge];

	for (unsigned i = 0; i < b->n_held; i++)
		if (b->held[i].publisher_id == g->publisher_id && b->held[i].sequence == g->sequence)
			return &b->held[i];
	return NULL;
}

/* A bridge that holds a good share of a nearly used up window, while another has caught up, is refused. */
static bool lags(uint32_t ch, unsigned bridge, unsigned flying)
{
	uint32_t spare = windows[ch] / 4 ? windows[ch] / 4 : 1, half = windows[ch] / 2 ? windows[ch] / 2 : 1;
	bool other = false;

	for (unsigned b = 0; b < BRIDGES; b++)
		other = other || (b != bridge && carries[ch][b] && m.b[b].connected &&
				  open_at(ch, b) <= open_at(ch, bridge) / 2);
	return other && !m.b[bridge].waited && open_at(ch, bridge) >= half && flying + 1 + spare > windows[ch];
}

/* ---- who is waited for ---- */

static unsigned n_patient(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m.n; i++)
		n += !m.msgs[i].decided && m.msgs[i].patient;
	return n;
}

static void update(unsigned bridge)
{
	struct mbridge *b = &m.b[bridge];
	bool was = b->lossless;

	b->lossless = b->asked != DISPATCH_LOSSLESS_AUTO ? b->asked == DISPATCH_LOSSLESS_YES
							 : m.freewheel || (was && n_patient());
	b->waited = b->lossless && !b->stalled && (b->connected || b->back_mono_ns);
	for (unsigned i = 0; was && !b->lossless && i < m.n; i++)
		m.msgs[i].deadline_mono_ns[bridge] = exec_now(w.x) + b->deadline_dur_ns;
}

static void update_all(void)
{
	for (unsigned b = 0; b < BRIDGES; b++)
		update(b);
}

static bool blocked(uint32_t ch)
{
	uint32_t share = windows[ch] / 2 ? windows[ch] / 2 : 1;

	for (unsigned b = 0; b < BRIDGES; b++)
		if (carries[ch][b] && m.b[b].waited && (!m.b[b].connected || open_at(ch, b) >= share))
			return true;
	return false;
}

static void offer_to(struct msg *g, unsigned bridge, bool lag)
{
	struct mbridge *b = &m.b[bridge];
	bool busy = false;

	if (!b->connected) {
		settle_part(g, bridge, OVER, SIM_REASON_DISCONNECTED);
	} else if (lag || b->stalled) {
		settle_part(g, bridge, OVER, SIM_REASON_BRIDGE_SLOW);
	} else {
		for (unsigned i = 0; i < m.n; i++)
			busy = busy || (&m.msgs[i] != g && m.msgs[i].part[bridge] == PENDING);
		if (!busy)
			b->busy_mono_ns = exec_now(w.x);
		g->deadline_mono_ns[bridge] = exec_now(w.x) + b->deadline_dur_ns;
	}
}

static void offer(struct msg *g, unsigned flying)
{
	bool lag[BRIDGES];

	for (unsigned b = 0; b < BRIDGES; b++)
		lag[b] = lags(g->channel, b, flying);
	g->offered = true;
	for (unsigned b = 0; b < BRIDGES; b++)
		if (carries[g->channel][b])
			g->part[b] = PENDING;
	for (unsigned b = 0; b < BRIDGES; b++)
		if (carries[g->channel][b])
			offer_to(g, b, lag[b]);
}

/* In order, as far as there is room. What ends at once keeps its credit until all have been asked. */
static void flow(uint32_t ch)
{
	unsigned ended = 0;

	for (unsigned i = 0; i < m.n; i++) {
		struct msg *g = &m.msgs[i];

		if (g->channel != ch || g->offered)
			continue;
		if (blocked(ch))
			return;
		offer(g, n_offered(ch) + ended);
		ended += !unfinished(g);
	}
}

static unsigned n_backlog(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m.n; i++)
		n += !m.msgs[i].offered;
	return n;
}

/* Round by round: what one channel lets go of may be what others have waited for. */
static void flow_all(void)
{
	unsigned before;

	do {
		before = n_backlog();
		update_all();
		for (uint32_t ch = 0; ch < CHANNELS; ch++)
			flow(ch);
	} while (n_backlog() < before);
}

/* All that were lost on the channel are missed. */
static void miss(uint32_t channel)
{
	for (unsigned i = 0; i < m.n; i++) {
		struct msg *g = &m.msgs[i];

		if (g->channel != channel || !g->lost || g->client < 0)
			continue;
		g->lost = false;
		g->decided = true;
		g->reason = SIM_REASON_MISSING;
		if (m.seen[g->client][channel] < g->sequence)
			m.seen[g->client][channel] = g->sequence;
	}
}

/* Of those who died: swept when nothing else of their publisher is there. */
static void sweep(void)
{
	for (unsigned i = 0; i < m.n; i++) {
		bool others = false;

		for (unsigned k = 0; k < m.n; k++)
			others = others || (m.msgs[k].publisher_id == m.msgs[i].publisher_id && !m.msgs[k].lost &&
					    unfinished(&m.msgs[k]));
		if (m.msgs[i].client < 0 && !others)
			m.msgs[i].lost = false;
	}
}

static struct msg *note(int client, const struct test_pub *p, uint32_t token)
{
	struct msg *g = &m.msgs[m.n];

	assert_true(m.n < MESSAGES);
	*g = (struct msg){ .publisher_id = p->id,
			   .channel = p->channel,
			   .token = token,
			   .life = w.life,
			   .sequence = p->sequence,
			   .client = client,
			   .patient = m.freewheel };
	m.n++;
	m.accepted++;
	return g;
}

static void model_publish(int client, const struct test_pub *p, uint32_t token)
{
	note(client, p, token);
	if (p->sequence != m.seen[client][p->channel] + 1)
		miss(p->channel);
	m.seen[client][p->channel] = p->sequence;
	flow_all();
}

static void model_lost(int client, const struct test_pub *p, uint32_t token)
{
	struct msg *g = note(client, p, token);

	g->lost = g->offered = true;
	g->patient = false;
}

/* ---- what ends deliveries ---- */

static void model_fail_queued(unsigned bridge, enum sim_reason reason)
{
	for (unsigned i = 0; i < m.n; i++)
		if (m.msgs[i].part[bridge] == PENDING && !find_held(bridge, &m.msgs[i]))
			settle_part(&m.msgs[i], bridge, OVER, reason);
}

static void model_backlogs_end(enum sim_reason reason)
{
	for (unsigned i = 0; i < m.n; i++)
		if (!m.msgs[i].offered) {
			m.msgs[i].offered = m.msgs[i].decided = true;
			m.msgs[i].reason = reason;
		}
}

static void model_away(unsigned bridge)
{
	struct mbridge *b = &m.b[bridge];

	b->connected = false;
	if (b->comes_back && !b->stalled && !b->back_mono_ns && (b->answered || !w.bridges[bridge].n_held))
		b->back_mono_ns = exec_now(w.x) + b->deadline_dur_ns;
	update(bridge);
}

static void model_back(unsigned bridge)
{
	struct mbridge *b = &m.b[bridge];

	b->connected = true;
	b->back_mono_ns = 0;
	b->stalled = b->answered = false;
	b->busy_mono_ns = exec_now(w.x);
	update(bridge);
}

static void model_broken(unsigned bridge)
{
	if (m.b[bridge].connected)
		model_away(bridge);
	m.b[bridge].broken = true;
	for (unsigned i = 0; i < m.n; i++)
		m.msgs[i].sent_mono_ns[bridge] = exec_now(w.x);
	if (m.b[bridge].lossless && !m.b[bridge].waited)
		model_fail_queued(bridge, SIM_REASON_BRIDGE_DIED);
	flow_all();
}

static void model_bridge_dies(unsigned bridge)
{
	if (!m.b[bridge].waited)
		model_fail_queued(bridge, SIM_REASON_BRIDGE_DIED);
	for (unsigned i = 0; i < m.n; i++)
		if (is_open(&m.msgs[i], bridge) && find_held(bridge, &m.msgs[i]))
			settle_part(&m.msgs[i], bridge, OVER, SIM_REASON_BRIDGE_DIED);
}

/* ---- time ---- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t out_until(unsigned bridge, const struct msg *g)
{
	const struct mbridge *b = &m.b[bridge];

	return later(g->sent_mono_ns[bridge], b->broken ? 0 : b->head_mono_ns) + b->deadline_dur_ns;
}

static int64_t silent_until(unsigned bridge)
{
	return later(m.b[bridge].answered_mono_ns, m.b[bridge].busy_mono_ns) + m.b[bridge].deadline_dur_ns;
}

static int64_t part_until(unsigned bridge, const struct msg *g)
{
	if (!m.b[bridge].lossless)
		return g->deadline_mono_ns[bridge];
	return find_held(bridge, g) ? out_until(bridge, g) : INT64_MAX;
}

/* When something is due of this bridge. */
static int64_t bridge_due(unsigned bridge)
{
	const struct mbridge *b = &m.b[bridge];
	int64_t due = b->back_mono_ns ? b->back_mono_ns : INT64_MAX, at;

	for (unsigned i = 0; i < m.n; i++) {
		if (m.msgs[i].part[bridge] != PENDING)
			continue;
		at = part_until(bridge, &m.msgs[i]);
		due = at < due ? at : due;
		if (b->lossless && b->connected && silent_until(bridge) < due)
			due = silent_until(bridge);
	}
	return due;
}

static void model_expire(unsigned bridge)
{
	struct mbridge *b = &m.b[bridge];
	int64_t now = exec_now(w.x);
	bool pending = false;

	if (b->back_mono_ns && b->back_mono_ns <= now) {
		b->back_mono_ns = 0;
		model_fail_queued(bridge, SIM_REASON_DISCONNECTED);
		update(bridge);
	}
	for (unsigned i = 0; i < m.n; i++)
		pending = pending || m.msgs[i].part[bridge] == PENDING;
	if (b->lossless && b->connected && pending && silent_until(bridge) <= now) {
		b->stalled = true;
		model_fail_queued(bridge, SIM_REASON_BRIDGE_SLOW);
		for (unsigned i = 0; i < m.n; i++)
			if (m.msgs[i].part[bridge] == PENDING)
				settle_part(&m.msgs[i], bridge, LATE, SIM_REASON_DEADLINE);
	}
	for (unsigned i = 0; i < m.n; i++)
		if (m.msgs[i].part[bridge] == PENDING && part_until(bridge, &m.msgs[i]) <= now)
			settle_part(&m.msgs[i], bridge, find_held(bridge, &m.msgs[i]) ? LATE : OVER,
				    SIM_REASON_DEADLINE);
	flow_all();
}

static struct msg *msg_of(const struct held *h)
{
	for (unsigned i = m.n; i-- > 0;)
		if (m.msgs[i].publisher_id == h->publisher_id && m.msgs[i].sequence == h->sequence)
			return &m.msgs[i];
	fail_msg("a delivery of a message that nobody published");
	return NULL;
}

/* What bridges have been sent just now. */
static void read_bridges(void)
{
	for (unsigned b = 0; b < BRIDGES; b++) {
		struct test_bridge *t = &w.bridges[b];
		unsigned before = t->n_held;

		if (!m.b[b].there || m.b[b].broken)
			continue;
		bridge_read(t);
		if (!before && t->n_held)
			m.b[b].head_mono_ns = exec_now(w.x);
		for (unsigned i = before; i < t->n_held; i++)
			msg_of(&t->held[i])->sent_mono_ns[b] = exec_now(w.x);
	}
}

/* ---- the comparison ---- */

static void compare_completions(void)
{
	for (int c = 0; c < CLIENTS; c++) {
		struct test_client *t = &w.clients[c];

		if (!t->id)
			continue;
		client_read(t);
		for (unsigned i = 0; i < t->n_done; i++) {
			struct held key = { .publisher_id = t->done[i].publisher_id, .sequence = t->done[i].sequence };
			struct msg *g;

			if (!key.sequence)
				continue; /* a probe's */
			g = msg_of(&key);
			assert_int_equal(g->client, c);
			assert_true(g->decided);
			assert_false(g->reported);
			assert_int_equal(t->done[i].reason, g->reason);
			g->reported = true;
			m.completed[g->reason]++;
		}
		t->n_done = 0;
	}
	for (unsigned i = 0; i < m.n; i++)
		assert_false(m.msgs[i].decided && !m.msgs[i].reported && m.msgs[i].client >= 0);
}

static void compare_held(void)
{
	unsigned tokens = 0, model_tokens = 0, slots = 0, all = 0;

	for (uint32_t ch = 0; ch < CHANNELS; ch++)
		assert_int_equal(world_credits_claimed(&w, ch), in_flight(ch));
	for (uint32_t t = 0; t < TOKENS; t++) {
		tokens += world_token_claimed(&w, t);
		model_tokens += token_in_use(t);
	}
	assert_int_equal(tokens, model_tokens);
	for (unsigned i = 0; i < m.n; i++) {
		all += unfinished(&m.msgs[i]) && !m.msgs[i].lost;
		slots += unfinished(&m.msgs[i]) && !m.msgs[i].lost && m.msgs[i].life == w.life;
	}
	assert_int_equal(dispatch_outstanding(w.d), all);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots + slots);
}

/* What a bridge has was meant for it; and one that has nothing is waiting for nothing. */
static void compare_bridges(void)
{
	read_bridges();
	for (unsigned b = 0; b < BRIDGES; b++) {
		struct test_bridge *t = &w.bridges[b];
		unsigned pending = 0, of_ordered[CHANNELS] = { 0 };

		if (!m.b[b].there || m.b[b].broken)
			continue;
		for (unsigned i = 0; i < t->n_held; i++) {
			struct msg *g = msg_of(&t->held[i]);

			assert_true(is_open(g, b));
			of_ordered[g->channel]++;
		}
		for (uint32_t ch = 0; ch < CHANNELS; ch++) {
			assert_true(!ordered[ch] || of_ordered[ch] <= 1);
			pending += open_at(ch, b);
		}
		assert_true(t->n_held > 0 || pending == 0 || !m.b[b].connected);
	}
}

/* The word that producers go by. */
static void compare_words(void)
{
	for (uint32_t ch = 0; ch < CHANNELS; ch++) {
		unsigned n = 0;

		for (unsigned b = 0; b < BRIDGES; b++)
			n += carries[ch][b] && m.b[b].waited;
		assert_int_equal(atomic_load(&w.layout->info[ch].waited), n);
	}
}

static void compact(void)
{
	unsigned keep = 0;

	for (unsigned i = 0; i < m.n; i++)
		if (unfinished(&m.msgs[i]) || (m.msgs[i].client >= 0 && !m.msgs[i].reported))
			m.msgs[keep++] = m.msgs[i];
	m.n = keep;
}

static void compare(void)
{
	world_settle(&w);
	sweep();
	compare_bridges(); /* reads what is out before deadlines are judged by it */
	compare_completions();
	compare_held();
	compare_words();
	compact();
}

/* ---- what can happen ---- */

static uint32_t below(uint32_t n)
{
	return rnd_below(&m.rnd, n);
}

typedef int (*try_fn)(struct test_client *c, struct test_pub *p, uint32_t token);
typedef void (*note_fn)(int client, const struct test_pub *p, uint32_t token);

static void publish(uint32_t channel, try_fn try, note_fn model)
{
	int c = (int)below(CLIENTS), r, expect = 0;
	struct test_client *t = &w.clients[c];
	struct test_pub *p = &t->pubs[channel];
	uint32_t token = below(3) ? NO_TOKEN : below(TOKENS);

	if (!t->id || !p->id)
		return;
	if (m.paused)
		expect = -ECANCELED;
	else if (token != NO_TOKEN && token_in_use(token))
		expect = -EBUSY;
	else if (in_flight(p->channel) >= windows[p->channel])
		expect = -EAGAIN;
	r = try(t, p, token);
	assert_int_equal(r, expect);
	if (r == 0)
		model(c, p, token);
}

static void do_publish(void)
{
	publish(below(CHANNELS), client_try, model_publish);
}

static void do_lose(void)
{
	publish(below(CHANNELS), client_try_lost, model_lost);
}

/* What lies in the feed is pushed out, which dispatch is told. */
static void do_flood(void)
{
	struct test_client *t = &w.clients[below(CLIENTS)];
	uint32_t channel = below(CHANNELS);

	if (!t->id)
		return;
	for (unsigned n = below(4); n; n--)
		publish(channel, client_try, model_lost);
	world_flood(&w, channel);
	client_mark(t, channel);
	client_ring(t); /* a foreign one rings no bell */
	miss(channel);
}

static void do_answer(void)
{
	unsigned b = below(BRIDGES), i;
	struct test_bridge *t = &w.bridges[b];
	int result = below(5) ? 0 : -EIO;
	struct msg *g;

	if (!m.b[b].there || m.b[b].broken || !t->n_held)
		return;
	i = below(2) ? 0 : below(t->n_held);
	g = msg_of(&t->held[i]);
	m.b[b].last_answered = t->held[i].delivery;
	m.b[b].answered_mono_ns = exec_now(w.x);
	m.b[b].answered = true;
	m.b[b].stalled = false;
	if (i == 0)
		m.b[b].head_mono_ns = exec_now(w.x);
	settle_part(g, b, OVER, result ? SIM_REASON_FAILED : SIM_REASON_NONE);
	bridge_answer(t, i, result);
	flow_all();
}

static void do_answer_again(void)
{
	unsigned b = below(BRIDGES);

	if (m.b[b].there && !m.b[b].broken && m.b[b].last_answered)
		bridge_send_done(&w.bridges[b], 0, m.b[b].last_answered, -EIO);
}

static void set_connected(unsigned b, bool on)
{
	bridge_status(&w.bridges[b], on ? SIM_BRIDGE_CONNECTED : SIM_BRIDGE_CONNECTING);
	if (on) {
		model_back(b);
	} else {
		model_away(b);
		if (!m.b[b].waited)
			model_fail_queued(b, SIM_REASON_DISCONNECTED);
	}
	flow_all();
}

static void do_status(void)
{
	unsigned b = below(BRIDGES);

	if (m.b[b].there && !m.b[b].broken)
		set_connected(b, !m.b[b].connected);
}

static void do_break(void)
{
	unsigned b = below(BRIDGES);

	if (!m.b[b].there || m.b[b].broken)
		return;
	bridge_send_raw(&w.bridges[b], 0, "nonsense", 8);
	model_broken(b);
}

/* Its sockets close first, so that what follows comes in one order. */
static void swap_bridge(unsigned b)
{
	if (m.b[b].there && !m.b[b].broken) {
		bridge_closes(&w.bridges[b]);
		model_broken(b);
		world_settle(&w);
		read_bridges();
	}
	if (m.b[b].there) {
		model_bridge_dies(b);
		bridge_dies(&w.bridges[b]);
		m.b[b].there = false;
	} else {
		bridge_attach(&w, b);
		m.b[b].there = true;
		model_back(b);
	}
	m.b[b].broken = false;
	m.b[b].last_answered = 0;
	flow_all();
}

static void do_bridge(void)
{
	swap_bridge(below(BRIDGES));
}

/* From one thing that is due to the next. */
static void run_until(int64_t end_mono_ns)
{
	for (;;) {
		int64_t due_mono_ns = INT64_MAX;
		unsigned next = 0;

		for (unsigned b = 0; b < BRIDGES; b++)
			if (bridge_due(b) < due_mono_ns) {
				next = b;
				due_mono_ns = bridge_due(b);
			}
		if (m.house_mono_ns <= end_mono_ns && m.house_mono_ns <= due_mono_ns) {
			world_run(&w, m.house_mono_ns - exec_now(w.x));
			m.house_mono_ns += 1 * S;
			for (uint32_t ch = 0; ch < CHANNELS; ch++)
				miss(ch);
			continue;
		}
		if (due_mono_ns > end_mono_ns)
			break;
		world_run(&w, due_mono_ns > exec_now(w.x) ? due_mono_ns - exec_now(w.x) : 0);
		model_expire(next);
		read_bridges();
	}
	world_run(&w, end_mono_ns - exec_now(w.x));
}

static void do_time(void)
{
	run_until(exec_now(w.x) + below(below(8) ? 400 : 2000) * MS);
}

static void do_freewheel(void)
{
	m.freewheel = !m.freewheel;
	assert_int_equal(dispatch_freewheel(w.d, m.freewheel), 0);
	flow_all();
	run_until(exec_now(w.x)); /* by the other rules something may be due already */
}

static void join(void)
{
	struct test_client *t = client_new(&w);

	for (uint32_t ch = 0; ch < CHANNELS; ch++) {
		client_advertise(t, ch);
		m.seen[t - w.clients][ch] = 0;
	}
}

static void do_client(void)
{
	int c = (int)below(CLIENTS);

	if (!w.clients[c].id) {
		join();
		return;
	}
	client_dies(&w.clients[c]);
	for (unsigned i = 0; i < m.n; i++)
		if (m.msgs[i].client == c)
			m.msgs[i].client = -1;
}

/* The deleted publisher's messages still complete; its client keeps them apart by its number. */
static void do_publisher(void)
{
	struct test_client *t = &w.clients[below(CLIENTS)];
	struct test_pub *p = &t->pubs[below(CHANNELS)];
	uint32_t ch = p->channel;

	if (!t->id || !p->id)
		return;
	for (unsigned i = 0; i < m.n; i++)
		if (m.msgs[i].lost && m.msgs[i].publisher_id == p->id)
			return; /* a client deletes none that it waits for */
	m.seen[t - w.clients][ch] = 0;
	client_unadvertise(t, p);
	world_settle(&w);
	assert_ptr_equal(client_advertise(t, ch), p);
}

static void do_pause(void)
{
	m.paused = !m.paused;
	world_pause(&w, m.paused);
}

/* Else most of a life would be refusals. */
static void do_heal(void)
{
	unsigned b = below(BRIDGES);

	if (m.paused) {
		do_pause();
	} else if (!m.b[b].there || m.b[b].broken) {
		swap_bridge(b);
	} else if (!m.b[b].connected) {
		set_connected(b, true);
	} else {
		for (int c = 0; c < CLIENTS; c++)
			if (!w.clients[c].id) {
				join();
				return;
			}
	}
}

static void do_restart(void)
{
	model_backlogs_end(SIM_REASON_RESTART);
	for (unsigned b = 0; b < BRIDGES; b++)
		model_fail_queued(b, SIM_REASON_RESTART);
	flow_all();
	for (unsigned i = 0; i < m.n; i++) { /* the library answers these */
		m.msgs[i].reported = m.msgs[i].reported || m.msgs[i].lost;
		m.msgs[i].lost = false;
	}
	world_roudi_dies(&w);
	world_roudi_back(&w, CHANNELS);
	for (unsigned c = 0; c < CLIENTS; c++)
		for (uint32_t ch = 0; w.clients[c].id && ch < CHANNELS; ch++)
			client_prove(&w.clients[c], &w.clients[c].pubs[ch]);
}

static const struct {
	void (*fn)(void);
	unsigned weight;
} acts[] = {
	{ do_publish, 40 }, { do_answer, 36 }, { do_answer_again, 2 }, { do_status, 2 }, { do_break, 1 },
	{ do_bridge, 3 },   { do_client, 2 },  { do_publisher, 1 },    { do_pause, 2 },  { do_time, 4 },
	{ do_restart, 1 },  { do_heal, 25 },   { do_freewheel, 2 },    { do_lose, 2 },   { do_flood, 1 },
};

static void act(void)
{
	unsigned total = 0, pick;

	for (unsigned i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		total += acts[i].weight;
	pick = below(total);
	for (unsigned i = 0;; i++) {
		if (pick < acts[i].weight) {
			acts[i].fn();
			return;
		}
		pick -= acts[i].weight;
	}
}

static void one_life(uint64_t seed, unsigned steps)
{
	memset(&m, 0, sizeof(m));
	rnd_seed(&m.rnd, seed);
	world_create(&w, seed, 0);
	m.house_mono_ns = exec_now(w.x) + 1 * S;
	for (uint32_t ch = 0; ch < CHANNELS; ch++)
		world_channel(&w, ch, windows[ch], ordered[ch]);
	for (uint32_t b = 0; b < BRIDGES; b++) {
		m.b[b].asked = (enum dispatch_lossless)below(3);
		m.b[b].comes_back = below(2);
		m.b[b].deadline_dur_ns = WORLD_DEADLINE(b);
		world_bridge_lossless(&w, b, 1024, m.b[b].asked, m.b[b].comes_back);
	}
	for (uint32_t ch = 0; ch < CHANNELS; ch++)
		for (uint32_t b = 0; b < BRIDGES; b++)
			if (carries[ch][b])
				world_route(&w, ch, b);
	for (unsigned b = 0; b < BRIDGES; b++) {
		bridge_attach(&w, b);
		m.b[b].there = true;
		model_back(b);
	}
	for (unsigned c = 0; c < CLIENTS; c++)
		join();
	for (unsigned i = 0; i < steps; i++) {
		act();
		compare();
	}
	world_destroy(&w);
}

TEST(the_model_agrees)
{
	uint64_t seed = test_seed(20260101), runs = getenv("RUNS") ? strtoull(getenv("RUNS"), NULL, 0) : 12;
	unsigned completed = 0, missing = 0;

	for (uint64_t i = 0; i < runs; i++) {
		print_message("seed %llu\n", (unsigned long long)(seed + i));
		one_life(seed + i, 1500);
		completed += m.completed[SIM_REASON_NONE];
		missing += m.completed[SIM_REASON_MISSING];
	}
	assert_true(completed > runs * 30); /* it must not be all refusals */
	assert_true(missing > runs * 5);
}

static int prepare(void **state)
{
	(void)state;
	log_set_spec("none");
	return 0;
}

TEST_GROUP(prepare, NULL)
