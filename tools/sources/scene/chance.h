/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded random numbers of sensors. Thread: the owner's of the state. */
#ifndef SOURCES_SCENE_CHANCE_H
#define SOURCES_SCENE_CHANCE_H

#include <math.h>

#include "rnd.h"

/* 0 <= x < 1 */
static inline double chance_unit(struct rnd *r)
{
	return (double)(rnd_u64(r) >> 11) * 0x1p-53;
}

static inline double chance_normal(struct rnd *r, double deviation)
{
	double u = 1 - chance_unit(r), v = chance_unit(r);

	return deviation * sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

#endif
