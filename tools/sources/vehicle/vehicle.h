/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vehicle in simulated time: a model, its commands, and its current time. A step consists of
 *
 *     vehicle_begin()      sets the step's end
 *     vehicle_control()    ... commands, each at its own stamp, at the start of the step if that has passed
 *     vehicle_end()        moves to the end
 *     vehicle_place()      a placement, if any, takes effect at the end
 *
 * A command acts from its stamp on (after its dead time), so that what a controller publishes in its step applies to
 * the whole of the next step. Thread: the owner's; no I/O.
 */
#ifndef SOURCES_VEHICLE_VEHICLE_H
#define SOURCES_VEHICLE_VEHICLE_H

#include <stdbool.h>
#include <stdint.h>

#include <sim/clock_page.h>

#include "model.h"
#include "orders.h"

#define VEHICLE_STEP_MAX_NS  INT64_C(60000000000) /* longest motion in one step; the rest of a longer step is dropped */
#define VEHICLE_AHEAD_MAX_NS INT64_C(1000000000)

struct vehicle {
	struct vehicle_params base; /* as configured; a scenario may resize it */
	struct model model;
	struct orders orders;
	bool started, removed;
	uint32_t clock_generation;
	int64_t at_sim_ns, until_sim_ns; /* time of the model, and end of the step */
	int64_t step_sim_ns;             /* end of the last step that time has reached */
	int64_t step_dur_ns;
	bool ahead;             /* the model is ahead of time */
	uint64_t cut;           /* steps longer than VEHICLE_STEP_MAX_NS */
	uint32_t jumps, spawns; /* number of placements; of these, as another vehicle */
	struct {
		int64_t at_ns; /* model time */
		double turned;
	} measured; /* up to when vehicle_gyro() has measured */
};

void vehicle_init(struct vehicle *v, const struct vehicle_params *p, const struct model_place *at);

/* After a jump of the clock the vehicle stays where it was, as if no time had passed. */
void vehicle_begin(struct vehicle *v, const struct sim_clock_sample *now);
/*
 * As vehicle_begin(), for an instant that time has not reached; the next step continues from there. -EAGAIN, -ERANGE.
 */
int vehicle_begin_ahead(struct vehicle *v, int64_t to_sim_ns);
int vehicle_control(struct vehicle *v, const struct sim_VehicleControl *m, int64_t stamp_sim_ns); /* -EINVAL */
void vehicle_end(struct vehicle *v);

/*
 * What a gyro has measured since the last call: the mean yaw rate, rad/s, so that its integral is the yaw, however
 * rarely it is called. If the model has not moved since, as after a placement: the present yaw rate, over 0 ns.
 */
double vehicle_gyro(struct vehicle *v, int64_t *ret_span_dur_ns);

/* -EINVAL, -ERANGE: a sentence in err_why(), and nothing has changed. Call it between end and begin. */
int vehicle_place(struct vehicle *v, const struct sim_VehiclePlacement *m);
/*
 * Sets the ground: the plane through p with p's attitude, from a program that knows the map; the next step moves on it.
 * As orders_ground().
 */
int vehicle_ground(struct vehicle *v, const struct sim_Pose *p);
/* Checks a placement without a vehicle: for callers that must answer at once. */
int vehicle_check_placement(const struct vehicle_params *base, const struct sim_VehiclePlacement *m);

#endif
