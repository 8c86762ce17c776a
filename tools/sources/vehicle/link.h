/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-vehicle's side towards simd: the channels it publishes and those it takes orders from, its services.
 *
 * Thread: main; the services' handlers run on the library's thread and leave what they were asked for main.
 * "ahead" moves the vehicle on before time does: whoever touches it holds the lock `stepping`.
 */
#ifndef SOURCES_VEHICLE_LINK_H
#define SOURCES_VEHICLE_LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include <sim/clock.h>
#include <sim/msg/VehiclePlacement.h>
#include <sim/service.h>
#include <sim/subscriber.h>

#include "../outlet.h"
#include "messages.h"
#include "vehicle.h"

enum link_out { OUT_TF, OUT_IMU, OUT_GPS, OUT_GPS_ODOMETRY, OUT_CAN_BUS, OUT_ODOMETRY, OUT_COUNT };
enum link_in { IN_PLACE, IN_STATE, IN_GEAR, IN_TURN, IN_HAZARD, IN_EMERGENCY, IN_ENGAGE, IN_CONTROL, IN_COUNT };

struct link {
	struct sim_client *client;
	struct outlet out[OUT_COUNT];
	struct sim_gate gate;
	bool every_step;
	struct sim_subscriber *in[IN_COUNT];
	struct sim_service *place, *mode;
	struct sim_publisher *ahead;
	struct sim_subscriber *asked_ahead;
	const struct origin *origin; /* keeps */
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

/* rate_mhz 0: at every step. l: zeroed, kept at its place until closed. Errors as sim_advertise(), sim_subscribe(). */
int link_open(struct link *l, struct sim_client *c, uint32_t rate_mhz, struct vehicle *v, const struct origin *o);
void link_close(struct link *l);

/* Take all orders that have come and move to the end of the step, placements last. */
void link_step(struct link *l, struct vehicle *v);
/* Publish the vehicle as it is at `now`, if that is due. */
void link_publish(struct link *l, const struct vehicle *v, const struct origin *o, const struct sim_clock_sample *now);

#endif
