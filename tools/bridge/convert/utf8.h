/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises UTF-8. Pure functions: any thread. */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Number of bytes of the character at s, where n bytes are available; 0: not a valid character (overlong forms and
 * surrogates are invalid). n > 0.
 */
static inline size_t utf8_char(const char *s, size_t n)
{
	const uint8_t *c = (const uint8_t *)s;
	size_t len = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
	uint8_t low = c[0] == 0xe0 ? 0xa0 : c[0] == 0xf0 ? 0x90 : 0x80;
	uint8_t high = c[0] == 0xed ? 0x9f : c[0] == 0xf4 ? 0x8f : 0xbf;

	if (len > n)
		return 0;
	for (size_t i = 1; i < len; i++, low = 0x80, high = 0xbf)
		if (c[i] < low || c[i] > high)
			return 0;
	return len;
}

/* Length of the valid UTF-8 at the beginning of s. */
static inline size_t utf8_prefix(const char *s, size_t n)
{
	size_t i = 0;

	for (size_t k = 1; i < n && k; i += k)
		k = utf8_char(s + i, n - i);
	return i;
}

#endif
