/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of somebody else, made fit to be shown: in a line of the log, on a terminal, in JSON that a terminal shows. What a
 * process writes, names of files, comments of types, names from the network may hold anything: sequences that drive the terminal,
 * a line end and a forged line behind it, marks that turn the reading direction.
 *
 * Kept: UTF-8. Written as an escape (\n \t \r \x1b \u202e): C0, DEL and C1 controls, line and paragraph separators, the marks of
 * direction (U+061C, 200E, 200F, 202A-202E, 2066-2069), the byte order mark, U+FFF9-FFFB, the tags U+E0000-E007F; and each byte
 * that is not part of UTF-8 (\xff). A backslash stays as it is: what was made fit once is not changed again.
 *
 * Thread: any.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of an escape at most: a surrogate pair in JSON. So many times longer a text can become. */
#define PRINTABLE_ESCAPE_MAX 12

/*
 * The next character of s, of which left >= 1 bytes are there: how many bytes it takes. ret_code: its code point; -1: s[0] is
 * not UTF-8 (1 is returned).
 */
size_t printable_next(const char *s, size_t left, int32_t *ret_code);
/* Whether it may be shown as it is. False for -1. */
bool printable_code(int32_t code);

/*
 * Into to, a NUL behind it, cut before the character that does not fit; returns the length. s may lie in `to` only where it is
 * the same and fit already. size >= 1.
 */
size_t printable(char *to, size_t size, const char *s, size_t len);
/* Whether printable() would leave it as it is. */
bool printable_is(const char *s, size_t len);

/* Whether all of it is UTF-8, printable or not. */
bool utf8_is(const char *s, size_t len);
/* Puts '?' in the place of each byte that is not. */
void utf8_mend(char *s, size_t len);

/* The same for the inside of a JSON string: quotes and backslashes are escaped too; U+FFFD stands for what is not UTF-8. */
size_t printable_json(char *to, size_t size, const char *s, size_t len);
/* One character of it, at most PRINTABLE_ESCAPE_MAX bytes to `to`; how many. */
size_t printable_json_code(char *to, int32_t code);

#endif
