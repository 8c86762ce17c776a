/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message as one line: its values in columns (RFC 4180), or in a text of one's own. Thread: the owner's.
 *
 * Columns are the time and each number and string of the message, by its path: nested messages and arrays of fixed length are taken apart, up to
 * LINE_COLUMNS_MAX; other arrays are left out.
 * A text has {path} where a value is to stand, and {path:.3} for one with so many places; {@time}, {@sequence}, {@frame}; {{ and }} for
 * brackets. An element that a message does not have is empty.
 */
#ifndef SIMCTL_LINE_H
#define SIMCTL_LINE_H

#include <stdio.h>

#include <sim/introspect.h>
#include <sim/slot.h>

#define LINE_COLUMNS_MAX 512

enum line_time { LINE_SECONDS, LINE_NS, LINE_DATE }; /* 12.500000000; 12500000000; 1970-01-01T00:00:12.500000000Z */

struct line;

#define LINE_TIME_MAX 64
const char *line_time_text(enum line_time time, int64_t stamp_sim_ns, char buf[LINE_TIME_MAX]);
/* NULL: seconds. -EINVAL: none of raw, seconds, date. */
int line_time_of(const char *name, enum line_time *ret);
/* field: the columns of that part alone; NULL: of all. type is kept. -EINVAL, with a sentence in why; -ENOMEM. */
int line_columns(const struct sim_type *type, const char *field, enum line_time time, char why[512], struct line **ret);
int line_template(const struct sim_type *type, const char *text, enum line_time time, char why[512], struct line **ret);
void line_destroy(struct line *l); /* NULL is fine */
/* Names of the columns; nothing for a text. */
void line_print_head(const struct line *l, FILE *to);
void line_print(const struct line *l, const struct sim_message *m, FILE *to);
/* What has been left out of the columns, as "a, b"; "": nothing. */
const char *line_left_out(const struct line *l);

#endif
