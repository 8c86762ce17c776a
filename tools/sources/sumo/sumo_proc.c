/* SPDX-License-Identifier: Apache-2.0 */
/* Start, watch and end a sumo process. See sumo_proc.h. */
#include "sumo_proc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 2048 /* bytes kept of what sumo printed */

struct sumo_proc {
	pid_t pid;
	int pidfd;
	int err_fd; /* read end of its stdout and stderr */
	uint16_t port;
	size_t words_len;
	char words[WORDS_MAX + 1];
};

/* Returns a port that is free now. If another process takes it before sumo does, sumo exits, and the caller notices. */
static int free_port(uint16_t *ret)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd, r = 0;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		r = -errno;
	else
		*ret = ntohs(a.sin_port);
	close(fd);
	return r;
}

/* In the child: only async-signal-safe calls. Never returns. */
static _Noreturn void child(char *const argv[], int out_fd, pid_t parent)
{
	sigset_t none;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* the parent died before the prctl */
		_exit(127);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)dup2(out_fd, STDOUT_FILENO);
	(void)dup2(out_fd, STDERR_FILENO);
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "cannot run %s: %s (the Debian package is named sumo)", argv[0], strerror(errno));
	_exit(127);
}

/* The write end is non-blocking: if the pipe is full, sumo loses lines instead of waiting. */
static int spawn(struct sumo_proc *p, char *const argv[])
{
	pid_t parent = getpid();
	int fds[2], null_fd, r;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	p->pid = fork();
	if (p->pid == 0) {
		if (null_fd >= 0)
			(void)dup2(null_fd, STDIN_FILENO);
		child(argv, fds[1], parent);
	}
	r = p->pid < 0 ? -errno : 0;
	close(fds[1]);
	if (null_fd >= 0)
		close(null_fd);
	p->err_fd = fds[0];
	if (r < 0)
		return r;
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0u);
	return p->pidfd < 0 ? -errno : 0;
}

static int check(const struct sumo_proc_options *o, char *why)
{
	int64_t ms = o->step_dur_ns / 1000000;

	if (ms < 1 || ms > 1000 || o->step_dur_ns % 1000000) {
		snprintf(why, SUMO_WHY_MAX, "step of %lld ns: give whole milliseconds, 1 to 1000",
			 (long long)o->step_dur_ns);
		return -EINVAL;
	}
	if (access(o->config, R_OK) < 0) {
		int r = -errno;

		snprintf(why, SUMO_WHY_MAX, "scenario %.300s: %s; name a .sumocfg file that can be read", o->config,
			 strerror(-r));
		return r;
	}
	return 0;
}

int sumo_proc_start(const struct sumo_proc_options *o, struct sumo_proc **ret, char *why)
{
	char port[8], step[16], seed[16];
	char *argv[] = { (char *)o->binary,
			 "--configuration-file",
			 (char *)o->config,
			 "--remote-port",
			 port,
			 "--step-length",
			 step,
			 "--seed",
			 seed,
			 "--random", /* else it takes a random seed */
			 "false",
			 "--num-clients", /* else it waits for another client */
			 "1",
			 "--no-internal-links", /* else vehicles jump over junctions */
			 "false",
			 "--mesosim", /* in which vehicles do not move between two events */
			 "false",
			 "--no-warnings",
			 "true",
			 "--no-step-log",
			 "true",
			 "--xml-validation",
			 "never",
			 "--xml-validation.net",
			 "never",
			 "--end",
			 "-1",
			 NULL };
	struct sumo_proc *p;
	int r;

	r = check(o, why);
	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->pidfd = p->err_fd = -1;
	r = free_port(&p->port);
	if (r < 0) {
		snprintf(why, SUMO_WHY_MAX, "no free port on 127.0.0.1: %s", strerror(-r));
		goto err;
	}
	snprintf(port, sizeof(port), "%u", p->port);
	snprintf(step, sizeof(step), "%d.%03d", (int)(o->step_dur_ns / 1000000000),
		 (int)(o->step_dur_ns / 1000000 % 1000));
	snprintf(seed, sizeof(seed), "%u", o->seed & 0x7fffffffu);
	r = spawn(p, argv);
	if (r < 0) {
		snprintf(why, SUMO_WHY_MAX, "cannot start %.200s: %s", o->binary, strerror(-r));
		goto err;
	}
	*ret = p;
	return 0;
err:
	sumo_proc_destroy(p, 0);
	return r;
}

static void reap(struct sumo_proc *p, int grace_ms)
{
	struct pollfd pfd = { .fd = p->pidfd, .events = POLLIN };

	if (p->pidfd < 0 || poll(&pfd, 1, grace_ms) < 1)
		(void)kill(p->pid, SIGKILL);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void sumo_proc_destroy(struct sumo_proc *p, int grace_ms)
{
	if (!p)
		return;
	if (p->pid > 0)
		reap(p, grace_ms);
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->err_fd >= 0)
		close(p->err_fd);
	free(p);
}

uint16_t sumo_proc_port(const struct sumo_proc *p)
{
	return p->port;
}

int sumo_proc_pidfd(const struct sumo_proc *p)
{
	return p->pidfd;
}

void sumo_proc_drain(struct sumo_proc *p)
{
	char buf[1024];
	ssize_t n;

	while ((n = read(p->err_fd, buf, sizeof(buf))) > 0) {
		size_t add = (size_t)n, keep = WORDS_MAX - add;

		if (p->words_len > keep) {
			memmove(p->words, p->words + p->words_len - keep, keep);
			p->words_len = keep;
		}
		memcpy(p->words + p->words_len, buf, add);
		p->words_len += add;
	}
}

const char *sumo_proc_last_words(struct sumo_proc *p)
{
	sumo_proc_drain(p);
	while (p->words_len && (p->words[p->words_len - 1] == '\n' || p->words[p->words_len - 1] == ' '))
		p->words_len--;
	p->words[p->words_len] = '\0';
	for (char *c = p->words; *c; c++) {
		if (*c == '\n')
			*c = ' '; /* newlines do not fit into a one-line sentence */
	}
	return p->words;
}
