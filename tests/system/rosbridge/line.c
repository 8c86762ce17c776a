/* SPDX-License-Identifier: Apache-2.0 */
/* See line.h. */
#include "line.h"

#include "support/test.h"
#include "wait.h"

struct host line_host;
struct sim_bridge *line_bridge;
struct rosbridge_server *line_server;

void line_up(const char *const *options, const struct rosbridge_server_how *how)
{
	static char connection[64];

	line_server = rosbridge_server_create(0, how);
	assert_non_null(line_server);
	snprintf(connection, sizeof(connection), "ws://127.0.0.1:%u", rosbridge_server_port(line_server));
	host_init(&line_host, PLUGIN, options);
	line_host.connection = connection;
	line_bridge = host_create(&line_host);
	host_wait_log(&line_host, "rosbridge server at");
}

void line_down(void)
{
	line_host.ops->disconnect(line_bridge);
	line_host.ops->destroy(line_bridge);
	assert_string_equal(rosbridge_server_fault(line_server), "");
	rosbridge_server_destroy(line_server);
}

void line_refused(const char *key, const char *value, const char *sentence)
{
	const char *const wrong[] = { key, value, NULL };
	struct sim_bridge *none = NULL;

	host_init(&line_host, PLUGIN, wrong);
	assert_true(line_host.ops->create(&line_host.host, &none) < 0);
	host_wait_log(&line_host, sentence);
}
