/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of an object at a time between two of its reported states, or after the last one. Real numbers, for
 * display; motion_predict() is what the protocol predicts. Pure: no state, any thread.
 */
#ifndef WORLD_POSE_H
#define WORLD_POSE_H

#include "motion.h"

/*
 * At a time from a to b, which is later than a. The position is a cubic through both positions with both velocities
 * (Hermite), or linear if the velocities do not match the path (an object that reports none, or that was moved); the
 * rotation takes the shorter way, evenly.
 */
void pose_between(const struct motion_real *a, const struct motion_real *b, int64_t at_sim_ns, struct motion_real *ret);
/* Before or after a, extrapolated: straight on, rotating about the axis of its spin. */
void pose_beyond(const struct motion_real *a, int64_t at_sim_ns, struct motion_real *ret);

#endif
