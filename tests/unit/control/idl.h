/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Varlink interface definition as JSON trees, and values held against it. A type is
 *
 *   "bool", "int", "float", "string", "object", or the name of a type of the interface
 *   {"maybe": T}, {"array": T}, {"map": T}, {"enum": {"name": true, ...}}
 *   {"struct": {"field": {"type": T, "doc": the comment behind it or ""}, ...}}
 *
 * Thread: the test's.
 */
#ifndef UNIT_CONTROL_IDL_H
#define UNIT_CONTROL_IDL_H

#include <jansson.h>
#include <stdbool.h>

struct idl {
	char name[64];
	json_t *types;   /* {"Name": T} */
	json_t *methods; /* {"Name": {"in": T, "out": T}} */
	json_t *errors;  /* {"Name": T} */
	json_t *seen; /* {"Name.field": true}: what idl_check() has met a value of; arrays and maps only with a member */
	char why[256]; /* of the last failure */
};

/* Grammar, and that names are unique and types are declared. False: idl.why. idl_finish() in either case. */
bool idl_parse(const char *text, struct idl *ret);
void idl_finish(struct idl *i);

/* Whether value is a T with exactly the fields that it declares; "maybe" ones may be absent. where: its name in sentences. */
bool idl_check(struct idl *i, const json_t *type, json_t *value, const char *where);

/* Append "Name.field" of all fields below a T that no value was seen of. */
void idl_unseen(const struct idl *i, const json_t *type, const char *where, json_t *ret_names);

/* The fields of a struct, {} of none; the T of a field without its "maybe". */
json_t *idl_fields(const json_t *type);
const json_t *idl_field_type(const json_t *field, bool *ret_optional);

#endif
