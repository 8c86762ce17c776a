/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of `plot`, as characters with tones: a title, a line a field with its values, the lines in braille with their axes, and keys.
 * Thread: main.
 */
#ifndef SIMCTL_PLOT_VIEW_H
#define SIMCTL_PLOT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "plot_model.h"
#include "top_state.h"

struct plot_cell {
	uint32_t code; /* a code point */
	uint8_t tone;  /* enum top_tone; TOP_SERIES + i: the i-th line's colour */
};

struct plot_frame {
	int columns, rows;
	struct plot_cell *cell; /* row by row */
};

/* 0, -EINVAL: no room; -ENOMEM. */
int plot_frame_init(struct plot_frame *f, int columns, int rows);
void plot_frame_finish(struct plot_frame *f); /* all zero is fine */
/* What of a row has one tone, from a column on, as UTF-8; the column behind it, which is f->columns at its end. text: room for 4 columns + 1. */
int plot_frame_run(const struct plot_frame *f, int row, int column, char *text, enum top_tone *ret);

struct plot_view {
	bool colours; /* else lines are told apart by their dashes */
	bool keys;    /* the last line names the keys */
	bool quit;
	const char *why; /* why there is no simd; "" or NULL: there is one */
};

/* As much as has room. 0, -ENOMEM. */
int plot_draw(const struct plot_view *v, const struct plot_model *m, struct plot_frame *f);
void plot_key(struct plot_view *v, struct plot_model *m, int key);

#endif
