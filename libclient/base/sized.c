/* SPDX-License-Identifier: Apache-2.0 */
/* See sized.h. */
#include "sized.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

static bool is_zero(const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (data[i])
			return false;
	return true;
}

static int refuse(int r, size_t size, size_t given_size, const char *whose)
{
	if (r == -EINVAL)
		return err_set(r, "%s say that their size is %zu; set .size to the sizeof of the struct", whose,
			       given_size);
	return err_set(
		r,
		"%s have %zu bytes and set something that this library, which knows %zu of them, does not have: it "
		"is older than the headers that the program was built with",
		whose, given_size, size);
}

/* The caller may be of any version: no other member is read before this. */
static int check(size_t size, const void *given, size_t given_size)
{
	if (given_size < sizeof(size_t) || given_size % _Alignof(size_t) || given_size > SIZED_MAX)
		return -EINVAL;
	if (given_size > size && !is_zero((const uint8_t *)given + size, given_size - size))
		return -E2BIG;
	return 0;
}

int sized_take(void *own, size_t size, const void *given, const char *fmt, ...)
{
	char whose[ERR_WHY_MAX / 2];
	size_t given_size = size;
	va_list ap;
	int r = 0;

	memset(own, 0, size);
	if (given) {
		memcpy(&given_size, given, sizeof(given_size));
		r = check(size, given, given_size);
	}
	if (given && r == 0)
		memcpy(own, given, given_size < size ? given_size : size);
	memcpy(own, &size, sizeof(size));
	if (r == 0)
		return 0;
	va_start(ap, fmt);
	vsnprintf(whose, sizeof(whose), fmt, ap);
	va_end(ap);
	return refuse(r, size, given_size, whose);
}
