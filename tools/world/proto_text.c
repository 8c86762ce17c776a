/* SPDX-License-Identifier: Apache-2.0 */
/* See proto_text.h. */
#include "proto_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX  128
#define DEPTH_MAX 64

struct reader {
	const char *at;
	unsigned line;
	char word[WORD_MAX]; /* current token; "": the end. For a string only its first quote */
	char *why;           /* "": no error */
};

__attribute__((format(printf, 2, 3))) static bool wrong(struct reader *p, const char *fmt, ...)
{
	int n;
	va_list ap;

	if (*p->why)
		return false;
	n = snprintf(p->why, PROTO_WHY_MAX, "line %u: ", p->line);
	va_start(ap, fmt);
	vsnprintf(p->why + n, PROTO_WHY_MAX - (size_t)n, fmt, ap);
	va_end(ap);
	return false;
}

/* ---- tokens ---- */

static void skip_space(struct reader *p)
{
	const char *end;

	for (;;) {
		while (isspace((unsigned char)*p->at))
			p->line += *p->at++ == '\n';
		if (p->at[0] == '/' && p->at[1] == '/') {
			p->at += strcspn(p->at, "\n");
		} else if (p->at[0] == '/' && p->at[1] == '*') {
			end = strstr(p->at + 2, "*/");
			if (!end) {
				(void)wrong(p, "a comment does not end");
				end = p->at + strlen(p->at);
			}
			for (; p->at < end; p->at++)
				p->line += *p->at == '\n';
			p->at += *end ? 2 : 0;
		} else {
			return;
		}
	}
}

static void take_string(struct reader *p)
{
	char quote = *p->at++;

	while (*p->at && *p->at != quote && *p->at != '\n')
		p->at += p->at[0] == '\\' && p->at[1] ? 2 : 1;
	if (*p->at == quote)
		p->at++;
	else
		(void)wrong(p, "a string does not end");
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static void next(struct reader *p)
{
	size_t n = 0;

	skip_space(p);
	if (*p->at == '"' || *p->at == '\'') {
		snprintf(p->word, sizeof(p->word), "\"");
		take_string(p);
		return;
	}
	while (is_word(p->at[n]))
		n++;
	n = n || !*p->at ? n : 1;
	snprintf(p->word, sizeof(p->word), "%.*s", (int)(n < WORD_MAX ? n : WORD_MAX - 1), p->at);
	p->at += n;
}

static bool is(const struct reader *p, const char *word)
{
	return strcmp(p->word, word) == 0;
}

static bool take(struct reader *p, const char *word)
{
	if (!is(p, word))
		return wrong(p, "\"%s\" is expected, and there is %s%.40s%s", word, *p->word ? "\"" : "",
			     *p->word ? p->word : "the end", *p->word ? "\"" : "");
	next(p);
	return !*p->why;
}

static bool take_name(struct reader *p, const char *of)
{
	if (!isalpha((unsigned char)*p->word) && *p->word != '_' && *p->word != '.')
		return wrong(p, "the name of %s is expected, and there is %s%.40s%s", of, *p->word ? "\"" : "",
			     *p->word ? p->word : "the end", *p->word ? "\"" : "");
	next(p);
	return !*p->why;
}

static bool take_number(struct reader *p)
{
	if (is(p, "-"))
		next(p);
	if (!isdigit((unsigned char)*p->word))
		return wrong(p, "a number is expected, and there is \"%.40s\"", p->word);
	next(p);
	return !*p->why;
}

/* Skips to and over the closing token. */
static bool skip_to(struct reader *p, const char *close)
{
	unsigned depth = 0;

	while (*p->word && !(depth == 0 && is(p, close))) {
		depth += strchr("{[(", *p->word) != NULL;
		if (strchr("}])", *p->word) && depth-- == 0)
			break;
		next(p);
	}
	return take(p, close);
}

/* ---- declarations ---- */

static bool take_message(struct reader *p, unsigned depth);

static bool take_options(struct reader *p)
{
	if (!is(p, "["))
		return true;
	next(p);
	return skip_to(p, "]");
}

static bool take_value(struct reader *p)
{
	return take(p, "=") && take_number(p) && take_options(p) && take(p, ";");
}

static bool take_enum(struct reader *p)
{
	if (!take_name(p, "an enum") || !take(p, "{"))
		return false;
	while (!is(p, "}") && !*p->why && *p->word) {
		if (is(p, "option") || is(p, "reserved"))
			(void)skip_to(p, ";");
		else if (is(p, ";"))
			next(p);
		else
			(void)(take_name(p, "a value") && take_value(p));
	}
	return take(p, "}");
}

static bool take_map(struct reader *p)
{
	return take(p, "map") && take(p, "<") && take_name(p, "a type") && take(p, ",") && take_name(p, "a type") &&
	       take(p, ">") && take_name(p, "a field") && take_value(p);
}

static bool take_group(struct reader *p, unsigned depth)
{
	return take(p, "group") && take_name(p, "a group") && take(p, "=") && take_number(p) && take_options(p) &&
	       take(p, "{") && take_message(p, depth + 1);
}

static bool take_field(struct reader *p, unsigned depth)
{
	if (is(p, "map"))
		return take_map(p);
	if (is(p, "optional") || is(p, "required") || is(p, "repeated"))
		next(p);
	if (is(p, "group"))
		return take_group(p, depth);
	return take_name(p, "a type") && take_name(p, "a field") && take_value(p);
}

static bool take_nested(struct reader *p, unsigned depth)
{
	next(p);
	return take_name(p, "a message") && take(p, "{") && take_message(p, depth + 1);
}

/* Parses after the opening brace, up to and including the closing one; also for oneof and extend. */
static bool take_message(struct reader *p, unsigned depth)
{
	if (depth > DEPTH_MAX)
		return wrong(p, "messages are nested more than %d deep", DEPTH_MAX);
	while (!is(p, "}") && !*p->why && *p->word) {
		if (is(p, "message") || is(p, "oneof") || is(p, "extend")) {
			(void)take_nested(p, depth);
		} else if (is(p, "enum")) {
			next(p);
			(void)take_enum(p);
		} else if (is(p, "option") || is(p, "reserved") || is(p, "extensions")) {
			(void)skip_to(p, ";");
		} else if (is(p, ";")) {
			next(p);
		} else {
			(void)take_field(p, depth);
		}
	}
	return take(p, "}");
}

static bool take_service(struct reader *p)
{
	next(p);
	return take_name(p, "a service") && take(p, "{") && skip_to(p, "}");
}

static void take_file(struct reader *p)
{
	static const char *const lines[] = { "syntax", "edition", "import", "package", "option" };

	while (*p->word && !*p->why) {
		bool is_line = is(p, ";");

		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
			is_line |= is(p, lines[i]);
		if (is_line)
			(void)skip_to(p, ";");
		else if (is(p, "message") || is(p, "extend"))
			(void)take_nested(p, 0);
		else if (is(p, "service"))
			(void)take_service(p);
		else if (is(p, "enum"))
			(void)(next(p), take_enum(p));
		else
			(void)wrong(p, "a message or an enum is expected, and there is \"%.40s\"", p->word);
	}
}

int proto_text_check(const char *text, char ret_why[PROTO_WHY_MAX])
{
	struct reader p = { .at = text, .line = 1, .why = ret_why };

	ret_why[0] = '\0';
	next(&p);
	take_file(&p);
	return *ret_why ? -EINVAL : 0;
}
