/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scenario as a host of a world that others share (sim-world): its ego and what moves around it are there, and its time is in step with the
 * others'. Thread: one at a time.
 */
#ifndef SOURCES_SUMO_SHARE_H
#define SOURCES_SUMO_SHARE_H

#include <sim/world.h>

#include "messages.h"

struct share;

/*
 * Join. now_sim_ns: time here. The log tells of a time that is not the world's. Errors with a sentence in share_why(): those of sim_world_connect(), sim_world_wait().
 */
int share_open(const struct sim_world_options *o, int64_t now_sim_ns, struct share **ret);
void share_close(struct share *s); /* NULL is fine */
/*
 * Time here has come to m: when that is the world's next tick, what there is is said, and the tick awaited. stop(user): whether to give up.
 * Returns: 0; -ECANCELED; else as above.
 */
int share_turn(struct share *s, const struct moment *m, bool (*stop)(void *user), void *user);
/*
 * Time here stands until the next turn: the world is told, once, and that nothing moves there meanwhile. Where the world's time has gone on then, both go on
 * with the difference: nothing here is made up for.
 */
void share_pause(struct share *s);
const char *share_why(void);

#endif
