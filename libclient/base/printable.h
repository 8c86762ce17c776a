/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign text, made safe to print: in a line of the log, on a terminal, in JSON that a terminal shows. The output of
 * other processes, file names, comments of types, and names from the network may contain anything: escape sequences of
 * the terminal, a newline and a forged line after it, marks that change the reading direction.
 *
 * Kept: UTF-8. Written as an escape (\n \t \r \x1b \u202e): C0, DEL and C1 controls, line and paragraph separators, the
 * marks of direction (U+061C, 200E, 200F, 202A-202E, 2066-2069), the byte order mark, U+FFF9-FFFB, the tags
 * U+E0000-E007F; and each byte that is not part of UTF-8 (\xff). A backslash stays as it is, so text that was made
 * printable once is not changed again.
 *
 * Thread: any.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the longest escape: a surrogate pair in JSON. A text can become at most that many times longer. */
#define PRINTABLE_ESCAPE_MAX 12

/*
 * Decodes the next character of s, of which left >= 1 bytes are there; returns how many bytes it takes. ret_code: its
 * code point; -1: s[0] is not UTF-8 (returns 1).
 */
size_t printable_next(const char *s, size_t left, int32_t *ret_code);
/* Whether it is printed unchanged. False for -1. */
bool printable_code(int32_t code);

/*
 * Writes the printable text to `to`, with a NUL, cut before the first character that does not fit; returns the length.
 * s may overlap `to` only if it starts there and is already printable. size >= 1.
 */
size_t printable(char *to, size_t size, const char *s, size_t len);
/* Whether printable() would leave it unchanged. */
bool printable_is(const char *s, size_t len);

/* Whether it is UTF-8 throughout, printable or not. */
bool utf8_is(const char *s, size_t len);
/* Replaces each byte that is not UTF-8 by '?'. */
void utf8_mend(char *s, size_t len);

/*
 * The same for the inside of a JSON string: quotes and backslashes are escaped too; bytes that are not UTF-8 become
 * U+FFFD.
 */
size_t printable_json(char *to, size_t size, const char *s, size_t len);
/* Writes one character of it, at most PRINTABLE_ESCAPE_MAX bytes, to `to`; returns how many. */
size_t printable_json_code(char *to, int32_t code);

#endif
