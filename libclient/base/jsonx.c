/* SPDX-License-Identifier: Apache-2.0 */
/* Checked reading of a peer's JSON objects, see jsonx.h. Thread: the owner of the objects. */
#include "jsonx.h"

#include "err.h"
#include "mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

const char *jsonx_type_name(const json_t *j)
{
	switch (j ? json_typeof(j) : JSON_NULL) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "integer";
	case JSON_REAL:
		return "number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

static const json_t *member(const json_t *obj, const char *key)
{
	const json_t *j = json_object_get(obj, key);

	return json_is_null(j) ? NULL : j;
}

static int wrong_type(const char *key, const char *want, const json_t *j)
{
	if (!j)
		return err_set(-EINVAL, "%s is missing; give a value of type %s", key, want);
	return err_set(-EINVAL, "%s is of type %s where %s is wanted", key, jsonx_type_name(j), want);
}

int jsonx_int(const json_t *obj, const char *key, int64_t min, int64_t max, int64_t *ret)
{
	const json_t *j = member(obj, key);
	int64_t v = json_integer_value(j);

	if (!json_is_integer(j))
		return wrong_type(key, "integer", j);
	if (v < min || v > max)
		return err_set(-EINVAL, "%s is %" PRId64 ", out of range %" PRId64 " to %" PRId64, key, v, min, max);
	*ret = v;
	return 0;
}

int jsonx_bool(const json_t *obj, const char *key, bool *ret)
{
	const json_t *j = member(obj, key);

	if (!json_is_boolean(j))
		return wrong_type(key, "boolean", j);
	*ret = json_is_true(j);
	return 0;
}

int jsonx_real(const json_t *obj, const char *key, double *ret)
{
	const json_t *j = member(obj, key);

	if (!json_is_number(j))
		return wrong_type(key, "number", j);
	*ret = json_number_value(j);
	return 0;
}

int jsonx_string(const json_t *obj, const char *key, size_t max_len, const char **ret)
{
	const json_t *j = member(obj, key);

	if (!json_is_string(j))
		return wrong_type(key, "string", j);
	if (json_string_length(j) > max_len)
		return err_set(-EINVAL, "%s has %zu bytes, at most %zu are allowed", key, json_string_length(j),
			       max_len);
	*ret = json_string_value(j);
	return 0;
}

int jsonx_object(const json_t *obj, const char *key, json_t **ret)
{
	json_t *j = json_object_get(obj, key);

	if (!json_is_object(j))
		return wrong_type(key, "object", j);
	*ret = j;
	return 0;
}

int jsonx_array(const json_t *obj, const char *key, size_t max_items, json_t **ret)
{
	json_t *j = json_object_get(obj, key);

	if (!json_is_array(j))
		return wrong_type(key, "array", j);
	if (json_array_size(j) > max_items)
		return err_set(-EINVAL, "%s has %zu items, at most %zu are allowed", key, json_array_size(j),
			       max_items);
	*ret = j;
	return 0;
}

int jsonx_opt_int(const json_t *obj, const char *key, int64_t min, int64_t max, int64_t def, int64_t *ret)
{
	if (member(obj, key))
		return jsonx_int(obj, key, min, max, ret);
	*ret = def;
	return 0;
}

int jsonx_opt_bool(const json_t *obj, const char *key, bool def, bool *ret)
{
	if (member(obj, key))
		return jsonx_bool(obj, key, ret);
	*ret = def;
	return 0;
}

int jsonx_opt_string(const json_t *obj, const char *key, size_t max_len, const char *def, const char **ret)
{
	if (member(obj, key))
		return jsonx_string(obj, key, max_len, ret);
	*ret = def;
	return 0;
}

/* ---- tables ---- */

static int read_field(const json_t *obj, const struct jsonx_field *f, void *var)
{
	switch (f->optional && !member(obj, f->key) ? 0 : f->type) {
	case JSONX_INT:
		return jsonx_int(obj, f->key, f->min, f->max, var);
	case JSONX_BOOL:
		return jsonx_bool(obj, f->key, var);
	case JSONX_REAL:
		return jsonx_real(obj, f->key, var);
	case JSONX_STRING:
		return jsonx_string(obj, f->key, (size_t)f->max, var);
	case JSONX_OBJECT:
		return jsonx_object(obj, f->key, var);
	}
	if (f->type == JSONX_INT)
		*(int64_t *)var = f->def;
	return 0;
}

static int check_known(const json_t *obj, const struct jsonx_field *table)
{
	/* jansson's iterator takes a mutable object but does not change it */
	union {
		const json_t *c;
		json_t *m;
	} o = { obj };

	for (void *it = json_object_iter(o.m); it; it = json_object_iter_next(o.m, it)) {
		const char *name = json_object_iter_key(it);
		const struct jsonx_field *f = table;

		while (f && f->key && strcmp(f->key, name) != 0)
			f++;
		if (!f || !f->key)
			return err_set(-EINVAL, "%.64s is not a parameter of this call", name);
	}
	return 0;
}

int jsonx_read(const json_t *obj, const struct jsonx_field *table, void *values)
{
	int r = check_known(obj, table);

	for (const struct jsonx_field *f = table; r == 0 && f && f->key; f++)
		r = read_field(obj, f, (char *)values + f->off);
	return r;
}

static json_t *new_value(const struct jsonx_value *v)
{
	switch (v->type) {
	case JSONX_INT:
		return json_integer(v->i);
	case JSONX_BOOL:
		return json_boolean(v->i);
	case JSONX_REAL:
		return json_real(v->f);
	case JSONX_STRING:
		return json_string(v->s);
	case JSONX_OBJECT:
		return v->j;
	}
	return NULL;
}

json_t *jsonx_make(const struct jsonx_value *members)
{
	json_t *o = json_object();
	bool whole = o != NULL;

	/* to the end: references are released on failure too */
	for (const struct jsonx_value *v = members; v->key; v++)
		whole &= json_object_set_new(o, v->key, new_value(v)) == 0;
	if (whole)
		return o;
	json_decref(o);
	return NULL;
}

char *jsonx_text(const json_t *j)
{
	size_t n = json_dumpb(j, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY), got;
	char *s = n ? mem_alloc(n + 1) : NULL;

	if (!s)
		return NULL;
	got = json_dumpb(j, s, n, JSON_COMPACT | JSON_ENCODE_ANY);
	if (got != n) {
		mem_free(s);
		return NULL;
	}
	s[n] = '\0';
	return s;
}

bool jsonx_too_deep(const char *text, size_t len, unsigned max)
{
	unsigned depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		if (quoted) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				quoted = false;
		} else if (text[i] == '"') {
			quoted = true;
		} else if (text[i] == '{' || text[i] == '[') {
			if (++depth > max)
				return true;
		} else if ((text[i] == '}' || text[i] == ']') && depth) {
			depth--;
		}
	}
	return false;
}
