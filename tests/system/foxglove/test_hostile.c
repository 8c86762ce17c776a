/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Malicious clients: each is refused, bounded and counted, and an honest client notices nothing. Also access rules, and
 * the page.
 */
#include "support/test.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <sim/msg/Imu.h>

#include "line.h"
#include "raw.h"

#define SDK   "Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n"
#define HERE  "Host: 127.0.0.1\r\n"
#define CHUNK 65536

static const char *const plain[] = { NULL };
static struct sim_bridge_topic *imu;

static int up(void **state)
{
	(void)state;
	line_up(plain);
	imu = host_open(&line_host, line_bridge, "imu", &sim_Imu_type, "{}");
	return 0;
}

/* An honest client is served: it comes, asks, and gets. */
static int down(void **state)
{
	struct sim_slot *s = host_slot(sizeof(struct sim_Imu), "base");
	int fd;

	(void)state;
	AWAIT((fd = raw_open(line_port, "/", HERE SDK)) >= 0);
	assert_true(raw_hears(fd, "/imu"));
	raw_text(fd, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":106}]}");
	raw_text(fd, "{\"op\":\"done?\"}");
	assert_true(raw_hears(fd, "done?"));
	memset(sim_slot_body_mut(s), 0, sizeof(struct sim_Imu));
	assert_int_equal(host_publish(&line_host, line_bridge, imu, s), 0);
	assert_true(raw_hears(fd, "base"));
	close(fd);
	line_host.ops->close(line_bridge, imu);
	line_down();
	free(s);
	return 0;
}

static int greeted(const char *lines)
{
	int fd = raw_open(line_port, "/", lines);

	if (fd >= 0)
		assert_true(raw_hears(fd, "serverInfo"));
	return fd;
}

static void is_let_in(const char *lines, bool expected)
{
	int fd = greeted(lines);

	if ((fd >= 0) != expected)
		fail_msg("%s was%s let in", lines, expected ? " not" : "");
	if (fd >= 0)
		close(fd);
}

/* ---- access ---- */

TEST_WITH(pages_of_other_origins_are_refused, up, down)
{
	is_let_in(HERE SDK, true);
	is_let_in(HERE SDK "Origin: http://127.0.0.1\r\n", true);
	is_let_in(HERE SDK "Origin: http://localhost:8080\r\n", true);
	is_let_in(HERE SDK "Origin: https://app.foxglove.dev\r\n", true);
	is_let_in(HERE SDK "Origin: file://\r\n", true);
	is_let_in(HERE SDK "Origin: https://evil.example\r\n", false);
	is_let_in(HERE SDK "Origin: https://app.foxglove.dev.evil.example\r\n", false);
	is_let_in(HERE SDK "Origin: http://127.0.0.1.evil.example\r\n", false);
	is_let_in(HERE SDK "Origin: null\r\n", false);
	host_wait_log(&line_host, "it comes from the page https://evil.example; \"origins\" in the options");
}

/* A foreign host name that resolves to this machine (DNS rebinding). */
TEST_WITH(other_host_names_are_refused, up, down)
{
	is_let_in("Host: localhost:1\r\n" SDK, true);
	is_let_in("Host: [::1]:1\r\n" SDK, true);
	is_let_in("Host: rebound.example\r\n" SDK, false);
	is_let_in("Host: rebound.example\r\nOrigin: http://rebound.example\r\n" SDK, false);
	is_let_in("Host: 127.0.0.1.nip.example\r\n" SDK, false);
	assert_int_equal(strncmp(raw_request(line_port, "GET / HTTP/1.1", "Host: rebound.example\r\n"), "HTTP/1.1 403",
				 12),
			 0);
	host_wait_log(&line_host, "its Host is \"rebound.example\"; \"hosts\" in the options");
}

TEST_WITH(other_protocols_are_refused, up, down)
{
	is_let_in(HERE, false);
	is_let_in(HERE "Sec-WebSocket-Protocol: chat\r\n", false);
	is_let_in(HERE "Sec-WebSocket-Protocol: foxglove.websocket.v1\r\n", true);
	is_let_in(HERE "Sec-WebSocket-Protocol: foxglove.sdk.v1, foxglove.websocket.v1\r\n", true);
	host_wait_log(&line_host, "it requests no sub-protocol of Foxglove");
}

/* ---- the page ---- */

TEST_WITH(the_page_is_served, up, down)
{
	const char *text = raw_request(line_port, "GET / HTTP/1.1", HERE);

	assert_int_equal(strncmp(text, "HTTP/1.1 200", 12), 0);
	assert_non_null(strstr(text, "content-type: text/html; charset=utf-8"));
	assert_non_null(strstr(text, "content-security-policy: default-src 'self'"));
	assert_non_null(strstr(text, "x-content-type-options: nosniff"));
	text = raw_request(line_port, "GET /app.js HTTP/1.1", HERE);
	assert_non_null(strstr(text, "content-type: text/javascript; charset=utf-8"));
	assert_int_equal(strncmp(raw_request(line_port, "HEAD / HTTP/1.1", HERE), "HTTP/1.1 200", 12), 0);
	assert_int_equal(strncmp(raw_request(line_port, "GET /README.md HTTP/1.1", HERE), "HTTP/1.1 404", 12), 0);
	assert_int_equal(strncmp(raw_request(line_port, "GET /../../etc/passwd HTTP/1.1", HERE), "HTTP/1.1 404", 12),
			 0);
	assert_int_not_equal(strncmp(raw_request(line_port, "POST / HTTP/1.1", HERE "Content-Length: 0\r\n"),
				     "HTTP/1.1 200", 12),
			     0);
}

/* ---- messages of a client ---- */

static void is_answered(const char *op, const char *with)
{
	int fd = greeted(HERE SDK);

	raw_text(fd, op);
	if (!raw_hears(fd, with))
		fail_msg("%s was not answered with %s", op, with);
	close(fd);
}

TEST_WITH(malformed_requests_are_answered, up, down)
{
	is_answered("", "this is not a JSON object");
	is_answered("[]", "this is not a JSON object: something else");
	is_answered("{\"op\":\"subscribe\",\"op\":\"subscribe\"}", "this is not a JSON object");
	is_answered("{}", "there is no operation \\\"\\\"");
	is_answered("{\"op\":7}", "there is no operation");
	is_answered("{\"op\":\"<script>alert(1)</script>\"}", "<script>alert(1)");
	is_answered("{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":-1,\"channelId\":106}]}",
		    "must be whole numbers");
	is_answered("{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":4294967296}]}",
		    "must be whole numbers");
	is_answered("{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":9}]}",
		    "there is no such channel");
	is_answered(
		"{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":106},{\"id\":2,\"channelId\":106}]}",
		"it is subscribed to already");
	is_answered(
		"{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":106},{\"id\":1,\"channelId\":105}]}",
		"the id is another subscription's");
	is_answered("{\"op\":\"unsubscribe\",\"subscriptionIds\":[3,\"x\",null]}", "there is no such subscription");
	is_answered("{\"op\":\"subscribe\",\"subscriptions\":7}{", "this is not a JSON object");
	is_answered("{\"op\":\"fetchAsset\",\"uri\":\"package://a/b\"}", "must be a whole number");
	is_answered("{\"op\":\"fetchAsset\",\"uri\":\"package://a/b\",\"requestId\":3}",
		    "no folder of the rig's option");
	is_answered("{\"op\":\"getParameters\",\"parameterNames\":{\"a\":7},\"id\":\"x\"}",
		    "\"op\":\"status\""); /* no simd here */
}

TEST_WITH(malformed_binary_messages_are_answered, up, down)
{
	static const uint8_t what[][16] = {
		{ 0 }, { 1, 2 }, { 9, 9 }, { 2, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255 }
	};
	int fd = greeted(HERE SDK);

	raw_frame(fd, 0x82, "", 0);
	assert_true(raw_hears(fd, "there is no binary operation 0"));
	raw_frame(fd, 0x82, what[2], 2);
	assert_true(raw_hears(fd, "there is no binary operation 9"));
	raw_frame(fd, 0x82, what[1], 2);
	assert_true(raw_hears(fd, "this connection is read-only"));
	raw_frame(fd, 0x82, what[3], 13);
	assert_true(raw_hears(fd, "this connection is read-only"));
	close(fd);
}

TEST_WITH(text_that_is_not_utf8_ends_the_connection, up, down)
{
	int fd = greeted(HERE SDK);

	raw_frame(fd, 0x81, "{\"op\":\"\xff\xfe\"}", 11);
	raw_await_close(fd);
	close(fd);
}

/* In one frame, whose head alone says so; and in small ones without an end. */
TEST_WITH(messages_without_an_end_are_cut, up, down)
{
	static const uint8_t head[14] = { 0x81, 0xff, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff };
	static char chunk[CHUNK];
	int fd = greeted(HERE SDK);

	memset(chunk, ' ', sizeof(chunk));
	raw_send(fd, head, sizeof(head));
	raw_send(fd, chunk, sizeof(chunk));
	raw_await_close(fd);
	close(fd);
	fd = greeted(HERE SDK);
	raw_frame(fd, 0x01, chunk, sizeof(chunk));
	for (int i = 0; i < 40; i++)
		raw_frame(fd, 0x00, chunk, sizeof(chunk));
	raw_await_close(fd);
	close(fd);
	host_wait_log(&line_host, "a message of more than 1048576 bytes");
}

/* Asks and asks, and reads no answer. */
TEST_WITH(a_client_that_does_not_read_answers_is_disconnected, up, down)
{
	static char op[60000];
	size_t n = (size_t)snprintf(op, sizeof(op), "{\"op\":\"unsubscribe\",\"subscriptionIds\":[0");
	int fd = greeted(HERE SDK);

	while (n < sizeof(op) - 8)
		n += (size_t)snprintf(op + n, sizeof(op) - n, ",%u", 1u);
	snprintf(op + n, sizeof(op) - n, "]}");
	raw_text(fd, op); /* ten thousand complaints and more */
	raw_text(fd, op);
	host_wait_log(&line_host, "does not read its answers");
	raw_await_close(fd);
	close(fd);
}

/*
 * Subscriptions to everything, again and again: a repeated subscription counts once, and an endless list is refused by
 * its length.
 */
TEST_WITH(a_flood_of_subscriptions_is_survived, up, down)
{
	static char op[200000];
	int fd = greeted(HERE SDK);

	for (int round = 0; round < 20; round++) {
		size_t n = (size_t)snprintf(op, sizeof(op),
					    "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":106}");

		for (int i = 0; i < 100; i++)
			n += (size_t)snprintf(op + n, sizeof(op) - n, ",{\"id\":%d,\"channelId\":%d}", i, 100 + i % 7);
		snprintf(op + n, sizeof(op) - n, "]}");
		raw_text(fd, op);
		raw_text(fd, "{\"op\":\"unsubscribe\",\"subscriptionIds\":[0,1,2,3,4,5,6,7]}");
	}
	raw_text(fd, "{\"op\":\"done?\"}");
	assert_true(raw_hears(fd, "done?"));
	close(fd);
}

/* ---- connections ---- */

#define MANY 400

TEST_WITH(ten_thousand_connections_are_survived, up, down)
{
	for (int i = 0; i < 10000; i++) {
		int fd = raw_connect(line_port);

		if (fd >= 0 && i % 3 == 0)
			raw_send(fd, "GET / HTTP", 10);
		if (fd >= 0)
			close(fd);
	}
}

TEST_WITH(connections_beyond_the_limit_are_refused, up, down)
{
	int fd[MANY], n = 0;

	for (int i = 0; i < MANY; i++) { /* that say nothing */
		fd[i] = raw_connect(line_port);
		n += fd[i] >= 0;
	}
	assert_true(n > 0);
	for (int i = 0; i < MANY; i++) {
		if (fd[i] < 0)
			continue;
		raw_await_close(fd[i]); /* at once, or when its time for a request is over */
		close(fd[i]);
	}
}

/* Such connections used to hold a place for five seconds each, and no other client was admitted. */
TEST_WITH(silent_connections_hold_no_place, up, down)
{
	int fd[MANY];

	for (int i = 0; i < MANY; i++) {
		fd[i] = raw_connect(line_port);
		if (fd[i] >= 0 && i % 2)
			raw_send(fd[i], "GET / HTTP", 10);
	}
	is_let_in(HERE SDK, true);
	for (int i = 0; i < MANY; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* Connections that have asked for `what`, or say nothing where that is NULL. */
static void stand(int *fd, int n, const char *what)
{
	for (int i = 0; i < n; i++) {
		fd[i] = raw_connect(line_port);
		if (fd[i] < 0 || !what)
			continue;
		setsockopt(fd[i], SOL_SOCKET, SO_RCVBUF, &(int){ 2048 }, sizeof(int));
		raw_send(fd[i], what, strlen(what));
	}
}

static void leave(const int *fd, int n)
{
	for (int i = 0; i < n; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/*
 * Each is answered, stays open, and may ask again: such connections used to hold all places, and no other client was
 * admitted.
 */
TEST_WITH(connections_that_have_been_answered_hold_no_place, up, down)
{
	int fd[MANY];

	for (int i = 0; i < MANY; i++) {
		stand(&fd[i], 1, "HEAD / HTTP/1.1\r\n" HERE "\r\n");
		if (fd[i] < 0 || recv(fd[i], (char[1]){ 0 }, 1, MSG_PEEK) != 1)
			fail_msg("connection %d is not answered", i);
	}
	is_let_in(HERE SDK, true);
	leave(fd, MANY);
}

/* They send requests again and again, and read nothing. */
TEST_WITH(connections_that_read_no_answer_hold_no_place, up, down)
{
	static char asks[400 * 64];
	int fd[MANY];

	for (size_t n = 0; n < sizeof(asks) - 64;)
		n += (size_t)snprintf(asks + n, 64, "GET /view-3d.js HTTP/1.1\r\n" HERE "\r\n");
	stand(fd, MANY, asks);
	is_let_in(HERE SDK, true);
	leave(fd, MANY);
}

#define CROWD 5000

TEST_FULL_WITH(thousands_of_half_open_connections_hold_no_place, up, down)
{
	static int fd[CROWD];
	struct rlimit files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_max < CROWD + 256)
		skip();
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	stand(fd, CROWD, "GET / HTTP");
	is_let_in(HERE SDK, true);
	leave(fd, CROWD);
}

TEST_WITH(clients_beyond_the_limit_are_refused, up, down)
{
	int fd[80], n = 0;

	for (int i = 0; i < 80; i++) {
		fd[i] = raw_open(line_port, "/", HERE SDK);
		n += fd[i] >= 0;
	}
	assert_int_equal(n, 64);
	host_wait_log(&line_host, "the maximum of 64 clients is connected");
	for (int i = 0; i < 80; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* A request that comes byte by byte, and never ends. */
TEST_WITH(a_request_that_never_ends_is_cut_off, up, down)
{
	int fd = raw_connect(line_port);

	raw_send(fd, "GET / HTTP/1.1\r\nX: ", 19);
	while (send(fd, "a", 1, MSG_NOSIGNAL) == 1 && recv(fd, (char[1]){ 0 }, 1, MSG_DONTWAIT) != 0)
		pace_us(50000);
	close(fd);
}

/* ---- options ---- */

TEST(invalid_options_are_refused_with_the_reason)
{
	line_refused("0.0.0.0:8765", "queue", "10", "elsewhere than on loopback it needs TLS");
	line_refused("robot:8765", "queue", "10", "\"robot:8765\" is not an address to listen at");
	line_refused("127.0.0.1:99999", "queue", "10", "is not an address to listen at");
	line_refused("127.0.0.1:8765-8764", "queue", "10", "is not an address to listen at");
	line_refused("127.0.0.1:0-10", "queue", "10", "is not an address to listen at");
	line_refused("127.0.0.1:8765-", "queue", "10", "is not an address to listen at");
	line_refused("", "queue", "0", "options.queue: ");
	line_refused("", "control", "yes", "options.control: ");
	line_refused("", "origins", "{}", "options.origins: not a list");
	line_refused("", "hosts", "[7]", "options.hosts: not a list");
	line_refused("", "cert", "/proc/no-file", "options.cert: /proc/no-file: No such file");
	line_refused("", "key", "/etc/passwd", "options.cert and options.key: one of them is missing");
	line_refused("", "assets", "{\"package:\":\"/x\"}", "options.assets: not an object");
	line_refused("", "subscribe", "{\"/a\":{}}", "options.subscribe[\"/a\"]");
}

/* where: a format for the port that the line has. */
static void another_says(const char *where, const char *text)
{
	struct host other;
	char at[40];

	line_up(plain);
	snprintf(at, sizeof(at), where, line_port);
	host_init(&other, PLUGIN, plain);
	other.connection = at;
	other.b = host_create(&other);
	host_wait_log(&other, text);
	other.ops->disconnect(other.b);
	other.ops->destroy(other.b);
	line_down();
}

TEST(a_port_that_is_taken_is_named)
{
	another_says("127.0.0.1:%u", "something listens there already");
}

TEST(the_first_free_port_of_a_range_is_taken)
{
	another_says("%u-65535", "the web page is http://127.0.0.1:");
}
