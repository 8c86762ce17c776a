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

#include <stdint.h>
#include <sys/types.h>

struct simd;

#define REAPER_APP_MAX 112

/* Free what the application has in that generation, once the process has exited. app: copied, under REAPER_APP_MAX. */
void reaper_watch(struct simd *s, pid_t pid, uint32_t generation, const char *app);
/* Free what the processes have left that have exited, without waiting for the loop. */
void reaper_run(struct simd *s);
/* Forget the processes that are still waited for. */
void reaper_finish(struct simd *s);

#endif
