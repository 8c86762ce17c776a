/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random schedules of scale, pause, step and switch against exact rational arithmetic: the engine is always exact, and
 * the time that readers see never goes back within a generation. SEED=n repeats one.
 */
#include "unit/time/rig.h"

#include "rnd.h"

#include <inttypes.h>

#define SCHEDULES 300
#define ACTIONS   150
#define FS        1000000 /* femtoseconds in a ns: a scale in millionths is whole in them */

/* The model keeps the list of pieces and adds it up again each time: nothing is carried from change to change. */
struct piece {
	int64_t from_mono_ns, rate_e6, add_ns;
};

struct model {
	int64_t start_ns;
	struct piece pieces[ACTIONS + 2];
	int n;
	bool paused, by_scale, controlled, wall;
	int64_t scale_e6;
};

static int128 model_at(const struct model *m, int64_t mono_ns)
{
	int128 fs = (int128)m->start_ns * FS;

	for (int i = 0; i < m->n; i++) {
		int64_t until = i + 1 < m->n ? m->pieces[i + 1].from_mono_ns : mono_ns;

		fs += (int128)(until - m->pieces[i].from_mono_ns) * m->pieces[i].rate_e6 +
		      (int128)m->pieces[i].add_ns * FS;
	}
	return fs;
}

static void model_piece(struct model *m, int64_t mono_ns, int64_t add_ns)
{
	int64_t rate = !m->wall ? 0 : !m->controlled ? SIM_RATE_ONE : m->paused ? 0 : m->scale_e6;

	m->pieces[m->n++] = (struct piece){ .from_mono_ns = mono_ns, .rate_e6 = rate, .add_ns = add_ns };
}

static void model_switch(struct model *m, const char *name, int64_t mono_ns, int64_t real_ns)
{
	m->wall = strcmp(name, "unity") != 0;
	m->controlled = strcmp(name, "ros2") != 0;
	if (!m->controlled)
		m->paused = m->by_scale = false;
	m->start_ns = !strcmp(name, "system") || !strcmp(name, "ros2") ? real_ns : 0;
	m->n = 0;
	model_piece(m, mono_ns, 0);
}

/* Any scale, and often the awkward ones. */
static int64_t random_scale(struct rnd *rnd)
{
	static const int64_t odd[] = {
		TIME_SCALE_MIN_E6, TIME_SCALE_MAX_E6, SIM_RATE_ONE, 333333, 999999, 1000001, 200000
	};

	if (rnd_below(rnd, 3) == 0)
		return odd[rnd_below(rnd, 7)];
	return TIME_SCALE_MIN_E6 + (int64_t)(rnd_u64(rnd) % (TIME_SCALE_MAX_E6 - TIME_SCALE_MIN_E6 + 1));
}

static int64_t random_dur(struct rnd *rnd)
{
	static const int64_t most[] = { 3, 1000, 1000000, NS_PER_S, 3600 * NS_PER_S };

	return 1 + (int64_t)(rnd_u64(rnd) % (uint64_t)most[rnd_below(rnd, 5)]);
}

static void act(struct rig *r, struct model *m, struct rnd *rnd, const char **source_name)
{
	static const char *const names[] = { "system", "simulation", "unity", "ros2" };
	int64_t now = exec_now(r->x), dur;
	const char *name;
	bool on;

	switch (rnd_below(rnd, 8)) {
	case 0:
	case 1:
	case 2:
		dur = random_scale(rnd);
		if (time_engine_set_scale(r->e, dur) < 0)
			break;
		on = m->paused && m->by_scale;
		m->scale_e6 = dur;
		if (on)
			m->paused = m->by_scale = false;
		model_piece(m, now, 0);
		break;
	case 3:
		if (time_engine_pause(r->e) < 0)
			break;
		m->paused = true;
		m->by_scale = false;
		model_piece(m, now, 0);
		break;
	case 4:
		if (time_engine_set_scale(r->e, 0) < 0)
			break;
		m->by_scale = !m->paused || m->by_scale;
		m->paused = true;
		model_piece(m, now, 0);
		break;
	case 5:
		if (time_engine_resume(r->e) < 0)
			break;
		m->paused = m->by_scale = false;
		model_piece(m, now, 0);
		break;
	case 6:
		dur = random_dur(rnd);
		if (rig_step(r, dur) < 0)
			break;
		model_piece(m, now, dur);
		assert_true(exec_sim_settle(r->x) > 0); /* the step ends at once: nothing settles, all is quiet */
		assert_int_equal(r->step_result, 0);
		break;
	default:
		if (rnd_below(rnd, 4))
			break;
		name = names[rnd_below(rnd, 4)];
		assert_int_equal(time_engine_set_source(r->e, source(name), false), 0);
		if (name != *source_name)
			model_switch(m, name, now, rig_real(r));
		*source_name = name;
	}
}

static void check(struct rig *r, const struct model *m, struct sim_clock_sample *last, bool just_written)
{
	struct sim_clock_sample s = rig_read(r);
	int64_t exact = (int64_t)(model_at(m, exec_now(r->x)) / FS);

	if (just_written)
		assert_int_equal(s.sim_ns, exact);
	else
		assert_true(s.sim_ns == exact || s.sim_ns == exact - 1); /* a reader truncates once more, never up */
	assert_int_equal(time_engine_now(r->e), s.sim_ns);
	if (s.clock_generation == last->clock_generation)
		assert_true(s.sim_ns >= last->sim_ns);
	*last = s;
}

static void run_schedule(uint64_t seed)
{
	static struct rig r;
	struct model m = { .scale_e6 = SIM_RATE_ONE };
	struct sim_clock_sample last = { 0 };
	const char *name = "simulation";
	struct rnd rnd;

	rnd_seed(&rnd, seed);
	rig_init(&r, seed, name, (struct time_engine_options){ .step_settle_dur_ns = 0 });
	model_switch(&m, name, exec_now(r.x), 0);
	for (int i = 0; i < ACTIONS; i++) {
		uint32_t before = r.page.seq;

		act(&r, &m, &rnd, &name);
		check(&r, &m, &last, r.page.seq != before);
		for (int k = 0; k < 3; k++) {
			rig_run(&r, random_dur(&rnd));
			check(&r, &m, &last, false);
		}
	}
	rig_finish(&r);
}

TEST(schedules_are_exact)
{
	uint64_t first = test_seed(1), n = getenv("SEED") ? 1 : SCHEDULES;

	for (uint64_t seed = first; seed < first + n; seed++) {
		fprintf(stderr, "\rSEED=%" PRIu64 " ", seed);
		run_schedule(seed);
	}
}

/* Ten years of changes every few seconds at the worst scales: nothing adds up. */
TEST(rounding_errors_do_not_accumulate)
{
	static struct rig r;
	int128 fs = 0;

	rig_init(&r, 1, "simulation", (struct time_engine_options){ .step_settle_dur_ns = 0, .scale_e6 = 333333 });
	for (int i = 0; i < 100000; i++) {
		int64_t dur = 3155 * NS_PER_S + 1 + i % 7;

		fs += (int128)dur * (i % 2 ? 999999 : 333333);
		rig_run(&r, dur);
		assert_int_equal(time_engine_set_scale(r.e, i % 2 ? 333333 : 999999), 0);
		assert_int_equal(r.page.sim_ns, (int64_t)(fs / FS));
	}
	rig_finish(&r);
}
