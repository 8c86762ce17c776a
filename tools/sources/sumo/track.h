/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects over time: an id that each object keeps for the whole run, since when it has been in view, and its
 * acceleration and yaw rate between two observations. Thread: one at a time; pure: the same observations give the same
 * values.
 */
#ifndef SOURCES_SUMO_TRACK_H
#define SOURCES_SUMO_TRACK_H

#include <stdint.h>

#include "../ids.h"

#define TRACKS_MAX      1024       /* table size; when full, the object unseen for longest is replaced */
#define TRACK_FORGET_NS 1000000000 /* after that long unseen, acceleration and yaw rate start again */

struct track {
	uint64_t key; /* 0: free */
	uint32_t id;  /* from 1, in the order of appearance; the same for the whole run */
	int64_t first_sim_ns, last_sim_ns;
	double vel[2];   /* m/s, map, at the last observation */
	double acc[2];   /* m/s^2, map, between the last two observations */
	double yaw;      /* rad, at the last observation */
	double yaw_rate; /* rad/s between the last two observations */
};

struct tracks {
	struct track t[TRACKS_MAX];
	struct ids ids;
};

void tracks_init(struct tracks *ts);
void tracks_finish(struct tracks *ts);
/* Records an observation of an object. Returns its track, valid until the next call. */
const struct track *tracks_see(struct tracks *ts, uint64_t key, const double vel[2], double yaw, int64_t now_sim_ns);

#endif
