/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64 of RFC 4648, with padding, using AVX-512 VBMI, AVX2 or SSSE3 if the CPU has them. Pure functions: any thread.
 */
#ifndef BASE64_H
#define BASE64_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Number of characters for n bytes. */
static inline size_t base64_length(size_t n)
{
	return (n + 2) / 3 * 4;
}

/*
 * Writes base64_length(n) characters, without a NUL. `to` and data must not overlap. Returns the end of the written
 * text.
 */
char *base64_write(char *to, const void *data, size_t n);

/*
 * Decodes n characters into `to`, which has room for n / 4 * 3 bytes. Returns the number of bytes, or -EBADMSG: a
 * character outside the alphabet, or not padded to a multiple of 4. Unused bits may have any value.
 */
ssize_t base64_read(uint8_t *to, const char *text, size_t n);

#endif
