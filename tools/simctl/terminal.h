/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole screen of the terminal, by ncurses. It is as before after terminal_close(), at every exit, and when a signal ends the process,
 * SIGKILL apart. One at a time. Thread: main.
 */
#ifndef SIMCTL_TERMINAL_H
#define SIMCTL_TERMINAL_H

#include <stdbool.h>

#include "top_state.h"

/* 0, or 1 and a sentence: who ("top") can not draw, and what it has instead. */
int terminal_open(const char *who, const char *instead);
void terminal_close(void);

bool terminal_colours(void); /* not where $NO_COLOR is set */
int terminal_columns(void);
int terminal_rows(void);
void terminal_put(void *unused, int row, const char *text, enum top_tone tone, bool selected);
/* A part of a row; what stands beside it stays. */
void terminal_paint(int row, int column, const char *text, enum top_tone tone);
/* Makes it visible. */
void terminal_show(void);
/* Waits so long for a key, a signal, another size of the screen; a character or enum top_key, -1: none. */
int terminal_key(int wall_ms);

#endif
