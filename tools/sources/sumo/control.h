/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who drives the ego. Without orders it is SUMO. A VehicleControl message takes it over; it is then a
 * bicycle model that SUMO is told to follow, on or off the road. When no message has come for
 * CONTROL_STALE_NS of simulated time SUMO's driver takes the ego back.
 *
 * What a message leaves unset keeps its last value; a wanted speed or acceleration rules out pedals.
 *
 * Thread: one at a time; pure.
 */
#ifndef SOURCES_SUMO_CONTROL_H
#define SOURCES_SUMO_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include <sim/msg/VehicleControl.h>

#include "ego.h"

#define CONTROL_STALE_NS 500000000

struct control {
	bool active;
	int64_t last_sim_ns; /* of the last message */
	struct ego_command command;
	uint64_t messages, refused; /* refused: a number in it was none */
};

/* Take in a message that arrived at now_sim_ns. -EINVAL: it has NaN or infinite values; it is ignored. */
int control_take(struct control *c, const struct sim_VehicleControl *m, const struct ego_params *p, int64_t now_sim_ns);
/* Once a step. Returns true when SUMO's driver takes the ego back now. */
bool control_expired(struct control *c, int64_t now_sim_ns);

#endif
