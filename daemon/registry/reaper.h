/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client leaves in the data plane. A hang-up means that the socket is closed, not that the process has stopped
 * touching shared memory: its ports and slots are freed when its pidfd says that it has exited (at once, as a rule: the
 * kernel closes the sockets of a killed process after its memory).
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_REAPER_H
#define REGISTRY_REAPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct simd;

#define REAPER_APP_MAX 112
#define REAPER_APPS    16 /* of one process; iceoryx lets it attach 15 times */
#define REAPERS_MAX    512

/* Of a client whose session has ended. */
struct remains {
	char app[REAPER_APP_MAX]; /* its name in the data plane */
	uint32_t generation;      /* in which it has its ports */
	pid_t pid;
	bool attached; /* it has said so; else that is its name if it has */
	bool unclean;  /* it has not said Goodbye: a thread of it may have been anywhere inside the data plane */
	uint32_t n_channels;
	uint32_t channels[]; /* numbers of those that it published on then */
};

/* RouDi has been told to free the ports, in the present generation. Borrows. */
typedef void (*reaper_fn)(struct simd *s, const struct remains *m);

/*
 * Free its ports and slots once the process has exited, and then call freed. m: takes, mem_free(). Where that cannot be, or
 * the generation has ended before, freed is not called.
 *
 * A process is watched once, however many sessions of it have ended, for REAPER_APPS of them; REAPERS_MAX processes are. Room is
 * made by forgetting what another end of the same name has made needless, and then those that never attached.
 */
void reaper_watch(struct simd *s, struct remains *m, reaper_fn freed);
/* simd_ops::free_app of that application has ended. */
void reaper_freed(struct simd *s, const char *app, bool ok);
/* Free what the processes have left that have exited, without waiting for the loop. */
void reaper_run(struct simd *s);
/* Forget the processes that are still waited for. */
void reaper_finish(struct simd *s);

#endif
