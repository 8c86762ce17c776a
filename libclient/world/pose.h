/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an object is at a moment for which nobody has said it: between two of its states, or after the last one. Real numbers, for who looks on;
 * what is predicted on the wire is motion_predict(). Pure: no state, any thread.
 */
#ifndef WORLD_POSE_H
#define WORLD_POSE_H

#include "motion.h"

/*
 * At a moment from a to b, which is later than a. The position is a cubic through both places with both velocities (Hermite), or straight
 * where the velocities do not belong to the way between (an object that says none, one that was put elsewhere); the rotation turns the shorter way, evenly.
 */
void pose_between(const struct motion_real *a, const struct motion_real *b, int64_t at_sim_ns, struct motion_real *ret);
/* Before or after a, if it moves on as it does: straight on, turning about the axis of its spin. */
void pose_beyond(const struct motion_real *a, int64_t at_sim_ns, struct motion_real *ret);

#endif
