/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has been asked of the vehicle, from messages, each looked at once, since they lie in shared memory. What a message leaves
 * unset keeps its last value. A message with a value that is not finite is ignored whole and counted.
 *
 * Of a wanted speed, a wanted acceleration and pedals the one that the model is driven by counts (params.h: by speed or by
 * acceleration); a model by acceleration that is only told a speed goes towards it, one by speed only takes a speed.
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
	uint8_t turn; /* of sim/Turn */
	uint8_t mode; /* of sim/VehicleMode */
	bool hazard, low_beam, high_beam, wipers;
	uint64_t messages, refused;
};

void orders_init(struct orders *o);

/* Each: 0; -EINVAL a number is none, or no such value: ignored. */
int orders_control(struct orders *o, const struct sim_VehicleControl *m, const struct vehicle_params *p);
int orders_gear(struct orders *o, uint8_t gear);
int orders_turn(struct orders *o, uint8_t turn);
int orders_state(struct orders *o, const struct sim_VehicleState *m);

/* What the model is to do now. In an emergency, and while nobody drives, it brakes. */
struct model_order orders_now(const struct orders *o, const struct model *m);

/*
 * A placement that can be: a sentence in err_why() otherwise. ret_size: what it tells of the vehicle's dimensions.
 * -EINVAL; -ERANGE.
 */
int orders_placement(const struct sim_VehiclePlacement *m, double wheel_base, struct model_place *ret,
		     struct params_size *ret_size);

/* The ground where a vehicle is at `at`. -EINVAL; -ERANGE it is too far away to say anything of the ground there. */
int orders_ground(const struct sim_Pose *p, const struct model_state *at, struct model_plane *ret);

#endif
