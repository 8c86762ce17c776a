/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole screen of the terminal, with ncurses. It is restored by terminal_close(), at every exit, and when a signal
 * other than SIGKILL ends the process. One at a time. Thread: main.
 */
#ifndef SIMCTL_TERMINAL_H
#define SIMCTL_TERMINAL_H

#include <stdbool.h>

#include "top_state.h"

/* Returns 0, or 1 after printing that `who` ("top") cannot draw, and what to use instead. */
int terminal_open(const char *who, const char *instead);
void terminal_close(void);

bool terminal_colours(void); /* false if $NO_COLOR is set */
int terminal_columns(void);
int terminal_rows(void);
void terminal_put(void *unused, int row, const char *text, enum top_tone tone, bool selected);
/* Draws part of a row; the rest of the row stays. */
void terminal_paint(int row, int column, const char *text, enum top_tone tone);
/* Puts what was painted on the screen. */
void terminal_show(void);
/*
 * Waits up to wall_ms for a key, a signal or a change of the screen's size. Returns a character or enum top_key; -1: no
 * key.
 */
int terminal_key(int wall_ms);

#endif
