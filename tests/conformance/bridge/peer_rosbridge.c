/* SPDX-License-Identifier: Apache-2.0 */
/* See test_bridge.c: a rosbridge server to connect to; asserts that all input was valid. */
#include "support/test.h"

#include <stdio.h>

#include "support/rosbridge_server.h"
#include "peer.h"

static struct rosbridge_server *server;

void peer_start(char *connection, size_t size)
{
	server = rosbridge_server_create(0, NULL);
	assert_non_null(server);
	snprintf(connection, size, "ws://127.0.0.1:%u", rosbridge_server_port(server));
}

void peer_stop(void)
{
	assert_string_equal(rosbridge_server_fault(server), "");
	rosbridge_server_destroy(server);
}
