/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked reading of JSON objects that a peer sent: type, range and length in one call, and one
 * sentence that names the member. obj may be NULL (a call without parameters): everything is absent.
 *
 * Errors: -EINVAL (wrong type, out of range, or absent where it is required), sentence in err_why();
 *         *ret is written only on success. Strings and nodes are borrowed from obj.
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
int jsonx_opt_real(const json_t *obj, const char *key, double def, double *ret);
int jsonx_opt_string(const json_t *obj, const char *key, size_t max_len, const char *def, const char **ret);
int jsonx_opt_object(const json_t *obj, const char *key, json_t **ret); /* default: NULL */

/* Refuse members that are not in the NULL-ended list. */
int jsonx_only(const json_t *obj, const char *const *keys);

/* True when the text nests deeper than max: asked before parsing, so that the parser's recursion has our bound. */
bool jsonx_too_deep(const char *text, size_t len, unsigned max);

/* "object", "array", "string", "integer", "number", "boolean", "null" */
const char *jsonx_type_name(const json_t *j);

/* Compact text, bounded; returns: mem_free; NULL: no memory. Keys keep their order. */
char *jsonx_text(const json_t *j);

#endif
