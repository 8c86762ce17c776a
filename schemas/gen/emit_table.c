/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field table of a type in the header: see emit.h. Initialisers in order, without names: so C++17 compiles them
 * too.
 */
#include <inttypes.h>

#include "gen/emit.h"
#include "msg/typedesc.h"

/* The compiler's layout must be the one that the hash and the JSON readers assume. */
static void emit_asserts(FILE *f, const struct sim_type *t)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		emit_put(f, "SIM_STATIC_ASSERT(offsetof(struct $T, $f) == $o, \"layout\");\n", t->name, &t->fields[i]);
	fputc('\n', f);
}

static void emit_constants(FILE *f, const struct sim_type *t)
{
	if (!t->n_constants)
		return;
	emit_put(f, "SIM_TABLE_ struct sim_constant $T_constants_[] = {\n", t->name, NULL);
	for (uint32_t i = 0; i < t->n_constants; i++) {
		const struct sim_constant *c = &t->constants[i];

		fprintf(f, "\t{ \"%s\", ", c->name);
		emit_string(f, c->value);
		emit_put(f, ", SIM_KIND_$k, { 0 } },\n", NULL, &(struct sim_field){ .kind = c->kind });
	}
	fputs("};\n", f);
}

static void emit_fields(FILE *f, const struct sim_type *t)
{
	if (!t->n_fields)
		return;
	emit_put(f, "SIM_TABLE_ struct sim_field $T_fields_[] = {\n", t->name, NULL);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *a = &t->fields[i];

		emit_put(f, "\t{ \"$f\", ", NULL, a);
		emit_put(f, a->type ? "&$T_type, " : "NULL, ", a->type ? a->type->name : NULL, NULL);
		emit_put(f,
			 "$u, $d,\n\t  offsetof(struct $T, $f), $n, $e, $m, SIM_KIND_$k, SIM_ARRAY_$r, $l, { 0 } },\n",
			 t->name, a);
	}
	fputs("};\n", f);
}

void emit_table(FILE *f, const struct sim_type *t)
{
	emit_asserts(f, t);
	emit_constants(f, t);
	emit_fields(f, t);
	emit_put(f,
		 "/* What this program, as it was compiled, says and knows of the type. */\n"
		 "SIM_TABLE_ struct sim_type $T_type = {\n\tSIM_TYPE_ABI, sizeof(struct sim_type), \"$N\",\n\t",
		 t->name, NULL);
	emit_string(f, t->comment);
	emit_put(f, ",\n\t$U_HASH, sizeof(struct $T), ", t->name, NULL);
	fprintf(f, "%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", 0, 0,\n\t", t->align, t->n_fields, t->n_constants);
	emit_put(f, t->n_fields ? "$T_fields_, " : "NULL, ", t->name, NULL);
	emit_put(f, t->n_constants ? "$T_constants_,\n};\n\n" : "NULL,\n};\n\n", t->name, NULL);
}

void emit_service_table(FILE *f, const struct typeset_service *v)
{
	emit_put(f,
		 "/* The service: both halves. */\nSIM_TABLE_ struct sim_service_type $T_service = {\n"
		 "\tSIM_TYPE_ABI, sizeof(struct sim_service_type), \"$N\",\n\t",
		 v->full, NULL);
	emit_string(f, v->comment);
	emit_put(f, ",\n\t&$T_type, ", v->request->type.name, NULL);
	emit_put(f, "&$T_type,\n};\n\n", v->response->type.name, NULL);
}
