/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who drives the ego. SUMO does until a VehicleControl message takes the ego over; the ego is then a bicycle model, and
 * SUMO is made to follow it, on or off the road. When no message has come for CONTROL_STALE_NS of simulated time,
 * SUMO's driver takes the ego back.
 *
 *
 *
 * A field that a message leaves unset keeps its last value; pedals are ignored if a speed or an acceleration is given.
 *
 *
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
	int64_t last_sim_ns; /* stamp of the last message */
	struct ego_command command;
	uint64_t messages, refused; /* refused: messages with a value that is not finite */
};

/* Applies a message that arrived at now_sim_ns. -EINVAL: it has NaN or infinite values and is ignored. */
int control_take(struct control *c, const struct sim_VehicleControl *m, const struct ego_params *p, int64_t now_sim_ns);
/* Call it once a step. Returns true when SUMO's driver takes the ego back now. */
bool control_expired(struct control *c, int64_t now_sim_ns);

#endif
