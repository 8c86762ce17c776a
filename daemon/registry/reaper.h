/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes behind sessions, and what they leave in the data plane. A hang-up means that the socket is closed, not that
 * the process has stopped touching shared memory; nor does a socket that is open mean that the process lives: a child that it
 * forked may keep it. What counts is its pidfd: when that says that the process has exited, its sessions are over, and its
 * ports and slots are freed. Where there is none (a process in a pid namespace that simd does not see, on an old kernel) the
 * hang-up counts.
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
#define REAPER_REMAINS 32  /* of one process: iceoryx lets it attach 15 times */
#define REAPERS_IDLE   256 /* processes that live on without a session */

/* A process, for its first session and until it has exited or has left nothing. */
struct reaper {
	struct list link; /* simd::reapers */
	struct simd *s;
	pid_t pid;
	int fd; /* its pidfd; -1: there is none, or it has exited */
	struct exec_io io;
	uint32_t sessions;
	bool unclean, failed; /* a session of it has ended without Goodbye; something of it could not be freed */
	struct list remains;  /* remains::link */
	uint32_t n_remains;
};

/* RouDi has been told to free the ports, in the present generation. Borrows. */
typedef void (*reaper_fn)(struct simd *s, const struct remains *m);

/* Of a client: what it had under one name. */
struct remains {
	struct list link;
	char app[REAPER_APP_MAX]; /* its name in the data plane: of all attachments <app>.<n> */
	uint32_t generation;      /* in which it has its ports */
	bool unclean;    /* it has not said Goodbye: a thread of it may have been anywhere inside the data plane */
	bool freeing;    /* simd_ops::free_app was asked to */
	reaper_fn freed; /* not called where the generation has ended before; may be NULL */
	uint32_t n_channels;
	uint32_t channels[]; /* numbers of those that it published on then */
};

/*
 * The process that connected `sock` (borrowed) at that time, for one session more. -ESRCH: it has exited since. What cannot be
 * watched is refused: what it leaves could never be freed.
 */
int reaper_get(struct simd *s, pid_t pid, int sock, int64_t connected_mono_ns, struct reaper **ret);
/* It has left that: freed once it has exited. m: takes, mem_free(); NULL is fine. */
void reaper_add(struct reaper *r, struct remains *m);
/* Whether an ended session of it has had that name. */
bool reaper_has(const struct reaper *r, const char *app);
/* One of its sessions has ended. */
void reaper_put(struct reaper *r);
/* Whether it is known to have exited, or nothing but the hang-up could tell. */
bool reaper_is_over(const struct reaper *r);

/* simd_ops::free_app of that application has ended. */
void reaper_freed(struct simd *s, const char *app, bool ok);
/* See which processes have exited, without waiting for the loop. */
void reaper_run(struct simd *s);
/* Forget the processes that are still waited for. */
void reaper_finish(struct simd *s);

#endif
