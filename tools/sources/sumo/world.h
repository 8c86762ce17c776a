/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running SUMO scenario as sensors see it: the ego vehicle, what moves around it, the traffic lights.
 * Starts sumo and exchanges TraCI messages with it.
 *
 * Frame "map": SUMO's network coordinates, metres, x east, y north, z up. Angles are SUMO's: degrees
 * clockwise from north. The position of a vehicle or a person is the middle of its front, on the road.
 *
 * Thread: one at a time, the one that opened it.
 */
#ifndef SOURCES_SUMO_WORLD_H
#define SOURCES_SUMO_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes.h"
#include "sumo_proc.h"

#define WORLD_OBJECTS_MAX 240 /* fits a slot of 64 KiB; objects around the ego; the rest is left out and counted */
#define WORLD_LIGHTS_MAX  1024
#define WORLD_RETURN_M    1000 /* how far from the road the ego may be to be put back on it */

struct world;

struct world_options {
	struct sumo_proc_options sumo;
	const char *ego;    /* its id in the scenario; borrows for the life of the world */
	double range_m;     /* radius around the ego within which objects are reported */
	int stop_fd;        /* readable: give up waiting (-ECANCELED); -1: none */
	int timeout_ms;     /* bound on every answer of sumo, including its start */
	int ego_wait_steps; /* steps until the ego must be on the road */
	/* Called regularly while the scenario runs without the ego, which has not departed yet; NULL: not reported. */
	void (*waits)(void *user, int64_t waited_dur_ns);
	void *user;
};

/* SUMO's signal bits of a vehicle. */
enum world_signal {
	WORLD_SIGNAL_RIGHT = 1 << 0,
	WORLD_SIGNAL_LEFT = 1 << 1,
	WORLD_SIGNAL_EMERGENCY = 1 << 2, /* hazard lights */
	WORLD_SIGNAL_BRAKE = 1 << 3,
	WORLD_SIGNAL_FRONT = 1 << 4,
	WORLD_SIGNAL_FOG = 1 << 5,
	WORLD_SIGNAL_HIGH = 1 << 6,
	WORLD_SIGNAL_WIPER = 1 << 8,
};

struct world_ego {
	bool known;    /* the scenario has it, even if it departs later, or is off the road for a while */
	bool present;  /* it is in the network; else the position below is its last one */
	double pos[3]; /* m, map, middle of the front bumper */
	double angle_deg;
	double speed;                 /* m/s, along the lane */
	int32_t signals;              /* enum world_signal */
	double length, width, height; /* m */
};

enum world_kind { WORLD_CAR, WORLD_TRUCK, WORLD_BUS, WORLD_BICYCLE, WORLD_MOTORCYCLE, WORLD_PEDESTRIAN, WORLD_OTHER };

struct world_object {
	uint64_t key; /* hash of its id: the same object has the same key in every run */
	enum world_kind kind;
	double pos[3], angle_deg, speed;
	double length, width, height;
};

struct world_light {
	char id[48];      /* "junction:link" */
	double pos[3];    /* m, map: end of the lane it belongs to, on the road */
	double angle_deg; /* driving direction of that lane */
	char state;       /* SUMO's letter: r R red, y Y yellow, g G green, u red-yellow, o O off */
};

/*
 * Starts sumo, connects, and steps until the ego is on the road. `why` (SUMO_WHY_MAX bytes) gets a sentence on failure.
 * Returns: 0; errors of sumo_proc_start(); -EPIPE sumo ended; -ECANCELED stop_fd; -ETIMEDOUT; -EPROTO; -ESRCH the ego
 * is not on the road within ego_wait_steps.
 */
int world_open(const struct world_options *o, struct world **ret, char *why);
/* Asks sumo to end, then makes sure of it. NULL is fine. */
void world_close(struct world *w);
/* A sentence for the last failure of a call below. */
const char *world_why(const struct world *w);

/* One step of sumo. 0, or errors of world_open(), after which the world is unusable. */
int world_step(struct world *w);
/* SUMO's own time after the last step, counted from the scenario's begin. */
int64_t world_time_sim_ns(const struct world *w);
const struct world_ego *world_ego(const struct world *w);

/*
 * Returns the objects around the ego now, without the ego, in an order that is the same in every run. Valid until the
 * next call.
 */
int world_scan(struct world *w, const struct world_object **ret, size_t *ret_n);
/* Returns all lights for vehicles, with their present state. Valid until the next call. */
int world_lights(struct world *w, const struct world_light **ret, size_t *ret_n);
/* Returns the network's lanes, except those inside junctions; they never change. Valid as long as the world. */
const struct lanes *world_lanes(const struct world *w);
/* Whether there are lanes inside junctions too; if not, vehicles jump over a junction from one step to the next. */
bool world_has_inner_lanes(const struct world *w);
/*
 * Geographic position of a point of the map. -ENODATA: the network has no projection, or that leads to no place on the
 * earth; then there is no sentence. Else as world_step().
 */
int world_lonlat(struct world *w, double x, double y, double *ret_lon_deg, double *ret_lat_deg);

/* Puts the ego there (front bumper) at the next step, on or off the road, overriding SUMO's driver. */
int world_place_ego(struct world *w, double x, double y, double angle_deg, double speed);
/*
 * Returns the ego to SUMO's driver, on its old route (found again if the ego has left it). Off the road it is put on
 * the nearest lane at the next step. Of a very long route only the next thousand edges are found again. If no way leads
 * to the route, logs a warning, and the ego brakes and stands. Returns: 0; 1 no lane is within WORLD_RETURN_M: the
 * caller keeps the ego and goes on placing it; errors of world_step().
 */
int world_release_ego(struct world *w);

#endif
