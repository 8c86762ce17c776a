/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-local sentence of the last error. Thread: any; no state is shared between threads. */
#include "err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char why[ERR_WHY_MAX];

void err_vtell(const char *fmt, va_list ap)
{
	char next[ERR_WHY_MAX]; /* the arguments may point into why */
	int saved = errno;

	vsnprintf(next, sizeof(next), fmt, ap);
	memcpy(why, next, sizeof(why));
	errno = saved;
}

void err_tell(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vtell(fmt, ap);
	va_end(ap);
}

void err_tell_sys(int r, const char *fmt, ...)
{
	char head[ERR_WHY_MAX];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	errno = saved;
	err_tell("%s: %s", head, err_text(r));
}

void err_tell_prefix(int r, const char *fmt, ...)
{
	char head[ERR_WHY_MAX];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	errno = saved;
	err_tell("%s: %s", head, why[0] ? why : err_text(r));
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
