/* SPDX-License-Identifier: Apache-2.0 */
/* See line.h. */
#include "support/test.h"

#include "line.h"

struct host line_host;
struct sim_bridge *line_bridge;
char line_url[300];
unsigned line_port;

void line_up(const char *const *options)
{
	line_up_at("127.0.0.1:0", options);
}

void line_up_at(const char *connection, const char *const *options)
{
	const char *at;

	host_init(&line_host, PLUGIN, options);
	line_host.connection = connection;
	line_bridge = host_create(&line_host);
	host_wait_log(&line_host, "the web page is http");
	at = strstr(line_host.log, "the web page is http");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "the web page is %*[^/]//%*[^:]:%u", &line_port), 1);
	snprintf(line_url, sizeof(line_url), "ws://127.0.0.1:%u/", line_port);
}

void line_down(void)
{
	line_host.ops->disconnect(line_bridge);
	line_host.ops->destroy(line_bridge);
}

void line_refused(const char *connection, const char *key, const char *value, const char *sentence)
{
	const char *const wrong[] = { key, value, NULL };

	host_init(&line_host, PLUGIN, wrong);
	assert_true(line_host.ops->check(&line_host.host, connection) < 0);
	host_wait_log(&line_host, sentence);
}

struct watcher *line_client(const char *more)
{
	char url[400];
	struct watcher *p;

	snprintf(url, sizeof(url), "%s%s", line_url, more);
	p = watcher_start(url, "foxglove.sdk.v1");
	watcher_hears(p, "info ");
	return p;
}
