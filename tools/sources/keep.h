/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that outlive this process: simd gives each process of a rig a pair of sockets (SIMD_KEEP=FD,FD), and
 * keeps both ends open over restarts. A message sent into the first socket stays in the kernel until it is received
 * from the second, so descriptors in it stay open, and sockets connected, when the process is killed. It serves as
 * systemd's FDSTORE does, but without a request to the daemon.
 *
 * The set is replaced as a whole, and at any instant a complete set exists: the new set is sent before the old one is
 * taken out.
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
#define KEEP_WORDS 32 /* words of data in a set */

struct keep {
	int in, out; /* -1: no socket */
};

struct keep_set {
	uint64_t word[KEEP_WORDS];
	int fd[KEEP_FDS];
	unsigned n;
};

/*
 * Take the sockets that simd has given, and remove them from the environment, so that children do not inherit them.
 * False: simd has given none.
 */
bool keep_open(struct keep *k);
/*
 * Read the kept set, which stays kept. ret->fd: owned by the caller, who closes them. Returns 1; 0: no set is kept;
 * negative errno, see err_why().
 */
int keep_look(struct keep *k, struct keep_set *ret);
/* Replace the kept set. Borrows the descriptors. On negative errno (see err_why()) the earlier set is still kept. */
int keep_put(struct keep *k, const struct keep_set *set);
/* Take out all that is kept. */
void keep_clear(struct keep *k);
void keep_close(struct keep *k); /* the set stays kept */

#endif
