/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All objects of the world, and how a tick changes them. Statements of clients between two ticks are collected, and
 * applied at the next one in an order that does not depend on their arrival, so that the same statements make the same
 * world. Thread: that of the ticks; the snapshot of a tick may be read by any thread.
 */
#ifndef WORLD_STORE_H
#define WORLD_STORE_H

#include "snapshot.h"
#include "world/section.h"

struct store;

/* What has changed the store, or will at the next tick: enough to make the same world again. */
enum store_what { STORE_UPDATE, STORE_REMOVE, STORE_GIVE, STORE_REMOVE_ALL, STORE_FORGET, STORE_TICK };
struct store_told {
	enum store_what what;
	uint32_t connection, to; /* to: for STORE_GIVE */
	uint64_t id;             /* for STORE_REMOVE, STORE_GIVE */
	const struct store_update *update;
	const struct snapshot *snapshot; /* for STORE_TICK */
};

struct store_options {
	uint32_t objects_max;      /* in total */
	uint32_t objects_each_max; /* per connection */
	int64_t section_mm;        /* size of a cell of level 0, 1000 to 10^9 */
	int64_t step_dur_ns;       /* simulated time between ticks */
	int64_t start_sim_ns;      /* time of tick 1 */
	/* called for each accepted statement and tick, in order; may be NULL */
	void (*told)(void *user, const struct store_told *t);
	void *user;
};

/* An id: the connection of its creator, its number there, its generation. */
static inline uint32_t store_id_connection(uint64_t id)
{
	return (uint32_t)(id >> 40);
}
static inline uint64_t store_id(uint32_t connection, uint32_t number, uint16_t generation)
{
	return (uint64_t)connection << 40 | (uint64_t)(number & 0xffffff) << 16 | generation;
}

/* Counts of statements, by outcome. */
struct store_counters {
	uint64_t updates;   /* accepted updates */
	uint64_t not_owner; /* updates of another connection's object, or with an id of another connection */
	uint64_t stale;     /* stamp earlier than that of the last update */
	uint64_t gone;      /* the id was removed, or its generation is older than a removed one */
	uint64_t full;      /* new objects beyond the limits */
};

int store_create(const struct store_options *o, struct store **ret) __attribute__((warn_unused_result));
void store_destroy(struct store *st);

struct store_update {
	uint64_t id;
	uint32_t code;
	bool has_body; /* else the body is unchanged */
	struct body *body;
	struct motion_real motion;
};

/*
 * An update of an object by `connection`. Takes over u->body, also on failure. Of several updates until the next tick
 * the last one counts. 0; -EINVAL: a number is not finite, or id, code or connection is 0; -ERANGE: out of the
 * protocol's range; -EPERM: not its own object; -ESTALE: stamp earlier than the last update's, or a removed id;
 * -ENOSPC: beyond the limits; -ENOMEM. All errors except -EINVAL, -ERANGE and -ENOMEM are counted.
 */
int store_update(struct store *st, uint32_t connection, const struct store_update *u)
	__attribute__((warn_unused_result));
/* Removes an object of the connection at the next tick, for good. -EPERM, -ENOENT. */
int store_remove(struct store *st, uint32_t connection, uint64_t id) __attribute__((warn_unused_result));
/* Removes all objects of a connection, as when it has left. */
void store_remove_all(struct store *st, uint32_t connection);
/*
 * Transfers an object at the next tick, unless `to` then owns as many as allowed. -EPERM: `from` does not own it;
 * -ENOENT; -ENOMEM.
 */
int store_give(struct store *st, uint32_t from, uint32_t to, uint64_t id) __attribute__((warn_unused_result));
/* The owner as of the last tick; 0: no such object. */
uint32_t store_owner(const struct store *st, uint64_t id);
/* The code of its last update, even if it is not in the world yet; 0: unknown id. */
uint32_t store_code(const struct store *st, uint64_t id);

/*
 * Makes the next tick. levels: bit L: also make sections of level L; level 0 is always made. -ENOMEM: nothing has
 * changed, and the call can be repeated.
 */
int store_tick(struct store *st, uint32_t levels, struct snapshot **ret) __attribute__((warn_unused_result));
/* The next tick, and its time. */
uint64_t store_next_tick(const struct store *st);
int64_t store_next_sim_ns(const struct store *st);

uint32_t store_count(const struct store *st);
/* Number of objects of a connection, including those not in the world yet. */
uint32_t store_owned(const struct store *st, uint32_t connection);
/*
 * Frees what is kept to refuse old ids of a connection number that will never be used again. False: it still has
 * objects that it created or owns; nothing is done.
 */
bool store_forget_connection(struct store *st, uint32_t connection);
void store_counters(const struct store *st, struct store_counters *ret);

#endif
