/* SPDX-License-Identifier: Apache-2.0 */
/* See keys.h. Thread: main. */
#include "keys.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define SEQUENCE_MS 20 /* the bytes of an escape sequence arrive within this time */

static struct {
	struct termios before;
	bool raw, at_exit;
	bool ended; /* stdin is at its end */
} keys;

static bool in_foreground(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void keys_close(void)
{
	if (keys.raw)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &keys.before);
	keys.raw = false;
}

void keys_open(void)
{
	struct termios t;

	if (keys.raw || !in_foreground() || tcgetattr(STDIN_FILENO, &keys.before) < 0)
		return;
	if (!keys.at_exit)
		keys.at_exit = atexit(keys_close) == 0;
	t = keys.before;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C and Ctrl-Z still raise signals */
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 0;
	keys.raw = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0;
}

static bool readable(int wall_ms)
{
	struct pollfd p = { .fd = keys.raw && !keys.ended ? STDIN_FILENO : -1, .events = POLLIN };

	return poll(&p, 1, wall_ms) == 1;
}

static enum key arrow(char c)
{
	switch (c) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'C':
		return KEY_RIGHT;
	case 'D':
		return KEY_LEFT;
	default:
		return KEY_OTHER;
	}
}

/* -1: no byte. */
static int next_byte(int wall_ms)
{
	char c;

	if (!readable(wall_ms))
		return -1;
	if (read(STDIN_FILENO, &c, 1) == 1)
		return (unsigned char)c;
	keys.ended = true;
	return -1;
}

enum key keys_read(int wall_ms)
{
	int c = next_byte(wall_ms);

	if (c < 0)
		return KEY_NONE;
	if (c == ' ')
		return KEY_SPACE;
	if (c == 't' || c == 'q')
		return c == 't' ? KEY_T : KEY_Q;
	if (c != '\033')
		return KEY_OTHER;
	c = next_byte(SEQUENCE_MS);
	if (c != '[' && c != 'O')
		return KEY_OTHER;
	return arrow((char)next_byte(SEQUENCE_MS));
}
