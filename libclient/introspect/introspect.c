/* SPDX-License-Identifier: Apache-2.0 */
/* Introspection: built-in types, checks of a body, paths to a field. See sim/introspect.h. Any thread. */
#include "sim/introspect.h"

#include <errno.h>
#include <string.h>

#include "body.h"
#include "err.h"
#include "msg/typedesc.h"
#include "number.h"
#include "sim/msg/all.h"
#include "sim/srv/all.h"

_Static_assert(SIM_TYPE_FIELDS_MAX == TYPEDESC_FIELDS_MAX, "one limit, two words");
_Static_assert(SIM_TYPE_DEPTH_MAX == TYPEDESC_DEPTH_MAX, "one limit, two words");
_Static_assert(SIM_TYPE_FIXED_MAX == TYPEDESC_FIXED_MAX, "one limit, two words");
_Static_assert(SIM_IDENT_MAX == TYPEDESC_IDENT_MAX, "one limit, two words");

const struct sim_type *const *sim_type_builtins(void)
{
	return sim_msg_types;
}

const struct sim_type *sim_type_builtin(const char *name)
{
	for (const struct sim_type *const *t = sim_msg_types; name && *t; t++)
		if (strcmp((*t)->name, name) == 0)
			return *t;
	return NULL;
}

const struct sim_service_type *const *sim_service_type_builtins(void)
{
	return sim_srv_types;
}

const struct sim_service_type *sim_service_type_builtin(const char *name)
{
	for (const struct sim_service_type *const *t = sim_srv_types; name && *t; t++)
		if (strcmp((*t)->name, name) == 0)
			return *t;
	return NULL;
}

bool sim_type_equal(const struct sim_type *a, const struct sim_type *b)
{
	return a && b && a->hash == b->hash && strcmp(a->name, b->name) == 0;
}

const char *sim_kind_name(enum sim_kind kind)
{
	return typedesc_kind_name(kind);
}

/* ---- check ---- */

static int check_struct(struct body *b, const struct sim_type *t, const uint8_t *s);

static int check_elements(struct body *b, const struct sim_field *f, const uint8_t *at, uint32_t n)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++, at += f->elem_size) {
		const char *text;
		uint32_t len;

		r = f->kind == SIM_KIND_STRING ? body_string(b, at, f, &text, &len) : check_struct(b, f->type, at);
	}
	return r;
}

static int check_struct(struct body *b, const struct sim_type *t, const uint8_t *s)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];
		bool look = f->kind == SIM_KIND_STRING || (f->type && typedesc_has_spans(f->type));
		const uint8_t *at;
		uint32_t n;
		int r = body_field(b, s, f, &at, &n);

		if (r == 0 && look)
			r = check_elements(b, f, at, n);
		if (r < 0)
			return r;
	}
	return 0;
}

int sim_msg_check(const struct sim_type *type, const void *body, size_t size)
{
	struct body b;
	int r = body_begin(&b, type, body, size);

	return r < 0 ? r : check_struct(&b, type, b.at);
}

size_t sim_msg_size(const struct sim_type *type, const void *body, size_t size)
{
	struct body b;

	if (body_begin(&b, type, body, size) < 0 || check_struct(&b, type, b.at) < 0)
		return 0;
	return b.end;
}

/* ---- paths ---- */

static const struct sim_field *find_field(const struct sim_type *t, const char *name, size_t len)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (strlen(t->fields[i].name) == len && memcmp(t->fields[i].name, name, len) == 0)
			return &t->fields[i];
	return NULL;
}

static int no_field(const struct sim_type *t, const char *name, size_t len)
{
	char list[256] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < t->n_fields; i++) {
		size_t more = strlen(t->fields[i].name);

		if (n + more + 6 > sizeof(list)) {
			memcpy(list + n, ", ...", 6);
			break;
		}
		if (n) {
			memcpy(list + n, ", ", 2);
			n += 2;
		}
		memcpy(list + n, t->fields[i].name, more + 1);
		n += more;
	}
	return err_set(-ENOENT, "%s has no field '%.*s'; it has %s", t->name, len > 63 ? 63 : (int)len, name,
		       list[0] ? list : "none");
}

/* Parses "[12]" at *p and moves *p behind it. */
static int parse_index(const char **p, const struct sim_field *f, int64_t *ret)
{
	const char *s = *p + 1;
	uint64_t v;
	int r = number_take_u64(&s, NUMBER_DEC, UINT32_MAX, &v);

	if (r == -ERANGE)
		return err_set(r, "the index of '%s' is above %u", f->name, UINT32_MAX);
	if (r < 0)
		return err_set(r, "the index of '%s' is not a number", f->name);
	if (*s != ']')
		return err_set(-EINVAL, "the index of '%s' is not closed by ]", f->name);
	if (f->array == SIM_ARRAY_NONE)
		return err_set(-EINVAL, "'%s' is not an array", f->name);
	if ((f->array == SIM_ARRAY_FIXED || f->array == SIM_ARRAY_BOUNDED) && v >= f->count)
		return err_set(-ERANGE, "'%s' has at most %u elements, counted from 0", f->name, f->count);
	*p = s + 1;
	*ret = (int64_t)v;
	return 0;
}

/*
 * Parses one step of the path at *p. *t becomes the type in which the next step is searched; NULL after a field that is
 * not a message.
 */
static int parse_step(const char **p, const struct sim_type **t, const struct sim_field **ret_field, int64_t *ret_index)
{
	size_t len = strcspn(*p, ".[");
	const struct sim_field *f = find_field(*t, *p, len);
	int64_t index = -1;
	int r = 0;

	if (!len)
		return err_set(-EINVAL, "the path lacks a name before '%.20s'", *p);
	if (!f)
		return no_field(*t, *p, len);
	*p += len;
	if (**p == '[')
		r = parse_index(p, f, &index);
	if (r < 0)
		return r;
	if (**p && **p != '.')
		return err_set(-EINVAL, "unexpected '%.20s' after '%s'", *p, f->name);
	if (**p == '.' && !f->type)
		return err_set(-EINVAL, "'%s' is a %s: it has no fields", f->name,
			       typedesc_kind_name((enum sim_kind)f->kind));
	if (**p == '.' && f->array != SIM_ARRAY_NONE && index < 0)
		return err_set(-EINVAL, "'%s' is an array: give the element, such as %s[0]", f->name, f->name);
	*t = f->type;
	*ret_field = f;
	*ret_index = index;
	return 0;
}

int sim_field_find(const struct sim_type *type, const char *path, struct sim_field_path *ret)
{
	struct sim_field_path out = { 0 };
	const char *p = path;

	if (!type || type->abi != SIM_TYPE_ABI || !path)
		return err_set(-EINVAL, "no path, or no type of ABI %u", SIM_TYPE_ABI);
	for (;;) {
		int r;

		if (out.n == SIM_PATH_STEPS)
			return err_set(-E2BIG, "the path is longer than %u steps", SIM_PATH_STEPS);
		r = parse_step(&p, &type, &out.step[out.n].field, &out.step[out.n].index);
		if (r < 0)
			return r;
		out.n++;
		if (!*p)
			break;
		p++;
	}
	*ret = out;
	return 0;
}

int sim_field_get(const struct sim_field_path *path, const void *body, size_t size, struct sim_field_view *ret)
{
	struct body b = { .at = body, .size = size };
	struct sim_field_view v = { 0 };
	const struct sim_field *f;
	size_t need;
	int r;

	if (!path || path->n == 0 || path->n > SIM_PATH_STEPS || !body)
		return err_set(-EINVAL, "no path or no body");
	f = path->step[0].field;
	need = typedesc_is_span(f) ? sizeof(struct sim_span)
				   : (size_t)f->elem_size * (f->array == SIM_ARRAY_FIXED ? f->count : 1);
	if (size < need + f->offset)
		return err_set(-EINVAL, "a body of %zu bytes is too short for field '%s'", size, f->name);
	r = body_follow(&b, path, &v);
	if (r < 0)
		return r;
	if (v.data && (uintptr_t)v.data % v.field->elem_align)
		return err_set(-EINVAL, "the body is not aligned: copy it to memory from malloc() first");
	*ret = v;
	return 0;
}

int sim_field_number(const struct sim_field_view *view, uint32_t i, double *ret)
{
	struct number n;

	if (!view || !view->field || view->field->kind >= SIM_KIND_STRING)
		return err_set(-EINVAL, "'%s' is not a number", view && view->field ? view->field->name : "");
	if (i >= view->count)
		return err_set(-ERANGE, "'%s' has %u elements: there is no [%u]", view->field->name, view->count, i);
	n = number_load((enum sim_kind)view->field->kind,
			(const uint8_t *)view->data + (size_t)i * view->field->elem_size);
	*ret = view->field->kind == SIM_KIND_BOOL ? n.u != 0
	       : n.sort == NUMBER_FLOAT           ? n.d
	       : n.sort == NUMBER_SIGNED          ? (double)n.i
						  : (double)n.u;
	return 0;
}
