/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration: reads sources, merges them key by key, fills in defaults. Checks are in conf_check.c, reading and
 * printing in conf_read.c. Each source is merged into a copy first, so that a refused source changes nothing. Thread:
 * the owner's.
 */
#include "conf_private.h"
#include "err.h"
#include "fd.h"
#include "jsonx.h"
#include "mem.h"
#include "trust.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct merge {
	const char *origin;
	struct conf_path path;
};

int conf_create(const struct conf_key *keys, struct conf **ret)
{
	struct conf *c = MEM_NEW(struct conf);

	if (!c)
		return err_nomem();
	c->keys = keys;
	c->tree = json_object();
	c->origin = json_object();
	if (!c->tree || !c->origin) {
		conf_destroy(c);
		return err_nomem();
	}
	*ret = c;
	return 0;
}

void conf_destroy(struct conf *c)
{
	if (!c)
		return;
	json_decref(c->tree);
	json_decref(c->origin);
	mem_free(c);
}

/* ---- merging ---- */

static int merge_object(struct merge *m, const struct conf_key *keys, json_t *src, json_t *dst, json_t *origin);

/* Returns member `name` of obj, created by `make` if it does not exist. Borrowed; NULL: no memory. */
static json_t *child(json_t *obj, const char *name, json_t *(*make)(void))
{
	json_t *j = json_object_get(obj, name);

	if (!j && json_object_set_new(obj, name, make()) == 0)
		j = json_object_get(obj, name);
	return j;
}

/* Returns the index of the first item before `end` whose id is `id`; `end` if there is no such item. */
static size_t find_item(json_t *list, const char *key, const char *id, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		const char *s = json_string_value(json_object_get(json_array_get(list, i), key));

		if (s && !strcmp(s, id))
			return i;
	}
	return end;
}

static int merge_item(struct merge *m, const struct conf_key *k, json_t *src, size_t i, json_t *dst, json_t *origin)
{
	const struct conf_key *id_key = conf_key_id(k->sub);
	json_t *v = json_array_get(src, i);
	size_t at = json_array_size(dst);

	if (!json_is_object(v))
		return conf_wrong_type("an object", v, m->origin, &m->path);
	if (id_key) {
		const char *id = json_string_value(json_object_get(v, id_key->name));

		if (!id || !*id)
			return err_set(-EINVAL, "%s: %s: %s is required, it tells the items apart", m->origin,
				       m->path.text, id_key->name);
		if (find_item(src, id_key->name, id, i) < i)
			return err_set(-EINVAL, "%s: %s: %s \"%.64s\" appears twice", m->origin, m->path.text,
				       id_key->name, id);
		at = find_item(dst, id_key->name, id, at);
	}
	if (at == json_array_size(dst) &&
	    (json_array_append_new(dst, json_object()) < 0 || json_array_append_new(origin, json_object()) < 0))
		return err_nomem();
	return merge_object(m, k->sub, v, json_array_get(dst, at), json_array_get(origin, at));
}

static int merge_list(struct merge *m, const struct conf_key *k, json_t *src, json_t *dst, json_t *origin)
{
	if (!conf_key_id(k->sub)) {
		json_array_clear(dst);
		json_array_clear(origin);
	}
	for (size_t i = 0; i < json_array_size(src); i++) {
		size_t len = conf_path_push_index(&m->path, i);
		int r = merge_item(m, k, src, i, dst, origin);

		if (r < 0)
			return r;
		conf_path_cut(&m->path, len);
	}
	return conf_check_count(k, json_array_size(dst), m->origin, &m->path);
}

static int merge_key(struct merge *m, const struct conf_key *k, json_t *v, json_t *dst, json_t *origin)
{
	json_t *d, *o;
	int r;

	switch (k->type) {
	case CONF_OBJECT:
		if (!json_is_object(v))
			return conf_wrong_type("an object", v, m->origin, &m->path);
		d = child(dst, k->name, json_object);
		o = child(origin, k->name, json_object);
		return d && o ? merge_object(m, k->sub, v, d, o) : err_nomem();
	case CONF_LIST:
		if (!json_is_array(v))
			return conf_wrong_type("an array of objects", v, m->origin, &m->path);
		d = child(dst, k->name, json_array);
		o = child(origin, k->name, json_array);
		return d && o ? merge_list(m, k, v, d, o) : err_nomem();
	default:
		r = conf_check_leaf(k, v, m->origin, &m->path);
		if (r == 0 && (json_object_set(dst, k->name, v) < 0 ||
			       json_object_set_new(origin, k->name, json_string(m->origin)) < 0))
			r = err_nomem();
		return r;
	}
}

static int merge_object(struct merge *m, const struct conf_key *keys, json_t *src, json_t *dst, json_t *origin)
{
	const char *name;
	json_t *v;

	json_object_foreach(src, name, v) {
		const struct conf_key *k = conf_key_find(keys, name, strlen(name));
		size_t len;
		int r;

		if (!k)
			return conf_unknown_key(keys, name, m->origin, &m->path);
		len = conf_path_push(&m->path, name);
		r = merge_key(m, k, v, dst, origin);
		if (r < 0)
			return r;
		conf_path_cut(&m->path, len);
	}
	return 0;
}

/* Merges the whole source, or, on an error, changes nothing. */
static int merge_source(struct conf *c, const char *origin, json_t *src)
{
	struct merge m = { .origin = origin };
	json_t *tree, *org;
	int r;

	if (c->finished)
		return err_set(-EBUSY, "%s: the configuration is closed", origin);
	if (!json_is_object(src))
		return conf_wrong_type("an object", src, origin, &m.path);
	tree = json_deep_copy(c->tree);
	org = json_deep_copy(c->origin);
	r = tree && org ? merge_object(&m, c->keys, src, tree, org) : err_nomem();
	if (r < 0) {
		json_decref(tree);
		json_decref(org);
		return r;
	}
	json_decref(c->tree);
	json_decref(c->origin);
	c->tree = tree;
	c->origin = org;
	return 0;
}

/* ---- sources ---- */

int conf_add_text(struct conf *c, const char *origin, const char *text, size_t len)
{
	json_error_t e;
	json_t *j;
	int r;

	if (len > CONF_FILE_MAX)
		return err_set(-EFBIG, "%s: larger than %zu bytes", origin, CONF_FILE_MAX);
	if (jsonx_too_deep(text, len, CONF_DEPTH_MAX))
		return err_set(-EINVAL, "%s: nested deeper than %d levels", origin, CONF_DEPTH_MAX);
	j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	if (!j)
		return err_set(-EINVAL, "%s:%d: %s", origin, e.line > 0 ? e.line : 1, e.text);
	r = merge_source(c, origin, j);
	json_decref(j);
	return r;
}

int conf_add_file(struct conf *c, const char *path)
{
	char *text;
	size_t len;
	int r = trust_check(path);

	if (r == 0)
		r = fd_read_file(path, CONF_FILE_MAX, &text, &len);
	if (r < 0)
		return r;
	r = conf_add_text(c, path, text, len);
	mem_free(text);
	return r;
}

static int is_fragment(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && !strcmp(d->d_name + n - 5, ".json");
}

/* Compares bytes, independent of the locale, so that the same files give the same result everywhere. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int conf_add_dir(struct conf *c, const char *dir)
{
	struct dirent **list;
	int n = scandir(dir, &list, is_fragment, by_name), r = 0;

	if (n < 0)
		return errno == ENOENT ? 0 : err_sys(-errno, "%s", dir);
	r = trust_check(dir);
	if (r == 0 && n > CONF_FILES_MAX)
		r = err_set(-E2BIG, "%s: %d fragments, at most %d are read", dir, n, CONF_FILES_MAX);
	for (int i = 0; i < n && r == 0; i++) {
		char *path = mem_printf("%s/%s", dir, list[i]->d_name);

		r = path ? conf_add_file(c, path) : err_nomem();
		mem_free(path);
	}
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return r;
}

/*
 * Parses the text of an override as JSON; text that is not valid JSON is a string. For keys that hold text, only text
 * in quotes is parsed.
 */
static json_t *override_value(const struct conf_key *k, const char *value)
{
	bool text = k->type == CONF_STRING || k->type == CONF_CHOICE || k->type == CONF_SIZE;
	json_t *j = text && value[0] != '"' ? NULL : json_loads(value, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);

	return j ? j : json_string(value);
}

int conf_set(struct conf *c, const char *path, const char *value, const char *origin)
{
	const struct conf_key *keys = c->keys, *k;
	json_t *root = json_object(), *at = root, *next;
	struct conf_path p = { 0 };
	int r;

	for (const char *s = path;; s += strcspn(s, ".") + 1) {
		size_t len = strcspn(s, ".");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)(len < 63 ? len : 63), s);
		k = conf_key_find(keys, s, len);
		if (!k) {
			r = conf_unknown_key(keys, name, origin, &p);
			break;
		}
		next = s[len] ? json_object() : override_value(k, value);
		if (!next || json_object_set_new(at, name, next) < 0) {
			r = err_set(-EINVAL, "%s: %s: the value is not valid UTF-8", origin, path);
			break;
		}
		conf_path_push(&p, name);
		if (!s[len]) {
			r = merge_source(c, origin, root);
			break;
		}
		if (k->type != CONF_OBJECT) {
			r = err_set(-EINVAL, "%s: %s: only keys of plain objects can be set one by one", origin,
				    p.text);
			break;
		}
		at = next;
		keys = k->sub;
	}
	json_decref(root);
	return r;
}

/* ---- defaults ---- */

static int fill_object(const struct conf_key *keys, json_t *obj, json_t *origin, struct conf_path *path);

static int fill_leaf(const struct conf_key *k, json_t *obj, json_t *origin, const struct conf_path *path)
{
	json_t *v;
	int r;

	if (json_object_get(obj, k->name))
		return 0;
	if (!k->def)
		return k->required ? err_set(-EINVAL, "%s is required and nothing sets it", path->text) : 0;
	v = json_loads(k->def, JSON_DECODE_ANY, NULL);
	if (!v)
		return err_set(-EINVAL, "default: %s: not JSON: %s", path->text, k->def);
	r = conf_check_leaf(k, v, "default", path);
	if (r < 0) {
		json_decref(v);
		return r;
	}
	if (json_object_set_new(obj, k->name, v) < 0 ||
	    json_object_set_new(origin, k->name, json_string("default")) < 0)
		return err_nomem();
	return 0;
}

static int fill_list(const struct conf_key *k, json_t *list, json_t *origin, struct conf_path *path)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		size_t len = conf_path_push_index(path, i);
		int r = fill_object(k->sub, json_array_get(list, i), json_array_get(origin, i), path);

		if (r < 0)
			return r;
		conf_path_cut(path, len);
	}
	return 0;
}

static int fill_key(const struct conf_key *k, json_t *obj, json_t *origin, struct conf_path *path)
{
	bool list = k->type == CONF_LIST;
	json_t *d, *o;

	if (!k->sub)
		return fill_leaf(k, obj, origin, path);
	d = child(obj, k->name, list ? json_array : json_object);
	o = child(origin, k->name, list ? json_array : json_object);
	if (!d || !o)
		return err_nomem();
	if (k->required && !list && !json_object_size(d))
		return err_set(-EINVAL, "%s is required and nothing sets it", path->text);
	if (k->required && list && !json_array_size(d))
		return err_set(-EINVAL, "%s needs at least one item", path->text);
	return list ? fill_list(k, d, o, path) : fill_object(k->sub, d, o, path);
}

static int fill_object(const struct conf_key *keys, json_t *obj, json_t *origin, struct conf_path *path)
{
	for (const struct conf_key *k = keys; k->name; k++) {
		size_t len = conf_path_push(path, k->name);
		int r = fill_key(k, obj, origin, path);

		if (r < 0)
			return r;
		conf_path_cut(path, len);
	}
	return 0;
}

int conf_finish(struct conf *c)
{
	struct conf_path path = { 0 };
	int r = fill_object(c->keys, c->tree, c->origin, &path);

	if (r == 0)
		c->finished = true;
	return r;
}
