/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C mapping: what a resolved type looks like as a header and as a field table. Pure writers to a
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
void emit_table(FILE *f, const struct typeset_entry *e);

/* Of a service: both halves, and the struct sim_service_type that names them. */
void emit_service_header(FILE *f, const struct typeset_service *v);
void emit_service_table(FILE *f, const struct typeset_service *v);

/* <package>/msg/all.h and all.c: every type asked for of one package, and <package>_msg_types[]. */
void emit_list_header(FILE *f, const struct typeset *s, const char *package);
void emit_list_table(FILE *f, const struct typeset *s, const char *package);

/* <package>/srv/all.h and all.c: the same of services, <package>_srv_types[]. */
void emit_service_list_header(FILE *f, const struct typeset *s, const char *package);
void emit_service_list_table(FILE *f, const struct typeset *s, const char *package);

struct emit_names {
	char type[SIM_TYPE_NAME_MAX + 1];   /* sim_PointCloud */
	char upper[4 * TYPEDESC_IDENT_MAX]; /* SIM_POINT_CLOUD */
};
void emit_names_of(const struct typeset_entry *e, struct emit_names *n);

/* The C type of a field, or of its elements. */
void emit_c_type(FILE *f, const struct sim_field *field);

/* "PointCloud" to "POINT_CLOUD"; out has room for 2 * TYPEDESC_IDENT_MAX + 1 bytes. */
void emit_upper(const char *name, char *out);

/* C text of a string: quotes and escapes. */
void emit_string(FILE *f, const char *s);

#endif
