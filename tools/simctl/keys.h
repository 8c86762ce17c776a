/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single keys from the terminal, for commands that go on meanwhile. The terminal is as it was before after keys_close() and at every exit
 * of the process that is not a kill. Thread: main.
 */
#ifndef SIMCTL_KEYS_H
#define SIMCTL_KEYS_H

enum key { KEY_NONE, KEY_SPACE, KEY_UP, KEY_DOWN, KEY_RIGHT, KEY_LEFT, KEY_T, KEY_Q, KEY_OTHER };

/* Without a terminal at stdin, or in the background, there are no keys. */
void keys_open(void);
void keys_close(void);
/* Wait so long for one, or a signal: KEY_NONE. */
enum key keys_read(int wall_ms);

#endif
