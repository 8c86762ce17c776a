/* SPDX-License-Identifier: Apache-2.0 */
/* Elsewhere than on loopback: TLS, and nothing without the token. */
#include "support/test.h"

#include <sim/msg/Image.h>

#include "line.h"

#define TOKEN "0123456789abcdef"

static void make_files(void)
{
	static const char make[] =
		"cd /tmp && openssl req -x509 -newkey rsa:2048 -nodes -keyout far.key -out far.pem -days 2 -subj /CN=127.0.0.1 "
		"-addext subjectAltName=IP:127.0.0.1 2>/dev/null && echo " TOKEN " >far.token";

	assert_int_equal(system(make), 0);
}

TEST(outside_loopback_tls_and_the_token_are_required)
{
	static const char *const options[] = { "cert",         "/tmp/far.pem", "key",
					       "/tmp/far.key", "token_file",   "/tmp/far.token",
					       "control",      "true",         NULL };
	struct sim_slot *s = host_image(1920, 1080);
	struct sim_bridge_topic *t;
	struct watcher *w;
	char url[100];

	if (!watcher_possible())
		return;
	make_files();
	setenv("NODE_EXTRA_CA_CERTS", "/tmp/far.pem", 1);
	line_up_at("0.0.0.0:0", options);
	snprintf(url, sizeof(url), "wss://127.0.0.1:%u/?token=" TOKEN, line_port);
	w = watcher_start(url, "foxglove.sdk.v1");
	watcher_hears_of(w, "info ", "\"control\":\"true\"");
	watcher_say(w, "watch /camera");
	t = host_open(&line_host, line_bridge, "camera", &sim_Image_type, "{}");
	watcher_hears(w, "channel /camera");
	watcher_sync(w);
	assert_int_equal(host_publish(&line_host, line_bridge, t, s), 0);
	watcher_hears_of(w, "message /camera ", "\"data\":\"<6220800:39656>\"");
	line_host.ops->close(line_bridge, t);
	free(s);
	watcher_end(w);
	snprintf(url, sizeof(url), "wss://127.0.0.1:%u/", line_port);
	w = watcher_start(url, "foxglove.sdk.v1");
	watcher_hears(w, "error ");
	watcher_end(w);
	host_wait_log(&line_host, "it has no token, or a wrong one (options.token_file)");
	snprintf(url, sizeof(url), "ws://127.0.0.1:%u/?token=" TOKEN, line_port); /* which is not for all to hear */
	w = watcher_start(url, "foxglove.sdk.v1");
	watcher_hears(w, "error ");
	watcher_end(w);
	line_down();
}

TEST(an_invalid_certificate_is_named)
{
	static const char *const options[] = { "cert", "/tmp/far.token", "key", "/tmp/far.token", NULL };

	make_files();
	host_init(&line_host, PLUGIN, options);
	line_host.connection = "127.0.0.1:0";
	line_bridge = host_create(&line_host);
	host_wait_log(&line_host, "are options.cert and options.key a certificate and its key?");
	line_down();
}
