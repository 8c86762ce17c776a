/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills a process at an arbitrary moment while the test goes on. The test's result must be the same for any moment.
 * Thread: the test's; the kill is on a thread of its own.
 */
#ifndef TEST_SUPPORT_STRIKE_H
#define TEST_SUPPORT_STRIKE_H

#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

struct strike {
	pthread_t thread;
	pid_t pid;
	unsigned after_us;
	atomic_bool done;
};

static inline void *strike_main(void *arg)
{
	struct strike *k = arg;

	moment_us(k->after_us);
	(void)kill(k->pid, SIGKILL);
	atomic_store(&k->done, true);
	return NULL;
}

static inline void strike_begin(struct strike *k, pid_t pid, unsigned after_us)
{
	assert_true(pid > 0); /* otherwise a whole group would be killed */
	*k = (struct strike){ .pid = pid, .after_us = after_us };
	assert_int_equal(pthread_create(&k->thread, NULL, strike_main, k), 0);
}

/* Whether the process was killed. Call it until it is. */
static inline bool strike_over(struct strike *k)
{
	if (!atomic_load(&k->done))
		return false;
	assert_int_equal(pthread_join(k->thread, NULL), 0);
	return true;
}

#endif
