/* SPDX-License-Identifier: Apache-2.0 */
/* Makes foreign text printable; contract in printable.h. Thread: any. */
#include "printable.h"

#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

size_t printable_next(const char *s, size_t left, int32_t *ret_code)
{
	static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t c = (uint8_t)s[0];
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	int32_t code = n == 1 ? c : c & (0x7f >> n);

	*ret_code = -1;
	if (n == 0 || n > left)
		return 1;
	for (size_t i = 1; i < n; i++) {
		if (((uint8_t)s[i] & 0xc0) != 0x80)
			return 1;
		code = code << 6 | ((uint8_t)s[i] & 0x3f);
	}
	/* overlong forms and surrogates are not UTF-8 */
	if (code < least[n] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
		return 1;
	*ret_code = code;
	return n;
}

bool printable_code(int32_t code)
{
	static const struct {
		int32_t first, last;
	} odd[] = {
		{ -1, 0x1f },       { 0x7f, 0x9f },     { 0x61c, 0x61c },   { 0x200e, 0x200f },   { 0x2028, 0x202e },
		{ 0x2066, 0x2069 }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};

	if (code >= 0x20 && code < 0x7f)
		return true;
	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		if (code >= odd[i].first && code <= odd[i].last)
			return false;
	return true;
}

/* ---- writing ---- */

static size_t brief(char *to, int32_t code)
{
	static const char from[] = "\n\t\r", as[] = "ntr";
	const char *at = code > 0 && code < 0x20 ? strchr(from, (char)code) : NULL;

	if (!at)
		return 0;
	to[0] = '\\';
	to[1] = as[at - from];
	return 2;
}

static size_t escape(char *to, int32_t code, uint8_t byte)
{
	size_t n = brief(to, code);

	if (n)
		return n;
	if (code < 0x80) /* a byte */
		return (size_t)sprintf(to, "\\x%02x", code < 0 ? byte : (unsigned)code);
	return (size_t)sprintf(to, code < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)code);
}

size_t printable(char *to, size_t size, const char *s, size_t len)
{
	char text[PRINTABLE_ESCAPE_MAX + 1];
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		int32_t code;
		size_t from = printable_next(s + i, len - i, &code), k = from;
		const char *piece = s + i;

		if (!printable_code(code)) {
			k = escape(text, code, (uint8_t)s[i]);
			piece = text;
		}
		if (k >= size - n)
			break;
		memmove(to + n, piece, k);
		n += k;
		i += from;
	}
	to[n] = '\0';
	return n;
}

/* How many bytes of printable ASCII s begins with, eight at a time: every error sentence passes here. */
static size_t plain(const char *s, size_t len)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	size_t n = 0;
	uint64_t x;

	for (; len - n >= sizeof(x); n += sizeof(x)) {
		memcpy(&x, s + n, sizeof(x));
		if ((((x - ones * 0x20) & ~x) | (x + ones) | x) & (ones * 0x80)) /* below 0x20, DEL, 0x80 and above */
			break;
	}
	while (n < len && s[n] >= 0x20 && s[n] < 0x7f)
		n++;
	return n;
}

bool printable_is(const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		int32_t code;

		i += plain(s + i, len - i);
		if (i == len)
			break;
		i += printable_next(s + i, len - i, &code);
		if (!printable_code(code))
			return false;
	}
	return true;
}

/* ---- JSON ---- */

static size_t utf8(char *to, int32_t code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		to[0] = (char)(0xf0 | code >> 18);
		to[1] = (char)(0x80 | (code >> 12 & 0x3f));
		to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	}
	to[code < 0x800 ? 1 : code < 0x10000 ? 2 : 3] = (char)(0x80 | (code & 0x3f));
	return code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

static void unit(char *to, unsigned code)
{
	static const char hex[] = "0123456789abcdef";

	to[0] = '\\';
	to[1] = 'u';
	for (int i = 0; i < 4; i++)
		to[2 + i] = hex[code >> (12 - 4 * i) & 15];
}

size_t printable_json_code(char *to, int32_t code)
{
	size_t n = brief(to, code);

	if (n)
		return n;
	if (code == '"' || code == '\\') {
		to[0] = '\\';
		to[1] = (char)code;
		return 2;
	}
	if (code < 0)
		return utf8(to, 0xfffd);
	if (printable_code(code))
		return utf8(to, code);
	if (code < 0x10000) {
		unit(to, (unsigned)code);
		return 6;
	}
	unit(to, 0xd800 + ((unsigned)(code - 0x10000) >> 10));
	unit(to + 6, 0xdc00 + ((unsigned)(code - 0x10000) & 0x3ff));
	return 12;
}

size_t printable_json(char *to, size_t size, const char *s, size_t len)
{
	char text[PRINTABLE_ESCAPE_MAX];
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		int32_t code;
		size_t from = printable_next(s + i, len - i, &code), k = printable_json_code(text, code);

		if (k >= size - n)
			break;
		memcpy(to + n, text, k);
		n += k;
		i += from;
	}
	to[n] = '\0';
	return n;
}

/* The first byte from `at` on that is not UTF-8; len: all is UTF-8. */
static size_t not_utf8(const char *s, size_t at, size_t len)
{
	int32_t code = 0;

	while (at < len) {
		size_t n = printable_next(s + at, len - at, &code);

		if (code < 0)
			break;
		at += n;
	}
	return at;
}

bool utf8_is(const char *s, size_t len)
{
	return not_utf8(s, 0, len) == len;
}

void utf8_mend(char *s, size_t len)
{
	for (size_t at = not_utf8(s, 0, len); at < len; at = not_utf8(s, at + 1, len))
		s[at] = '?';
}
