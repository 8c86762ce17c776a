/* SPDX-License-Identifier: Apache-2.0 */
/* Private: timers of one client. Thread: as each function notes. */
#ifndef SRC_TIMER_H
#define SRC_TIMER_H

#include <sim/timer.h>

#include "client.h"

/* Inside sim_process(): run what is due, unless the client takes part in steps. Returns how many ran. */
int timers_run(struct sim_client *c);
/* A turn begins: run what is due at its time. In the participant's thread. */
void timers_run_turn(struct sim_client *c, const struct sim_clock_sample *now);
/* The client has begun or ceased to take part in steps. */
void timers_rouse(struct sim_client *c);
/* sim_disconnect: end the thread. */
void timers_finish(struct sim_client *c);

#endif
