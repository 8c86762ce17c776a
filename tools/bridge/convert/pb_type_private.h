/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by pb_type*.c: types under construction. */
#ifndef PB_TYPE_PRIVATE_H
#define PB_TYPE_PRIVATE_H

#include <sim/introspect.h>

#include "pb_files.h"
#include "pb_table.h"

/* Values of google.protobuf.FieldDescriptorProto.Type. */
enum { PB_T_STRING = 9, PB_T_GROUP, PB_T_MESSAGE, PB_T_BYTES, PB_T_ENUM = 14, PB_T_END = 19 };
enum { PB_L_REQUIRED = 2, PB_L_REPEATED };

struct pb_given { /* a field as given by its descriptor */
	struct pb_text name, type_name, absent;
	uint32_t number, label, type;
	int8_t packed; /* -1: not given */
	bool of_one, explicit;
};

struct pb_made { /* a message */
	const struct pb_symbol *symbol;
	struct sim_type type;
	struct pb_message table;
	struct pb_given *given; /* sorted by number */
	uint32_t n;
	unsigned depth, height; /* smallest depth at which it is nested; levels that it nests, including itself */
	bool open, done;
	bool proto3, entry; /* entry: of a map */
};

struct pb_making {
	struct arena *arena;
	struct pb_files files;
	struct pb_made *list[SIM_TYPE_TYPES_MAX]; /* [0]: the requested message */
	unsigned n;
	char loss[600];
	unsigned unnamed; /* losses that no longer fit into `loss` */
	char *why;
	size_t why_size;
};

/* Writes the reason of an error, which it returns. */
__attribute__((format(printf, 3, 4))) int pb_type_fail(struct pb_making *m, int error, const char *fmt, ...);

/* Makes the type of `root`, list[0], and all types that it nests, from `files`. Errors: see pb_type.h. */
int pb_type_make(struct pb_making *m, const struct pb_symbol *root);

/* Returns the number of an enum value, and its name. */
int32_t pb_type_value(struct pb_text value, struct pb_text *ret_name);

/*
 * Sets e->absent, the value of an absent field. values: of the field's enum; NULL: it is not an enum. False: no memory.
 */
bool pb_type_absent(struct arena *arena, const struct pb_given *g, enum sim_kind kind, const struct pb_symbol *values,
		    struct pb_entry *e);

#endif
