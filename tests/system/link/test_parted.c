/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step over machines of which one is cut off in the middle of a step: what becomes of it is as configured, and nothing that was
 * accepted stays unanswered. Thread: the test's.
 */
#include "steps.h"

#include <sys/wait.h>

#include "err.h"
#include "switch.h"
#include "timeutil.h"

#define STEPS   12u
#define B_ALONE (1u << 1) /* ports */

/* So long after it was cut off b is gone, or late: longer than a machine stands that has nothing to do with it. */
#define GONE     ",\"lease_ms\":8000"
#define TOO_LATE ",\"deadline_ms\":10000"

TEST_PROCESSES()

/*
 * b is cut off again and again, each time a little later in the step, for as long as several retries take: shorter than
 * a machine's lease, so that no machine counts as lost.
 */
TEST_WITH(messages_of_an_exchange_lost_in_a_partition_arrive_later, NULL, steps_end)
{
	pid_t pid[HOSTS];

	steps_begin_parts(pid, ",\"late\":\"wait\"", MACHINE_NEVER_LATE);
	for (unsigned k = 0; k < STEPS; k++) {
		assert_ok(switch_partition(net, B_ALONE, k * NS_PER_MS, 700 * NS_PER_MS));
		steps_run(0, &host[0], 1, 0);
	}
	steps_were_those_of_one(pid, STEPS);
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
	step = machine_fork(&host[0], steps_once, NULL);
	AWAIT(atomic_load(&b->held) == k && atomic_load(&part[0].turns) == k && atomic_load(&part[2].turns) == k);
	assert_ok(switch_partition(net, B_ALONE, 0, INT64_MAX));
	if (!gone_first)
		atomic_store(&b->hold, 0);
	for (unsigned i = 0; i < HOSTS; i++)
		AWAIT(machine_logged_times(&host[i], "is gone") >= before[i] + times[i]);
	atomic_store(&b->hold, 0);
	AWAIT(atomic_load(&b->turns) == k);
	switch_heal(net);
	assert_int_equal(machine_wait(step), 0);
	steps_run(0, &host[0], 2, 0);
}

TEST_WITH(a_machine_that_was_unreachable_continues_where_it_was, NULL, steps_end)
{
	pid_t pid[HOSTS];

	/* each waits for what is to come when the network is back, however busy this machine is */
	steps_begin_parts(pid, ",\"late\":\"wait\"", GONE ",\"deadline_ms\":600000");
	steps_run(0, &host[0], 2, 0);
	part_in_turn(3, false);
	part_in_turn(6, true);
	steps_were_those_of_one(pid, 8);
}

/* ---- the ladder ---- */

/* b is cut off in its turn, for longer than the time host waits for it. Returns `clock step` of that step. */
static pid_t cut_off_in_turn(unsigned k)
{
	pid_t step;

	atomic_store(&part[1].hold, k);
	step = machine_fork(&host[0], steps_once, NULL);
	AWAIT(atomic_load(&part[1].held) == k && atomic_load(&part[0].turns) == k && atomic_load(&part[2].turns) == k);
	assert_ok(switch_partition(net, B_ALONE, 0, INT64_MAX));
	atomic_store(&part[1].hold, 0);
	return step;
}

#define LATE "lock-step: machine b has not answered its step for"

TEST_WITH(with_late_warn_a_late_machine_is_named_and_waited_for, NULL, steps_end)
{
	pid_t pid[HOSTS], step;
	unsigned before;

	steps_begin_parts(pid, ",\"late\":\"warn\"" TOO_LATE, ",\"lease_ms\":20000");
	steps_run(0, &host[0], 2, 0);
	before = machine_logged_times(&host[0], LATE);
	step = cut_off_in_turn(3);
	AWAIT(machine_logged_times(&host[0], LATE) > before && machine_logged(&host[0], "waiting on"));
	assert_int_equal(waitpid(step, NULL, WNOHANG), 0); /* the step is held open */
	switch_heal(net);
	assert_int_equal(machine_wait(step), 0);
	assert_int_equal(machine_logged_times(&host[0], LATE), before + 1);
	steps_run(0, &host[0], 3, 0);
	steps_were_those_of_one(pid, 6);
}

/* a and c have what machine `of` published so many turns before that turn. */
static bool both_lag(unsigned turn, unsigned of, unsigned turns)
{
	return atomic_load(&part[0].lag[turn][part[of].number]) == turns &&
	       atomic_load(&part[2].lag[turn][part[of].number]) == turns;
}

/* The others go on without b, which ends its step alone, and takes part again when it can be reached. */
TEST_WITH(with_late_drop_a_late_machine_is_dropped_and_joins_again, NULL, steps_end)
{
	pid_t pid[HOSTS], step;
	unsigned k;

	steps_begin_parts(pid, ",\"late\":\"drop\"" TOO_LATE, ",\"lease_ms\":20000");
	steps_run(0, &host[0], 2, 0);
	step = cut_off_in_turn(3);
	assert_int_equal(machine_wait(step), 0);
	assert_true(machine_logged(&host[0], LATE) && machine_logged(&host[0], ": it is out"));
	for (k = 4; k <= 5; k++) {
		machine_ctl(&host[0], "clock step 10ms");
		assert_int_equal(atomic_load(&part[0].turns), k);
		assert_int_equal(atomic_load(&part[2].turns), k);
		assert_int_equal(atomic_load(&part[1].turns), 3);
	}
	switch_heal(net);
	AWAIT(machine_logged_times(&host[1], "lock-step: takes part from step") >= 2);
	assert_true(machine_logged(&host[1], "lock-step: no longer in the steps of machine a"));
	/*
	 * messages that b published in the step that it ended alone may still arrive, late: until then two turns'
	 * messages are mixed
	 */
	for (k = 6; k < 8 || !both_lag(k - 1, 1, 3); k++) {
		assert_true(k < TURNS - 1);
		pace_us(k * 10000); /* on a slow machine too it comes before the turns are used up */
		machine_ctl(&host[0], "clock step 10ms");
		assert_int_equal(atomic_load(&part[0].turns), k);
		assert_int_equal(atomic_load(&part[2].turns), k);
		assert_int_equal(atomic_load(&part[1].turns), k - 2);
	}
	/* a and c missed no step of each other */
	for (unsigned i = 2; i < k; i++) {
		assert_int_equal(atomic_load(&part[0].lag[i][part[2].number]), 1);
		assert_int_equal(atomic_load(&part[2].lag[i][part[0].number]), 1);
	}
	steps_end_parts(0, pid);
	steps_end_simds();
}
