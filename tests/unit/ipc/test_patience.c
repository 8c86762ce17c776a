/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a wait that counts, and the part that is excused: proc_cpu.h. Time is the test's own; the processes are
 * real.
 */
#include "tests/support/test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "proc_cpu.h"

#define MS      INT64_C(1000000)
#define BOUND   (900 * MS)
#define SLICE   PROC_SLICE_DUR_NS
#define FOREVER 100000 /* slices */

static struct proc_wait w;

static void begin(pid_t pid, int64_t spare)
{
	w = (struct proc_wait){ .pid = { pid } };
	proc_wait_begin(&w, 0, BOUND, spare);
}

/* How many slices of such a length it lasts. */
static int slices(int64_t length)
{
	int64_t now = 0;
	int n = 0;

	while (n < FOREVER && !proc_wait_over(&w, now)) {
		now += length;
		n++;
	}
	return n;
}

TEST(without_a_known_pid_all_waiting_time_counts)
{
	begin(0, PROC_SPARE_DUR_NS);
	assert_int_equal(slices(SLICE), 9);
	begin(0, PROC_SPARE_DUR_NS);
	assert_int_equal(slices(10 * MS), 90);
	begin(1 << 30, PROC_SPARE_DUR_NS); /* not seen from here */
	assert_int_equal(slices(SLICE), 9);
}

/* We were late ourselves: an answer may have been there long ago, and a slice is a slice. */
TEST(oversleeping_of_the_waiting_process_is_excused)
{
	begin(0, PROC_SPARE_DUR_NS);
	assert_int_equal(slices(3 * SLICE), 9);
	begin(0, 0);
	assert_int_equal(slices(3 * SLICE), 3);
	begin(0, 4 * SLICE); /* of two slices each two too long, then no more */
	assert_int_equal(slices(3 * SLICE), 5);
}

static pid_t start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* The test's clock runs faster than it could compute in: so it is ready, and has hardly run. */
TEST(a_process_that_is_ready_but_hardly_runs_is_excused)
{
	pid_t pid = start();
	int64_t spare = 50 * SLICE;

	begin(pid, spare);
	AWAIT(proc_cpu_now(pid).ready);
	w.before[0].ran_ns = INT64_MAX / 2; /* however long it has run */
	w.looked = true;
	assert_false(proc_wait_over(&w, SLICE));
	assert_true(w.left_dur_ns == BOUND && w.spare_dur_ns == spare - SLICE);
	w.before[0].ran_ns = -SLICE; /* it computes and does not answer */
	assert_false(proc_wait_over(&w, 2 * SLICE));
	assert_true(w.left_dur_ns == BOUND - SLICE);
	end(pid);
}

TEST(a_stopped_process_is_not_excused)
{
	pid_t pid = start();

	kill(pid, SIGSTOP);
	AWAIT(test_stands(pid));
	begin(pid, PROC_SPARE_DUR_NS);
	assert_int_equal(slices(SLICE), 9);
	end(pid);
}

TEST_GROUP(NULL, NULL)
