/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON Schema of a type of ours: nested types are written in place, because not all readers follow references. See
 * json_schema.h.
 */
#include "json_schema.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "jsonx.h"
#include "mem.h"

struct writing {
	unsigned left; /* properties that may still be written */
	int err;
};

/* Adds a member; takes value. The first failure is kept in w->err. */
static void set(struct writing *w, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0 && !w->err)
		w->err = -ENOMEM;
}

static json_t *of_type(struct writing *w, const char *type)
{
	json_t *j = json_object();

	set(w, j, "type", json_string(type));
	return j;
}

/* max 0: unlimited. */
static json_t *of_unsigned(struct writing *w, int64_t max)
{
	json_t *j = of_type(w, "integer");

	set(w, j, "minimum", json_integer(0));
	if (max)
		set(w, j, "maximum", json_integer(max));
	return j;
}

static json_t *of_time(struct writing *w, const char *title)
{
	json_t *j = of_type(w, "object"), *p = json_object();

	set(w, p, "sec", of_type(w, "integer"));
	set(w, p, "nsec", of_unsigned(w, 999999999));
	set(w, j, "title", json_string(title));
	set(w, j, "properties", p);
	return j;
}

static json_t *of_bytes(struct writing *w)
{
	json_t *j = of_type(w, "string");

	set(w, j, "contentEncoding", json_string("base64"));
	return j;
}

static json_t *of_struct(struct writing *w, const struct sim_type *t, const char *header);

static json_t *of_value(struct writing *w, const struct sim_field *f)
{
	switch ((enum sim_kind)f->kind) {
	case SIM_KIND_MESSAGE:
		return of_struct(w, f->type, NULL);
	case SIM_KIND_STRING:
		return of_type(w, "string");
	case SIM_KIND_BOOL:
		return of_type(w, "boolean");
	case SIM_KIND_TIME:
		return of_time(w, "time");
	case SIM_KIND_DURATION:
		return of_time(w, "duration");
	case SIM_KIND_FLOAT32:
	case SIM_KIND_FLOAT64:
		return of_type(w, "number");
	case SIM_KIND_UINT8:
	case SIM_KIND_UINT16:
	case SIM_KIND_UINT32:
	case SIM_KIND_UINT64:
		return of_unsigned(w, 0);
	default:
		return of_type(w, "integer");
	}
}

static json_t *of_field(struct writing *w, const struct sim_field *f)
{
	json_t *j;

	if (f->array == SIM_ARRAY_NONE)
		return of_value(w, f);
	if (f->kind == SIM_KIND_UINT8)
		return of_bytes(w);
	j = of_type(w, "array");
	set(w, j, "items", of_value(w, f));
	if (f->array == SIM_ARRAY_FIXED)
		set(w, j, "minItems", json_integer(f->count));
	if (f->count)
		set(w, j, "maxItems", json_integer(f->count));
	return j;
}

static json_t *of_header(struct writing *w)
{
	json_t *j = of_type(w, "object"), *p = json_object();

	set(w, p, "stamp", of_time(w, "time"));
	set(w, p, "frame_id", of_type(w, "string"));
	set(w, j, "properties", p);
	return j;
}

static json_t *of_struct(struct writing *w, const struct sim_type *t, const char *header)
{
	json_t *j = of_type(w, "object"), *p = json_object();

	set(w, j, "title", json_string(t->name));
	if (header)
		set(w, p, header, of_header(w));
	for (uint32_t i = 0; !w->err && i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];
		json_t *one = w->left ? of_field(w, f) : NULL;

		if (!w->left)
			w->err = -E2BIG;
		w->left -= w->left > 0;
		if (f->comment && *f->comment)
			(void)json_object_set_new(one, "description", json_string(f->comment));
		set(w, p, f->name, one);
	}
	set(w, j, "properties", p);
	return j;
}

int json_schema_text(const struct sim_type *t, const char *header, char **ret)
{
	struct writing w = { .left = JSON_SCHEMA_PROPERTIES };
	json_t *j = of_struct(&w, t, header);
	char *text = w.err ? NULL : jsonx_text(j);

	json_decref(j);
	if (!text)
		return w.err ? w.err : -ENOMEM;
	if (strlen(text) > JSON_SCHEMA_MAX) {
		mem_free(text);
		return -E2BIG;
	}
	*ret = text;
	return 0;
}
