/* SPDX-License-Identifier: Apache-2.0 */
/* Where somebody listens, as people write it. Thread: any. */
#ifndef LOOP_ADDRESS_H
#define LOOP_ADDRESS_H

#include <stddef.h>

#define ADDRESS_HOST_MAX 256u

struct address {
	char host[ADDRESS_HOST_MAX]; /* a name or a number, an IPv6 address without its brackets */
	unsigned port;               /* 0 to 65535 */
};

/*
 * The first len bytes of text: "host:port", "host", ":port", "[::1]:port" or nothing. What is not there stays as it is in *io.
 * -EINVAL: it is none of these, and *io is as it was.
 */
int address_read(const char *text, size_t len, struct address *io);

#endif
