/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that break the protocol, flood, or do not read: they are cut off, simd and the others go on. */
#include "unit/control/peer.h"

#include <errno.h>
#include <sim/types.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/conn.h"
#include "control/control.h"
#include "err.h"
#include "fd.h"
#include "log.h"
#include "wire/lane.h"

static struct desk desk;
static struct peer bad, good;

static int begin(void **state)
{
	(void)state;
	desk_open(&desk, ", \"limits\": {\"message_kib\": 16, \"output_kib\": 64, \"connections\": 4}");
	peer_open(&desk, &bad);
	peer_open(&desk, &good);
	return 0;
}

static int end(void **state)
{
	(void)state;
	peer_close(&bad);
	assert_int_equal(peer_call(&good, "GetInfo", "{}", NULL), 0); /* the others never notice */
	peer_close(&good);
	assert_int_equal(control_connections(desk.control), 0);
	desk_close(&desk);
	return 0;
}

static void expect_cut(void)
{
	bool closed = false;

	for (int i = 0; i < 8 && !closed; i++)
		(void)peer_next(&bad, &closed);
	assert_true(closed);
}

static void count_line(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)level;
	(void)topic;
	(void)text;
	++*(unsigned *)user;
}

/* Like a process that exits: its kernel closes the socket, whatever is still being sent to it. */
TEST_WITH(a_client_that_leaves_before_its_reply_is_not_logged, begin, end)
{
	static const char call[] = "{\"method\":\"io.simd.Control.GetInfo\"}";
	unsigned lines = 0;

	log_set_spec("control:info");
	log_set_handler(count_line, &lines);
	assert_int_equal(send(bad.fd, call, sizeof(call), MSG_NOSIGNAL), sizeof(call));
	fd_close(fd_steal(&bad.fd));
	exec_sim_settle(desk.x);
	assert_int_equal(control_connections(desk.control), 1);
	assert_int_equal(lines, 0);
	log_set_handler(NULL, NULL);
	log_set_spec("none");
}

TEST_WITH(input_that_is_not_varlink_ends_the_connection, begin, end)
{
	peer_send(&bad, "GET / HTTP/1.1\r\n\r\n", 19);
	expect_cut();
}

TEST_WITH(input_that_is_not_a_json_object_ends_the_connection, begin, end)
{
	peer_send(&bad, "[1, 2]", 7);
	expect_cut();
}

TEST_WITH(a_message_without_end_ends_the_connection, begin, end)
{
	static char flood[64 * 1024];

	memset(flood, ' ', sizeof(flood));
	peer_send(&bad, flood, sizeof(flood));
	expect_cut();
}

TEST_WITH(nesting_is_bounded, begin, end)
{
	static char deep[8192];

	memset(deep, '[', sizeof(deep) - 1);
	peer_send(&bad, deep, sizeof(deep));
	expect_cut();
}

/* No method takes descriptors, whatever the call contains. */
TEST_WITH(passed_descriptors_end_the_connection, begin, end)
{
	static const char call[] = "{\"method\": \"io.simd.Control.GetInfo\", \"fds\": 1}";
	int fd = STDERR_FILENO;

	assert_true(fd_send(bad.fd, call, sizeof(call), &fd, 1, 0) > 0);
	expect_cut();
}

/* A byte with the sender's own end, which would keep the connection open for ever if simd kept that. */
TEST_WITH(a_connection_cannot_keep_itself_open, begin, end)
{
	for (int i = 0; i < 640; i++) {
		struct peer p;

		peer_open(&desk, &p);
		assert_int_equal(fd_send(p.fd, "{", 1, &p.fd, 1, 0), 1);
		peer_close(&p);
	}
	assert_int_equal(control_connections(desk.control), 2);
	assert_ok(peer_call(&good, "GetInfo", "{}", NULL));
}

/* ---- silence ---- */

static void expect_words(const char *words)
{
	struct varlink_answer a;

	assert_non_null(peer_next(&bad, NULL));
	assert_int_equal(varlink_msg_answer(&bad.msg, &a), 0);
	assert_int_equal(varlink_answer_errno(&a), -ETIMEDOUT);
	if (!strstr(err_why(), words))
		fail_msg("%s", err_why());
	expect_cut();
}

TEST_WITH(an_incomplete_message_is_not_waited_for_long, begin, end)
{
	peer_hello(&bad, "slow", "tool");
	peer_hello(&good, "other", "tool");
	desk_run(&desk, 3600 * S); /* a session may be silent */
	peer_send(&bad, "{\"method\":", 10);
	desk_run(&desk, 50 * S);
	peer_send(&bad, "\"io.simd", 8); /* a byte now and then does not help */
	desk_run(&desk, 9 * S);
	assert_null(peer_next(&bad, NULL));
	desk_run(&desk, 2 * S);
	expect_words("waited 60 s for the rest of a message");
}

TEST_WITH(a_silent_connection_is_closed, begin, end)
{
	desk_run(&desk, 50 * S);
	assert_ok(peer_call(&good, "GetInfo", "{}", NULL));
	desk_run(&desk, 11 * S);
	expect_words("waited 60 s for a call");
	assert_ok(peer_call(&good, "GetInfo", "{}", NULL)); /* a client that calls now and then may stay */
	desk_run(&desk, 59 * S);
	assert_ok(peer_call(&good, "GetInfo", "{}", NULL));
	desk_run(&desk, 59 * S);
}

TEST_WITH(connections_that_listen_or_wait_may_be_silent, begin, end)
{
	static const char events[] = "{\"method\": \"io.simd.Control.Events\", \"more\": true}";
	static const char step[] = "{\"method\": \"io.simd.Control.StepClock\", \"parameters\": {\"dur_ns\": 5}}";

	peer_send(&bad, events, sizeof(events));
	assert_non_null(peer_next(&bad, NULL));
	peer_hello(&good, "other", "tool");
	assert_ok(peer_call(&good, "PauseClock", "{}", NULL));
	desk_run(&desk, 3600 * S);
	peer_send(&bad, step, sizeof(step)); /* time has no driver: it waits for its deadline at least */
	desk_run(&desk, 3600 * S);
	assert_int_equal(control_connections(desk.control), 2);
}

/* Asks for much and reads nothing. */
TEST_WITH(a_client_that_does_not_read_is_disconnected, begin, end)
{
	static const char call[] = "{\"method\": \"io.simd.Control.GetConfig\"}";
	uint32_t before = control_connections(desk.control);

	for (int i = 0; i < 2000 && control_connections(desk.control) == before; i++) {
		if (send(bad.fd, call, sizeof(call), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EPIPE)
			break;
		desk_run(&desk, MS);
	}
	assert_int_equal(control_connections(desk.control), before - 1);
}

static void jump(int i)
{
	assert_ok(peer_call(&good, "SetSource", i % 2 ? "{\"source\": \"system\"}" : "{\"source\": \"simulation\"}",
			    NULL));
}

static const char listen_call[] = "{\"method\": \"io.simd.Control.Events\", \"more\": true}";

/* Its session ends when it is too far behind; it hears how much was dropped, if it reads then. */
TEST_WITH(a_listener_that_does_not_read_is_disconnected, begin, end)
{
	struct varlink_answer a;
	json_t *j, *last = NULL;

	peer_hello(&bad, "slow", "tool");
	peer_send(&bad, listen_call, sizeof(listen_call));
	desk_run(&desk, MS);
	for (int i = 0; i < 20000 && desk.simd->n_clients; i++)
		jump(i);
	assert_int_equal(desk.simd->n_clients, 0);
	while ((j = peer_next(&bad, NULL))) {
		json_decref(last);
		last = json_incref(j);
	}
	assert_int_equal(varlink_msg_answer(&(struct varlink_msg){ .json = last }, &a), 0);
	assert_int_equal(varlink_answer_errno(&a), -ENOBUFS);
	assert_non_null(strstr(err_why(), "messages for this connection, which does not read them"));
	json_decref(last);
	desk_run(&desk, MS);
	assert_int_equal(control_connections(desk.control), 1);
}

TEST_WITH(a_close_waits_only_seconds_for_unread_output, begin, end)
{
	static const char call[] = "{\"method\": \"io.simd.Control.GetInfo\"}";

	peer_hello(&bad, "slow", "tool");
	for (int i = 0; i < 230; i++) /* until its socket is full */
		peer_send(&bad, call, sizeof(call));
	peer_send(&bad, listen_call, sizeof(listen_call));
	desk_run(&desk, MS);
	for (int i = 0; i < 20000 && desk.simd->n_clients; i++)
		jump(i);
	desk_run(&desk, 4 * S);
	assert_int_equal(control_connections(desk.control), 2);
	desk_run(&desk, 2 * S);
	assert_int_equal(control_connections(desk.control), 1);
}

/* ---- bounds over all connections ---- */

static int begin_many(void **state)
{
	(void)state;
	desk_open(&desk, ", \"limits\": {\"output_kib\": 1024, \"output_total_kib\": 256, \"connections\": 64, "
			 "\"connections_per_process\": 12}");
	peer_open(&desk, &bad);
	peer_open(&desk, &good);
	return 0;
}

TEST_WITH(unread_streams_share_one_bound, begin_many, end)
{
	struct peer slow[10];
	struct mem_stats before, now;
	int64_t most = 0;

	for (int i = 0; i < 10; i++) {
		peer_open(&desk, &slow[i]);
		peer_send(&slow[i], listen_call, sizeof(listen_call));
	}
	desk_run(&desk, MS);
	mem_stats(&before);
	for (int i = 0; i < 30000 && control_connections(desk.control) > 2; i++) {
		jump(i);
		mem_stats(&now);
		most = now.bytes - before.bytes > most ? now.bytes - before.bytes : most;
	}
	if (most > 300 * 1024 || most < 200 * 1024)
		fail_msg("%lld bytes", (long long)most);
	desk_run(&desk, 10 * S);
	assert_int_equal(control_connections(desk.control), 2);
	for (int i = 0; i < 10; i++)
		peer_close(&slow[i]);
}

/* Calls that never end: 400 KiB of them are on their way. */
TEST_WITH(unfinished_calls_share_one_bound, begin_many, end)
{
	static const char begin_call[] = "{\"method\": \"io.simd.Control.GetInfo\", \"parameters\": {\"x\": \"";
	struct peer half[10];
	char filler[1000];
	size_t most = 0;

	memset(filler, 'x', sizeof(filler));
	for (int i = 0; i < 10; i++) {
		peer_open(&desk, &half[i]);
		peer_send(&half[i], begin_call, sizeof(begin_call) - 1);
	}
	for (int n = 0; n < 40; n++)
		for (int i = 0; i < 10; i++) {
			peer_send(&half[i], filler, sizeof(filler));
			desk_run(&desk, MS);
			most = desk.control->queued > most ? desk.control->queued : most;
			assert_ok(peer_call(&good, "GetInfo", "{}", NULL));
		}
	assert_in_range(most, 200 * 1024, 260 * 1024);
	for (int i = 0; i < 10; i++)
		peer_close(&half[i]);
	desk_run(&desk, 10 * S);
	assert_int_equal(desk.control->queued, 0);
	assert_int_equal(control_connections(desk.control), 2);
}

static void is_refused(const char *words)
{
	char text[1024];
	int sv[2];
	ssize_t n;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	assert_int_equal(control_serve(desk.control, sv[1]), -EMFILE);
	n = read(sv[0], text, sizeof(text)); /* it gets the reason, in one message, and that is the end */
	assert_true(n > 0 && text[n - 1] == '\0');
	if (!strstr(text, words))
		fail_msg("%s", text);
	assert_int_equal(read(sv[0], text, sizeof(text)), 0);
	close(sv[0]);
}

TEST_WITH(connections_of_a_process_are_limited, begin_many, end)
{
	struct peer more[10];

	for (int i = 0; i < 10; i++)
		peer_open(&desk, &more[i]);
	is_refused("has 12 control connections, limits.connections_per_process allows no more");
	for (int i = 0; i < 10; i++)
		peer_close(&more[i]);
}

/* As many channels as one client can create: a client that lists them gets all, or an error that says why not. */
TEST_WITH(a_long_list_does_not_end_the_connection, begin, end)
{
	static const int channels[] = { 150, 400 };
	char params[160];
	json_t *r;

	peer_hello(&bad, "x", "client");
	for (int i = 0, n = 0; i < 2; i++) {
		for (; n < channels[i]; n++) {
			snprintf(params, sizeof(params),
				 "{\"channel\": \"a%d\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 4}", n);
			assert_ok(peer_call(&bad, "Advertise", params, &r));
			snprintf(params, sizeof(params), "{\"publisher_id\": %lld}",
				 json_integer_value(json_object_get(r, "publisher_id")));
			assert_ok(peer_call(&bad, "Unadvertise", params, NULL));
		}
		assert_int_equal(peer_call(&good, "ListChannels", "{}", &r), i ? -EMSGSIZE : 0);
	}
	assert_non_null(strstr(err_why(), "limits.output_kib"));
}

/* Definitions of maximum length, on ever new channels: those without a client are forgotten. */
TEST_WITH(definitions_of_disconnected_clients_are_forgotten, begin_many, end)
{
	static char params[65000];
	struct mem_stats now;
	json_t *r;

	peer_hello(&bad, "x", "client");
	for (int i = 0; i < 340; i++) {
		int n = snprintf(params, sizeof(params),
				 "{\"channel\": \"a%d\", \"max_body\": 8, \"flags\": 4, \"type\": {\"name\": \"t/A\", "
				 "\"hash\": \"00000000000000aa\", \"x\": \"%060000d\"}}",
				 i, i);
		assert_in_range(n, 60000, sizeof(params) - 1);
		assert_ok(peer_call(&bad, "Advertise", params, &r));
		snprintf(params, sizeof(params), "{\"publisher_id\": %lld}",
			 json_integer_value(json_object_get(r, "publisher_id")));
		assert_ok(peer_call(&bad, "Unadvertise", params, NULL));
	}
	mem_stats(&now);
	assert_true(now.bytes < 18 << 20);
	assert_ok(peer_call(&good, "GetChannel", "{\"name\": \"/a339\"}", NULL));
	assert_int_equal(peer_call(&good, "GetChannel", "{\"name\": \"/a0\"}", NULL), -ENOENT);
}

/* What a client can do as often as it likes is not a line each time. */
TEST_WITH(no_client_fills_the_log, begin_many, end)
{
	unsigned lines = 0;
	json_t *r;

	peer_hello(&bad, "x", "client");
	log_set_spec("channel:info");
	log_set_handler(count_line, &lines);
	for (int i = 0; i < 200; i++) {
		char params[160];

		snprintf(params, sizeof(params), "{\"channel\": \"a\", \"type\": %s, \"max_body\": 8}",
			 i % 2 ? TYPE_A : TYPE_B);
		assert_ok(peer_call(&bad, "Advertise", params, &r));
		snprintf(params, sizeof(params), "{\"publisher_id\": %lld}",
			 json_integer_value(json_object_get(r, "publisher_id")));
		assert_ok(peer_call(&bad, "Unadvertise", params, NULL));
	}
	log_set_handler(NULL, NULL);
	log_set_spec("none");
	assert_in_range(lines, 1, 60);
}

TEST_WITH(methods_need_their_session, begin, end)
{
	static const char *const methods[] = { "Enlarge",      "Advertise", "Unadvertise", "Subscribe",
					       "Unsubscribe",  "OpenToken", "CloseToken",  "AcquireDriver",
					       "AttachBridge", "Attached",  "DriverWaits", "Requeue",
					       "NameTopic" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		assert_int_equal(peer_call(&bad, methods[i], "{}", NULL), -EPROTO);
}

TEST_WITH(parameters_are_checked, begin, end)
{
	static const struct {
		const char *method, *params;
		int r;
	} wrong[] = {
		{ "Advertise", "{}", -EINVAL },
		{ "Advertise", "{\"channel\": \"a,b\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}", -EINVAL },
		{ "Advertise", "{\"channel\": \"a//b\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}",
		  -EINVAL },
		{ "Advertise", "{\"channel\": \"a\", \"type\": 5, \"max_body\": 8, \"flags\": 0}", -EINVAL },
		{ "Advertise", "{\"channel\": \"a\", \"type\": {}, \"max_body\": 8, \"flags\": 0}", -EINVAL },
		{ "Advertise",
		  "{\"channel\": \"a\", \"type\": {\"name\": \"x\", \"hash\": \"00000000000000aa\"}, \"max_body\": 8}",
		  -EINVAL },
		{ "Advertise", "{\"channel\": \"a\", \"type\": {\"name\": \"x/Y\", \"hash\": \"zz\"}, \"max_body\": 8}",
		  -EINVAL },
		{ "Advertise", "{\"channel\": \"a\", \"type\": " TYPE_A ", \"max_body\": -1, \"flags\": 0}", -EINVAL },
		{ "Advertise", "{\"channel\": \"a\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": -4}", -EINVAL },
		{ "Advertise", "{\"channel\": \"a\", \"type\": " TYPE_A ", \"max_body\": 9000000000000000000}",
		  -EINVAL },
		{ "Enlarge", "{\"publisher_id\": 77, \"max_body\": 8}", -ENOENT },
		{ "Enlarge", "{\"publisher_id\": 77, \"max_body\": -8}", -EINVAL },
		{ "Enlarge", "{\"publisher_id\": 77}", -EINVAL },
		{ "Unadvertise", "{\"publisher_id\": 77}", -ENOENT },
		{ "Unadvertise", "{\"publisher_id\": 0}", -EINVAL },
		{ "Subscribe", "{\"channel\": \"\"}", -EINVAL },
		{ "Subscribe", "{\"channel\": \"a\", \"depth\": 0}", -EINVAL },
		{ "Subscribe", "{\"channel\": \"a\", \"depth\": 257}", -EINVAL },
		{ "Unsubscribe", "{\"subscriber_id\": 77}", -ENOENT },
		{ "Requeue", "{\"subscriber_id\": 77, \"depth\": 8}", -ENOENT },
		{ "Requeue", "{\"subscriber_id\": 77, \"depth\": 257}", -EINVAL },
		{ "Requeue", "{\"subscriber_id\": 77}", -EINVAL },
		{ "Attached", "{\"iox_generation\": 1, \"app\": \"../x\"}", -EINVAL },
		{ "Attached", "{\"iox_generation\": 9, \"app\": \"x.1\"}", -ESTALE },
		{ "AttachBridge", "{\"bridge\": \"log\"}", -EPERM },
		{ "AcquireDriver", "{\"now\": true}", -EINVAL },
	};

	peer_hello(&bad, "x", "client");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		int r = peer_call(&bad, wrong[i].method, wrong[i].params, NULL);

		if (r != wrong[i].r)
			fail_msg("%s %s: %d, not %d: %s", wrong[i].method, wrong[i].params, r, wrong[i].r, err_why());
		assert_true(*err_why());
	}
}

/* ---- other users ---- */

/* The kernel notes the credentials when the socket is made. */
static int serve_as(uid_t uid, int *ret_fd)
{
	int sv[2], r;

	assert_int_equal(seteuid(uid), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	assert_int_equal(seteuid(0), 0);
	r = control_serve(desk.control, sv[1]);
	if (r < 0)
		close(sv[0]);
	else
		*ret_fd = sv[0];
	return r;
}

static int begin_users(void **state)
{
	(void)state;
	desk_open(&desk, ", \"limits\": {\"connections\": 64, \"connections_per_user\": 30}");
	peer_open(&desk, &bad);
	peer_open(&desk, &good);
	return 0;
}

/* However many other connections there are, a user who may end simd can connect. */
TEST_WITH(some_connections_are_reserved_for_root, begin_users, end)
{
	int fd[64], n = 0;
	struct peer root;

	if (geteuid() != 0)
		skip();
	while (serve_as(64001, &fd[n]) == 0)
		n++;
	assert_int_equal(n, 30);
	assert_non_null(strstr(err_why(), "user 64001 has 30 control connections, limits.connections_per_user"));
	while (serve_as(64002 + (uid_t)n / 30, &fd[n]) == 0)
		n++;
	/* the user with most connections makes room for those with fewer */
	assert_int_equal(n, 64 - 8 - 2 + 3);
	assert_int_equal(control_connections(desk.control), 64 - 8);
	assert_non_null(strstr(err_why(), "limits.connections allows no more"));
	assert_ok(serve_as(64009, &fd[n++]));
	assert_int_equal(control_connections(desk.control), 64 - 8);
	peer_open(&desk, &root);
	assert_ok(peer_call(&root, "Shutdown", "{}", NULL));
	assert_true(desk.shut);
	peer_close(&root);
	while (n)
		close(fd[--n]);
	desk_run(&desk, MS);
}

static int begin_sessions(void **state)
{
	(void)state;
	desk_open(&desk, ", \"limits\": {\"clients\": 40, \"clients_per_user\": 20}");
	peer_open(&desk, &bad);
	peer_open(&desk, &good);
	return 0;
}

static int hello_as(uid_t uid, struct peer *p)
{
	*p = (struct peer){ .d = &desk };
	assert_ok(serve_as(uid, &p->fd));
	assert_ok(fd_set_nonblock(p->fd, true));
	assert_ok(varlink_create(NULL, &p->v));
	return peer_call(p, "Hello", "{\"name\": \"a\", \"role\": \"client\", \"abi\": 5}", NULL);
}

/* The same for sessions: the bridges of a rig attach, however many one user holds. */
TEST_WITH(some_sessions_are_reserved_for_root, begin_sessions, end)
{
	struct peer p[64];
	int n = 0;

	if (geteuid() != 0)
		skip();
	while (hello_as(64001, &p[n++]) == 0)
		continue;
	assert_int_equal(n, 20 + 1);
	assert_non_null(strstr(err_why(), "user 64001 has 20 clients attached, limits.clients_per_user"));
	while (hello_as(64002, &p[n++]) == 0)
		continue;
	assert_int_equal(n, 40 - 5 + 2);
	assert_non_null(strstr(err_why(), "35 clients are attached, limits.clients allows no more but for root"));
	peer_hello(&good, "root", "client");
	while (n)
		peer_close(&p[--n]);
}

static int begin_parts(void **state)
{
	(void)state;
	desk_open(&desk, ", \"limits\": {\"publishers\": 10, \"subscribers\": 20, \"channels\": 30, \"tokens\": 5, "
			 "\"services\": 4, \"per_user_percent\": 50}");
	peer_open(&desk, &bad);
	peer_open(&desk, &good);
	return 0;
}

/* It must, to offer a service. */
static void listen_to_events(struct peer *p)
{
	static const char call[] = "{\"method\":\"io.simd.Control.Events\",\"more\":true}";

	peer_send(p, call, sizeof(call));
	assert_non_null(peer_next(p, NULL));
}

static int once_more(struct peer *p, const char *method, int i)
{
	char params[512];
	int r;

	snprintf(params, sizeof(params),
		 !strcmp(method, "Advertise") ? "{\"channel\": \"/p\", \"type\": " TYPE_A
						", \"max_body\": 8, \"flags\": 4}"
		 : !strcmp(method, "Subscribe") ? "{\"channel\": \"/s%d\"}"
		 : !strcmp(method, "OpenToken") ? "{\"name\": \"t%d\"}"
						: "{\"name\": \"/v%d\", \"type\": \"t/V\", \"request\": " TYPE_A
						  ", \"response\": " TYPE_B "}",
		 i);
	r = peer_call(p, method, params, NULL);
	while (json_is_true(json_object_get(p->msg.json, "continues"))) { /* an event came first */
		struct varlink_answer a;

		assert_non_null(peer_next(p, NULL));
		assert_ok(varlink_msg_answer(&p->msg, &a));
		r = varlink_answer_errno(&a);
	}
	return r;
}

/* Of each shared resource a user has a share, with any number of clients; root has all. */
TEST_WITH(no_user_takes_all_connections, begin_parts, end)
{
	static const struct {
		const char *method, *what;
		int n;
	} all[] = { { "Advertise", "5 publishers", 5 },
		    { "Subscribe", "10 subscribers", 10 },
		    { "OpenToken", "3 tokens", 3 },
		    { "OfferService", "2 services", 2 } };
	struct peer p[2];

	if (geteuid() != 0)
		skip();
	for (int i = 0; i < 2; i++) {
		assert_ok(hello_as(64001, &p[i]));
		listen_to_events(&p[i]);
	}
	peer_hello(&good, "root", "client");
	listen_to_events(&good);
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		for (int i = 0; i < all[k].n; i++)
			assert_ok(once_more(&p[i == 1], all[k].method, i));
		assert_int_equal(once_more(&p[1], all[k].method, 90), -EMFILE);
		if (!strstr(err_why(), all[k].what) || !strstr(err_why(), "limits.per_user_percent"))
			fail_msg("%s: %s", all[k].method, err_why());
		assert_ok(once_more(&good, all[k].method, 91));
	}
	for (int i = 0; i < 2; i++)
		peer_close(&p[i]);
}

static int advertise_body(struct peer *p, const char *channel, unsigned max_body)
{
	char params[512];

	snprintf(params, sizeof(params), "{\"channel\": \"%s\", \"type\": " TYPE_A ", \"max_body\": %u, \"flags\": 0}",
		 channel, max_body);
	return peer_call(p, "Advertise", params, NULL);
}

/* No room: the queues of its channel are to give way, which the peers here do not do. */
static void advertise_in_vain(struct peer *p, const char *channel, unsigned max_body)
{
	assert_int_equal(advertise_body(p, channel, max_body), -EAGAIN);
	desk_run(&desk, 4000 * MS);
	assert_int_equal(advertise_body(p, channel, max_body), -ENOSPC);
}

static int subscribe_deep(struct peer *p, const char *channel, json_int_t *ret_depth)
{
	char params[128];
	json_t *out;
	int r;

	snprintf(params, sizeof(params), "{\"channel\": \"%s\", \"depth\": 100}", channel);
	r = peer_call(p, "Subscribe", params, &out);
	if (r == 0)
		*ret_depth = json_integer_value(json_object_get(out, "depth"));
	return r;
}

/*
 * Half of a pool each here: by publishers, by windows, by subscribers, and by clients that move to a pool with their
 * channel.
 */
TEST_WITH(no_user_takes_all_slots, begin_parts, end)
{
	const struct pool_class *c = desk.simd->pools.c;
	uint32_t own = c[0].reserved; /* simd's, for its clock */
	json_int_t depth = 0;
	struct peer p[3];

	if (geteuid() != 0)
		skip();
	for (int i = 0; i < 3; i++)
		assert_ok(hello_as(i < 2 ? 64001 : 64002, &p[i]));
	assert_ok(advertise_body(&p[0], "/a", 8));
	for (int i = 0; i < 3; i++)
		assert_ok(subscribe_deep(&p[i % 2], "/a", &depth));
	assert_int_equal(c[0].reserved, own + 64 + 9 + 3 * 102);
	assert_int_equal(advertise_body(&p[1], "/b", 8), 0);
	assert_ok(subscribe_deep(&p[1], "/a", &depth));
	assert_int_equal(depth, 500 - 2 * (64 + 9) - 3 * 102 - 2);
	assert_int_equal(c[0].reserved, own + 500);
	advertise_in_vain(&p[1], "/a", 8);
	if (!strstr(err_why(),
		    "of the 1000 there are, user 64001 has 500, and limits.per_user_percent (50 %) allows it 0"))
		fail_msg("%s", err_why());
	assert_int_equal(subscribe_deep(&p[0], "/b", &depth), -ENOSPC);
	assert_ok(advertise_body(&p[2], "/c", 8));
	assert_ok(subscribe_deep(&p[2], "/c", &depth));
	assert_int_equal(depth, 100);

	assert_ok(subscribe_deep(&p[0], "/narrow", &depth));
	advertise_in_vain(&p[1], "/narrow", 40000);
	assert_non_null(strstr(err_why(), "channel /narrow needs 113 slots"));
	assert_int_equal(c[1].reserved, 0);
	assert_ok(advertise_body(&p[2], "/narrow2", 8));
	for (int i = 0; i < 3; i++)
		peer_close(&p[i]);
}

TEST_WITH(connections_are_limited, begin, end)
{
	struct peer more[2];

	for (int i = 0; i < 2; i++)
		peer_open(&desk, &more[i]);
	is_refused("limits.connections allows no more");
	for (int i = 0; i < 2; i++)
		peer_close(&more[i]);
}

/* ---- packets of a bridge ---- */

static void send_lane(int lane, uint16_t op, const void *record, size_t len, const char *text)
{
	struct lane_head h = { .op = op, .count = 1, .length = (uint32_t)(len + strlen(text)) };
	char packet[1024];

	memcpy(packet, &h, sizeof(h));
	memcpy(packet + sizeof(h), record, len);
	memcpy(packet + sizeof(h) + len, text, strlen(text));
	assert_true(send(lane, packet, sizeof(h) + h.length, MSG_NOSIGNAL) > 0);
	desk_run(&desk, MS);
}

static const char *first_text(json_t *list, const char *key)
{
	return json_string_value(json_object_get(json_array_get(list, 0), key));
}

static int name_topic(const char *channel, unsigned n, const char *type, bool inbound)
{
	char params[256];

	snprintf(params, sizeof(params), "{\"channel\": \"%s\", \"name\": \"/over/there%u\", \"type\": \"%s\"%s}",
		 channel, n, type, inbound ? ", \"inbound\": true" : "");
	return peer_call(&bad, "NameTopic", params, NULL);
}

static json_t *topics_named(void)
{
	json_t *r;

	assert_ok(peer_call(&good, "ListBridges", "{}", &r));
	return json_object_get(json_array_get(json_object_get(r, "bridges"), 0), "topics");
}

TEST_WITH(inbound_topics_named_by_a_bridge_are_checked_and_bounded, begin, end)
{
	json_t *r;

	peer_hello(&bad, "log", "bridge");
	peer_hello(&good, "cam", "client");
	assert_int_equal(name_topic("/in", 0, "a/B", true), -EPERM);
	assert_ok(peer_call(&bad, "AttachBridge", "{\"bridge\": \"log\"}", NULL));
	close(varlink_msg_take_fd(&bad.msg, 0));
	assert_int_equal(name_topic("in", 0, "a/B", true), -EINVAL);
	assert_int_equal(name_topic("/i n", 0, "a/B", true), -EINVAL);
	assert_ok(name_topic("/in", 0, "a/B", true));
	assert_ok(name_topic("/in", 0, "a/C\\u001b", true)); /* again */
	assert_ok(name_topic("/in", 0, "a/D", false));
	r = topics_named();
	assert_int_equal(json_array_size(r), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(r, 0), "channel")), "/in");
	assert_string_equal(json_string_value(json_object_get(json_array_get(r, 0), "name")), "/over/there0");
	assert_string_equal(json_string_value(json_object_get(json_array_get(r, 0), "type")), "a/C\\x1b");
	assert_true(json_is_true(json_object_get(json_array_get(r, 0), "inbound")));
	assert_true(json_is_false(json_object_get(json_array_get(r, 1), "inbound")));
	for (unsigned i = 1; i < 511; i++)
		assert_ok(name_topic("/in", i, "a/B", true));
	assert_int_equal(name_topic("/in", 511, "a/B", true), -ENOSPC);
	assert_ok(name_topic("/in", 7, "a/E", true));
	assert_int_equal(json_array_size(topics_named()), 512);
}

/* Invalid UTF-8 and terminal control sequences: lists show them escaped, and the other entries stay correct. */
TEST_WITH(texts_of_a_bridge_are_escaped_in_lists, begin, end)
{
	struct lane_status connected = { .status = SIM_BRIDGE_CONNECTED };
	struct lane_carries carried = { .name_len = 4 };
	char text[602], last[8];
	json_t *r;
	int lane;

	peer_hello(&bad, "log", "bridge");
	peer_hello(&good, "cam", "client");
	assert_ok(peer_call(&good, "Advertise", "{\"channel\": \"c\", \"type\": " TYPE_A ", \"max_body\": 8}", &r));
	carried.channel_id = (uint32_t)json_integer_value(json_object_get(r, "channel_id"));
	assert_ok(peer_call(&bad, "AttachBridge", "{\"bridge\": \"log\"}", &r));
	lane = varlink_msg_take_fd(&bad.msg, 0);
	send_lane(lane, LANE_STATUS, &connected, sizeof(connected), "up\xff\x1b[1m\nclock \xfe");
	send_lane(lane, LANE_CARRIES, &carried, sizeof(carried), "/c\xff\x1bt/\xc2\x9b");
	assert_ok(peer_call(&good, "ListBridges", "{}", &r));
	r = json_object_get(r, "bridges");
	assert_string_equal(first_text(r, "detail"), "up\\xff\\x1b[1m");
	r = json_object_get(json_array_get(r, 0), "topics");
	assert_string_equal(first_text(r, "name"), "/c\\xff\\x1b");
	assert_string_equal(first_text(r, "type"), "t/\\u009b");
	assert_ok(peer_call(&good, "GetClock", "{}", &r));
	r = json_object_get(json_object_get(r, "clock"), "other_clocks");
	assert_int_equal(json_array_size(r), 1);
	assert_string_equal(json_string_value(json_array_get(r, 0)), "clock \\xfe, which bridge log sees,");
	/* a long one in two bytes a character is cut, at whichever of them */
	for (size_t odd = 0; odd < 2; odd++) {
		memset(text, 0, sizeof(text));
		for (size_t i = odd; i < 600; i += 2)
			memcpy(text + i, "\xc3\xa9", 2);
		text[0] = odd ? 'x' : text[0];
		send_lane(lane, LANE_STATUS, &connected, sizeof(connected), text);
		assert_ok(peer_call(&good, "ListBridges", "{}", &r));
		r = json_object_get(r, "bridges");
		assert_true(strlen(first_text(r, "detail")) > 190);
		snprintf(last, sizeof(last), "%s", first_text(r, "detail") + strlen(first_text(r, "detail")) - 2);
		assert_string_equal(last, "\xc3\xa9");
	}
	close(lane);
}

/* Every allocation on the way of a session fails once: an answer or a cut, never a leak or a crash. */
TEST_WITH(every_allocation_of_a_session_may_fail, begin, end)
{
	static const char hello[] =
		"{\"method\":\"io.simd.Control.Hello\",\"parameters\":{\"name\":\"m\",\"role\":\"client\",\"abi\":1}}";
	static const char advertise[] = "{\"method\":\"io.simd.Control.Advertise\",\"parameters\":"
					"{\"channel\":\"m\",\"type\":" TYPE_A ",\"max_body\":8,\"flags\":0}}";
	static const char token[] = "{\"method\":\"io.simd.Control.OpenToken\",\"parameters\":{\"name\":\"m\"}}";
	static const char list[] = "{\"method\":\"io.simd.Control.ListChannels\"}";

	for (int64_t n = 1; n < 400; n++) {
		struct peer p;

		peer_open(&desk, &p);
		assert_true(send(p.fd, hello, sizeof(hello), MSG_NOSIGNAL) > 0);
		assert_true(send(p.fd, advertise, sizeof(advertise), MSG_NOSIGNAL) > 0);
		assert_true(send(p.fd, token, sizeof(token), MSG_NOSIGNAL) > 0);
		assert_true(send(p.fd, list, sizeof(list), MSG_NOSIGNAL) > 0);
		mem_fail_after(n);
		(void)exec_sim_settle(desk.x);
		mem_fail_after(0);
		peer_close(&p);
		desk_run(&desk, 10 * MS);
	}
}

static int prepare(void **state)
{
	(void)state;
	mem_adopt_jansson();
	return 0;
}

TEST_GROUP(prepare, NULL)

/* A hundred calls at once take turns with those of others. */
TEST_WITH(a_flood_does_not_block_other_clients, begin, end)
{
	static const char one[] = "{\"method\":\"io.simd.Control.GetInfo\",\"oneway\":true}";
	static const char last[] = "{\"method\":\"io.simd.Control.PauseClock\",\"oneway\":true}";
	char flood[100 * sizeof(one)];
	json_t *j;

	for (int i = 0; i < 100; i++)
		memcpy(flood + (size_t)i * sizeof(one), one, sizeof(one));
	for (int i = 0; i < 8; i++) { /* whichever is first by chance */
		assert_int_equal(send(bad.fd, flood, sizeof(flood), MSG_NOSIGNAL), sizeof(flood));
		assert_int_equal(send(bad.fd, last, sizeof(last), MSG_NOSIGNAL), sizeof(last));
		assert_int_equal(peer_call(&good, "GetClock", "{}", &j), 0);
		assert_false(json_is_true(json_object_get(json_object_get(j, "clock"), "paused")));
		desk_run(&desk, S);
		assert_int_equal(peer_call(&good, "ResumeClock", "{}", NULL), 0);
	}
}

/* ---- heavy calls ---- */

static unsigned n_slow;

/* Of each bridge in ListBridges; there is one. */
static uint32_t slow_call(void *user, const char *bridge)
{
	struct desk *d = (struct desk *)user;

	(void)bridge;
	exec_sim_spend(d->x, 10 * MS);
	n_slow++;
	return 0;
}

#define HEAVY 20

static void make_heavy(int fd[HEAVY], uid_t uid)
{
	static const char ask[] = "{\"method\":\"io.simd.Control.ListBridges\",\"oneway\":true}";

	n_slow = 0;
	desk.ops.bridge_restarts = slow_call;
	for (int i = 0; i < HEAVY; i++) {
		assert_ok(serve_as(uid, &fd[i]));
		for (int n = 0; n < 3; n++)
			assert_int_equal(send(fd[i], ask, sizeof(ask), MSG_NOSIGNAL), sizeof(ask));
	}
}

/* However many connections it has and however long its calls take: others wait for one of them at a time. */
TEST_WITH(expensive_calls_of_a_user_do_not_block_others, begin_users, end)
{
	int64_t begin, took, longest = 0;
	int fd[HEAVY], more;

	if (geteuid() != 0)
		skip();
	make_heavy(fd, 64001);
	while (n_slow < 3 * HEAVY) {
		begin = exec_now(desk.x);
		assert_ok(peer_call(&good, "GetClock", "{}", NULL));
		took = exec_now(desk.x) - begin;
		longest = took > longest ? took : longest;
		assert_true(exec_now(desk.x) < 100 * S);
	}
	assert_in_range(longest, 0, 60 * MS); /* the burst, and two at once */
	/* it pays for that also when it connects again */
	for (int i = 0; i < HEAVY; i++)
		close(fd[i]);
	desk_run(&desk, MS);
	make_heavy(&fd[0], 64001);
	assert_ok(serve_as(64002, &more));
	desk_run(&desk, 100 * MS);
	assert_in_range(n_slow, 3, 8);
	close(more);
	/* a client that hangs up while its calls wait is not kept */
	for (int i = 0; i < HEAVY; i++)
		close(fd[i]);
	desk_run(&desk, 2 * S);
	assert_int_equal(control_connections(desk.control), 2);
}

/* root could end simd anyway. */
TEST_WITH(calls_of_root_are_not_delayed, begin_users, end)
{
	int64_t begin;
	int fd[HEAVY];

	if (geteuid() != 0)
		skip();
	begin = exec_now(desk.x);
	make_heavy(fd, 0);
	while (n_slow < 3 * HEAVY)
		desk_run(&desk, MS);
	assert_in_range(exec_now(desk.x) - begin, 0, 3 * HEAVY * 12 * MS);
	for (int i = 0; i < HEAVY; i++)
		close(fd[i]);
	desk_run(&desk, MS);
}
