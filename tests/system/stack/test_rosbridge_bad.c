/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that are no rosbridge server, or untrusted ones: each is named, disconnected in time, and affects no other
 * client.
 */
#include "peer.h"
#include "rosbridge_line.h"
#include "stack.h"

#include <sim/msg/Image.h>

TEST_PROCESSES()

/* ---- the connection ---- */

static void expect(const struct rosbridge_server_how *how, const char *scheme, const char *options, const char *words)
{
	line_start_with(how, scheme, options);
	AWAIT(stack_said(words));
	AWAIT(rosbridge_server_connections(line_server) >= 2); /* it is tried again */
	line_stop();
}

TEST_WITH(a_web_server_is_reported, NULL, line_sweep)
{
	expect(&(struct rosbridge_server_how){ .ws.greeting = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" },
	       "ws://", "", "not a rosbridge server");
}

TEST_FULL_WITH(a_ros_1_node_is_reported, NULL, line_sweep)
{
	expect(&(struct rosbridge_server_how){ .ws.greeting = "\x20\x10\x02" }, "ws://", "", "not a rosbridge server");
}

TEST_FULL_WITH(a_server_that_never_answers_is_reported, NULL, line_sweep)
{
	expect(&(struct rosbridge_server_how){ .ws.deaf = true }, "ws://", "\"connect_ms\":300",
	       "no answer of a WebSocket server within 300 ms");
}

/* The server reads everything and answers nothing, neither pings nor the close. */
TEST_FULL_WITH(a_server_that_never_closes_is_disconnected, NULL, line_sweep)
{
	expect(&(struct rosbridge_server_how){ .ws.keeps_open = true }, "ws://", "\"stall_ms\":400",
	       "it has answered nothing for 400 ms");
}

static uint8_t picture[(1 << 20) + 4096] __attribute__((aligned(64)));

/* More than a socket holds; and the server says something, so that no ping is needed. */
static void feed(struct sim_publisher *p)
{
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(picture, sizeof(picture), &b);

	m->height = 512;
	m->width = m->step = 2048;
	assert_int_equal(sim_Image_encoding_set(&b, "mono8"), 0);
	assert_non_null(sim_Image_data_alloc(&b, 1 << 20));
	(void)line_send_one(p, picture, sim_builder_size(&b)); /* fails once the connection is lost */
	rosbridge_server_text(line_server, "{\"op\":\"set_level\",\"level\":\"none\"}");
}

TEST_WITH(a_server_that_reads_nothing_is_disconnected, NULL, line_sweep)
{
	struct sim_publisher *p, *q;

	line_start("\"stall_ms\":2000");
	p = line_imu_publisher();
	q = line_advertise("image", &sim_Image_type, sizeof(picture));
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/imu", NULL, NULL));
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/image", NULL, NULL));
	rosbridge_server_hold(line_server, true);
	AWAIT((feed(q), stack_said("it has taken nothing for 2000 ms")));
	rosbridge_server_drop(line_server);
	rosbridge_server_hold(line_server, false);
	AWAIT(rosbridge_server_greeted(line_server) > 1 &&
	      rosbridge_server_heard(line_server, "advertise", "/imu", NULL, NULL));
	AWAIT(line_send_imu(p, 1) == 0 && rosbridge_server_count(line_server, "publish", "/imu"));
	line_stop();
}

/* ---- the server's messages ---- */

static void say_all(const char *const *texts)
{
	for (; *texts; texts++)
		rosbridge_server_text(line_server, *texts);
}

TEST_WITH(malformed_messages_are_refused_and_nothing_else, NULL, line_sweep)
{
	static const char *const texts[] = {
		"",
		"no JSON",
		"[]",
		"{}",
		"{\"op\":7}",
		"{\"op\":\"fly\"}",
		"{\"op\":\"publish\"}",
		"{\"op\":\"publish\",\"topic\":\"/cmd\"}",
		"{\"op\":\"publish\",\"topic\":\"/cmd\",\"msg\":7}",
		"{\"op\":\"publish\",\"topic\":\"/cmd\",\"topic\":\"/cmd\",\"msg\":{}}",
		"{\"op\":\"publish\",\"topic\":\"/cmd\",\"msg\":{\"target_gear\":1,\"target_gear\":2}}",
		"{\"op\":\"publish\",\"topic\":\"/cmd\",\"msg\":{\"acceleration_pct\":NaN}}",
		"{\"op\":\"publish\",\"topic\":\"/cmd\xff\",\"msg\":{}}",
		"{\"op\":\"png\",\"data\":\"iVBORw0KGgo=\"}",
		"{\"op\":\"fragment\",\"id\":\"a\",\"data\":\"\",\"num\":3,\"total\":2}",
		"{\"op\":\"call_service\",\"service\":\"/none\",\"args\":{}}",
		"{\"op\":\"status\",\"level\":\"error\",\"msg\":\"what is \\u001b[31m this\"}",
		NULL,
	};
	static char deep[200000];
	struct sim_subscriber *s;

	line_start_listening(COMMANDS(""), &s);
	memset(deep, '[', sizeof(deep) - 1);
	memcpy(deep, "{\"op\":", 6);
	rosbridge_server_text(line_server, deep);
	say_all(texts);
	rosbridge_server_text(line_server, COMMAND("0.5"));
	assert_float_equal(line_next_throttle(s), 0.5, 1e-6);
	AWAIT(stack_said("it is nested too deep"));
	AWAIT(stack_said("op \"fly\""));
	AWAIT(stack_said("the server says: error: what is ?[31m this"));
	assert_int_equal(rosbridge_server_connections(line_server), 1);
	sim_subscriber_destroy(s);
	line_stop();
}

TEST_WITH(requests_for_unknown_services_do_not_fill_the_log, NULL, line_sweep)
{
	struct sim_subscriber *s;

	line_start_listening(COMMANDS(""), &s);
	for (int i = 0; i < 1000; i++)
		rosbridge_server_text(line_server, "{\"op\":\"call_service\",\"service\":\"/none\",\"args\":{}}");
	rosbridge_server_text(line_server, COMMAND("0.5"));
	assert_float_equal(line_next_throttle(s), 0.5, 1e-6);
	AWAIT(stack_said("/none: a request has no answer: it is not offered (512 so far)"));
	assert_int_equal(stack_count("/none: a request has no answer", "so far"), 14); /* 1 to 8, 16, 32, ... */
	sim_subscriber_destroy(s);
	line_stop();
}

TEST_FULL_WITH(a_message_without_end_is_dropped, NULL, line_sweep)
{
	static char big[33 << 20];
	struct sim_subscriber *s;

	line_start_listening(COMMANDS(""), &s);
	memset(big, ' ', sizeof(big) - 1);
	rosbridge_server_text(line_server, big);
	rosbridge_server_text(line_server, COMMAND("0.5"));
	assert_float_equal(line_next_throttle(s), 0.5, 1e-6);
	AWAIT(stack_said("a message of more than"));
	sim_subscriber_destroy(s);
	line_stop();
}

TEST_FULL_WITH(malformed_frames_end_the_connection, NULL, line_sweep)
{
	static const char *const raw[] = { "\xff\xff\xff\xff\xff\xff", "\x83\x01x", "\x80\x01x",
					   "HTTP/1.1 200 OK\r\n\r\n" };
	unsigned n = 0;

	line_start("");
	for (size_t i = 0; i < sizeof(raw) / sizeof(raw[0]); i++) {
		AWAIT(rosbridge_server_greeted(line_server) > n);
		n = rosbridge_server_greeted(line_server);
		rosbridge_server_raw(line_server, raw[i], strlen(raw[i]));
	}
	AWAIT(rosbridge_server_greeted(line_server) > n);
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	line_stop();
}

/* ---- TLS and auth ---- */

static void make_cert(const char *name, const char *host)
{
	char command[600];

	snprintf(command, sizeof(command),
		 "openssl req -x509 -newkey rsa:2048 -nodes -keyout /tmp/%s.key -out /tmp/%s.pem -days 2 -subj /CN=%s "
		 "-addext subjectAltName=%s 2>/dev/null",
		 name, name, host, host[0] == '1' ? "IP:127.0.0.1" : "DNS:elsewhere");
	assert_int_equal(system(command), 0);
}

TEST_WITH(a_tls_server_with_a_trusted_certificate_is_accepted, NULL, line_sweep)
{
	struct rosbridge_server_how how = { .ws.cert = "/tmp/good.pem", .ws.key = "/tmp/good.key" };
	struct sim_publisher *p;

	make_cert("good", "127.0.0.1");
	line_start_with(&how, "wss://", "\"ca_file\":\"/tmp/good.pem\"");
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	p = line_imu_publisher();
	AWAIT(rosbridge_server_heard(line_server, "advertise", "/imu", NULL, NULL));
	assert_int_equal(line_send_imu(p, 1), 0);
	AWAIT(rosbridge_server_count(line_server, "publish", "/imu") == 1);
	line_stop();
}

/* A server that cannot prove its identity is sent nothing. */
static void distrust(const char *cert, const char *key, const char *options, const char *words)
{
	struct rosbridge_server_how how = { .ws.cert = cert, .ws.key = key };

	line_start_with(&how, "wss://", options);
	AWAIT(stack_said(words));
	assert_int_equal(rosbridge_server_greeted(line_server), 0);
	line_stop();
}

TEST_FULL_WITH(a_tls_server_with_an_unknown_signer_is_refused, NULL, line_sweep)
{
	make_cert("good", "127.0.0.1");
	distrust("/tmp/good.pem", "/tmp/good.key", "", "its certificate is not accepted: self-signed certificate");
}

TEST_FULL_WITH(a_tls_certificate_of_another_host_is_refused, NULL, line_sweep)
{
	make_cert("other", "elsewhere");
	distrust("/tmp/other.pem", "/tmp/other.key", "\"ca_file\":\"/tmp/other.pem\"",
		 "its certificate is not accepted: IP address mismatch");
}

TEST_FULL_WITH(a_server_without_tls_is_refused, NULL, line_sweep)
{
	distrust(NULL, NULL, "\"connect_ms\":300", "no answer of a WebSocket server");
}

TEST_WITH(the_auth_message_is_sent_first, NULL, line_sweep)
{
	line_start_with(
		&(struct rosbridge_server_how){ .auth = true }, "ws://",
		"\"auth\":{\"mac\":\"m\",\"client\":\"c\",\"dest\":\"d\",\"rand\":\"r\",\"t\":1,\"level\":\"l\",\"end\":2}");
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
	AWAIT(rosbridge_server_count(line_server, "publish", "/clock") > 1);
	assert_int_equal(rosbridge_server_count(line_server, "auth", "c"), 1);
	assert_true(line_number_of("auth", "c", "end") == 2);
	line_stop();
}

/* ---- the rig ---- */

TEST_WITH(errors_in_the_rig_are_reported, NULL, line_sweep)
{
	static const char *const bad[][3] = {
		{ "host:", "", "is not \"ws://host:port\"" },
		{ "http://host", "", "is not \"ws://host:port\"" },
		{ "ws://127.0.0.1:0", "", "is not \"ws://host:port\"" },
		{ "wss://[::1", "", "is not \"ws://host:port\"" },
		{ "ws://x y:1", "", "is not \"ws://host:port\"" },
		{ "", "\"flavour\":\"ros3\"", "options.flavour" },
		{ "", "\"fragment_size\":5", "options.fragment_size" },
		{ "", "\"auth\":{\"mac\":\"m\"}", "\"client\" is missing" },
		{ "", "\"ca_file\":\"/tmp/none.pem\"", "options.ca_file" },
	};
	char path[] = "/tmp/bad.json";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *argv[] = { "simd", "--check-config", "--rig", path, NULL };
		const struct ctl_result *r;
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fprintf(f,
			"{\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"far\",\"plugin\":\"rosbridge\","
			"\"connection\":\"%s\",\"options\":{%s}}]}]}",
			bad[i][0], bad[i][1]);
		fclose(f);
		r = stack_run(argv);
		assert_int_not_equal(r->code, 0);
		if (!strstr(r->err, bad[i][2]) && !strstr(r->out, bad[i][2]))
			fail_msg("%s %s: %s%s", bad[i][0], bad[i][1], r->out, r->err);
	}
}
