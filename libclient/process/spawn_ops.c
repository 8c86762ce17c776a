/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real spawn_ops, by fork(). The child calls only functions that are safe after a fork of a process with threads;
 * everything that needs memory (path, environment) is prepared before. The child reports a failed exec through a
 * close-on-exec pipe; the pipe closes when exec succeeds, so that start() knows the result. Thread: the parent's main
 * thread.
 */
#include "spawn_ops.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct prepared {
	char *path;
	const char **env;
	/* JOURNAL_STREAM=device:inode of `out`: makes simd's programs write the level of each line, "<4>text" */
	char journal[64];
	char keep[48]; /* SIMD_KEEP=FD,FD */
	int out;       /* child's stdout and stderr */
	int status[2]; /* errno of a failed exec */
	pid_t parent;
	const struct rlimit *files; /* NULL: as the parent's */
};

/* ---- before the fork ---- */

int spawn_find(const char *name, const char *beside, char **ret)
{
	const char *path = getenv("PATH"), *colon;
	char *full = strchr(name, '/') ? mem_strdup(name) : mem_printf("%s/%s", beside ? beside : ".", name);

	if (!full)
		return err_nomem();
	if (strchr(name, '/') || (beside && access(full, X_OK) == 0)) {
		*ret = full;
		return 0;
	}
	mem_free(full);
	for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p; p = *colon ? colon + 1 : colon) {
		colon = strchrnul(p, ':');
		if (colon == p)
			continue;
		full = mem_printf("%.*s/%s", (int)(colon - p), p, name);
		if (!full)
			return err_nomem();
		if (access(full, X_OK) == 0) {
			*ret = full;
			return 0;
		}
		mem_free(full);
	}
	return beside ? err_set(-ENOENT, "%s: no such program in %s or PATH", name, beside)
		      : err_set(-ENOENT, "%s: no such program in PATH", name);
}

static bool same_variable(const char *a, const char *b)
{
	size_t n = strcspn(b, "=");

	return strncmp(a, b, n) == 0 && (a[n] == '=' || !a[n]);
}

/* Returns the parent's environment with the changes; NULL: no memory. The strings are borrowed. */
static const char **make_env(const char *const *changes)
{
	size_t n = 0, m = 0, k = 0;
	const char **env;

	while (environ[n])
		n++;
	while (changes && changes[m])
		m++;
	env = (const char **)mem_calloc(n + m + 3, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		bool changed = same_variable(environ[i], "JOURNAL_STREAM") || /* describe the parent, not the child */
			       same_variable(environ[i], "SIMD_KEEP");

		for (size_t j = 0; j < m; j++)
			changed |= same_variable(environ[i], changes[j]);
		if (!changed)
			env[k++] = environ[i];
	}
	for (size_t j = 0; j < m; j++) {
		if (strchr(changes[j], '='))
			env[k++] = changes[j];
	}
	return env;
}

/* Appends a variable; make_env() has left room for two. */
static void add_variable(struct prepared *p, const char *variable)
{
	size_t n = 0;

	while (p->env[n])
		n++;
	p->env[n] = variable;
}

static void name_stream(struct prepared *p)
{
	struct stat st;

	if (fstat(p->out, &st) < 0)
		return;
	snprintf(p->journal, sizeof(p->journal), "JOURNAL_STREAM=%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	add_variable(p, p->journal);
}

static void name_kept(struct prepared *p, const int *keep)
{
	snprintf(p->keep, sizeof(p->keep), "SIMD_KEEP=%d,%d", keep[0], keep[1]);
	add_variable(p, p->keep);
}

/*
 * Opens a new file for the child's output. The output of the previous child may explain its death, so that file is kept
 * as PATH.1.
 */
static int open_file(const char *path)
{
	char before[PATH_MAX];
	int fd;

	if (snprintf(before, sizeof(before), "%s.1", path) >= (int)sizeof(before))
		return err_set(-ENAMETOOLONG, "%s: its name is too long", path);
	if (rename(path, before) < 0 && errno != ENOENT)
		return err_sys(-errno, "%s: cannot be put aside as %s", path, before);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	return fd < 0 ? err_sys(-errno, "%s: cannot be written", path) : fd;
}

static int open_output(const struct spawn *s, struct prepared *p, int *ret_ours)
{
	int fds[2];

	*ret_ours = -1;
	if (s->output) {
		p->out = open_file(s->output);
		return p->out < 0 ? p->out : 0;
	}
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(-errno, "cannot make a pipe");
	*ret_ours = fds[0];
	p->out = fds[1];
	name_stream(p);
	return fd_set_nonblock(fds[0], true);
}

/* ---- in the child: no memory, no locks ---- */

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void child(const struct spawn *s, const struct prepared *p)
{
	int null = open("/dev/null", O_RDONLY), e;

	setsid();
	reset_signals();
	if (!s->outlive) {
		prctl(PR_SET_PDEATHSIG, s->death_signal ? s->death_signal : SIGTERM);
		if (getppid() != p->parent) /* the parent died before prctl() */
			_exit(1);
	}
	if (s->nice)
		(void)setpriority(PRIO_PROCESS, 0, s->nice);
	if (p->files)
		(void)setrlimit(RLIMIT_NOFILE, p->files);
	dup2(null, STDIN_FILENO);
	dup2(p->out, STDOUT_FILENO);
	dup2(p->out, STDERR_FILENO);
	if (s->dir && *s->dir && chdir(s->dir) < 0)
		goto fail;
	/* libraries may have opened descriptors without close-on-exec */
	(void)syscall(SYS_close_range, 3u, ~0u, 1u << 2 /* CLOSE_RANGE_CLOEXEC */);
	for (int i = 0; s->keep && i < 2; i++)
		(void)fcntl(s->keep[i], F_SETFD, 0);
	execve(p->path, (char *const *)(uintptr_t)s->argv, (char *const *)(uintptr_t)p->env);
fail:
	e = errno;
	(void)!write(p->status[1], &e, sizeof(e));
	_exit(127);
}

/* ---- start ---- */

static int exec_result(const struct spawn *s, const struct prepared *p)
{
	int e = 0;
	ssize_t n;

	do
		n = read(p->status[0], &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	return n == sizeof(e) ? err_sys(-e, "%s cannot be started", s->argv[0]) : 0;
}

static int fork_child(const struct spawn *s, struct prepared *p, struct spawned *ret)
{
	pid_t pid;
	int r;

	if (pipe2(p->status, O_CLOEXEC) < 0)
		return err_sys(-errno, "cannot make a pipe");
	p->parent = getpid();
	pid = fork();
	if (pid == 0)
		child(s, p);
	r = pid < 0 ? err_sys(-errno, "%s: cannot fork", s->argv[0]) : 0;
	p->status[1] = fd_close(p->status[1]);
	if (r == 0) {
		r = exec_result(s, p);
		if (r == 0) {
			ret->pidfd = fd_pidfd_open(pid);
			r = ret->pidfd < 0 ? ret->pidfd : 0;
		}
		if (r < 0) {
			kill(pid, SIGKILL);
			(void)waitpid(pid, NULL, 0);
		}
	}
	fd_close(p->status[0]);
	ret->pid = pid;
	return r;
}

/*
 * Checks that no other user can change the program, if this process runs as root (trust.h). A relative path is resolved
 * as execve() does after chdir(dir).
 */
static int check_trust(const char *path, const char *dir)
{
	char *full = *path != '/' && dir && *dir ? mem_printf("%s/%s", dir, path) : mem_strdup(path);
	int r = full ? trust_check(full) : err_nomem();

	mem_free(full);
	return r;
}

static int real_start(void *user, const struct spawn *s, struct spawned *ret)
{
	struct prepared p = { .out = -1, .files = (const struct rlimit *)user };
	struct spawned done = { .pidfd = -1, .out_fd = -1 };
	int r;

	r = spawn_find(s->argv[0], NULL, &p.path);
	if (r == 0)
		r = check_trust(p.path, s->dir);
	if (r == 0) {
		p.env = make_env(s->env);
		r = p.env ? open_output(s, &p, &done.out_fd) : err_nomem();
	}
	if (r == 0 && s->keep)
		name_kept(&p, s->keep);
	if (r == 0)
		r = fork_child(s, &p, &done);
	fd_close(p.out);
	mem_free(p.env);
	mem_free(p.path);
	if (r < 0) {
		fd_close(done.out_fd);
		return r;
	}
	*ret = done;
	return 0;
}

/* ---- signals and the end ---- */

static int real_signal(void *user, pid_t pid, int pidfd, int sig, bool group)
{
	(void)user;
	if (!group)
		return fd_pidfd_kill(pidfd, sig);
	return kill(-pid, sig) < 0 ? -errno : 0;
}

static int real_reap(void *user, pid_t pid, int pidfd, int *ret_status)
{
	siginfo_t info = { 0 };

	(void)user;
	(void)pidfd;
	/* until the zombie is reaped, its pid, and so the id of its process group, is not reused */
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
		return -errno;
	(void)kill(-pid, SIGKILL);
	return waitpid(pid, ret_status, 0) < 0 ? -errno : 0;
}

const struct spawn_ops spawn_real = { .start = real_start, .signal = real_signal, .reap = real_reap };

const char *spawn_status_text(int status, char *buf, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(buf, size, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(buf, size, "exit code %d", WEXITSTATUS(status));
	return buf;
}
