/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-ss2's side towards simd: the driver lease of the `ss2` source, the channels of objects and traffic lights, and
 * those of the vehicle. Implements what the server asks of the world.
 *
 * Where steps have participants, or the ego is on board, it is one too, behind the vehicle. In its turn the request is answered; then,
 * while the scenario works out its next one, it moves what is on board, shows the scene around the ego as it is at that very instant,
 * and ends its turn. Else it shows it once time is set.
 *
 * Threads: main; completions on the library's thread (they only count).
 */
#ifndef SOURCES_SS2_LINK_H
#define SOURCES_SS2_LINK_H

#include <stdint.h>

#include <sim/clock.h>
#include <sim/step.h>
#include <sim/subscriber.h>

#include "../outlet.h"
#include "../rate.h"
#include "../vehicle/onboard.h"
#include "server.h"

/* The first two are there from the start, the others from when a scenario attaches their sensor. */
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
	struct sim_params *params;     /* NULL: another one has our name */
	size_t room[LINK_CHANNELS];    /* bytes of a message */
	size_t refused[LINK_CHANNELS]; /* the rig has no room for that, as this scenario was told; 0: it was not */
	struct sim_publisher *place, *ground, *advance;
	struct sim_subscriber *odometry, *can_bus, *ahead;
	struct vehicle vehicle;
	struct onboard *onboard; /* the ego itself; NULL: it is somebody else's */
	struct store *store;     /* of onboard; owned elsewhere */
	bool advances;           /* it offers to be moved on before time is: until it refuses */
	int64_t ahead_sim_ns;    /* to where it was */
	bool resting;            /* the lease is left until the next request */
	struct server *server;
	uint32_t rank;
	struct sim_step *step;
	bool asked;  /* the step of the last change of time is not known to be over */
	bool turned; /* we have had our turn in it */
	bool turn;   /* it is open */
	bool due;    /* nothing of it has been shown yet */
	struct sim_clock_sample now;
};

extern const struct server_ops link_ops; /* ctx: struct link */

/* Connect, advertise, subscribe. Errors as sim_connect(), sim_advertise(), sim_subscribe(); sim_why(). */
int link_open(struct link *l, const char *name, const char *socket, const struct vehicle_origin *origin, uint32_t rank);
/* The ego is on board, in what lies behind the scene: as onboard_open(); params NULL: it is not. Before link_serve(). Keeps store. */
int link_board(struct link *l, const char *params, const char *origin, struct store *store);
void link_close(struct link *l);
/* Whose scene is shown in turns. Keeps it until link_close(). Call before the first request. */
void link_serve(struct link *l, struct server *s);

/* To be called once a request has been answered. */
void link_answered(struct link *l);
/* Whether that will make up for a turn. */
bool link_has_turn(const struct link *l);
/* The turn of an answer that was given by a process before, which was killed in it. moved: the ego is where it is to be. */
void link_make_up(struct link *l, bool moved);
/* Wait for the end of the step of the last request: to be called before the next one is worked on. */
void link_settle(struct link *l);
/* Readable when link_turn() has work: somebody else moves time; -1: none. It changes. */
int link_fd(const struct link *l);
void link_turn(struct link *l);

/* Take the lease if the source is `ss2` and it is not held. Quick; to be called now and then. */
void link_idle(struct link *l);
/* Leave the lease until the next request: `simctl clock status` then says that nobody drives. */
void link_rest(struct link *l);

#endif
