/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked reading of JSON objects from a peer: type, range and length in one call, and one sentence that names the
 * member. obj may be NULL (a call without parameters): everything is absent.
 *
 * Errors: -EINVAL (wrong type, out of range, or absent where it is required), sentence in err_why(); *ret is written
 * only on success. Strings and nodes are borrowed from obj.
 */
#ifndef BASE_JSONX_H
#define BASE_JSONX_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Required members. */
int jsonx_int(const json_t *obj, const char *key, int64_t min, int64_t max, int64_t *ret);
int jsonx_bool(const json_t *obj, const char *key, bool *ret);
int jsonx_real(const json_t *obj, const char *key, double *ret); /* integers too */
int jsonx_string(const json_t *obj, const char *key, size_t max_len, const char **ret);
int jsonx_object(const json_t *obj, const char *key, json_t **ret);
int jsonx_array(const json_t *obj, const char *key, size_t max_items, json_t **ret);

/* Optional members: 0 and *ret = def when absent or null. */
int jsonx_opt_int(const json_t *obj, const char *key, int64_t min, int64_t max, int64_t def, int64_t *ret);
int jsonx_opt_bool(const json_t *obj, const char *key, bool def, bool *ret);
int jsonx_opt_string(const json_t *obj, const char *key, size_t max_len, const char *def, const char **ret);

enum jsonx_type { JSONX_INT = 1, JSONX_BOOL, JSONX_REAL, JSONX_STRING, JSONX_OBJECT };

/* A member that a peer may send. */
struct jsonx_field {
	const char *key; /* NULL ends the table */
	enum jsonx_type type;
	bool optional;
	size_t off;       /* offset in the values of an int64_t, bool, double, const char * or json_t * */
	int64_t min, max; /* range of an integer; max: most bytes of a string */
	int64_t def;      /* of an optional integer; other types are left unchanged */
};

/* Reads all members of obj into values; refuses those that are not in the table. table NULL: none is allowed. */
int jsonx_read(const json_t *obj, const struct jsonx_field *table, void *values);

/* A member of an object to be made. */
struct jsonx_value {
	const char *key; /* NULL ends the table */
	enum jsonx_type type;
	union {
		int64_t i; /* also for a boolean */
		double f;
		const char *s;
		json_t *j; /* any value; its reference is taken */
	};
};

/*
 * JSONX_MAKE(JX_INT("id", 3), JX_STR("name", "cam")): a new object, or NULL: no memory, or a value is NULL or not
 * UTF-8.
 */
json_t *jsonx_make(const struct jsonx_value *members);
#define JSONX_MAKE(...) jsonx_make((const struct jsonx_value[]){ __VA_ARGS__, { 0 } })
#define JX_INT(key_, v) \
	{ \
		.key = (key_), .type = JSONX_INT, .i = (int64_t)(v) \
	}
#define JX_BOOL(key_, v) \
	{ \
		.key = (key_), .type = JSONX_BOOL, .i = (v) \
	}
#define JX_REAL(key_, v) \
	{ \
		.key = (key_), .type = JSONX_REAL, .f = (v) \
	}
#define JX_STR(key_, v) \
	{ \
		.key = (key_), .type = JSONX_STRING, .s = (v) \
	}
#define JX_NEW(key_, v) \
	{ \
		.key = (key_), .type = JSONX_OBJECT, .j = (v) \
	}

/* Whether the text nests deeper than max: check it before parsing, to bound the parser's recursion. */
bool jsonx_too_deep(const char *text, size_t len, unsigned max);

/* "object", "array", "string", "integer", "number", "boolean", "null" */
const char *jsonx_type_name(const json_t *j);

/* Compact text, bounded; returns: mem_free; NULL: no memory. Keys keep their order. */
char *jsonx_text(const json_t *j);

#endif
