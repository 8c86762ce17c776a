/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there are pseudo-terminals: a container without /dev/pts has none. Thread: any. */
#ifndef TEST_SUPPORT_TERMINAL_H
#define TEST_SUPPORT_TERMINAL_H

#include <pty.h>
#include <stdbool.h>
#include <unistd.h>

static inline bool terminal_can_be_had(void)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0)
		return false;
	close(master);
	close(slave);
	return true;
}

#define TERMINAL_NONE "no pseudo-terminal can be had here; is /dev/pts mounted?"

/* Put it first in a test that needs a terminal: skips the test if there is none. Include it after test.h. */
#define TERMINAL_OR_SKIP() \
	do { \
		if (!terminal_can_be_had()) { \
			print_message("%s\n", TERMINAL_NONE); \
			skip(); \
		} \
	} while (0)

#endif
