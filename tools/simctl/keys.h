/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single key presses from the terminal, read without waiting for Enter. The terminal's settings are restored by
 * keys_close() and at every exit of the process except by SIGKILL. Thread: main.
 */
#ifndef SIMCTL_KEYS_H
#define SIMCTL_KEYS_H

enum key { KEY_NONE, KEY_SPACE, KEY_UP, KEY_DOWN, KEY_RIGHT, KEY_LEFT, KEY_T, KEY_Q, KEY_OTHER };

/* Does nothing if stdin is not a terminal, or the process is in the background. */
void keys_open(void);
void keys_close(void);
/* Waits up to wall_ms for a key; KEY_NONE: none, or a signal came. */
enum key keys_read(int wall_ms);

#endif
