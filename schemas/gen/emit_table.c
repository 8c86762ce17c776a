/* SPDX-License-Identifier: Apache-2.0 */
/* The field table of a type, as C: see emit.h. */
#include <inttypes.h>
#include <string.h>

#include "gen/emit.h"
#include "msg/typedesc.h"

static const char field_text[] = ",\n\t\t.unit = $u,\n\t\t.comment = $d,\n\t\t.offset = offsetof(struct $T, $f),\n"
				 "\t\t.count = $n, .elem_size = $e, .string_max = $m,\n"
				 "\t\t.kind = SIM_KIND_$k, .array = SIM_ARRAY_$r, .elem_align = $l,\n\t},\n";

/* prefix: of the static arrays, where a file holds those of two types. */
static void emit_constants(FILE *f, const struct sim_type *t, const char *prefix)
{
	if (!t->n_constants)
		return;
	fprintf(f, "static const struct sim_constant %sconstants[] = {\n", prefix);
	for (uint32_t i = 0; i < t->n_constants; i++) {
		const struct sim_constant *c = &t->constants[i];

		fprintf(f, "\t{.name = \"%s\", .value = ", c->name);
		emit_string(f, c->value);
		emit_put(f, ", .kind = SIM_KIND_$k},\n", NULL, &(struct sim_field){ .kind = c->kind });
	}
	fputs("};\n\n", f);
}

/* The layout that the compiler sees must be the one that the hash and the JSON readers stand for. */
static void emit_asserts(FILE *f, const struct sim_type *t)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		emit_put(f, "SIM_STATIC_ASSERT(offsetof(struct $T, $f) == $o, \"layout\");\n", t->name, &t->fields[i]);
	fputc('\n', f);
}

static void emit_fields(FILE *f, const struct sim_type *t, const char *prefix)
{
	if (!t->n_fields)
		return;
	fprintf(f, "static const struct sim_field %sfields[] = {\n", prefix);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *a = &t->fields[i];

		emit_put(f, "\t{\n\t\t.name = \"$f\"", NULL, a);
		if (a->type)
			emit_put(f, ",\n\t\t.type = &$T_type", a->type->name, NULL);
		emit_put(f, field_text, t->name, a);
	}
	fputs("};\n\n", f);
}

static void emit_type(FILE *f, const struct sim_type *t, const char *prefix)
{
	emit_asserts(f, t);
	emit_constants(f, t, prefix);
	emit_fields(f, t, prefix);
	emit_put(f,
		 "const struct sim_type $T_type = {\n\t.abi = SIM_TYPE_ABI,\n\t.size = sizeof(struct sim_type),\n"
		 "\t.name = \"$N\",\n\t.comment = ",
		 t->name, NULL);
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

static void emit_at(FILE *f, const struct sim_type *t, const struct sim_field *a)
{
	if (!taken(t, "at_", a->name))
		emit_put(f,
			 a->array == SIM_ARRAY_NONE ? "SIM_API $c *$T_at_$f(struct $T *m)\n{\n\treturn &m->$f;\n}\n"
						    : "SIM_API $c *$T_at_$f(struct $T *m)\n{\n\treturn m->$f;\n}\n",
			 t->name, a);
}

static void emit_get_set(FILE *f, const struct sim_type *t, const struct sim_field *a)
{
	if (!taken(t, "get_", a->name) && !taken(t, "set_", a->name))
		emit_put(f,
			 "SIM_API $c $T_get_$f(const struct $T *m)\n{\n\treturn m->$f;\n}\n"
			 "SIM_API void $T_set_$f(struct $T *m, $c v)\n{\n\tm->$f = v;\n}\n",
			 t->name, a);
}

/* For the fields that C reaches as members of the struct: the others have their accessors. */
static void emit_functions(FILE *f, const struct sim_type *t)
{
	fputc('\n', f);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *a = &t->fields[i];

		if (typedesc_is_span(a) || (a->array == SIM_ARRAY_NONE && a->kind == SIM_KIND_STRING))
			continue;
		if (a->array == SIM_ARRAY_NONE && !a->type)
			emit_get_set(f, t, a);
		else
			emit_at(f, t, a);
	}
	if (!taken(t, "nth", ""))
		emit_put(f, "SIM_API struct $T *$T_nth(struct $T *first, uint32_t i)\n{\n\treturn first + i;\n}\n",
			 t->name, NULL);
}

static const char head[] =
	"/* SPDX-License-Identifier: Apache-2.0 */\n"
	"/* Written by simgen from the definition of $N: change that, not this. */\n"
	"/* The header's functions, which are inline there, are exported here: for languages other than C. */\n"
	"#pragma GCC diagnostic ignored \"-Wmissing-prototypes\"\n";

void emit_table(FILE *f, const struct typeset_entry *e)
{
	emit_put(f, head, e->type.name, NULL);
	emit_put(f, "#define $U_FN_ SIM_API\n#include \"$P/msg/$M.h\"\n\n", e->type.name, NULL);
	emit_type(f, &e->type, "");
	emit_functions(f, &e->type);
}

void emit_service_table(FILE *f, const struct typeset_service *v)
{
	const struct sim_type *q = &v->request->type, *a = &v->response->type;

	emit_put(f, head, v->full, NULL);
	emit_put(f, "#define $U_FN_ SIM_API\n", q->name, NULL);
	emit_put(f, "#define $U_FN_ SIM_API\n", a->name, NULL);
	emit_put(f, "#include \"$P/srv/$M.h\"\n\n", v->full, NULL);
	emit_type(f, q, "request_");
	fputc('\n', f);
	emit_type(f, a, "response_");
	emit_put(f,
		 "\nconst struct sim_service_type $T_service = {\n\t.abi = SIM_TYPE_ABI,\n"
		 "\t.size = sizeof(struct sim_service_type),\n\t.name = \"$N\",\n\t.comment = ",
		 v->full, NULL);
	emit_string(f, v->comment);
	emit_put(f, ",\n\t.request = &$T_type", q->name, NULL);
	emit_put(f, ",\n\t.response = &$T_type,\n};\n", a->name, NULL);
	emit_functions(f, q);
	emit_functions(f, a);
}

void emit_list_table(FILE *f, const struct typeset *s, const char *package, bool srv)
{
	const char *name;

	emit_put(f,
		 srv ? "/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by simgen: every service of package $N. */\n"
		       "#include \"$N/srv/all.h\"\n\nconst struct sim_service_type *const $N_srv_types[] = {\n"
		     : "/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by simgen: every type of package $N. */\n"
		       "#include \"$N/msg/all.h\"\n\nconst struct sim_type *const $N_msg_types[] = {\n",
		 package, NULL);
	for (unsigned i = 0; (name = typeset_listed(s, package, srv, &i));)
		emit_put(f, srv ? "\t&$T_service,\n" : "\t&$T_type,\n", name, NULL);
	fputs("\tNULL,\n};\n", f);
}
