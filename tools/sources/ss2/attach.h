/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-ss2's connection to simd: the driver lease of the `ss2` source, the channels of objects and traffic lights, and
 * the channels of the vehicle. It implements what the server needs of the world.
 *
 * If steps have participants, or the ego is on board, sim-ss2 takes part in steps, too, behind the vehicle. In its turn
 * the request is answered; then, while the scenario works out its next request, sim-ss2 moves the vehicle on board,
 * publishes the scene around the ego at that instant, and ends its turn. Otherwise it publishes the scene once time is
 * set.
 *
 * Threads: main; completions on the library's thread (they only count).
 */
#ifndef SOURCES_SS2_ATTACH_H
#define SOURCES_SS2_ATTACH_H

#include <stdint.h>

#include <sim/clock.h>
#include <sim/step.h>
#include <sim/subscriber.h>

#include "../outlet.h"
#include "../rate.h"
#include "../vehicle/onboard.h"
#include "server.h"

/* The first two exist from the start, the others once a scenario attaches their sensor. */
enum link_channel {
	LINK_OBJECTS,
	LINK_SIGNALS,
	LINK_CLOUD,
	LINK_DETECTED,
	LINK_TRUTH,
	LINK_IMU,
	LINK_LIGHTS,
	LINK_GRID,
	LINK_CHANNELS
};

struct link {
	struct sim_client *client;
	struct sim_driver *driver; /* NULL: not held */
	struct outlet out[LINK_CHANNELS];
	struct rate rate[LINK_CHANNELS];
	struct sim_params *params;  /* NULL: another client has our name */
	size_t room[LINK_CHANNELS]; /* bytes of a message */
	/* bytes of a message for which advertising failed, which this scenario has been told; 0: no failure */
	size_t refused[LINK_CHANNELS];
	struct sim_publisher *place, *ground, *advance;
	struct sim_subscriber *odometry, *can_bus, *ahead;
	struct vehicle vehicle;
	struct onboard *onboard; /* the ego itself; NULL: another program moves it */
	struct store *store;     /* memory of onboard; owned elsewhere */
	bool advances;           /* the vehicle is asked where it will be, until it does not answer */
	int64_t ahead_sim_ns;    /* simulated time of the state that the vehicle has given ahead of time */
	bool resting;            /* the lease stays released until the next request */
	struct server *server;
	uint32_t rank;
	struct sim_step *step;
	bool asked;  /* the end of the step of the last change of time is not known yet */
	bool turned; /* our turn in that step has come */
	bool turn;   /* our turn is open */
	bool due;    /* nothing of our turn is published yet */
	struct sim_clock_sample now;
};

extern const struct server_ops link_ops; /* ctx: struct link */

/* Connect, advertise, subscribe. Errors as of sim_connect(), sim_advertise() and sim_subscribe(); see sim_why(). */
int link_open(struct link *l, const char *name, const char *socket, const struct vehicle_origin *origin, uint32_t rank);
/*
 * Take the ego on board, in the memory behind the scene. Errors as of onboard_open(). params NULL: the ego is not on
 * board. Call it before link_serve(). Keeps the pointer store.
 */
int link_board(struct link *l, const char *params, const char *origin, struct store *store);
void link_close(struct link *l);
/*
 * Set the server whose scene is published in turns. Keeps the pointer until link_close(). Call it before the first
 * request.
 */
void link_serve(struct link *l, struct server *s);

/* Call it once a request has been answered. */
void link_answered(struct link *l);
/* Whether link_answered() has a turn to carry out. */
bool link_has_turn(const struct link *l);
/*
 * Carry out the turn of an answer that an earlier process gave before it was killed in that turn. moved: the ego has
 * been moved already.
 */
void link_make_up(struct link *l, bool moved);
/* Wait for the end of the step of the last request. Call it before handling the next request. */
void link_settle(struct link *l);
/* Readable when link_turn() has work because another client moves time; -1: no descriptor. The value changes. */
int link_fd(const struct link *l);
void link_turn(struct link *l);

/* Take the lease if the source is `ss2` and the lease is not held. Returns quickly; call it from time to time. */
void link_idle(struct link *l);
/* Release the lease until the next request, so that `simctl clock status` shows that nobody drives. */
void link_rest(struct link *l);

#endif
