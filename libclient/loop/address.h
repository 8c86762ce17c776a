/* SPDX-License-Identifier: Apache-2.0 */
/* "host:port" as text. Thread: any. */
#ifndef LOOP_ADDRESS_H
#define LOOP_ADDRESS_H

#include <stddef.h>

#define ADDRESS_HOST_MAX 256u

struct address {
	char host[ADDRESS_HOST_MAX]; /* a name or a number, an IPv6 address without its brackets */
	unsigned port;               /* 0 to 65535 */
};

/*
 * Parses the first len bytes of text: "host:port", "host", ":port", "[::1]:port" or an empty text. A part that is
 * absent leaves *io's value unchanged. -EINVAL: malformed; *io is unchanged.
 */
int address_read(const char *text, size_t len, struct address *io);

#endif
