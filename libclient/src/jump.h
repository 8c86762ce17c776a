/* SPDX-License-Identifier: Apache-2.0 */
/* Private: jumps of the clock and their handlers. */
#ifndef SRC_JUMP_H
#define SRC_JUMP_H

#include <sim/clock.h>

#include "client.h"

/* Queues a jump that simd's event reports, or that is found at a new session. Under lock. */
void jump_note(struct sim_client *c, const struct sim_clock_jump *j);
/* Whether handlers have not been notified of some jumps. Under lock. */
bool jumps_pending(const struct sim_client *c);
/* Calls the handlers that are due. No lock held. Returns how many calls. */
int jumps_run(struct sim_client *c);
void jumps_finish(struct sim_client *c);

#endif
