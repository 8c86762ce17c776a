/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects over time: a small number that stays with each for the whole run, since when it has been seen, and its
 * acceleration and turning from one look to the next. Thread: one at a time; pure: the same looks give the same
 * numbers.
 */
#ifndef SOURCES_SUMO_TRACK_H
#define SOURCES_SUMO_TRACK_H

#include <stdint.h>

#include "../ids.h"

#define TRACKS_MAX      1024       /* a table of so many; when full the one unseen for longest gives way */
#define TRACK_FORGET_NS 1000000000 /* unseen for so long: how it has moved meanwhile is not known */

struct track {
	uint64_t key; /* 0: free */
	uint32_t id;  /* from 1, in the order of appearance; the same for the whole run */
	int64_t first_sim_ns, last_sim_ns;
	double vel[2];   /* m/s, map, at the last look */
	double acc[2];   /* m/s^2, map, between the last two looks */
	double yaw;      /* rad, at the last look */
	double yaw_rate; /* rad/s between the last two looks */
};

struct tracks {
	struct track t[TRACKS_MAX];
	struct ids ids;
};

void tracks_init(struct tracks *ts);
void tracks_finish(struct tracks *ts);
/* A look at an object. Returns its track, valid until the next look. */
const struct track *tracks_see(struct tracks *ts, uint64_t key, const double vel[2], double yaw, int64_t now_sim_ns);

#endif
