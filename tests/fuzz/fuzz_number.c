/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as numbers, held against the C library's own reading of the same text. Thread: one. */
#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) \
			__builtin_trap(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_unsigned(const char *s, unsigned base)
{
	const char *at = s;
	char *end;
	uint64_t v = 77, whole = 77;
	unsigned long long c;
	int r = number_take_u64(&at, base, UINT64_MAX, &v);

	errno = 0;
	c = strtoull(s, &end, (int)base);
	if (r == 0)
		FUZZ_CHECK(!errno && v == c && at == end);
	else
		FUZZ_CHECK(v == 77 && at == s && (r == -EINVAL || (r == -ERANGE && errno == ERANGE)));
	r = number_u64(s, base, UINT64_MAX, &whole);
	FUZZ_CHECK((r == 0) == (at > s && !*at) && whole == (r == 0 ? v : 77));
}

static void check_signed(const char *s, unsigned base)
{
	int64_t v = 77;
	char *end;
	long long c;
	int r = number_i64(s, base, INT64_MIN, INT64_MAX, &v);

	errno = 0;
	c = strtoll(s, &end, (int)base);
	if (r == 0)
		FUZZ_CHECK(!errno && v == c && !*end);
	else
		FUZZ_CHECK(v == 77);
	if (r == -ERANGE)
		FUZZ_CHECK(errno == ERANGE);
}

static void check_real(const char *s)
{
	const char *at = s;
	double v = 77, several[4];
	char *end;
	double c = strtod(s, &end);
	int r = number_take_f64(&at, &v), n = number_f64s(s, several, 4);

	if (r == 0)
		FUZZ_CHECK(isfinite(v) && v == c && at == end);
	else
		FUZZ_CHECK(v == 77 && at == s && (r == -EINVAL || isinf(c)));
	FUZZ_CHECK(n <= 4 && n != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned bases[] = { NUMBER_DEC, NUMBER_OCT, NUMBER_ANY };
	int64_t v = 77;
	uint64_t hash;
	char *s = malloc(size + 1); /* so that a byte behind it is seen */

	if (!s)
		return 0;
	if (size)
		memcpy(s, data, size);
	s[size] = '\0';
	for (unsigned i = 0; i < 3; i++) {
		check_unsigned(s, bases[i]);
		check_signed(s, bases[i]);
	}
	check_real(s);
	FUZZ_CHECK(dur_parse(s, &v) == 0 ? v >= 0 : v == 77);
	v = 77;
	FUZZ_CHECK(size_parse(s, &v) == 0 ? v >= 0 : v == 77);
	if (number_hash(s, &hash))
		FUZZ_CHECK(hash == strtoull(s, NULL, 16));
	free(s);
	return 0;
}
