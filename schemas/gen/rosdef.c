/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, hashes and texts of ROS definitions: see rosdef.h. */
#include "gen/rosdef.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLOSURE_MAX 128

struct closure { /* the types nested in a type, each once */
	const struct typeset_entry *entry[CLOSURE_MAX];
	unsigned n;
};

static const char *package_of(const struct msgdef *d, const struct msgdef_type *t)
{
	return t->package ? t->package : d->package;
}

enum msgdef_prim rosdef_time(const struct msgdef *d, const struct msgdef_type *t)
{
	if (t->prim != MSGDEF_NESTED || strcmp(package_of(d, t), "builtin_interfaces") != 0)
		return t->prim;
	return strcmp(t->name, "Time") == 0 ? MSGDEF_TIME : MSGDEF_DURATION;
}

const struct typeset_entry *rosdef_nested(const struct typeset *s, const struct typeset_entry *e,
					  const struct msgdef_type *t)
{
	for (unsigned i = 0; i < typeset_count(s); i++) {
		const struct typeset_entry *n = typeset_entry(s, i);

		if (strcmp(n->def->package, package_of(e->def, t)) == 0 && strcmp(n->def->name, t->name) == 0)
			return n;
	}
	abort(); /* a resolved set contains everything that its types nest */
}

const char *rosdef_kind(const struct typeset_entry *e)
{
	if (e->kind)
		return e->kind;
	if (strstr(e->path, "/action/"))
		return "action";
	return e->half || strstr(e->path, "/srv/") ? "srv" : "msg";
}

static void collect(const struct typeset *s, const struct typeset_entry *e, enum rosdef_flavour flavour,
		    struct closure *c)
{
	for (uint32_t i = 0; i < e->def->n_fields; i++) {
		const struct msgdef_type *t = &e->def->fields[i].type;
		const struct typeset_entry *n;
		unsigned k = 0;

		if ((flavour == ROSDEF_ROS1 ? rosdef_time(e->def, t) : t->prim) != MSGDEF_NESTED)
			continue;
		n = rosdef_nested(s, e, t);
		while (k < c->n && c->entry[k] != n)
			k++;
		if (k < c->n || c->n == CLOSURE_MAX)
			continue;
		c->entry[c->n++] = n;
		collect(s, n, flavour, c);
	}
}

static void put_array(FILE *f, const struct msgdef_type *t)
{
	if (t->array == MSGDEF_FIXED)
		fprintf(f, "[%u]", t->count);
	else if (t->array == MSGDEF_BOUNDED)
		fprintf(f, "[<=%u]", t->count);
	else if (t->array == MSGDEF_VARIABLE)
		fputs("[]", f);
}

/* ---- ROS 1 ---- */

static int md5_field(const struct typeset *s, const struct typeset_entry *e, const struct msgdef_field *a, FILE *f)
{
	enum msgdef_prim prim = rosdef_time(e->def, &a->type);
	char sum[MD5_DIGEST_STRING_LENGTH];
	int r;

	if (prim == MSGDEF_WSTRING || a->type.string_max || a->type.array == MSGDEF_BOUNDED)
		return -ENOTSUP;
	if (prim != MSGDEF_NESTED) {
		fputs(msgdef_prim_name(prim), f);
		put_array(f, &a->type);
	} else {
		r = rosdef_md5(s, rosdef_nested(s, e, &a->type), sum);
		if (r < 0)
			return r;
		fputs(sum, f);
	}
	fprintf(f, " %s", a->name);
	return 0;
}

/* The text from which ROS 1 computes its md5 sum. */
static int md5_text(const struct typeset *s, const struct typeset_entry *e, FILE *f)
{
	const char *sep = "";
	int r = 0;

	for (uint32_t i = 0; i < e->def->n_constants; i++, sep = "\n") {
		const struct msgdef_constant *c = &e->def->constants[i];

		fprintf(f, "%s%s %s=%s", sep, msgdef_prim_name(c->type.prim), c->name, c->all);
	}
	for (uint32_t i = 0; r == 0 && i < e->def->n_fields; i++, sep = "\n") {
		fputs(sep, f);
		r = md5_field(s, e, &e->def->fields[i], f);
	}
	return r;
}

int rosdef_service_md5(const struct typeset *of_request, const struct typeset_entry *request,
		       const struct typeset *of_response, const struct typeset_entry *response,
		       char ret[MD5_DIGEST_STRING_LENGTH])
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int r;

	if (!f)
		return -ENOMEM;
	r = md5_text(of_request, request, f);
	if (r == 0 && response)
		r = md5_text(of_response, response, f);
	if (fclose(f) != 0)
		r = -ENOMEM;
	if (r == 0)
		MD5Data((const uint8_t *)text, len, ret);
	free(text);
	return r;
}

int rosdef_md5(const struct typeset *s, const struct typeset_entry *e, char ret[MD5_DIGEST_STRING_LENGTH])
{
	return rosdef_service_md5(s, e, NULL, NULL, ret);
}

/* ---- ROS 2 ---- */

static unsigned type_id(const struct msgdef_type *t)
{
	static const uint8_t ids[MSGDEF_PRIM_END] = {
		[MSGDEF_NESTED] = 1, [MSGDEF_INT8] = 2,   [MSGDEF_UINT8] = 3,    [MSGDEF_CHAR] = 3,
		[MSGDEF_INT16] = 4,  [MSGDEF_UINT16] = 5, [MSGDEF_INT32] = 6,    [MSGDEF_UINT32] = 7,
		[MSGDEF_INT64] = 8,  [MSGDEF_UINT64] = 9, [MSGDEF_FLOAT32] = 10, [MSGDEF_FLOAT64] = 11,
		[MSGDEF_BOOL] = 15,  [MSGDEF_BYTE] = 16,  [MSGDEF_STRING] = 17,  [MSGDEF_WSTRING] = 18,
	};
	static const uint8_t arrays[] = { 0, 48, 96, 144 }; /* as enum msgdef_array */

	return ids[t->prim] + (t->string_max ? 4u : 0u) + arrays[t->array];
}

static void rihs_field(FILE *f, const char *name, const struct msgdef_type *t, const char *nested, const char *package,
		       const char *sep)
{
	fprintf(f, "%s{\"name\": \"%s\", \"type\": {\"type_id\": %u, \"capacity\": %u, \"string_capacity\": %u, ", sep,
		name, type_id(t), t->count, t->string_max);
	if (nested)
		fprintf(f, "\"nested_type_name\": \"%s/msg/%s\"}}", package, nested);
	else
		fputs("\"nested_type_name\": \"\"}}", f);
}

static void rihs_type(FILE *f, const struct typeset_entry *e)
{
	const struct msgdef *d = e->def;
	struct msgdef_type filler = { .prim = MSGDEF_UINT8 };

	fprintf(f, "{\"type_name\": \"%s/%s/%s\", \"fields\": [", d->package, rosdef_kind(e), d->name);
	for (uint32_t i = 0; i < d->n_fields; i++)
		rihs_field(f, d->fields[i].name, &d->fields[i].type, d->fields[i].type.name,
			   package_of(d, &d->fields[i].type), i ? ", " : "");
	if (!d->n_fields)
		rihs_field(f, "structure_needs_at_least_one_member", &filler, NULL, NULL, "");
	fputs("]}", f);
}

static int by_name(const void *a, const void *b)
{
	const struct typeset_entry *const *x = a, *const *y = b;
	int r = strcmp((*x)->def->package, (*y)->def->package);

	return r ? r : strcmp((*x)->def->name, (*y)->def->name);
}

int rosdef_rihs01(const struct typeset *s, const struct typeset_entry *e, char ret[ROSDEF_RIHS_MAX])
{
	struct closure c = { .n = 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	collect(s, e, ROSDEF_ROS2, &c);
	qsort(c.entry, c.n, sizeof(c.entry[0]), by_name);
	fputs("{\"type_description\": ", f);
	rihs_type(f, e);
	fputs(", \"referenced_type_descriptions\": [", f);
	for (unsigned i = 0; i < c.n; i++) {
		fputs(i ? ", " : "", f);
		rihs_type(f, c.entry[i]);
	}
	fputs("]}", f);
	if (fclose(f) != 0) {
		free(text);
		return -ENOMEM;
	}
	memcpy(ret, "RIHS01_", 7);
	SHA256Data((const uint8_t *)text, len, ret + 7);
	free(text);
	return 0;
}

/* ---- texts ---- */

static void text_of(const struct typeset_entry *e, enum rosdef_flavour flavour, FILE *f)
{
	const struct msgdef *d = e->def;

	for (uint32_t i = 0; i < d->n_constants; i++)
		fprintf(f, "%s %s=%s\n", msgdef_prim_name(d->constants[i].type.prim), d->constants[i].name,
			flavour == ROSDEF_ROS1 ? d->constants[i].all : d->constants[i].raw);
	for (uint32_t i = 0; i < d->n_fields; i++) {
		const struct msgdef_type *t = &d->fields[i].type;
		enum msgdef_prim prim = flavour == ROSDEF_ROS1 ? rosdef_time(d, t) : t->prim;

		if (prim == MSGDEF_NESTED)
			fprintf(f, "%s/%s", package_of(d, t), t->name);
		else
			fputs(msgdef_prim_name(prim), f);
		if (t->string_max)
			fprintf(f, "<=%u", t->string_max);
		put_array(f, t);
		fprintf(f, " %s\n", d->fields[i].name);
	}
}

void rosdef_own_text(const struct typeset_entry *e, FILE *f)
{
	text_of(e, ROSDEF_ROS2, f);
}

void rosdef_text(const struct typeset *s, const struct typeset_entry *e, enum rosdef_flavour flavour, FILE *f)
{
	struct closure c = { .n = 0 };

	text_of(e, flavour, f);
	collect(s, e, flavour, &c);
	for (unsigned i = 0; i < c.n; i++) {
		for (unsigned k = 0; k < 80; k++)
			fputc('=', f);
		fprintf(f, "\nMSG: %s/%s\n", c.entry[i]->def->package, c.entry[i]->def->name);
		if (flavour == ROSDEF_ROS1 && c.entry[i]->def->n_fields + c.entry[i]->def->n_constants == 0)
			fputc('\n', f); /* genpy takes the newline before a rule for a part of the rule */
		text_of(c.entry[i], flavour, f);
	}
}
