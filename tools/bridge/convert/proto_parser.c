/* SPDX-License-Identifier: Apache-2.0 */
/* See proto_private.h. */
#include "number.h"
#include "proto_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void proto_fail(struct parser *p, int error, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (p->failed)
		return;
	p->failed = true;
	p->error = error;
	n = snprintf(p->why, p->why_size, "%.200s:%u: ", p->name, p->l.line);
	va_start(ap, fmt);
	if (n > 0 && (size_t)n < p->why_size)
		vsnprintf(p->why + n, p->why_size - (size_t)n, fmt, ap);
	va_end(ap);
}

/* ---- writing ---- */

void proto_put(struct parser *p, struct part *o, const void *data, size_t n)
{
	uint8_t *more;

	if (n > o->room - o->n) {
		more = realloc(o->data, 2 * (o->n + n) + 64);
		if (!more) {
			proto_fail(p, -ENOMEM, "no memory");
			return;
		}
		o->data = more;
		o->room = 2 * (o->n + n) + 64;
	}
	if (n)
		memcpy(o->data + o->n, data, n);
	o->n += n;
}

static void put_varint(struct parser *p, struct part *o, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	proto_put(p, o, bytes, n);
}

void proto_put_number(struct parser *p, struct part *o, unsigned field, int64_t v)
{
	put_varint(p, o, field << 3);
	put_varint(p, o, (uint64_t)v);
}

void proto_put_bytes(struct parser *p, struct part *o, unsigned field, const void *data, size_t n)
{
	put_varint(p, o, field << 3 | 2);
	put_varint(p, o, n);
	proto_put(p, o, data, n);
}

void proto_put_text(struct parser *p, struct part *o, unsigned field, const char *text)
{
	proto_put_bytes(p, o, field, text, strlen(text));
}

void proto_put_parts(struct parser *p, struct part *to, unsigned field, struct part parts[PARTS])
{
	struct part all = { NULL, 0, 0 };

	for (unsigned i = 0; i < PARTS; i++) {
		proto_put(p, &all, parts[i].data, parts[i].n);
		free(parts[i].data);
	}
	if (field)
		proto_put_bytes(p, to, field, all.data, all.n);
	else
		proto_put(p, to, all.data, all.n);
	free(all.data);
}

/* ---- tokens ---- */

void proto_next(struct parser *p)
{
	proto_lexer_next(&p->l);
	if (p->l.token == PROTO_BAD)
		proto_fail(p, -EBADMSG, "a string or comment is not closed, or a character is invalid");
}

bool proto_is(const struct parser *p, const char *word)
{
	return !p->failed && proto_lexer_is(&p->l, word);
}

bool proto_take(struct parser *p, const char *word)
{
	if (!proto_is(p, word))
		return false;
	proto_next(p);
	return true;
}

void proto_expect(struct parser *p, const char *word)
{
	if (!proto_take(p, word))
		proto_fail(p, -EBADMSG, "\"%s\" is expected, not \"%.*s\"", word, (int)(p->l.len < 40 ? p->l.len : 40),
			   p->l.text);
}

void proto_expect_name(struct parser *p, char *ret, size_t size)
{
	if (p->l.token != PROTO_NAME || p->l.len >= size)
		proto_fail(p, -EBADMSG, "a name is expected, not \"%.*s\"", (int)(p->l.len < 40 ? p->l.len : 40),
			   p->l.text);
	*ret = '\0';
	if (p->failed)
		return;
	memcpy(ret, p->l.text, p->l.len);
	ret[p->l.len] = '\0';
	proto_next(p);
}

void proto_expect_path(struct parser *p, char ret[PROTO_NAME_MAX + 1])
{
	char name[256];
	size_t n = 0;

	if (proto_take(p, "."))
		ret[n++] = '.';
	do {
		proto_expect_name(p, name, sizeof(name));
		if (n + strlen(name) + 2 > PROTO_NAME_MAX)
			proto_fail(p, -EBADMSG, "a name has more than %u bytes", PROTO_NAME_MAX);
		if (!p->failed)
			n += (size_t)sprintf(ret + n, "%s%s", n && ret[n - 1] != '.' ? "." : "", name);
	} while (proto_take(p, "."));
	ret[n] = '\0';
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : 99;
}

/* Decodes an escape of up to `max` digits, from *at on. */
static char escaped_number(const char **at, const char *end, int base, int max)
{
	int v = 0;

	for (int i = 0; i < max && *at < end && digit_of(**at) < base; i++)
		v = v * base + digit_of(*(*at)++);
	return (char)v;
}

static void put_unescaped(struct parser *p, struct part *o, const char *at, const char *end)
{
	static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";

	while (at < end) {
		char c = *at++;
		const char *known;

		if (c == '\\' && at < end) {
			known = strchr(from, *at);
			if (*at == 'x' || *at == 'X')
				at++, c = escaped_number(&at, end, 16, 2);
			else if (digit_of(*at) < 8)
				c = escaped_number(&at, end, 8, 3);
			else if (known && *known)
				at++, c = to[known - from];
			else
				proto_fail(p, -EBADMSG, "a text has the unknown escape \"\\%c\"", *at);
		}
		proto_put(p, o, &c, 1);
		if (p->failed)
			return;
	}
}

struct part proto_expect_text(struct parser *p)
{
	struct part o = { NULL, 0, 0 };

	if (p->l.token != PROTO_STRING)
		proto_fail(p, -EBADMSG, "a quoted string is expected");
	while (!p->failed && p->l.token == PROTO_STRING) {
		put_unescaped(p, &o, p->l.text, p->l.text + p->l.len);
		proto_next(p);
	}
	return o;
}

int64_t proto_expect_number(struct parser *p, int64_t min, int64_t max)
{
	bool minus = proto_take(p, "-");
	char digits[32];
	int64_t v = 0;

	snprintf(digits, sizeof(digits), "%s%.*s", minus ? "-" : "", (int)(p->l.len < 32 ? p->l.len : 32), p->l.text);
	if (p->l.token != PROTO_NUMBER || p->l.len + minus >= sizeof(digits) ||
	    number_i64(digits, NUMBER_ANY, min, max, &v) < 0)
		proto_fail(p, -EBADMSG, "a whole number from %lld to %lld is expected", (long long)min, (long long)max);
	else
		proto_next(p);
	return v;
}
