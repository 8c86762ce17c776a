/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of connections that outlives the process: a change is whole or has not been made, at whichever instruction the process is killed. */
#include "tests/support/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "err.h"
#include "fd.h"
#include "tools/sources/ss2/peers_memory.h"

static const struct peers_line BEFORE = {
	.id = 7, .done = 100, .in_base = 90, .out_to = 50, .phase = PEERS_OPEN, .tries = 1
};
static const struct peers_line AFTER = {
	.id = 7, .done = 200, .in_base = 200, .out_to = 80, .out_base = 50, .phase = PEERS_OPEN
};

static void next(struct peers_memory *m)
{
	int fd = fd_dup(m->fd);

	peers_memory_close(m);
	assert_int_equal(peers_memory_open(m, fd), 0);
}

TEST(data_that_wraps_around_is_contiguous)
{
	struct peers_line l = { .id = 1, .in_base = 1000, .out_base = 3 };
	struct peers_memory m;

	assert_int_equal(peers_memory_open(&m, -1), 0);
	memcpy(peers_in(&m, PEERS_MAX - 1, &l, 1000 + PEERS_RING - 2), "wrap", 4);
	assert_memory_equal(peers_in(&m, PEERS_MAX - 1, &l, 1000), "ap", 2);
	memcpy(peers_out(&m, 0, &l, 3 + 2 * (uint64_t)PEERS_RING - 1), "out", 3);
	assert_memory_equal(peers_out(&m, 0, &l, 3), "ut", 2);
	next(&m);
	assert_memory_equal(peers_in(&m, PEERS_MAX - 1, &l, 1000 + PEERS_RING - 2), "wrap", 4);
	peers_memory_close(&m);
}

TEST(ring_memory_is_freed)
{
	struct peers_line l = { .id = 1 };
	struct peers_memory m;
	struct stat st;

	assert_int_equal(peers_memory_open(&m, -1), 0);
	memset(peers_in(&m, 3, &l, 0), 1, PEERS_RING);
	assert_int_equal(fstat(m.fd, &st), 0);
	assert_true(st.st_blocks * 512 >= (blkcnt_t)PEERS_RING);
	peers_memory_forget(&m, 3);
	assert_int_equal(fstat(m.fd, &st), 0);
	assert_true(st.st_blocks * 512 <= 4096);
	peers_memory_close(&m);
}

TEST(invalid_memory_is_refused)
{
	struct peers_memory m;

	assert_int_equal(peers_memory_open(&m, fd_dup(0)), -EINVAL);
	assert_int_equal(m.fd, -1);
	assert_int_equal(peers_memory_open(&m, -1), 0);
	*(uint64_t *)(void *)m.page = 1; /* of another version */
	{
		int fd = fd_dup(m.fd);

		peers_memory_close(&m);
		assert_int_equal(peers_memory_open(&m, fd), -EINVAL);
	}
	assert_non_null(strstr(err_why(), "another version"));
}

static void change_and_stop(struct peers_memory *m)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	peers_memory_change(m, 3, &AFTER, 2);
	raise(SIGSTOP);
	_exit(0);
}

/* So many instructions of it, then it is killed. False: it was through by then. */
static bool cut_after(struct peers_memory *m, int steps)
{
	pid_t pid = fork();
	bool within = true;
	int status;

	if (pid == 0)
		change_and_stop(m);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int k = 0; within && k < steps; k++) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		within = WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return within;
}

TEST(an_interrupted_change_is_complete_or_undone)
{
	unsigned made = 0, not_made = 0;
	struct peers_memory m;
	bool within = true;

	assert_int_equal(peers_memory_open(&m, -1), 0);
	for (int steps = 0; within; steps++) {
		struct peers_line l;

		peers_memory_change(&m, 3, &BEFORE, 1);
		within = cut_after(&m, steps);
		next(&m);
		l = peers_memory_line(&m, 3);
		if (peers_memory_answered(&m) == 2) {
			assert_memory_equal(&l, &AFTER, sizeof(l));
			made++;
		} else {
			assert_memory_equal(&l, &BEFORE, sizeof(l));
			not_made++;
		}
	}
	assert_true(made > 0 && not_made > 0);
	peers_memory_close(&m);
}
