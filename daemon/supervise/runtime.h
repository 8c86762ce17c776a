/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime directory, and the directory of its data plane (plane.h), which is named after it: any number of simd share a machine, and
 * one has each. The lock that says so lies in the plane, where it is seen whatever link or mount the runtime directory is reached by.
 *
 * Thread: simd-main, at start and end.
 */
#ifndef SUPERVISE_RUNTIME_H
#define SUPERVISE_RUNTIME_H

#include "plane.h"

struct runtime {
	char *dir;           /* "/run/simd" */
	char *socket;        /* "<dir>/control" */
	char *state;         /* "<dir>/state.json" */
	char own[PLANE_MAX]; /* "/dev/shm/simd-<hash of dir>", or its next name where another user has that: the lock, and the plane of a RouDi that simd starts */
	const char *plane;   /* of the RouDi that is used: own, or "" */
	int lock_fd, plain_fd; /* plain_fd: for the RouDi of the plain names, which serves one simd */
};

/*
 * dir: what was asked for; NULL or "": the first of the usual places that works. Makes the directory. It must be the user's own
 * (-EACCES) and writable by nobody else (-EPERM), for root the directories above it too (trust.h); the one in /tmp is made 0700.
 */
int runtime_init(struct runtime *rt, const char *dir);
/* The plane that a simd of this runtime directory, as of runtime_init(), has or had; "": there is no such directory. Makes nothing. */
void runtime_plane_of(const char *dir, char ret[PLANE_MAX]);
/* -ENOENT: this machine has no directory for data planes; err_why() says how to get one. */
int runtime_check_base(void);
/*
 * Makes the plane's directory, open to simd's group alone, and takes the lock in it. external: RouDi is somebody else's, of the plain names.
 * -EBUSY: another simd has it; the sentence names that one, and where two runtime directories have got the same name, both. What other
 * users have put in the place of all its names is in the way of all but root.
 */
int runtime_lock(struct runtime *rt, bool external);
/* The lock for the external RouDi, where nobody has it, so that what a simd that was killed has left of it goes at the end. */
void runtime_clear_external(struct runtime *rt);
/* Removes the plane, unless its RouDi lives on, and the runtime directory when it is empty. */
void runtime_finish(struct runtime *rt);

#endif
