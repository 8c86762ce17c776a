/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vehicle of sim-vehicle in the process of the program that moves time: the same model, channels and services, moved by
 * that program instead of in a turn of its own.
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
 * params: its file; origin: "LAT,LON" or NULL. As sim-vehicle takes them. memory: onboard_size() bytes, kept until it is closed: where the
 * vehicle lives, so that another process can go on with it; call onboard_init() unless one does. Errors with err_why().
 */
int onboard_open(struct sim_client *c, const char *params, const char *origin, void *memory, struct onboard **ret);
void onboard_close(struct onboard *o); /* NULL is fine */
void onboard_init(struct onboard *o);  /* it stands at 0, 0 */
size_t onboard_size(void);

/* Time is `now`: it takes its orders, moves there and publishes. */
void onboard_step(struct onboard *o, const struct sim_clock_sample *now);
/* The same for an instant before time is there, in lock-step only; nothing is published. -EAGAIN, -ERANGE. */
int onboard_ahead(struct onboard *o, int64_t to_sim_ns);

/* The ground under it, as who knows the map says. -EINVAL, -ERANGE. */
int onboard_ground(struct onboard *o, const struct sim_Pose *p);

/* As it is after that: what it publishes. Borrows until the next call. */
const struct sim_GpsOdometry *onboard_odometry(struct onboard *o);
const struct sim_CanBus *onboard_can_bus(struct onboard *o);

#endif
