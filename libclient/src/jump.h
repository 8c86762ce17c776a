/* SPDX-License-Identifier: Apache-2.0 */
/* Private: Jumps of the clock and who is notified. */
#ifndef SRC_JUMP_H
#define SRC_JUMP_H

#include <sim/clock.h>

#include "client.h"

/* A jump, as simd's event reports it, or found at a new session. Under lock. */
void jump_note(struct sim_client *c, const struct sim_clock_jump *j);
/* Some have not been notified yet. Under lock. */
bool jumps_pending(const struct sim_client *c);
/* Call those who wait for it. No lock held. Returns how many calls. */
int jumps_run(struct sim_client *c);
void jumps_finish(struct sim_client *c);

#endif
