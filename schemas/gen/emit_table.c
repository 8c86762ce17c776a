/* SPDX-License-Identifier: Apache-2.0 */
/* The field table of a type, as C: see emit.h. */
#include <inttypes.h>
#include <string.h>

#include "gen/emit.h"
#include "msg/typedesc.h"

static const char *const kind_ids[SIM_KIND_END] = {
#define X(id, num, name, bytes) [num] = "SIM_KIND_" #id,
	SIM_KINDS(X)
#undef X
};

static const char *const array_ids[] = { "SIM_ARRAY_NONE", "SIM_ARRAY_FIXED", "SIM_ARRAY_BOUNDED",
					 "SIM_ARRAY_VARIABLE" };

void emit_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\' || c == '?') /* ?: trigraphs */
			fprintf(f, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(f, "\\%03o", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void flat(FILE *f, const char *name)
{
	for (; *name; name++)
		fputc(*name == '/' ? '_' : *name, f);
}

static void emit_field(FILE *f, const struct sim_type *t, const struct sim_field *a)
{
	fputs("\t{\n\t\t.name = ", f);
	emit_string(f, a->name);
	if (a->type) {
		fputs(",\n\t\t.type = &", f);
		flat(f, a->type->name);
		fputs("_type", f);
	}
	fputs(",\n\t\t.unit = ", f);
	emit_string(f, a->unit);
	fputs(",\n\t\t.comment = ", f);
	emit_string(f, a->comment);
	fputs(",\n\t\t.offset = offsetof(struct ", f);
	flat(f, t->name);
	fprintf(f, ", %s),\n", a->name);
	fprintf(f, "\t\t.count = %" PRIu32 ", .elem_size = %" PRIu32 ", .string_max = %" PRIu32 ",\n", a->count,
		a->elem_size, a->string_max);
	fprintf(f, "\t\t.kind = %s, .array = %s, .elem_align = %u,\n\t},\n", kind_ids[a->kind], array_ids[a->array],
		a->elem_align);
}

/* prefix: of the static arrays, where a file holds those of two types. */
static void emit_constants(FILE *f, const struct sim_type *t, const char *prefix)
{
	if (!t->n_constants)
		return;
	fprintf(f, "static const struct sim_constant %sconstants[] = {\n", prefix);
	for (uint32_t i = 0; i < t->n_constants; i++) {
		const struct sim_constant *c = &t->constants[i];

		fputs("\t{.name = ", f);
		emit_string(f, c->name);
		fputs(", .value = ", f);
		emit_string(f, c->value);
		fprintf(f, ", .kind = %s},\n", kind_ids[c->kind]);
	}
	fputs("};\n\n", f);
}

/* The layout that the compiler sees must be the one that the hash and the JSON readers stand for. */
static void emit_asserts(FILE *f, const struct sim_type *t)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		fputs("SIM_STATIC_ASSERT(offsetof(struct ", f);
		flat(f, t->name);
		fprintf(f, ", %s) == %" PRIu32 ", \"layout\");\n", t->fields[i].name, t->fields[i].offset);
	}
	fputc('\n', f);
}

static void emit_type(FILE *f, const struct sim_type *t, const char *prefix)
{
	emit_asserts(f, t);
	emit_constants(f, t, prefix);
	if (t->n_fields) {
		fprintf(f, "static const struct sim_field %sfields[] = {\n", prefix);
		for (uint32_t i = 0; i < t->n_fields; i++)
			emit_field(f, t, &t->fields[i]);
		fputs("};\n\n", f);
	}
	fputs("const struct sim_type ", f);
	flat(f, t->name);
	fputs("_type = {\n\t.abi = SIM_TYPE_ABI,\n\t.size = sizeof(struct sim_type),\n\t.name = ", f);
	emit_string(f, t->name);
	fputs(",\n\t.comment = ", f);
	emit_string(f, t->comment);
	fprintf(f, ",\n\t.hash = UINT64_C(0x%016" PRIx64 "),\n", t->hash);
	fprintf(f, "\t.fixed_size = %" PRIu32 ",\n\t.align = %" PRIu32 ",\n", t->fixed_size, t->align);
	fprintf(f, "\t.n_fields = %" PRIu32 ",\n\t.n_constants = %" PRIu32 ",\n", t->n_fields, t->n_constants);
	fprintf(f, "\t.fields = %s%s,\n", t->n_fields ? prefix : "", t->n_fields ? "fields" : "NULL");
	fprintf(f, "\t.constants = %s%s,\n};\n", t->n_constants ? prefix : "", t->n_constants ? "constants" : "NULL");
}

/* ---- functions for other languages ---- */

static bool taken(const struct sim_type *t, const char *verb, const char *field)
{
	size_t n = strlen(verb);

	for (uint32_t i = 0; i < t->n_fields; i++)
		if (!strncmp(t->fields[i].name, verb, n) && !strcmp(t->fields[i].name + n, field))
			return true;
	return false;
}

static void emit_at(FILE *f, const struct sim_type *t, const char *type, const struct sim_field *a)
{
	if (taken(t, "at_", a->name))
		return;
	fputs("SIM_API ", f);
	emit_c_type(f, a);
	fprintf(f, " *%s_at_%s(struct %s *m)\n{\n\treturn %sm->%s;\n}\n", type, a->name, type,
		a->array == SIM_ARRAY_NONE ? "&" : "", a->name);
}

static void emit_get_set(FILE *f, const struct sim_type *t, const char *type, const struct sim_field *a)
{
	if (taken(t, "get_", a->name) || taken(t, "set_", a->name))
		return;
	fputs("SIM_API ", f);
	emit_c_type(f, a);
	fprintf(f, " %s_get_%s(const struct %s *m)\n{\n\treturn m->%s;\n}\n", type, a->name, type, a->name);
	fprintf(f, "SIM_API void %s_set_%s(struct %s *m, ", type, a->name, type);
	emit_c_type(f, a);
	fprintf(f, " v)\n{\n\tm->%s = v;\n}\n", a->name);
}

/* For the fields that C reaches as members of the struct: the others have their accessors. */
static void emit_functions(FILE *f, const struct typeset_entry *e)
{
	const struct sim_type *t = &e->type;
	struct emit_names n;

	emit_names_of(e, &n);
	fputc('\n', f);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *a = &t->fields[i];

		if (typedesc_is_span(a) || (a->array == SIM_ARRAY_NONE && a->kind == SIM_KIND_STRING))
			continue;
		if (a->array == SIM_ARRAY_NONE && !a->type)
			emit_get_set(f, t, n.type, a);
		else
			emit_at(f, t, n.type, a);
	}
	if (!taken(t, "nth", ""))
		fprintf(f, "SIM_API struct %s *%s_nth(struct %s *first, uint32_t i)\n{\n\treturn first + i;\n}\n",
			n.type, n.type, n.type);
}

static void begin_functions(FILE *f, const struct typeset_entry *e)
{
	struct emit_names n;

	emit_names_of(e, &n);
	fprintf(f, "#define %s_FN_ SIM_API\n", n.upper);
}

static void begin_file(FILE *f, const char *name)
{
	fputs("/* SPDX-License-Identifier: Apache-2.0 */\n", f);
	fprintf(f, "/* Written by simgen from the definition of %s: change that, not this. */\n", name);
	fputs("/* The header's functions, which are inline there, are exported here: for languages other than C. */\n"
	      "#pragma GCC diagnostic ignored \"-Wmissing-prototypes\"\n",
	      f);
}

static void include(FILE *f, const char *name, const char *header)
{
	fprintf(f, "#include \"%.*s/%s.h\"\n\n", (int)(strchr(name, '/') - name), name, header);
}

void emit_table(FILE *f, const struct typeset_entry *e)
{
	char header[SIM_TYPE_NAME_MAX + 8];

	snprintf(header, sizeof(header), "msg/%s", e->def->name);
	begin_file(f, e->type.name);
	begin_functions(f, e);
	include(f, e->type.name, header);
	emit_type(f, &e->type, "");
	emit_functions(f, e);
}

void emit_service_table(FILE *f, const struct typeset_service *v)
{
	char header[SIM_TYPE_NAME_MAX + 8];

	snprintf(header, sizeof(header), "srv/%s", v->name);
	begin_file(f, v->full);
	begin_functions(f, v->request);
	begin_functions(f, v->response);
	include(f, v->full, header);
	emit_type(f, &v->request->type, "request_");
	fputc('\n', f);
	emit_type(f, &v->response->type, "response_");
	fputs("\nconst struct sim_service_type ", f);
	flat(f, v->full);
	fputs("_service = {\n\t.abi = SIM_TYPE_ABI,\n\t.size = sizeof(struct sim_service_type),\n\t.name = ", f);
	emit_string(f, v->full);
	fputs(",\n\t.comment = ", f);
	emit_string(f, v->comment);
	fputs(",\n\t.request = &", f);
	flat(f, v->request->type.name);
	fputs("_type,\n\t.response = &", f);
	flat(f, v->response->type.name);
	fputs("_type,\n};\n", f);
	emit_functions(f, v->request);
	emit_functions(f, v->response);
}

void emit_list_table(FILE *f, const struct typeset *s, const char *package)
{
	fputs("/* SPDX-License-Identifier: Apache-2.0 */\n", f);
	fprintf(f, "/* Written by simgen: every type of package %s. */\n", package);
	fprintf(f, "#include \"%s/msg/all.h\"\n\n", package);
	fprintf(f, "const struct sim_type *const %s_msg_types[] = {\n", package);
	for (unsigned i = 0; i < typeset_count(s); i++) {
		const struct typeset_entry *e = typeset_entry(s, i);

		if (!e->asked_for || e->half || strcmp(e->def->package, package) != 0)
			continue;
		fputs("\t&", f);
		flat(f, e->type.name);
		fputs("_type,\n", f);
	}
	fputs("\tNULL,\n};\n", f);
}

void emit_service_list_table(FILE *f, const struct typeset *s, const char *package)
{
	fputs("/* SPDX-License-Identifier: Apache-2.0 */\n", f);
	fprintf(f, "/* Written by simgen: every service of package %s. */\n", package);
	fprintf(f, "#include \"%s/srv/all.h\"\n\n", package);
	fprintf(f, "const struct sim_service_type *const %s_srv_types[] = {\n", package);
	for (unsigned i = 0; i < typeset_services(s); i++) {
		const struct typeset_service *v = typeset_service(s, i);

		if (strcmp(v->package, package) != 0)
			continue;
		fputs("\t&", f);
		flat(f, v->full);
		fputs("_service,\n", f);
	}
	fputs("\tNULL,\n};\n", f);
}
