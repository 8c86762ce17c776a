/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ROS computes from a definition: the md5 sum of ROS 1, the type hash of ROS 2 (RIHS01) and the full definition
 * text that both transmit. Pure functions of a resolved set; one thread's.
 */
#ifndef ROSDEF_H
#define ROSDEF_H

#include <stdio.h>

#include <md5.h>
#include <sha2.h>
#include "gen/typeset.h"

enum rosdef_flavour { ROSDEF_ROS1, ROSDEF_ROS2 };

#define ROSDEF_RIHS_MAX (7 + SHA256_DIGEST_STRING_LENGTH) /* "RIHS01_", digits, NUL */

/* Errors: -ENOMEM; -ENOTSUP the type uses a feature that ROS 1 lacks (bounds, wstring). */
int rosdef_md5(const struct typeset *s, const struct typeset_entry *e, char ret[MD5_DIGEST_STRING_LENGTH]);

/* For a service: the sum over the texts of both halves, one after the other. Errors as above. */
int rosdef_service_md5(const struct typeset *of_request, const struct typeset_entry *request,
		       const struct typeset *of_response, const struct typeset_entry *response,
		       char ret[MD5_DIGEST_STRING_LENGTH]);

/* Errors: -ENOMEM. */
int rosdef_rihs01(const struct typeset *s, const struct typeset_entry *e, char ret[ROSDEF_RIHS_MAX]);

/* Writes the definition in canonical form and, after lines of "=", the definitions nested in it. */
void rosdef_text(const struct typeset *s, const struct typeset_entry *e, enum rosdef_flavour flavour, FILE *f);

/* Writes only the definition, in ROS 2 form. */
void rosdef_own_text(const struct typeset_entry *e, FILE *f);

/* For ROSDEF_ROS1, where times are primitives: MSGDEF_TIME or MSGDEF_DURATION of a nested builtin_interfaces type. */
enum msgdef_prim rosdef_time(const struct msgdef *d, const struct msgdef_type *t);

/* The entry of a field's nested type. */
const struct typeset_entry *rosdef_nested(const struct typeset *s, const struct typeset_entry *e,
					  const struct msgdef_type *t);

/* "msg" or, for a file in a directory srv/ or action/, "srv" or "action". */
const char *rosdef_kind(const struct typeset_entry *e);

#endif
