/* SPDX-License-Identifier: Apache-2.0 */
/* server.h */
#include "support/test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "server.h"

void server_says(struct server *s, const char *what)
{
	size_t n = strlen(s->text);

	while (!strstr(s->text, what)) {
		ssize_t r = read(s->log, s->text + n, sizeof(s->text) - 1 - n);

		if (r <= 0)
			fail_msg("sim-world does not say \"%s\": %s", what, s->text);
		n += (size_t)r;
		s->text[n] = 0;
	}
}

void server_start(struct server *s, uint16_t port, const char *const *options)
{
	const char *argv[16] = { "sim-world", "--listen", s->address };
	int log[2];

	for (unsigned i = 3; options && *options && i < 15; i++)
		argv[i] = *options++;
	snprintf(s->address, sizeof(s->address), "127.0.0.1:%u", port);
	s->text[0] = 0;
	assert_int_equal(pipe(log), 0);
	s->pid = fork();
	if (!s->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(log[1], STDERR_FILENO);
		execv(SIM_WORLD, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(log[1]);
	s->log = log[0];
	server_says(s, "listening on ");
	assert_int_equal(sscanf(strstr(s->text, "listening on "), "listening on %*[0-9.]:%hu", &s->port), 1);
	snprintf(s->address, sizeof(s->address), "127.0.0.1:%u", s->port);
}

static int end(struct server *s, int sig)
{
	int status = 0;

	assert_int_equal(kill(s->pid, sig), 0);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	close(s->log);
	return status;
}

int server_stop(struct server *s)
{
	return end(s, SIGTERM);
}

void server_kill(struct server *s)
{
	(void)end(s, SIGKILL);
}
