/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf messages as types of ours: see pb_type.h. Messages get a type in breadth-first order, so that if there are
 * too many for one type of ours the outer ones have fields. Each type is then made once; a message that is nested too
 * deep, or within itself, is carried as bytes.
 *
 * Field numbers are those of google/protobuf/descriptor.proto: DescriptorProto 2 field, 5 extension_range, 7 options;
 * FieldDescriptorProto 1 name, 3 number, 4 label, 5 type, 6 type_name, 7 default_value, 8 options, 9 oneof_index, 17
 * proto3_optional.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gen/arena.h"
#include "msg/typedesc.h"
#include "pb_type_private.h"
#include "rnd.h"

#define NUMBER_MAX ((1u << 29) - 1)

static const struct {
	uint8_t kind, wire;
	bool zigzag;
} types[PB_T_END] = {
	[1] = { SIM_KIND_FLOAT64, PB_FIXED64, false },
	[2] = { SIM_KIND_FLOAT32, PB_FIXED32, false },
	[3] = { SIM_KIND_INT64, PB_VARINT, false },
	[4] = { SIM_KIND_UINT64, PB_VARINT, false },
	[5] = { SIM_KIND_INT32, PB_VARINT, false },
	[6] = { SIM_KIND_UINT64, PB_FIXED64, false },
	[7] = { SIM_KIND_UINT32, PB_FIXED32, false },
	[8] = { SIM_KIND_BOOL, PB_VARINT, false },
	[PB_T_STRING] = { SIM_KIND_STRING, PB_LENGTH, false },
	[PB_T_GROUP] = { 0, PB_GROUP, false },
	[PB_T_MESSAGE] = { SIM_KIND_MESSAGE, PB_LENGTH, false },
	[PB_T_BYTES] = { SIM_KIND_UINT8, PB_LENGTH, false },
	[13] = { SIM_KIND_UINT32, PB_VARINT, false },
	[PB_T_ENUM] = { SIM_KIND_INT32, PB_VARINT, false },
	[15] = { SIM_KIND_INT32, PB_FIXED32, false },
	[16] = { SIM_KIND_INT64, PB_FIXED64, false },
	[17] = { SIM_KIND_INT32, PB_VARINT, true },
	[18] = { SIM_KIND_INT64, PB_VARINT, true },
};

int pb_type_fail(struct pb_making *m, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->why, m->why_size, fmt, ap);
	va_end(ap);
	return error;
}

static int no_memory(struct pb_making *m)
{
	return pb_type_fail(m, -ENOMEM, "no memory");
}

#define TEXT(t) (int)((t).len < 100 ? (t).len : 100), (t).len ? (const char *)(t).at : ""

/* Records that something is left out or carried as bytes. */
static void lose(struct pb_making *m, const struct pb_made *of, struct pb_text field, const char *what)
{
	size_t n = strlen(m->loss);
	int r = snprintf(m->loss + n, sizeof(m->loss) - n, "%s%s%s%.*s %s", n ? "; " : "", of->symbol->name,
			 field.len ? "." : "", TEXT(field), what);

	if (r < 0 || (size_t)r >= sizeof(m->loss) - n) {
		m->loss[n] = '\0';
		m->unnamed++;
	}
}

/* ---- reading a descriptor ---- */

static void read_field(struct pb_text blob, struct pb_given *g)
{
	int error = 0;
	struct pb_reader r = pb_text_reader(blob, &error), in;
	uint64_t number = 0;
	bool v;

	*g = (struct pb_given){ .packed = -1 };
	while (pb_next(&r)) {
		const struct pb_text text = { r.data, r.len };

		switch (r.wire == PB_LENGTH ? r.field : r.field + 100) {
		case 1:
			g->name = text;
			break;
		case 6:
			g->type_name = text;
			break;
		case 7:
			g->absent = text;
			break;
		case 8:
			for (pb_enter(&r, &in); pb_next(&in);)
				if (in.field == 2 && pb_get_bool(&in, &v))
					g->packed = v;
			break;
		case 103:
			pb_get_u64(&r, &number);
			break;
		case 104:
			pb_get_u32(&r, &g->label);
			break;
		case 105:
			pb_get_u32(&r, &g->type);
			break;
		case 109:
			g->of_one = true;
			break;
		case 117:
			pb_get_bool(&r, &g->explicit);
			break;
		}
	}
	g->number = number <= NUMBER_MAX ? (uint32_t)number : 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = ((const struct pb_given *)a)->number, y = ((const struct pb_given *)b)->number;

	return (x > y) - (x < y);
}

static bool is_map_entry(struct pb_text options)
{
	int error = 0;
	struct pb_reader r = pb_text_reader(options, &error);
	bool v = false;

	while (pb_next(&r))
		if (r.field == 7)
			pb_get_bool(&r, &v);
	return v;
}

/* Reads the fields of a message, except those that are left out. 0; -E2BIG too many, -EBADMSG. */
static int read_message(struct pb_making *m, struct pb_made *d)
{
	int error = 0;
	struct pb_reader r = pb_text_reader(d->symbol->blob, &error);

	if (pb_text_of(d->symbol->blob, 5).len)
		lose(m, d, (struct pb_text){ NULL, 0 }, "may have extensions, which are left out");
	while (pb_next(&r)) {
		struct pb_given *g = &d->given[d->n];

		if (r.field != 2 || r.wire != PB_LENGTH)
			continue;
		if (d->n == PB_TABLE_FIELDS)
			return -E2BIG;
		read_field((struct pb_text){ r.data, r.len }, g);
		if (!g->number || !g->name.len || g->type >= PB_T_END ||
		    (!types[g->type].kind && g->type != PB_T_GROUP))
			return -EBADMSG;
		if (g->type == PB_T_GROUP)
			lose(m, d, g->name, "is a group, and is left out");
		else
			d->n++;
	}
	qsort(d->given, d->n, sizeof(*d->given), by_number);
	for (uint32_t i = 1; i < d->n; i++)
		if (d->given[i].number == d->given[i - 1].number)
			return -EBADMSG;
	return error ? -EBADMSG : 0;
}

/* ---- names ---- */

static bool is_taken(const struct pb_making *m, const char *name)
{
	for (unsigned i = 0; i < m->n; i++)
		if (strcmp(m->list[i]->type.name, name) == 0)
			return true;
	return false;
}

/* Makes an identifier of a part of a name: letters, digits and '_'. */
static void put_ident(char *to, size_t size, const char *s, size_t len)
{
	size_t n = 0;

	if (!len || !((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z')))
		n = (size_t)snprintf(to, size, "pb%s", len ? "_" : "");
	for (; len && n + 1 < size; len--, s++)
		to[n++] =
			(char)((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ? *s
														: '_');
	to[n] = '\0';
}

/*
 * "apollo_routing/RoutingRequest"; a name that is too long, taken, or in a package of simd's gets a hash of the full
 * name as suffix.
 */
static const char *type_name(const struct pb_making *m, const struct pb_symbol *s)
{
	char package[2 * SIM_TYPE_NAME_MAX], name[2 * SIM_TYPE_NAME_MAX], full[sizeof(package) + sizeof(name)];
	size_t behind = s->package_len ? s->package_len + 1 : 0;

	put_ident(package, sizeof(package), s->name, s->package_len);
	put_ident(name, sizeof(name), s->name + behind, strlen(s->name + behind));
	snprintf(full, sizeof(full), "%s/%s", package, name);
	if (!typedesc_name_ok(full) || is_taken(m, full) || strcmp(package, "sim") == 0 ||
	    strcmp(package, "std_msgs") == 0)
		snprintf(full, sizeof(full), "%.24s/%.29s_%08x", package, name,
			 (unsigned)hash64(HASH64_INIT, s->name, strlen(s->name)));
	return is_taken(m, full) ? NULL : arena_text(m->arena, full, strlen(full));
}

static bool is_field(const struct pb_made *d, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(d->type.fields[i].name, name) == 0)
			return true;
	return false;
}

static bool is_given(const struct pb_made *d, const char *name)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (pb_text_is(d->given[i].name, name))
			return true;
	return false;
}

/* A name for a field of ours that no field of the message has. */
static const char *free_name(struct pb_making *m, const struct pb_made *d, const char *like)
{
	char name[SIM_IDENT_MAX + 1];
	size_t n = (size_t)snprintf(name, sizeof(name), "%.20s", like);

	while (is_given(d, name) && n < SIM_IDENT_MAX) {
		name[n++] = '_';
		name[n] = '\0';
	}
	return arena_text(m->arena, name, n);
}

/* ---- which messages get a type ---- */

static struct pb_made *made_of(const struct pb_making *m, const struct pb_symbol *s)
{
	for (unsigned i = 0; s && i < m->n; i++)
		if (m->list[i]->symbol == s)
			return m->list[i];
	return NULL;
}

/* Adds a message to those that get a type. 0; 1: it gets none, and is carried as bytes. */
static int add(struct pb_making *m, const struct pb_symbol *s, unsigned depth)
{
	const struct pb_file *file = &m->files.file[s->file];
	struct pb_made *d;
	int r;

	if (m->n == SIM_TYPE_TYPES_MAX || depth > SIM_TYPE_DEPTH_MAX || s->refused)
		return 1;
	d = arena_alloc(m->arena, sizeof(*d));
	if (!d || !(d->given = arena_alloc(m->arena, (PB_TABLE_FIELDS + 1) * sizeof(*d->given))))
		return no_memory(m);
	d->symbol = s;
	d->depth = depth;
	d->proto3 = pb_text_is(file->syntax, "proto3");
	d->entry = is_map_entry(pb_text_of(s->blob, 7));
	r = file->syntax.len && !d->proto3 && !pb_text_is(file->syntax, "proto2") ? -ENOTSUP : read_message(m, d);
	if (r == -EBADMSG)
		return pb_type_fail(m, r, "the definition of %.200s is damaged", s->name);
	if (r < 0 && m->n) {
		m->files.symbol[s - m->files.symbol].refused = true;
		return 1;
	}
	if (r < 0)
		return pb_type_fail(m, -ENOTSUP, "%.200s %s", s->name,
				    r == -E2BIG ? "has more than 255 fields" : "is not defined in proto2 or proto3");
	d->type = (struct sim_type){ .abi = SIM_TYPE_ABI, .size = sizeof(d->type), .name = type_name(m, s) };
	if (!d->type.name)
		return m->n ? 1 : no_memory(m);
	m->list[m->n++] = d;
	return 0;
}

static int add_nested(struct pb_making *m, const struct pb_made *d)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < d->n; i++) {
		const struct pb_text *name = &d->given[i].type_name;
		const struct pb_symbol *s;

		if (d->given[i].type != PB_T_MESSAGE && d->given[i].type != PB_T_ENUM)
			continue;
		s = pb_files_find(&m->files, name->at, name->len);
		if (!s || s->is_enum != (d->given[i].type == PB_T_ENUM))
			return pb_type_fail(m, -EBADMSG, "the definition of %.200s lacks %.*s, which it needs",
					    d->symbol->name, TEXT(*name));
		if (!s->is_enum && !made_of(m, s))
			r = add(m, s, d->depth + 1);
	}
	return r < 0 ? r : 0;
}

/* ---- constants ---- */

static bool has_constant(const struct pb_made *d, const char *name)
{
	for (uint32_t i = 0; i < d->type.n_constants; i++)
		if (strcmp(d->type.constants[i].name, name) == 0)
			return true;
	return false;
}

/* Adds the first values of an enum as constants, except those whose name is taken. */
static int add_constants(struct pb_making *m, struct pb_made *d, const struct pb_symbol *s)
{
	struct sim_constant *to = (struct sim_constant *)(uintptr_t)d->type.constants;
	int error = 0;
	struct pb_reader r = pb_text_reader(s->blob, &error);

	for (unsigned i = 0; i < SIM_TYPE_FIELDS_MAX && d->type.n_constants < SIM_TYPE_FIELDS_MAX && pb_next(&r); i++) {
		struct pb_text name;
		const char *text;
		int32_t v;

		if (r.field != 2 || r.wire != PB_LENGTH)
			continue;
		v = pb_type_value((struct pb_text){ r.data, r.len }, &name);
		if (!typedesc_ident_ok(name.at, name.len))
			continue;
		text = arena_text(m->arena, name.at, name.len);
		if (!text)
			return no_memory(m);
		if (has_constant(d, text) || is_given(d, text))
			continue;
		to[d->type.n_constants].name = text;
		to[d->type.n_constants].kind = SIM_KIND_INT32;
		to[d->type.n_constants].value = arena_printf(m->arena, "%d", v);
		if (!to[d->type.n_constants++].value)
			return no_memory(m);
	}
	return 0;
}

/* ---- fields of a message ---- */

/* Whether the field needs a bit in `present`, because absent differs from 0 or empty. */
static bool has_bit(const struct pb_made *d, const struct pb_given *g, bool nested)
{
	if (nested || g->label == PB_L_REPEATED)
		return false;
	return g->type == PB_T_MESSAGE || g->label == PB_L_REQUIRED || !d->proto3 || d->entry || g->of_one ||
	       g->explicit;
}

static int finish(struct pb_making *m, struct pb_made *d);

/* Finds or makes the type of a field's message; *ret NULL: it is carried as bytes. */
static int nested_of(struct pb_making *m, struct pb_made *d, const struct pb_given *g, const struct pb_symbol *s,
		     struct pb_made **ret)
{
	struct pb_made *n = made_of(m, s);
	int r = n && !n->open && !n->done ? finish(m, n) : 0;

	*ret = n && n->done && d->depth + n->height <= SIM_TYPE_DEPTH_MAX ? n : NULL;
	if (r == 0 && !*ret)
		lose(m, d, g->name,
		     n && n->open ? "nests itself, and is carried as bytes"
				  : "is nested too deep, and is carried as bytes");
	if (*ret && (*ret)->height >= d->height)
		d->height = (*ret)->height + 1;
	return r;
}

static int make_field(struct pb_making *m, struct pb_made *d, const struct pb_given *g, struct sim_field *f,
		      struct pb_entry *e)
{
	const struct pb_symbol *s = pb_files_find(&m->files, g->type_name.at, g->type_name.len);
	bool many = g->label == PB_L_REPEATED, whole = g->type == PB_T_MESSAGE, is_enum = g->type == PB_T_ENUM;
	struct pb_made *n = NULL;
	int r = whole ? nested_of(m, d, g, s, &n) : is_enum ? add_constants(m, d, s) : 0;

	if (r < 0)
		return r;
	*e = (struct pb_entry){ .number = g->number,
				.wire = types[g->type].wire,
				.zigzag = types[g->type].zigzag,
				.list = many,
				.packed = many && types[g->type].wire != PB_LENGTH &&
					  (g->packed < 0 ? d->proto3 : g->packed),
				.bit = has_bit(d, g, n != NULL) ? 0 : -1,
				.message = n ? &n->table : NULL };
	f->unit = "";
	f->comment = whole || is_enum ? arena_printf(m->arena, "%s%s",
						     is_enum ? "enum "
						     : n     ? ""
							     : "bytes of ",
						     s->name)
				      : "";
	f->kind = n ? SIM_KIND_MESSAGE : whole ? SIM_KIND_UINT8 : types[g->type].kind;
	f->type = n ? &n->type : NULL;
	f->array = many                        ? SIM_ARRAY_VARIABLE
		   : n                         ? SIM_ARRAY_BOUNDED
		   : f->kind == SIM_KIND_UINT8 ? SIM_ARRAY_VARIABLE
					       : SIM_ARRAY_NONE;
	f->count = n && !many;
	if (many && f->kind == SIM_KIND_UINT8)
		f->kind = SIM_KIND_STRING;
	if (!f->comment || (e->bit == 0 && !pb_type_absent(m->arena, g, f->kind, is_enum ? s : NULL, e)))
		return no_memory(m);
	return 0;
}

/* fields: has room for one more in front, `present`, which exists if any field has a bit. */
static int make_fields(struct pb_making *m, struct pb_made *d, struct sim_field *fields, struct pb_entry *entry)
{
	uint32_t bits = 0;
	int r = 0;

	d->height = 1;
	for (uint32_t i = 0; r == 0 && i < d->n; i++) {
		r = make_field(m, d, &d->given[i], &fields[i + 1], &entry[i]);
		if (r == 0 && entry[i].bit >= 0)
			entry[i].bit = (int16_t)bits++;
	}
	d->table = (struct pb_message){ .entry = entry, .n = d->n, .words = (bits + 31) / 32 };
	d->type.fields = fields + !bits;
	d->type.n_fields = d->n + !!bits;
	fields[0] = (struct sim_field){ .name = free_name(m, d, "present"),
					.unit = "",
					.comment = "which of the optional fields are there",
					.kind = SIM_KIND_UINT32,
					.array = SIM_ARRAY_FIXED,
					.count = d->table.words };
	for (uint32_t i = 0; r == 0 && i < d->n; i++) {
		const struct pb_text *name = &d->given[i].name;
		char number[40];

		snprintf(number, sizeof(number), "field_%u", d->given[i].number);
		fields[i + 1].name = typedesc_ident_ok(name->at, name->len) ? arena_text(m->arena, name->at, name->len)
									    : free_name(m, d, number);
		if (!fields[0].name || !fields[i + 1].name)
			r = no_memory(m);
		else if (is_field(d, i + !!bits, fields[i + 1].name))
			r = pb_type_fail(m, -EBADMSG, "the definition of %.200s has two fields called %s",
					 d->symbol->name, fields[i + 1].name);
	}
	return r;
}

static int finish(struct pb_making *m, struct pb_made *d)
{
	struct sim_field *fields = arena_alloc(m->arena, (d->n + 1) * sizeof(*fields));
	struct pb_entry *entry = arena_alloc(m->arena, (d->n + 1) * sizeof(*entry));
	int r;

	d->type.comment = arena_printf(m->arena, "protobuf %s", d->symbol->name);
	d->type.constants = arena_alloc(m->arena, SIM_TYPE_FIELDS_MAX * sizeof(*d->type.constants));
	if (!fields || !entry || !d->type.comment || !d->type.constants)
		return no_memory(m);
	d->open = true;
	r = make_fields(m, d, fields, entry);
	d->open = false;
	if (r < 0)
		return r;
	if (typedesc_layout((struct sim_field *)(uintptr_t)d->type.fields, d->type.n_fields, &d->type.fixed_size,
			    &d->type.align) < 0)
		return pb_type_fail(m, -ENOTSUP, "%.200s is too large for a type", d->symbol->name);
	d->type.hash = typedesc_hash(&d->type);
	d->done = true;
	return 0;
}

int pb_type_make(struct pb_making *m, const struct pb_symbol *root)
{
	int r = add(m, root, 1);

	for (unsigned i = 0; r == 0 && i < m->n; i++)
		r = add_nested(m, m->list[i]);
	return r == 0 ? finish(m, m->list[0]) : r;
}
