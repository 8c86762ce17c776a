/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A publishing rate in simulated time that can be changed while the source runs: a frequency gate, and the parameter
 * that sets it.
 *
 * Thread: rate_due() on the publishing thread. A new rate is set on the library's thread, and takes effect at the next
 * rate_due().
 */
#ifndef SOURCES_RATE_H
#define SOURCES_RATE_H

#include <stdatomic.h>

#include <sim/clock.h>
#include <sim/param.h>

struct rate {
	struct sim_gate gate;
	bool always;              /* due at every call of rate_due() */
	_Atomic int64_t next_mhz; /* new rate in millihertz; below 0: none was set */
};

/* hz 0: due at every call. -EINVAL. */
int rate_init(struct rate *r, double hz);
/* Whether a message is due. A rate set since the last call takes effect in this call. */
bool rate_due(struct rate *r, const struct sim_clock_sample *now);

struct rate_param {
	const char *name, *description; /* description: with the unit */
	double initial, min, max;       /* Hz; with 0, which min 0 allows, every call is due */
};

/* Keeps the pointer r until p is destroyed. Errors as of sim_params_declare(). */
int rate_declare(struct rate *r, struct sim_params *p, const struct rate_param *o);

/*
 * Create the parameters for `simctl param`, under the client's name. Several clients may have one name, but only one
 * node: if another client has the node, it logs a warning and returns NULL, and the source works without parameters.
 */
struct sim_params *rate_params(struct sim_client *c, const char *name);

#endif
