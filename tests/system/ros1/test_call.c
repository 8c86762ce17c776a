/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of other nodes, called for the clients of simd: connections that are kept, errors, and nodes that misbehave. The test is both the
 * node that serves, on a bare socket, and the host that asks.
 */
#include "support/test.h"

#include <errno.h>
#include <sys/socket.h>

#include <sim/srv/SetBool.h>

#include "../ros2/host.h"
#include "fake.h"

#define MD5_SET_BOOL "09fb03525b03e7ea1fd3992bafd87e16"
#define MD5_MEASURE  "3071e37bb1a5c733a8bb2320e2c501ff"
#define CALL         "{\"lamp\":{\"type\":\"std_srvs/SetBool\",\"service\":\"ros/lamp\"}}"

static const char *const options[] = { "call", CALL, NULL };
static struct fake_master master;
static struct host h;
static struct sim_bridge *b;
static int door;
static char key; /* its address is a request */

static int setup(void **state)
{
	unsigned port;

	(void)state;
	unsetenv("ROS_IP");
	unsetenv("ROS_HOSTNAME");
	door = fake_listen(&port);
	fake_master_start(&master, 0);
	snprintf(master.service, sizeof(master.service), "rosrpc://127.0.0.1:%u", port);
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_string_equal(h.served.name, "ros/lamp");
	assert_string_equal(h.served.type->name, "sim/SetBool");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	h.ops->disconnect(b);
	assert_string_equal(h.served.name, "");
	h.ops->destroy(b);
	fake_master_stop(&master);
	close(door);
	return 0;
}

static void ask(bool on)
{
	struct sim_SetBoolRequest q = { .data = on };

	h.served.fn(h.served.user, &q, sizeof(q), (struct sim_pending *)(void *)&key);
}

/* The next connection, welcomed. */
static int server(void)
{
	int fd = fake_accept(door);

	assert_string_equal(fake_field(fd, "service"), "/lamp");
	fake_welcome(fd, MD5_SET_BOOL, "std_srvs/SetBool", NULL);
	return fd;
}

static void expect_request(int fd, bool on)
{
	uint32_t len;
	uint8_t *m = fake_message(fd, &len);

	assert_non_null(m);
	assert_int_equal(len, 1);
	assert_int_equal(m[0], on);
	free(m);
}

static void reply(int fd, const char *text)
{
	uint8_t m[128] = { 1, (uint8_t)(strlen(text) + 5), 0, 0, 0, 1, (uint8_t)strlen(text) };

	memcpy(m + 10, text, strlen(text));
	fake_send(fd, m, 10 + strlen(text));
}

static void expect(const char *text)
{
	struct host_answer a = host_next_answer(&h);
	const struct sim_SetBoolResponse *r = sim_SetBoolResponse_from(a.response, a.size);

	if (a.result != 0)
		fail_msg("%d: %s", a.result, a.why);
	assert_ptr_equal(a.p, &key);
	assert_non_null(r);
	assert_true(r->success);
	assert_string_equal(sim_SetBoolResponse_message(r, a.size), text);
}

static void expect_error(int result, const char *part)
{
	struct host_answer a = host_next_answer(&h);

	assert_int_equal(a.result, result);
	if (!strstr(a.why, part))
		fail_msg("\"%s\" does not say \"%s\"", a.why, part);
}

TEST_WITH(a_service_of_ros_answers, setup, teardown)
{
	int fd;

	ask(true);
	fd = server();
	expect_request(fd, true);
	reply(fd, "on");
	expect("on");
	ask(false); /* on the same connection */
	expect_request(fd, false);
	reply(fd, "");
	expect("");
	close(fd); /* the provider has restarted */
	ask(true);
	fd = server();
	expect_request(fd, true);
	fake_send(fd, "\0\6\0\0\0broken", 11);
	expect_error(-EREMOTEIO, "/lamp of ROS 1: broken");
	ask(true); /* that was its answer: the connection is sound */
	expect_request(fd, true);
	reply(fd, "mended");
	expect("mended");
	close(fd);
}

TEST_WITH(a_missing_or_malformed_service_is_an_error, setup, teardown)
{
	char service[64];

	snprintf(service, sizeof(service), "%s", master.service);
	master.service[0] = '\0';
	ask(true);
	expect_error(-ENOENT, "the master knows no node that offers it");
	snprintf(master.service, sizeof(master.service), "http://nonsense");
	ask(true);
	expect_error(-EPROTO, "not of the form rosrpc://host:port");
	close(door);
	snprintf(master.service, sizeof(master.service), "%s", service);
	ask(true);
	expect_error(-ECONNREFUSED, "refused");
	atomic_store(&master.mode, FAKE_HANGS);
	ask(true); /* and the bridge ends meanwhile */
	h.ops->disconnect(b);
	h.ops->destroy(b);
	assert_true(host_next_answer(&h).result < 0);
	atomic_store(&master.mode, FAKE_GOOD);
	door = fake_listen(&(unsigned){ 0 });
	h.n_offered = 0;
	b = host_create(&h);
}

/* Each fails with an error text, and the next call opens a new connection. */
TEST_WITH(malformed_answers_of_nodes_are_errors, setup, teardown)
{
	int fd;

	ask(true);
	fd = fake_accept(door);
	fake_welcome(fd, "00000000000000000000000000000000", "std_srvs/SetBool", NULL);
	expect_error(-EPROTO, "another definition of std_srvs/SetBool");
	close(fd);
	ask(true);
	fd = fake_accept(door);
	fake_send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	expect_error(-EPROTO, "HTTP instead of TCPROS");
	close(fd);
	ask(true);
	fd = fake_accept(door);
	fake_send(fd, "\x09\0\0\0\x05\0\0\0error", 13);
	expect_error(-EBADMSG, "malformed");
	close(fd);
	ask(true);
	fd = server();
	fake_send(fd, "\1\xff\xff\xff\xff", 5); /* 4 GiB */
	expect_error(-EMSGSIZE, "it answers with 4294967295 bytes");
	close(fd);
	ask(true);
	fd = server();
	fake_send(fd, "\1\1\0\0\0\1", 6); /* shorter than its type */
	expect_error(-EBADMSG, "its answer is malformed");
	close(fd);
	ask(true);
	fd = server();
	expect_request(fd, true);
	close(fd); /* in the middle */
	expect_error(-EBADMSG, "in the middle of an answer");
	ask(true);
	fd = server();
	expect_request(fd, true);
	expect_error(-ETIMEDOUT, "it does not answer in time"); /* 4.5 s */
	close(fd);
	ask(true);
	fd = server();
	expect_request(fd, true);
	reply(fd, "good");
	expect("good");
	close(fd);
}

/* By its .srv file: the md5 sum is that of the definition. */
TEST(a_user_defined_service_type_is_called)
{
	static const char *const own[] = {
		"call",
		"{\"/measure\":{\"type\":\"demo/Measure\",\"service\":\"m\",\"definition\":\"/tmp/Measure.srv\"}}", NULL
	};
	FILE *f = fopen("/tmp/Measure.srv", "w");
	unsigned port;
	int fd;

	assert_non_null(f);
	fputs("float64 x # [m] how far\n---\nfloat64[] y\nstring note\n", f);
	fclose(f);
	door = fake_listen(&port);
	fake_master_start(&master, 0);
	snprintf(master.service, sizeof(master.service), "rosrpc://127.0.0.1:%u", port);
	host_init(&h, PLUGIN, own);
	b = host_create(&h);
	assert_string_equal(h.served.type->name, "demo/Measure");
	h.served.fn(h.served.user, &(double){ 2 }, sizeof(double), (struct sim_pending *)(void *)&key);
	fd = fake_accept(door);
	assert_string_equal(fake_field(fd, "type"), "demo/Measure");
	fake_welcome(fd, MD5_MEASURE, "demo/Measure", NULL);
	fake_send(fd, "\1\x10\0\0\0\1\0\0\0\0\0\0\0\0\0\0\x40\0\0\0\0", 21);
	assert_int_equal(host_next_answer(&h).result, 0);
	close(fd);
	teardown(NULL);
}

static void refused(const char *call, const char *sentence)
{
	const char *const wrong[] = { "call", call, NULL };
	struct sim_bridge *none = NULL;

	host_init(&h, PLUGIN, wrong);
	assert_true(h.ops->create(&h.host, &none) < 0);
	host_wait_log(&h, sentence);
}

TEST(wrong_options_are_named)
{
	refused("[]", "options.call: an object is needed");
	refused("{\"/a\":{\"type\":\"std_srvs/SetBool\"}}", "options.call./a: {\"type\": ");
	refused("{\"/a\":{\"type\":\"a/B\",\"service\":\"c\"}}", "simd knows no service of type \"a/B\"");
	refused("{\"1\":{\"type\":\"std_srvs/SetBool\",\"service\":\"c\"}}", "\"1\" is not a name of ROS");
}
