/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/introspect.h for callers that hold parsed JSON: converts types and bodies to and from JSON values, without text
 * in between. Any thread. Errors as for the functions there that take text.
 */
#ifndef INTROSPECT_VALUE_H
#define INTROSPECT_VALUE_H

#include <jansson.h>

#include "sim/introspect.h"

/* As sim_msg_from_json(). */
int msg_from_value(const struct sim_type *type, const json_t *value, void *body, size_t capacity, size_t *ret_size);
/* As sim_type_from_json(). The type keeps a reference to value; the caller must have bounded its size. */
int type_from_value(json_t *value, const struct sim_type **ret);
/* As sim_type_to_json(); a new reference. */
int type_to_value(const struct sim_type *type, json_t **ret);

#endif
