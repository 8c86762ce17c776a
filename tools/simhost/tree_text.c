/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf's text format without a schema: fields `name: value`, messages in braces or angle brackets with or without the colon,
 * lists in brackets, adjacent strings, escapes, comments, commas and semicolons between fields. Thread: the owner's.
 */
#include "err.h"
#include "mem.h"
#include "number.h"
#include "tree_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

struct parse {
	struct tree *t;
	const char *at, *end;
	unsigned line;
	size_t len; /* bytes used in string */
	char string[TREE_STRING_MAX + 1];
};

static int fail(const struct parse *p, const char *what)
{
	return err_set(-EINVAL, "%s:%u: %s", p->t->file, p->line, what);
}

/* Skips blanks and comments. Returns the next character without taking it; 0: the end. */
static char peek(struct parse *p)
{
	for (; p->at < p->end; p->at++) {
		if (*p->at == '#') {
			const char *nl = memchr(p->at, '\n', (size_t)(p->end - p->at));

			p->at = nl ? nl : p->end;
			if (!nl)
				return 0;
		}
		if (!*p->at || !strchr(" \t\r\n\v\f", *p->at))
			return *p->at;
		p->line += *p->at == '\n';
	}
	return 0;
}

static bool take(struct parse *p, char c)
{
	if (peek(p) != c)
		return false;
	p->at++;
	return true;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* ---- strings ---- */

static int put(struct parse *p, unsigned char c)
{
	if (p->len == TREE_STRING_MAX)
		return fail(p, "a string of more than 4096 bytes");
	p->string[p->len++] = (char)c;
	return 0;
}

static int put_code(struct parse *p, uint32_t code)
{
	unsigned char b[4];
	unsigned n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char first[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };
	int r = 0;

	if (code > 0x10ffff)
		return fail(p, "an escape that is no character of Unicode");
	for (unsigned i = n; --i; code >>= 6)
		b[i] = (unsigned char)(0x80 | (code & 0x3f));
	b[0] = (unsigned char)(first[n] | code);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = put(p, b[i]);
	return r;
}

/* Reads at most max digits of the base. Returns their number. */
static unsigned digits(struct parse *p, unsigned base, unsigned max, uint32_t *ret)
{
	unsigned n = 0;

	for (*ret = 0; n < max && p->at < p->end; n++, p->at++) {
		unsigned char c = (unsigned char)*p->at;
		unsigned v = isdigit(c) ? c - 48u : isxdigit(c) ? (c | 0x20u) - 87u : base;

		if (v >= base)
			break;
		*ret = *ret * base + v;
	}
	return n;
}

/* Reads an escape sequence after its backslash. */
static int escape(struct parse *p)
{
	static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
	const char *simple;
	uint32_t code;
	char c;

	if (p->at == p->end)
		return fail(p, "a string without its end");
	c = *p->at++;
	simple = c ? strchr(from, c) : NULL;
	if (simple)
		return put(p, (unsigned char)to[simple - from]);
	if (c >= '0' && c <= '7') {
		p->at--;
		(void)digits(p, 8, 3, &code);
		return code > 0xff ? fail(p, "an octal escape above \\377") : put(p, (unsigned char)code);
	}
	if ((c == 'x' || c == 'X') && digits(p, 16, 2, &code))
		return put(p, (unsigned char)code);
	if ((c == 'u' && digits(p, 16, 4, &code) == 4) || (c == 'U' && digits(p, 16, 8, &code) == 8))
		return put_code(p, code);
	return fail(p, "an escape that the text format does not have");
}

/* Reads adjacent strings and concatenates them. */
static int strings(struct parse *p)
{
	char quote;
	int r = 0;

	p->len = 0;
	while ((quote = peek(p)) == '"' || quote == '\'') {
		for (p->at++; p->at < p->end && *p->at != quote && r == 0;) {
			char c = *p->at++;

			if (c == '\n')
				return fail(p, "a string without its end");
			r = c == '\\' ? escape(p) : put(p, (unsigned char)c);
		}
		if (r < 0)
			return r;
		if (p->at == p->end)
			return fail(p, "a string without its end");
		p->at++;
	}
	return 0;
}

/* ---- values ---- */

/* Reads a number or a word, optionally after a minus, into p->string. */
static int bare(struct parse *p)
{
	bool negative = take(p, '-');
	const char *begin;

	(void)peek(p);
	p->len = 0;
	if (negative)
		p->string[p->len++] = '-';
	for (begin = p->at;
	     p->at < p->end && (is_word(*p->at) || *p->at == '.' ||
				((*p->at == '-' || *p->at == '+') && p->at > begin && isdigit((unsigned char)*begin) &&
				 (p->at[-1] == 'e' || p->at[-1] == 'E')));
	     p->at++)
		if (p->len < 256)
			p->string[p->len++] = *p->at;
	p->string[p->len] = '\0';
	if (p->at == begin)
		return fail(p, "a value is missing");
	return p->len < 256 ? 0 : fail(p, "a word of more than 255 characters");
}

static int number(struct parse *p, struct tree_node *n)
{
	const char *end = p->string;
	int64_t i;
	double d;

	if (number_i64(p->string, NUMBER_ANY, INT64_MIN, INT64_MAX, &i) == 0)
		return tree_value(p->t, n, json_integer(i));
	if (number_take_f64(&end, &d) < 0 || (*end && strcasecmp(end, "f") != 0))
		return tree_fail(p->t, n, "%s is not a number", p->string);
	return tree_value(p->t, n, json_real(d));
}

static int bare_value(struct parse *p, struct tree_node *n)
{
	static const char *const words[] = { "false", "true", "False", "True" };
	const char *digit = p->string + (p->string[0] == '-');

	if (isdigit((unsigned char)*digit) || *digit == '.')
		return number(p, n);
	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(p->string, words[i]))
			return tree_value(p->t, n, json_boolean(i % 2));
	n->word = true;
	return tree_string(p->t, n, p->string, p->len);
}

static int scalar(struct parse *p, struct tree_node *n)
{
	char c = peek(p);
	int r;

	if (c == '"' || c == '\'') {
		r = strings(p);
		return r < 0 ? r : tree_string(p->t, n, p->string, p->len);
	}
	r = bare(p);
	return r < 0 ? r : bare_value(p, n);
}

static int fields(struct parse *p, struct tree_node *parent, char close);

static int message(struct parse *p, struct tree_node *n)
{
	char close = *p->at++ == '{' ? '}' : '>';

	n->kind = TREE_OBJECT;
	return fields(p, n, close);
}

static int list(struct parse *p, struct tree_node *n)
{
	struct tree_node *item;
	int r = 0;

	p->at++;
	n->kind = TREE_LIST;
	while (r == 0 && !take(p, ']')) {
		char c;

		if (n->n && !take(p, ','))
			return fail(p, "',' or ']' is missing in a list");
		c = peek(p);
		r = tree_add(p->t, n, NULL, TREE_SCALAR, p->line, &item);
		if (r == 0)
			r = c == '{' || c == '<' ? message(p, item) : scalar(p, item);
	}
	return r;
}

/* ---- fields ---- */

/* Reads the name of a field; the name of an extension includes its brackets. */
static int field_name(struct parse *p, const char **ret)
{
	const char *begin = p->at;
	bool extension = *begin == '[';

	for (p->at += extension; p->at < p->end && (is_word(*p->at) || (extension && *p->at && strchr("./-", *p->at)));)
		p->at++;
	if (p->at == begin + extension || (extension && (p->at == p->end || *p->at++ != ']')))
		return fail(p, "the name of a field is missing");
	if (p->at - begin > (ptrdiff_t)TREE_STRING_MAX)
		return fail(p, "a name of more than 4096 bytes");
	*ret = tree_name(p->t, begin, (size_t)(p->at - begin));
	return *ret ? 0 : err_nomem();
}

static int field(struct parse *p, struct tree_node *parent)
{
	struct tree_node *n;
	const char *name = NULL;
	unsigned line = p->line;
	int r = field_name(p, &name);
	bool colon;
	char c;

	if (r == 0)
		r = tree_add(p->t, parent, name, TREE_SCALAR, line, &n);
	if (r < 0)
		return r;
	colon = take(p, ':');
	c = peek(p);
	if (c == '{' || c == '<')
		r = message(p, n);
	else if (!colon && c != '[') /* before a list of messages the colon is optional, too */
		r = tree_fail(p->t, n, "':' or '{' is missing behind it");
	else
		r = c == '[' ? list(p, n) : scalar(p, n);
	if (r == 0 && !take(p, ','))
		(void)take(p, ';');
	return r;
}

/* Reads fields up to the bracket `close`; 0: up to the end of the text. */
static int fields(struct parse *p, struct tree_node *parent, char close)
{
	char c;
	int r = 0;

	while (r == 0) {
		c = peek(p);
		if (p->at == p->end)
			return close ? tree_fail(p->t, parent, "the file ends before its '%c'", close) : 0;
		if (close && c == close) {
			p->at++;
			return 0;
		}
		r = field(p, parent);
	}
	return r;
}

int tree_read_text(const char *file, const char *text, size_t len, struct tree **ret)
{
	struct parse *p = MEM_NEW(struct parse);
	struct tree_node *root;
	int r;

	if (!p)
		return err_nomem();
	*p = (struct parse){ .at = text, .end = text + len, .line = 1 };
	r = tree_create(file, len, &p->t);
	if (r == 0)
		r = tree_add(p->t, NULL, NULL, TREE_OBJECT, 1, &root);
	if (r == 0)
		r = fields(p, root, 0);
	if (r == 0)
		*ret = p->t;
	else
		tree_destroy(p->t);
	mem_free(p);
	return r;
}
