/* SPDX-License-Identifier: Apache-2.0 */
/* See base64.h. */
#include "base64.h"

#include <errno.h>

static const char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* ---- write ---- */

char *base64_write(char *to, const void *data, size_t n)
{
	const uint8_t *from = data;

	for (; n >= 3; n -= 3, from += 3, to += 4) {
		uint32_t v = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];

		to[0] = alphabet[v >> 18];
		to[1] = alphabet[v >> 12 & 63];
		to[2] = alphabet[v >> 6 & 63];
		to[3] = alphabet[v & 63];
	}
	if (!n)
		return to;
	to[0] = alphabet[from[0] >> 2];
	to[1] = alphabet[(from[0] << 4 & 63) | (n > 1 ? from[1] >> 4 : 0)];
	to[2] = n > 1 ? alphabet[from[1] << 2 & 63] : '=';
	to[3] = '=';
	return to + 4;
}

/* ---- read ---- */

/* 0 to 63; more: no character of it. */
static unsigned value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (unsigned)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (unsigned)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0') + 52;
	return c == '+' ? 62 : c == '/' ? 63 : 64;
}

ssize_t base64_read(uint8_t *to, const char *text, size_t n)
{
	const uint8_t *start = to;
	unsigned bad = 0;
	size_t pad = 0;

	if (n % 4)
		return -EBADMSG;
	while (pad < 2 && pad < n && text[n - 1 - pad] == '=')
		pad++;
	for (size_t i = 0; i < n; i += 4) {
		unsigned left = i + 4 == n ? (unsigned)pad : 0, v = 0;

		for (unsigned k = 0; k < 4; k++) {
			unsigned c = k < 4 - left ? value_of(text[i + k]) : 0;

			bad |= c & 64;
			v = v << 6 | (c & 63);
		}
		*to++ = (uint8_t)(v >> 16);
		if (left < 2)
			*to++ = (uint8_t)(v >> 8);
		if (left < 1)
			*to++ = (uint8_t)v;
	}
	return bad ? -EBADMSG : to - start;
}
