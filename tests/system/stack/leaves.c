/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves.sh runs: the first test fails, with a simd and with a process that has left its group; the second needs a clean machine. */
#include "stack.h"

#include <sys/prctl.h>

/* stack_leftovers() looks for the name. */
static void leave_a_process(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return;
	setsid();
	if (fork() == 0) {
		prctl(PR_SET_NAME, "simctl");
		for (;;)
			pause();
	}
	_exit(0);
}

TEST(the_test_fails_and_leaves_all_behind)
{
	if (getpid() == 1) /* elsewhere orphans are not our children */
		leave_a_process();
	stack_start("");
	fail();
}

TEST(the_next_test_begins_clean)
{
	assert_string_equal(stack_leftovers(), "");
	stack_stop(stack_start(""));
}
