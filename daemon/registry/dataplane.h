/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generations of the data plane in the registry. supervise/ decides when one ends and passes the next one, already
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

/*
 * A generation begins. Owns ipc. generation: never 0, ascending. If this fails, the generation is ended again
 * (dataplane_lost()).
 */
int dataplane_up(struct simd *s, struct ipc *ipc, uint32_t generation);
/* Sets the pools that the first generation really has; to be called before its dataplane_up(). */
void dataplane_set_pools(struct simd *s, const struct pools *pools);
/* Sets what GetInfo reports of RouDi. pid 0: no RouDi. */
void dataplane_set_roudi(struct simd *s, pid_t pid, bool owned, bool robust);
/* RouDi has exited: messages in flight finish, all else is refused with -ESTALE until dataplane_up(). */
void dataplane_lost(struct simd *s, const char *why);
/* Dispatch has released a subscriber of that generation. */
void dataplane_sub_free(struct simd *s, struct ipc_sub *sub, uint32_t generation);
/* simd ends: detaches from all generations. */
void dataplane_finish(struct simd *s);

#endif
