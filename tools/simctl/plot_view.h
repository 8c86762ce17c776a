/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws `plot` as characters with tones: a title, one line per field with its values, the curves in braille with their
 * axes, and the keys. Thread: main.
 */
#ifndef SIMCTL_PLOT_VIEW_H
#define SIMCTL_PLOT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "plot_model.h"
#include "top_state.h"

struct plot_cell {
	uint32_t code; /* Unicode code point */
	uint8_t tone;  /* enum top_tone; TOP_SERIES + i: the i-th line's colour */
};

struct plot_frame {
	int columns, rows;
	struct plot_cell *cell; /* row by row */
};

/* 0; -EINVAL: no rows or columns; -ENOMEM. */
int plot_frame_init(struct plot_frame *f, int columns, int rows);
void plot_frame_finish(struct plot_frame *f); /* a zeroed frame is fine */
/*
 * Copies the cells from `column` on that share one tone, as UTF-8, and returns the column after them (f->columns at the
 * row's end). text: room for 4 columns + 1.
 */
int plot_frame_run(const struct plot_frame *f, int row, int column, char *text, enum top_tone *ret);

struct plot_view {
	bool colours; /* false: curves differ by their dashes */
	bool keys;    /* the last line names the keys */
	bool quit;
	const char *why; /* why simd is disconnected; "" or NULL: connected */
};

/* Draws as much as fits. 0, -ENOMEM. */
int plot_draw(const struct plot_view *v, const struct plot_model *m, struct plot_frame *f);
void plot_key(struct plot_view *v, struct plot_model *m, int key);

#endif
