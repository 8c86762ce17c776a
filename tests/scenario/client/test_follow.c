/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_driver_follow(): a client reports the clock of another host to simd: the whole daemon, virtual time. Shows the
 * time that other clients read, the output of clock status, and the refusals with their texts. Thread: the test's.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <jansson.h>

#include "err.h"
#include "log.h"

static struct world w;
static struct sim_client *teller, *other;
static struct sim_driver *driver;

static void call(const char *method, const char *params)
{
	char *json;

	if (sim_call(other, method, params, &json) < 0)
		fail_msg("%s", sim_why());
	free(json);
	world_run(&w, MS);
}

/* Returns a member of the clock's status; the caller frees it. */
static json_t *status(const char *key)
{
	json_t *all, *ret;
	char *json;

	if (sim_call(other, "GetClock", "{}", &json) < 0)
		fail_msg("%s", sim_why());
	all = json_loads(json, 0, NULL);
	ret = json_incref(json_object_get(json_object_get(all, "clock"), key));
	json_decref(all);
	free(json);
	return ret;
}

static int64_t number(const char *key)
{
	json_t *v = status(key);
	int64_t n = json_is_null(v) ? -1 : (int64_t)json_number_value(v);

	json_decref(v);
	return n;
}

static bool yes(const char *key)
{
	json_t *v = status(key);
	bool is = json_is_true(v);

	json_decref(v);
	return is;
}

static int tell(int64_t sim_ns, int64_t rate_e6, uint32_t flags)
{
	const struct sim_followed f = { .sim_ns = sim_ns,
					.mono_ns = exec_now(w.x),
					.rate_e6 = rate_e6,
					.scale_e6 = rate_e6,
					.error_dur_ns = 120000,
					.flags = flags };

	return sim_driver_follow(driver, &f);
}

static struct sim_clock_sample now(void)
{
	struct sim_clock_sample s;

	sim_now_sample(other, &s);
	return s;
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(log_set_spec("error"), 0);
	world_create(&w, test_seed(6), "");
	teller = world_client(&w, "link", 0);
	other = world_client(&w, "other", 0);
	call("SetSource", "{\"source\": \"link\"}");
	assert_ok(sim_driver_acquire(teller, SIM_DRIVER_LOCKSTEP, &driver));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_driver_release(driver);
	sim_disconnect(teller);
	sim_disconnect(other);
	world_destroy(&w);
	return 0;
}

TEST_WITH(every_client_sees_the_time_that_the_follower_reports, setup, teardown)
{
	int64_t begun;

	assert_int_equal(number("error_ns"), -1);
	assert_ok(tell(40 * S, 1000000, 0));
	begun = exec_now(w.x) - 40 * S;
	world_run(&w, 300 * MS);
	assert_int_equal(now().sim_ns, exec_now(w.x) - begun);
	assert_int_equal(now().flags, SIM_CLOCK_STARTED);
	assert_in_range(number("error_ns"), 120000, 120000 + 400 * 200);
	assert_ok(tell(now().sim_ns, 0, SIM_FOLLOW_PAUSED));
	assert_true(yes("paused"));
	assert_true(now().flags & SIM_CLOCK_PAUSED);
	assert_ok(tell(now().sim_ns, 2000000, 0));
	assert_int_equal(number("scale"), 2);
	assert_ok(tell(0, 0, SIM_FOLLOW_LOST));
	assert_true(yes("driver_lost"));
	assert_int_equal(number("error_ns"), -1);
}

TEST_WITH(a_follower_leaves_control_to_the_time_host, setup, teardown)
{
	char *json;

	assert_ok(tell(40 * S, 1000000, 0));
	assert_int_equal(sim_call(other, "PauseClock", "{}", &json), -EOPNOTSUPP);
	assert_non_null(strstr(sim_why(), "follows the time host"));
	assert_int_equal(sim_call(other, "SetScale", "{\"scale\": 2.0}", &json), -EOPNOTSUPP);
	assert_int_equal(sim_call(other, "StepClock", "{\"dur_ns\": 1000}", &json), -EOPNOTSUPP);
}

TEST_WITH(steps_and_reports_between_them_are_followed, setup, teardown)
{
	int64_t granted;

	assert_ok(tell(7 * S, 0, SIM_FOLLOW_STEPS | SIM_FOLLOW_JUMP));
	for (int i = 1; i <= 5; i++) {
		assert_ok(sim_driver_advance(driver, 10 * MS, &granted));
		assert_int_equal(granted, 10 * MS);
		assert_int_equal(now().sim_ns, 7 * S + i * 10 * MS);
		/* a scale that was reported between two steps is answered, though there was no round */
		assert_ok(tell(0, 0, SIM_FOLLOW_STEPS | (i % 2 ? 0 : (uint32_t)SIM_FOLLOW_PAUSED)));
	}
	assert_int_equal(number("error_ns"), 0);
}

TEST_WITH(invalid_follow_reports_are_refused_with_the_reason, setup, teardown)
{
	struct sim_followed f = { .mono_ns = exec_now(w.x), .rate_e6 = -1 };

	assert_int_equal(sim_driver_follow(NULL, &f), -EINVAL);
	assert_int_equal(sim_driver_follow(driver, NULL), -EINVAL);
	f.reserved = 1;
	assert_int_equal(sim_driver_follow(driver, &f), -EINVAL);
	f.reserved = 0;
	assert_int_equal(sim_driver_follow(driver, &f), -EINVAL);
	f.rate_e6 = 1;
	f.mono_ns += 3600 * S;
	assert_int_equal(sim_driver_follow(driver, &f), -ERANGE);
	assert_non_null(strstr(sim_why(), "out of range"));
	call("SetSource", "{\"source\": \"unity\"}");
	f.mono_ns = exec_now(w.x);
	assert_int_equal(sim_driver_follow(driver, &f), -EPERM);
	sim_driver_release(driver);
	assert_ok(sim_driver_acquire(teller, 0, &driver));
	assert_int_equal(sim_driver_follow(driver, &f), -EOPNOTSUPP);
	assert_non_null(strstr(sim_why(), "not `link`"));
}
