/* SPDX-License-Identifier: Apache-2.0 */
/* Where a peer is. Pure function of its arguments: any thread. */
#ifndef TCP_ADDRESS_H
#define TCP_ADDRESS_H

#include <stddef.h>

struct tcp_address {
	char host[256], port[8];
};

/* "host", "host:port", "[::1]:port", ":port", ""; 127.0.0.1 and 9090 where not given. 0, or -EINVAL and a sentence in why. */
int tcp_address_read(const char *text, struct tcp_address *ret, char *why, size_t why_size);

#endif
