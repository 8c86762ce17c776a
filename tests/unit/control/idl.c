/* SPDX-License-Identifier: Apache-2.0 */
/* See idl.h. Recursive descent over the text; every failure is a line and a sentence. */
#include "unit/control/idl.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 16

struct parse {
	struct idl *i;
	const char *text, *at;
	unsigned depth;
};

__attribute__((format(printf, 2, 3))) static json_t *fail(struct parse *p, const char *fmt, ...)
{
	int line = 1;
	size_t n;
	va_list ap;

	for (const char *s = p->text; s < p->at; s++)
		line += *s == '\n';
	if (*p->i->why)
		return NULL;
	n = (size_t)snprintf(p->i->why, sizeof(p->i->why), "line %d: ", line);
	va_start(ap, fmt);
	vsnprintf(p->i->why + n, sizeof(p->i->why) - n, fmt, ap);
	va_end(ap);
	return NULL;
}

/* ---- words ---- */

static void skip(struct parse *p)
{
	while (isspace((unsigned char)*p->at) || *p->at == '#')
		p->at += *p->at == '#' ? strcspn(p->at, "\n") : 1;
}

static bool take(struct parse *p, const char *s)
{
	skip(p);
	if (strncmp(p->at, s, strlen(s)) != 0)
		return false;
	p->at += strlen(s);
	return true;
}

static bool word(struct parse *p, const char *also, char ret[64])
{
	size_t n = 0;

	skip(p);
	while (n < 63 && (isalnum((unsigned char)p->at[n]) || (p->at[n] && strchr(also, p->at[n]))))
		n++;
	memcpy(ret, p->at, n);
	ret[n] = '\0';
	p->at += n;
	return n && isalpha((unsigned char)ret[0]) && !strchr("_-.", ret[n - 1]) && !strstr(ret, "__");
}

/* The comment at the end of the line on which a field stands. */
static json_t *doc(const char *at)
{
	const char *end = at + strcspn(at, "\n"), *hash = memchr(at, '#', (size_t)(end - at));

	if (!hash)
		return json_string("");
	hash += strspn(hash, "# ");
	return json_stringn(hash, (size_t)(end - hash));
}

/* ---- types ---- */

static json_t *parse_type(struct parse *p);

static bool add(struct parse *p, json_t *o, const char *name, json_t *value)
{
	if (value && json_object_get(o, name)) {
		json_decref(value);
		return fail(p, "%s is declared twice", name);
	}
	return value && json_object_set_new(o, name, value) == 0;
}

static json_t *parse_members(struct parse *p)
{
	json_t *fields = json_object(), *names = json_object();
	bool ok = true, open = !take(p, ")");
	char name[64];

	while (ok && open) {
		const char *at;

		ok = word(p, "_", name);
		at = p->at;
		if (!ok)
			fail(p, "a field's name is wanted, not %.10s", p->at);
		else if (take(p, ":"))
			ok = add(p, fields, name, json_pack("{so so}", "type", parse_type(p), "doc", doc(at)));
		else
			ok = add(p, names, name, json_true());
		open = ok && take(p, ",");
		if (ok && !open && !take(p, ")"))
			ok = fail(p, "%s is not followed by \",\" or \")\"", name);
	}
	if (ok && json_object_size(fields) && json_object_size(names))
		ok = fail(p, "fields and words of an enumeration are mixed");
	if (ok && json_object_size(names)) {
		json_decref(fields);
		return json_pack("{so}", "enum", names);
	}
	json_decref(names);
	if (ok)
		return json_pack("{so}", "struct", fields);
	json_decref(fields);
	return NULL;
}

static json_t *parse_plain(struct parse *p)
{
	char name[64];

	if (take(p, "[string]"))
		return json_pack("{so}", "map", parse_type(p));
	if (take(p, "[]"))
		return json_pack("{so}", "array", parse_type(p));
	if (take(p, "("))
		return parse_members(p);
	return word(p, "", name) ? json_string(name) : fail(p, "a type is wanted, not %.10s", p->at);
}

static json_t *parse_type(struct parse *p)
{
	json_t *t;

	if (++p->depth > DEPTH_MAX)
		return fail(p, "types are nested too deep");
	if (!take(p, "?"))
		t = parse_plain(p);
	else if (take(p, "?"))
		t = fail(p, "\"??\"");
	else
		t = json_pack("{so}", "maybe", parse_plain(p));
	p->depth--;
	return t;
}

/* ---- declarations ---- */

static json_t *parse_struct(struct parse *p)
{
	json_t *t = take(p, "(") ? parse_members(p) : fail(p, "\"(\" is wanted");

	if (t && !json_object_get(t, "struct")) {
		json_decref(t);
		return fail(p, "fields are wanted, not words");
	}
	return t;
}

static json_t *parse_method(struct parse *p)
{
	json_t *in = parse_struct(p);

	if (in && !take(p, "->")) {
		json_decref(in);
		return fail(p, "\"->\" is wanted");
	}
	return json_pack("{so so}", "in", in, "out", in ? parse_struct(p) : NULL);
}

static bool parse_declaration(struct parse *p)
{
	char kind[64], name[64];

	if (!word(p, "", kind) || !word(p, "", name) || !isupper((unsigned char)name[0]))
		return fail(p, "a declaration is wanted: type, method or error, and a name in capitals");
	if (!strcmp(kind, "type"))
		return add(p, p->i->types, name, take(p, "(") ? parse_members(p) : fail(p, "\"(\" is wanted"));
	if (!strcmp(kind, "method"))
		return add(p, p->i->methods, name, parse_method(p));
	if (!strcmp(kind, "error"))
		return add(p, p->i->errors, name, parse_struct(p));
	return fail(p, "\"%s\" is no type, method or error", kind);
}

/* ---- references ---- */

static bool is_builtin(const char *name)
{
	static const char *const names[] = { "bool", "int", "float", "string", "object" };

	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
		if (!strcmp(names[k], name))
			return true;
	return false;
}

static const json_t *inner(const json_t *t)
{
	const json_t *in = json_object_get(t, "maybe");

	in = in ? in : json_object_get(t, "array");
	return in ? in : json_object_get(t, "map");
}

static bool resolves(struct idl *i, const json_t *t)
{
	const char *key;
	json_t *field;

	if (json_is_string(t) && !is_builtin(json_string_value(t)) &&
	    !json_object_get(i->types, json_string_value(t))) {
		snprintf(i->why, sizeof(i->why), "type %s is not declared", json_string_value(t));
		return false;
	}
	json_object_foreach(idl_fields(t), key, field)
		if (!resolves(i, json_object_get(field, "type")))
			return false;
	return !inner(t) || resolves(i, inner(t));
}

static bool all_resolve(struct idl *i)
{
	const char *key;
	json_t *t;

	json_object_foreach(i->types, key, t)
		if (!resolves(i, t))
			return false;
	json_object_foreach(i->errors, key, t)
		if (!resolves(i, t))
			return false;
	json_object_foreach(i->methods, key, t)
		if (!resolves(i, json_object_get(t, "in")) || !resolves(i, json_object_get(t, "out")))
			return false;
	return true;
}

bool idl_parse(const char *text, struct idl *ret)
{
	struct parse p = { .i = ret, .text = text, .at = text };
	bool ok;

	memset(ret, 0, sizeof(*ret));
	ret->types = json_object();
	ret->methods = json_object();
	ret->errors = json_object();
	ret->seen = json_object();
	ok = take(&p, "interface ") && word(&p, ".-", ret->name);
	if (!ok)
		fail(&p, "it does not begin with \"interface\" and a name");
	for (skip(&p); ok && *p.at; skip(&p))
		ok = parse_declaration(&p);
	return ok && all_resolve(ret);
}

void idl_finish(struct idl *i)
{
	json_decref(i->types);
	json_decref(i->methods);
	json_decref(i->errors);
	json_decref(i->seen);
	memset(i, 0, sizeof(*i));
}

json_t *idl_fields(const json_t *type)
{
	return json_object_get(type, "struct");
}

const json_t *idl_field_type(const json_t *field, bool *ret_optional)
{
	const json_t *t = json_object_get(field, "type"), *in = json_object_get(t, "maybe");

	*ret_optional = in != NULL;
	return in ? in : t;
}

/* ---- values ---- */

__attribute__((format(printf, 2, 3))) static bool wrong(struct idl *i, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(i->why, sizeof(i->why), fmt, ap);
	va_end(ap);
	return false;
}

static bool has_members(const json_t *v)
{
	return (!json_is_array(v) || json_array_size(v)) && (!json_is_object(v) || json_object_size(v));
}

static bool check_struct(struct idl *i, json_t *fields, json_t *value, const char *where)
{
	const char *key;
	json_t *field, *v;
	char path[160];

	if (!json_is_object(value))
		return wrong(i, "%s is no object", where);
	json_object_foreach(value, key, v)
		if (!json_object_get(fields, key))
			return wrong(i, "%s.%s is not declared", where, key);
	json_object_foreach(fields, key, field) {
		bool optional;
		const json_t *t = idl_field_type(field, &optional);

		snprintf(path, sizeof(path), "%s.%s", where, key);
		v = json_object_get(value, key);
		if (optional && (!v || json_is_null(v)))
			continue;
		if (!v)
			return wrong(i, "%s is missing", path);
		if (!idl_check(i, t, v, path))
			return false;
		if (has_members(v) || (json_is_string(t) && !strcmp(json_string_value(t), "object")))
			json_object_set_new(i->seen, path, json_true());
	}
	return true;
}

static bool check_members(struct idl *i, const json_t *t, json_t *value, const char *where)
{
	const json_t *array = json_object_get(t, "array"), *map = json_object_get(t, "map");
	const char *key;
	json_t *v;
	size_t n;

	if (array ? !json_is_array(value) : !json_is_object(value))
		return wrong(i, "%s is no %s", where, array ? "array" : "map");
	json_array_foreach(value, n, v)
		if (array && !idl_check(i, array, v, where))
			return false;
	json_object_foreach(value, key, v)
		if (map && !idl_check(i, map, v, where))
			return false;
	return true;
}

static bool check_named(struct idl *i, const char *name, json_t *v, const char *where)
{
	bool ok = !strcmp(name, "bool")     ? json_is_boolean(v)
		  : !strcmp(name, "int")    ? json_is_integer(v)
		  : !strcmp(name, "float")  ? json_is_number(v)
		  : !strcmp(name, "string") ? json_is_string(v)
					    : json_is_object(v);

	if (!is_builtin(name))
		return idl_check(i, json_object_get(i->types, name), v, name);
	return ok || wrong(i, "%s is no %s", where, name);
}

bool idl_check(struct idl *i, const json_t *type, json_t *value, const char *where)
{
	const json_t *words = json_object_get(type, "enum"), *maybe = json_object_get(type, "maybe");

	if (json_is_string(type))
		return check_named(i, json_string_value(type), value, where);
	if (maybe)
		return json_is_null(value) || idl_check(i, maybe, value, where);
	if (idl_fields(type))
		return check_struct(i, idl_fields(type), value, where);
	if (!words)
		return check_members(i, type, value, where);
	if (!json_is_string(value) || !json_object_get(words, json_string_value(value)))
		return wrong(i, "%s is \"%s\", no word of its enumeration", where,
			     json_is_string(value) ? json_string_value(value) : "?");
	return true;
}

void idl_unseen(const struct idl *i, const json_t *type, const char *where, json_t *ret_names)
{
	const char *key;
	json_t *field;
	char path[160];

	if (inner(type)) {
		idl_unseen(i, inner(type), where, ret_names);
		return;
	}
	json_object_foreach(idl_fields(type), key, field) {
		snprintf(path, sizeof(path), "%s.%s", where, key);
		if (!json_object_get(i->seen, path))
			json_array_append_new(ret_names, json_string(path));
		idl_unseen(i, json_object_get(field, "type"), path, ret_names);
	}
}
