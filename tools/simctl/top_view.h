/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of `top`, line by line, and the effects of its keys. Draws through a function that the caller gives: the
 * terminal's, a pipe's, a test's. Thread: main.
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
	unsigned sort[TOP_TABS]; /* column number */
	bool descending[TOP_TABS];
	char filter[TOP_FILTER_MAX + 1];
	bool typing, frozen, help, detail, quit;
	char selected[128]; /* name of the selected row; "": the first */
	unsigned first;     /* first row on the screen */
	unsigned skipped;   /* lines of the details above the screen */
	unsigned page;      /* rows that fitted when it was last drawn */
	char why[512];      /* why simd is disconnected; "": connected */
};

struct top_screen {
	int columns, rows; /* rows 0: unlimited, without the line of keys */
	void (*put)(void *arg, int row, const char *text, enum top_tone tone, bool selected);
	void *arg;
};

/* Draws every line of the screen, including empty ones. */
void top_draw(struct top_view *v, const struct top_model *m, const struct top_screen *s);
/* Handles a key: a character or enum top_key. m provides the rows. */
void top_key(struct top_view *v, const struct top_model *m, int key);

#endif
