/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of other nodes for the clients of simd, by the ROS 2 bridge's option "call": the servers are DDS programs in other processes
 * (server.c), the host is the test's. Each request has one answer, whatever a server does: it answers, refuses, is slow or silent, goes away,
 * or sends what nobody asked for. What is wrong is named.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <sim/srv/SetBool.h>

#include "asker.h"
#include "host.h"
#include "reader.h"
#include "ros/ros_definition.h"
#include "ros/ros_text.h"
#include "ros/ros_type.h"
#include "server.h"

#define ECHO_SRV "float64 x\nfloat64 y\nfloat64 z\n---\nbool success\nstring message\n"
#define CALL     "{\"/lamp\":{\"type\":\"std_srvs/srv/SetBool\",\"service\":\"lamp\"}}"

static struct host h;
static struct sim_bridge *b;

static void begin(const char *call)
{
	static const char *options[] = { "ros_distro", "humble", "localhost", "true", "call", NULL, NULL };

	options[5] = call;
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_string_equal(h.served.name, "lamp");
}

static void end(void)
{
	h.ops->disconnect(b);
	assert_string_equal(h.served.name, "");
	h.ops->destroy(b);
}

static void ask(bool on)
{
	static char pending;
	const struct sim_SetBoolRequest q = { .data = on };

	h.served.fn(h.served.user, &q, sizeof(q), (struct sim_pending *)(void *)&pending);
}

static void is_answered(bool success, const char *text)
{
	struct host_answer a = host_next_answer(&h);
	const struct sim_SetBoolResponse *m = (const void *)a.response;

	assert_string_equal(a.why, "");
	assert_int_equal(a.result, 0);
	assert_int_equal(m->success, success);
	assert_string_equal((const char *)a.response + m->message.offset, text);
}

static void is_failed(int result, const char *why)
{
	struct host_answer a = host_next_answer(&h);

	assert_string_equal(a.why, why);
	assert_int_equal(a.result, result);
}

/* ---- servers as they should be ---- */

TEST(a_server_answers)
{
	struct server s = server_start("/lamp", "a", HASH_RIGHT);

	begin(CALL);
	assert_string_equal(h.served.type->name, "sim/SetBool");
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	for (int i = 0; i < 50; i++) {
		ask(i % 2);
		is_answered(true, i % 2 ? "on" : "off");
	}
	end();
	server_stop(&s);
}

TEST(a_server_of_humble_answers)
{
	struct server s = server_start("/lamp", "ra", HASH_NONE);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	ask(true);
	is_answered(false, "it is broken");
	ask(true);
	is_answered(true, "on");
	end();
	server_stop(&s);
}

TEST(an_answer_may_come_later)
{
	struct server s = server_start("/lamp", "w", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	for (int i = 0; i < 3; i++) {
		ask(true);
		server_await(&s, SERVER_WAITS);
		server_go(&s);
		is_answered(true, "on");
	}
	end();
	server_stop(&s);
}

/* simd does not ask for two at a time; who does has an answer. */
TEST(a_second_request_is_refused)
{
	struct server s = server_start("/lamp", "w", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	ask(true);
	ask(false);
	is_failed(-EBUSY, "/lamp of ROS 2: Device or resource busy");
	server_go(&s);
	is_answered(true, "on");
	end();
	server_stop(&s);
}

/* A program of simd offers a service of that name, which is one of our own node: it would call itself. */
TEST(our_own_service_is_not_called)
{
	begin(CALL);
	h.ops->service(b, "/lamp", &sim_SetBool_service);
	ask(true);
	is_failed(-ENOENT, "/lamp of ROS 2: no node serves it");
	end();
}

/* ---- what others see ---- */

#define LISTS "{\"/talker/list_parameters\":{\"type\":\"rcl_interfaces/srv/ListParameters\",\"service\":\"lamp\"}}"

static void is_half(dds_entity_t p, bool writes)
{
	struct reader_watch w = { .topic = "rr/talker/list_parametersReply" };
	char type_name[128], user_data[256], want[128];
	const struct ros_type *t;
	struct ros_text *made;

	if (!writes) {
		EXPECT(reader_watch(p, &w, true) == 0);
		return;
	}
	EXPECT(ros_definition_type(ros2_types, "rcl_interfaces/srv/ListParameters_Request", &t, &made) == 0);
	snprintf(want, sizeof(want), ";typehash=%s;", t->hash);
	EXPECT(reader_discover(p, "rq/talker/list_parametersRequest", type_name, user_data) == 0);
	EXPECT(strcmp(type_name, "rcl_interfaces::srv::dds_::ListParameters_Request_") == 0);
	EXPECT(strncmp(user_data, "clientid=", 9) == 0 && strstr(user_data, want));
}

/* A client's two endpoints, which belong to our node. */
static void peer_looks(void)
{
	dds_entity_t p = reader_participant(), r;
	uint32_t readers = 0, writers = 0;

	EXPECT(p > 0);
	is_half(p, true);
	is_half(p, false);
	r = reader_open(p, &seen_graph24_desc, "ros_discovery_info", true);
	while (readers != 1 + 6 || writers != 1 + 7) { /* six services of parameters, and /parameter_events */
		struct seen_graph24 *g = calloc(1, sizeof(*g));
		const struct seen_node *n;

		EXPECT(reader_take(r, g) == 0 && g->nodes._length == 1);
		n = (const struct seen_node *)(const void *)g->nodes._buffer;
		readers = n->readers._length;
		writers = n->writers._length;
	}
	_exit(0);
}

/* The type is known by its definition, which is here: its fields are the rig's to use, its hash is that of ROS. */
TEST(a_client_is_seen)
{
	const struct sim_service_type *t;
	pid_t pid = fork();
	int status;

	if (!pid)
		peer_looks();
	begin(LISTS);
	t = h.served.type;
	assert_string_equal(t->name, "rcl_interfaces/ListParameters");
	assert_int_equal(t->request->n_fields, 2);
	assert_string_equal(t->request->fields[0].name, "prefixes");
	assert_string_equal(t->response->fields[0].name, "result");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	end();
}

/* ---- servers that come and go ---- */

TEST(a_server_that_comes_after_the_request)
{
	struct server s = server_start("/lamp", "a", HASH_RIGHT);
	struct host_answer a;

	begin(CALL);
	ask(true);
	is_failed(-ENOENT, "/lamp of ROS 2: no node serves it");
	server_go(&s);
	do { /* a machine that is busy may take longer to find it than a request waits */
		ask(true);
		a = host_next_answer(&h);
	} while (a.result == -ENOENT);
	assert_int_equal(a.result, 0);
	end();
	server_stop(&s);
}

TEST(a_server_that_goes_and_comes_back)
{
	struct server first = server_start("/lamp", "aq", HASH_RIGHT), second = server_start("/lamp", "a", HASH_RIGHT);

	begin(CALL);
	server_go(&first);
	server_await(&first, SERVER_MATCHED);
	ask(true);
	is_answered(true, "on");
	ask(true);
	is_failed(-EPIPE, "/lamp of ROS 2: its node has gone before it answered");
	server_go(&second);
	server_await(&second, SERVER_MATCHED);
	ask(false);
	is_answered(true, "off");
	end();
	server_stop(&first);
	server_stop(&second);
}

/* The other one is a new bridge of the same rig: its requests begin with the number 1 again. */
TEST(the_bridge_starts_again)
{
	struct server s = server_start("/lamp", "a", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	ask(true);
	is_answered(true, "on");
	end();
	begin(CALL);
	ask(false);
	is_answered(true, "off");
	end();
	server_stop(&s);
}

TEST(a_request_is_open_when_the_bridge_ends)
{
	struct server s = server_start("/lamp", "n", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	ask(true);
	server_await(&s, SERVER_NEVER);
	end();
	is_failed(-ECANCELED, "/lamp of ROS 2: the bridge ends");
	server_stop(&s);
}

/* ---- servers as they should not be ---- */

/* The late one is answered for another client, whose request it is not. */
TEST(a_server_that_is_silent_then_late)
{
	struct server s = server_start("/lamp", "wa", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	ask(true);
	server_await(&s, SERVER_WAITS);
	is_failed(-ETIMEDOUT, "/lamp of ROS 2: it does not answer in time");
	ask(false);
	server_go(&s);
	is_answered(true, "off");
	host_wait_log(&h,
		      "service /lamp of ROS 2: a reply is ignored: its request was answered, or given up (1 so far)");
	end();
	server_stop(&s);
}

TEST(a_server_that_answers_twice)
{
	struct server s = server_start("/lamp", "ta", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	ask(true);
	is_answered(true, "on");
	host_wait_log(&h, "a reply is ignored: its request was answered, or given up");
	ask(false);
	is_answered(true, "off");
	end();
	server_stop(&s);
}

TEST(replies_to_others_and_to_what_was_never_asked)
{
	struct server s = server_start("/lamp", "fa", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	ask(true);
	is_answered(true, "on");
	host_wait_log(&h, "a reply is ignored: nothing with its number was asked (1 so far)");
	ask(false);
	is_answered(true, "off");
	end();
	assert_null(strstr(h.log, "(200 so far)"));
	assert_non_null(strstr(h.log, "(128 so far)"));
	server_stop(&s);
}

TEST(replies_that_are_too_long)
{
	struct server s = server_start("/lamp", "lha", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	ask(true);
	is_failed(-EMSGSIZE, "/lamp of ROS 2: its answer is longer than 65536 bytes");
	ask(true);
	is_answered(true, "on");
	host_wait_log(&h, "a reply is ignored: it is longer than 4 MiB (1 so far)");
	ask(false);
	is_answered(true, "off");
	end();
	server_stop(&s);
}

TEST(replies_that_are_malformed)
{
	struct server s = server_start("/lamp", "sbxa", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	for (int i = 0; i < 3; i++) {
		struct host_answer a;

		ask(true);
		a = host_next_answer(&h);
		assert_int_equal(a.result, -EBADMSG);
		assert_non_null(strstr(a.why, "/lamp of ROS 2: its answer is malformed: "));
	}
	ask(false);
	is_answered(true, "off");
	end();
	server_stop(&s);
}

TEST(a_service_of_another_type_is_named)
{
	struct server s = server_start("/lamp", "o", HASH_RIGHT);

	begin(CALL);
	server_go(&s);
	host_wait_log(&h,
		      "service /lamp of ROS 2 is served as std_srvs/srv/Trigger, and called as std_srvs/srv/SetBool");
	host_wait_log(&h, "; but service /lamp is served as std_srvs/srv/Trigger");
	ask(true);
	is_failed(-ENOENT, "/lamp of ROS 2: it is served as std_srvs/srv/Trigger, which is another type");
	end();
	server_stop(&s);
}

TEST(a_service_of_another_definition_is_named)
{
	struct server s = server_start("/lamp", "a", HASH_OTHER);

	begin(CALL);
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	ask(true);
	is_failed(-ENOENT, "/lamp of ROS 2: its node is not asked: it has another definition of the type");
	host_wait_log(&h, " is not asked: it has another definition of the type");
	end();
	server_stop(&s);
}

/* Each has all requests: the second answer is for none that is open. */
TEST(two_servers_are_named)
{
	struct server first = server_start("/lamp", "a", HASH_RIGHT), second = server_start("/lamp", "a", HASH_RIGHT);

	begin(CALL);
	server_go(&first);
	server_go(&second);
	host_wait_log(&h,
		      "service /lamp of ROS 2: 2 nodes serve it: each gets all requests, and the first answer counts");
	for (int i = 0; i < 10; i++) {
		ask(true);
		is_answered(true, "on");
	}
	end();
	server_stop(&first);
	server_stop(&second);
}

/* ---- servers of rmw_fastrtps ---- */

/* Of a type of the user's own, which the rig gives by its file; the server is fastdds_asker.cpp's. */
static void begin_echo(void)
{
	static char call[200];
	char dir[] = "/tmp/call-XXXXXX", path[64];
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/Echo.srv", dir);
	snprintf(call, sizeof(call),
		 "{\"/lamp\":{\"type\":\"demo/srv/Echo\",\"service\":\"lamp\",\"definition\":\"%s\"}}", path);
	f = fopen(path, "we");
	assert_true(f && fputs(ECHO_SRV, f) >= 0 && fclose(f) == 0);
	begin(call);
	assert_string_equal(h.served.type->name, "demo/Echo");
	unlink(path);
	rmdir(dir);
}

static pid_t start_fast(const char *a, const char *more)
{
	pid_t pid;

	if (access(ASKER, X_OK) != 0) {
		print_message("no Fast DDS when this was built: run tools/dev/deps.sh check\n");
		exit(getenv("FULL") ? 1 : 77);
	}
	pid = fork();
	if (pid)
		return pid;
	execl(ASKER, "fastdds-asker", "serve", "/lamp", a, more, (char *)NULL);
	_exit(127);
}

static void stop_fast(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct host_answer echo(unsigned number, unsigned size)
{
	static char pending;
	const double q[] = { 7, number, size };

	h.served.fn(h.served.user, q, sizeof(q), (struct sim_pending *)(void *)&pending);
	return host_next_answer(&h);
}

/* A node that is found late is no fault of it. */
static struct host_answer first_echo(unsigned size)
{
	struct host_answer a;

	do
		a = echo(0, size);
	while (a.result == -ENOENT);
	return a;
}

static void is_echo(const struct host_answer *a, unsigned number, unsigned size)
{
	const struct sim_SetBoolResponse *m = (const void *)a->response;
	char want[32];
	size_t n = (size_t)snprintf(want, sizeof(want), "7 %u ", number);

	assert_string_equal(a->why, "");
	assert_int_equal(a->result, 0);
	assert_true(m->success);
	assert_int_equal(m->message.count, size > n ? size : n);
	assert_memory_equal(a->response + m->message.offset, want, n);
}

static void fast_answers(const char *a, const char *more, unsigned size)
{
	pid_t pid = start_fast(a, more);
	struct host_answer r;

	begin_echo();
	r = first_echo(size);
	is_echo(&r, 0, size);
	for (unsigned i = 1; i < 50; i++) {
		r = echo(i, size);
		is_echo(&r, i, size);
	}
	end();
	stop_fast(pid);
}

TEST(a_server_of_rmw_fastrtps_answers)
{
	fast_answers("named=1", NULL, 0);
	assert_null(strstr(h.log, "ignored"));
}

TEST(a_server_that_replies_to_the_writer_of_the_request)
{
	fast_answers("writer=1", "async=1", 40000);
}

TEST(one_of_which_packets_are_lost)
{
	fast_answers("loss=7", NULL, 20);
}

TEST(one_that_replies_twice_and_to_others)
{
	fast_answers("twice=1", "foreign=20", 20);
	assert_non_null(strstr(h.log, "a reply is ignored: nothing with its number was asked"));
	assert_non_null(strstr(h.log, "a reply is ignored: its request was answered, or given up"));
}

TEST(one_that_is_silent_once)
{
	pid_t pid = start_fast("silent=2", NULL);
	struct host_answer a;

	begin_echo();
	a = first_echo(0);
	is_echo(&a, 0, 0);
	a = echo(1, 0);
	assert_int_equal(a.result, -ETIMEDOUT);
	a = echo(2, 0);
	is_echo(&a, 2, 0);
	end();
	stop_fast(pid);
}

TEST(one_with_too_long_a_reply)
{
	pid_t pid = start_fast("longer=70000", NULL);
	struct host_answer a;

	begin_echo();
	a = first_echo(1000);
	assert_int_equal(a.result, -EMSGSIZE);
	a = echo(1, 0);
	is_echo(&a, 1, 0);
	end();
	stop_fast(pid);
}

TEST(one_that_leaves_and_another_that_comes)
{
	pid_t first = start_fast("leaves=2", NULL), second;
	struct host_answer a;
	int status;

	begin_echo();
	a = first_echo(0);
	is_echo(&a, 0, 0);
	a = echo(1, 0);
	assert_int_equal(a.result, -EPIPE);
	assert_int_equal(waitpid(first, &status, 0), first);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	second = start_fast("async=0", NULL);
	a = first_echo(0);
	is_echo(&a, 0, 0);
	end();
	stop_fast(second);
}

TEST_PROCESSES()
