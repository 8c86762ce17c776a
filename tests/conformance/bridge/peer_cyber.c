/* SPDX-License-Identifier: Apache-2.0 */
/* See test_bridge.c: a cyber_bridge to connect to; asserts that all input was valid. */
#include "support/test.h"

#include <stdio.h>

#include "support/cyber_server.h"
#include "peer.h"

static struct cyber_server *server;

void peer_start(char *connection, size_t size)
{
	server = cyber_server_create(0, NULL);
	assert_non_null(server);
	snprintf(connection, size, "127.0.0.1:%u", cyber_server_port(server));
}

void peer_stop(void)
{
	assert_string_equal(cyber_server_fault(server), "");
	cyber_server_destroy(server);
}
