/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes behind sessions, and what they leave in the data plane. A closed socket does not mean that the process
 * has stopped touching shared memory, and an open one does not mean that it lives: a child that it forked may keep it.
 * The pidfd decides: when it shows that the process has exited, its sessions end, and its ports and slots are freed.
 * Without a pidfd (a process in a pid namespace that simd does not see, on an old kernel) the closed socket counts.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_REAPER_H
#define REGISTRY_REAPER_H

#include "exec.h"
#include "list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct remains;
struct simd;

#define REAPER_APP_MAX 112
#define REAPER_REMAINS 32  /* per process: iceoryx lets it attach 15 times */
#define REAPERS_IDLE   256 /* processes that live on without a session */

/* A process, from its first session until it has exited or has left nothing. */
struct reaper {
	struct list link; /* simd::reapers */
	struct simd *s;
	pid_t pid;
	int fd; /* its pidfd; -1: none, or it has exited */
	struct exec_io io;
	uint32_t sessions;
	/* unclean: a session has ended without Goodbye; failed: some of its ports could not be freed */
	bool unclean, failed;
	struct list remains; /* remains::link */
	uint32_t n_remains;
};

/* RouDi has received the request to free the ports, in the present generation. Borrows. */
typedef void (*reaper_fn)(struct simd *s, const struct remains *m);

/* What a client had in the data plane under one name. */
struct remains {
	struct list link;
	char app[REAPER_APP_MAX]; /* its name in the data plane: stands for all attachments <app>.<n> */
	uint32_t generation;      /* generation of its ports */
	bool unclean;    /* it has not sent Goodbye: a thread of it may have died anywhere inside the data plane */
	bool freeing;    /* simd_ops::free_app was called */
	reaper_fn freed; /* not called if the generation has ended before; may be NULL */
	uint32_t n_channels;
	uint32_t channels[]; /* numbers of the channels that it published on */
};

/*
 * The process that connected `sock` (borrowed) at that time; adds a session. -ESRCH: it has exited since. A process
 * that simd cannot watch is refused, because its leftovers could never be freed.
 */
int reaper_get(struct simd *s, pid_t pid, int sock, int64_t connected_mono_ns, struct reaper **ret);
/*
 * Adds remains, which are freed when the process has exited. m: owned, mem_free(); NULL: no memory, so they cannot be
 * freed.
 */
void reaper_add(struct reaper *r, struct remains *m);
/* Whether an ended session of the process has had that name. */
bool reaper_has(const struct reaper *r, const char *app);
/* One of its sessions has ended. */
void reaper_put(struct reaper *r);
/* Whether it is known to have exited; true also if only the closed socket could tell. */
bool reaper_is_over(const struct reaper *r);

/* simd_ops::free_app of that application has finished. */
void reaper_freed(struct simd *s, const char *app, bool ok);
/* Checks which processes have exited, without waiting for the loop. */
void reaper_run(struct simd *s);
/* Forgets the processes that are still watched. */
void reaper_finish(struct simd *s);

#endif
