/* SPDX-License-Identifier: Apache-2.0 */
/* See address.h. */
#include "address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_text(char *to, size_t room, const char *from, size_t len)
{
	if (len >= room)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

static bool port_ok(const char *port)
{
	char *end;
	long n = strtol(port, &end, 10);

	return *port >= '0' && *port <= '9' && !*end && n >= 1 && n <= 65535;
}

int tcp_address_read(const char *text, struct tcp_address *ret, char *why, size_t why_size)
{
	const char *close = *text == '[' ? strchr(text, ']') : NULL, *host = close ? text + 1 : text;
	const char *colon = strrchr(close ? close : text, ':');
	size_t len = close ? (size_t)(close - host) : colon ? (size_t)(colon - host) : strlen(text);
	bool ok = !close || colon == close + 1 || !close[1];

	*ret = (struct tcp_address){ "127.0.0.1", "9090" };
	if (len || close)
		ok = ok && len && take_text(ret->host, sizeof(ret->host), host, len);
	if (colon)
		ok = ok && take_text(ret->port, sizeof(ret->port), colon + 1, strlen(colon + 1)) && port_ok(ret->port);
	if (!close && strpbrk(ret->host, ":/[] "))
		ok = false;
	if (ok)
		return 0;
	snprintf(why, why_size, "\"%.60s\" is not \"host:port\" (an IPv6 address in brackets; 127.0.0.1:9090 if empty)",
		 text);
	return -EINVAL;
}
