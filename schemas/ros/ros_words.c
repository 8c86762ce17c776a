/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_words.h. */
#include "ros/ros_words.h"

#include "msg/typedesc.h"

#include <string.h>

#define BEGIN "ROS:"

static const char *const words[] = { "byte", "char" };

static const char *word_of(const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && memcmp(words[i], s, len) == 0)
			return words[i];
	return "";
}

bool ros_words_has(const struct sim_type *t)
{
	return strncmp(t->comment, BEGIN " ", sizeof(BEGIN)) == 0;
}

/* ---- reading ---- */

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* False: it contains a line end, or is too long. */
static bool read_value(const char *s, size_t len, char ret[ROS_WORDS_VALUE_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++, n++) {
		int c = (unsigned char)s[i];

		if (c == '%') {
			int high = i + 2 < len ? hex(s[i + 1]) : -1, low = i + 2 < len ? hex(s[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			c = 16 * high + low;
			i += 2;
		}
		if (n + 1 == ROS_WORDS_VALUE_MAX || c == '\n' || c == '\0')
			return false;
		ret[n] = (char)c;
	}
	ret[n] = '\0';
	return true;
}

void ros_words_find(const struct sim_type *t, const char *name, struct ros_words *ret)
{
	size_t len = strlen(name);
	const char *s = ros_words_has(t) ? t->comment + sizeof(BEGIN) : "";

	ret->word = "";
	ret->value[0] = '\0';
	while (*s) {
		size_t n = strcspn(s, " ");
		const char *value = memchr(s, '=', n);

		if (n > len && strncmp(s, name, len) == 0 && s[len] == ':') {
			ret->word = word_of(s + len + 1, (size_t)((value ? value : s + n) - s) - len - 1);
			if (value && !read_value(value + 1, (size_t)(s + n - value) - 1, ret->value))
				ret->value[0] = '\0';
			return;
		}
		s += n + (s[n] == ' ');
	}
}

/* ---- writing ---- */

static void put_value(FILE *f, const char *s, size_t len)
{
	fputc('=', f);
	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)s[i];

		if (c <= ' ' || c == '%' || c == 0x7f)
			fprintf(f, "%%%02X", (unsigned)c);
		else
			fputc(c, f);
	}
}

/*
 * Whether simd's form of the value differs from that of ROS 1. In simd a string has no quotes, which in ROS 1 are part
 * of the value, and no '\r'.
 */
static bool differs(const char *type, size_t type_len, const char *value, size_t len)
{
	enum sim_kind kind = *word_of(type, type_len) ? SIM_KIND_UINT8 : typedesc_kind(type, type_len);
	char canon[TYPEDESC_VALUE_MAX];

	if (kind == SIM_KIND_STRING)
		return len && (*value == '"' || *value == '\'' || memchr(value, '\r', len));
	return typedesc_value(kind, value, len, canon) < 0 || strlen(canon) != len || memcmp(canon, value, len) != 0;
}

/* "type[..] name" or "type NAME=value"; *ret_any: something was written before. */
static void put_line(FILE *f, const char *line, size_t len, bool values, bool *ret_any)
{
	size_t type = strcspn(line, " [<\n"), at = strcspn(line, " \n"), name;
	const char *equals = memchr(line, '=', len), *value = NULL, *word = word_of(line, type);

	if (equals && equals[-1] == '<') /* a bound */
		equals = memchr(line + at, '=', len - at);
	if (equals && values && differs(line, type, equals + 1, (size_t)(line + len - equals) - 1))
		value = equals + 1;
	if (at >= len || (!*word && !value))
		return;
	name = (size_t)((equals ? equals : line + len) - line) - at - 1;
	fprintf(f, "%s %.*s:%s", *ret_any ? "" : "# " BEGIN, (int)name, line + at + 1, word);
	if (value)
		put_value(f, value, (size_t)(line + len - value));
	*ret_any = true;
}

void ros_words_put(FILE *f, const char *text, bool values)
{
	bool any = false;

	while (*text && *text != '=') {
		size_t len = strcspn(text, "\n");

		if (len)
			put_line(f, text, len, values, &any);
		text += len + (text[len] == '\n');
	}
	if (any)
		fputs("\n\n", f);
}
