/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as JSON text: independent of the locale, without system calls or allocations. Pure functions, any thread.
 * Each writes at most JSON_NUM_MAX bytes, without a NUL, and returns how many.
 */
#ifndef JSON_NUM_H
#define JSON_NUM_H

#include <stddef.h>
#include <stdint.h>

#define JSON_NUM_MAX 32

size_t json_put_u64(char *out, uint64_t v);
size_t json_put_i64(char *out, int64_t v);

/*
 * Writes the fewest digits that read back to the same value (shortest.h), always with a point or an exponent. NaN and
 * infinities, which JSON does not have, become null. The f32 form writes fewer digits, as they only need to read back
 * to the same float.
 */
size_t json_put_f64(char *out, double v);
size_t json_put_f32(char *out, float v);

#endif
