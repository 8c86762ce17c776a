/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of message definitions: the .msg syntax of ROS 1 and ROS 2, one text in, one tree out. It knows nothing of
 * files, of nested definitions or of C: those are resolve.c and emit_*.c. Names keep their package and numbers their
 * text, so that other generators can use the same tree.
 *
 *   definition = { line }                       one declaration a line
 *   field      = type name [default] [comment]
 *   constant   = type NAME "=" value [comment]  of a string without quotes: the rest of the line
 *   type       = base [ "[" "]" | "[" n "]" | "[<=" n "]" ]
 *   base       = primitive | "string" [ "<=" n ] | "wstring" [ "<=" n ] | [package "/"] Name
 *   comment    = "#" text                       a field without one takes the comment lines directly above it
 *
 * Thread: a tree is used by one thread. All memory belongs to the caller's arena.
 */
#ifndef MSGDEF_H
#define MSGDEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

#define MSGDEF_TEXT_MAX  (256u * 1024) /* bytes of one definition */
#define MSGDEF_COUNT_MAX 16777216u     /* elements of a fixed array, and any bound */

/* The primitives of .msg files. BYTE and CHAR exist for ROS; TIME and DURATION for ROS 1 and simd. */
/* clang-format off */
#define MSGDEF_PRIMS(X) \
	X(BOOL, "bool") X(BYTE, "byte") X(CHAR, "char") \
	X(INT8, "int8") X(UINT8, "uint8") X(INT16, "int16") X(UINT16, "uint16") \
	X(INT32, "int32") X(UINT32, "uint32") X(INT64, "int64") X(UINT64, "uint64") \
	X(FLOAT32, "float32") X(FLOAT64, "float64") X(STRING, "string") X(WSTRING, "wstring") \
	X(TIME, "time") X(DURATION, "duration")

enum msgdef_prim {
	MSGDEF_NESTED = 0,
#define X(id, name) MSGDEF_##id,
	MSGDEF_PRIMS(X)
#undef X
	MSGDEF_PRIM_END
};
/* clang-format on */

enum msgdef_array { MSGDEF_ONE, MSGDEF_FIXED, MSGDEF_BOUNDED, MSGDEF_VARIABLE };

struct msgdef_type {
	enum msgdef_prim prim;
	const char *package; /* of a nested type; NULL: the definition gives no package */
	const char *name;    /* of a nested type */
	uint32_t string_max; /* of string<=n; 0: none */
	enum msgdef_array array;
	uint32_t count; /* of [n] and [<=n] */
};

struct msgdef_field {
	struct msgdef_type type;
	const char *name;
	const char *comment; /* without "#", lines joined by a space; "" */
	const char *deflt;   /* ROS 2 default value as written; NULL */
	int line;
};

struct msgdef_constant {
	struct msgdef_type type;
	const char *name;
	const char *comment;
	const char *raw;   /* value as written, trimmed */
	const char *all;   /* the value as in ROS 1: for a string everything after "=", also a comment */
	const char *value; /* value; for a string without its quotes */
	int line;
};

struct msgdef {
	const char *package, *name;
	const char *comment; /* the comment block at the beginning of the text, if an empty line ends it; else "" */
	struct msgdef_field *fields;
	uint32_t n_fields;
	struct msgdef_constant *constants;
	uint32_t n_constants;
};

struct msgdef_error {
	int line;       /* from 1 */
	char text[256]; /* the reason, without file and line */
};

/* Parses `len` bytes. Borrows the texts. Errors: -EINVAL with ret_err filled in, -ENOMEM. */
int msgdef_parse(struct arena *arena, const char *package, const char *name, const char *text, size_t len,
		 struct msgdef_error *ret_err, struct msgdef **ret);

/* "float32", "nested" for MSGDEF_NESTED. */
const char *msgdef_prim_name(enum msgdef_prim prim);

#endif
