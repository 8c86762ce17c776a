/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From obstacles to tracks: obstacles are put on the map, each goes to the track that expects it nearest (pairs in the order of
 * their distance, within a gate), and an alpha-beta filter follows position and velocity.
 *
 * Thread: one at a time. Nothing is allocated after tracks_create(); the same input gives the same bytes. When stamps go back (a
 * jump of the clock) it begins from nothing, ids included.
 */
#ifndef PERCEPTION_TRACKS_H
#define PERCEPTION_TRACKS_H

#include <stddef.h>
#include <stdint.h>

#include "obstacle.h"

struct tracks;

struct tracks_params {
	double gate_m;      /* how far an obstacle may be from where its track expects it */
	double alpha, beta; /* of the filter, 0..1: how much a new position says about position and velocity */
	double max_accel;   /* m/s^2: no more, once its velocity is known */
	double still_m;     /* longer than this is a building: it does not move, whatever its visible part does */
	uint32_t confirm;   /* seen so often, a track is shown */
	uint32_t misses;    /* unseen so often in a row, it ends */
};

/* Where the vehicle was at a stamp, and how it moved: obstacles of another stamp are placed by it. */
struct tracks_motion {
	int64_t stamp_sim_ns;
	double x, y, yaw;        /* m, rad, map: base_link */
	double vx, vy, yaw_rate; /* m/s, rad/s, map */
};

struct track {
	uint32_t id;           /* from 1 */
	struct obstacle box;   /* base_link, at the stamp of the obstacles; the filtered place */
	double map_x, map_y;   /* m, map */
	double map_vx, map_vy; /* m/s, map, over ground */
	double heading;        /* rad, map, of the box */
	double vx, vy;         /* m/s, base_link's axes, over ground */
	int64_t age_dur_ns;    /* since it was first seen */
	double score;          /* 1: seen this time; less for each time that it was not */
};

struct tracks_params tracks_params_default(void);

/* Returns: 0; -EINVAL with a sentence in *ret_why (static); -ENOMEM. */
int tracks_create(const struct tracks_params *p, struct tracks **ret, const char **ret_why);
void tracks_destroy(struct tracks *t); /* NULL is fine */

/* The confirmed tracks at stamp_sim_ns, by id, at most OBSTACLES_MAX; returns how many. n: at most OBSTACLES_MAX are looked at. */
size_t tracks_update(struct tracks *t, const struct tracks_motion *ego, int64_t stamp_sim_ns, const struct obstacle *o,
		     size_t n, struct track *ret);

#endif
