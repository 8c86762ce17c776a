/* SPDX-License-Identifier: Apache-2.0 */
/* Default values of proto2, which descriptors have as text. See pb_type_private.h. */
#include <math.h>

#include "gen/arena.h"
#include "number.h"
#include "pb_type_private.h"

#define TEXT_MAX 400u /* of a number */

/* EnumValueDescriptorProto: 1 name, 2 number. */
int32_t pb_type_value(struct pb_text value, struct pb_text *ret_name)
{
	int error = 0;
	struct pb_reader r = pb_text_reader(value, &error);
	int32_t number = 0;

	*ret_name = pb_text_of(value, 1);
	while (pb_next(&r))
		if (r.field == 2)
			pb_get_i32(&r, &number);
	return number;
}

/* EnumDescriptorProto: 2 value. The first value is the default if `name` is empty. */
static int32_t value_of(const struct pb_symbol *values, struct pb_text name)
{
	int error = 0;
	struct pb_reader r = pb_text_reader(values->blob, &error);
	bool first = true;
	int32_t ret = 0;

	while (pb_next(&r)) {
		struct pb_text have;
		int32_t number;

		if (r.field != 2 || r.wire != PB_LENGTH)
			continue;
		number = pb_type_value((struct pb_text){ r.data, r.len }, &have);
		if (first || (name.len && have.len == name.len && memcmp(have.at, name.at, name.len) == 0))
			ret = number;
		first = false;
	}
	return ret;
}

static double real_of(const char *text)
{
	double v = 0;

	if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0)
		return *text == '-' ? -INFINITY : INFINITY;
	if (strcmp(text, "nan") == 0 || strcmp(text, "-nan") == 0)
		return NAN;
	return number_f64(text, &v) == 0 ? v : 0;
}

/* Parses a number of that kind into the low bytes; 0 if it is not a number or not given. */
static uint64_t number_of(const char *text, enum sim_kind kind)
{
	double d;
	float f;
	uint64_t u = 0;
	int64_t i = 0;

	switch (kind) {
	case SIM_KIND_BOOL:
		return strcmp(text, "true") == 0;
	case SIM_KIND_FLOAT64:
		d = real_of(text);
		memcpy(&u, &d, sizeof(d));
		return u;
	case SIM_KIND_FLOAT32:
		f = (float)real_of(text);
		memcpy(&u, &f, sizeof(f));
		return u;
	case SIM_KIND_UINT32:
	case SIM_KIND_UINT64:
		return number_u64(text, NUMBER_DEC, UINT64_MAX, &u) == 0 ? u : 0;
	default:
		return number_i64(text, NUMBER_DEC, INT64_MIN, INT64_MAX, &i) == 0 ? (uint64_t)i : 0;
	}
}

/* Decodes the text of a bytes default, which has C escapes. */
static size_t unescape(uint8_t *to, const char *s, size_t n)
{
	static const char codes[] = "n\nr\rt\ta\ab\bf\fv\v";
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		const char *code;
		unsigned v = 0, digits = 0;

		if (s[i] != '\\' || ++i == n) {
			to[out++] = (uint8_t)s[i < n ? i : n - 1];
			continue;
		}
		while (digits < 3 && i + digits < n && s[i + digits] >= '0' && s[i + digits] <= '7')
			v = v * 8 + (unsigned)(s[i + digits++] - '0');
		for (code = codes; *code && *code != s[i]; code += 2)
			;
		to[out++] = digits ? (uint8_t)v : (uint8_t)(*code ? code[1] : s[i]);
		i += digits ? digits - 1 : 0;
	}
	return out;
}

bool pb_type_absent(struct arena *arena, const struct pb_given *g, enum sim_kind kind, const struct pb_symbol *values,
		    struct pb_entry *e)
{
	char text[TEXT_MAX + 1];
	size_t n = g->absent.len;
	uint64_t v;
	void *at;

	if (!n && !values)
		return true;
	at = arena_alloc(arena, (n > sizeof(v) ? n : sizeof(v)) + 1);
	if (!at)
		return false;
	e->absent = at;
	e->absent_len = n;
	if (g->type == PB_T_BYTES) {
		e->absent_len = unescape(at, g->absent.at, n);
	} else if (g->type == PB_T_STRING) {
		memcpy(at, g->absent.at, n);
	} else {
		memcpy(text, n && n <= TEXT_MAX ? g->absent.at : "", n <= TEXT_MAX ? n : 0);
		text[n <= TEXT_MAX ? n : 0] = '\0';
		v = values ? (uint64_t)value_of(values, g->absent) : number_of(text, kind);
		memcpy(at, &v, sizeof(v));
	}
	return true;
}
