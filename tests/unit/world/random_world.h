/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of objects that come, go, move and change, for tests and the fuzzer. Thread: the caller's. */
#ifndef RANDOM_WORLD_H
#define RANDOM_WORLD_H

#include "rnd.h"
#include "world/section.h"

#define RANDOM_WORLD_MAX 200u

/* The section after `before` (NULL: the beginning) one step later: a reference of the caller's. */
struct section *random_section(struct rnd *r, const struct section *before);

/* Same key, tick, time, objects with all they have, count and hash. */
bool section_equal(const struct section *a, const struct section *b);

#endif
