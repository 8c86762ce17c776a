/* SPDX-License-Identifier: Apache-2.0 */
/* State of the store, shared by store.c and store_tick.c. */
#ifndef WORLD_STORE_PRIVATE_H
#define WORLD_STORE_PRIVATE_H

#include "store.h"

/* An update that is not applied yet. */
struct statement {
	bool update, has_body, remove;
	uint32_t give; /* transfer to this connection; 0: none */
	uint32_t code;
	struct motion motion; /* extrapolated to the next tick */
	struct body *body;
};

struct object {
	struct object_state now; /* at the last tick; code 0: not in the world yet */
	struct section_key cell; /* on level 0, at the last tick */
	int64_t said_sim_ns;     /* stamp of its last statement */
	struct statement said;
	bool listed; /* it is in store.said or store.fresh */
	/* scratch while a tick is made */
	struct motion next;
	struct section_key next_cell;
};

/* State of one connection number, which is never given to another client. */
struct maker {
	uint32_t owned; /* objects owned, including those not in the world yet */
	uint32_t made;  /* used entries of numbers */
	struct maker_number {
		struct object *object; /* NULL: no object */
		uint32_t generations;  /* one more than the last generation used */
	} numbers[];
};

struct objects {
	struct object **at;
	uint32_t n, size;
};

struct store {
	struct store_options o;
	struct maker **makers; /* by connection */
	uint32_t n_makers;
	struct objects all;   /* in the world, ascending by id; owned */
	struct objects fresh; /* not in the world yet, unsorted; owned */
	struct objects said;  /* objects in `all` with statements; has room for all */
	uint64_t *gone;       /* ids removed from `all` since the last tick */
	uint32_t n_gone;
	uint64_t tick; /* the last tick */
	struct store_counters counters;
};

static inline void store_tell(const struct store *st, const struct store_told *t)
{
	if (st->o.told)
		st->o.told(st->o.user, t);
}
int objects_room(struct objects *a, uint32_t n);
struct maker *store_maker(const struct store *st, uint32_t connection); /* NULL: none */
void object_destroy(struct object *o);
/* Removes an object from the tables; its id is not used again. */
void store_drop(struct store *st, struct object *o);

#endif
