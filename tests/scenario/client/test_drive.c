/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simbridge's host drives time from a remote clock: a real client, the whole daemon, virtual time. Shows normal
 * progress, jumps, refusals (each logged once), and how other clients see the time.
 */
#include "scenario/client/world.h"

#include <errno.h>

#include "log.h"
#include "tools/bridge/host/host.h"

static struct world w;
static struct host h;
static struct sim_client *other;
static unsigned warnings, told;
static char warning[512];

static void on_log(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)user;
	told += strcmp(topic, "time") == 0;
	if (strcmp(topic, "time_driver") != 0 || level != LOG_LEVEL_WARN)
		return;
	warnings++;
	snprintf(warning, sizeof(warning), "%s", text);
}

static void select_source(const char *name)
{
	char *json, params[64];

	snprintf(params, sizeof(params), "{\"source\": \"%s\"}", name);
	if (sim_call(other, "SetSource", params, &json) < 0)
		fail_msg("%s", sim_why());
	free(json);
	world_run(&w, MS);
}

static struct sim_clock_sample now(void)
{
	struct sim_clock_sample s;

	world_run(&w, MS);
	sim_now_sample(other, &s);
	return s;
}

static int setup(void **state)
{
	(void)state;
	world_create(&w, test_seed(5), "");
	memset(&h, 0, sizeof(h));
	h.client = world_client(&w, "time", SIM_CLIENT_BRIDGE);
	other = world_client(&w, "other", 0);
	warnings = told = 0;
	assert_int_equal(log_set_spec("error,time_driver:warn,time:info"), 0);
	log_set_handler(on_log, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	host_time_driver_finish(&h);
	sim_disconnect(h.client);
	sim_disconnect(other);
	log_set_handler(NULL, NULL);
	assert_int_equal(log_set_spec("error"), 0);
	world_destroy(&w);
	return 0;
}

TEST_WITH(time_set_forward_advances_and_time_set_back_is_a_jump, setup, teardown)
{
	struct sim_clock_jump jump;
	struct sim_clock_sample s;
	uint32_t generation;

	select_source("ros2");
	generation = now().clock_generation;
	/* from the wall clock's time to that of the remote clock: a jump */
	assert_int_equal(host_time_driver_set(&h, 100 * S), 0);
	s = now();
	assert_int_equal(s.sim_ns, 100 * S);
	assert_true(s.flags & SIM_CLOCK_DRIVEN);
	assert_int_equal(sim_clock_jumped(other, &generation, &jump), 1);
	for (int i = 1; i <= 20; i++) {
		assert_int_equal(host_time_driver_set(&h, 100 * S + i * 10 * MS), 0);
		assert_int_equal(host_time_driver_set(&h, 100 * S + i * 10 * MS), 0); /* it stands still for a moment */
		assert_int_equal(now().sim_ns, 100 * S + i * 10 * MS);
	}
	assert_int_equal(host_time_driver_set(&h, 160 * S), 0); /* a clock of 1 Hz at sixty times real time */
	assert_int_equal(host_time_driver_set(&h, 220 * S), 0);
	assert_int_equal(now().sim_ns, 220 * S);
	assert_int_equal(sim_clock_jumped(other, &generation, &jump), 0);

	assert_int_equal(host_time_driver_set(&h, 220 * S - 1), 0);
	assert_int_equal(now().sim_ns, 220 * S - 1);
	assert_int_equal(sim_clock_jumped(other, &generation, &jump), 1);
	assert_int_equal(jump.old_sim_ns, 220 * S);
	assert_int_equal(jump.new_sim_ns, 220 * S - 1);

	assert_int_equal(host_time_driver_set(&h, 280 * S), 0); /* 60 s and 1 ns */
	assert_int_equal(now().sim_ns, 280 * S);
	assert_int_equal(sim_clock_jumped(other, &generation, &jump), 1);
	assert_int_equal(jump.new_sim_ns, 280 * S);
	assert_int_equal(warnings, 0);
}

TEST_WITH(a_lost_clock_publisher_leaves_time_where_it_is, setup, teardown)
{
	struct sim_clock_jump jump;
	uint32_t generation;

	select_source("ros2");
	assert_int_equal(host_time_driver_set(&h, 7 * S), 0);
	generation = now().clock_generation;
	assert_false(now().flags & SIM_CLOCK_NO_DRIVER);
	assert_int_equal(host_time_driver_set(&h, SIM_BRIDGE_CLOCK_GONE), 0);
	assert_true(now().flags & SIM_CLOCK_NO_DRIVER);
	world_run(&w, 5 * S);
	assert_int_equal(now().sim_ns, 7 * S);
	assert_int_equal(host_time_driver_set(&h, SIM_BRIDGE_CLOCK_GONE), 0); /* again is fine */
	/* the driver is back, at the time at which it was lost */
	assert_int_equal(host_time_driver_set(&h, 7 * S), 0);
	assert_false(now().flags & SIM_CLOCK_NO_DRIVER);
	assert_int_equal(host_time_driver_set(&h, 8 * S), 0);
	assert_int_equal(now().sim_ns, 8 * S);
	assert_int_equal(sim_clock_jumped(other, &generation, &jump), 0);
}

TEST_WITH(only_the_source_ros2_is_driven, setup, teardown)
{
	struct sim_driver *d;

	for (int i = 0; i < 5; i++)
		assert_int_equal(host_time_driver_set(&h, 5 * S + i),
				 -EOPNOTSUPP); /* the source unity can be driven, but not by this host */
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warning, "the time source is `unity`; `simctl clock source ros2`"));
	assert_int_equal(sim_driver_acquire(other, 0, &d), 0); /* nor was its lease touched */
	sim_driver_release(d);
	select_source("ros2");
	assert_int_equal(host_time_driver_set(&h, 6 * S), 0);
	select_source("ss2");
	assert_int_equal(host_time_driver_set(&h, 7 * S), -EOPNOTSUPP);
	assert_int_equal(warnings, 2);
	assert_int_equal(now().sim_ns, 0);
	select_source("ros2");
	assert_int_equal(host_time_driver_set(&h, 7 * S), 0);
	select_source("system"); /* away and back between two ticks */
	select_source("ros2");
	assert_int_equal(host_time_driver_set(&h, 8 * S), 0);
	assert_int_equal(now().sim_ns, 8 * S);
	assert_int_equal(warnings, 2);
}

TEST_WITH(another_driver_is_named_and_waited_for, setup, teardown)
{
	struct sim_driver *d;

	select_source("ros2");
	assert_int_equal(sim_driver_acquire(other, 0, &d), 0);
	assert_int_equal(host_time_driver_set(&h, 5 * S), -EBUSY);
	assert_non_null(strstr(warning, "other"));
	sim_driver_release(d);
	assert_int_equal(host_time_driver_set(&h, 5 * S), -EBUSY); /* simd is not asked for each tick */
	assert_true(h.time_driver.retry_mono_ns > 0);
	h.time_driver.retry_mono_ns = 0;
	assert_int_equal(host_time_driver_set(&h, 5 * S), 0);
	assert_int_equal(now().sim_ns, 5 * S);
	assert_int_equal(warnings, 1);
}

/* E.g. two clocks at once: simd jumps as often as it is told to, but does not fill its log. */
TEST_WITH(a_thousand_jumps_do_not_fill_the_log, setup, teardown)
{
	struct sim_clock_jump jump;
	uint32_t generation;

	select_source("ros2");
	generation = now().clock_generation;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(host_time_driver_set(&h, i % 2 ? 5 * S : 500 * S), 0);
		assert_int_equal(host_time_driver_set(&h, i % 10 ? 6 * S : SIM_BRIDGE_CLOCK_GONE), 0);
	}
	assert_int_equal(now().sim_ns, 6 * S);
	assert_int_equal(sim_clock_jumped(other, &generation, &jump), 1);
	assert_in_range(told, 2, 100); /* of 1000 jumps, and a driver that left 100 times */
}

TEST_WITH(a_time_of_zero_or_less_is_refused, setup, teardown)
{
	select_source("ros2");
	assert_int_equal(host_time_driver_set(&h, 0), -EINVAL);
	assert_int_equal(host_time_driver_set(&h, -2), -EINVAL);
	assert_int_equal(host_time_driver_set(&h, INT64_MIN), -EINVAL);
	assert_false(now().flags & SIM_CLOCK_DRIVEN);
	assert_int_equal(host_time_driver_set(&h, INT64_MAX), 0);
	assert_int_equal(host_time_driver_set(&h, 1), 0);
	assert_int_equal(now().sim_ns, 1);
}

TEST_WITH(a_new_simd_is_driven_by_the_same_driver, setup, teardown)
{
	select_source("ros2");
	assert_int_equal(host_time_driver_set(&h, 5 * S), 0);
	world_kill_simd(&w);
	assert_int_equal(host_time_driver_set(&h, 6 * S), -ENOTCONN);
	assert_int_equal(host_time_driver_set(&h, 7 * S), -ENOTCONN);
	world_process(&w, h.client);
	world_process(&w, other);
	world_start_simd(&w);
	world_until(&w, h.client, SIM_CLIENT_CONNECTED);
	world_until(&w, other, SIM_CLIENT_CONNECTED);
	assert_int_equal(host_time_driver_set(&h, 8 * S), -EOPNOTSUPP); /* time began as the configuration says */
	select_source("ros2");
	assert_int_equal(host_time_driver_set(&h, 9 * S), 0);
	assert_int_equal(now().sim_ns, 9 * S);
}
