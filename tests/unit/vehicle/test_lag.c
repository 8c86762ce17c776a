/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded lag and the dead time: against their equations, and in pieces as in one. */
#include "car.h"

#include "tools/sources/vehicle/dead_time.h"
#include "tools/sources/vehicle/lag.h"

static double clamp(double x, double most)
{
	return x < -most ? -most : x > most ? most : x;
}

/* The same by a plain integration in small steps: fourth order, but where the bound ends. */
static struct lag_motion integrated(const struct lag *l, double x, double u, double t)
{
	const int n = 200000;
	struct lag_motion m = { .x = x };
	double h = t / n;

	for (int i = 0; i < n; i++) {
		double k = clamp((u - m.x) / l->tau_s, l->rate), mid = m.x + k * h / 2;
		double next = m.x + clamp((u - mid) / l->tau_s, l->rate) * h;

		m.second += h * (m.integral + h * (m.x + (next - m.x) / 3) / 2);
		m.integral += h * (m.x + next) / 2;
		m.x = next;
	}
	return m;
}

TEST(the_lag_matches_its_differential_equation)
{
	static const struct {
		struct lag l;
		double x, u, t;
	} cases[] = {
		{ { 0.3, INFINITY }, 1, -2, 0.7 }, /* exponential alone */
		{ { 0.3, 1.5 }, 0, 3, 1.0 },       /* at full rate alone */
		{ { 0.3, 1.5 }, 0, 3, 4.0 },       /* both */
		{ { 0.1, 0.4 }, 2, -1, 9.0 },      { { 5.0, 100 }, -3, 3, 0.01 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lag_motion a = lag_move(&cases[i].l, cases[i].x, cases[i].u, cases[i].t);
		struct lag_motion b = integrated(&cases[i].l, cases[i].x, cases[i].u, cases[i].t);

		near(a.x, b.x, 1e-8);
		near(a.integral, b.integral, 1e-8);
		near(a.second, b.second, 1e-7);
	}
}

TEST(partial_steps_add_up_to_one_step)
{
	struct rnd r;

	rnd_seed(&r, test_seed(1));
	for (int i = 0; i < 20000; i++) {
		struct lag l = { unit(&r) * 2, 0.1 + unit(&r) * 5 };
		double x = unit(&r) * 10 - 5, u = unit(&r) * 10 - 5, t = unit(&r) * 3, part = t * unit(&r);
		struct lag_motion all = lag_move(&l, x, u, t), a = lag_move(&l, x, u, part);
		struct lag_motion b = lag_move(&l, a.x, u, t - part);

		near(b.x, all.x, 1e-12);
		near(a.integral + b.integral, all.integral, 1e-11);
		near(a.second + a.integral * (t - part) + b.second, all.second, 1e-11);
	}
}

TEST(without_a_lag_it_ramps_and_without_a_rate_limit_it_jumps)
{
	struct lag ramp = { .rate = 2 }, jump = { .rate = INFINITY };

	near(lag_move(&ramp, 0, 5, 1).x, 2, 0);
	near(lag_move(&ramp, 0, 5, 4).x, 5, 0);
	near(lag_move(&ramp, 0, 5, 4).integral, 6.25 + 5 * 1.5, 1e-15);
	near(lag_move(&jump, 0, 5, 1e-9).x, 5, 0);
	near(lag_move(&jump, 0, 5, 2).second, 10, 0);
}

TEST(the_time_at_which_a_level_is_reached_is_found)
{
	struct rnd r;

	rnd_seed(&r, test_seed(2));
	for (int i = 0; i < 5000; i++) {
		struct lag l = { 0.01 + unit(&r), 0.1 + unit(&r) * 5 };
		double x = unit(&r) * 4 - 2, u = unit(&r) * 4 - 2, level = x + (u - x) * unit(&r) * 0.99;
		double t = lag_reaches(&l, x, u, level);

		near(lag_move(&l, x, u, t).x, level, 1e-11);
	}
	assert_true(isinf(lag_reaches(&(struct lag){ 1, 1 }, 0, 1, 1.5)));
	assert_true(isinf(lag_reaches(&(struct lag){ 1, 1 }, 0, 1, -0.5)));
}

TEST(a_dead_time_is_exact)
{
	static struct dead_time d;

	dead_time_init(&d, 240 * MS, 7);
	dead_time_put(&d, 10 * MS, 1);
	dead_time_put(&d, 10 * MS, 2); /* of one moment the last */
	dead_time_put(&d, 33333333, 3);
	assert_int_equal(dead_time_next_ns(&d), 250 * MS);
	dead_time_pass(&d, 250 * MS - 1);
	near(d.value, 7, 0);
	dead_time_pass(&d, 250 * MS);
	near(d.value, 2, 0);
	assert_int_equal(dead_time_next_ns(&d), 240 * MS + 33333333);
	dead_time_pass(&d, 1000 * MS);
	near(d.value, 3, 0);
	assert_true(dead_time_next_ns(&d) == INT64_MAX);
}

TEST(queued_values_are_bounded_and_the_newest_counts)
{
	static struct dead_time d;

	dead_time_init(&d, S, 0);
	for (int i = 1; i <= 5 * DEAD_TIME_VALUES; i++)
		dead_time_put(&d, i, i);
	assert_int_equal(d.n, DEAD_TIME_VALUES);
	dead_time_pass(&d, 2 * S);
	near(d.value, 5 * DEAD_TIME_VALUES, 0);
}
