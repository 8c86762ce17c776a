/* SPDX-License-Identifier: Apache-2.0 */
/* What pb_type*.c share: the types in the making. */
#ifndef PB_TYPE_PRIVATE_H
#define PB_TYPE_PRIVATE_H

#include <sim/introspect.h>

#include "pb_files.h"
#include "pb_table.h"

/* Numbers of google.protobuf.FieldDescriptorProto.Type. */
enum { PB_T_STRING = 9, PB_T_GROUP, PB_T_MESSAGE, PB_T_BYTES, PB_T_ENUM = 14, PB_T_END = 19 };
enum { PB_L_REQUIRED = 2, PB_L_REPEATED };

struct pb_given { /* a field as its descriptor has it */
	struct pb_text name, type_name, absent;
	uint32_t number, label, type;
	int8_t packed; /* -1: it does not say */
	bool of_one, explicit;
};

struct pb_made { /* a message */
	const struct pb_symbol *symbol;
	struct sim_type type;
	struct pb_message table;
	struct pb_given *given; /* in the order of their numbers */
	uint32_t n;
	unsigned depth, height; /* how deep it stands at least; how many types deep it nests, with itself */
	bool open, done;
	bool proto3, entry; /* of a map */
};

struct pb_making {
	struct arena *arena;
	struct pb_files files;
	struct pb_made *list[SIM_TYPE_TYPES_MAX]; /* [0]: what is asked for */
	unsigned n;
	char loss[600];
	unsigned unnamed; /* losses for which there is no room */
	char *why;
	size_t why_size;
};

/* The sentence of an error, which it returns. */
__attribute__((format(printf, 3, 4))) int pb_type_fail(struct pb_making *m, int error, const char *fmt, ...);

/* Of the message list[0] is made of, all its types; the files were read. Errors: see pb_type.h. */
int pb_type_make(struct pb_making *m, const struct pb_symbol *root);

/* The number of one value of an enum, and its name. */
int32_t pb_type_value(struct pb_text value, struct pb_text *ret_name);

/* What a field reads as where it is not there: e->absent. False: no memory. values: of its enum, NULL: it is none. */
bool pb_type_absent(struct arena *arena, const struct pb_given *g, enum sim_kind kind, const struct pb_symbol *values,
		    struct pb_entry *e);

#endif
