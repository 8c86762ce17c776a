/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusion.h against a model: random arrivals, fetches and clears. The model keeps all messages and derives the tuple to
 * fetch from the definitions, by number and without rings. Then two threads that put beside one that fetches. Thread:
 * the test's.
 */
#include "counted.h"

#include "err.h"
#include "rnd.h"
#include "thread.h"

#include "libclient/component/fusion.h"

#define STEPS 300u
#define RUNS  1000u

struct arrival {
	unsigned id;
	int64_t stamp_sim_ns;
};

struct model {
	struct fusion_options o;
	unsigned steps; /* what came from each input since it was cleared */
	struct arrival in[TUPLE_MAX][STEPS];
	unsigned n_in[TUPLE_MAX];
	/* waiting messages of input 0, and their partners */
	struct model_waiting {
		struct arrival a;
		unsigned with[TUPLE_MAX];
	} waiting[STEPS];
	unsigned n_waiting;
	/* all tuples since it was cleared; next: the one to be fetched */
	unsigned tuples[STEPS][TUPLE_MAX];
	unsigned n_tuples, next;
	struct fusion_stats stats;
};

static uint64_t seed;
static unsigned step;
static struct rnd rnd;

#define CHECK(cond) \
	do { \
		if (!(cond)) \
			fail_msg("SEED=%llu: step %u: %s", (unsigned long long)seed, step, #cond); \
	} while (0)

/* ---- the model ---- */

static unsigned model_ring(const struct model *m)
{
	bool waits = m->o.kind != SIM_FUSION_ALL_LATEST && m->o.n > 1;

	return waits && m->o.depth[0] > m->o.pending ? m->o.depth[0] : m->o.pending;
}

static void model_tuple(struct model *m, unsigned id, const unsigned *with)
{
	unsigned *t = m->tuples[m->n_tuples++];

	t[0] = id;
	for (unsigned i = 1; i < TUPLE_MAX; i++)
		t[i] = i < m->o.n ? with[i] : 0;
}

static unsigned off(int64_t a, int64_t b)
{
	return (unsigned)llabs(a - b);
}

/* Of the last depth[i] the nearest; *ret_known: one of them is not before it. */
static const struct arrival *model_nearest(const struct model *m, unsigned i, int64_t stamp_sim_ns, bool *ret_known)
{
	unsigned n = m->n_in[i], from = n > m->o.depth[i] ? n - m->o.depth[i] : 0;
	const struct arrival *best = NULL;

	*ret_known = false;
	for (unsigned k = n; k-- > from;) {
		const struct arrival *a = &m->in[i][k];

		if (a->stamp_sim_ns >= stamp_sim_ns)
			*ret_known = true;
		if (!best || off(a->stamp_sim_ns, stamp_sim_ns) < off(best->stamp_sim_ns, stamp_sim_ns))
			best = a;
		else if (off(a->stamp_sim_ns, stamp_sim_ns) == off(best->stamp_sim_ns, stamp_sim_ns) &&
			 a->stamp_sim_ns <= best->stamp_sim_ns)
			best = a;
	}
	return best;
}

static void model_remove(struct model *m, unsigned k)
{
	memmove(&m->waiting[k], &m->waiting[k + 1], (--m->n_waiting - k) * sizeof(m->waiting[0]));
}

/* True: it stays. Every input is asked again each time: a partner found before stays found. */
static bool model_match(struct model *m, struct model_waiting *w)
{
	bool all = true, far = false;

	for (unsigned i = 1; i < m->o.n; i++) {
		const struct arrival *a = NULL;
		bool known = true;

		if (w->with[i])
			continue;
		if (m->o.kind == SIM_FUSION_HOLD)
			known = m->n_in[i] > 0;
		else
			a = model_nearest(m, i, w->a.stamp_sim_ns, &known);
		if (known && a && off(a->stamp_sim_ns, w->a.stamp_sim_ns) > m->o.tolerance_dur_ns) {
			m->stats.unmatched[i]++;
			far = true;
		} else if (known && a) {
			w->with[i] = a->id;
		}
		all = all && known;
	}
	if (far || !all)
		return !far;
	for (unsigned i = 1; i < m->o.n && m->o.kind == SIM_FUSION_HOLD; i++)
		w->with[i] = m->in[i][m->n_in[i] - 1].id;
	model_tuple(m, w->a.id, w->with);
	return false;
}

static void model_waits(struct model *m, struct arrival a)
{
	struct model_waiting *w = &m->waiting[m->n_waiting++];

	*w = (struct model_waiting){ .a = a };
	if (!model_match(m, w)) {
		m->n_waiting--;
	} else if (m->n_waiting > m->o.depth[0]) {
		for (unsigned i = 1; i < m->o.n; i++)
			if (m->o.kind == SIM_FUSION_HOLD ? !m->n_in[i] : !m->waiting[0].with[i])
				m->stats.unmatched[i]++;
		model_remove(m, 0);
	}
}

static void model_latest(struct model *m, struct arrival a)
{
	unsigned with[TUPLE_MAX] = { 0 };
	bool all = true;

	for (unsigned i = 1; i < m->o.n; i++) {
		if (m->n_in[i])
			with[i] = m->in[i][m->n_in[i] - 1].id;
		else
			m->stats.unmatched[i]++;
		all = all && with[i];
	}
	if (all)
		model_tuple(m, a.id, with);
}

static bool model_put(struct model *m, unsigned input, struct arrival a)
{
	unsigned before = m->n_tuples;

	if (input) {
		m->in[input][m->n_in[input]++] = a;
		for (unsigned k = 0; k < m->n_waiting;)
			if (model_match(m, &m->waiting[k]))
				k++;
			else
				model_remove(m, k);
	} else if (m->o.kind == SIM_FUSION_ALL_LATEST) {
		model_latest(m, a);
	} else {
		model_waits(m, a);
	}
	return m->n_tuples > before;
}

/* The number before which all has been overwritten. */
static unsigned model_head(const struct model *m)
{
	return m->n_tuples > model_ring(m) ? m->n_tuples - model_ring(m) : 0;
}

static const unsigned *model_fetch(struct model *m)
{
	if (m->next == m->n_tuples)
		return NULL;
	if (m->next < model_head(m)) {
		m->stats.overrun += m->n_tuples - 1 - m->next;
		m->next = m->n_tuples - 1;
	}
	m->stats.fetched++;
	return m->tuples[m->next++];
}

static void model_clear(struct model *m)
{
	if (m->next < model_head(m)) /* those were lost before */
		m->stats.overrun += model_head(m) - m->next;
	*m = (struct model){ .o = m->o, .stats = m->stats };
}

/* ---- both ---- */

static void fetch_both(struct fusion *f, struct model *m)
{
	const unsigned *want = model_fetch(m);
	struct fusion_stats s;
	struct tuple t;
	bool got = fusion_fetch(f, &t);

	CHECK(got == (want != NULL));
	if (!got)
		return;
	for (unsigned i = 0; i < TUPLE_MAX; i++)
		CHECK(counted_id(t.m[i]) == want[i]);
	tuple_unref(&t);
	fusion_stats(f, &s);
	CHECK(s.fetched == m->stats.fetched);
	CHECK(s.overrun == m->stats.overrun);
	for (unsigned i = 0; i < TUPLE_MAX; i++)
		CHECK(s.unmatched[i] == m->stats.unmatched[i]);
}

static void put_both(struct fusion *f, struct model *m, unsigned input, struct arrival a)
{
	struct msg *msg = counted_new(a.id, a.stamp_sim_ns);
	bool want = model_put(m, input, a), got = fusion_put(f, input, msg);

	msg_unref(msg);
	CHECK(got == want);
}

/* Time goes on, for all; some publishers are behind, some ahead. */
static int64_t some_stamp(int64_t *now_sim_ns)
{
	*now_sim_ns += rnd_below(&rnd, 4);
	if (rnd_below(&rnd, 8) == 0)
		return *now_sim_ns + rnd_below(&rnd, 30) - 15;
	return *now_sim_ns;
}

static struct fusion_options some_options(enum sim_fusion kind, uint32_t n)
{
	struct fusion_options o = {
		.kind = kind, .n = n, .pending = 1 + rnd_below(&rnd, 5), .tolerance_dur_ns = 1 + rnd_below(&rnd, 12)
	};

	for (uint32_t i = 0; i < n; i++)
		o.depth[i] = 1 + rnd_below(&rnd, 6);
	return o;
}

static void run(enum sim_fusion kind, uint32_t n)
{
	static struct model m;
	uint32_t driver = 1 + rnd_below(&rnd, 4), fetches = 1 + rnd_below(&rnd, 4);
	int64_t now_sim_ns = 100;
	struct fusion *f;

	m = (struct model){ .o = some_options(kind, n) };
	assert_ok(fusion_create(&m.o, &f));
	for (step = 0; step < STEPS; step++) {
		unsigned what = rnd_below(&rnd, driver + fetches + 4);

		if (rnd_below(&rnd, 100) == 0) {
			fusion_clear(f);
			model_clear(&m);
		} else if (what < fetches) {
			fetch_both(f, &m);
		} else if (what < fetches + driver || n == 1) {
			put_both(f, &m, 0, (struct arrival){ step + 1, some_stamp(&now_sim_ns) });
		} else {
			put_both(f, &m, 1 + rnd_below(&rnd, n - 1),
				 (struct arrival){ step + 1, some_stamp(&now_sim_ns) });
		}
	}
	while (m.next < m.n_tuples)
		fetch_both(f, &m);
	fetch_both(f, &m);
	fusion_destroy(f);
	CHECK(atomic_load(&counted_live) == 0);
}

static void run_all(enum sim_fusion kind)
{
	uint64_t first = test_seed(1), runs = getenv("SEED") ? 1 : RUNS;

	for (seed = first; seed < first + runs; seed++)
		for (uint32_t n = 1; n <= TUPLE_MAX; n++) {
			rnd_seed(&rnd, seed * TUPLE_MAX + n);
			run(kind, n);
		}
}

TEST(all_latest_agrees_with_the_model)
{
	run_all(SIM_FUSION_ALL_LATEST);
}
TEST(hold_agrees_with_the_model)
{
	run_all(SIM_FUSION_HOLD);
}
TEST(by_time_agrees_with_the_model)
{
	run_all(SIM_FUSION_BY_TIME);
}

/* ---- threads ---- */

#define EACH 20000u

struct side {
	struct fusion *f;
	unsigned first, step; /* inputs */
	_Atomic unsigned *left;
};

static void *put_all(void *arg)
{
	struct side *s = arg;

	for (unsigned i = 1; i <= EACH; i++)
		for (unsigned input = s->first; input < TUPLE_MAX; input += s->step) {
			struct msg *m = counted_new(i, i);

			fusion_put(s->f, input, m);
			msg_unref(m);
		}
	atomic_fetch_sub(s->left, 1);
	return NULL;
}

/* Input 0 in order, each tuple whole, nothing lost of the count. */
static void fetch_all(struct fusion *f, enum sim_fusion kind, _Atomic unsigned *left)
{
	unsigned last = 0;
	struct tuple t;
	bool more;

	do {
		more = atomic_load(left) > 0; /* before the fetch: none is put after it */
		while (fusion_fetch(f, &t)) {
			assert_true(counted_id(t.m[0]) > last);
			last = counted_id(t.m[0]);
			for (unsigned i = 1; i < TUPLE_MAX; i++) {
				assert_non_null(t.m[i]);
				if (kind == SIM_FUSION_BY_TIME)
					assert_true(off(counted_id(t.m[i]), last) <= 5);
			}
			tuple_unref(&t);
		}
	} while (more);
}

static void thread_run(enum sim_fusion kind)
{
	struct fusion_options o = { .kind = kind, .n = 4, .pending = 3, .depth = { 8, 8, 8, 8 }, .tolerance_dur_ns = 5 };
	_Atomic unsigned left = 2;
	struct fusion_stats s;
	struct side side[2];
	struct fusion *f;
	pthread_t t[2];

	assert_ok(fusion_create(&o, &f));
	for (unsigned i = 0; i < 2; i++) {
		side[i] = (struct side){ f, i, 2, &left };
		assert_int_equal(thread_start(&t[i], "put", put_all, &side[i]), 0);
	}
	fetch_all(f, kind, &left);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	fusion_stats(f, &s);
	assert_true(s.fetched + s.overrun + s.unmatched[1] + s.unmatched[2] + s.unmatched[3] >= EACH - o.depth[0]);
	assert_true(s.fetched + s.overrun <= EACH);
	fusion_destroy(f);
	assert_int_equal(atomic_load(&counted_live), 0);
}

TEST(threads_put_while_one_fetches)
{
	for (unsigned kind = SIM_FUSION_ALL_LATEST; kind <= SIM_FUSION_BY_TIME; kind++)
		thread_run((enum sim_fusion)kind);
}
