/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of world share: world.c (start, step, end, ego), world_scan.c (surroundings), world_lights.c (traffic
 * lights), world_lanes.c (lanes), world_drive.c (the ego driven externally).
 */
#ifndef SOURCES_SUMO_WORLD_INTERNAL_H
#define SOURCES_SUMO_WORLD_INTERNAL_H

#include "traci.h"
#include "world.h"

/* Position of a light's letter: the n-th letter of a junction's state. */
struct world_link {
	char junction[40];
	uint32_t index;
};

struct world {
	struct world_options o;
	struct sumo_proc *proc;
	struct traci *t;
	int64_t begin_sim_ns; /* begin of the scenario, in SUMO's time */
	int64_t steps;
	bool projected;  /* the network has a geographic projection */
	bool subscribed; /* there is a subscription to the ego */
	struct world_ego ego;

	char **route; /* the ego's edges, as the scenario has them */
	size_t route_len;
	bool lost_route;     /* the ego is on no edge of its route */
	int64_t look_step;   /* if so: step of the next search for a way */
	bool put_back;       /* it was off the road and has been put on a lane, away from left_from */
	double left_from[2]; /* m, map */

	struct world_object objects[WORLD_OBJECTS_MAX];
	size_t nobjects;
	struct world_object *filling; /* the object whose variables are being read */

	struct world_light *lights; /* sorted by junction */
	struct world_link *light_links;
	size_t nlights;

	struct lanes lanes;
	bool inner_lanes; /* there are lanes inside junctions */

	char said[SUMO_WHY_MAX]; /* sumo's own error text */
	char why[SUMO_WHY_MAX];
};

/* Note the sentence for r, return r. */
/* traci_get(), and -EBADMSG where the value has another type. */
int world_get(struct world *w, enum traci_domain domain, enum traci_var var, const char *id, enum traci_type type,
	      struct traci_value *ret);
int world_fail(struct world *w, int r, const char *what);
/* Sends the ego, which is on a road, along its route, or to the route's start. */
int world_find_route(struct world *w);
/* Finds all lights; called once after the start. */
int world_lights_find(struct world *w);
/* Finds all lanes; called once after the start. */
int world_lanes_find(struct world *w);

#endif
