/* SPDX-License-Identifier: Apache-2.0 */
/* What store.c keeps, for store_tick.c, which makes the next tick of it. */
#ifndef WORLD_STORE_PRIVATE_H
#define WORLD_STORE_PRIVATE_H

#include "store.h"

/* An update of an object that is not applied yet. */
struct statement {
	bool update, has_body, remove;
	uint32_t give; /* to this connection; 0: to nobody */
	uint32_t code;
	struct motion motion; /* at the next tick, whose time is known already */
	struct body *body;
};

struct object {
	struct object_state now; /* at the last tick; code 0: not in the world yet */
	struct section_key cell; /* of level 0, at the last tick */
	int64_t said_sim_ns;     /* time of its newest statement */
	struct statement said;
	bool listed; /* in store.said or store.fresh */
	/* while a tick is made */
	struct motion next;
	struct section_key next_cell;
};

/* Of one connection number: it never comes back to somebody else. */
struct maker {
	uint32_t owned; /* objects, those that are not in the world yet too */
	uint32_t made;  /* entries of objects in use */
	struct maker_number {
		struct object *object; /* NULL: none */
		uint32_t generations;  /* one more than the last that was used */
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
	struct objects fresh; /* not in the world yet, in no order; owned */
	struct objects said;  /* of all, those with statements; room for each of them */
	uint64_t *gone;       /* ids that left `all` since the last tick */
	uint32_t n_gone;
	uint64_t tick; /* last one */
	struct store_counters counters;
};

static inline void store_tell(const struct store *st, const struct store_told *t)
{
	if (st->o.told)
		st->o.told(st->o.user, t);
}
int objects_room(struct objects *a, uint32_t n);
struct maker *store_maker(const struct store *st, uint32_t connection); /* NULL: none yet */
void object_destroy(struct object *o);
/* It leaves the tables; its id is gone. */
void store_drop(struct store *st, struct object *o);

#endif
