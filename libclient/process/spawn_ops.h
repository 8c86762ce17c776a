/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting, signalling and reaping child processes, behind a table, so that tests supervise processes that do not exist.
 *
 * A child gets a session of its own (a Ctrl-C reaches its parent alone, which stops children in order), default
 * signals, no descriptors of ours, and a death signal when its parent dies, unless it is to outlive it. Run as root, programs
 * that others can change are refused (trust.h).
 *
 * Thread: one, which must be the thread that runs as long as the process (the kernel ties the death signal
 *         to the thread that forked).
 */
#ifndef BASE_SPAWN_OPS_H
#define BASE_SPAWN_OPS_H

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
	const char *const *argv; /* NULL ends; argv[0] a path, or a name to be found in PATH */
	const char *const *env;  /* "NAME=value", or "NAME" to unset; NULL ends; NULL: nothing to change */
	const char *dir;         /* NULL or "": ours */
	const char *output;      /* file for its output; what is there already becomes <output>.1; NULL: a pipe to us */
	bool outlive;            /* no death signal */
	int death_signal;        /* 0: SIGTERM */
	int nice;                /* 0: ours; what is not permitted is left as it is */
	const int *keep;         /* two descriptors that it inherits as they are, SIMD_KEEP names them; NULL: none */
};

struct spawned {
	pid_t pid;
	int pidfd;  /* readable when it has exited; close */
	int out_fd; /* its stdout and stderr, non-blocking; -1: a file was asked for; close */
};

struct spawn_ops {
	int (*start)(void *user, const struct spawn *s, struct spawned *ret);
	/* group: the whole session of it. */
	int (*signal)(void *user, pid_t pid, int pidfd, int sig, bool group);
	/* After pidfd was readable: wait status as of waitpid(). What is left of its session is killed. */
	int (*reap)(void *user, pid_t pid, int pidfd, int *ret_status);
};

/*
 * Path of a program: a name with a slash as it is, a bare one in the directory `beside` (NULL: none), then in PATH. -ENOENT
 * with a sentence. ret: returns, mem_free().
 */
int spawn_find(const char *name, const char *beside, char **ret);

/* The real ones. user: const struct rlimit *, RLIMIT_NOFILE of the children; NULL: as ours. */
extern const struct spawn_ops spawn_real;

/* "exit code 3", "killed by signal 11 (Segmentation fault)". */
const char *spawn_status_text(int status, char *buf, size_t size);

#endif
