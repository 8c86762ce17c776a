/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step over three machines, each of which publishes messages that the others take and log: the logs equal those of
 * one machine. Thread: the test's.
 */
#include "steps.h"

#include "switch.h"

#define STEPS 12u

TEST_PROCESSES()

/* ---- three machines are as one ---- */

TEST_WITH(three_machines_log_the_same_as_one, NULL, steps_end)
{
	pid_t pid[HOSTS];

	steps_begin_parts(pid, "", MACHINE_NEVER_LATE);
	steps_run(0, &host[0], STEPS, 0);
	steps_were_those_of_one(pid, STEPS);
}

/* ---- lookahead ---- */

#define AHEAD 2u

static bool is_logged(unsigned i)
{
	char name[8];
	bool all = true;

	for (unsigned k = 1; k <= HOSTS && all; k++) {
		snprintf(name, sizeof(name), "log%u", k);
		all = machine_bridge(&host[i], name, "sent") == STEPS * A_TURN;
	}
	return all;
}

/* What is still to be dispatched is, in the steps that follow; other machines may be as many behind the one that steps. */
static void run_ahead(unsigned first)
{
	static const char options[] = ",\"lookahead\":2" MACHINE_NEVER_LATE;
	pid_t pid[HOSTS];

	for (unsigned i = 0; i < HOSTS; i++)
		steps_begin(i, i ? MACHINE_NEVER_LATE : options, true);
	steps_start_parts(first, NULL, pid);
	steps_all_take_part(1 + HOSTS);
	steps_run(first, &host[0], STEPS, AHEAD);
	steps_end_parts(first, pid);
	for (unsigned i = 0; i < AHEAD; i++)
		machine_ctl(&host[0], "clock step 10ms");
	for (unsigned i = 0; i < HOSTS; i++)
		AWAIT(is_logged(i));
	steps_all_lag(first, STEPS, 1 + AHEAD);
}

/*
 * What comes from another machine is there two steps later, no sooner and no later: a log of all is another one than that of one machine, but
 * the same in each run; each channel's is that of one machine.
 */
TEST_WITH(with_lookahead_messages_of_other_machines_arrive_later_by_as_many_steps, NULL, steps_end)
{
	net = machines_start(host, HOSTS + 1, test_seed(1));
	steps_parts(false);
	steps_slow_down();
	run_ahead(0);
	steps_end_simds();
	steps_none_was_missed();
	run_ahead(HOSTS);
	steps_run_on_one(2 * HOSTS, true, STEPS);
	steps_end_simds();
	steps_none_was_missed();
	steps_log_is_that_of_one("log1");
	steps_log_is_that_of_one("log2");
	steps_log_is_that_of_one("log3");
	for (unsigned i = 0; i < HOSTS; i++) {
		assert_false(steps_same_log(&host[i], "log0", &host[ONE], "log0"));
		if (!steps_same_log(&host[i], "log0", &host[i], "log0.2"))
			fail_msg("machine %c logs something else in each run", (char)('a' + i));
	}
}
