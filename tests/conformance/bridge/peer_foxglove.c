/* SPDX-License-Identifier: Apache-2.0 */
/* See test_bridge.c: a server has no peer to connect to; it listens at a port of its own. */
#include "support/test.h"

#include <stdio.h>

#include "peer.h"

void peer_start(char *connection, size_t size)
{
	snprintf(connection, size, "127.0.0.1:0");
}

void peer_stop(void)
{
}
