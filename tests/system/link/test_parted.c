/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step over machines of which one is cut off, or dies, in the middle of a step: what becomes of it is as configured, and nothing
 * that was accepted stays unanswered. Thread: the test's.
 */
#include "steps.h"

#include "err.h"
#include "switch.h"
#include "timeutil.h"

#define STEPS   12u
#define B_ALONE (1u << 1) /* ports */

TEST_PROCESSES()

/* `clock step` beside the test. */
static int step_once(void *arg)
{
	char path[PATH_MAX];
	const char *build = getenv("B");

	(void)arg;
	snprintf(path, sizeof(path), "%s/bin/simctl", build ? build : "build");
	return execl(path, "simctl", "clock", "step", "10ms", (char *)NULL);
}

static void begin_parts(pid_t pid[HOSTS], const char *host_options, const char *options)
{
	steps_parts(true);
	steps_begin_all(host_options, options);
	steps_slow_down();
	steps_start_parts(0, NULL, pid);
	steps_all_take_part(1);
}

/*
 * b is cut off again and again, each time a little later in the step, for as long as several tries of everything take: a machine is
 * gone after its lease, which is longer.
 */
TEST_WITH(what_is_lost_of_an_exchange_comes_when_the_network_is_back, NULL, steps_end)
{
	pid_t pid[HOSTS];

	begin_parts(pid, ",\"late\":\"wait\",\"deadline_ms\":300", ",\"lease_ms\":20000");
	for (unsigned k = 0; k < STEPS; k++) {
		assert_ok(switch_partition(net, B_ALONE, k * NS_PER_MS, 500 * NS_PER_MS));
		steps_run(0, &host[0], 1, 0);
	}
	steps_end_parts(0, pid);
	steps_all_lag(0, STEPS, 1);
	steps_run_on_one(HOSTS, false, STEPS);
	steps_end_simds();
	steps_none_was_missed();
	steps_log_is_that_of_one("log0");
}

/* The network parts while b's participant has turn k, which ends before or after the machines are gone for each other. */
static void part_in_turn(unsigned k, bool gone_first)
{
	static const unsigned times[HOSTS] = { 1, 2, 1 };
	unsigned before[HOSTS];
	struct part *b = &part[1];
	pid_t step;

	for (unsigned i = 0; i < HOSTS; i++)
		before[i] = machine_logged_times(&host[i], "is gone");
	atomic_store(&b->hold, k);
	step = machine_fork(&host[0], step_once, NULL);
	UNTIL(WAIT_MS, atomic_load(&b->held) == k && atomic_load(&part[0].turns) == k &&
			       atomic_load(&part[2].turns) == k);
	assert_ok(switch_partition(net, B_ALONE, 0, INT64_MAX));
	if (!gone_first)
		atomic_store(&b->hold, 0);
	for (unsigned i = 0; i < HOSTS; i++)
		UNTIL(WAIT_MS, machine_logged_times(&host[i], "is gone") == before[i] + times[i]);
	atomic_store(&b->hold, 0);
	UNTIL(WAIT_MS, atomic_load(&b->turns) == k);
	switch_heal(net);
	assert_int_equal(machine_wait(step, WAIT_MS), 0);
	steps_run(0, &host[0], 2, 0);
}

TEST_WITH(a_machine_that_was_gone_goes_on_where_it_was, NULL, steps_end)
{
	pid_t pid[HOSTS];

	begin_parts(pid, ",\"late\":\"wait\",\"deadline_ms\":4000", ",\"lease_ms\":1000");
	steps_run(0, &host[0], 2, 0);
	part_in_turn(3, false);
	part_in_turn(6, true);
	steps_end_parts(0, pid);
	steps_all_lag(0, 8, 1);
	steps_run_on_one(HOSTS, false, 8);
	steps_end_simds();
	steps_none_was_missed();
	steps_log_is_that_of_one("log0");
}
