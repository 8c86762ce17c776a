/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All objects of the world, and what becomes of them at a tick. What clients say between two ticks is collected, and counts at the next one in
 * an order that does not depend on who was faster, so that the same statements make the same world.
 * Thread: one, that of the ticks. What it makes of a tick (struct snapshot) may be read by any.
 */
#ifndef WORLD_STORE_H
#define WORLD_STORE_H

#include "snapshot.h"
#include "world/section.h"

struct store;

/* What has changed it, or will at the next tick: all that the same world can be made of again. */
enum store_what { STORE_UPDATE, STORE_REMOVE, STORE_GIVE, STORE_REMOVE_ALL, STORE_FORGET, STORE_TICK };
struct store_told {
	enum store_what what;
	uint32_t connection, to; /* to: of STORE_GIVE */
	uint64_t id;             /* of STORE_REMOVE, STORE_GIVE */
	const struct store_update *update;
	const struct snapshot *snapshot; /* of STORE_TICK */
};

struct store_options {
	uint32_t objects_max;                                 /* in all */
	uint32_t objects_each_max;                            /* of one connection */
	int64_t section_mm;                                   /* size of a cell of level 0, 1000 to 10^9 */
	int64_t step_dur_ns;                                  /* between ticks */
	int64_t start_sim_ns;                                 /* time of tick 1 */
	void (*told)(void *user, const struct store_told *t); /* of what was taken, in that order; may be NULL */
	void *user;
};

/* An id: who made it, its number there, its generation. */
static inline uint32_t store_id_connection(uint64_t id)
{
	return (uint32_t)(id >> 40);
}
static inline uint64_t store_id(uint32_t connection, uint32_t number, uint16_t generation)
{
	return (uint64_t)connection << 40 | (uint64_t)(number & 0xffffff) << 16 | generation;
}

/* What was not done, and how often. */
struct store_counters {
	uint64_t updates;   /* that were taken */
	uint64_t not_owner; /* updates of an object of another host, or with an id of another host */
	uint64_t stale;     /* earlier than what is known */
	uint64_t gone;      /* an id that is gone, or a generation before one that was */
	uint64_t full;      /* a new object beyond the limits */
};

int store_create(const struct store_options *o, struct store **ret) __attribute__((warn_unused_result));
void store_destroy(struct store *st);

struct store_update {
	uint64_t id;
	uint32_t code;
	bool has_body; /* else it stays as it was */
	struct body *body;
	struct motion_real motion;
};

/*
 * What `connection` says of an object. Takes u->body, also on failure. Until the next tick of several the last counts.
 * 0; -EINVAL a number is not finite, or id, code or connection is 0; -ERANGE beyond the protocol's range; -EPERM not its own; -ESTALE earlier than what is
 * known, or an id that is gone; -ENOSPC no room; -ENOMEM. All but -EINVAL, -ERANGE and -ENOMEM are counted.
 */
int store_update(struct store *st, uint32_t connection, const struct store_update *u)
	__attribute__((warn_unused_result));
/* The owner takes it back: at the next tick it is gone for good. -EPERM, -ENOENT. */
int store_remove(struct store *st, uint32_t connection, uint64_t id) __attribute__((warn_unused_result));
/* All that a connection owns, as when it has left. */
void store_remove_all(struct store *st, uint32_t connection);
/* From the next tick on it is `to`'s, unless that owns as much as one may by then. -EPERM `from` does not own it; -ENOENT; -ENOMEM. */
int store_give(struct store *st, uint32_t from, uint32_t to, uint64_t id) __attribute__((warn_unused_result));
/* Who owns it since the last tick; 0: nobody, it is not there. */
uint32_t store_owner(const struct store *st, uint64_t id);
/* As it was last said to be, if it is not in the world yet too; 0: it is not known. */
uint32_t store_code(const struct store *st, uint64_t id);

/*
 * The next tick. levels: bit L set: sections of level L are made, besides level 0. -ENOMEM: nothing has changed, it may be tried again.
 */
int store_tick(struct store *st, uint32_t levels, struct snapshot **ret) __attribute__((warn_unused_result));
/* The tick that store_tick() would make, and its time. */
uint64_t store_next_tick(const struct store *st);
int64_t store_next_sim_ns(const struct store *st);

uint32_t store_count(const struct store *st);
/* Objects of a connection, those that are not in the world yet too. */
uint32_t store_owned(const struct store *st, uint32_t connection);
/* That number never comes back: what was kept to refuse its old ids goes. False: nothing happens while there are objects that it made or owns. */
bool store_forget_connection(struct store *st, uint32_t connection);
void store_counters(const struct store *st, struct store_counters *ret);

#endif
