/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Occupies a CPU with a real-time process, and binds other processes to that CPU, to simulate an overloaded machine.
 * Thread: the test's.
 */
#ifndef TEST_HOG_H
#define TEST_HOG_H

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/support/test.h"

#define HOG_MS 2000 /* how long it runs without a pause */

/* The last CPU; -1: there is only one, which the test needs. */
static inline int hog_cpu(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? (int)sysconf(_SC_NPROCESSORS_ONLN) - 1 : -1;
}

/* Binds all threads of a process. */
static inline void hog_pin(pid_t pid, int cpu)
{
	char path[64];
	const struct dirent *e;
	cpu_set_t set;
	DIR *d;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			assert_int_equal(sched_setaffinity(atoi(e->d_name), sizeof(set), &set), 0);
	closedir(d);
}

/* Ends only by a signal; the pauses are for kernels that reserve no time for other processes. */
static inline _Noreturn void hog_run(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	raise(SIGSTOP);
	for (;;) {
		int64_t end_ms = wait_now_ms() + HOG_MS;

		while (wait_now_ms() < end_ms)
			;
		moment_us(100000);
	}
}

static inline void hog_end(pid_t hog)
{
	kill(hog, SIGKILL);
	(void)waitpid(hog, NULL, 0);
}

/* Stopped at first. 0: no CPU for it, or no permission for real-time priority. */
static inline pid_t hog_start(void)
{
	const struct sched_param real_time = { .sched_priority = 1 };
	int cpu = hog_cpu();
	pid_t pid = cpu > 0 ? fork() : 0;

	if (cpu <= 0)
		return 0;
	assert_true(pid >= 0);
	if (pid == 0)
		hog_run();
	/* another test's hog may keep it from the CPU later: a SIGCONT before it has stopped would be lost */
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	hog_pin(pid, cpu);
	if (sched_setscheduler(pid, SCHED_FIFO, &real_time) == 0)
		return pid;
	hog_end(pid);
	return 0;
}

#endif
