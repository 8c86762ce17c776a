/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a child process writes, line by line. A line may begin with its level as in syslog, "<4>text": ours do, when
 * spawn_ops.h has started them. Others are information.
 *
 * Thread: the owner's.
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "log.h"

#define LINES_MAX 1024 /* bytes of a line; the rest of a longer one is a line of its own */

struct lines {
	char text[LINES_MAX]; /* that has no line end yet */
	size_t len;
};

/* A line without level and line end; foreign (printable.h), and borrowed. */
typedef void (*lines_fn)(void *user, enum log_level level, const char *text, size_t len);

/* What a non-blocking descriptor has, in at most so many reads. False: that was its end; lines_end() has the rest. */
bool lines_read(struct lines *l, int fd, unsigned reads, lines_fn fn, void *user);
/* The last line, if it has no line end. */
void lines_end(struct lines *l, lines_fn fn, void *user);

#endif
