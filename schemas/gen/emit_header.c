/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a type: struct, constants, initialiser, accessors, field table. See emit.h. */
#include <inttypes.h>
#include <string.h>

#include "gen/emit.h"
#include "msg/typedesc.h"

/* A comment within a comment must not end it. */
static void comment(FILE *f, const char *text)
{
	fputs("/* ", f);
	for (; *text; text++) {
		fputc(*text, f);
		if (text[0] == '*' && text[1] == '/')
			fputc(' ', f);
	}
	fputs(" */", f);
}

/* ---- struct ---- */

static void pad(FILE *f, uint32_t at, uint32_t to, unsigned *n)
{
	if (to > at)
		fprintf(f, "\tuint8_t pad%u_[%" PRIu32 "]; /* 0 */\n", (*n)++, to - at);
}

static void ros_type(FILE *f, const struct sim_field *field)
{
	fputs(field->type ? field->type->name : typedesc_kind_name((enum sim_kind)field->kind), f);
	if (field->string_max)
		fprintf(f, "<=%" PRIu32, field->string_max);
	if (field->array == SIM_ARRAY_VARIABLE)
		fputs("[]", f);
	else if (field->array == SIM_ARRAY_BOUNDED)
		fprintf(f, "[<=%" PRIu32 "]", field->count);
}

static uint32_t inline_size(const struct sim_field *field)
{
	if (typedesc_is_span(field))
		return sizeof(struct sim_span);
	return field->elem_size * (field->array == SIM_ARRAY_FIXED ? field->count : 1);
}

static void struct_field(FILE *f, const struct sim_field *field)
{
	bool span = typedesc_is_span(field);

	emit_put(f, span ? "\tstruct sim_span $f" : "\t$c $f", NULL, field);
	if (field->array == SIM_ARRAY_FIXED)
		emit_put(f, "[$n]", NULL, field);
	fputc(';', f);
	if (span || field->kind == SIM_KIND_STRING) {
		fputs(" /* ", f);
		ros_type(f, field);
		fputs(" */", f);
	}
	if (field->comment[0]) {
		fputc(' ', f);
		comment(f, field->comment);
	}
	fputc('\n', f);
}

static void emit_struct(FILE *f, const struct sim_type *t)
{
	uint32_t at = 0;
	unsigned pads = 0;

	emit_put(f, "struct $T {\n", t->name, NULL);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		pad(f, at, t->fields[i].offset, &pads);
		struct_field(f, &t->fields[i]);
		at = t->fields[i].offset + inline_size(&t->fields[i]);
	}
	pad(f, at, t->fixed_size, &pads);
	emit_put(f, "};\n\nSIM_STATIC_ASSERT(sizeof(struct $T) == ", t->name, NULL);
	fprintf(f, "%" PRIu32, t->fixed_size);
	emit_put(f, ", \"$N is shared-memory ABI\");\nSIM_STATIC_ASSERT(SIM_ALIGNOF(struct $T) == ", t->name, NULL);
	fprintf(f, "%" PRIu32, t->align);
	emit_put(f, ", \"$N is shared-memory ABI\");\n\n", t->name, NULL);
}

/* ---- constants ---- */

static bool fits_enum(const struct sim_constant *c)
{
	return c->kind == SIM_KIND_BOOL || (c->kind >= SIM_KIND_INT8 && c->kind <= SIM_KIND_INT32);
}

static const char *c_suffix(enum sim_kind kind)
{
	switch (kind) {
	case SIM_KIND_UINT32:
		return "u";
	case SIM_KIND_FLOAT32:
		return "f";
	default:
		return "";
	}
}

static void define_constant(FILE *f, const struct sim_type *t, const struct sim_constant *c)
{
	emit_put(f, "#define $U_", t->name, NULL);
	fprintf(f, "%s ", c->name);
	switch (c->kind) {
	case SIM_KIND_STRING:
		emit_string(f, c->value);
		break;
	case SIM_KIND_INT64:
	case SIM_KIND_TIME:
	case SIM_KIND_DURATION:
		if (strcmp(c->value, "-9223372036854775808") == 0)
			fputs("INT64_MIN", f);
		else
			fprintf(f, "INT64_C(%s)", c->value);
		break;
	case SIM_KIND_UINT64:
		fprintf(f, "UINT64_C(%s)", c->value);
		break;
	default:
		fprintf(f, "(%s%s%s)", c->value, c->kind >= SIM_KIND_FLOAT32 && !strpbrk(c->value, ".e") ? ".0" : "",
			c_suffix((enum sim_kind)c->kind));
	}
	fputc('\n', f);
}

static void emit_constants(FILE *f, const struct typeset_entry *e)
{
	const struct sim_type *t = &e->type;
	uint32_t enums = 0;

	for (uint32_t i = 0; i < t->n_constants; i++)
		enums += fits_enum(&t->constants[i]);
	if (enums)
		fputs("enum {\n", f);
	for (uint32_t i = 0; i < t->n_constants; i++) {
		const struct sim_constant *c = &t->constants[i];
		const char *value = c->kind != SIM_KIND_BOOL ? c->value : c->value[0] == 't' ? "1" : "0";

		if (!fits_enum(c))
			continue;
		if (strcmp(value, "-2147483648") == 0)
			value = "INT32_MIN";
		emit_put(f, "\t$U_", t->name, NULL);
		fprintf(f, "%s = %s,", c->name, value);
		if (e->def->constants[i].comment[0]) {
			fputc(' ', f);
			comment(f, e->def->constants[i].comment);
		}
		fputc('\n', f);
	}
	if (enums)
		fputs("};\n", f);
	for (uint32_t i = 0; i < t->n_constants; i++)
		if (!fits_enum(&t->constants[i]))
			define_constant(f, t, &t->constants[i]);
	if (t->n_constants)
		fputc('\n', f);
}

/* ---- accessors ---- */

static const char array_alloc[] =
	"static inline $c *$T_$f_alloc_in(struct sim_builder *b, struct $T *e, uint32_t n)\n{\n"
	"\treturn ($c *)sim_builder_array(b, &e->$f, n, $e, $l, $b, ";

static const char array_rest[] =
	"static inline $c *$T_$f_alloc(struct sim_builder *b, uint32_t n)\n{\n"
	"\tstruct $T *m = (struct $T *)sim_builder_root_(b, $U_HASH);\n\n"
	"\treturn m ? $T_$f_alloc_in(b, m, n) : NULL;\n}\n"
	"static inline const $c *$T_$f_in(const void *body, size_t body_size, const struct $T *e, uint32_t *ret_n)\n{\n"
	"\treturn (const $c *)sim_span_data(body, body_size, &e->$f, $e, $l, $b, ret_n);\n}\n"
	"static inline const $c *$T_$f(const struct $T *m, size_t body_size, uint32_t *ret_n)\n{\n"
	"\treturn $T_$f_in(m, body_size, m, ret_n);\n}\n\n";

static const char string_accessors[] =
	"static inline int $T_$f_set_in(struct sim_builder *b, struct $T *e, const char *s)\n{\n"
	"\treturn sim_builder_text(b, &e->$f, s, $m);\n}\n"
	"static inline int $T_$f_set(struct sim_builder *b, const char *s)\n{\n"
	"\tstruct $T *m = (struct $T *)sim_builder_root_(b, $U_HASH);\n\n"
	"\treturn m ? $T_$f_set_in(b, m, s) : b->err;\n}\n"
	"static inline const char *$T_$f_in(const void *body, size_t body_size, const struct $T *e)\n{\n"
	"\treturn sim_span_string(body, body_size, &e->$f, $m, NULL);\n}\n"
	"static inline const char *$T_$f(const struct $T *m, size_t body_size)\n{\n"
	"\treturn $T_$f_in(m, body_size, m);\n}\n\n";

static bool is_text(const struct sim_field *a)
{
	return a->kind == SIM_KIND_STRING && a->array == SIM_ARRAY_NONE;
}

static void emit_accessors(FILE *f, const struct sim_type *t)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *a = &t->fields[i];
		bool zero = a->kind == SIM_KIND_STRING || (a->type && typedesc_has_spans(a->type));

		if (typedesc_is_span(a)) {
			emit_put(f, array_alloc, t->name, a);
			fprintf(f, "%d);\n}\n", zero);
			emit_put(f, array_rest, t->name, a);
		} else if (is_text(a)) {
			emit_put(f, string_accessors, t->name, a);
		}
	}
}

/* Whether a field contains further spans: in elements, nested structs, or several strings. */
static bool deep(const struct sim_field *a)
{
	if (a->type)
		return typedesc_has_spans(a->type);
	return a->kind == SIM_KIND_STRING && a->array != SIM_ARRAY_NONE;
}

static void emit_size(FILE *f, const struct sim_type *t)
{
	const char *sep = "";
	bool nested = false;

	for (uint32_t i = 0; i < t->n_fields; i++)
		nested = nested || deep(&t->fields[i]);
	fprintf(f, "/* Bytes of a body at most: array elements and string bytes in the order of the fields%s. */\n",
		nested ? ";\n * nested: the sum of sim_array_size() and sim_string_size() of what lies inside nested types"
		       : "");
	emit_put(f, "static inline size_t $T_size(", t->name, NULL);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		if (typedesc_is_span(&t->fields[i]) || is_text(&t->fields[i])) {
			fprintf(f, "%ssize_t n_%s", sep, t->fields[i].name);
			sep = ", ";
		}
	}
	if (nested)
		fprintf(f, "%ssize_t nested", sep);
	fputs(sep[0] || nested ? "" : "void", f);
	emit_put(f, ")\n{\n\treturn sizeof(struct $T)", t->name, NULL);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *a = &t->fields[i];

		if (typedesc_is_span(a))
			emit_put(f, " +\n\t       sim_array_size(n_$f, $e)", NULL, a);
		else if (is_text(a))
			emit_put(f, " +\n\t       sim_string_size(n_$f)", NULL, a);
	}
	fprintf(f, "%s;\n}\n\n", nested ? " + nested" : "");
}

static void emit_init(FILE *f, const struct sim_type *t)
{
	emit_put(f,
		 "/* Start a message in buf: all zero, all arrays empty. NULL when buf is misaligned or too small. */\n"
		 "static inline struct $T *$T_init(void *buf, size_t capacity, struct sim_builder *b)\n{\n"
		 "\tstruct $T *m = (struct $T *)sim_builder_begin(b, buf, capacity, sizeof(struct $T), ",
		 t->name, NULL);
	fprintf(f, "%" PRIu32 ");\n\n", t->align);
	emit_put(f, "\tb->root = SIM_ROOT_($U_HASH);\n\treturn m;\n}\n\n", t->name, NULL);
	emit_put(f,
		 "/* The message of a body: NULL when the body is too short for it or misaligned. */\n"
		 "static inline const struct $T *$T_from(const void *body, size_t body_size)\n{\n"
		 "\treturn (const struct $T *)sim_body_check(body, body_size, sizeof(struct $T), ",
		 t->name, NULL);
	fprintf(f, "%" PRIu32 ");\n}\n\n", t->align);
}

/*
 * Writes "#include" for the types nested in a type or half; for a response without those that its request has included.
 */
static void emit_includes(FILE *f, const struct sim_type *t, const struct sim_type *before)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_type *n = t->fields[i].type;
		bool again = false;

		for (uint32_t k = 0; k < i; k++)
			again = again || t->fields[k].type == n;
		for (uint32_t k = 0; before && k < before->n_fields; k++)
			again = again || before->fields[k].type == n;
		if (n && !again)
			emit_put(f, "#include \"$P/msg/$M.h\"\n", n->name, NULL);
	}
}

static void emit_type(FILE *f, const struct typeset_entry *e)
{
	const struct sim_type *t = &e->type;

	emit_constants(f, e);
	if (t->comment[0]) {
		comment(f, t->comment);
		fputc('\n', f);
	}
	emit_struct(f, t);
	emit_put(f, "#define $U_HASH ", t->name, NULL);
	fprintf(f, "UINT64_C(0x%016" PRIx64 ")\n\n", t->hash);
	emit_init(f, t);
	emit_size(f, t);
	emit_accessors(f, t);
	emit_table(f, t);
}

static const char head[] = "/* SPDX-License-Identifier: Apache-2.0 */\n"
			   "/* Written by simgen from the definition of $N: change that, not this. */\n";
static const char extern_c[] = "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
static const char end[] = "#ifdef __cplusplus\n}\n#endif\n#endif\n";

void emit_header(FILE *f, const struct typeset_entry *e)
{
	emit_put(f, head, e->type.name, NULL);
	emit_put(f, "#ifndef $U_MSG_H\n#define $U_MSG_H\n\n#include \"sim/message.h\"\n", e->type.name, NULL);
	emit_includes(f, &e->type, NULL);
	fputs(extern_c, f);
	emit_type(f, e);
	fputs(end, f);
}

void emit_service_header(FILE *f, const struct typeset_service *v)
{
	emit_put(f, head, v->full, NULL);
	emit_put(f, "#ifndef $U_SRV_H\n#define $U_SRV_H\n\n#include \"sim/message.h\"\n", v->full, NULL);
	emit_includes(f, &v->request->type, NULL);
	emit_includes(f, &v->response->type, &v->request->type);
	fputs(extern_c, f);
	emit_type(f, v->request);
	emit_type(f, v->response);
	emit_service_table(f, v);
	fputs(end, f);
}

void emit_list_header(FILE *f, const struct typeset *s, const char *package, bool srv)
{
	const char *name;

	emit_put(f,
		 srv ? "/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by simgen: every service of package $N. */\n"
		       "#ifndef $U_SRV_ALL_H\n#define $U_SRV_ALL_H\n\n"
		     : "/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by simgen: every type of package $N. */\n"
		       "#ifndef $U_MSG_ALL_H\n#define $U_MSG_ALL_H\n\n",
		 package, NULL);
	for (unsigned i = 0; (name = typeset_listed(s, package, srv, &i));)
		emit_put(f, srv ? "#include \"$P/srv/$M.h\"\n" : "#include \"$P/msg/$M.h\"\n", name, NULL);
	fputs(extern_c, f);
	emit_put(f,
		 srv ? "/* All of them, ended by NULL. */\nSIM_TABLE_ struct sim_service_type *const $T_srv_types[] = {\n"
		     : "/* All of them, ended by NULL. */\nSIM_TABLE_ struct sim_type *const $T_msg_types[] = {\n",
		 package, NULL);
	for (unsigned i = 0; (name = typeset_listed(s, package, srv, &i));)
		emit_put(f, srv ? "\t&$T_service,\n" : "\t&$T_type,\n", name, NULL);
	fputs("\tNULL,\n};\n\n", f);
	fputs(end, f);
}
