/* SPDX-License-Identifier: Apache-2.0 */
/* server.h */
#include "support/test.h"

#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
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
	server_start_at(s, -1, "127.0.0.1", port, options);
}

void server_start_at(struct server *s, int ns, const char *host, uint16_t port, const char *const *options)
{
	const char *argv[24] = { "sim-world", "--listen", s->address };
	int log[2];

	for (unsigned i = 3; options && *options && i < 23; i++)
		argv[i] = *options++;
	snprintf(s->address, sizeof(s->address), "%s:%u", host, port);
	s->text[0] = 0;
	assert_int_equal(pipe(log), 0);
	s->pid = fork();
	if (!s->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(log[1], STDERR_FILENO);
		if (ns >= 0 && setns(ns, CLONE_NEWNET) < 0)
			_exit(126);
		execv(SIM_WORLD, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(log[1]);
	s->log = log[0];
	server_says(s, "listening on ");
	assert_int_equal(sscanf(strstr(s->text, "listening on "), "listening on %*[0-9.]:%hu", &s->port), 1);
	snprintf(s->address, sizeof(s->address), "%s:%u", host, s->port);
}

/* ---- its control socket ---- */

static json_t *ask(const char *control, const char *method)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), len;
	char answer[8192] = "", call[100];
	size_t n = 0;
	ssize_t r;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", control);
	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	len = snprintf(call, sizeof(call), "{\"method\":\"io.simd.World.%s\"}", method) + 1;
	assert_int_equal(send(fd, call, (size_t)len, MSG_NOSIGNAL), len);
	while (!memchr(answer, 0, n) && (r = read(fd, answer + n, sizeof(answer) - 1 - n)) > 0)
		n += (size_t)r;
	close(fd);
	return json_loads(answer, 0, NULL);
}

void server_status(const char *control, struct server_status *ret)
{
	json_int_t tick = 0, connections = 0, clients = 0, objects = 0;
	json_t *answer = ask(control, "Status");
	const char *hash = "";

	assert_int_equal(json_unpack(answer, "{s:{s:{s:I,s:s,s:I,s:I,s:I}}}", "parameters", "world", "tick", &tick,
				     "hash", &hash, "connections", &connections, "clients", &clients, "objects",
				     &objects),
			 0);
	*ret = (struct server_status){ .tick = (uint64_t)tick,
				       .hash = strtoull(hash, NULL, 16),
				       .connections = (unsigned)connections,
				       .clients = (unsigned)clients,
				       .objects = (unsigned)objects };
	json_decref(answer);
}

bool server_sends_datagrams(const char *control, const char *name)
{
	json_t *answer = ask(control, "Clients"), *client;
	bool found = false;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(answer, "parameters"), "clients"), i, client)
		found |= !strcmp(json_string_value(json_object_get(client, "name")), name) &&
			 json_is_true(json_object_get(client, "datagrams"));
	json_decref(answer);
	return found;
}

/* ---- its end ---- */

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
