/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of objects: keys of 64 bits, of a scenario or a world, are mapped to the 32-bit ids of messages, numbered from 1
 * in the order of appearance. An object has the same id for the whole run, however long it is out of sight, unless the
 * run has more than IDS_MAX objects. Thread: the owner's.
 */
#ifndef SOURCES_IDS_H
#define SOURCES_IDS_H

#include <stdint.h>

#include "table.h"

#define IDS_MAX       (3u << 18)           /* objects of a run; with more, objects are forgotten ... */
#define IDS_FORGET_NS INT64_C(60000000000) /* ... that were not seen for that long */

struct ids_entry {
	uint64_t key;
	int64_t first_sim_ns, last_sim_ns; /* when it was seen; if time goes back, first_sim_ns goes back, too */
	uint32_t id;
};

/* Zero it before the first use. */
struct ids {
	struct table table; /* of struct ids_entry */
	uint32_t last_id;
};

void ids_finish(struct ids *t);
/* Record that an object is seen. *ret is valid until the next call. -ENOMEM. */
int ids_see(struct ids *t, uint64_t key, int64_t now_sim_ns, const struct ids_entry **ret)
	__attribute__((warn_unused_result));

#endif
