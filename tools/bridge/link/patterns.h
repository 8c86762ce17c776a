/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An option that is a list of name patterns: '*' matches any characters, '?' one; "!..." excludes names that an earlier
 * pattern included. Threads: reading: that of create(); matching: any.
 */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <stdbool.h>

#include <sim/bridge.h>

#define PATTERNS_MAX 256u

struct patterns {
	char **p; /* NULL: not read */
	unsigned n;
};

/* -EINVAL: not a list of patterns, logged; -ENOMEM. Call patterns_finish() in any case. */
int patterns_read(const struct sim_bridge_host *host, const char *option, struct patterns *ret);
void patterns_finish(struct patterns *l);
/* name: a full name; "lidar" in the list means "/lidar". */
bool patterns_match(const struct patterns *l, const char *name);

#endif
