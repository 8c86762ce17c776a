/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits the output of a child process into lines. A line may begin with its level as in syslog, "<4>text": programs of
 * simd write it when spawn_ops.h has started them. Lines without a level are information.
 *
 * Thread: the owner's.
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "log.h"

#define LINES_MAX 1024 /* bytes of a line; the rest of a longer line becomes a separate line */

struct lines {
	char text[LINES_MAX]; /* input after the last line end */
	size_t len;
};

/* text: without level and line end; untrusted (see printable.h); borrowed. */
typedef void (*lines_fn)(void *user, enum log_level level, const char *text, size_t len);

/*
 * Reads from a non-blocking descriptor, with at most `reads` calls of read(), and calls fn for each complete line.
 * Returns false at the end of input or on an error; then lines_end() delivers the rest.
 */
bool lines_read(struct lines *l, int fd, unsigned reads, lines_fn fn, void *user);
/* Calls fn for the last line if it has no line end. */
void lines_end(struct lines *l, lines_fn fn, void *user);

#endif
