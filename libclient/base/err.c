/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-local sentence of the last error. Thread: any; no state is shared between threads. */
#include "err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char why[ERR_WHY_MAX];

int err_vset(int r, const char *fmt, va_list ap)
{
	char next[ERR_WHY_MAX]; /* the arguments may point into why */
	int saved = errno;

	vsnprintf(next, sizeof(next), fmt, ap);
	memcpy(why, next, sizeof(why));
	errno = saved;
	return r;
}

int err_set(int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(r, fmt, ap);
	va_end(ap);
	return r;
}

static int join(int r, const char *head, const char *tail)
{
	return err_set(r, "%s: %s", head, tail);
}

int err_sys(int r, const char *fmt, ...)
{
	char head[ERR_WHY_MAX];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	errno = saved;
	return join(r, head, err_text(r));
}

int err_prefix(int r, const char *fmt, ...)
{
	char head[ERR_WHY_MAX];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	errno = saved;
	return join(r, head, why[0] ? why : err_text(r));
}

int err_nomem(void)
{
	return err_set(-ENOMEM, "out of memory");
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
