/* SPDX-License-Identifier: Apache-2.0 */
/* What a test of the data plane and its child say to each other: one byte at a time. Included once a program. Thread: the test's, the child's. */
#ifndef TEST_IPC_SIGNS_H
#define TEST_IPC_SIGNS_H

#include <poll.h>
#include <stdbool.h>

#include "ipc_child.h"

static int to_parent[2]; /* a child's sign that it is ready */
static int ref_pipe[2];  /* and what it waits for */

static void say(char c)
{
	CHECK(write(to_parent[1], &c, 1) == 1);
}

static bool has_spoken(void)
{
	return poll(&(struct pollfd){ .fd = to_parent[0], .events = POLLIN }, 1, 0) == 1;
}

/* A child whose check failed, or RouDi, has exited: neither sends anything any more. */
static bool somebody_has_ended(void)
{
	siginfo_t info = { 0 };

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

static void hear(char want)
{
	char c = 0;

	AWAIT(has_spoken() || somebody_has_ended());
	assert_true(has_spoken());
	assert_int_equal(read(to_parent[0], &c, 1), 1);
	assert_int_equal(c, want);
}

#endif
