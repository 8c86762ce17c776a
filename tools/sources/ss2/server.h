/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator that scenario_simulator_v2 talks to, without sockets and without simd: bytes of a request in, bytes
 * of its answer out. Each request is answered under its own number; a failure carries a sentence in `description`.
 *
 *   initialize              a new run: all entities and lights are dropped, time jumps
 *   update_frame            time moves, objects and lights are shown
 *   spawn, despawn          entities come and go
 *   update_entity_status    entities move; answered with where each is, the ego as its vehicle tells
 *   update_traffic_lights   replaces the lights
 *   update_step_time        noted: time is told, not extrapolated
 *   attach                  a sensor of the ego; accepted for any entity, as the reference simulator does
 *
 * Where the reference simulator (simple_sensor_simulator) ends with an exception, an answer says why: a second ego, a status of an
 * entity that is not spawned, a pose that is not finite.
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

/* Where the scenario wants its ego, and what it says of its body: 0 where it says nothing. */
struct server_place {
	enum server_placing action;
	const struct scene_entity *ego;
	double wheel_base, max_steering; /* m, rad */
};

/* NULL: nothing of that leaves in this frame. */
struct server_sensed {
	const struct lidar_cloud *cloud;
	const struct sensors_look *detected, *truth;
	const struct sensors_measure *imu;
	const struct sensors_imu *imu_config;
	const struct scene *lights;
	const struct sensors_look *drawn; /* a grid of it is due */
	const struct grid *grid;
};

/* What it asks of the world. Errors: negative errno with err_why(). */
struct server_ops {
	/* A new run begins at that time; it is that time now. 1: server_turn() follows when the answer has left, 0: it is the caller's. */
	int (*jump)(void *ctx, int64_t sim_ns);
	int (*set)(void *ctx, int64_t sim_ns);
	void (*show)(void *ctx, const struct scene *s, int64_t sim_ns);
	/* Where the vehicle is. False: there is none. */
	bool (*vehicle)(void *ctx, struct vehicle_state *ret);
	/* What the scenario's map says of the ground: the ego stood there like that, in the frame before. */
	void (*ground)(void *ctx, const struct sim_Pose *p);
	/* The scenario asks for the vehicle as it will be then, in its next frame: it may move there before time does. */
	void (*advance)(void *ctx, int64_t to_sim_ns);
	/* Sensors are attached: their channels are needed now. 0, or negative errno. */
	int (*attach)(void *ctx, const struct sensors_config *c);
	/* What they have measured of a frame, after it was shown. */
	void (*sense)(void *ctx, const struct server_sensed *x, int64_t sim_ns);
	/* Moves the entity. Returns false if no movable entity has that name. */
	bool (*place)(void *ctx, const struct server_place *p);
};

/* Keeps ops, ctx and store. -ENOMEM. */
int server_create(const struct server_ops *ops, void *ctx, struct store *store, struct server **ret);
void server_destroy(struct server *s); /* NULL is fine */

/* What disturbs detections beyond what a scenario asks for. Keeps it; before the first request and server_restore(). */
void server_noise(struct server *s, const struct noise_settings *n);

/*
 * Go on with what an earlier process has left in the store, if that was of this simd and this stretch of its clock. 1: its
 * scene stands; 0: there is none; -EPIPE it ended within a request, with a sentence in err_why().
 */
int server_restore(struct server *s, uint64_t simd_id, uint32_t clock_generation);

/* The ego as its vehicle is now, and all of the scene shown at that instant. */
void server_turn(struct server *s, int64_t sim_ns);

/*
 * Who sends what is handled next, by a name for the log; "": not known, since it has gone. Who initializes owns the scenario: what others
 * ask, but for Initialize, is refused, until the owner is gone; of who is not known that too.
 */
void server_peer(struct server *s, const char *name);
const char *server_owner(const struct server *s); /* "": nobody. Borrows until the next call */
void server_owner_gone(struct server *s);

/*
 * Answer whatever bytes these are. ret: returns, mem_free(). Returns: 1 the answer says success, 0 it says failure
 * (err_why() is its description), -ENOMEM there is no answer.
 */
int server_handle(struct server *s, const void *request, size_t len, uint8_t **ret, size_t *ret_len);

/* For which simd and stretch of its clock the scene holds; after each jump. */
void server_remember(struct server *s, uint64_t simd_id, uint32_t clock_generation);

/* The answer has left: until then a process that ends does so within a request. */
void server_answered(struct server *s);

/* Answer a request that the transport found fault with; why: the description. -ENOMEM. */
int server_refuse(const char *why, uint8_t **ret, size_t *ret_len);

struct server_info {
	bool initialised;
	double step_time_s; /* as told last */
	uint64_t requests, failures;
	const struct scene *scene; /* borrows */
};
void server_info(const struct server *s, struct server_info *ret);

#endif
