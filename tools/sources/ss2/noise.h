/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The noise of detections beyond that of a scenario's own configuration: models 2 to 4 of scenario_simulator_v2, from
 * its parameter file (noise_file.h).
 *
 * What is drawn for an object depends on what was drawn before. A number is an autoregressive process, x = mean + phi
 * (x - mean) + N(0, deviation sqrt(1 - phi^2)). A boolean is a Markov chain that keeps its value with probability phi,
 * otherwise it is drawn again. phi = amplitude exp(-decay dt) + offset, limited to 0 to 1; for an object that was never
 * seen it is 0. Mean, deviation and rate depend on the position: the first ellipse around the ego that contains the
 * object counts; beyond the last ellipse they are 0.
 *
 *   2, 3   the object is moved along the line from the ego and turned about itself, or its front and back are swapped
 *   4      it is moved along and across the line from the ego to its nearest point, and turned about that point
 *
 * Thread: the owner's; no I/O. Applying noise allocates nothing; the same seed gives the same noise.
 */
#ifndef SOURCES_SS2_NOISE_H
#define SOURCES_SS2_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rnd.h"

#define NOISE_RADII_MAX  32
#define NOISE_GROUPS_MAX 64
#define NOISE_STATES     512 /* objects with a state; with more, the state of the object seen longest ago is reused */

struct conf;
struct sensors_look;

struct noise_phi {
	double amplitude, decay, offset; /* decay: 1/s */
};

struct noise_curve {
	double x_ratio; /* ratio of the ellipses' radii, along the ego's x to along its y */
	double value[NOISE_RADII_MAX];
};

struct noise_walk {
	struct noise_phi phi;
	struct noise_curve mean, deviation; /* m, rad */
};

struct noise_group {
	struct conf *conf; /* entities that the group applies to (noise_file.c); not used by model 2 */
	uint32_t n_radii;
	double radius[NOISE_RADII_MAX];       /* m, along y */
	struct noise_walk along, across, yaw; /* across: to the right of the line from the ego */
	struct noise_phi flip_phi, positive_phi;
	double flip_rate, flip_below; /* m/s: faster objects are never flipped */
	struct noise_curve positive;  /* fraction of objects that are seen */
};

struct noise_model {
	int version; /* 1: without groups */
	size_t n_groups;
	struct noise_group group[];
};

/* State of one object. */
struct noise_state {
	uint32_t id;
	int32_t group; /* -1: no group applies to the object */
	int64_t run_ns;
	double along, across, yaw;
	bool flip, positive;
};

struct noise {
	struct noise_state state[NOISE_STATES];
	size_t n, next; /* next: index after the state found last */
};

void noise_reset(struct noise *n);
/* Disturb the objects of the look; objects that are lost are removed. */
void noise_apply(struct noise *n, const struct noise_model *m, struct rnd *r, struct sensors_look *look);

#endif
