/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor: which GPUs can copy images into slots. A driver may crash or hang while it is queried, so libsimreadback
 * queries each one in a child process, all in parallel and with a time limit. Thread: main.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sim/readback.h>

#include "doctor.h"
#include "fd.h"
#include "proc_cpu.h"
#include "timeutil.h"

#define LIBRARY      "libsimreadback.so.0"
#define LOOK_DUR_NS  (10 * NS_PER_S) /* a driver compiles at its first start, and reads its cache */
#define SPARE_DUR_NS (60 * NS_PER_S) /* extra time while an overloaded machine gives the child no CPU */
#define TEXT_MAX     600u
#define NO_LIBRARY   3 /* exit codes of the child; 0: a GPU was found, 1: no GPU; the text follows */

static const struct {
	enum sim_readback_backend backend;
	const char *name;
} BACKENDS[] = { { SIM_READBACK_VULKAN, "vulkan" }, { SIM_READBACK_GLES, "gles" }, { SIM_READBACK_CUDA, "cuda" } };

#define BACKENDS_N (sizeof(BACKENDS) / sizeof(BACKENDS[0]))

/* ---- in the child ---- */

static _Noreturn void look(enum sim_readback_backend backend, int to)
{
	int (*describe)(enum sim_readback_backend, char *, size_t) = NULL;
	const char *(*why)(void) = NULL;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), r;
	char text[TEXT_MAX] = "";
	void *lib;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(null, STDOUT_FILENO); /* drivers print messages */
	(void)dup2(null, STDERR_FILENO);
	lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (lib) {
		*(void **)&describe = dlsym(lib, "sim_readback_describe");
		*(void **)&why = dlsym(lib, "sim_readback_why");
	}
	if (!describe || !why)
		_exit(NO_LIBRARY);
	r = describe(backend, text, sizeof(text));
	if (r < 0)
		snprintf(text, sizeof(text), "%s", why());
	(void)!write(to, text, strlen(text));
	_exit(r < 0);
}

/* ---- in the parent ---- */

/* Reads the child's text until it ends or time is up. */
static void read_all(int from, char text[TEXT_MAX], struct proc_wait *w)
{
	size_t n = 0;
	ssize_t got = 1;

	while (got > 0 && n < TEXT_MAX - 1 && !proc_wait_over(w, mono_now_ns())) {
		if (fd_wait(from, POLLIN, proc_wait_until(w) - mono_now_ns()) != 1)
			continue;
		got = read(from, text + n, TEXT_MAX - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	text[n] = 0;
}

/* Returns the child's wait status; -1: it did not end in time and was killed. */
static int end(pid_t pid, struct proc_wait *w)
{
	int fd = fd_pidfd_open(pid), status = 0;
	bool ended = false;

	while (fd >= 0 && !ended && !proc_wait_over(w, mono_now_ns()))
		ended = fd_pidfd_wait(fd, proc_wait_until(w) - mono_now_ns()) == 1;
	if (!ended)
		(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	if (fd >= 0)
		close(fd);
	return ended ? status : -1;
}

static void judge(struct doctor *d, const char *name, int status, const char *text)
{
	if (status < 0)
		doctor_find(d, "gpu", DOCTOR_WARN, "%s: its driver did not answer within 10 s: cameras cannot use it",
			    name);
	else if (WIFSIGNALED(status))
		doctor_find(d, "gpu", DOCTOR_WARN,
			    "%s: its driver crashed while it was looked at (%s): cameras cannot use it", name,
			    strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == NO_LIBRARY)
		doctor_find(d, "gpu", DOCTOR_WARN, "%s: " LIBRARY " cannot be loaded: install it beside libsimclient",
			    name);
	else if (WEXITSTATUS(status) != 0)
		doctor_find(d, "gpu", DOCTOR_FINE, "no GPU by %s, which only cameras need: %s", name, text);
	else
		doctor_find(d, "gpu", DOCTOR_FINE, "%s: %s", name, text);
}

/* Returns a pipe with the child's output; -1: no child was started. */
static int start(enum sim_readback_backend backend, pid_t *ret_pid)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	(void)fflush(NULL);
	*ret_pid = fork();
	if (*ret_pid == 0)
		look(backend, pair[1]);
	close(pair[1]);
	return *ret_pid > 0 ? pair[0] : fd_close(pair[0]);
}

void doctor_check_gpus(struct doctor *d)
{
	struct proc_wait w = { 0 };
	int from[BACKENDS_N];
	pid_t pid[BACKENDS_N];
	char text[TEXT_MAX];

	for (size_t i = 0; i < BACKENDS_N; i++)
		from[i] = start(BACKENDS[i].backend, &pid[i]);
	proc_wait_begin(&w, mono_now_ns(), LOOK_DUR_NS, SPARE_DUR_NS);
	for (size_t i = 0; i < BACKENDS_N; i++) {
		if (from[i] < 0)
			continue;
		w.pid[0] = pid[i];
		w.looked = false;
		read_all(from[i], text, &w);
		judge(d, BACKENDS[i].name, end(pid[i], &w), text);
		close(from[i]);
	}
}
