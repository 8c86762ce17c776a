/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one client sees of the world: the cells within its radius of interest, and the tick that it has of each. A cell
 * comes into view when its nearest point is within the radius of a centre, and leaves at 1.1 times the radius. Empty
 * cells are not in view. Thread: the owner's.
 */
#ifndef WORLD_VIEW_H
#define WORLD_VIEW_H

#include "snapshot.h"

#define VIEW_ALL INT64_MAX /* radius: the whole world */

struct view_centre {
	int64_t x_mm, y_mm;
};

struct view_options {
	uint32_t level;     /* of the cells, below SECTION_LEVELS; snapshots must include it */
	int64_t section_mm; /* size of a cell of level 0 */
	int64_t radius_mm;  /* 0 to 10^12, or VIEW_ALL */
};

struct view_cell {
	struct section_key key;
	uint64_t tick;  /* that the client has; 0: none */
	uint64_t since; /* in view, or sent whole, since that tick: the client may have discarded earlier ones */
};

struct view {
	struct view_options o;
	struct view_cell *cells; /* in view, ascending by key */
	uint32_t n;
};

/* What to send for a tick. */
struct view_step {
	struct view_section {
		struct section *section; /* borrowed from the snapshot */
		uint64_t base;           /* tick that the client has of that cell; 0: none */
		uint32_t index;          /* in snapshot.sections */
	} * sections;                    /* ascending by key */
	struct section_key *left;        /* cells that left the view, ascending */
	uint32_t n_sections, n_left;
};

void view_init(struct view *v, const struct view_options *o);
void view_finish(struct view *v);
/*
 * Computes what a client with these centres must be sent for s, and updates the view as if it had been sent. -ENOMEM:
 * the view is unchanged. ret: finish with view_step_finish(). Snapshots must be passed in ascending order.
 */
int view_next(struct view *v, const struct snapshot *s, const struct view_centre *centres, unsigned n,
	      struct view_step *ret) __attribute__((warn_unused_result));
void view_step_finish(struct view_step *step);
/* Section i of the last step may get lost: the view keeps the tick before it, until view_acked(). */
void view_unsure(struct view *v, const struct view_step *step, uint32_t i);
/* The client has that tick of the cell. */
void view_acked(struct view *v, struct section_key key, uint64_t tick);
/* The tick that the client has of the cell; 0: none. */
uint64_t view_has(const struct view *v, struct section_key key);
/* The client has lost that cell, or all cells: the next step sends them whole. */
void view_lost(struct view *v, struct section_key key);
void view_lost_all(struct view *v);

#endif
