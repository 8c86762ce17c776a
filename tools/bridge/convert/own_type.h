/* SPDX-License-Identifier: Apache-2.0 */
/* A type of one's own from definitions that are there as text: parsed and laid out by schemas/gen. Pure functions: any thread. */
#ifndef OWN_TYPE_H
#define OWN_TYPE_H

#include <stddef.h>

#include <sim/message.h>

struct own_definition {
	char name[SIM_TYPE_NAME_MAX + 1]; /* "sensor_msgs/Range" */
	char *text;                       /* in our words (gen/msgdef.h), without what it nests */
	size_t len;
};

/*
 * list: n definitions, the first one is that of the type, with all that it nests among the others; borrowed until return. returns a counted
 * type: sim_type_unref(). Errors: -ENOMEM, else what typeset_take() or sim_type_from_json() says; `why` gets a sentence where there is one,
 * and is as it was otherwise.
 */
int own_type_make(const struct own_definition *list, unsigned n, const struct sim_type **ret, char *why,
		  size_t why_size);

/* A counted copy of a type, which outlives it; most: bytes that its JSON may have. Errors: -E2BIG it has more, what sim_type_from_json() says. */
int own_type_counted(const struct sim_type *t, size_t most, const struct sim_type **ret);

#endif
