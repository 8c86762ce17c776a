/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lives of the data plane as core sees them. supervise decides when one ends and brings the next, already
 * attached; core moves the channels over and tells dispatch, the clock and the clients.
 *
 * Thread: simd-main.
 */
#ifndef CORE_PLANE_H
#define CORE_PLANE_H

#include <stdint.h>

struct ipc;
struct ipc_sub;
struct simd;

/* A life begins. ipc: takes. generation: never 0, ascending. On failure the life is over again (plane_lost). */
int plane_up(struct simd *s, struct ipc *ipc, uint32_t generation);
/* RouDi is gone: slots in flight finish, everything else is refused with -ESTALE until plane_up(). */
void plane_lost(struct simd *s, const char *why);
/* Dispatch has given a subscriber of that life back. */
void plane_sub_free(struct simd *s, struct ipc_sub *sub, uint32_t generation);
/* End of simd: detach from everything. */
void plane_finish(struct simd *s);

#endif
