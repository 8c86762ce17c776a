/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime directory, and the directory of its data plane (plane.h), which is named after it: any number of simds
 * can run on a machine, each with a runtime directory of its own. The lock that ensures this is in the plane, where
 * every simd finds it, whatever link or mount the runtime directory is reached by.
 *
 * Thread: simd-main, at start and end.
 */
#ifndef SUPERVISE_RUNTIME_H
#define SUPERVISE_RUNTIME_H

#include "plane.h"

struct runtime {
	char *dir;    /* "/run/simd" */
	char *socket; /* "<dir>/control" */
	char *state;  /* "<dir>/state.json" */
	/* "/dev/shm/simd-<hash of dir>" or a further name: has the lock, and the files of a RouDi that simd starts */
	char own[PLANE_MAX];
	const char *plane;     /* plane of the RouDi that is used: own, or "" */
	int lock_fd, plain_fd; /* plain_fd: lock for the external RouDi with the default names, which serves one simd */
};

/*
 * dir: the requested directory; NULL or "": the first of the usual places that works. Makes the directory. It must
 * belong to the user (-EACCES) and be writable by no other user (-EPERM); for root also the directories above it
 * (trust.h). The one in /tmp gets mode 0700.
 */
int runtime_init(struct runtime *rt, const char *dir);
/*
 * The plane that a simd of this runtime directory (as for runtime_init()) uses or used; "": the directory does not
 * exist. Creates nothing.
 */
void runtime_plane_of(const char *dir, char ret[PLANE_MAX]);
/* -ENOENT: this machine has no directory for data planes; err_why() says how to get one. */
int runtime_check_base(void);
/*
 * Makes the plane's directory, open to simd's group only, and takes the lock in it. external: RouDi is not started by
 * simd and has the default names. -EBUSY: another simd holds the lock; err_why() names it, and both runtime directories
 * if they have the same plane name. Fails if other users have made files in place of all its names, unless simd runs as
 * root.
 */
int runtime_lock(struct runtime *rt, bool external);
/* Takes the lock for the external RouDi if it is free, so that runtime_finish() removes a killed simd's leftovers. */
void runtime_clear_external(struct runtime *rt);
/* Removes the plane, unless its RouDi still runs, and the runtime directory if it is empty. */
void runtime_finish(struct runtime *rt);

#endif
