/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that break the protocol, flood, or do not read: they are cut off, simd and the others go on. */
#include "unit/control/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/control.h"
#include "err.h"

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

TEST_WITH(garbage_is_cut_off, begin, end)
{
	peer_send(&bad, "GET / HTTP/1.1\r\n\r\n", 19);
	expect_cut();
}

TEST_WITH(no_json_object_is_cut_off, begin, end)
{
	peer_send(&bad, "[1, 2]", 7);
	expect_cut();
}

TEST_WITH(a_message_without_end_is_cut_off, begin, end)
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

TEST_WITH(unclaimed_descriptors_are_cut_off, begin, end)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = { 0 };
	static char call[] = "{\"method\": \"io.simd.Control.GetInfo\"}";
	struct iovec iov = { call, sizeof(call) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.buf, .msg_controllen = sizeof(u.buf) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = STDERR_FILENO;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_true(sendmsg(bad.fd, &m, MSG_NOSIGNAL) > 0);
	expect_cut();
}

/* Asks for much and reads nothing. */
TEST_WITH(who_does_not_read_is_cut_off, begin, end)
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

TEST_WITH(a_listener_that_does_not_read_is_cut_off, begin, end)
{
	static const char call[] = "{\"method\": \"io.simd.Control.Events\", \"more\": true}";
	uint32_t before = control_connections(desk.control);

	peer_send(&bad, call, sizeof(call));
	desk_run(&desk, MS);
	for (int i = 0; i < 20000 && control_connections(desk.control) == before; i++)
		assert_int_equal(peer_call(&good, "SetSource",
					   i % 2 ? "{\"source\": \"system\"}" : "{\"source\": \"simulation\"}", NULL),
				 0);
	assert_int_equal(control_connections(desk.control), before - 1);
}

TEST_WITH(methods_need_their_session, begin, end)
{
	static const char *const methods[] = { "Advertise",     "Unadvertise",  "Subscribe",
					       "Unsubscribe",   "OpenToken",    "CloseToken",
					       "AcquireDriver", "AttachBridge", "Attached" };

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
		{ "Unadvertise", "{\"publisher_id\": 77}", -ENOENT },
		{ "Unadvertise", "{\"publisher_id\": 0}", -EINVAL },
		{ "Subscribe", "{\"channel\": \"\"}", -EINVAL },
		{ "Subscribe", "{\"channel\": \"a\", \"depth\": 0}", -EINVAL },
		{ "Subscribe", "{\"channel\": \"a\", \"depth\": 257}", -EINVAL },
		{ "Unsubscribe", "{\"subscriber_id\": 77}", -ENOENT },
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

TEST_WITH(connections_are_limited, begin, end)
{
	struct peer more[2];
	char text[1024];
	ssize_t n;
	int sv[2];

	for (int i = 0; i < 2; i++)
		peer_open(&desk, &more[i]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	assert_int_equal(control_serve(desk.control, sv[1]), -EMFILE);
	n = read(sv[0], text, sizeof(text)); /* it is told why, in one message, and that is the end */
	assert_true(n > 0 && text[n - 1] == '\0');
	assert_non_null(strstr(text, "limits.connections allows no more"));
	assert_int_equal(read(sv[0], text, sizeof(text)), 0);
	close(sv[0]);
	for (int i = 0; i < 2; i++)
		peer_close(&more[i]);
}

/* Every allocation on the way of a session fails once: an answer or a cut, never a leak or a crash. */
TEST_WITH(memory_runs_out_anywhere, begin, end)
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
