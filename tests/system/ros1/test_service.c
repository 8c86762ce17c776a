/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services that this node offers, as callers see them: requests, order, errors, and callers that misbehave. All without
 * any part of ROS: test_peers.c has that. The test is the provider.
 */
#include "support/test.h"

#include <errno.h>
#include <sys/socket.h>

#include <sim/srv/PlaceVehicle.h>
#include <sim/srv/SetBool.h>
#include <sim/srv/Trigger.h>

#include "../ros2/host.h"
#include "fake.h"

#define MD5_SET_BOOL "09fb03525b03e7ea1fd3992bafd87e16"
#define MD5_TRIGGER  "937c9679a518e3a18d831e57125ea522"
#define MD5_PLACE    "55ac252ce9072ea3fb64b1c3fa725ea0" /* as genmsg computes it */

static const char *const no_options[] = { NULL };
static struct fake_master master;
static struct host h;
static struct sim_bridge *b;
static unsigned port;

static int setup(void **state)
{
	(void)state;
	unsetenv("ROS_IP");
	unsetenv("ROS_HOSTNAME");
	fake_master_start(&master, 0);
	host_init(&h, PLUGIN, no_options);
	b = host_create(&h);
	h.ops->service(b, "/lamp", &sim_SetBool_service);
	AWAIT(fake_master_calls(&master, "registerService", "/lamp"));
	pthread_mutex_lock(&master.lock);
	assert_int_equal(sscanf(master.call[master.n_calls - 1].type, "rosrpc://127.0.0.1:%u", &port), 1);
	pthread_mutex_unlock(&master.lock);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	h.ops->service(b, "/lamp", NULL);
	AWAIT(fake_master_calls(&master, "unregisterService", "/lamp"));
	h.ops->disconnect(b);
	h.ops->destroy(b);
	fake_master_stop(&master);
	return 0;
}

/* ---- both sides ---- */

static int caller(const char *key, const char *value)
{
	int fd = fake_connect(port, 0);

	fake_call(fd, "/lamp", MD5_SET_BOOL, key, value);
	assert_string_equal(fake_field(fd, "md5sum"), MD5_SET_BOOL);
	return fd;
}

static void ask(int fd, bool on)
{
	fake_publish(fd, on ? "\1" : "\0", 1);
}

static void serve(const struct host_call *call, const char *message)
{
	_Alignas(64) uint8_t body[256] = { 0 };
	struct sim_builder builder;
	struct sim_SetBoolResponse *r = sim_SetBoolResponse_init(body, sizeof(body), &builder);

	assert_string_equal(call->type->name, "sim/SetBool");
	r->success = 1;
	assert_int_equal(sim_SetBoolResponse_message_set(&builder, message), 0);
	call->fn(call->user, 0, "", body, sim_builder_size(&builder));
}

static bool asked_for(const struct host_call *call)
{
	return sim_SetBoolRequest_from(call->request, call->size)->data;
}

static void expect(int fd, const char *message)
{
	uint32_t len = 0;
	uint8_t ok = 9, *m = fake_answer(fd, &ok, &len);

	assert_non_null(m);
	assert_int_equal(ok, 1);
	assert_int_equal(len, 5 + strlen(message));
	assert_int_equal(m[0], 1);
	assert_int_equal(fake_u32(m + 1), strlen(message));
	assert_memory_equal(m + 5, message, strlen(message));
	free(m);
}

static void expect_error(int fd, const char *part)
{
	uint32_t len = 0;
	uint8_t ok = 9, *m = fake_answer(fd, &ok, &len);

	assert_non_null(m);
	assert_int_equal(ok, 0);
	m[len] = '\0';
	if (!strstr((char *)m, part))
		fail_msg("\"%s\" does not say \"%s\"", (char *)m, part);
	free(m);
}

static void expect_end(int fd)
{
	char some[256];

	assert_true(recv(fd, some, sizeof(some), 0) <= 0);
	close(fd);
}

/* ---- answers ---- */

TEST_WITH(a_request_is_answered, setup, teardown)
{
	struct host_call call;
	int fd = fake_connect(port, 0);

	fake_call(fd, "/lamp", "*", NULL, NULL);
	assert_string_equal(fake_field(fd, "type"), "std_srvs/SetBool");
	ask(fd, true);
	call = host_next_call(&h);
	assert_string_equal(call.service, "/lamp");
	assert_true(asked_for(&call));
	serve(&call, "lamp on");
	expect(fd, "lamp on");
	expect_end(fd); /* it is not persistent */
}

TEST_WITH(a_connection_may_be_persistent, setup, teardown)
{
	int fd = caller("persistent", "1");

	for (int i = 0; i < 3; i++) {
		struct host_call call;

		ask(fd, i == 1);
		call = host_next_call(&h);
		assert_int_equal(asked_for(&call), i == 1);
		serve(&call, i == 1 ? "on" : "");
		expect(fd, i == 1 ? "on" : "");
	}
	ask(fd, true); /* several at once: one after the other */
	ask(fd, false);
	for (int i = 0; i < 2; i++) {
		struct host_call call = host_next_call(&h);

		assert_int_equal(asked_for(&call), i == 0);
		serve(&call, "in order");
		expect(fd, "in order");
	}
	close(fd);
}

TEST_WITH(an_error_is_returned_with_its_text, setup, teardown)
{
	int fd = caller("persistent", "1");
	struct host_call call;

	ask(fd, true);
	call = host_next_call(&h);
	call.fn(call.user, -EIO, "the lamp is broken", NULL, 0);
	expect_error(fd, "the lamp is broken");
	fake_publish(fd, "\1\2", 2); /* longer than its type */
	expect_error(fd, "the request of std_srvs/SetBool is malformed");
	fake_publish(fd, "", 0);
	expect_error(fd, "malformed");
	ask(fd, true); /* and all is well again */
	call = host_next_call(&h);
	serve(&call, "on");
	expect(fd, "on");
	close(fd);
}

#define CALLERS 20

/* More than a provider takes at a time: the others wait for their turn, in order. */
TEST_WITH(calls_beyond_the_limit_wait_in_order, setup, teardown)
{
	struct host_call call;
	int fd[CALLERS];

	for (int i = 0; i < CALLERS; i++) {
		fd[i] = caller(NULL, NULL);
		ask(fd[i], true);
	}
	for (int i = 0; i < CALLERS; i++) {
		call = host_next_call(&h);
		if (i == 3) { /* it has enough for now: this one comes again */
			call.fn(call.user, -EBUSY, "", NULL, 0);
			call = host_next_call(&h);
		}
		serve(&call, "done");
	}
	for (int i = 0; i < CALLERS; i++) {
		expect(fd[i], "done");
		expect_end(fd[i]);
	}
}

TEST_WITH(a_probe_learns_the_type, setup, teardown)
{
	int fd = fake_connect(port, 0);

	fake_call(fd, "/lamp", "*", "probe", "1");
	assert_string_equal(fake_field(fd, "request_type"), "std_srvs/SetBoolRequest");
	expect_end(fd);
}

/* A user's own types: our fields, under our name. */
TEST_WITH(a_user_defined_type_has_an_md5_sum_too, setup, teardown)
{
	int fd = fake_connect(port, 0);

	h.ops->service(b, "/place", &sim_PlaceVehicle_service);
	fake_call(fd, "/place", MD5_PLACE, "probe", "1");
	assert_string_equal(fake_field(fd, "type"), "sim_msgs/PlaceVehicle");
	expect_end(fd);
	h.ops->service(b, "/place", NULL);
}

/* ---- they come and go ---- */

TEST_WITH(a_service_may_be_removed, setup, teardown)
{
	int idle = caller("persistent", "1"), fd = caller("persistent", "1");
	struct host_call call;

	ask(fd, true);
	call = host_next_call(&h);
	h.ops->service(b, "/lamp", NULL);
	expect_end(idle);
	serve(&call, "still answered");
	expect(fd, "still answered");
	expect_end(fd);
	AWAIT(fake_master_calls(&master, "unregisterService", "/lamp"));
	fake_master_forget(&master);
	h.ops->service(b, "/lamp", &sim_SetBool_service);
	AWAIT(fake_master_calls(&master, "registerService", "/lamp"));
	close(caller(NULL, NULL));
}

TEST_WITH(services_are_registered_again_with_a_master_that_forgot_them, setup, teardown)
{
	fake_master_forget(&master);
	AWAIT(fake_master_calls(&master, "registerService", "/lamp"));
	close(caller(NULL, NULL));
}

TEST_WITH(calls_are_counted, setup, teardown)
{
	int fd = caller("persistent", "1");
	struct xmlrpc_writer w = { .text = NULL };
	const struct xmlrpc_value *v;
	struct host_call call;
	struct xmlrpc_doc *d;

	ask(fd, true);
	call = host_next_call(&h);
	serve(&call, "on");
	expect(fd, "on");
	xmlrpc_call(&w, "getBusStats");
	xmlrpc_put_text(&w, "/asker");
	d = fake_ask(&master, &w);
	v = xmlrpc_at(xmlrpc_at(xmlrpc_at(d->params, 0), 2), 2);
	assert_int_equal(xmlrpc_int(xmlrpc_at(v, 0), 0), 1);
	assert_int_equal(xmlrpc_int(xmlrpc_at(v, 1), 0), 5);
	assert_int_equal(xmlrpc_int(xmlrpc_at(v, 2), 0), 12);
	xmlrpc_free(d);
	host_wait_log(&h, "as /simd; services: 1");
	close(fd);
}

/* ---- wrong callers ---- */

static void refused(const char *service, const char *md5, const char *why)
{
	int fd = fake_connect(port, 0);
	const char *error;

	fake_call(fd, service, md5, NULL, NULL);
	error = fake_field(fd, "error");
	if (!strstr(error, why))
		fail_msg("\"%s\" does not say \"%s\"", error, why);
	expect_end(fd);
}

TEST_WITH(invalid_callers_get_the_reason, setup, teardown)
{
	int idle = caller(NULL, NULL), half = caller("persistent", "1"), fd;
	struct host_call call;

	fake_send(half, "\1\0\0", 3); /* and never more */
	refused("/none", "*", "does not offer service /none");
	refused("/lamp", MD5_TRIGGER, "is std_srvs/SetBool with md5sum " MD5_SET_BOOL);
	refused("/lamp", "", "has no md5sum");
	fd = caller("persistent", "1");
	fake_send(fd, "\xff\xff\xff\xff", 4); /* 4 GiB */
	expect_error(fd, "a request of 4294967295 bytes");
	expect_end(fd);
	fd = caller(NULL, NULL);
	fake_send(fd, "GET / HTTP/1.1\r\n\r\n", 18);
	expect_error(fd, "bytes");
	expect_end(fd);
	host_wait_log(&h, "; refused: ");
	fd = caller(NULL, NULL);
	ask(fd, true);
	call = host_next_call(&h);
	serve(&call, "still here");
	expect(fd, "still here");
	close(fd);
	close(half);
	close(idle);
}

/* Its answer goes nowhere, and the next one gets its own. */
TEST_WITH(a_caller_that_disconnects_leaks_nothing, setup, teardown)
{
	int fd = caller("persistent", "1");
	struct host_call call;

	ask(fd, true);
	call = host_next_call(&h);
	close(fd);
	fd = caller(NULL, NULL);
	serve(&call, "to nobody");
	ask(fd, false);
	call = host_next_call(&h);
	assert_false(asked_for(&call));
	serve(&call, "to me");
	expect(fd, "to me");
	expect_end(fd);
}
