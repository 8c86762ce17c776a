/* SPDX-License-Identifier: Apache-2.0 */
/* See test_bridge.c: a master to register with. */
#include "support/test.h"

#include <stdio.h>

#include "system/ros1/fake.h"
#include "peer.h"

static struct fake_master master;

void peer_start(char *connection, size_t size)
{
	fake_master_start(&master, 0);
	snprintf(connection, size, "%s", master.uri);
}

void peer_stop(void)
{
	fake_master_stop(&master);
}
