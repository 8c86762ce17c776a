/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vehicle of sim-vehicle inside the program that drives time: the same model, channels and services, stepped by
 * that program instead of as a step participant.
 *
 *
 *
 * Thread: the owner's; the services' handlers run on the library's thread.
 */
#ifndef SOURCES_VEHICLE_ONBOARD_H
#define SOURCES_VEHICLE_ONBOARD_H

#include <stddef.h>
#include <stdint.h>

#include <sim/clock.h>
#include <sim/msg/CanBus.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Pose.h>

struct onboard;

/*
 * params: path of its file; origin: "LAT,LON" or NULL; as sim-vehicle takes them. memory: onboard_size() bytes, kept
 * until closed: they hold the vehicle, so that another process can continue with it; call onboard_init() if no earlier
 * process has. Errors with err_why().
 */
int onboard_open(struct sim_client *c, const char *params, const char *origin, void *memory, struct onboard **ret);
void onboard_close(struct onboard *o); /* NULL is fine */
void onboard_init(struct onboard *o);  /* the vehicle stands at 0, 0 */
size_t onboard_size(void);

/* Time is `now`: applies commands, moves the vehicle there and publishes. */
void onboard_step(struct onboard *o, const struct sim_clock_sample *now);
/* The same for an instant that time has not reached, in lock-step only; publishes nothing. -EAGAIN, -ERANGE. */
int onboard_ahead(struct onboard *o, int64_t to_sim_ns);

/* Sets the ground under the vehicle, from a program that knows the map. -EINVAL, -ERANGE. */
int onboard_ground(struct onboard *o, const struct sim_Pose *p);

/* The state that it publishes after that step. Borrows until the next call. */
const struct sim_GpsOdometry *onboard_odometry(struct onboard *o);
const struct sim_CanBus *onboard_can_bus(struct onboard *o);

#endif
