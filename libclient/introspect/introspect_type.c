/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types as JSON, both ways. See sim/introspect.h.
 *
 *   {"sim_type":1, "name":"sim/X", "hash":"<16 hex digits>", "size":<fixed_size>, "types":[T, ...]}
 *   T: {"name":"sim/X", "comment":"", "constants":[{"name","type","value"}], "fields":[F, ...]}
 *   F: {"name", "type":"float32" or "sim/Y", "array":"fixed"|"bounded"|"variable", "count", "max", "unit", "comment"}
 *
 * A type comes before the types that nest it, and the described type comes last, so that a cycle cannot be expressed.
 * Unknown members are ignored. Thread: any; the references of a counted type are atomic.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "json_out.h"
#include "msg/typedesc.h"
#include "value.h"

#define JSON_ABI 1

static const char *const array_names[] = {
	[SIM_ARRAY_NONE] = "none",
	[SIM_ARRAY_FIXED] = "fixed",
	[SIM_ARRAY_BOUNDED] = "bounded",
	[SIM_ARRAY_VARIABLE] = "variable",
};

/* ---- writing ---- */

struct closure_list {
	const struct sim_type *type[SIM_TYPE_TYPES_MAX];
	unsigned n;
};

static int collect(struct closure_list *l, const struct sim_type *t, unsigned depth)
{
	if (t->abi != SIM_TYPE_ABI)
		return err_set(-EINVAL, "a type of ABI %u, not %u: run simgen again", t->abi, SIM_TYPE_ABI);
	if (depth == SIM_TYPE_DEPTH_MAX)
		return err_set(-E2BIG, "%s nests types deeper than %u", t->name, SIM_TYPE_DEPTH_MAX);
	for (unsigned i = 0; i < l->n; i++)
		if (strcmp(l->type[i]->name, t->name) == 0)
			return l->type[i]->hash == t->hash ? 0
							   : err_set(-EINVAL, "%s is nested in two versions", t->name);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		int r = t->fields[i].type ? collect(l, t->fields[i].type, depth + 1) : 0;

		if (r < 0)
			return r;
	}
	if (l->n == SIM_TYPE_TYPES_MAX)
		return err_set(-E2BIG, "%s nests more than %u types", t->name, SIM_TYPE_TYPES_MAX);
	l->type[l->n++] = t;
	return 0;
}

static void key(struct json_out *o, const char *before, const char *name)
{
	json_out_text(o, before);
	json_out_string(o, name, strlen(name));
	json_out_text(o, ":");
}

/* before: text to write before the member, such as ",". */
static void member(struct json_out *o, const char *before, const char *name, const char *value)
{
	key(o, before, name);
	json_out_string(o, value, strlen(value));
}

static void number(struct json_out *o, const char *before, const char *name, uint64_t value)
{
	key(o, before, name);
	json_out_u64(o, value);
}

static void write_field(struct json_out *o, const struct sim_field *f)
{
	member(o, "{", "name", f->name);
	member(o, ",", "type", f->type ? f->type->name : typedesc_kind_name((enum sim_kind)f->kind));
	if (f->array != SIM_ARRAY_NONE)
		member(o, ",", "array", array_names[f->array & 3]);
	if (f->count)
		number(o, ",", "count", f->count);
	if (f->string_max)
		number(o, ",", "max", f->string_max);
	if (f->unit && f->unit[0])
		member(o, ",", "unit", f->unit);
	if (f->comment && f->comment[0])
		member(o, ",", "comment", f->comment);
	json_out_text(o, "}");
}

static void write_type(struct json_out *o, const struct sim_type *t)
{
	member(o, "{", "name", t->name);
	member(o, ",", "comment", t->comment ? t->comment : "");
	json_out_text(o, ",\"constants\":[");
	for (uint32_t i = 0; i < t->n_constants; i++) {
		member(o, i ? ",{" : "{", "name", t->constants[i].name);
		member(o, ",", "type", typedesc_kind_name((enum sim_kind)t->constants[i].kind));
		member(o, ",", "value", t->constants[i].value);
		json_out_text(o, "}");
	}
	json_out_text(o, "],\"fields\":[");
	for (uint32_t i = 0; i < t->n_fields; i++) {
		if (i)
			json_out_text(o, ",");
		write_field(o, &t->fields[i]);
	}
	json_out_text(o, "]}");
}

int sim_type_to_json(const struct sim_type *type, char **ret)
{
	struct closure_list l = { .n = 0 };
	struct json_text text = { 0 };
	struct json_out o;
	char hash[24];
	int r = type ? collect(&l, type, 0) : err_set(-EINVAL, "no type");

	if (r < 0)
		return r;
	json_out_init(&o, json_text_write, &text);
	snprintf(hash, sizeof(hash), "%016" PRIx64, type->hash);
	number(&o, "{", "sim_type", JSON_ABI);
	member(&o, ",", "name", type->name);
	member(&o, ",", "hash", hash);
	number(&o, ",", "size", type->fixed_size);
	json_out_text(&o, ",\"types\":[");
	for (unsigned i = 0; i < l.n; i++) {
		if (i)
			json_out_text(&o, ",");
		write_type(&o, l.type[i]);
	}
	json_out_text(&o, "]}");
	r = json_out_flush(&o);
	if (r == 0 && text.len > SIM_TYPE_JSON_MAX)
		r = err_set(-E2BIG, "the definition of %s takes more than %u bytes as JSON: shorten its comments",
			    type->name, SIM_TYPE_JSON_MAX);
	if (r < 0) {
		free(text.data);
		return r;
	}
	*ret = text.data;
	return 0;
}

int type_to_value(const struct sim_type *type, json_t **ret)
{
	char *text = NULL;
	int r = sim_type_to_json(type, &text);

	if (r < 0)
		return r;
	*ret = json_loads(text, 0, NULL);
	free(text);
	return *ret ? 0 : err_nomem();
}

/* ---- reading ---- */

/* The types of one parsed definition, and the JSON tree from which their strings are borrowed. */
struct closure;

struct counted_type {
	struct sim_type t;
	struct closure *c;
};

struct closure {
	atomic_uint refs;
	json_t *root;
	unsigned n;
	unsigned depth[SIM_TYPE_TYPES_MAX];
	struct counted_type types[SIM_TYPE_TYPES_MAX];
};

static void closure_destroy(struct closure *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		free((void *)(uintptr_t)c->types[i].t.fields);
		free((void *)(uintptr_t)c->types[i].t.constants);
	}
	json_decref(c->root);
	free(c);
}

static const char *text_of(const json_t *obj, const char *key, const char *absent)
{
	const json_t *v = json_object_get(obj, key);

	return v ? json_string_value(v) : absent;
}

/* Returns 0 if absent; -1 if not an integer from 0 to UINT32_MAX. */
static int64_t number_of(const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);
	json_int_t n = v ? json_integer_value(v) : 0;

	return (v && !json_is_integer(v)) || n < 0 || n > UINT32_MAX ? -1 : n;
}

static int bad(const char *type, const char *what, size_t i, const char *why)
{
	return err_set(-EINVAL, "type JSON: %s, %s %zu: %s", type, what, i, why);
}

static int read_constant(const char *type, const json_t *j, size_t i, struct sim_constant *c)
{
	const char *kind = text_of(j, "type", NULL);
	char canon[TYPEDESC_VALUE_MAX];

	c->name = text_of(j, "name", NULL);
	c->value = text_of(j, "value", NULL);
	if (!c->name || !c->value || !kind)
		return bad(type, "constant", i, "name, type or value is missing");
	if (!typedesc_ident_ok(c->name, strlen(c->name)))
		return bad(type, "constant", i, "not a name");
	c->kind = (uint8_t)typedesc_kind(kind, strlen(kind));
	if (!c->kind || typedesc_value((enum sim_kind)c->kind, c->value, strlen(c->value), canon) < 0 ||
	    strcmp(canon, c->value) != 0)
		return bad(type, "constant", i, "not a value of its type in canonical form");
	return 0;
}

static int read_array(const char *type, const json_t *j, size_t i, struct sim_field *f)
{
	const char *array = text_of(j, "array", "none");
	int64_t count = number_of(j, "count"), max = number_of(j, "max");
	bool counted;

	for (f->array = 0; array && f->array < 4 && strcmp(array_names[f->array], array) != 0;)
		f->array++;
	if (!array || f->array == 4)
		return bad(type, "field", i, "array is not one of none, fixed, bounded, variable");
	counted = f->array == SIM_ARRAY_FIXED || f->array == SIM_ARRAY_BOUNDED;
	if (count < 0 || max < 0 || (count > 0) != counted)
		return bad(type, "field", i, "count or max does not suit the kind of array");
	if (max > 0 && f->kind != SIM_KIND_STRING)
		return bad(type, "field", i, "max is for strings");
	f->count = (uint32_t)count;
	f->string_max = (uint32_t)max;
	return 0;
}

static int read_field(struct closure *c, const json_t *j, size_t i, struct sim_field *f, unsigned *depth)
{
	const char *type = c->types[c->n].t.name, *kind = text_of(j, "type", NULL);

	f->name = text_of(j, "name", NULL);
	f->unit = text_of(j, "unit", "");
	f->comment = text_of(j, "comment", "");
	if (!f->name || !kind || !f->unit || !f->comment)
		return bad(type, "field", i, "name or type is missing, or unit or comment is no text");
	if (!typedesc_ident_ok(f->name, strlen(f->name)))
		return bad(type, "field", i, "not a name");
	f->kind = (uint8_t)typedesc_kind(kind, strlen(kind));
	for (unsigned k = 0; !f->kind && k < c->n; k++) {
		if (strcmp(c->types[k].t.name, kind) != 0)
			continue;
		f->kind = SIM_KIND_MESSAGE;
		f->type = &c->types[k].t;
		if (c->depth[k] + 1 > *depth)
			*depth = c->depth[k] + 1;
	}
	if (!f->kind)
		return bad(type, "field", i, "its type is not defined before it");
	return read_array(type, j, i, f);
}

static bool named_twice(const struct sim_type *t)
{
	for (uint32_t i = 1; i < t->n_fields; i++)
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(t->fields[i].name, t->fields[k].name) == 0)
				return true;
	return false;
}

/*
 * Reads fields and constants of c->types[c->n], whose name is set. The closure owns them from the start, also on
 * failure.
 */
static int read_members(struct closure *c, const json_t *j, unsigned *depth)
{
	struct sim_type *t = &c->types[c->n].t;
	const json_t *fields = json_object_get(j, "fields"), *constants = json_object_get(j, "constants");
	size_t nf = json_array_size(fields), nc = json_array_size(constants);
	struct sim_field *f = calloc(nf + 1, sizeof(*f));
	struct sim_constant *k = calloc(nc + 1, sizeof(*k));
	int r = 0;

	t->fields = f;
	t->constants = k;
	if (!f || !k)
		return err_nomem();
	if (!json_is_array(fields) || (constants && !json_is_array(constants)))
		return err_set(-EINVAL, "type JSON: %s: fields is missing, or no array", t->name);
	if (nf > SIM_TYPE_FIELDS_MAX || nc > SIM_TYPE_FIELDS_MAX)
		return err_set(-E2BIG, "type JSON: %s has more than %u fields or constants", t->name,
			       SIM_TYPE_FIELDS_MAX);
	t->n_fields = (uint32_t)nf;
	t->n_constants = (uint32_t)nc;
	for (size_t i = 0; r == 0 && i < nf; i++)
		r = read_field(c, json_array_get(fields, i), i, &f[i], depth);
	for (size_t i = 0; r == 0 && i < nc; i++)
		r = read_constant(t->name, json_array_get(constants, i), i, &k[i]);
	if (r == 0 && named_twice(t))
		r = err_set(-EINVAL, "type JSON: %s has two fields of the same name", t->name);
	return r;
}

static int read_type(struct closure *c, const json_t *j)
{
	struct sim_type *t = &c->types[c->n].t;
	unsigned depth = 1;
	int r;

	t->abi = SIM_TYPE_ABI;
	t->size = sizeof(*t);
	t->flags = SIM_TYPE_COUNTED;
	t->name = text_of(j, "name", NULL);
	t->comment = text_of(j, "comment", "");
	c->types[c->n].c = c;
	if (!t->name || !typedesc_name_ok(t->name) || !t->comment)
		return err_set(-EINVAL, "type JSON: type %u has no name of the form package/Name", c->n);
	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(c->types[i].t.name, t->name) == 0)
			return err_set(-EINVAL, "type JSON: %s is there twice", t->name);
	r = read_members(c, j, &depth);
	c->depth[c->n] = depth;
	if (r == 0 && depth > SIM_TYPE_DEPTH_MAX)
		r = err_set(-E2BIG, "type JSON: %s nests types deeper than %u", t->name, SIM_TYPE_DEPTH_MAX);
	if (r == 0 &&
	    typedesc_layout((struct sim_field *)(uintptr_t)t->fields, t->n_fields, &t->fixed_size, &t->align) < 0)
		r = err_set(-E2BIG, "type JSON: %s takes more than %u bytes", t->name, SIM_TYPE_FIXED_MAX);
	if (r == 0)
		t->hash = typedesc_hash(t);
	c->n++;
	return r;
}

/* Checks that name, hash and size given by the sender match the last type as computed from its definition. */
static int check_root(const struct closure *c)
{
	const struct sim_type *t = &c->types[c->n - 1].t;
	const char *name = text_of(c->root, "name", t->name), *hash = text_of(c->root, "hash", NULL);
	int64_t size = number_of(c->root, "size");
	char ours[24];

	snprintf(ours, sizeof(ours), "%016" PRIx64, t->hash);
	if (!name || strcmp(name, t->name) != 0)
		return err_set(-EINVAL, "type JSON: the last type is %s, not the one in name", t->name);
	if (!hash || strcmp(hash, ours) != 0)
		return err_set(-EBADMSG, "type JSON: %s has the hash %s, not %.32s: built with another simgen?",
			       t->name, ours, hash ? hash : "none");
	if (size && size != (int64_t)t->fixed_size)
		return err_set(-EBADMSG, "type JSON: %s takes %u bytes, not %" PRId64, t->name, t->fixed_size, size);
	return 0;
}

static int read_closure(struct closure *c)
{
	const json_t *types = json_object_get(c->root, "types"), *t;
	size_t i;

	if (number_of(c->root, "sim_type") != JSON_ABI)
		return err_set(-EINVAL, "type JSON: sim_type is not %d", JSON_ABI);
	if (json_array_size(types) == 0)
		return err_set(-EINVAL, "type JSON: types is missing, empty or no array");
	if (json_array_size(types) > SIM_TYPE_TYPES_MAX)
		return err_set(-E2BIG, "type JSON: more than %u types", SIM_TYPE_TYPES_MAX);
	json_array_foreach(types, i, t) {
		int r = read_type(c, t);

		if (r < 0)
			return r;
	}
	return check_root(c);
}

int type_from_value(json_t *value, const struct sim_type **ret)
{
	struct closure *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_nomem();
	atomic_init(&c->refs, 1);
	c->root = json_incref(value);
	r = read_closure(c);
	if (r < 0) {
		closure_destroy(c);
		return r;
	}
	*ret = &c->types[c->n - 1].t;
	return 0;
}

int sim_type_from_json(const char *json, size_t len, const struct sim_type **ret)
{
	json_error_t e;
	json_t *j;
	int r;

	if (!json)
		return err_set(-EINVAL, "type JSON: none given");
	if (len > SIM_TYPE_JSON_MAX)
		return err_set(-E2BIG, "type JSON: longer than %u bytes", SIM_TYPE_JSON_MAX);
	j = json_loadb(json, len, JSON_REJECT_DUPLICATES, &e);
	if (!j)
		return err_set(-EINVAL, "type JSON: %s at byte %d", e.text, e.position);
	r = type_from_value(j, ret);
	json_decref(j);
	return r;
}

/* ---- references ---- */

static struct closure *closure_of(const struct sim_type *t)
{
	if (!t || !(t->flags & SIM_TYPE_COUNTED))
		return NULL;
	return ((const struct counted_type *)(const void *)t)->c; /* t is the first member of counted_type */
}

const struct sim_type *sim_type_ref(const struct sim_type *type)
{
	struct closure *c = closure_of(type);

	if (c)
		atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return type;
}

void sim_type_unref(const struct sim_type *type)
{
	struct closure *c = closure_of(type);

	if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		closure_destroy(c);
}
