/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Position and motion of an object, in the integers of the world's protocol ("Numbers" and "Prediction" in
 * schemas/wire/world.md). Pure: no state, any thread.
 */
#ifndef WORLD_MOTION_H
#define WORLD_MOTION_H

#include <stdbool.h>
#include <stdint.h>

/* Indices in motion.v; three values of each, four for the rotation, one for the time. */
enum {
	MOTION_POSITION = 0,
	MOTION_ROTATION = 3,
	MOTION_VELOCITY = 7,
	MOTION_SPIN = 10,
	MOTION_TIME = 13,
	MOTION_N = 14
};

struct motion {
	int64_t v[MOTION_N];
};

/* The same in real numbers: m, m/s, rad/s, in world axes; rotation w x y z from the body's axes to the world's. */
struct motion_real {
	double position[3], rotation[4], velocity[3], spin[3];
	int64_t time_sim_ns;
};

/*
 * Converts to integers. 0; -EINVAL a number is not finite; -ERANGE beyond the protocol's range. A rotation of four
 * zeros becomes the identity; any other is normalised. m->v[MOTION_TIME] is time_sim_ns minus tick_sim_ns.
 */
int motion_from_real(const struct motion_real *r, int64_t tick_sim_ns, struct motion *ret)
	__attribute__((warn_unused_result));
void motion_to_real(const struct motion *m, int64_t tick_sim_ns, struct motion_real *ret);
/* Whether the numbers are within their ranges, and the rotation is valid. */
bool motion_valid(const struct motion *m);
/* The state dt_sim_ns later if nothing changes, as both ends compute it. */
void motion_predict(const struct motion *m, int64_t dt_sim_ns, struct motion *ret);

#endif
