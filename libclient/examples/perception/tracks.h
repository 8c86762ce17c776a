/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From obstacles to tracks: obstacles are placed on the map, each is assigned to the track that expects it nearest
 * (pairs in the order of their distance, within a gate), and an alpha-beta filter follows position and velocity.
 *
 * Thread: one at a time. Nothing is allocated after tracks_create(); the same input gives the same bytes. When stamps
 * go back (a jump of the clock) it starts again without tracks, and with the first id.
 */
#ifndef PERCEPTION_TRACKS_H
#define PERCEPTION_TRACKS_H

#include <stddef.h>
#include <stdint.h>

#include "obstacle.h"

struct tracks;

struct tracks_params {
	double gate_m;      /* greatest distance of an obstacle from where its track expects it */
	double alpha, beta; /* of the filter, 0..1: weight of a new position in position and velocity */
	double max_accel;   /* m/s^2: limit once its velocity is reliable */
	double still_m;     /* a longer object is a building: it does not move, whatever its visible part does */
	uint32_t confirm;   /* sightings before a track is shown */
	uint32_t misses;    /* times not seen in a row before it ends */
};

/* Where the vehicle was at a stamp, and how it moved: used to place obstacles of another stamp. */
struct tracks_motion {
	int64_t stamp_sim_ns;
	double x, y, yaw;        /* m, rad, map: base_link */
	double vx, vy, yaw_rate; /* m/s, rad/s, map */
};

struct track {
	uint32_t id;           /* from 1 */
	struct obstacle box;   /* base_link, at the stamp of the obstacles; filtered position */
	double map_x, map_y;   /* m, map */
	double map_vx, map_vy; /* m/s, map, over ground */
	double heading;        /* rad, map, of the box */
	double vx, vy;         /* m/s, base_link's axes, over ground */
	int64_t age_dur_ns;    /* since it was first seen */
	double score;          /* 1: seen in these obstacles; less for each time that it was not seen */
};

struct tracks_params tracks_params_default(void);

/* Returns: 0; -EINVAL with the reason in *ret_why (static); -ENOMEM. */
int tracks_create(const struct tracks_params *p, struct tracks **ret, const char **ret_why);
void tracks_destroy(struct tracks *t); /* NULL is fine */

/*
 * Writes the confirmed tracks at stamp_sim_ns, by id, at most OBSTACLES_MAX; returns how many. Uses at most
 * OBSTACLES_MAX of the n obstacles.
 */
size_t tracks_update(struct tracks *t, const struct tracks_motion *ego, int64_t stamp_sim_ns, const struct obstacle *o,
		     size_t n, struct track *ret);

#endif
