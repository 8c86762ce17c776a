/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-vehicle's connection to simd: the channels that it publishes, those that command it, and its services.
 *
 *
 *
 * Thread: main; the services' handlers run on the library's thread and leave their requests for main. The thread
 * "ahead" moves the vehicle before time does: a thread that accesses the vehicle holds the lock `stepping`.
 */
#ifndef SOURCES_VEHICLE_ATTACH_H
#define SOURCES_VEHICLE_ATTACH_H

#include <pthread.h>
#include <stdatomic.h>

#include <sim/msg/VehiclePlacement.h>
#include <sim/service.h>
#include <sim/subscriber.h>

#include "../outlet.h"
#include "../rate.h"
#include "messages.h"
#include "vehicle.h"

#define MODE_NAMES 2 /* names of the service by which a stack requests control */

enum link_out { OUT_TF, OUT_ODOM, OUT_IMU, OUT_GPS, OUT_GPS_ODOMETRY, OUT_CAN_BUS, OUT_ODOMETRY, OUT_COUNT };
enum link_in {
	IN_PLACE,
	IN_GROUND,
	IN_STATE,
	IN_GEAR,
	IN_TURN,
	IN_HAZARD,
	IN_EMERGENCY,
	IN_ENGAGE,
	IN_CONTROL,
	IN_COUNT
};

struct vehicle_link {
	struct sim_client *client;
	struct outlet out[OUT_COUNT];
	struct rate rate; /* of each channel */
	struct sim_subscriber *in[IN_COUNT];
	struct sim_service *place, *mode[MODE_NAMES];
	struct sim_publisher *ahead;
	struct sim_subscriber *asked_ahead;
	const struct origin *origin; /* keeps */
	struct odom odom;
	pthread_t serving;
	bool serves;
	atomic_bool leaving;
	struct vehicle *vehicle; /* keeps */
	pthread_mutex_t stepping;
	uint64_t ignored; /* number of malformed messages */
	pthread_mutex_t lock;
	struct {
		bool place, mode;
		_Alignas(8) unsigned char placement[512];
		size_t placement_size;
		uint8_t wanted_mode;
	} asked; /* guarded by lock: requests of services */
};

/*
 * rate_hz 0: at every step. odom: from odom_parse(), copied; NULL: off. Keeps v and o. l: zeroed; must not move until
 * closed. Errors as sim_advertise(), sim_subscribe().
 */
int vehicle_link_open(struct vehicle_link *l, struct sim_client *c, double rate_hz, struct vehicle *v,
		      const struct origin *o, const struct odom *odom);
void vehicle_link_close(struct vehicle_link *l);

/* Serves advance_ego from now on, in a thread: scenarios in other processes ask for the vehicle's future pose there. */
int vehicle_link_serve_ahead(struct vehicle_link *l);
/* Applies all commands that have arrived, moves to `now`, and publishes what is due. */
void vehicle_link_turn(struct vehicle_link *l, const struct sim_clock_sample *now);
/* Moves the vehicle before time does, in lock-step. No other thread may access it meanwhile. -EAGAIN, -ERANGE. */
int vehicle_link_ahead(struct vehicle_link *l, int64_t to_sim_ns);
void vehicle_link_report(const struct vehicle_link *l); /* logs the counters */

#endif
