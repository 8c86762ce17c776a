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
 *   attach, follow          accepted for known entities; what there is of sensors stands in the rig
 *
 * Thread: the owner's.
 */
#ifndef SOURCES_SS2_SERVER_H
#define SOURCES_SS2_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scene.h"
#include "vehicle.h"

struct server;

/* What it asks of the world. Errors: negative errno with err_why(). */
struct server_ops {
	int (*jump)(void *ctx, int64_t sim_ns); /* a new run begins at that time */
	int (*set)(void *ctx, int64_t sim_ns);  /* it is that time now */
	void (*show)(void *ctx, const struct scene *s, int64_t sim_ns);
	/* Where the vehicle is. False: there is none. */
	bool (*vehicle)(void *ctx, struct vehicle_state *ret);
};

/* Keeps ops and ctx. -ENOMEM. */
int server_create(const struct server_ops *ops, void *ctx, struct server **ret);
void server_destroy(struct server *s); /* NULL is fine */

/*
 * Answer whatever bytes these are. ret: returns, mem_free(). Returns: 1 the answer says success, 0 it says failure
 * (err_why() is its description), -ENOMEM there is no answer.
 */
int server_handle(struct server *s, const void *request, size_t len, uint8_t **ret, size_t *ret_len);

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
