/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands on the screen of `top`, line by line, and what its keys do to that. Draws through a function that is given: the terminal's, a
 * pipe's, a test's. Thread: main.
 */
#ifndef SIMCTL_TOP_VIEW_H
#define SIMCTL_TOP_VIEW_H

#include <stdbool.h>

#include "top_model.h"
#include "top_state.h"

#define TOP_FILTER_MAX 63

enum top_key {
	TOP_KEY_UP = 256,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END
};

#define TOP_KEY_ESCAPE 27
#define TOP_KEY_ENTER  '\n'

struct top_view {
	enum top_tab tab;
	unsigned sort[TOP_TABS]; /* number of the column */
	bool descending[TOP_TABS];
	char filter[TOP_FILTER_MAX + 1];
	bool typing, frozen, help, detail, quit;
	char selected[128]; /* name of the row, "": the first one */
	unsigned first;     /* row that is the first one on the screen */
	unsigned skipped;   /* lines of the details that are above the screen */
	unsigned page;      /* rows that had room when it was last drawn */
	char why[512];      /* why there is no simd; "": there is one */
};

struct top_screen {
	int columns, rows; /* rows 0: all, and no line of keys */
	void (*put)(void *arg, int row, const char *text, enum top_tone tone, bool selected);
	void *arg;
};

/* Draws every line of the screen, empty ones as well. */
void top_draw(struct top_view *v, const struct top_model *m, const struct top_screen *s);
/* A key: a character or enum top_key. m says which rows there are. */
void top_key(struct top_view *v, const struct top_model *m, int key);

#endif
