/* SPDX-License-Identifier: Apache-2.0 */
/* Lock-step over machines of which one dies in the middle of a step, and is started again. Thread: the test's. */
#include "steps.h"

#include <sys/wait.h>

#include "err.h"
#include "switch.h"

#define LEASE ",\"lease_ms\":8000" /* longer than a machine stands that has not crashed */

TEST_PROCESSES()

/* Machine i crashes while b has turn k; no goodbye is sent. */
static void crash_in_turn(unsigned i, unsigned k, pid_t pid[HOSTS], pid_t *ret_step)
{
	atomic_store(&part[1].hold, k);
	*ret_step = machine_fork(&host[0], steps_once, NULL);
	AWAIT(atomic_load(&part[1].held) == k && atomic_load(&part[2].turns) == k);
	assert_ok(switch_partition(net, 1u << i, 0, INT64_MAX));
	machine_simd_kill(&host[i]);
	(void)waitpid(pid[i], NULL, 0);
	switch_heal(net);
}

/* With a participant that goes on counting where the one before it was. */
static void begin_again(unsigned i, const char *options, unsigned turns, pid_t pid[HOSTS])
{
	struct part *p = &part[i];

	atomic_store(&p->hold, 0);
	atomic_store(&p->joined, false);
	atomic_store(&p->turns, turns);
	atomic_store(&p->accepted, turns * A_TURN);
	atomic_store(&p->answered, turns * A_TURN);
	atomic_store(&p->failed, 0);
	steps_begin(i, options, false);
	steps_start_part(i, &host[i], &pid[i]);
}

/* b dies in its turn: its step continues by the ladder, and b takes part from the next step on when it is back. */
TEST_WITH(a_machine_that_dies_in_a_step_joins_a_later_one, NULL, steps_end)
{
	pid_t pid[HOSTS], step;

	steps_begin_parts(pid, ",\"late\":\"drop\",\"deadline_ms\":10000", LEASE);
	steps_run(0, &host[0], 2, 0);
	crash_in_turn(1, 3, pid, &step);
	assert_int_equal(machine_wait(step), 0);
	assert_true(machine_logged(&host[0], "lock-step: machine b has not answered its step for"));
	begin_again(1, LEASE, 3, pid);
	AWAIT(machine_logged_times(&host[0], "machine b takes part\n") >= 2);
	steps_run(0, &host[0], 3, 0);
	steps_end_parts(0, pid);
	for (unsigned i = 0; i < HOSTS; i += 2)
		assert_int_equal(atomic_load(&part[i].lag[6][part[2 - i].number]), 1);
	steps_end_simds();
}

/* The time host is killed in the middle of b's turn: b ends the step by itself, and all join the steps of the time host's next run. */
TEST_WITH(a_time_host_that_dies_in_a_step_is_followed_again, NULL, steps_end)
{
	static const char options[] = ",\"late\":\"wait\",\"deadline_ms\":600000";
	pid_t pid[HOSTS], step;

	steps_begin_parts(pid, options, LEASE);
	steps_run(0, &host[0], 2, 0);
	crash_in_turn(0, 3, pid, &step);
	(void)waitpid(step, NULL, 0);
	for (unsigned i = 1; i < HOSTS; i++)
		AWAIT(machine_logged(&host[i], "the time host a is not heard: time holds until it is back"));
	begin_again(0, ",\"late\":\"wait\",\"deadline_ms\":600000" LEASE, 3, pid);
	AWAIT(machine_logged_times(&host[0], "machine c takes part\n") >= 2);
	atomic_store(&part[1].hold, 0); /* b is still in the step of the run before */
	AWAIT(machine_logged_times(&host[0], "machine b takes part\n") >= 2);
	AWAIT(steps_all_had(0, 3, 3));
	steps_run(0, &host[0], 3, 0);
	steps_end_parts(0, pid);
	for (unsigned i = 1; i < HOSTS; i++)
		for (unsigned k = 5; k <= 6; k++)
			assert_int_equal(atomic_load(&part[i].lag[k][part[HOSTS - i].number]), 1);
	steps_end_simds();
}
