/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that outlive this process: simd gives each process of a rig a pair of sockets (SIMD_KEEP=FD,FD) whose
 * both ends it keeps open over restarts. What is sent into the first stays in the kernel until it is taken out of the second, so
 * sockets in there stay open, and connected, when the process is killed. As systemd's FDSTORE, without its daemon's help.
 *
 * The set is replaced as a whole, and at any instant there is a whole one: the new set is sent before the old one is taken out.
 *
 * Thread: one at a time.
 */
#ifndef SOURCES_KEEP_H
#define SOURCES_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fd.h"

#define KEEP_FDS   FD_PASS_MAX
#define KEEP_WORDS 32 /* that a set may say of itself */

struct keep {
	int in, out; /* -1: there is none */
};

struct keep_set {
	uint64_t word[KEEP_WORDS];
	int fd[KEEP_FDS];
	unsigned n;
};

/* What simd has given us; takes it out of the environment, so that children of ours do not have it. False: nothing. */
bool keep_open(struct keep *k);
/* The set that is in there; it stays there. ret->fd: returns, close. 1; 0: there is none; negative with a sentence. */
int keep_look(struct keep *k, struct keep_set *ret);
/* Replace it. Borrows the descriptors. Negative with a sentence: the one of before is still there. */
int keep_put(struct keep *k, const struct keep_set *set);
/* Take out whatever is in there. */
void keep_clear(struct keep *k);
void keep_close(struct keep *k); /* the set stays */

#endif
