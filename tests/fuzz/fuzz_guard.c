/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host, Origin and token of a request to the foxglove bridge, and its listening address: four lines. A request is
 * accepted only as the rules allow, written here a second time: an origin that the rig does not name ends in a host of
 * this machine or in the Host itself. Thread: one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/bridge/foxglove/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool ends_here(const char *origin, const char *host)
{
	const char *at = strstr(origin, "://");
	size_t n;

	if (!at)
		return false;
	at += 3;
	n = strcspn(at, ":");
	return strcasecmp(at, host) == 0 || (n == 9 && strncasecmp(at, "localhost", 9) == 0) ||
	       strncmp(at, "127.", 4) == 0 || *at == '[' ||
	       strchr(at, ':'); /* addresses of version 6 are left to inet_pton */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct guard g;
	struct guard_address a;
	char text[2048] = "", why[400], *line[4] = { text, text, text, text };

	if (!g.hosts) {
		if (guard_init(&g, "[\"https://app.example\"]", "[\"robot\"]", why, sizeof(why)) < 0)
			abort();
		strcpy(g.token, "0123456789abcdef");
	}
	size = size < sizeof(text) ? size : sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	for (int i = 0; i < 4; i++) {
		char *end = strchr(line[i], '\n');

		if (end)
			*end++ = '\0';
		for (int k = i + 1; k < 4; k++)
			line[k] = end ? end : line[i] + strlen(line[i]);
	}
	if (guard_origin_ok(&g, line[1], line[0]) && strcmp(line[1], "file://") != 0 &&
	    strcasecmp(line[1], "https://app.example") != 0 && !ends_here(line[1], line[0]))
		abort();
	(void)guard_host_ok(&g, line[0]);
	if (guard_token_ok(&g, line[2]) != (strcmp(line[2], "0123456789abcdef") == 0))
		abort();
	if (guard_address_read(line[3], &a, why, sizeof(why)) == 0 &&
	    (a.last_port > 65535 || a.last_port < a.port || !*a.host))
		abort();
	return 0;
}
