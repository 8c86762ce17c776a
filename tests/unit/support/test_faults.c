/* SPDX-License-Identifier: Apache-2.0 */
/* If another thread than the test's fails, cmocka is silent: tests/support/test.c says it. */
#include "support/test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static void *crash(void *arg)
{
	(void)raise(SIGSEGV);
	return arg;
}

static void *assert_it(void *arg)
{
	assert_true(arg);
	return arg;
}

/* The stderr of a process in which a second thread runs fn; ret_status: its exit status. */
static void say(void *(*fn)(void *arg), char *ret, size_t size, int *ret_status)
{
	int out[2];
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_t thread;

		(void)dup2(out[1], STDERR_FILENO);
		if (pthread_create(&thread, NULL, fn, NULL) == 0)
			(void)pthread_join(thread, NULL);
		_exit(0);
	}
	close(out[1]);
	while (n + 1 < size && (r = read(out[0], ret + n, size - 1 - n)) > 0)
		n += (size_t)r;
	ret[n] = '\0';
	close(out[0]);
	assert_int_equal(waitpid(pid, ret_status, 0), pid);
}

TEST(a_signal_is_reported)
{
	static char text[65536];
	int status;

	say(crash, text, sizeof(text), &status);
	assert_true(WIFSIGNALED(status));
	assert_non_null(strstr(text, "signal 11 in thread "));
	assert_non_null(strstr(text, "support-faults"));
}

TEST(an_assertion_is_reported)
{
	static char text[65536];
	int status;

	say(assert_it, text, sizeof(text), &status);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 255);
	assert_non_null(strstr(text, "an assertion failed in thread "));
}
