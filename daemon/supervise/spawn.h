/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting, signalling and reaping child processes, behind a table, so that scenario tests supervise
 * processes that do not exist.
 *
 * A child gets a session of its own (a Ctrl-C reaches simd alone, which stops children in order), default
 * signals, no descriptors of ours and the limit of them that simd itself was started with, and SIGTERM when simd dies,
 * unless it is to outlive simd. Run as root, programs that others can change are refused (trust.h).
 *
 * Thread: simd-main, which must be the thread that runs as long as simd (the kernel ties the death signal
 *         to the thread that forked).
 */
#ifndef SUPERVISE_SPAWN_H
#define SUPERVISE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
	const char *const *argv; /* NULL ends; argv[0] a path, or a name to be found in PATH */
	const char *const *env;  /* "NAME=value", or "NAME" to unset; NULL ends; NULL: nothing to change */
	const char *dir;         /* NULL or "": ours */
	const char *output;      /* file for its output; what is there already becomes <output>.1; NULL: a pipe to us */
	bool outlive;            /* no death signal */
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
 * Path of a program: a name with a slash as it is, a bare one beside simd (NULL: not there), then in PATH. -ENOENT with a
 * sentence. ret: returns, mem_free().
 */
int spawn_find(const char *name, const char *beside, char **ret);

/* The real ones. user: const struct rlimit *, RLIMIT_NOFILE of the children; NULL: as ours. */
extern const struct spawn_ops spawn_real;

/* "exit code 3", "killed by signal 11 (Segmentation fault)". */
const char *spawn_status_text(int status, char *buf, size_t size);

#endif
