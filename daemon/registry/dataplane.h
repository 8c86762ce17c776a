/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generations of the data plane as the registry sees them. supervise decides when one ends and brings the next, already
 * attached; the registry moves the channels over and notifies dispatch, the clock and the clients.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_DATAPLANE_H
#define REGISTRY_DATAPLANE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ipc;
struct ipc_sub;
struct pools;
struct simd;

/* A generation begins. ipc: takes. generation: never 0, ascending. On failure it is over again (dataplane_lost). */
int dataplane_up(struct simd *s, struct ipc *ipc, uint32_t generation);
/* What the first generation really has: before its dataplane_up(). */
void dataplane_set_pools(struct simd *s, const struct pools *pools);
/* What GetInfo reports of RouDi. pid 0: none. */
void dataplane_set_roudi(struct simd *s, pid_t pid, bool owned, bool robust);
/* RouDi has exited: slots in flight finish, everything else is refused with -ESTALE until dataplane_up(). */
void dataplane_lost(struct simd *s, const char *why);
/* Dispatch has released a subscriber of that generation. */
void dataplane_sub_free(struct simd *s, struct ipc_sub *sub, uint32_t generation);
/* End of simd: detach from everything. */
void dataplane_finish(struct simd *s);

#endif
