/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world at one tick: its sections, and the objects removed since the tick before. Immutable. Thread: any; one at a
 * time per reference.
 */
#ifndef WORLD_SNAPSHOT_H
#define WORLD_SNAPSHOT_H

#include "world/section.h"

struct snapshot {
	uint64_t tick;
	int64_t time_sim_ns;
	uint64_t hash; /* of all objects, independent of sections */
	uint32_t n_sections, n_gone;
	struct section **sections; /* ascending by level, y, x; holds references */
	uint64_t *gone;            /* removed ids, ascending */
};

void snapshot_destroy(struct snapshot *s);
/* NULL: the cell is empty. */
struct section *snapshot_section(const struct snapshot *s, struct section_key key);
/* Negative, 0 or positive, as with strcmp(). */
int section_key_compare(struct section_key a, struct section_key b);

#endif
