/* SPDX-License-Identifier: Apache-2.0 */
/* The powers of ten of shortest.c. */
#ifndef SHORTEST_PRIVATE_H
#define SHORTEST_PRIVATE_H

#include <stdint.h>

#define SHORTEST_POWER_MIN (-292)
#define SHORTEST_POWER_MAX 324
#define SHORTEST_POWERS    (SHORTEST_POWER_MAX - SHORTEST_POWER_MIN + 1)

struct shortest_power {
	uint64_t high, low;
};

extern const struct shortest_power shortest_powers[SHORTEST_POWERS];

#endif
