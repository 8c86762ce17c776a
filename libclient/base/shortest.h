/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in JSON: of the decimal numbers that are read back as the same binary one, the one with the fewest digits,
 * and of these the nearest. Written as in ECMAScript: 0.1, 100, 1e+21, 5e-324.
 *
 * After R. Giulietti, "The Schubfach way to render doubles" (2020). Pure functions: any thread.
 */
#ifndef SHORTEST_H
#define SHORTEST_H

#include <stdint.h>

#define SHORTEST_MAX  25 /* bytes of the longest number; no NUL */
#define SHORTEST_ROOM 32 /* size of out: bytes after the number may be overwritten */

struct shortest_decimal { /* digits * 10^exponent, the last digit not 0 */
	uint64_t digits;
	int exponent;
};

/* For finite numbers other than 0, without their sign: for other notations. */
struct shortest_decimal shortest_decimal_f64(double v);
struct shortest_decimal shortest_decimal_f32(float v);

/* For finite numbers. Return the end of what was written. */
char *shortest_f64(double v, char *out);
char *shortest_f32(float v, char *out);

/*
 * The same for n numbers, at any alignment, each followed by a comma, up to the first that is not finite; out has
 * SHORTEST_ROOM for each. Return how many were written, and move *out past them.
 */
uint32_t shortest_f64s(const void *v, uint32_t n, char **out);
uint32_t shortest_f32s(const void *v, uint32_t n, char **out);

/* Integers. */
char *shortest_u64(uint64_t v, char *out);
char *shortest_i64(int64_t v, char *out);

#endif
