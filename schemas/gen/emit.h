/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C mapping: writes the header of a resolved type. Pure writers to a FILE, except emit_check(), which checks what
 * cannot be mapped. One thread's.
 */
#ifndef EMIT_H
#define EMIT_H

#include <stdio.h>

#include "gen/typeset.h"
#include "msg/typedesc.h"

/* Checks for names reserved in C or C++, and accessors that would collide. 0, or -EINVAL with ret_line and ret_why. */
int emit_check(const struct typeset_entry *e, int *ret_line, char ret_why[256]);

void emit_header(FILE *f, const struct typeset_entry *e);

/* Writes the header of a service: both halves, and the struct sim_service_type that names them. */
void emit_service_header(FILE *f, const struct typeset_service *v);

/* Writes <package>/msg/all.h: every requested type of one package, and <package>_msg_types[]; srv: every service. */
void emit_list_header(FILE *f, const struct typeset *s, const char *package, bool srv);

/* Write the last part of these headers: the field table of a type, and the struct sim_service_type of a service. */
void emit_table(FILE *f, const struct sim_type *t);
void emit_service_table(FILE *f, const struct typeset_service *v);

/*
 * Writes a text with its placeholders filled in. Of the type, service or package `name`: $N its name, $T with '_' for
 * '/', $U in capitals, $P its package, $M the rest. Of the field a: $f name, $c C type of one element, $k kind, $r
 * array, $n count, $b bound, $e size and $l alignment of an element, $m string bound, $o offset, $u unit and $d comment
 * as strings.
 */
void emit_put(FILE *f, const char *text, const char *name, const struct sim_field *a);

/* Writes a string as a C literal: quotes and escapes. */
void emit_string(FILE *f, const char *s);

#endif
