/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random life against a small reference model: clients, bridges, pause, tokens, failures, deadlines, crashes and
 * restarts of the data plane, one at a time. After each the model says which completions must have come, with
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
	int client; /* -1: died */
	int64_t deadline_mono_ns;
	enum part part[BRIDGES];
	enum sim_reason reason;
	bool decided, reported;
};

struct model {
	struct rnd rnd;
	struct msg msgs[MESSAGES];
	unsigned n;
	bool paused, there[BRIDGES], connected[BRIDGES], broken[BRIDGES];
	uint64_t last_answered[BRIDGES];
	unsigned accepted, completed[SIM_REASON_COUNT];
};

static struct world w;
static struct model m;

/* ---- the model ---- */

static bool unfinished(const struct msg *g)
{
	for (unsigned b = 0; b < BRIDGES; b++)
		if (g->part[b] == PENDING || g->part[b] == LATE)
			return true;
	return false;
}

static unsigned in_flight(uint32_t channel)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m.n; i++)
		n += m.msgs[i].channel == channel && unfinished(&m.msgs[i]);
	return n;
}

static unsigned open_at(uint32_t channel, unsigned bridge)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m.n; i++)
		n += m.msgs[i].channel == channel &&
		     (m.msgs[i].part[bridge] == PENDING || m.msgs[i].part[bridge] == LATE);
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
		other = other ||
			(b != bridge && carries[ch][b] && m.connected[b] && open_at(ch, b) <= open_at(ch, bridge) / 2);
	return other && open_at(ch, bridge) >= half && flying + 1 + spare > windows[ch];
}

static void model_publish(int client, const struct test_pub *p, uint32_t token)
{
	struct msg *g = &m.msgs[m.n];
	unsigned flying = in_flight(p->channel);
	bool lag[BRIDGES];

	assert_true(m.n < MESSAGES);
	*g = (struct msg){ .publisher_id = p->id,
			   .channel = p->channel,
			   .token = token,
			   .life = w.life,
			   .sequence = p->sequence,
			   .client = client,
			   .deadline_mono_ns = exec_now(w.x) + 1 * S };
	for (unsigned b = 0; b < BRIDGES; b++)
		lag[b] = lags(p->channel, b, flying);
	for (unsigned b = 0; b < BRIDGES; b++)
		if (carries[p->channel][b])
			g->part[b] = PENDING;
	m.n++;
	m.accepted++;
	for (unsigned b = 0; b < BRIDGES; b++) {
		if (carries[p->channel][b] && !m.connected[b])
			settle_part(g, b, OVER, SIM_REASON_DISCONNECTED);
		else if (carries[p->channel][b] && lag[b])
			settle_part(g, b, OVER, SIM_REASON_BRIDGE_SLOW);
	}
}

static void model_deadlines(void)
{
	for (unsigned i = 0; i < m.n; i++)
		for (unsigned b = 0; b < BRIDGES; b++) {
			struct msg *g = &m.msgs[i];

			if (g->part[b] == PENDING && g->deadline_mono_ns <= exec_now(w.x))
				settle_part(g, b, find_held(b, g) ? LATE : OVER, SIM_REASON_DEADLINE);
		}
}

static void model_fail_queued(unsigned bridge, enum sim_reason reason)
{
	for (unsigned i = 0; i < m.n; i++)
		if (m.msgs[i].part[bridge] == PENDING && !find_held(bridge, &m.msgs[i]))
			settle_part(&m.msgs[i], bridge, OVER, reason);
}

static void model_bridge_dies(unsigned bridge)
{
	for (unsigned i = 0; i < m.n; i++)
		if (m.msgs[i].part[bridge] == PENDING || m.msgs[i].part[bridge] == LATE)
			settle_part(&m.msgs[i], bridge, OVER, SIM_REASON_BRIDGE_DIED);
}

static struct msg *msg_of(const struct held *h)
{
	for (unsigned i = m.n; i-- > 0;)
		if (m.msgs[i].publisher_id == h->publisher_id && m.msgs[i].sequence == h->sequence)
			return &m.msgs[i];
	fail_msg("a delivery of a message that nobody published");
	return NULL;
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
		all += unfinished(&m.msgs[i]);
		slots += unfinished(&m.msgs[i]) && m.msgs[i].life == w.life;
	}
	assert_int_equal(dispatch_outstanding(w.d), all);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots + slots);
}

/* What a bridge has was meant for it; and one that has nothing is waiting for nothing. */
static void compare_bridges(void)
{
	for (unsigned b = 0; b < BRIDGES; b++) {
		struct test_bridge *t = &w.bridges[b];
		unsigned pending = 0, of_ordered[CHANNELS] = { 0 };

		if (!m.there[b] || m.broken[b])
			continue;
		bridge_read(t);
		for (unsigned i = 0; i < t->n_held; i++) {
			struct msg *g = msg_of(&t->held[i]);

			assert_true(g->part[b] == PENDING || g->part[b] == LATE);
			of_ordered[g->channel]++;
		}
		for (uint32_t ch = 0; ch < CHANNELS; ch++) {
			assert_true(!ordered[ch] || of_ordered[ch] <= 1);
			pending += open_at(ch, b);
		}
		assert_true(t->n_held > 0 || pending == 0);
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
	compare_bridges(); /* reads what is out before deadlines are judged by it */
	compare_completions();
	compare_held();
	compact();
}

/* ---- what can happen ---- */

static uint32_t below(uint32_t n)
{
	return rnd_below(&m.rnd, n);
}

static void do_publish(void)
{
	int c = (int)below(CLIENTS), r, expect = 0;
	struct test_client *t = &w.clients[c];
	struct test_pub *p = &t->pubs[below(CHANNELS)];
	uint32_t token = below(3) ? NO_TOKEN : below(TOKENS);

	if (!t->id || !p->id)
		return;
	if (m.paused)
		expect = -ECANCELED;
	else if (token != NO_TOKEN && token_in_use(token))
		expect = -EBUSY;
	else if (in_flight(p->channel) >= windows[p->channel])
		expect = -EAGAIN;
	r = client_try(t, p, token);
	assert_int_equal(r, expect);
	if (r == 0)
		model_publish(c, p, token);
}

static void do_answer(void)
{
	unsigned b = below(BRIDGES), i;
	struct test_bridge *t = &w.bridges[b];
	int result = below(5) ? 0 : -EIO;
	struct msg *g;

	if (!m.there[b] || m.broken[b] || !t->n_held)
		return;
	i = below(t->n_held);
	g = msg_of(&t->held[i]);
	m.last_answered[b] = t->held[i].delivery;
	settle_part(g, b, OVER, result ? SIM_REASON_FAILED : SIM_REASON_NONE);
	bridge_answer(t, i, result);
}

static void do_answer_again(void)
{
	unsigned b = below(BRIDGES);

	if (m.there[b] && !m.broken[b] && m.last_answered[b])
		bridge_send_done(&w.bridges[b], 0, m.last_answered[b], -EIO);
}

static void do_status(void)
{
	unsigned b = below(BRIDGES);

	if (!m.there[b] || m.broken[b])
		return;
	if (m.connected[b])
		model_fail_queued(b, SIM_REASON_DISCONNECTED);
	m.connected[b] = !m.connected[b];
	bridge_status(&w.bridges[b], m.connected[b] ? SIM_BRIDGE_CONNECTED : SIM_BRIDGE_CONNECTING);
}

static void do_break(void)
{
	unsigned b = below(BRIDGES);

	if (!m.there[b] || m.broken[b])
		return;
	bridge_send_raw(&w.bridges[b], 0, "nonsense", 8);
	m.broken[b] = true;
	m.connected[b] = false;
}

static void swap_bridge(unsigned b)
{
	if (m.there[b]) {
		model_bridge_dies(b);
		bridge_dies(&w.bridges[b]);
	} else {
		bridge_attach(&w, b);
	}
	m.there[b] = m.connected[b] = !m.there[b];
	m.broken[b] = false;
	m.last_answered[b] = 0;
}

static void do_bridge(void)
{
	swap_bridge(below(BRIDGES));
}

static void join(void)
{
	struct test_client *t = client_new(&w);

	for (uint32_t ch = 0; ch < CHANNELS; ch++)
		client_advertise(t, ch);
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
	uint32_t ch;

	if (!t->id || !p->id)
		return;
	ch = p->channel;
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
	} else if (!m.there[b] || m.broken[b]) {
		swap_bridge(b);
	} else if (!m.connected[b]) {
		m.connected[b] = true;
		bridge_status(&w.bridges[b], SIM_BRIDGE_CONNECTED);
	} else {
		for (int c = 0; c < CLIENTS; c++)
			if (!w.clients[c].id) {
				join();
				return;
			}
	}
}

static void do_time(void)
{
	world_run(&w, below(400) * MS);
	model_deadlines();
}

static void do_restart(void)
{
	for (unsigned b = 0; b < BRIDGES; b++)
		model_fail_queued(b, SIM_REASON_RESTART);
	world_roudi_dies(&w);
	world_roudi_back(&w, CHANNELS);
}

static const struct {
	void (*fn)(void);
	unsigned weight;
} acts[] = {
	{ do_publish, 40 }, { do_answer, 36 }, { do_answer_again, 2 }, { do_status, 2 },
	{ do_break, 1 },    { do_bridge, 3 },  { do_client, 2 },       { do_publisher, 1 },
	{ do_pause, 2 },    { do_time, 4 },    { do_restart, 1 },      { do_heal, 25 },
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
	for (uint32_t ch = 0; ch < CHANNELS; ch++)
		world_channel(&w, ch, windows[ch], ordered[ch]);
	for (uint32_t b = 0; b < BRIDGES; b++)
		world_bridge(&w, b, 1024);
	for (uint32_t ch = 0; ch < CHANNELS; ch++)
		for (uint32_t b = 0; b < BRIDGES; b++)
			if (carries[ch][b])
				world_route(&w, ch, b);
	for (unsigned b = 0; b < BRIDGES; b++) {
		bridge_attach(&w, b);
		m.there[b] = m.connected[b] = true;
	}
	for (unsigned c = 0; c < CLIENTS; c++)
		join();
	for (unsigned i = 0; i < steps; i++) {
		act();
		compare();
	}
	world_destroy(&w);
}

static void the_model_agrees(void **state)
{
	uint64_t seed = test_seed(20260101), runs = getenv("RUNS") ? strtoull(getenv("RUNS"), NULL, 0) : 12;
	unsigned completed = 0;

	(void)state;
	for (uint64_t i = 0; i < runs; i++) {
		print_message("seed %llu\n", (unsigned long long)(seed + i));
		one_life(seed + i, 1500);
		completed += m.completed[SIM_REASON_NONE];
	}
	assert_true(completed > runs * 50); /* it must not be all refusals */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_model_agrees) };

	log_set_spec("none");
	return cmocka_run_group_tests_name("dispatch: model", tests, NULL, NULL);
}
