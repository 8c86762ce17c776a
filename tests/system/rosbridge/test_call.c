/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of the server, called for simd's clients: answers, errors, servers that disconnect during a call,
 * unrequested answers. The test is both the server, whose answers it chooses, and the calling host.
 */
#include "support/test.h"

#include <errno.h>

#include <sim/srv/SetBool.h>

#include "line.h"

#define LAMP "{\"/lamp\":{\"type\":\"std_srvs/SetBool\",\"service\":\"far/lamp\"}}"

static const char *const options[] = { "call", LAMP, NULL };
static char key; /* its address is a request */

static int setup(void **state)
{
	(void)state;
	line_up(options, NULL);
	assert_string_equal(line_host.served.name, "far/lamp");
	assert_string_equal(line_host.served.type->name, "sim/SetBool");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	line_down();
	assert_string_equal(line_host.served.name, "");
	return 0;
}

static void ask(const void *body, size_t size)
{
	line_host.served.fn(line_host.served.user, body, size, (struct sim_pending *)(void *)&key);
}

static void ask_lamp(bool on)
{
	struct sim_SetBoolRequest q = { .data = on };

	ask(&q, sizeof(q));
}

/* The n-th request of a service has come: its id, and its args as text. */
static const char *expect_request(const char *service, uint64_t n, const char *args)
{
	static char id[64];
	char *text;
	json_t *j;

	AWAIT(rosbridge_server_count(line_server, "call_service", service) == n);
	j = rosbridge_server_last(line_server, "call_service", service);
	snprintf(id, sizeof(id), "%s", json_string_value(json_object_get(j, "id")));
	text = json_dumps(json_object_get(j, "args"), JSON_COMPACT);
	assert_string_equal(text, args);
	free(text);
	json_decref(j);
	return id;
}

/* more: what follows the id. */
static void reply(const char *id, const char *more)
{
	char text[400];

	snprintf(text, sizeof(text), "{\"op\":\"service_response\",\"service\":\"/lamp\",\"id\":\"%s\"%s}", id, more);
	rosbridge_server_text(line_server, text);
}

static void expect(const char *message)
{
	struct host_answer a = host_next_answer(&line_host);
	const struct sim_SetBoolResponse *r = sim_SetBoolResponse_from(a.response, a.size);

	if (a.result != 0)
		fail_msg("%d: %s", a.result, a.why);
	assert_ptr_equal(a.p, &key);
	assert_non_null(r);
	assert_true(r->success);
	assert_string_equal(sim_SetBoolResponse_message(r, a.size), message);
}

static void expect_error(int result, const char *part)
{
	struct host_answer a = host_next_answer(&line_host);

	if (a.result != result || !strstr(a.why, part))
		fail_msg("%d \"%s\" is not %d \"%s\"", a.result, a.why, result, part);
}

TEST_WITH(a_service_of_the_server_answers, setup, teardown)
{
	char first[64];

	ask_lamp(true);
	snprintf(first, sizeof(first), "%s", expect_request("/lamp", 1, "{\"data\":true}"));
	reply(first, ",\"values\":{\"success\":true,\"message\":\"on\"},\"result\":true");
	expect("on");
	ask_lamp(false);
	assert_string_not_equal(expect_request("/lamp", 2, "{\"data\":false}"), first);
	/* no call waits for that */
	reply(first, ",\"values\":{\"success\":true,\"message\":\"late\"},\"result\":true");
	reply(expect_request("/lamp", 2, "{\"data\":false}"),
	      ",\"values\":{\"success\":true,\"message\":\"\"},\"result\":true");
	expect("");
	host_wait_log(&line_host, "that nobody waits for");
}

TEST_WITH(an_error_of_the_server_is_returned, setup, teardown)
{
	ask_lamp(true);
	reply(expect_request("/lamp", 1, "{\"data\":true}"),
	      ",\"values\":\"Service /lamp does not exist\",\"result\":false");
	expect_error(-EREMOTEIO, "/lamp of the rosbridge server: Service /lamp does not exist");
	ask_lamp(true);
	reply(expect_request("/lamp", 2, "{\"data\":true}"), ",\"values\":{},\"result\":false");
	expect_error(-EREMOTEIO, "it failed without a reason");
}

TEST_WITH(malformed_answers_are_errors, setup, teardown)
{
	static const char *const wrong[] = {
		"",
		",\"result\":true",
		",\"result\":true,\"values\":7",
		",\"result\":true,\"values\":{\"success\":\"what\"}",
		",\"result\":true,\"values\":{\"success\":true,\"message\":5}",
		",\"result\":\"yes\",\"values\":{\"success\":true,\"message\":\"\"}",
		",\"values\":{\"success\":true,\"message\":\"\"}",
	};
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ask_lamp(true);
		reply(expect_request("/lamp", ++n, "{\"data\":true}"), wrong[i]);
		expect_error(-EBADMSG, "its answer is not a valid sim/SetBool: it is malformed");
	}
	reply("simd-call-1", ",\"result\":true");
	reply("", "");
	rosbridge_server_text(line_server, "{\"op\":\"service_response\"}");
	ask_lamp(true);
	reply(expect_request("/lamp", ++n, "{\"data\":true}"),
	      ",\"values\":{\"success\":true,\"message\":\"sound\"},\"result\":true");
	expect("sound");
}

TEST_WITH(a_call_without_an_answer_times_out, setup, teardown)
{
	ask_lamp(true);
	expect_request("/lamp", 1, "{\"data\":true}");
	expect_error(-ETIMEDOUT, "it does not answer in time"); /* 4.5 s */
	reply("simd-call-1", ",\"values\":{\"success\":true,\"message\":\"late\"},\"result\":true");
	host_wait_log(&line_host, "that nobody waits for");
}

TEST_WITH(a_lost_connection_ends_open_calls, setup, teardown)
{
	ask_lamp(true);
	expect_request("/lamp", 1, "{\"data\":true}");
	rosbridge_server_drop(line_server);
	expect_error(-ENOTCONN, "the connection has ended before it answered");
	host_wait_log(&line_host, "unexpectedly");
	ask_lamp(true);
	expect_error(-ENOTCONN, "there is no connection");
	assert_int_equal(line_host.ops->connect(line_bridge, line_host.connection), 0); /* as the host does */
	AWAIT(rosbridge_server_greeted(line_server) == 2);
	AWAIT(line_host.ops->status(line_bridge) == SIM_BRIDGE_CONNECTED);
	ask_lamp(false);
	reply(expect_request("/lamp", 2, "{\"data\":false}"),
	      ",\"values\":{\"success\":true,\"message\":\"again\"},\"result\":true");
	expect("again");
}

/* Calls made when the bridge ends are answered too. */
TEST_WITH(the_end_of_the_bridge_ends_open_calls, setup, NULL)
{
	ask_lamp(true);
	expect_request("/lamp", 1, "{\"data\":true}");
	line_down();
	expect_error(-ENOTCONN, "the connection has ended before it answered");
}

/* ---- types ---- */

#define SRV "/tmp/Measure.srv"

static void write_srv(void)
{
	FILE *f = fopen(SRV, "w");

	assert_non_null(f);
	fputs("float64 x\n---\nfloat64[] y\nstring note\n", f);
	fclose(f);
}

/* By its definition; of the answer the fields are found in the table that it made. */
TEST(a_user_defined_service_type_is_called)
{
	static const char *const own[] = {
		"call",
		"{\"/measure\":{\"type\":\"demo/srv/Measure\",\"service\":\"measure\",\"definition\":\"" SRV "\"}}",
		NULL
	};
	struct host_answer a;
	struct sim_span y;
	double v[2];

	write_srv();
	line_up(own, NULL);
	assert_string_equal(line_host.served.type->name, "demo/Measure");
	assert_string_equal(line_host.served.type->response->fields[0].name, "y");
	ask(&(double){ 0.1 }, sizeof(double));
	reply(expect_request("/measure", 1, "{\"x\":0.10000000000000001}"),
	      ",\"values\":{\"y\":[1.5,-2],\"note\":\"n\"},\"result\":true");
	a = host_next_answer(&line_host);
	if (a.result != 0)
		fail_msg("%s", a.why);
	memcpy(&y, a.response + line_host.served.type->response->fields[0].offset, sizeof(y));
	assert_int_equal(y.count, 2);
	memcpy(v, a.response + y.offset, sizeof(v));
	assert_true(v[0] == 1.5 && v[1] == -2);
	line_down();
}

TEST(wrong_options_are_named)
{
	write_srv();
	line_refused("call", "[]", "options.call: an object is needed");
	line_refused("call", "{\"/a\":{\"type\":\"std_srvs/SetBool\"}}", "options.call./a: {\"type\": ");
	line_refused("call", "{\"/a\":{\"type\":\"a/B\",\"service\":\"c\"}}",
		     "simd knows no service of type \"a/B\" (std_srvs/SetBool, ");
	line_refused("call", "{\"/a\":{\"type\":\"nothing\",\"service\":\"c\"}}", "is not of the form package/Name");
	line_refused("call", "{\"/a b\":{\"type\":\"std_srvs/SetBool\",\"service\":\"c\"}}",
		     "is not the name of a topic");
	line_refused("call", "{\"/a\":{\"type\":\"demo/Measure\",\"service\":\"c\",\"definition\":\"/tmp/none.srv\"}}",
		     "options.call./a: /tmp/none.srv: ");
	line_refused("call", "{\"/a\":{\"type\":\"demo/Other\",\"service\":\"c\",\"definition\":\"" SRV "\"}}",
		     "is not named Other.srv");
}
