/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a source publishes, in simulated time, where others may set that while it runs: a frequency gate, and the parameter
 * that is its rate.
 *
 * Thread: rate_due() by whoever publishes; what is set comes on the library's, and is taken at the next look.
 */
#ifndef SOURCES_RATE_H
#define SOURCES_RATE_H

#include <stdatomic.h>

#include <sim/clock.h>
#include <sim/param.h>

struct rate {
	struct sim_gate gate;
	bool always;              /* due at every look */
	_Atomic int64_t next_mhz; /* millihertz that were set; below 0: none were */
};

/* hz 0: due at every look. -EINVAL. */
int rate_init(struct rate *r, double hz);
/* Whether it is due. One that was set since the last look begins with this one. */
bool rate_due(struct rate *r, const struct sim_clock_sample *now);

struct rate_param {
	const char *name, *description; /* description: with the unit */
	double initial, min, max;       /* Hz; min 0: then every look is due */
};

/* r: keeps, until p is destroyed. As sim_params_declare(). */
int rate_declare(struct rate *r, struct sim_params *p, const struct rate_param *o);

/*
 * For `simctl param`, under the client's name. A client's name need not be its alone, a node's must: NULL, and a warning, where
 * another one has it; such a source works all the same.
 */
struct sim_params *rate_params(struct sim_client *c, const char *name);

#endif
