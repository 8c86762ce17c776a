/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that a client sees, by id, each with its last states, so that it can be asked where one is now or was a moment ago. Sections are put in
 * as they come, and count with the tick that they belong to. Thread: the owner's.
 */
#ifndef WORLD_REMOTE_H
#define WORLD_REMOTE_H

#include "section.h"

#define REMOTE_OBJECTS_MAX  (1u << 20)
#define REMOTE_SECTIONS_MAX 65536u
#define REMOTE_TICKS_MAX    32u        /* of one cell that are kept: no server has older ones as bases */
#define REMOTE_KEPT_MAX     (1u << 22) /* objects in sections that are kept and not seen */

struct remotes;

struct remote {
	uint64_t id;
	uint32_t code, owner, owner_before;
	struct body *body;    /* a reference; NULL: empty */
	struct motion motion; /* its last state as it came */
	uint32_t n, newest;
	bool seen;                   /* in the tick that is being put together */
	struct motion_real states[]; /* a ring: n of them, the last one at newest */
};

enum remote_change {
	REMOTE_ENTERED,
	REMOTE_UPDATED, /* it is not as it was at the tick before */
	REMOTE_LEFT,
};

struct remote_event {
	enum remote_change change;
	const struct remote
		*object; /* of REMOTE_LEFT as it was last; valid until the next remotes_ call that changes something */
};

enum remote_how {
	REMOTE_BETWEEN, /* two of its states */
	REMOTE_BEYOND,  /* its last state: moved on by its velocity and spin */
	REMOTE_HELD, /* so long after its last state that it was moved on by no more than the longest time; or before its first: that one */
};

/* history: states of each, at least 2. -ENOMEM. */
int remotes_create(unsigned history, struct remotes **ret) __attribute__((warn_unused_result));
void remotes_destroy(struct remotes *r);
/* What the next tick does not bring again has left with it: the server is not the same any more, or does not know what was sent. */
void remotes_begin_again(struct remotes *r);

/*
 * A Section's body, or a Leave, of a tick to come. One that is there already is taken once. As section_decode(); -ESTALE: also where its base is
 * not here; -E2BIG: also too many sections or objects; -EBADMSG: it leaves what is not seen.
 */
int remotes_section(struct remotes *r, const void *data, size_t len) __attribute__((warn_unused_result));
int remotes_leave(struct remotes *r, struct section_key key) __attribute__((warn_unused_result));
/* The tick is whole: what has happened in it, by events. -ENOMEM. */
int remotes_tick(struct remotes *r, const struct remote_event **ret, size_t *ret_n) __attribute__((warn_unused_result));
/*
 * The same where sections come in any order, and may be lost: as many as remotes_sections() says are of that tick, and that is all there are. A cell
 * without one has left. Sections stay, as bases of those to come, until one has a later base.
 */
int remotes_tick_whole(struct remotes *r, uint64_t tick, const struct remote_event **ret, size_t *ret_n)
	__attribute__((warn_unused_result));
uint32_t remotes_sections(const struct remotes *r,
			  uint64_t tick); /* that have come, of the newest REMOTE_TICKS_MAX ticks */

uint32_t remotes_count(const struct remotes *r);
const struct remote *remotes_find(const struct remotes *r, uint64_t id); /* NULL: it is not seen */
/* All in no order. at: 0 to begin with; NULL: the end. */
const struct remote *remotes_next(const struct remotes *r, size_t *at);
uint64_t remotes_hash(const struct remotes *r); /* over all that is seen, as the world's */

/* Where it is at that time; beyond its last state at most beyond_dur_ns. */
enum remote_how remote_at(const struct remote *o, unsigned history, int64_t at_sim_ns, int64_t beyond_dur_ns,
			  struct motion_real *ret);

#endif
