/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a JSON Schema to a type. Objects become definitions from the innermost outwards, each as text in our language,
 * from which own_type makes the type. Referenced properties are read again at each place; depth and number are limited.
 * See json_schema.h.
 */
#include "json_schema.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonx.h"
#include "msg/typedesc.h"
#include "own_type.h"
#include "ros/ros_generic.h"
#include "sim/introspect.h"

#define PARSE_DEPTH    64u
#define REFERENCES     8u                       /* in a chain */
#define WORD_MAX       (SIM_TYPE_NAME_MAX + 4u) /* of a field's type, with "[]" */
#define FIELD_PATH_MAX 200u
#define NAMED_MAX      5u /* left-out properties that are listed by name */

struct reading {
	const json_t *root;
	struct own_definition list[SIM_TYPE_TYPES_MAX]; /* the first one is the whole document */
	unsigned n;
	const json_t *open[SIM_TYPE_DEPTH_MAX]; /* objects being read */
	unsigned depth, properties;
	char path[FIELD_PATH_MAX]; /* of the property being read: "pose.position" */
	char *left_out;
	unsigned n_left_out;
	int err;
};

/* ---- what is left out ---- */

static void leave_out(struct reading *r, const char *why)
{
	size_t n = strlen(r->left_out);

	if (r->n_left_out++ < NAMED_MAX)
		snprintf(r->left_out + n, JSON_SCHEMA_LEFT_MAX - n, "%s%.40s (%s)", n ? ", " : "", r->path, why);
}

static void count_more(struct reading *r)
{
	size_t n = strlen(r->left_out);

	if (r->n_left_out > NAMED_MAX)
		snprintf(r->left_out + n, JSON_SCHEMA_LEFT_MAX - n, ", and %u more", r->n_left_out - NAMED_MAX);
}

/* ---- names ---- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/*
 * The type name for a schema name: "foxglove/Log" for "foxglove.Log"; without a package that of `package`; other
 * characters become '_'. False: too long.
 */
static bool type_name(const char *name, const char *package, char ret[SIM_TYPE_NAME_MAX + 1])
{
	const char *last = name + strlen(name);
	size_t at, room = SIM_TYPE_NAME_MAX + 1;
	int n;

	if (ros_generic_sim_name(name, ret) == 0 && typedesc_name_ok(ret))
		return true;
	while (last > name && last[-1] != '.' && last[-1] != '/' && last[-1] != ':')
		last--;
	if (last == name)
		n = snprintf(ret, room, "%s/%s%s", package, typedesc_ident_ok(name, 1) ? "" : "n", name);
	else
		n = snprintf(ret, room, "%s%.*s/%s%s", typedesc_ident_ok(name, 1) ? "" : "n", (int)(last - name - 1),
			     name, *last && typedesc_ident_ok(last, 1) ? "" : "n", last);
	if (n < 0 || (size_t)n >= room)
		return false;
	at = (size_t)(strrchr(ret, '/') - ret);
	for (size_t i = 0; ret[i]; i++)
		if (i != at && !is_word(ret[i]))
			ret[i] = '_';
	return typedesc_name_ok(ret);
}

int json_schema_type_name(const char *name, char ret[SIM_TYPE_NAME_MAX + 1])
{
	return type_name(name, "json", ret) ? 0 : -ENOTSUP;
}

/* Whether a title can be a name, rather than a sentence. */
static bool is_name(const char *title)
{
	const char *s = title;

	while (is_word(*s) || (s > title && (*s == '.' || *s == '/')))
		s++;
	return s > title && !*s && is_word(s[-1]);
}

/* Names a nested object by its title, else by its path. False: too long. */
static bool nested_name(const struct reading *r, const json_t *schema, char ret[SIM_TYPE_NAME_MAX + 1])
{
	const char *title = json_string_value(json_object_get(schema, "title")), *root = r->list[0].name;
	char package[SIM_TYPE_NAME_MAX + 1];
	int n;

	snprintf(package, sizeof(package), "%.*s", (int)strcspn(root, "/"), root);
	if (title && is_name(title) && type_name(title, package, ret))
		return true;
	n = snprintf(ret, SIM_TYPE_NAME_MAX + 1, "%s_%s", root, r->path);
	for (char *c = ret; *c; c++)
		if (*c == '.')
			*c = '_';
	return n <= (int)SIM_TYPE_NAME_MAX && typedesc_name_ok(ret);
}

/* ---- references ---- */

static const json_t *target_of(const struct reading *r, const char *reference)
{
	static const char *const places[] = { "$defs", "definitions" };

	if (strcmp(reference, "#") == 0)
		return r->root;
	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(places[i]);

		if (strncmp(reference, "#/", 2) == 0 && strncmp(reference + 2, places[i], n) == 0 &&
		    reference[2 + n] == '/' && !strpbrk(reference + 3 + n, "/~%"))
			return json_object_get(json_object_get(r->root, places[i]), reference + 3 + n);
	}
	return NULL;
}

/* Follows references; NULL: one leads nowhere in this document. */
static const json_t *resolve(const struct reading *r, const json_t *schema)
{
	for (unsigned i = 0; schema && i < REFERENCES; i++) {
		const json_t *reference = json_object_get(schema, "$ref");

		if (!reference)
			return schema;
		schema = json_is_string(reference) ? target_of(r, json_string_value(reference)) : NULL;
	}
	return NULL;
}

/* ---- type of a property, or why it is left out ---- */

static const char *word_of(struct reading *r, const json_t *schema, char ret[WORD_MAX]);

static const char *set_word(char ret[WORD_MAX], const char *word)
{
	snprintf(ret, WORD_MAX, "%s", word);
	return NULL;
}

/* Type of a list of constants (each has a member `const`, or is the constant itself). NULL: they differ in type. */
static const char *word_of_constants(const json_t *list)
{
	const char *word = NULL, *one;
	const json_t *v, *value;
	size_t i;

	json_array_foreach(list, i, v) {
		value = json_is_object(v) ? json_object_get(v, "const") : v;
		one = json_is_integer(value)   ? "int64"
		      : json_is_string(value)  ? "string"
		      : json_is_boolean(value) ? "bool"
		      : json_is_real(value)    ? "float64"
					       : NULL;
		if (!one || (word && strcmp(word, one) != 0))
			return NULL;
		word = one;
	}
	return word;
}

/* Whether it is {sec, nsec}, both integers, without other members. */
static const char *word_of_time(const json_t *schema)
{
	const json_t *p = json_object_get(schema, "properties");
	const char *title = json_string_value(json_object_get(schema, "title"));
	static const char *const parts[] = { "sec", "nsec" };

	if (json_object_size(p) != 2)
		return NULL;
	for (unsigned i = 0; i < 2; i++) {
		const char *type = json_string_value(json_object_get(json_object_get(p, parts[i]), "type"));

		if (!type || strcmp(type, "integer") != 0)
			return NULL;
	}
	return title && strcmp(title, "duration") == 0 ? "duration" : "time";
}

static const char *word_of_array(struct reading *r, const json_t *schema, char ret[WORD_MAX])
{
	const json_t *items = resolve(r, json_object_get(schema, "items"));
	const char *type = json_string_value(json_object_get(items, "type")), *why;
	size_t n;

	if (!json_is_object(items))
		return json_is_array(items) ? "an array of different things" : "an array of anything";
	why = type && strcmp(type, "array") == 0 ? "an array of arrays" : word_of(r, items, ret);
	if (why)
		return why;
	n = strlen(ret);
	if (n && ret[n - 1] == ']') /* an array of base64 strings */
		return "an array of arrays";
	snprintf(ret + n, WORD_MAX - n, "[]");
	return NULL;
}

static int read_object(struct reading *r, const json_t *schema, char **ret_text, size_t *ret_len);

/* Adds the definition, or reuses an equal one. Takes ownership of text. */
static const char *add_definition(struct reading *r, const char *name, char *text, size_t len, char ret[WORD_MAX])
{
	char own[SIM_TYPE_NAME_MAX + 1];

	snprintf(own, sizeof(own), "%s", name);
	for (unsigned i = 0, k = 2; i < r->n; i++) {
		struct own_definition *d = &r->list[i];

		if (strcmp(d->name, own) != 0)
			continue;
		if (d->text && d->len == len && memcmp(d->text, text, len) == 0) {
			free(text);
			return set_word(ret, own);
		}
		i = UINT32_MAX; /* a different one has that name: restart with the next number */
		if (snprintf(own, sizeof(own), "%.*s_%u", (int)SIM_TYPE_NAME_MAX - 4, name, k++) < 0)
			break;
	}
	if (r->n < SIM_TYPE_TYPES_MAX) {
		struct own_definition *d = &r->list[r->n++];

		memcpy(d->name, own, sizeof(own));
		d->text = text;
		d->len = len;
		return set_word(ret, own);
	}
	free(text);
	return "it nests too many types";
}

static const char *word_of_object(struct reading *r, const json_t *schema, char ret[WORD_MAX])
{
	const json_t *properties = json_object_get(schema, "properties");
	char name[SIM_TYPE_NAME_MAX + 1], *text;
	const char *time = word_of_time(schema);
	size_t len;
	int n;

	if (time)
		return set_word(ret, time);
	if (!json_object_size(properties))
		return json_object_get(schema, "additionalProperties") || json_object_get(schema, "patternProperties")
			       ? "a map"
			       : "anything";
	for (unsigned i = 0; i < r->depth; i++)
		if (r->open[i] == schema)
			return "it nests itself";
	if (r->depth == SIM_TYPE_DEPTH_MAX)
		return "nested too deep";
	if (!nested_name(r, schema, name))
		return "its type's name would be too long";
	n = read_object(r, schema, &text, &len);
	if (n < 0)
		return "";
	if (n == 0) { /* its properties were left out, and are listed */
		free(text);
		return "";
	}
	return add_definition(r, name, text, len, ret);
}

static const char *word_of_type(struct reading *r, const json_t *schema, const char *type, char ret[WORD_MAX])
{
	static const char *const plain[][2] = { { "number", "float64" },
						{ "integer", "int64" },
						{ "boolean", "bool" } };
	const char *encoding = json_string_value(json_object_get(schema, "contentEncoding"));

	for (unsigned i = 0; i < 3; i++)
		if (strcmp(type, plain[i][0]) == 0)
			return set_word(ret, plain[i][1]);
	if (strcmp(type, "string") == 0)
		return set_word(ret, encoding && strcmp(encoding, "base64") == 0 ? "uint8[]" : "string");
	if (strcmp(type, "array") == 0)
		return word_of_array(r, schema, ret);
	return strcmp(type, "object") == 0 ? word_of_object(r, schema, ret) : "of an unknown type";
}

static const char *word_of(struct reading *r, const json_t *schema, char ret[WORD_MAX])
{
	const json_t *type, *one_of, *choice;
	const char *constants;

	schema = resolve(r, schema);
	if (!schema)
		return "a reference that leads nowhere";
	one_of = json_object_get(schema, "oneOf");
	choice = json_object_get(schema, "enum");
	type = json_object_get(schema, "type");
	constants = word_of_constants(one_of ? one_of : choice);
	if (!json_is_string(type) && constants)
		return set_word(ret, constants);
	if ((one_of && !constants) || json_object_get(schema, "anyOf") || json_object_get(schema, "allOf"))
		return "a union";
	if (json_is_array(type))
		return "of several types";
	if (json_is_string(type))
		return word_of_type(r, schema, json_string_value(type), ret);
	return json_object_size(json_object_get(schema, "properties")) ? word_of_object(r, schema, ret) : "anything";
}

/* ---- objects ---- */

/* Writes the property's field. Returns false if it is left out. */
static bool read_property(struct reading *r, FILE *f, const char *name, const json_t *schema, unsigned fields)
{
	char word[WORD_MAX];
	size_t at = strlen(r->path);
	const char *why;

	snprintf(r->path + at, sizeof(r->path) - at, "%s%s", at ? "." : "", name);
	if (++r->properties > JSON_SCHEMA_PROPERTIES)
		r->err = -E2BIG;
	why = r->err                                   ? ""
	      : !typedesc_ident_ok(name, strlen(name)) ? "its name"
	      : fields == SIM_TYPE_FIELDS_MAX          ? "too many fields"
						       : word_of(r, schema, word);
	if (!why)
		fprintf(f, "%s %s\n", word, name);
	else if (*why)
		leave_out(r, why);
	r->path[at] = '\0';
	return !why;
}

/*
 * Writes the object's fields as text; the caller frees it. Returns their number, or a negative error, also in r->err.
 */
static int read_object(struct reading *r, const json_t *schema, char **ret_text, size_t *ret_len)
{
	json_t *properties = json_object_get(schema, "properties"), *p;
	FILE *f = open_memstream(ret_text, ret_len);
	unsigned n = 0;
	const char *name;

	if (!f) {
		r->err = -ENOMEM;
		return r->err;
	}
	r->open[r->depth++] = schema;
	json_object_foreach(properties, name, p)
		n += read_property(r, f, name, p, n);
	r->depth--;
	if (fclose(f) != 0)
		r->err = -ENOMEM;
	if (r->err < 0)
		free(*ret_text);
	return r->err < 0 ? r->err : (int)n;
}

/* ---- all ---- */

static int fail(int r, char *why, size_t why_size, const char *text)
{
	if (text)
		snprintf(why, why_size, "%s", text);
	return r == -ENOMEM ? r : -ENOTSUP;
}

static int read_root(struct reading *r, const char *name, char *why, size_t why_size)
{
	const json_t *schema = resolve(r, r->root);
	const char *title = json_string_value(json_object_get(schema, "title"));
	struct own_definition *d = &r->list[0];
	int n;

	if (!*name)
		name = title && *title ? title : "Message";
	if (json_schema_type_name(name, d->name) < 0)
		return fail(-ENOTSUP, why, why_size, "no type's name of at most 63 characters can be made of its name");
	r->n = 1;
	if (!json_object_size(json_object_get(schema, "properties")))
		return fail(-ENOTSUP, why, why_size, "its JSON Schema is not that of an object with properties");
	n = read_object(r, schema, &d->text, &d->len);
	if (n < 0)
		d->text = NULL;
	count_more(r);
	if (n == -E2BIG)
		return fail(n, why, why_size, "its JSON Schema has too many properties, with those that it refers to");
	if (n < 0)
		return fail(n, why, why_size, "no memory");
	if (n == 0)
		snprintf(why, why_size, "no property of its JSON Schema can be a field: %s", r->left_out);
	return n ? 0 : -ENOTSUP;
}

static int read_text(const char *text, size_t len, json_t **ret, char *why, size_t why_size)
{
	json_error_t e;

	if (len > JSON_SCHEMA_MAX)
		return fail(-ENOTSUP, why, why_size, "its JSON Schema is longer than 512 KiB");
	if (jsonx_too_deep(text, len, PARSE_DEPTH))
		return fail(-ENOTSUP, why, why_size, "its JSON Schema nests too deep");
	*ret = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	if (*ret)
		return 0;
	snprintf(why, why_size, "its JSON Schema cannot be read: %.150s at byte %d", e.text, e.position);
	return json_error_code(&e) == json_error_out_of_memory ? -ENOMEM : -ENOTSUP;
}

int json_schema_type(const char *name, const char *text, size_t len, const struct sim_type **ret,
		     char ret_left_out[JSON_SCHEMA_LEFT_MAX], char *why, size_t why_size)
{
	struct reading *r = calloc(1, sizeof(*r));
	json_t *root = NULL;
	int e;

	ret_left_out[0] = '\0';
	if (!r)
		return fail(-ENOMEM, why, why_size, "no memory");
	r->left_out = ret_left_out;
	e = read_text(text, len, &root, why, why_size);
	r->root = root;
	if (e == 0)
		e = read_root(r, name, why, why_size);
	if (e == 0) {
		snprintf(why, why_size, "its JSON Schema is over a limit of types");
		e = own_type_make(r->list, r->n, ret, why, why_size);
		e = e < 0 ? fail(e, why, why_size, e == -ENOMEM ? "no memory" : NULL) : 0;
	}
	while (r->n)
		free(r->list[--r->n].text);
	json_decref(root);
	free(r);
	return e;
}
