/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands to the vehicle, from messages; each field is read once, since messages lie in shared memory. A field that a
 * message leaves unset keeps its last value. A message with a value that is not finite is ignored as a whole and
 * counted.
 *
 *
 *
 * Of speed, acceleration and pedals, the one that drives the model counts (params.h: by speed or by acceleration); a
 * model by acceleration that only gets a speed accelerates towards it, one by speed only takes a speed.
 *
 *
 *
 * Thread: the owner's; pure.
 */
#ifndef SOURCES_VEHICLE_ORDERS_H
#define SOURCES_VEHICLE_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include <sim/msg/Pose.h>
#include <sim/msg/VehicleControl.h>
#include <sim/msg/VehiclePlacement.h>
#include <sim/msg/VehicleState.h>

#include "model.h"

enum orders_drive { DRIVE_PEDALS, DRIVE_ACCEL, DRIVE_SPEED };

struct orders {
	enum orders_drive drive;
	double throttle, brake, accel, speed, steer;
	enum model_gear gear;
	bool hand_brake, emergency;
	uint8_t turn; /* value of sim/Turn */
	uint8_t mode; /* value of sim/VehicleMode */
	bool hazard, low_beam, high_beam, wipers;
	uint64_t messages, refused;
};

void orders_init(struct orders *o);

/* Each returns 0; -EINVAL a value is not finite, or not in the enum: the message is ignored. */
int orders_control(struct orders *o, const struct sim_VehicleControl *m, const struct vehicle_params *p);
int orders_gear(struct orders *o, uint8_t gear);
int orders_turn(struct orders *o, uint8_t turn);
int orders_state(struct orders *o, const struct sim_VehicleState *m);

/* What the model has to do now. In an emergency, and in manual mode, it brakes. */
struct model_order orders_now(const struct orders *o, const struct model *m);

/*
 * Validates a placement; otherwise err_why() has a sentence. ret_size: the vehicle's dimensions that it contains.
 * -EINVAL; -ERANGE.
 */
int orders_placement(const struct sim_VehiclePlacement *m, double wheel_base, struct model_place *ret,
		     struct params_size *ret_size);

/*
 * The plane of the ground at the vehicle's pose `at`. -EINVAL; -ERANGE p is too far away to describe the ground there.
 */
int orders_ground(const struct sim_Pose *p, const struct model_state *at, struct model_plane *ret);

#endif
