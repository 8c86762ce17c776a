/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world at one tick: its sections, and what is gone since the tick before. Never changes. Thread: any; one holder.
 */
#ifndef WORLD_SNAPSHOT_H
#define WORLD_SNAPSHOT_H

#include "world/section.h"

struct snapshot {
	uint64_t tick;
	int64_t time_sim_ns;
	uint64_t hash; /* of all objects, whichever their section */
	uint32_t n_sections, n_gone;
	struct section **sections; /* ascending by level, y, x; references */
	uint64_t *gone;            /* ids, ascending */
};

void snapshot_destroy(struct snapshot *s);
/* NULL: that cell is empty. */
struct section *snapshot_section(const struct snapshot *s, struct section_key key);
/* Below 0, 0 or above it as a comes before b or not. */
int section_key_compare(struct section_key a, struct section_key b);

#endif
