/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message as one line: its values in columns (RFC 4180), or in a text that the user gives. Thread: the owner's.
 *
 * Columns are the time, and each number and string of the message under its path. Nested messages and arrays of fixed length\n * are expanded, up to LINE_COLUMNS_MAX columns; other arrays are left out.
 * In a text, {path} is replaced by the value, {path:.3} by the value with 3 decimal places; so are {@time}, {@sequence} and\n * {@frame}. {{ and }} stand for brackets. An element that a message does not have prints as nothing.
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
/* name NULL: seconds. -EINVAL: not raw, seconds or date. */
int line_time_of(const char *name, enum line_time *ret);
/*
 * field: only the columns of that part of the message; NULL: all. Takes its own reference to type. -EINVAL, with the
 * reason in why; -ENOMEM.
 */
int line_columns(const struct sim_type *type, const char *field, enum line_time time, char why[512], struct line **ret);
int line_template(const struct sim_type *type, const char *text, enum line_time time, char why[512], struct line **ret);
void line_destroy(struct line *l); /* NULL-safe */
/* Prints the names of the columns; prints nothing for a text. */
void line_print_head(const struct line *l, FILE *to);
void line_print(const struct line *l, const struct sim_message *m, FILE *to);
/* The arrays that have no column, as "a, b"; "": none are missing. */
const char *line_left_out(const struct line *l);

#endif
