/* SPDX-License-Identifier: Apache-2.0 */
/* A type made from definitions in text form, parsed and laid out by schemas/gen. Pure functions: any thread. */
#ifndef OWN_TYPE_H
#define OWN_TYPE_H

#include <stddef.h>

#include <sim/message.h>

struct own_definition {
	char name[SIM_TYPE_NAME_MAX + 1]; /* "sensor_msgs/Range" */
	char *text;                       /* in our language (gen/msgdef.h), without the definitions of nested types */
	size_t len;
};

/*
 * Makes the type of list[0]; list: n definitions, with all nested types among them; borrowed until return. *ret is
 * reference-counted: sim_type_unref(). Errors: -ENOMEM, or those of typeset_take() or sim_type_from_json(); `why` then
 * contains the reason, if there is one, and is unchanged otherwise.
 */
int own_type_make(const struct own_definition *list, unsigned n, const struct sim_type **ret, char *why,
		  size_t why_size);

/*
 * A reference-counted copy of a type, which may outlive it; most: maximum of bytes of its JSON. Errors: -E2BIG it is
 * longer, those of sim_type_from_json().
 */
int own_type_counted(const struct sim_type *t, size_t most, const struct sim_type **ret);

#endif
