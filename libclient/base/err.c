/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-local sentence of the last error. Thread: any; no state is shared between threads. */
#include "err.h"

#include "printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char why[ERR_WHY_MAX];

__attribute__((format(printf, 2, 0))) static void tell(const char *tail, const char *fmt, va_list ap)
{
	char next[ERR_WHY_MAX]; /* the arguments may point into why */
	size_t len;
	int saved = errno, n = vsnprintf(next, sizeof(next), fmt, ap);

	if (tail && n >= 0 && n < (int)sizeof(next))
		snprintf(next + n, sizeof(next) - (size_t)n, ": %s", tail);
	len = strlen(next);
	if (printable_is(next, len))
		memcpy(why, next, len + 1);
	else
		printable(why, sizeof(why), next, len);
	errno = saved;
}

void err_tell(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(NULL, fmt, ap);
	va_end(ap);
}

void err_tell_sys(int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(err_text(r), fmt, ap);
	va_end(ap);
}

void err_tell_prefix(int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(why[0] ? why : err_text(r), fmt, ap);
	va_end(ap);
}

void err_clear(void)
{
	why[0] = '\0';
}

const char *err_why(void)
{
	return why;
}

const char *err_text(int r)
{
	const char *s = strerrordesc_np(r < 0 ? -r : r);

	return s ? s : "unknown error";
}
