/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as JSON text: independent of the locale, without a system call or an allocation. Pure
 * functions, any thread. All write at most JSON_NUM_MAX bytes, no NUL, and return how many.
 */
#ifndef JSON_NUM_H
#define JSON_NUM_H

#include <stddef.h>
#include <stdint.h>

#define JSON_NUM_MAX 32

size_t json_put_u64(char *out, uint64_t v);
size_t json_put_i64(char *out, int64_t v);

/*
 * The fewest digits that read back to the same value (shortest.h), always with a point or an exponent. NaN and infinities, which JSON does not have: null. The f32 form needs fewer digits:
 * they read back to the same float.
 */
size_t json_put_f64(char *out, double v);
size_t json_put_f32(char *out, float v);

#endif
