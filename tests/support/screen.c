/* SPDX-License-Identifier: Apache-2.0 */
/* See screen.h. */
#include "screen.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "terminal.h"
#include "test.h"

#define ARGS_MAX 32

static struct {
	FILE *to, *from;
	pid_t pid;
	char text[65536];
} screen;

static void run(const char *const *argv, const int *in, const int *out)
{
	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

void screen_start(const char *arg, ...)
{
	const char *b = getenv("B"), *argv[ARGS_MAX] = { "/usr/bin/python3", "tests/support/screen.py" };
	static char path[PATH_MAX];
	int n = 3, in[2], out[2];
	va_list ap;

	TERMINAL_OR_SKIP();
	snprintf(path, sizeof(path), "%s/bin/simctl", b ? b : "build");
	argv[2] = path;
	va_start(ap, arg);
	for (const char *a = arg; a && n < ARGS_MAX - 1; a = va_arg(ap, const char *))
		argv[n++] = a;
	va_end(ap);
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	fflush(NULL);
	screen.pid = fork();
	if (screen.pid == 0)
		run(argv, in, out);
	close(in[0]);
	close(out[1]);
	screen.to = fdopen(in[1], "w");
	screen.from = fdopen(out[0], "r");
}

/* Whether it was so; the lines of the answer are in screen.text. */
static bool ask(const char *command, const char *arg)
{
	char line[1024];
	size_t n = 0;

	fprintf(screen.to, "%s %s\n", command, arg);
	fflush(screen.to);
	screen.text[0] = '\0';
	while (fgets(line, sizeof(line), screen.from)) {
		if (!strcmp(line, ".\n") || !strcmp(line, "!\n"))
			return line[0] == '.';
		n += (size_t)snprintf(screen.text + n, sizeof(screen.text) - n, "%s", line + 1);
		if (n >= sizeof(screen.text))
			fail_msg("%s", "the answer is too long");
	}
	fail_msg("screen.py has ended at \"%s %s\"; is python3-pyte installed?", command, arg);
	return false;
}

const char *screen_await(const char *pattern)
{
	if (!ask("await", pattern))
		fail_msg("\"%s\" does not come:\n%s", pattern, screen.text);
	return screen.text;
}

void screen_await_not(const char *pattern)
{
	if (!ask("not", pattern))
		fail_msg("\"%s\" does not go:\n%s", pattern, screen.text);
}

void screen_keys(const char *text)
{
	assert_true(ask("keys", text));
}

void screen_size(int columns, int rows)
{
	char arg[32];

	snprintf(arg, sizeof(arg), "%d %d", columns, rows);
	assert_true(ask("size", arg));
}

void screen_signal(int sig)
{
	char arg[16];

	snprintf(arg, sizeof(arg), "%d", sig);
	assert_true(ask("signal", arg));
}

const char *screen_end(void)
{
	if (!ask("end", ""))
		fail_msg("simctl does not end:\n%s", screen.text);
	fclose(screen.to);
	fclose(screen.from);
	waitpid(screen.pid, NULL, 0);
	return screen.text;
}
