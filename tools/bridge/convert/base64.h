/* SPDX-License-Identifier: Apache-2.0 */
/* base64 of RFC 4648, with padding. AVX-512 VBMI, AVX2 or SSSE3 where the CPU has them. Pure functions: any thread. */
#ifndef BASE64_H
#define BASE64_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Characters that n bytes become. */
static inline size_t base64_length(size_t n)
{
	return (n + 2) / 3 * 4;
}

/* Writes base64_length(n) characters, no NUL. `to` and data do not overlap. Returns the end of what was written. */
char *base64_write(char *to, const void *data, size_t n);

/*
 * Bytes of n characters into `to`, which has room for n / 4 * 3. Returns how many, or -EBADMSG: a character outside the
 * alphabet, or no padding to a multiple of 4. Bits that are left over may be anything.
 */
ssize_t base64_read(uint8_t *to, const char *text, size_t n);

#endif
