/* SPDX-License-Identifier: Apache-2.0 */
/* Private: timers of one client. Thread: as each function notes. */
#ifndef SRC_TIMER_H
#define SRC_TIMER_H

#include <sim/timer.h>

#include "client.h"

/* Called in sim_process(): runs what is due, unless the client takes part in steps. Returns how many ran. */
int timers_run(struct sim_client *c);
/* A turn begins: runs the timers that are due at its time, in the participant's thread. */
void timers_run_turn(struct sim_client *c, const struct sim_clock_sample *now);
/* The client has begun or stopped taking part in steps. */
void timers_rouse(struct sim_client *c);
/* For sim_disconnect(): ends the thread. */
void timers_finish(struct sim_client *c);

#endif
