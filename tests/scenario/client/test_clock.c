/* SPDX-License-Identifier: Apache-2.0 */
/* Time as clients see it: reading, sleeping, driving; in virtual time. */
#include "scenario/client/imu.h"

#include <errno.h>

#include <jansson.h>

#include <sim/msg/Clock.h>

WORLD_FIXTURE(test_seed(3), "");

static void call(struct sim_client *c, const char *method, const char *params)
{
	char *json;

	if (sim_call(c, method, params, &json) < 0)
		fail_msg("%s: %s", method, sim_why());
	free(json);
}

static void wall_source(struct sim_client *c)
{
	call(c, "SetSource", "{\"source\": \"simulation\"}");
	world_run(&w, MS);
}

TEST_WITH(one_driver_moves_time, setup, teardown)
{
	struct sim_client *c = world_client(&w, "engine", SIM_CLIENT_SOURCE), *other = world_client(&w, "other", 0);
	struct sim_driver *d, *second;
	int64_t granted = 0, before;

	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	assert_int_equal(sim_driver_acquire(other, 0, &second), -EBUSY);
	assert_non_null(strstr(sim_why(), "engine"));
	assert_int_equal(sim_driver_acquire(c, 0, &second), -EBUSY);
	before = sim_now(c);
	for (int i = 1; i <= 10; i++) {
		assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), 0);
		assert_int_equal(granted, 10 * MS);
		assert_int_equal(sim_now(other), before + i * 10 * MS);
	}
	assert_int_equal(sim_driver_advance(d, 0, &granted), -EINVAL);
	assert_int_equal(sim_driver_advance(d, 3601 * S, &granted), -EINVAL);
	sim_driver_release(d);
	world_run(&w, MS);
	assert_int_equal(sim_driver_acquire(other, 0, &second), 0);
	sim_disconnect(other); /* leaves with its lease, which is released */
	world_run(&w, MS);
	assert_int_equal(sim_clock_page(c)->flags & (SIM_CLOCK_NO_DRIVER | SIM_CLOCK_DRIVER_LOST), SIM_CLOCK_NO_DRIVER);
	sim_disconnect(c);
}

/* The driver leaves after a restart of simd, before it has advanced time in the new simd. */
TEST_WITH(a_lease_acquired_again_after_a_restart_is_released_too, setup, teardown)
{
	struct sim_client *c = world_client(&w, "engine", 0);
	struct sim_driver *d;

	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	world_kill_simd(&w);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	world_start_simd(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_clock_page(c)->flags & SIM_CLOCK_NO_DRIVER, 0);
	sim_driver_release(d);
	world_run(&w, MS);
	assert_int_equal(sim_clock_page(c)->flags & (SIM_CLOCK_NO_DRIVER | SIM_CLOCK_DRIVER_LOST), SIM_CLOCK_NO_DRIVER);
	sim_disconnect(c);
}

/* A reader must notice that the page was replaced, perhaps twice: no two pages have the same beginning. */
TEST_WITH(each_clock_page_begins_with_another_seq, setup, teardown)
{
	struct sim_client *c = world_client(&w, "reader", 0);
	uint32_t live[2], frozen[2];

	for (int i = 0; i < 2; i++) {
		live[i] = sim_clock_page(c)->seq;
		world_kill_simd(&w);
		world_until(&w, c, SIM_CLIENT_RECONNECTING);
		frozen[i] = sim_clock_page(c)->seq;
		world_start_simd(&w);
		world_until(&w, c, SIM_CLIENT_CONNECTED);
	}
	assert_true(live[0] != live[1] && frozen[0] != frozen[1]);
	for (int i = 0; i < 2; i++)
		assert_true(live[i] < frozen[0] && live[i] < frozen[1]);
	sim_disconnect(c);
}

/* A free-running driver declares it, and every reader can see it. */
TEST_WITH(readers_see_that_the_driver_runs_freely, setup, teardown)
{
	struct sim_client *c = world_client(&w, "engine", SIM_CLIENT_SOURCE), *other = world_client(&w, "other", 0);
	struct sim_clock_sample now;
	struct sim_driver *d;

	assert_int_equal(sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL | SIM_DRIVER_PACED, &d), -EINVAL);
	assert_int_equal(sim_driver_acquire(c, 8, &d), -EINVAL);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	sim_now_sample(other, &now);
	assert_false(now.flags & SIM_CLOCK_FREEWHEEL);
	sim_driver_release(d);
	world_run(&w, MS);
	assert_int_equal(sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL, &d), 0);
	sim_now_sample(other, &now);
	assert_true(now.flags & SIM_CLOCK_FREEWHEEL);
	sim_driver_release(d);
	world_run(&w, MS);
	sim_now_sample(other, &now);
	assert_false(now.flags & SIM_CLOCK_FREEWHEEL);
	sim_disconnect(c);
	sim_disconnect(other);
}

/* Paced: one simulated second takes 1 / scale seconds, and a stall is not caught up. Unpaced: it takes no time. */
TEST_WITH(a_paced_driver_follows_the_wall_clock, setup, teardown)
{
	struct sim_client *c = world_client(&w, "engine", SIM_CLIENT_SOURCE);
	struct sim_driver *d;
	int64_t start, granted;

	assert_int_equal(sim_driver_acquire(c, SIM_DRIVER_PACED, &d), 0);
	start = exec_now(w.x);
	for (int i = 0; i < 100; i++)
		assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), 0);
	assert_in_range(exec_now(w.x) - start, 1000 * MS, 1011 * MS);
	call(c, "SetScale", "{\"scale\": 4.0}");
	start = exec_now(w.x);
	for (int i = 0; i < 100; i++)
		assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), 0);
	assert_in_range(exec_now(w.x) - start, 250 * MS, 262 * MS);
	world_run(&w, 5 * S); /* the engine hangs */
	start = exec_now(w.x);
	for (int i = 0; i < 40; i++)
		assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), 0);
	assert_in_range(exec_now(w.x) - start, 95 * MS, 103 * MS);
	sim_driver_release(d);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	start = exec_now(w.x);
	for (int i = 0; i < 100; i++)
		assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), 0);
	assert_true(exec_now(w.x) - start < 10 * MS);
	sim_driver_release(d);
	sim_disconnect(c);
}

/* A switch of the source ends the lease for good; after a restart of simd the driver gets it again. */
TEST_WITH(a_lease_ends_with_its_source, setup, teardown)
{
	struct sim_client *c = world_client(&w, "engine", SIM_CLIENT_SOURCE);
	struct sim_driver *d;
	int64_t granted, now;

	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), 0);
	world_kill_simd(&w);
	assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), -ENOTCONN);
	world_process(&w, c);
	assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), -ENOTCONN);
	world_start_simd(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	now = sim_now(c);
	assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), 0);
	assert_int_equal(sim_now(c), now + 10 * MS);
	call(c, "SetSource", "{\"source\": \"system\"}");
	assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), -EPERM);
	assert_int_equal(sim_driver_advance(d, 10 * MS, &granted), -EPERM);
	sim_driver_release(d);
	assert_int_equal(sim_driver_acquire(c, 0, &d), -EOPNOTSUPP);
	sim_disconnect(c);
}

TEST_WITH(a_set_time_is_followed, setup, teardown)
{
	struct sim_client *c = world_client(&w, "ss2", SIM_CLIENT_SOURCE);
	struct sim_clock_sample a, b;
	struct sim_driver *d;

	call(c, "SetSource", "{\"source\": \"ss2\"}");
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	assert_int_equal(sim_driver_set(d, 7 * S), 0);
	sim_now_sample(c, &a);
	assert_int_equal(a.sim_ns, 7 * S);
	assert_int_equal(sim_driver_set(d, 8 * S), 0);
	sim_now_sample(c, &b);
	assert_int_equal(b.sim_ns, 8 * S);
	assert_int_equal(b.clock_generation, a.clock_generation);
	assert_int_equal(sim_driver_set(d, 3 * S), 0); /* back: a jump */
	sim_now_sample(c, &b);
	assert_true(b.clock_generation != a.clock_generation);
	assert_int_equal(sim_driver_set(d, -1), -ERANGE);
	sim_driver_release(d);
	sim_disconnect(c);
}

TEST_WITH(a_sleeper_wakes_at_its_time, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	int64_t start, now;

	wall_source(c);
	now = sim_now(c);
	start = exec_now(w.x);
	assert_int_equal(sim_sleep_until(c, now + 300 * MS, -1), 0);
	assert_in_range(exec_now(w.x) - start, 299 * MS, 301 * MS);
	assert_true(sim_now(c) >= now + 300 * MS);
	assert_int_equal(sim_sleep_until(c, now, -1), 0); /* a time in the past */
	call(c, "SetScale", "{\"scale\": 10.0}");
	start = exec_now(w.x);
	assert_int_equal(sim_sleep_until(c, sim_now(c) + 1 * S, -1), 0);
	assert_in_range(exec_now(w.x) - start, 100 * MS, 102 * MS);
	assert_int_equal(sim_sleep_until(c, sim_now(c) + 100 * S, 50 * MS), -ETIMEDOUT);
	assert_null(strstr(sim_why(), "driver"));
	call(c, "PauseClock", NULL);
	assert_int_equal(sim_sleep_until(c, sim_now(c) + 1, 2 * S), -ETIMEDOUT);
	assert_non_null(strstr(sim_why(), "paused"));
	call(c, "ResumeClock", NULL);
	sim_disconnect(c);
}

/* The default source, without a driver: the sleeper gets an error that says so. */
TEST_WITH(a_sleep_without_a_driver_times_out_with_the_reason, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0), *engine = world_client(&w, "engine", SIM_CLIENT_SOURCE);
	struct sim_driver *d;
	int64_t granted;

	assert_int_equal(sim_sleep_until(c, 10 * MS, 50 * MS), -ETIMEDOUT);
	assert_non_null(strstr(sim_why(), "no driver yet: start one, or TimeSource=simulation"));
	assert_int_equal(sim_driver_acquire(engine, 0, &d), 0);
	assert_int_equal(sim_sleep_until(c, 10 * MS, 50 * MS), -ETIMEDOUT);
	assert_null(strstr(sim_why(), "driver"));
	assert_int_equal(sim_driver_advance(d, MS, &granted), 0);
	sim_driver_release(d);
	world_run(&w, MS);
	assert_int_equal(sim_sleep_until(c, 10 * MS, 50 * MS), -ETIMEDOUT);
	assert_non_null(strstr(sim_why(), "driver lost"));
	sim_disconnect(engine);
	sim_disconnect(c);
}

TEST_WITH(a_jump_opens_the_gate, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_clock_sample a, b;
	struct sim_gate g;

	wall_source(c);
	assert_int_equal(sim_gate_init(&g, 10000), 0);
	sim_now_sample(c, &a);
	assert_true(sim_gate_due(&g, &a));
	assert_false(sim_gate_due(&g, &a));
	call(c, "SetSource", "{\"source\": \"system\"}");
	sim_now_sample(c, &b);
	assert_true(a.clock_generation != b.clock_generation);
	assert_true(sim_gate_due(&g, &b));
	sim_disconnect(c);
}

/* ---- /clock and the bridges ---- */

/*
 * Returns the bridge's subscription to /clock: -1: none; otherwise whether the channel is named. The options are those
 * of the rig.
 */
static int told(const char *name)
{
	struct sim_client *c = world_client(&w, name, SIM_CLIENT_BRIDGE);
	struct sim_bridge_session *s;
	struct sim_lane *lane;
	char *text;
	json_t *j, *clock;
	int named = -1;

	assert_int_equal(sim_bridge_attach(c, name, &text, &s, &lane), 0);
	j = json_loads(text, 0, NULL);
	clock = json_object_get(j, "clock");
	assert_non_null(clock);
	if (!json_is_null(clock)) {
		json_t *depth = json_object_get(json_object_get(clock, "options"), "depth");

		assert_int_equal(json_integer_value(depth), 1);
		named = json_is_true(json_object_get(clock, "named"));
	}
	json_decref(j);
	free(text);
	sim_lane_destroy(lane);
	sim_bridge_session_destroy(s);
	sim_disconnect(c);
	return named;
}

TEST_WITH(the_clock_page_is_passed_to_bridges_that_list_the_clock, setup, teardown)
{
	assert_int_equal(told("log"), 0);
	assert_int_equal(told("time"), 1);
	assert_int_equal(told("rest"), -1);
}

/* simd's publisher serves subscribers only, so no client can route /clock through dispatch. */
TEST_WITH(the_clock_never_goes_through_dispatch, setup, teardown)
{
	struct sim_client *c = world_client(&w, "impostor", 0);
	struct sim_publisher *p;

	assert_int_equal(sim_advertise(c, "/clock", &sim_Clock_type, NULL, &p), -EINVAL);
	assert_non_null(strstr(sim_why(), "local-only"));
	sim_disconnect(c);
}

/* ---- earlier moments ---- */

struct moment {
	int64_t mono_ns, sim_ns;
	uint32_t generation;
};

/* A ns later, so that nothing else happens at that moment. */
static struct moment moment_of(struct sim_client *c)
{
	struct sim_clock_sample s;
	struct moment m;

	world_run(&w, 1);
	sim_now_sample(c, &s);
	m = (struct moment){ exec_now(w.x), s.sim_ns, s.clock_generation };
	world_run(&w, 10 * MS);
	return m;
}

static void expect_moment(const struct sim_client *c, const struct moment *m)
{
	struct sim_clock_sample s;

	assert_int_equal(sim_clock_at(c, m->mono_ns, &s), 0);
	assert_int_equal(s.sim_ns, m->sim_ns);
	assert_int_equal(s.mono_ns, m->mono_ns);
	assert_int_equal(s.clock_generation, m->generation);
}

/* A client that looks back finds each moment as it was: running, paused, scaled, behind a jump, and in the simd before this one. */
TEST_WITH(earlier_moments_can_be_looked_up_unchanged, setup, teardown)
{
	struct sim_client *c = world_client(&w, "user", SIM_CLIENT_SOURCE), *late = world_client(&w, "late", 0);
	struct sim_clock_sample s;
	struct moment m[7];

	wall_source(c);
	m[0] = moment_of(c);
	call(c, "PauseClock", NULL);
	m[1] = moment_of(c);
	call(c, "ResumeClock", NULL);
	call(c, "SetScale", "{\"scale\": 2.5}");
	m[2] = moment_of(c);
	call(c, "SetSource", "{\"source\": \"system\"}");
	m[3] = moment_of(c);
	wall_source(c);
	m[4] = moment_of(c);
	world_kill_simd(&w);
	world_until(&w, late, SIM_CLIENT_RECONNECTING);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	world_start_simd(&w);
	world_until(&w, late, SIM_CLIENT_CONNECTED);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	m[5] = moment_of(c);
	wall_source(c);
	m[6] = moment_of(c);
	assert_int_equal(m[1].sim_ns - m[0].sim_ns, 10 * MS);
	assert_true(m[3].generation != m[2].generation && m[5].generation != m[4].generation);
	for (int i = 0; i < 7; i++)
		expect_moment(late, &m[i]);
	sim_now_sample(late, &s);
	assert_int_equal(sim_clock_at(late, INT64_MAX, &s), 0); /* a time in the future: the current one is returned */
	assert_int_equal(s.sim_ns, sim_now(late));
	assert_int_equal(sim_clock_at(late, 0, &s), 1);
	assert_true(s.mono_ns > 0 && s.mono_ns < m[0].mono_ns);
	assert_int_equal(sim_clock_at(NULL, 0, &s), -EINVAL);
	assert_int_equal(sim_clock_at(late, 0, NULL), -EINVAL);
	sim_disconnect(c);
	sim_disconnect(late);
}
