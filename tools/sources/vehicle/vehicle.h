/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vehicle in simulated time: a model, its orders, and the instant it is at. A step goes
 *
 *     vehicle_begin()      the instant it leads to
 *     vehicle_control()    ... orders, each at its own instant, at the start of the step if that has passed
 *     vehicle_end()        moves to the end
 *     vehicle_place()      if it is put elsewhere, that is where it is at the end
 *
 * An order of an instant acts from that instant on (and after its dead time), so what a controller publishes in its turn
 * counts for the whole of the next step. Thread: the owner's; no I/O.
 */
#ifndef SOURCES_VEHICLE_VEHICLE_H
#define SOURCES_VEHICLE_VEHICLE_H

#include <stdbool.h>
#include <stdint.h>

#include <sim/clock_page.h>

#include "model.h"
#include "orders.h"

#define VEHICLE_STEP_MAX_NS  INT64_C(60000000000) /* it moves no further in one step, whatever time does */
#define VEHICLE_AHEAD_MAX_NS INT64_C(1000000000)

struct vehicle {
	struct vehicle_params base; /* as configured; a scenario may resize it */
	struct model model;
	struct orders orders;
	bool started, removed;
	uint32_t clock_generation;
	int64_t at_sim_ns, until_sim_ns; /* where the model is, and where the step ends */
	int64_t step_sim_ns;             /* the end of the last step that time made */
	int64_t step_dur_ns;
	bool ahead;             /* the model was moved on further than time is */
	uint64_t cut;           /* steps longer than VEHICLE_STEP_MAX_NS */
	uint32_t jumps, spawns; /* how often it was put somewhere; of these, as another vehicle */
	struct {
		int64_t at_ns; /* of the model */
		double turned;
	} measured; /* up to where its turning has been asked for */
};

void vehicle_init(struct vehicle *v, const struct vehicle_params *p, const struct model_place *at);

/* After a jump of the clock it stands where it was: time has not passed. */
void vehicle_begin(struct vehicle *v, const struct sim_clock_sample *now);
/* As vehicle_begin(), for an instant that time has yet to reach, from where it then goes on. -EAGAIN, -ERANGE. */
int vehicle_begin_ahead(struct vehicle *v, int64_t to_sim_ns);
int vehicle_control(struct vehicle *v, const struct sim_VehicleControl *m, int64_t stamp_sim_ns); /* -EINVAL */
void vehicle_end(struct vehicle *v);

/*
 * What a gyro has measured since this was asked for last: the mean yaw rate, rad/s, so that its integral is the yaw however
 * rarely it is asked for. Where the model has not moved since, as after a placement: the present yaw rate, over 0 ns.
 */
double vehicle_gyro(struct vehicle *v, int64_t *ret_span_dur_ns);

/* -EINVAL, -ERANGE: a sentence in err_why(), nothing has changed. Between end and begin. */
int vehicle_place(struct vehicle *v, const struct sim_VehiclePlacement *m);
/* The ground under it is the plane through p that p is level with, as who knows the map says; the next step goes on on it. As orders_ground(). */
int vehicle_ground(struct vehicle *v, const struct sim_Pose *p);
/* Whether that would do, without a vehicle: for who must answer at once. */
int vehicle_check_placement(const struct vehicle_params *base, const struct sim_VehiclePlacement *m);

#endif
