/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simctl on a terminal whose screen a test can read (screen.py, which needs python3-pyte). A screen that never matches
 * fails the running test, and is printed. One at a time. Thread: the test's.
 */
#ifndef TEST_SCREEN_H
#define TEST_SCREEN_H

/* The arguments of simctl; the last one is NULL. Skips the test if there are no pseudo-terminals: call it first. */
void screen_start(const char *arg, ...) __attribute__((sentinel));
/* Until the screen matches, and what stands there then; static. A regular expression of Python, ^ and $ at each line. */
const char *screen_await(const char *pattern);
void screen_await_not(const char *pattern);
void screen_keys(const char *text); /* with escapes as in Python: "\\x1b" */
void screen_size(int columns, int rows);
void screen_signal(int sig);
/* Waits until simctl has ended. Returns the output of screen.py, static. */
const char *screen_end(void);

#endif
