/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which object is which: keys of 64 bits, of a scenario or a world, become the 32-bit ids of messages, from 1 in the order
 * of appearance. An object has its id for the whole run, however long it is out of sight, as long as a run has no more of
 * them than IDS_MAX. Thread: the owner's.
 */
#ifndef SOURCES_IDS_H
#define SOURCES_IDS_H

#include <stdint.h>

#include "table.h"

#define IDS_MAX       (3u << 18)           /* objects of a run; of more, some are forgotten: ... */
#define IDS_FORGET_NS INT64_C(60000000000) /* ... those unseen for so long */

struct ids_entry {
	uint64_t key;
	int64_t first_sim_ns, last_sim_ns; /* seen; time that goes back takes first along */
	uint32_t id;
};

/* Zeroed to begin with. */
struct ids {
	struct table table; /* of struct ids_entry */
	uint32_t last_id;
};

void ids_finish(struct ids *t);
/* An object is seen. The entry is valid until the next call. -ENOMEM. */
int ids_see(struct ids *t, uint64_t key, int64_t now_sim_ns, const struct ids_entry **ret)
	__attribute__((warn_unused_result));

#endif
