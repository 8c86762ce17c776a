/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-vehicle's side towards simd: the channels it publishes and those it takes orders from, its services.
 *
 * Thread: main; the services' handlers run on the library's thread and leave what they were asked for main.
 * "ahead" moves the vehicle on before time does: whoever touches it holds the lock `stepping`.
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

#define MODE_NAMES 2 /* of the service by which a stack asks to drive */

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
	uint64_t ignored; /* messages that could not be */
	pthread_mutex_t lock;
	struct {
		bool place, mode;
		_Alignas(8) unsigned char placement[512];
		size_t placement_size;
		uint8_t wanted_mode;
	} asked; /* guarded by lock: what services were asked for */
};

/*
 * rate_hz 0: at every step. odom: of odom_parse(), copied; NULL: it is off. Keeps v and o. l: zeroed, kept at its place until closed. Errors as
 * sim_advertise(), sim_subscribe().
 */
int vehicle_link_open(struct vehicle_link *l, struct sim_client *c, double rate_hz, struct vehicle *v,
		      const struct origin *o, const struct odom *odom);
void vehicle_link_close(struct vehicle_link *l);

/* Serve advance_ego from now on, in a thread: scenarios of other processes ask there where it will be. */
int vehicle_link_serve_ahead(struct vehicle_link *l);
/* Take all orders that have come, move to `now`, and publish if that is due. */
void vehicle_link_turn(struct vehicle_link *l, const struct sim_clock_sample *now);
/* Move before time does, in lock-step. Nobody else may touch it meanwhile. -EAGAIN, -ERANGE. */
int vehicle_link_ahead(struct vehicle_link *l, int64_t to_sim_ns);
void vehicle_link_report(const struct vehicle_link *l); /* counters to the log */

#endif
