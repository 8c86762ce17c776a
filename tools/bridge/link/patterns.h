/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An option that is a list of patterns of names: '*' any characters, '?' one; "!..." takes out what was in before. Thread: reading it
 * that of create(); matching: any.
 */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <stdbool.h>

#include <sim/bridge.h>

#define PATTERNS_MAX 256u

struct patterns {
	char **p; /* NULL: it was not read */
	unsigned n;
};

/* -EINVAL: it is no list of texts, logged; -ENOMEM. finish() follows also then. */
int patterns_read(const struct sim_bridge_host *host, const char *option, struct patterns *ret);
void patterns_finish(struct patterns *l);
/* A full name; "lidar" in the list means "/lidar". */
bool patterns_match(const struct patterns *l, const char *name);

#endif
