/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The noise of detections beyond that of a scenario's own configuration: scenario_simulator_v2's models 2 to 4, which stand in its
 * file of parameters (noise_file.h).
 *
 * What is drawn of an object goes on from what was drawn before: a number as an autoregressive process,
 * x = mean + phi (x - mean) + N(0, deviation sqrt(1 - phi^2)), a yes or no as a Markov chain that stays with probability phi or is
 * drawn again; phi = amplitude exp(-decay dt) + offset, 0 to 1. An object that was never seen is drawn again. Mean, deviation and rate
 * depend on where it is: the first ellipse around the ego that holds it; beyond the last they are 0.
 *
 *   2, 3   the object is moved along the line from the ego and turned about itself, or has front and back mistaken
 *   4      it is moved along and across the line from the ego to its nearest point, and turned about that
 *
 * Thread: the owner's; no I/O. Applying it allocates nothing; the same seed gives the same noise.
 */
#ifndef SOURCES_SS2_NOISE_H
#define SOURCES_SS2_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rnd.h"

#define NOISE_RADII_MAX  32
#define NOISE_GROUPS_MAX 64
#define NOISE_STATES     512 /* objects that are remembered; of more, those seen last */

struct conf;
struct sensors_look;

struct noise_phi {
	double amplitude, decay, offset; /* decay: 1/s */
};

struct noise_curve {
	double x_ratio; /* of the ellipses' radii, along the ego's x to along its y */
	double value[NOISE_RADII_MAX];
};

struct noise_walk {
	struct noise_phi phi;
	struct noise_curve mean, deviation; /* m, rad */
};

struct noise_group {
	struct conf *conf; /* whom it is for (noise_file.c), but for model 2 */
	uint32_t n_radii;
	double radius[NOISE_RADII_MAX];       /* m, along y */
	struct noise_walk along, across, yaw; /* across: to the right of the line from the ego */
	struct noise_phi flip_phi, positive_phi;
	double flip_rate, flip_below; /* m/s: what is faster is never mistaken */
	struct noise_curve positive;  /* how many are seen */
};

struct noise_model {
	int version; /* 1: there are no groups */
	size_t n_groups;
	struct noise_group group[];
};

/* Of one object. */
struct noise_state {
	uint32_t id;
	int32_t group; /* -1: none is for it */
	int64_t run_ns;
	double along, across, yaw;
	bool flip, positive;
};

struct noise {
	struct noise_state state[NOISE_STATES];
	size_t n, next; /* next: behind the one found last */
};

void noise_reset(struct noise *n);
/* Disturb what was seen; those that are lost go. */
void noise_apply(struct noise *n, const struct noise_model *m, struct rnd *r, struct sensors_look *look);

#endif
