/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime directory, and the lock that makes one simd of a machine's RouDi the only one: RouDi's names
 * are fixed in /tmp and /dev/shm, so the lock is in /tmp too, wherever the runtime directory is.
 *
 * Thread: simd-main, at start and end.
 */
#ifndef SUPERVISE_RUNTIME_H
#define SUPERVISE_RUNTIME_H

struct runtime {
	char *dir;    /* "/run/simd" */
	char *socket; /* "<dir>/control" */
	char *state;  /* "<dir>/state.json" */
	char *lock;   /* "/tmp/simd.lock" */
	int lock_fd;
};

/*
 * dir: what was asked for; NULL or "": the first of the usual places that works. Makes the directory. It must be the user's own
 * (-EACCES) and writable by nobody else (-EPERM), for root the directories above it too (trust.h); the one in /tmp is made 0700.
 */
int runtime_init(struct runtime *rt, const char *dir);
/*
 * -EBUSY: another simd has this machine's RouDi; the sentence names it, and who holds the lock. What others have put in its place,
 * or hold, without being a simd, is in the way of all but root.
 */
int runtime_lock(struct runtime *rt);
/* Removes the lock and, when it is empty, the directory. */
void runtime_finish(struct runtime *rt);

#endif
