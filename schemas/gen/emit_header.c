/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a type: struct, constants, initialiser, accessors. See emit.h. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "gen/emit.h"
#include "msg/typedesc.h"

static const char *const c_types[SIM_KIND_END] = {
	[SIM_KIND_BOOL] = "uint8_t",     [SIM_KIND_INT8] = "int8_t",
	[SIM_KIND_UINT8] = "uint8_t",    [SIM_KIND_INT16] = "int16_t",
	[SIM_KIND_UINT16] = "uint16_t",  [SIM_KIND_INT32] = "int32_t",
	[SIM_KIND_UINT32] = "uint32_t",  [SIM_KIND_INT64] = "int64_t",
	[SIM_KIND_UINT64] = "uint64_t",  [SIM_KIND_FLOAT32] = "float",
	[SIM_KIND_FLOAT64] = "double",   [SIM_KIND_TIME] = "int64_t",
	[SIM_KIND_DURATION] = "int64_t", [SIM_KIND_STRING] = "struct sim_span",
};

void emit_upper(const char *name, char *out)
{
	for (size_t i = 0; name[i]; i++) {
		bool up = isupper((unsigned char)name[i]);
		bool after_low = i && (islower((unsigned char)name[i - 1]));
		bool new_word = i && isupper((unsigned char)name[i - 1]) && islower((unsigned char)name[i + 1]);

		if (up && (after_low || new_word))
			*out++ = '_';
		*out++ = (char)toupper((unsigned char)name[i]);
	}
	*out = '\0';
}

static void flat(const char *name, char *out)
{
	for (; *name; name++)
		*out++ = *name == '/' ? '_' : *name;
	*out = '\0';
}

void emit_names_of(const struct typeset_entry *e, struct emit_names *n)
{
	size_t len;

	flat(e->type.name, n->type);
	emit_upper(e->def->package, n->upper);
	len = strlen(n->upper);
	n->upper[len] = '_';
	emit_upper(e->def->name, n->upper + len + 1);
}

/* A comment inside a comment must not end it. */
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

void emit_c_type(FILE *f, const struct sim_field *field)
{
	char name[SIM_TYPE_NAME_MAX + 1];

	if (field->kind == SIM_KIND_MESSAGE) {
		flat(field->type->name, name);
		fprintf(f, "struct %s", name);
	} else {
		fputs(c_types[field->kind], f);
	}
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
	fputc('\t', f);
	if (typedesc_is_span(field))
		fputs("struct sim_span", f);
	else
		emit_c_type(f, field);
	fprintf(f, " %s", field->name);
	if (field->array == SIM_ARRAY_FIXED)
		fprintf(f, "[%" PRIu32 "]", field->count);
	fputc(';', f);
	if (typedesc_is_span(field) || field->kind == SIM_KIND_STRING) {
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

static void emit_struct(FILE *f, const struct sim_type *t, const struct emit_names *n)
{
	uint32_t at = 0;
	unsigned pads = 0;

	fprintf(f, "struct %s {\n", n->type);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		pad(f, at, t->fields[i].offset, &pads);
		struct_field(f, &t->fields[i]);
		at = t->fields[i].offset + inline_size(&t->fields[i]);
	}
	pad(f, at, t->fixed_size, &pads);
	fputs("};\n\n", f);
	fprintf(f, "SIM_STATIC_ASSERT(sizeof(struct %s) == %" PRIu32 ", \"%s is shared-memory ABI\");\n", n->type,
		t->fixed_size, t->name);
	fprintf(f, "SIM_STATIC_ASSERT(SIM_ALIGNOF(struct %s) == %" PRIu32 ", \"%s is shared-memory ABI\");\n\n",
		n->type, t->align, t->name);
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

static void define_constant(FILE *f, const struct emit_names *n, const struct sim_constant *c)
{
	fprintf(f, "#define %s_%s ", n->upper, c->name);
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

static void emit_constants(FILE *f, const struct typeset_entry *e, const struct emit_names *n)
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
		fprintf(f, "\t%s_%s = %s,", n->upper, c->name, value);
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
			define_constant(f, n, &t->constants[i]);
	if (t->n_constants)
		fputc('\n', f);
}

/* ---- accessors ---- */

static void array_accessors(FILE *f, const struct emit_names *n, const struct sim_field *a)
{
	const char *t = n->type;
	const char *name = a->name;
	uint32_t bound = a->array == SIM_ARRAY_BOUNDED ? a->count : 0;
	bool zero = a->kind == SIM_KIND_STRING || (a->type && typedesc_has_spans(a->type));

	fprintf(f, "%s_FN_ ", n->upper);
	emit_c_type(f, a);
	fprintf(f, " *%s_%s_alloc_in(struct sim_builder *b, struct %s *e, uint32_t n)\n{\n\treturn (", t, name, t);
	emit_c_type(f, a);
	fprintf(f, " *)sim_builder_array(b, &e->%s, n, %" PRIu32 ", %u, %" PRIu32 ", %d);\n}\n", name, a->elem_size,
		a->elem_align, bound, zero);

	fprintf(f, "%s_FN_ ", n->upper);
	emit_c_type(f, a);
	fprintf(f, " *%s_%s_alloc(struct sim_builder *b, uint32_t n)\n{\n", t, name);
	fprintf(f, "\treturn b->used ? %s_%s_alloc_in(b, (struct %s *)(void *)b->base, n) : NULL;\n}\n", t, name, t);

	fprintf(f, "%s_FN_ const ", n->upper);
	emit_c_type(f, a);
	fprintf(f,
		" *%s_%s_in(const void *body, size_t body_size, const struct %s *e, uint32_t *ret_n)\n{\n\treturn (const ",
		t, name, t);
	emit_c_type(f, a);
	fprintf(f, " *)sim_span_data(body, body_size, &e->%s, %" PRIu32 ", %u, %" PRIu32 ", ret_n);\n}\n", name,
		a->elem_size, a->elem_align, bound);

	fprintf(f, "%s_FN_ const ", n->upper);
	emit_c_type(f, a);
	fprintf(f, " *%s_%s(const struct %s *m, size_t body_size, uint32_t *ret_n)\n{\n", t, name, t);
	fprintf(f, "\treturn %s_%s_in(m, body_size, m, ret_n);\n}\n\n", t, name);
}

static void string_accessors(FILE *f, const struct emit_names *n, const struct sim_field *a)
{
	const char *t = n->type;
	const char *name = a->name;

	fprintf(f, "%s_FN_ ", n->upper);
	fprintf(f, "int %s_%s_set_in(struct sim_builder *b, struct %s *e, const char *s)\n{\n", t, name, t);
	fprintf(f, "\treturn sim_builder_text(b, &e->%s, s, %" PRIu32 ");\n}\n", name, a->string_max);
	fprintf(f, "%s_FN_ ", n->upper);
	fprintf(f, "int %s_%s_set(struct sim_builder *b, const char *s)\n{\n", t, name);
	fprintf(f, "\treturn b->used ? %s_%s_set_in(b, (struct %s *)(void *)b->base, s) : b->err;\n}\n", t, name, t);
	fprintf(f, "%s_FN_ ", n->upper);
	fprintf(f, "const char *%s_%s_in(const void *body, size_t body_size, const struct %s *e)\n{\n", t, name, t);
	fprintf(f, "\treturn sim_span_string(body, body_size, &e->%s, %" PRIu32 ", NULL);\n}\n", name, a->string_max);
	fprintf(f, "%s_FN_ ", n->upper);
	fprintf(f, "const char *%s_%s(const struct %s *m, size_t body_size)\n{\n", t, name, t);
	fprintf(f, "\treturn %s_%s_in(m, body_size, m);\n}\n\n", t, name);
}

static void emit_accessors(FILE *f, const struct sim_type *t, const struct emit_names *n)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *a = &t->fields[i];

		if (typedesc_is_span(a))
			array_accessors(f, n, a);
		else if (a->kind == SIM_KIND_STRING && a->array == SIM_ARRAY_NONE)
			string_accessors(f, n, a);
	}
}

/* Whether spans hide behind a field: in elements, nested structs, or several strings. */
static bool deep(const struct sim_field *a)
{
	if (a->type)
		return typedesc_has_spans(a->type);
	return a->kind == SIM_KIND_STRING && a->array != SIM_ARRAY_NONE;
}

static void emit_size(FILE *f, const struct sim_type *t, const struct emit_names *n)
{
	const char *sep = "";
	bool nested = false;

	fputs("/* Bytes of a body at most: array elements and string bytes in the order of the fields", f);
	for (uint32_t i = 0; i < t->n_fields; i++)
		nested = nested || deep(&t->fields[i]);
	fprintf(f, "%s. */\n",
		nested ? ";\n * nested: the sum of sim_array_size() and sim_string_size() of what lies inside nested types"
		       : "");
	fprintf(f, "%s_FN_ ", n->upper);
	fprintf(f, "size_t %s_size(", n->type);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *a = &t->fields[i];

		if (typedesc_is_span(a) || (a->kind == SIM_KIND_STRING && a->array == SIM_ARRAY_NONE)) {
			fprintf(f, "%ssize_t n_%s", sep, a->name);
			sep = ", ";
		}
	}
	if (nested)
		fprintf(f, "%ssize_t nested", sep);
	fprintf(f, "%s)\n{\n\treturn sizeof(struct %s)", sep[0] || nested ? "" : "void", n->type);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *a = &t->fields[i];

		if (typedesc_is_span(a))
			fprintf(f, " +\n\t       sim_array_size(n_%s, %" PRIu32 ")", a->name, a->elem_size);
		else if (a->kind == SIM_KIND_STRING && a->array == SIM_ARRAY_NONE)
			fprintf(f, " +\n\t       sim_string_size(n_%s)", a->name);
	}
	fprintf(f, "%s;\n}\n\n", nested ? " + nested" : "");
}

static void emit_init(FILE *f, const struct sim_type *t, const struct emit_names *n)
{
	fputs("/* Start a message in buf: all zero, all arrays empty. NULL when buf is misaligned or too small. */\n",
	      f);
	fprintf(f, "%s_FN_ ", n->upper);
	fprintf(f, "struct %s *%s_init(void *buf, size_t capacity, struct sim_builder *b)\n{\n", n->type, n->type);
	fprintf(f, "\treturn (struct %s *)sim_builder_begin(b, buf, capacity, sizeof(struct %s), %" PRIu32 ");\n}\n\n",
		n->type, n->type, t->align);
	fputs("/* The message of a body: NULL when the body is too short for it or misaligned. */\n", f);
	fprintf(f, "%s_FN_ ", n->upper);
	fprintf(f, "const struct %s *%s_from(const void *body, size_t body_size)\n{\n", n->type, n->type);
	fprintf(f,
		"\treturn (const struct %s *)sim_body_check(body, body_size, sizeof(struct %s), %" PRIu32 ");\n}\n\n",
		n->type, n->type, t->align);
}

/* "#include" of what a half or a type nests; what a service's request has included is left out for its response. */
static void emit_includes(FILE *f, const struct sim_type *t, const struct sim_type *before)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_type *n = t->fields[i].type;
		bool again = false;

		for (uint32_t k = 0; k < i; k++)
			again = again || t->fields[k].type == n;
		for (uint32_t k = 0; before && k < before->n_fields; k++)
			again = again || before->fields[k].type == n;
		if (n && !again) {
			int pkg = (int)(strchr(n->name, '/') - n->name);

			fprintf(f, "#include \"%.*s/msg/%s.h\"\n", pkg, n->name, n->name + pkg + 1);
		}
	}
}

static void emit_type(FILE *f, const struct typeset_entry *e)
{
	const struct sim_type *t = &e->type;
	struct emit_names n;

	emit_names_of(e, &n);
	emit_constants(f, e, &n);
	if (t->comment[0]) {
		comment(f, t->comment);
		fputc('\n', f);
	}
	emit_struct(f, t, &n);
	fprintf(f, "#define %s_HASH UINT64_C(0x%016" PRIx64 ")\n", n.upper, t->hash);
	fprintf(f, "extern SIM_API const struct sim_type %s_type;\n\n", n.type);
	fprintf(f, "#ifndef %s_FN_\n#define %s_FN_ static inline\n#endif\n\n", n.upper, n.upper);
	emit_init(f, t, &n);
	emit_size(f, t, &n);
	emit_accessors(f, t, &n);
}

static void begin_header(FILE *f, const char *name, const char *guard, const char *kind)
{
	fputs("/* SPDX-License-Identifier: Apache-2.0 */\n", f);
	fprintf(f, "/* Written by simgen from the definition of %s: change that, not this. */\n", name);
	fprintf(f, "#ifndef %s_%s_H\n#define %s_%s_H\n\n", guard, kind, guard, kind);
	fputs("#include \"sim/message.h\"\n", f);
}

void emit_header(FILE *f, const struct typeset_entry *e)
{
	struct emit_names n;

	emit_names_of(e, &n);
	begin_header(f, e->type.name, n.upper, "MSG");
	emit_includes(f, &e->type, NULL);
	fputs("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", f);
	emit_type(f, e);
	fputs("#ifdef __cplusplus\n}\n#endif\n#endif\n", f);
}

void emit_service_header(FILE *f, const struct typeset_service *v)
{
	char name[SIM_TYPE_NAME_MAX + 1], guard[4 * TYPEDESC_IDENT_MAX];
	size_t len;

	flat(v->full, name);
	emit_upper(v->package, guard);
	len = strlen(guard);
	guard[len] = '_';
	emit_upper(v->name, guard + len + 1);
	begin_header(f, v->full, guard, "SRV");
	emit_includes(f, &v->request->type, NULL);
	emit_includes(f, &v->response->type, &v->request->type);
	fputs("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", f);
	emit_type(f, v->request);
	emit_type(f, v->response);
	fprintf(f, "/* The service: both halves. */\nextern SIM_API const struct sim_service_type %s_service;\n\n",
		name);
	fputs("#ifdef __cplusplus\n}\n#endif\n#endif\n", f);
}

static void begin_list(FILE *f, const char *package, const char *what, const char *kind)
{
	char upper[2 * TYPEDESC_IDENT_MAX + 1];

	emit_upper(package, upper);
	fputs("/* SPDX-License-Identifier: Apache-2.0 */\n", f);
	fprintf(f, "/* Written by simgen: every %s of package %s. */\n", what, package);
	fprintf(f, "#ifndef %s_%s_ALL_H\n#define %s_%s_ALL_H\n\n", upper, kind, upper, kind);
}

void emit_list_header(FILE *f, const struct typeset *s, const char *package)
{
	begin_list(f, package, "type", "MSG");
	for (unsigned i = 0; i < typeset_count(s); i++) {
		const struct typeset_entry *e = typeset_entry(s, i);

		if (e->asked_for && !e->half && strcmp(e->def->package, package) == 0)
			fprintf(f, "#include \"%s/msg/%s.h\"\n", package, e->def->name);
	}
	fputs("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", f);
	fprintf(f, "/* All of them, ended by NULL. */\nextern SIM_API const struct sim_type *const %s_msg_types[];\n\n",
		package);
	fputs("#ifdef __cplusplus\n}\n#endif\n#endif\n", f);
}

void emit_service_list_header(FILE *f, const struct typeset *s, const char *package)
{
	begin_list(f, package, "service", "SRV");
	for (unsigned i = 0; i < typeset_services(s); i++) {
		const struct typeset_service *v = typeset_service(s, i);

		if (strcmp(v->package, package) == 0)
			fprintf(f, "#include \"%s/srv/%s.h\"\n", package, v->name);
	}
	fputs("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", f);
	fputs("/* All of them, ended by NULL. */\n", f);
	fprintf(f, "extern SIM_API const struct sim_service_type *const %s_srv_types[];\n\n", package);
	fputs("#ifdef __cplusplus\n}\n#endif\n#endif\n", f);
}
