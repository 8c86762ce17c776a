/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers to write headers and field tables: templates, names, strings. See emit.h. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "gen/emit.h"

static const struct {
	const char *id, *c;
} kinds[SIM_KIND_END] = {
#define X(kind, num, name, bytes) [num].id = #kind,
	SIM_KINDS(X)
#undef X
		[SIM_KIND_BOOL]
			.c = "uint8_t",
	[SIM_KIND_INT8].c = "int8_t",
	[SIM_KIND_UINT8].c = "uint8_t",
	[SIM_KIND_INT16].c = "int16_t",
	[SIM_KIND_UINT16].c = "uint16_t",
	[SIM_KIND_INT32].c = "int32_t",
	[SIM_KIND_UINT32].c = "uint32_t",
	[SIM_KIND_INT64].c = "int64_t",
	[SIM_KIND_UINT64].c = "uint64_t",
	[SIM_KIND_FLOAT32].c = "float",
	[SIM_KIND_FLOAT64].c = "double",
	[SIM_KIND_TIME].c = "int64_t",
	[SIM_KIND_DURATION].c = "int64_t",
	[SIM_KIND_STRING].c = "struct sim_span",
};

static const char *const arrays[] = { "NONE", "FIXED", "BOUNDED", "VARIABLE" };

/* "PointCloud" to "POINT_CLOUD", "sim/PointCloud" to "SIM_POINT_CLOUD". */
static void put_upper(FILE *f, const char *name)
{
	for (size_t i = 0; name[i]; i++) {
		bool up = isupper((unsigned char)name[i]);
		bool after_low = i && islower((unsigned char)name[i - 1]);
		bool new_word = i && isupper((unsigned char)name[i - 1]) && islower((unsigned char)name[i + 1]);

		if (up && (after_low || new_word))
			fputc('_', f);
		fputc(name[i] == '/' ? '_' : toupper((unsigned char)name[i]), f);
	}
}

static void put_flat(FILE *f, const char *name)
{
	for (; *name; name++)
		fputc(*name == '/' ? '_' : *name, f);
}

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

static void put_field(FILE *f, const struct sim_field *a, char what)
{
	switch (what) {
	case 'f':
		fputs(a->name, f);
		break;
	case 'c':
		fputs(a->type ? "struct " : kinds[a->kind].c, f);
		put_flat(f, a->type ? a->type->name : "");
		break;
	case 'k':
		fputs(kinds[a->kind].id, f);
		break;
	case 'r':
		fputs(arrays[a->array], f);
		break;
	case 'u':
		emit_string(f, a->unit);
		break;
	case 'd':
		emit_string(f, a->comment);
		break;
	default:
		fprintf(f, "%" PRIu32,
			what == 'e'                                    ? a->elem_size
			: what == 'l'                                  ? a->elem_align
			: what == 'o'                                  ? a->offset
			: what == 'm'                                  ? a->string_max
			: what == 'n' || a->array == SIM_ARRAY_BOUNDED ? a->count
								       : 0);
	}
}

static void put_name(FILE *f, const char *name, char what)
{
	const char *slash = strchr(name, '/');

	switch (what) {
	case 'T':
		put_flat(f, name);
		break;
	case 'U':
		put_upper(f, name);
		break;
	case 'N':
		fputs(name, f);
		break;
	case 'P':
		fprintf(f, "%.*s", (int)(slash ? slash - name : (ptrdiff_t)strlen(name)), name);
		break;
	default: /* M */
		fputs(slash + 1, f);
	}
}

void emit_put(FILE *f, const char *text, const char *name, const struct sim_field *a)
{
	for (; *text; text++) {
		if (*text != '$')
			fputc(*text, f);
		else if (isupper((unsigned char)*++text))
			put_name(f, name, *text);
		else
			put_field(f, a, *text);
	}
}
