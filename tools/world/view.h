/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one client sees of the world: the cells within its radius of interest, and up to which tick it was sent each. A cell comes into
 * view when its nearest point is within the radius of a centre, and leaves when that is a tenth beyond it. A cell without objects is not in view.
 * Thread: the owner's.
 */
#ifndef WORLD_VIEW_H
#define WORLD_VIEW_H

#include "snapshot.h"

#define VIEW_ALL INT64_MAX /* a radius: the whole world */

struct view_centre {
	int64_t x_mm, y_mm;
};

struct view_options {
	uint32_t level;     /* of the cells, below SECTION_LEVELS; snapshots must have it */
	int64_t section_mm; /* size of a cell of level 0 */
	int64_t radius_mm;  /* 0 to 10^12, or VIEW_ALL */
};

struct view_cell {
	struct section_key key;
	uint64_t tick; /* that the client has; 0: none */
	uint64_t since; /* in view, or sent whole, from that tick on: what it has of earlier ones it may not have any more */
};

struct view {
	struct view_options o;
	struct view_cell *cells; /* in view, ascending by key */
	uint32_t n;
};

/* What to send of a tick. */
struct view_step {
	struct view_section {
		struct section *section; /* borrowed from the snapshot */
		uint64_t base;           /* tick that the client has of it; 0: none */
		uint32_t index;          /* of the snapshot's sections */
	} * sections;                    /* ascending by key */
	struct section_key *left;        /* out of view, ascending */
	uint32_t n_sections, n_left;
};

void view_init(struct view *v, const struct view_options *o);
void view_finish(struct view *v);
/*
 * What a client with these centres is to be sent of s; the view is then as if it had been. -ENOMEM: the view is as it was. ret: the caller's,
 * for view_step_finish(). The snapshot must be later than those before.
 */
int view_next(struct view *v, const struct snapshot *s, const struct view_centre *centres, unsigned n,
	      struct view_step *ret) __attribute__((warn_unused_result));
void view_step_finish(struct view_step *step);
/* Section i of the last step may be lost on its way: the client has what it had of that cell, until view_acked(). */
void view_unsure(struct view *v, const struct view_step *step, uint32_t i);
/* It has that cell of that tick. */
void view_acked(struct view *v, struct section_key key, uint64_t tick);
/* The tick that it has of that cell; 0: none. */
uint64_t view_has(const struct view *v, struct section_key key);
/* It has lost that cell: the next step sends it whole. All: every cell. */
void view_lost(struct view *v, struct section_key key);
void view_lost_all(struct view *v);

#endif
