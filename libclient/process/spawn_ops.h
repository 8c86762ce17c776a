/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, signals and reaps child processes. The operations are behind a table, so that tests can supervise processes
 * that do not exist.
 *
 * A child gets a session of its own (a Ctrl-C reaches only the parent, which stops its children in order), default
 * signals, none of the parent's descriptors, and a death signal for the case that the parent dies, unless it is to
 * outlive it. When run as root, refuses programs that other users can change (trust.h).
 *
 * Thread: one, which must run as long as the process: the kernel sends the death signal when the thread that forked
 * ends.
 */
#ifndef BASE_SPAWN_OPS_H
#define BASE_SPAWN_OPS_H

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
	const char *const *argv; /* ended by NULL; argv[0] is a path, or a name to be searched in PATH */
	const char *const *env;  /* "NAME=value", or "NAME" to unset; ended by NULL; NULL: no changes */
	const char *dir;         /* NULL or "": the parent's */
	/* file for its output; an existing file becomes <output>.1; NULL: a pipe to the parent */
	const char *output;
	bool outlive;     /* no death signal */
	int death_signal; /* 0: SIGTERM */
	int nice;         /* 0: the parent's; ignored if not permitted */
	/* two descriptors that the child inherits under the same numbers; SIMD_KEEP names them; NULL: none */
	const int *keep;
};

struct spawned {
	pid_t pid;
	int pidfd;  /* readable when the child has exited; close */
	int out_fd; /* child's stdout and stderr, non-blocking; -1: a file was requested; close */
};

struct spawn_ops {
	int (*start)(void *user, const struct spawn *s, struct spawned *ret);
	/* group: signals all processes of the child's session. */
	int (*signal)(void *user, pid_t pid, int pidfd, int sig, bool group);
	/*
	 * Call when pidfd is readable. Returns the wait status as waitpid() does; kills the rest of the child's
	 * session.
	 */
	int (*reap)(void *user, pid_t pid, int pidfd, int *ret_status);
};

/*
 * Finds a program: a name with a slash is returned as it is; any other is searched in the directory `beside` (NULL:
 * none), then in PATH. -ENOENT: not found. ret: returns, mem_free().
 */
int spawn_find(const char *name, const char *beside, char **ret);

/* The real operations. user: const struct rlimit *, RLIMIT_NOFILE of the children; NULL: as the parent's. */
extern const struct spawn_ops spawn_real;

/* "exit code 3", "killed by signal 11 (Segmentation fault)". */
const char *spawn_status_text(int status, char *buf, size_t size);

#endif
