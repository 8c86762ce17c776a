/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator that scenario_simulator_v2 talks to, without sockets and without simd: bytes of a request in, bytes of
 * its answer out. Each request is answered under its own number; the answer to a failed request has the reason in
 * `description`.
 *
 *   initialize              a new run: all entities and lights are dropped, time jumps
 *   update_frame            time moves, objects and lights are published
 *   spawn, despawn          add and remove entities
 *   update_entity_status    moves entities; answered with the state of each, for the ego as its vehicle reports it
 *   update_traffic_lights   replaces the lights
 *   update_step_time        stored; time is never extrapolated
 *   attach                  a sensor of the ego; accepted for any entity, as by the reference simulator
 *
 * Where the reference simulator (simple_sensor_simulator) ends with an exception, an answer gives the reason: a second
 * ego, a status of an entity that is not spawned, a pose that is not finite.
 *
 * Thread: the owner's.
 */
#ifndef SOURCES_SS2_SERVER_H
#define SOURCES_SS2_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "noise_file.h"
#include "scene.h"
#include "sensors.h"
#include "store.h"
#include "vehicle.h"

#define SERVER_PEER_MAX STORE_OWNER_MAX

struct server;

enum server_placing { PLACE_SPAWN = 1, PLACE_OVERWRITE, PLACE_REMOVE, PLACE_TAKE_OVER }; /* of sim/VehiclePlacement */

/* Placement of the ego by the scenario, and its dimensions: 0 if the scenario does not give them. */
struct server_place {
	enum server_placing action;
	const struct scene_entity *ego;
	double wheel_base, max_steering; /* m, rad */
};

/* Measurements of one frame. NULL: none to publish in this frame. */
struct server_sensed {
	const struct lidar_cloud *cloud;
	const struct sensors_look *detected, *truth;
	const struct sensors_measure *imu;
	const struct sensors_imu *imu_config;
	const struct scene *lights;
	const struct sensors_look *drawn; /* objects of a grid that is due */
	const struct grid *grid;
};

/* Functions that the server needs. Errors: negative errno with err_why(). */
struct server_ops {
	/*
	 * jump: a new run begins at sim_ns. set: time moves to sim_ns. On success simulated time is sim_ns. Returns 1:
	 * server_turn() follows once the answer is sent; 0: the caller calls it.
	 */
	int (*jump)(void *ctx, int64_t sim_ns);
	int (*set)(void *ctx, int64_t sim_ns);
	void (*show)(void *ctx, const struct scene *s, int64_t sim_ns);
	/* State of the vehicle. False: there is no vehicle. */
	bool (*vehicle)(void *ctx, struct vehicle_state *ret);
	/* The ground as the scenario's map has it: the ego's pose in the frame before. */
	void (*ground)(void *ctx, const struct sim_Pose *p);
	/*
	 * The scenario asks for the vehicle's state at to_sim_ns, in its next frame: the vehicle may move there before
	 * time does.
	 */
	void (*advance)(void *ctx, int64_t to_sim_ns);
	/* Sensors are attached, and their channels are needed. Returns 0, or negative errno. */
	int (*attach)(void *ctx, const struct sensors_config *c);
	/* Publish the measurements of a frame; called after show(). */
	void (*sense)(void *ctx, const struct server_sensed *x, int64_t sim_ns);
	/*
	 * Order the vehicle to take the ego's place. False: the order has not been sent, for instance because no
	 * vehicle takes such orders.
	 */
	bool (*place)(void *ctx, const struct server_place *p);
};

/* Keeps the pointers ops, ctx and store. -ENOMEM. */
int server_create(const struct server_ops *ops, void *ctx, struct store *store, struct server **ret);
void server_destroy(struct server *s); /* s may be NULL */

/*
 * Set the noise of detections beyond what a scenario asks for. Keeps the pointer. Call it before the first request and
 * before server_restore().
 */
void server_noise(struct server *s, const struct noise_settings *n);

/*
 * Continue with what an earlier process has left in the store, if it belongs to this simd and this generation of its
 * clock. Returns 1: its scene is in place; 0: there is none; -EPIPE: that process ended within a request, see
 * err_why().
 */
int server_restore(struct server *s, uint64_t simd_id, uint32_t clock_generation);

/* Take the state of the ego from its vehicle, and publish all of the scene at that instant. */
void server_turn(struct server *s, int64_t sim_ns);

/*
 * Set the client of the next request, by its name for the log; "": unknown, since it has disconnected. A client that
 * initializes owns the scenario: requests of other clients, except Initialize, are refused until the owner is gone.
 * From an unknown client Initialize is refused, too.
 */
void server_peer(struct server *s, const char *name);
const char *server_owner(const struct server *s); /* "": no owner. The result is valid until the next call. */
void server_owner_gone(struct server *s);

/*
 * Answer a request of any bytes. ret: the answer; the caller releases it with mem_free(). Returns 1: the answer is a
 * success; 0: it is a failure with err_why() as its description; -ENOMEM: there is no answer.
 */
int server_handle(struct server *s, const void *request, size_t len, uint8_t **ret, size_t *ret_len);

/* Set the simd and the generation of its clock that the scene belongs to. Call it after each jump. */
void server_remember(struct server *s, uint64_t simd_id, uint32_t clock_generation);

/* The answer is sent. A process that ends before this call ends within a request. */
void server_answered(struct server *s);

/* Answer a request that the transport rejects; why: the description. -ENOMEM. */
int server_refuse(const char *why, uint8_t **ret, size_t *ret_len);

struct server_info {
	bool initialised;
	double step_time_s; /* the last one received */
	uint64_t requests, failures;
	const struct scene *scene; /* borrowed */
};
void server_info(const struct server *s, struct server_info *ret);

#endif
