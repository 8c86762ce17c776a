/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two processes must compute in the same way for a type: names, layout and hash. Shared by simgen, which writes
 * tables, and by libsimclient, which builds them from JSON. Pure functions, any thread.
 *
 * Hash: FNV-1a (64 bits) over the canonical text below, then the 64-bit finaliser of MurmurHash3, which spreads the
 * weak upper bits of FNV; 0 becomes 1, because 0 means "no type" on the wire.
 *
 *   sim 1 <package/Name>\n
 *   const <kind> <NAME> <value>\n                     for each constant, in order
 *   <kind><string bound><array> <name>\n              for each field, in order
 *
 * <kind> is the name of the kind, for a nested type package/Name#<its hash, 16 hex digits>; <string bound> is empty or
 * "<=n"; <array> is empty, "[n]", "[<=n]" or "[]". Comments, units and white space do not count.
 */
#ifndef TYPEDESC_H
#define TYPEDESC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/message.h"

#define TYPEDESC_IDENT_MAX  63u        /* characters of a field's, constant's or type's name */
#define TYPEDESC_FIELDS_MAX 256u       /* fields, and constants, of one type */
#define TYPEDESC_DEPTH_MAX  8u         /* nesting of types */
#define TYPEDESC_FIXED_MAX  (1u << 20) /* bytes of a fixed struct */

/* [A-Za-z][A-Za-z0-9_]*, at most TYPEDESC_IDENT_MAX characters. s need not be NUL-terminated. */
bool typedesc_ident_ok(const char *s, size_t len);

/* "package/Name", both identifiers, together at most SIM_TYPE_NAME_MAX characters. */
bool typedesc_name_ok(const char *name);

/* enum sim_kind of "float32" and so on; 0 for any other text ("message" is not accepted). */
enum sim_kind typedesc_kind(const char *s, size_t len);

/* "float32"; "?" for an unknown number. */
const char *typedesc_kind_name(enum sim_kind kind);

/*
 * Writes the text of a constant in canonical form: decimal integers within the range of the kind, "%.17g" floats, true
 * and false, strings unchanged. Accepts 0x. out has room for TYPEDESC_VALUE_MAX bytes. Returns 0, -EINVAL not such a
 * value, -ERANGE outside the kind, -E2BIG too long.
 */
#define TYPEDESC_VALUE_MAX 256u
int typedesc_value(enum sim_kind kind, const char *s, size_t len, char *out);

/*
 * Natural alignment, in order: sets offset, elem_size and elem_align of each field from kind, array, count and type. A
 * type without fields takes one byte. Returns 0, or -E2BIG above TYPEDESC_FIXED_MAX.
 */
int typedesc_layout(struct sim_field *fields, uint32_t n, uint32_t *ret_size, uint32_t *ret_align);

/* The hash of a type whose fields, constants and name are set; nested types must have their hash already. */
uint64_t typedesc_hash(const struct sim_type *t);

/* Whether elements of the type hold spans of their own, at any depth. */
bool typedesc_has_spans(const struct sim_type *t);

static inline bool typedesc_is_span(const struct sim_field *f)
{
	return f->array == SIM_ARRAY_BOUNDED || f->array == SIM_ARRAY_VARIABLE;
}

#endif
