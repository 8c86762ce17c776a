/* SPDX-License-Identifier: Apache-2.0 */
/* See test_bridge.c: an lgsvl_bridge to connect to; asserts that all input was valid. */
#include "support/test.h"

#include <stdio.h>

#include "support/lgsvl_server.h"
#include "peer.h"

static struct lgsvl_server *server;

void peer_start(char *connection, size_t size)
{
	server = lgsvl_server_create(0);
	assert_non_null(server);
	snprintf(connection, size, "127.0.0.1:%u", lgsvl_server_port(server));
}

void peer_stop(void)
{
	assert_string_equal(lgsvl_server_fault(server), "");
	lgsvl_server_destroy(server);
}
