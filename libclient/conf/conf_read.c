/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: reads the effective values, and prints them. Thread: any, after conf_finish. */
#include "conf_private.h"

#include <assert.h>
#include <string.h>

struct conf_view conf_root(const struct conf *c)
{
	return (struct conf_view){ .conf = c, .obj = c->tree, .keys = c->keys, .origin = c->origin };
}

/* Result of a path: its key, and the value and origin (NULL: absent). */
struct found {
	const struct conf_key *key;
	json_t *value, *origin;
};

static struct found find(struct conf_view v, const char *path)
{
	for (;;) {
		size_t len = strcspn(path, ".");
		struct found f = { .key = conf_key_find(v.keys, path, len) };

		assert(f.key && "no such configuration key");
		if (!f.key)
			return f;
		f.value = json_object_get(v.obj, f.key->name);
		f.origin = json_object_get(v.origin, f.key->name);
		if (!path[len])
			return f;
		assert(f.key->type == CONF_OBJECT);
		v = (struct conf_view){ v.conf, f.value, f.key->sub, f.origin };
		path += len + 1;
	}
}

bool conf_has(struct conf_view v, const char *path)
{
	return find(v, path).value;
}

bool conf_bool(struct conf_view v, const char *path)
{
	struct found f = find(v, path);

	assert(f.key->type == CONF_BOOL);
	return json_is_true(f.value);
}

int64_t conf_int(struct conf_view v, const char *path)
{
	struct found f = find(v, path);
	int64_t n = 0;

	assert(f.key->type == CONF_INT || f.key->type == CONF_SIZE);
	if (f.key->type == CONF_INT && json_is_string(f.value))
		return -1 - conf_word(f.key, f.value);
	return f.value && conf_size(f.value, &n) == 0 ? n : 0;
}

double conf_real(struct conf_view v, const char *path)
{
	struct found f = find(v, path);

	assert(f.key->type == CONF_REAL || f.key->type == CONF_INT);
	return json_number_value(f.value);
}

const char *conf_string(struct conf_view v, const char *path)
{
	struct found f = find(v, path);

	assert(f.key->type == CONF_STRING);
	return json_string_value(f.value);
}

int conf_choice(struct conf_view v, const char *path)
{
	struct found f = find(v, path);

	assert(f.key->type == CONF_CHOICE);
	return conf_word(f.key, f.value);
}

json_t *conf_any(struct conf_view v, const char *path)
{
	return find(v, path).value;
}

struct conf_view conf_object(struct conf_view v, const char *path)
{
	struct found f = find(v, path);

	assert(f.key->type == CONF_OBJECT);
	return (struct conf_view){ v.conf, f.value, f.key->sub, f.origin };
}

size_t conf_count(struct conf_view v, const char *path)
{
	struct found f = find(v, path);

	return json_array_size(f.value);
}

const char *conf_string_at(struct conf_view v, const char *path, size_t i)
{
	struct found f = find(v, path);

	assert(f.key->type == CONF_STRINGS);
	return json_string_value(json_array_get(f.value, i));
}

struct conf_view conf_item(struct conf_view v, const char *path, size_t i)
{
	struct found f = find(v, path);

	assert(f.key->type == CONF_LIST);
	return (struct conf_view){ v.conf, json_array_get(f.value, i), f.key->sub, json_array_get(f.origin, i) };
}

const char *conf_origin(struct conf_view v, const char *path)
{
	return json_string_value(find(v, path).origin);
}

/* ---- printing ---- */

static int effective(const struct conf_key *keys, json_t *obj, json_t *origin, struct conf_path *path, json_t *out);

static int effective_items(const struct conf_key *k, json_t *v, json_t *o, struct conf_path *path, json_t *out)
{
	json_t *item;
	size_t i;
	int r = 0;

	json_array_foreach(v, i, item) {
		size_t len = conf_path_push_index(path, i);

		r |= effective(k->sub, item, json_array_get(o, i), path, out);
		conf_path_cut(path, len);
	}
	return r;
}

/* Numbers are compared by value: 1 equals 1.0. */
static bool same(const json_t *a, const json_t *b)
{
	if (json_is_number(a) && json_is_number(b))
		return !(json_number_value(a) < json_number_value(b) || json_number_value(a) > json_number_value(b));
	return json_equal(a, b);
}

static int effective_value(const struct conf_key *k, json_t *v, json_t *o, const struct conf_path *path, json_t *out)
{
	json_t *def = k->def ? json_loads(k->def, JSON_DECODE_ANY, NULL) : NULL;
	json_t *item = json_pack("{ss sO sO}", "key", path->text, "value", v, "origin", o);
	int r = item ? 0 : -1;

	if (item && !same(def, v))
		r = json_object_set_new(item, "default", def ? json_incref(def) : json_null());
	json_decref(def);
	return json_array_append_new(out, item) | r;
}

static int effective(const struct conf_key *keys, json_t *obj, json_t *origin, struct conf_path *path, json_t *out)
{
	int r = 0;

	for (const struct conf_key *k = keys; k->name; k++) {
		json_t *v = json_object_get(obj, k->name), *o = json_object_get(origin, k->name);
		size_t len;

		if (!v)
			continue;
		len = conf_path_push(path, k->name);
		if (k->type == CONF_OBJECT)
			r |= effective(k->sub, v, o, path, out);
		else if (k->type == CONF_LIST)
			r |= effective_items(k, v, o, path, out);
		else
			r |= effective_value(k, v, o, path, out);
		conf_path_cut(path, len);
	}
	return r;
}

json_t *conf_effective(const struct conf *c)
{
	struct conf_path path = { 0 };
	json_t *out = json_array();

	if (out && effective(c->keys, c->tree, c->origin, &path, out) != 0) {
		json_decref(out);
		return NULL;
	}
	return out;
}
