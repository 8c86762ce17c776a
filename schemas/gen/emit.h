/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C mapping: what a resolved type looks like as a header. Pure writers to a
 * FILE, except emit_check(), which says what cannot be mapped. One thread's.
 */
#ifndef EMIT_H
#define EMIT_H

#include <stdio.h>

#include "gen/typeset.h"
#include "msg/typedesc.h"

/* Names that C or C++ keep for themselves and accessors that would collide. 0, or -EINVAL with ret_line and ret_why. */
int emit_check(const struct typeset_entry *e, int *ret_line, char ret_why[256]);

void emit_header(FILE *f, const struct typeset_entry *e);

/* Of a service: both halves, and the struct sim_service_type that names them. */
void emit_service_header(FILE *f, const struct typeset_service *v);

/* <package>/msg/all.h: every type asked for of one package, and <package>_msg_types[]; srv: every service. */
void emit_list_header(FILE *f, const struct typeset *s, const char *package, bool srv);

/* The last part of these headers: the field table of a type, and the struct sim_service_type of a service. */
void emit_table(FILE *f, const struct sim_type *t);
void emit_service_table(FILE *f, const struct typeset_service *v);

/*
 * Write a text, filled in. Of the type, service or package `name`: $N its name, $T with '_' for '/', $U in capitals, $P its
 * package, $M what follows that. Of the field a: $f name, $c C type of one element, $k kind, $r array, $n count, $b bound, $e
 * size and $l alignment of an element, $m string bound, $o offset, $u unit and $d comment as strings.
 */
void emit_put(FILE *f, const char *text, const char *name, const struct sim_field *a);

/* C text of a string: quotes and escapes. */
void emit_string(FILE *f, const char *s);

#endif
