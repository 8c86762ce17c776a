/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operations against a small reference model: clients, bridges, lossless or not, pause, tokens, failures,
 * deadlines, crashes and restarts of the data plane, messages that never arrive, one at a time. After each the model
 * says which completions must have arrived, with which reason, and which messages must still be held; nothing else may
 * have happened.
 *
 * SEED=n repeats a run; RUNS=n makes more of them.
 */
#include "scenario/dispatch/model.h"

#include <errno.h>

#include "log.h"

static struct world w;
static struct model m;

/* Reads what the bridges have just been sent. */
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
			model_msg(&m, &t->held[i])->sent_mono_ns[b] = exec_now(w.x);
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
			g = model_msg(&m, &key);
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
		assert_int_equal(world_credits_claimed(&w, ch), model_in_flight(&m, ch));
	for (uint32_t t = 0; t < TOKENS; t++) {
		tokens += world_token_claimed(&w, t);
		model_tokens += model_token_in_use(&m, t);
	}
	assert_int_equal(tokens, model_tokens);
	for (unsigned i = 0; i < m.n; i++) {
		all += model_unfinished(&m.msgs[i]) && !m.msgs[i].lost;
		slots += model_unfinished(&m.msgs[i]) && !m.msgs[i].lost && m.msgs[i].life == w.life;
	}
	assert_int_equal(dispatch_outstanding(w.d), all);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots + slots);
}

/* A bridge has only messages that were meant for it; and if it has none, none waits for it. */
static void compare_bridges(void)
{
	read_bridges();
	for (unsigned b = 0; b < BRIDGES; b++) {
		struct test_bridge *t = &w.bridges[b];
		unsigned pending = 0, lanes[CHANNELS] = { 0 };

		if (!m.b[b].there || m.b[b].broken)
			continue;
		for (unsigned i = 0; i < t->n_held; i++) {
			struct msg *g = model_msg(&m, &t->held[i]);

			assert_true(model_is_open(g, b));
			if (t->lanes[t->held[i].lane] >= 0)
				lanes[g->channel] |= 1u << t->held[i].lane;
		}
		for (uint32_t ch = 0; ch < CHANNELS; ch++) {
			assert_true(!ordered[ch] || !(lanes[ch] & (lanes[ch] - 1))); /* one at a time */
			pending += model_open_at(&m, ch, b);
		}
		assert_true(t->n_held > 0 || pending == 0 || !m.b[b].connected);
	}
}

/* The number of waited-for bridges, by which producers decide whether to wait. */
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
		if (model_unfinished(&m.msgs[i]) || (m.msgs[i].client >= 0 && !m.msgs[i].reported))
			m.msgs[keep++] = m.msgs[i];
	m.n = keep;
}

static void compare(void)
{
	world_settle(&w);
	model_sweep(&m);
	compare_bridges(); /* reads sent messages before deadlines are judged by it */
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
typedef void (*note_fn)(struct model *to, int client, const struct test_pub *p, uint32_t token);

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
	else if (token != NO_TOKEN && model_token_in_use(&m, token))
		expect = -EBUSY;
	else if (model_in_flight(&m, p->channel) >= windows[p->channel])
		expect = -EAGAIN;
	r = try(t, p, token);
	assert_int_equal(r, expect);
	if (r == 0)
		model(&m, c, p, token);
}

static void do_publish(void)
{
	publish(below(CHANNELS), client_try, model_publish);
}

static void do_lose(void)
{
	publish(below(CHANNELS), client_try_lost, model_lost);
}

/* Messages in the feed are pushed out, and dispatch is notified. */
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
	model_miss(&m, channel);
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
	g = model_msg(&m, &t->held[i]);
	m.b[b].last_answered = t->held[i].delivery;
	m.b[b].answered_mono_ns = exec_now(w.x);
	m.b[b].answered = true;
	m.b[b].stalled = false;
	if (i == 0)
		m.b[b].head_mono_ns = exec_now(w.x);
	model_settle(g, b, OVER, result ? SIM_REASON_FAILED : SIM_REASON_NONE);
	bridge_answer(t, i, result);
	model_flow(&m);
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
		model_back(&m, b);
	} else {
		model_away(&m, b);
		if (!m.b[b].waited)
			model_fail_queued(&m, b, SIM_REASON_DISCONNECTED);
	}
	model_flow(&m);
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
	model_broken(&m, b);
}

/* Its sockets close first, so that later packets arrive in one order. */
static void swap_bridge(unsigned b)
{
	if (m.b[b].there && !m.b[b].broken) {
		bridge_closes(&w.bridges[b]);
		model_broken(&m, b);
		world_settle(&w);
		read_bridges();
	}
	if (m.b[b].there) {
		model_bridge_dies(&m, b);
		bridge_dies(&w.bridges[b]);
		m.b[b].there = false;
	} else {
		bridge_attach(&w, b);
		m.b[b].there = true;
		model_back(&m, b);
	}
	m.b[b].broken = false;
	m.b[b].last_answered = 0;
	model_flow(&m);
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
			if (model_due(&m, b) < due_mono_ns) {
				next = b;
				due_mono_ns = model_due(&m, b);
			}
		if (m.house_mono_ns <= end_mono_ns && m.house_mono_ns <= due_mono_ns) {
			world_run(&w, m.house_mono_ns - exec_now(w.x));
			m.house_mono_ns += 1 * S;
			for (uint32_t ch = 0; ch < CHANNELS; ch++)
				model_miss(&m, ch);
			continue;
		}
		if (due_mono_ns > end_mono_ns)
			break;
		world_run(&w, due_mono_ns > exec_now(w.x) ? due_mono_ns - exec_now(w.x) : 0);
		model_expire(&m, next);
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
	model_flow(&m);
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
			return; /* a client does not delete a publisher that it waits for */
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

/* Otherwise most operations would be refused. */
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
	model_backlogs_end(&m, SIM_REASON_RESTART);
	for (unsigned b = 0; b < BRIDGES; b++)
		model_fail_queued(&m, b, SIM_REASON_RESTART);
	model_flow(&m);
	for (unsigned i = 0; i < m.n; i++) { /* the library answers these */
		m.msgs[i].reported = m.msgs[i].reported || m.msgs[i].lost;
		m.msgs[i].lost = false;
	}
	world_roudi_dies(&w);
	world_roudi_back(&w, CHANNELS);
	for (unsigned c = 0; c < CLIENTS; c++)
		for (uint32_t ch = 0; w.clients[c].id && ch < CHANNELS; ch++) {
			client_prove(&w.clients[c], &w.clients[c].pubs[ch]);
			m.seen[c][w.clients[c].pubs[ch].channel] = w.clients[c].pubs[ch].sequence;
		}
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
	m.w = &w;
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
		model_back(&m, b);
	}
	for (unsigned c = 0; c < CLIENTS; c++)
		join();
	for (unsigned i = 0; i < steps; i++) {
		act();
		compare();
	}
	world_destroy(&w);
}

TEST(dispatch_agrees_with_the_model)
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
