/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that a client sees, by id, each with its last states, so that its present or recent state can be queried.
 * Sections are added as they come, and apply with the tick that they belong to. Thread: the owner's.
 */
#ifndef WORLD_REMOTE_H
#define WORLD_REMOTE_H

#include "section.h"

#define REMOTE_OBJECTS_MAX  (1u << 20)
#define REMOTE_SECTIONS_MAX 65536u
#define REMOTE_TICKS_MAX    32u        /* ticks kept for each cell: servers use no older ones as bases */
#define REMOTE_KEPT_MAX     (1u << 22) /* objects in sections that are kept but not seen */

struct remotes;

struct remote {
	uint64_t id;
	uint32_t code, owner, owner_before;
	struct body *body;    /* a reference; NULL: empty */
	struct motion motion; /* its last state as it came */
	uint32_t n, newest;
	bool seen;                   /* in the tick being assembled */
	struct motion_real states[]; /* ring of n states, the latest at newest */
};

enum remote_change {
	REMOTE_ENTERED,
	REMOTE_UPDATED, /* it has changed since the tick before */
	REMOTE_LEFT,
};

struct remote_event {
	enum remote_change change;
	/* for REMOTE_LEFT its last state; valid until the next remotes_ call that changes something */
	const struct remote *object;
};

enum remote_how {
	REMOTE_BETWEEN, /* between two of its states */
	REMOTE_BEYOND,  /* after its last state: extrapolated by its velocity and spin */
	REMOTE_HELD,    /* extrapolation ended at the time limit; or before its first state: that one */
};

/* history: states kept of each object, at least 2. -ENOMEM. */
int remotes_create(unsigned history, struct remotes **ret) __attribute__((warn_unused_result));
void remotes_destroy(struct remotes *r);
/*
 * Call it when the server is another one, or does not know what was sent: objects that the next tick does not contain
 * leave with it.
 */
void remotes_begin_again(struct remotes *r);

/*
 * Adds the body of a Section, or a Leave, of a future tick. A duplicate is ignored. As section_decode(); -ESTALE: also
 * if its base is not here; -E2BIG: also too many sections or objects; -EBADMSG: it leaves a cell that is not seen.
 */
int remotes_section(struct remotes *r, const void *data, size_t len) __attribute__((warn_unused_result));
int remotes_leave(struct remotes *r, struct section_key key) __attribute__((warn_unused_result));
/* Completes the tick: returns what has happened in it, as events. -ENOMEM. */
int remotes_tick(struct remotes *r, const struct remote_event **ret, size_t *ret_n) __attribute__((warn_unused_result));
/*
 * The same if sections come in any order, and may be lost: call it once all sections of that tick have come, by
 * remotes_sections(). A cell without one has left. Sections stay, as bases of later ones, until one has a later base.
 */
int remotes_tick_whole(struct remotes *r, uint64_t tick, const struct remote_event **ret, size_t *ret_n)
	__attribute__((warn_unused_result));
/* How many sections have come for that tick, one of the newest REMOTE_TICKS_MAX. */
uint32_t remotes_sections(const struct remotes *r, uint64_t tick);

uint32_t remotes_count(const struct remotes *r);
const struct remote *remotes_find(const struct remotes *r, uint64_t id); /* NULL: it is not seen */
/* Iterates in any order. at: 0 to begin with; NULL: the end. */
const struct remote *remotes_next(const struct remotes *r, size_t *at);
uint64_t remotes_hash(const struct remotes *r); /* over everything that is seen, as the server's */

/* The state at that time, extrapolated by at most beyond_dur_ns. */
enum remote_how remote_at(const struct remote *o, unsigned history, int64_t at_sim_ns, int64_t beyond_dur_ns,
			  struct motion_real *ret);

#endif
