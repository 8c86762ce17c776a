/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scenario as a host of a shared world (sim-world): its ego and the objects around it are put into the world, and
 * its time runs in step with that of the other hosts.
 *
 *
 *
 * Thread: one at a time.
 */
#ifndef SOURCES_SUMO_SHARE_H
#define SOURCES_SUMO_SHARE_H

#include <sim/world.h>

#include "messages.h"

struct share;

/*
 * Joins the world. now_sim_ns: the scenario's time. Logs a time that differs from the world's. Errors with a sentence
 * in share_why(): those of sim_world_connect(), sim_world_wait().
 */
int share_open(const struct sim_world_options *o, int64_t now_sim_ns, struct share **ret);
void share_close(struct share *s); /* NULL is fine */
/*
 * The scenario's time has reached m: if that is the world's next tick, puts the objects, and waits for the tick.
 * stop(user): whether to give up. Returns: 0; -ECANCELED; else as above.
 */
int share_turn(struct share *s, const struct moment *m, bool (*stop)(void *user), void *user);
/*
 * The scenario's time stands still until the next turn: tells the world, once, that it pauses and that its objects do
 * not move. If the world's time has gone on by then, both go on with the offset: the scenario does not catch up.
 */
void share_pause(struct share *s);
const char *share_why(void);

#endif
