/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, durations and sizes from text: the only place that parses them (tools/dev/check-once). Parsing is strict: no
 * leading blanks, no locale, and nothing after the number, except for number_take_*, which leave *at there.
 *
 * All return 0, or -EINVAL: not such a number, -ERANGE: a number, but out of range. The result is written only on
 * success. number_* set no sentence, as only the caller knows what the number is and where it comes from; dur_parse()
 * and size_parse() do. Thread: any. Nothing allocates.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_ANY 0u /* as in C: 0x... is hexadecimal, 0... octal, the rest decimal */
#define NUMBER_OCT 8u
#define NUMBER_DEC 10u
#define NUMBER_HEX 16u /* only digits, without 0x */

#define NUMBER_ATTR __attribute__((warn_unused_result))

/* Integers from 0 to max, without a sign. */
NUMBER_ATTR int number_u64(const char *s, unsigned base, uint64_t max, uint64_t *ret);
NUMBER_ATTR int number_take_u64(const char **at, unsigned base, uint64_t max, uint64_t *ret);

/* Integers from min to max, with an optional + or -. */
NUMBER_ATTR int number_i64(const char *s, unsigned base, int64_t min, int64_t max, int64_t *ret);
NUMBER_ATTR int number_take_i64(const char **at, unsigned base, int64_t min, int64_t max, int64_t *ret);

/* Finite real numbers in C's syntax: 1, -2.5, .5, 1e-3, 0x1p4. A number too small for a double is 0. */
NUMBER_ATTR int number_f64(const char *s, double *ret);
NUMBER_ATTR int number_take_f64(const char **at, double *ret);

/*
 * Up to max such numbers separated by commas, with optional blanks around each. Returns how many, or -EINVAL; ret is
 * then undefined.
 */
NUMBER_ATTR int number_f64s(const char *s, double *ret, int max);

/* A hash or id as simd writes it: 16 digits 0-9a-f. False: malformed, or s is NULL. */
NUMBER_ATTR bool number_hash(const char *s, uint64_t *ret);

/*
 * "100ms", "1.5s", "20us", "250ns", "2m", "1h", "0": whole ns after scaling, exact (no floating point). A number
 * without a unit must be 0.
 */
NUMBER_ATTR int dur_parse(const char *s, int64_t *ret_dur_ns);

/* "512", "64KiB", "16MiB", "4GiB", "10MB": bytes. */
NUMBER_ATTR int size_parse(const char *s, int64_t *ret_bytes);

#endif
