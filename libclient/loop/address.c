/* SPDX-License-Identifier: Apache-2.0 */
/* See address.h. */
#include "address.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool take_host(const char *text, size_t len, bool bracketed, struct address *a)
{
	if (!len)
		return !bracketed;
	if (len >= sizeof(a->host))
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~' || strchr("[]/", text[i]) || (text[i] == ':' && !bracketed))
			return false;
	memcpy(a->host, text, len);
	a->host[len] = '\0';
	return true;
}

static bool take_port(const char *text, size_t len, struct address *a)
{
	unsigned n = 0;

	if (!len || len > 5)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		n = 10 * n + (unsigned)(text[i] - '0');
	}
	a->port = n;
	return n <= 65535;
}

int address_read(const char *text, size_t len, struct address *io)
{
	const char *close = len && *text == '[' ? memchr(text, ']', len) : NULL, *rest = close ? close + 1 : text;
	const char *colon = memchr(rest, ':', len - (size_t)(rest - text)), *end = text + len;
	struct address a = *io;
	bool ok;

	if (close)
		ok = (colon ? colon : end) == rest && take_host(text + 1, (size_t)(close - text) - 1, true, &a);
	else
		ok = take_host(text, (size_t)((colon ? colon : end) - text), false, &a);
	if (ok && colon)
		ok = take_port(colon + 1, (size_t)(end - colon) - 1, &a);
	if (ok)
		*io = a;
	return ok ? 0 : -EINVAL;
}
