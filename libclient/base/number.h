/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, durations and sizes from text: the one place that reads them (tools/dev/check-once). What is read is what stands
 * there: no blank before it, no locale, and nothing behind it, but for number_take_*, which leave *at there.
 *
 * All return 0, or -EINVAL: this is no such number, -ERANGE: it is one, but out of range. The result is written only on success.
 * number_* leave no sentence, for the caller alone knows what the number is of and where it stands; dur_parse() and size_parse() do.
 * Thread: any. Nothing allocates.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_ANY 0u /* as in C: 0x... is hexadecimal, 0... octal, the rest decimal */
#define NUMBER_OCT 8u
#define NUMBER_DEC 10u
#define NUMBER_HEX 16u /* digits alone, without 0x */

#define NUMBER_ATTR __attribute__((warn_unused_result))

/* Whole numbers up to max, without a sign. */
NUMBER_ATTR int number_u64(const char *s, unsigned base, uint64_t max, uint64_t *ret);
NUMBER_ATTR int number_take_u64(const char **at, unsigned base, uint64_t max, uint64_t *ret);

/* Whole numbers from min to max; + or - may stand before them. */
NUMBER_ATTR int number_i64(const char *s, unsigned base, int64_t min, int64_t max, int64_t *ret);
NUMBER_ATTR int number_take_i64(const char **at, unsigned base, int64_t min, int64_t max, int64_t *ret);

/* Finite real numbers, with a point and as C has them: 1, -2.5, .5, 1e-3, 0x1p4. What is too small to be told from 0 is 0. */
NUMBER_ATTR int number_f64(const char *s, double *ret);
NUMBER_ATTR int number_take_f64(const char **at, double *ret);

/* Up to max such numbers with commas between; blanks around each are no part of it. How many, or -EINVAL; what ret has then is undefined. */
NUMBER_ATTR int number_f64s(const char *s, double *ret, int max);

/* A hash or id of ours: 16 digits 0-9a-f. False: it is none, or s is NULL. */
NUMBER_ATTR bool number_hash(const char *s, uint64_t *ret);

/*
 * "100ms", "1.5s", "20us", "250ns", "2m", "1h", "0": whole ns after scaling, exact (no floating point).
 * A bare number needs a unit, except 0.
 */
NUMBER_ATTR int dur_parse(const char *s, int64_t *ret_dur_ns);

/* "512", "64KiB", "16MiB", "4GiB", "10MB": bytes. */
NUMBER_ATTR int size_parse(const char *s, int64_t *ret_bytes);

#endif
