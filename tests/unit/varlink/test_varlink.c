/* SPDX-License-Identifier: Apache-2.0 */
/* varlink.h and jsonx.h: framing, descriptors, bounds, calls. Thread: one; a child serves the blocking client. */
#include "tests/support/test.h"

#include "err.h"
#include "jsonx.h"
#include "mem.h"
#include "rnd.h"
#include "timeutil.h"
#include "varlink_call.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct varlink *make(size_t message_max, size_t output_max)
{
	struct varlink_limits l = { .message_max = message_max, .output_max = output_max };
	struct varlink *v;

	assert_int_equal(varlink_create(&l, &v), 0);
	return v;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* However the bytes are cut, the same messages come out. */
TEST(framing_does_not_depend_on_read_boundaries)
{
	static const char stream[] =
		"{\"method\":\"a.B\"}\0{\"method\":\"a.C\",\"parameters\":{\"x\":1},\"more\":true}\0"
		"{\"parameters\":{}}";
	uint64_t seed = test_seed(3);
	struct rnd rnd;

	rnd_seed(&rnd, seed);
	for (int round = 0; round < 200; round++) {
		struct varlink *v = make(0, 0);
		size_t at = 0;
		int n = 0, r;

		while (at < sizeof(stream)) {
			size_t len = 1 + rnd_below(&rnd, (uint32_t)(sizeof(stream) - at));
			struct varlink_msg m;

			assert_int_equal(varlink_feed(v, stream + at, len, NULL, 0), 0);
			at += len;
			while ((r = varlink_next(v, &m)) > 0) {
				n++;
				varlink_msg_finish(&m);
			}
			assert_int_equal(r, 0);
		}
		if (n != 3)
			fail_msg("SEED=%llu round %d: %d messages", (unsigned long long)seed, round, n);
		varlink_destroy(v);
	}
}

TEST(requests_and_answers_are_checked)
{
	static const struct {
		const char *text;
		bool request, answer;
	} cases[] = {
		{ "{\"method\":\"a.B\"}", true, true },
		{ "{\"method\":\"a.B\",\"parameters\":null,\"more\":null}", true, true },
		{ "{\"parameters\":{}}", false, true },
		{ "{\"method\":7}", false, true },
		{ "{\"method\":\"a.B\",\"parameters\":[]}", false, false },
		{ "{\"method\":\"a.B\",\"more\":1}", false, true },
		{ "{\"error\":5}", false, false },
		{ "{\"error\":\"x.Y\",\"continues\":\"no\"}", false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct varlink_msg m = { .json = json_loads(cases[i].text, 0, NULL) };
		struct varlink_request q;
		struct varlink_answer a;

		assert_int_equal(varlink_msg_request(&m, &q), cases[i].request ? 0 : -EBADMSG);
		assert_int_equal(varlink_msg_answer(&m, &a), cases[i].answer ? 0 : -EBADMSG);
		varlink_msg_finish(&m);
	}
}

TEST(broken_peers_are_distinguished_from_slow_ones)
{
	static const struct {
		const char *text;
		int r;
	} bad[] = {
		{ "nonsense", -EBADMSG },
		{ "", -EBADMSG },
		{ "[1]", -EBADMSG },
		{ "{\"a\":1,\"a\":2}", -EBADMSG },
		{ "{\"fds\":1}", -EBADMSG },
		{ "{\"fds\":-1}", -EBADMSG },
		{ "{\"fds\":99}", -EBADMSG },
		{ "{\"fds\":\"1\"}", -EBADMSG },
		{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", -EBADMSG },
		{ "{\"x\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}", -EMSGSIZE },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct varlink *v = make(64, 0);
		struct varlink_msg m;

		assert_int_equal(varlink_feed(v, bad[i].text, strlen(bad[i].text) + 1, NULL, 0), 0);
		err_clear();
		if (varlink_next(v, &m) != bad[i].r || !*err_why())
			fail_msg("%s", bad[i].text);
		assert_int_equal(varlink_next(v, &m), bad[i].r); /* broken for good */
		assert_int_equal(varlink_feed(v, "x", 1, NULL, 0), bad[i].r);
		varlink_destroy(v);
	}
}

TEST(a_message_without_an_end_is_bounded)
{
	struct varlink *v = make(100, 0);
	struct varlink_msg m;
	char chunk[50];
	int r = 0, n;

	memset(chunk, ' ', sizeof(chunk));
	for (n = 0; r == 0 && n < 10; n++) {
		assert_int_equal(varlink_feed(v, chunk, sizeof(chunk), NULL, 0), 0);
		r = varlink_next(v, &m);
	}
	assert_int_equal(r, -EMSGSIZE);
	assert_int_equal(n, 3);
	varlink_destroy(v);
	/* one that never asks for messages is bounded as well */
	v = make(100, 0);
	for (n = 0, r = 0; r == 0; n++)
		r = varlink_feed(v, chunk, sizeof(chunk), NULL, 0);
	assert_int_equal(r, -EMSGSIZE);
	varlink_destroy(v);
}

TEST(descriptors_belong_to_the_message_that_announces_them)
{
	static const char two[] = "{\"fds\":1,\"n\":1}\0{\"n\":2}\0{\"fds\":2,\"n\":3}";
	int p[2], q[2], fd;
	struct varlink *v = make(0, 0);
	struct varlink_msg m;

	assert_int_equal(pipe(p), 0);
	assert_int_equal(pipe(q), 0);
	/* the kernel gave all of them with the last read */
	assert_int_equal(varlink_feed(v, two, 10, NULL, 0), 0);
	assert_int_equal(varlink_next(v, &m), 0);
	assert_int_equal(varlink_feed(v, two + 10, sizeof(two) - 10, (int[]){ p[0], p[1], q[0] }, 3), 0);
	assert_int_equal(varlink_next(v, &m), 1);
	assert_int_equal(m.n_fds, 1);
	fd = varlink_msg_take_fd(&m, 0);
	assert_int_equal(fd, p[0]);
	assert_int_equal(varlink_msg_take_fd(&m, 0), -ENODATA);
	assert_int_equal(varlink_msg_take_fd(&m, 1), -ENODATA);
	varlink_msg_finish(&m);
	assert_true(is_open(fd)); /* taken */
	close(fd);
	assert_int_equal(varlink_next(v, &m), 1);
	assert_int_equal(m.n_fds, 0);
	varlink_msg_finish(&m);
	assert_int_equal(varlink_next(v, &m), 1);
	assert_int_equal(m.n_fds, 2);
	varlink_msg_finish(&m);
	assert_false(is_open(p[1]) || is_open(q[0])); /* they were not taken */
	/* descriptors of no message, and those of a connection that ends */
	assert_int_equal(varlink_feed(v, "{}", 3, (int[]){ q[1] }, 1), 0);
	assert_int_equal(varlink_next(v, &m), -EBADMSG);
	assert_true(is_open(q[1]));
	varlink_destroy(v);
	assert_false(is_open(q[1]));
}

TEST(too_many_descriptors_are_closed)
{
	struct varlink *v = make(0, 0);
	int fds[VARLINK_FDS_MAX], r = 0, rounds = 0;

	for (; r == 0; rounds++) {
		for (int i = 0; i < VARLINK_FDS_MAX; i++)
			fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		r = varlink_feed(v, "{", rounds == 0, fds, VARLINK_FDS_MAX);
	}
	assert_int_equal(r, -EMSGSIZE);
	assert_int_equal(rounds, 5);
	assert_false(is_open(fds[0]));
	varlink_destroy(v);
}

/* As many at once as a message may carry, from a peer that sends the rest of it never. */
static void send_fds(int sock, int fd)
{
	int fds[VARLINK_FDS_MAX];

	for (int i = 0; i < VARLINK_FDS_MAX; i++)
		fds[i] = fd;
	assert_int_equal(fd_send(sock, "{", 1, fds, VARLINK_FDS_MAX, 0), 1);
}

TEST(a_peer_that_may_send_no_descriptors_passes_none)
{
	struct varlink_limits l = { .no_fds = true };
	int sock[2], next;
	struct varlink *v;

	assert_int_equal(varlink_create(&l, &v), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	next = fd_dup(0);
	close(next);
	send_fds(sock[0], sock[0]);
	assert_int_equal(varlink_read(v, sock[1]), -E2BIG);
	assert_string_equal(err_why(), "the peer sent descriptors; none are taken here");
	assert_false(is_open(next));
	/* the sender's own end was among them: nothing keeps it open */
	close(sock[0]);
	assert_int_equal(varlink_read(v, sock[1]), -ECONNRESET);
	close(sock[1]);
	/* and those that an owner feeds */
	next = fd_dup(0);
	assert_int_equal(varlink_feed(v, "{", 1, &next, 1), -EMSGSIZE);
	assert_false(is_open(next));
	varlink_destroy(v);
}

TEST(output_is_counted_and_can_be_dropped)
{
	size_t queued = 0, one;
	struct varlink_limits l = { .queued = &queued };
	struct varlink *v, *w;

	assert_int_equal(varlink_create(&l, &v), 0);
	assert_int_equal(varlink_create(&l, &w), 0);
	assert_int_equal(varlink_queue_reply(v, NULL, false, NULL, 0), 0);
	one = queued;
	assert_true(one > sizeof("{\"parameters\":{}}"));
	for (int i = 0; i < 3; i++)
		assert_int_equal(varlink_queue_reply(w, NULL, false, NULL, 0), 0);
	assert_int_equal(queued, 4 * one);
	assert_int_equal(varlink_queued(w), 3 * one);
	varlink_sent(w, 1); /* begun: the peer must get its end */
	assert_int_equal(varlink_drop_output(w, false), 2);
	assert_int_equal(varlink_queued(w), one);
	assert_true(varlink_has_output(w));
	assert_int_equal(varlink_drop_output(w, true), 1);
	assert_false(varlink_has_output(w));
	varlink_destroy(v);
	assert_int_equal(queued, 0);
	varlink_destroy(w);
}

/* A message is half from its first byte on, and a silent connection keeps no buffer. */
TEST(an_incomplete_message_is_reported)
{
	struct varlink *v = make(0, 0);
	struct mem_stats before, now;
	struct varlink_msg m;

	mem_stats(&before);
	assert_false(varlink_is_half(v));
	assert_int_equal(varlink_feed(v, "{}\0{", 4, NULL, 0), 0);
	assert_int_equal(varlink_next(v, &m), 1);
	varlink_msg_finish(&m);
	assert_int_equal(varlink_next(v, &m), 0);
	assert_true(varlink_is_half(v));
	assert_int_equal(varlink_feed(v, "}", 2, NULL, 0), 0);
	assert_int_equal(varlink_next(v, &m), 1);
	varlink_msg_finish(&m);
	assert_int_equal(varlink_next(v, &m), 0);
	assert_false(varlink_is_half(v));
	mem_stats(&now);
	assert_int_equal(now.bytes, before.bytes);
	varlink_destroy(v);
}

TEST(output_is_bounded_and_keeps_descriptors)
{
	struct varlink *v = make(200, 300), *w = make(200, 300);
	struct varlink_msg m;
	const void *data;
	const int *fds;
	unsigned n_fds;
	int p[2], r, n = 0;

	assert_int_equal(pipe(p), 0);
	assert_int_equal(varlink_queue_reply(v, json_pack("{si}", "x", 1), true, (int[]){ p[0] }, 1), 0);
	close(p[0]); /* the queue has its own */
	while ((r = varlink_queue_reply(v, json_pack("{si}", "x", 2), false, NULL, 0)) == 0)
		n++;
	assert_int_equal(r, -ENOBUFS);
	assert_true(n > 3);
	/* byte by byte into the other end */
	n = 0;
	while (varlink_output(v, &data, &fds, &n_fds)) {
		assert_int_equal(n_fds, n == 0);
		if (n_fds) {
			int dup = fd_dup(fds[0]);

			assert_int_equal(varlink_feed(w, data, 1, &dup, 1), 0);
		} else {
			assert_int_equal(varlink_feed(w, data, 1, NULL, 0), 0);
		}
		varlink_sent(v, 1);
		if (varlink_next(w, &m) == 1) {
			struct varlink_answer a;

			assert_int_equal(varlink_msg_answer(&m, &a), 0);
			assert_int_equal(a.continues, m.n_fds == 1);
			varlink_msg_finish(&m);
		}
		n++;
	}
	assert_false(varlink_has_output(v));
	assert_int_equal(varlink_queue_reply(v, json_pack("{s*}", "x"), false, NULL, 0), 0);
	assert_int_equal(varlink_queue_call(v, "a.B", json_pack("{ss%}", "x", "", (size_t)0), 0, NULL), 0);
	close(p[1]);
	varlink_destroy(v);
	varlink_destroy(w);
	varlink_destroy(NULL);
}

/* A member that is JSON text: the other end receives one message, within the same bounds. */
TEST(text_members_are_sent_unchanged)
{
	const struct varlink_text call = { "request", "{\"a\":[1,2.50]}xx", 14 }, event = { "request", "{}", 2 };
	struct varlink *v = make(200, 300), *w = make(200, 300);
	struct varlink_msg m;
	const void *data;
	const int *fds;
	unsigned n_fds;
	char text[300];
	size_t len;
	int r;

	assert_int_equal(varlink_queue_call(v, "a.B", json_pack("{si}", "tag", 1), 0, &call), 0);
	len = varlink_output(v, &data, &fds, &n_fds);
	assert_string_equal(data, "{\"method\":\"a.B\",\"parameters\":{\"tag\":1,\"request\":{\"a\":[1,2.50]}}}");
	assert_int_equal(len, strlen(data) + 1);
	assert_int_equal(varlink_feed(w, data, len, NULL, 0), 0);
	varlink_sent(v, len);
	assert_int_equal(varlink_next(w, &m), 1);
	varlink_msg_finish(&m);
	assert_int_equal(varlink_queue_event(v, json_pack("{ss}", "event", "e"), &event), 0);
	len = varlink_output(v, &data, &fds, &n_fds);
	assert_string_equal(data, "{\"continues\":true,\"parameters\":{\"event\":\"e\",\"request\":{}}}");
	varlink_sent(v, len);
	memset(text, ' ', sizeof(text));
	assert_int_equal(varlink_queue_call(v, "a.B", json_pack("{si}", "tag", 1), 0,
					    &(struct varlink_text){ "request", text, 160 }),
			 -EMSGSIZE);
	while ((r = varlink_queue_call(v, "a.B", json_pack("{si}", "tag", 1), 0, &call)) == 0)
		continue;
	assert_int_equal(r, -ENOBUFS);
	varlink_destroy(v);
	varlink_destroy(w);
}

static const struct varlink_service service = {
	"simd",
	"simd",
	"1",
	"https://example.org",
	(const struct varlink_interface[]){ { "io.test", "interface io.test\n" }, { 0 } },
};

/* A server in a child: answers until the peer hangs up. */
static void serve(int sock)
{
	struct varlink *v;
	struct varlink_msg m;
	struct varlink_request q;

	if (varlink_create(NULL, &v) < 0)
		_exit(1);
	while (varlink_receive(v, sock, -1, &m) == 0) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (varlink_msg_request(&m, &q) < 0)
			_exit(2);
		if (varlink_service_handle(&service, v, &q) > 0) {
		} else if (!strcmp(q.method, "io.test.Echo")) {
			varlink_queue_reply(v, json_incref(q.params), false, &fd, 1);
		} else if (!strcmp(q.method, "io.test.Count")) {
			for (int i = 0; i < 3; i++)
				varlink_queue_reply(v, json_pack("{si}", "i", i), q.more && i < 2, NULL, 0);
		} else if (!strcmp(q.method, "io.test.Fail")) {
			varlink_queue_failure(v, "io.test.Failed", -EBUSY, "the token \"a\" is in use");
		} else if (strcmp(q.method, "io.test.Silent") != 0) {
			varlink_queue_method_not_found(v, q.method);
		}
		fd_close(fd);
		varlink_msg_finish(&m);
	}
	varlink_destroy(v);
	_exit(0);
}

TEST(blocking_calls_work)
{
	int sock[2], status, fd;
	struct varlink *v = make(0, 0);
	struct varlink_msg m;
	struct varlink_answer a;
	char *text;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sock), 0);
	pid = fork();
	if (pid == 0) {
		close(sock[0]);
		serve(sock[1]);
	}
	close(sock[1]);
	assert_int_equal(varlink_call(v, sock[0], "io.test.Echo", json_pack("{ss}", "a", "b"), -1, &m), 0);
	text = jsonx_text(m.json);
	assert_string_equal(text, "{\"parameters\":{\"a\":\"b\"},\"fds\":1}");
	mem_free(text);
	fd = varlink_msg_take_fd(&m, 0);
	assert_true(fd >= 0);
	fd_close(fd);
	varlink_msg_finish(&m);
	assert_int_equal(varlink_call(v, sock[0], "io.test.Fail", NULL, -1, &m), -EBUSY);
	assert_string_equal(err_why(), "the token \"a\" is in use");
	assert_int_equal(varlink_call(v, sock[0], "io.test.None", NULL, -1, NULL), -EOPNOTSUPP);
	assert_int_equal(varlink_queue_call(v, "io.test.Count", NULL, VARLINK_MORE, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(varlink_receive(v, sock[0], -1, &m), 0);
		assert_int_equal(varlink_msg_answer(&m, &a), 0);
		assert_int_equal(a.continues, i < 2);
		assert_int_equal(json_integer_value(json_object_get(a.params, "i")), i);
		varlink_msg_finish(&m);
	}
	assert_int_equal(varlink_call(v, sock[0], "org.varlink.service.GetInfo", NULL, -1, &m), 0);
	assert_int_equal(json_array_size(json_object_get(json_object_get(m.json, "parameters"), "interfaces")), 2);
	varlink_msg_finish(&m);
	assert_int_equal(varlink_call(v, sock[0], "org.varlink.service.GetInterfaceDescription",
				      json_pack("{ss}", "interface", "io.test"), -1, NULL),
			 0);
	assert_int_equal(varlink_call(v, sock[0], "org.varlink.service.GetInterfaceDescription",
				      json_pack("{ss}", "interface", "io.none"), -1, NULL),
			 -EOPNOTSUPP);
	assert_int_equal(varlink_call(v, sock[0], "org.varlink.service.GetInterfaceDescription", NULL, -1, NULL),
			 -EINVAL);
	assert_int_equal(varlink_call(v, sock[0], "io.test.Silent", NULL, NS_PER_MS, NULL), -ETIMEDOUT);
	fd_close(sock[0]);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	varlink_destroy(v);
}

TEST(a_hang_up_is_seen)
{
	int sock[2];
	struct varlink *v = make(0, 0);
	struct varlink_msg m;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	close(sock[1]);
	assert_int_equal(varlink_read(v, sock[0]), -ECONNRESET);
	assert_int_equal(varlink_receive(v, sock[0], -1, &m), -ECONNRESET);
	assert_int_equal(varlink_call(v, sock[0], "a.B", NULL, -1, NULL), -EPIPE);
	close(sock[0]);
	varlink_destroy(v);
}

/* A socket that takes little at a time: nothing is lost, nothing blocks. */
TEST(a_full_socket_is_waited_for)
{
	int sock[2], small = 4096, full = 0, got = 0;
	struct varlink *v = make(0, 0), *w = make(0, 0);
	char *big = mem_zalloc(100001);
	struct varlink_msg m;

	memset(big, 'x', 100000);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sock), 0);
	setsockopt(sock[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (int i = 0; i < 5; i++)
		assert_int_equal(varlink_queue_reply(v, json_pack("{ss}", "x", big), false, NULL, 0), 0);
	for (int r = 0; r != 1;) {
		r = varlink_write(v, sock[0]);
		assert_true(r >= 0);
		full += r == 0;
		while (varlink_read(w, sock[1]) > 0)
			while (varlink_next(w, &m) == 1) {
				got++;
				varlink_msg_finish(&m);
			}
	}
	assert_int_equal(got, 5);
	assert_true(full > 5);
	mem_free(big);
	close(sock[0]);
	close(sock[1]);
	varlink_destroy(v);
	varlink_destroy(w);
}

TEST(members_are_read_with_their_bounds)
{
	json_t *o = json_loads("{\"i\":5,\"s\":\"abc\",\"b\":true,\"r\":1.5,\"n\":null,\"o\":{},\"a\":[1,2]}", 0, NULL),
	       *j;
	const char *s = "keep";
	int64_t i = 9;
	double r;
	bool b;

	assert_int_equal(jsonx_int(o, "i", 0, 5, &i), 0);
	assert_int_equal(i, 5);
	assert_int_equal(jsonx_int(o, "i", 6, 9, &i), -EINVAL);
	assert_string_equal(err_why(), "i is 5, out of range 6 to 9");
	assert_int_equal(jsonx_int(o, "s", 0, 9, &i), -EINVAL);
	assert_string_equal(err_why(), "s is of type string where integer is wanted");
	assert_int_equal(jsonx_int(o, "zz", 0, 9, &i), -EINVAL);
	assert_int_equal(jsonx_int(NULL, "zz", 0, 9, &i), -EINVAL);
	assert_string_equal(err_why(), "zz is missing; give a value of type integer");
	assert_int_equal(i, 5);
	assert_int_equal(jsonx_opt_int(o, "n", 0, 9, 3, &i), 0);
	assert_int_equal(i, 3);
	assert_int_equal(jsonx_opt_int(NULL, "n", 0, 9, 4, &i), 0);
	assert_int_equal(i, 4);
	assert_int_equal(jsonx_opt_int(o, "i", 6, 9, 3, &i), -EINVAL);
	assert_int_equal(jsonx_string(o, "s", 2, &s), -EINVAL);
	assert_string_equal(s, "keep");
	assert_int_equal(jsonx_string(o, "s", 3, &s), 0);
	assert_string_equal(s, "abc");
	assert_int_equal(jsonx_real(o, "i", &r), 0);
	assert_true(r == 5.0);
	assert_int_equal(jsonx_bool(o, "b", &b), 0);
	assert_int_equal(jsonx_bool(o, "i", &b), -EINVAL);
	assert_int_equal(jsonx_object(o, "o", &j), 0);
	assert_int_equal(jsonx_object(o, "a", &j), -EINVAL);
	assert_int_equal(jsonx_array(o, "a", 1, &j), -EINVAL);
	assert_int_equal(jsonx_array(o, "a", 2, &j), 0);
	json_decref(o);
}

struct values {
	int64_t i, n, absent;
	const char *s;
	bool b;
	double r;
	json_t *o;
};

#define AT(key_, type_, member) .key = (key_), .type = (type_), .off = offsetof(struct values, member)
static const struct jsonx_field table[] = {
	{ AT("i", JSONX_INT, i), .min = 1, .max = 9 },
	{ AT("n", JSONX_INT, n), .optional = true, .min = 1, .max = 9, .def = 7 },
	{ AT("absent", JSONX_INT, absent), .optional = true, .max = 9, .def = 8 },
	{ AT("s", JSONX_STRING, s), .max = 3 },
	{ AT("b", JSONX_BOOL, b), .optional = true },
	{ AT("r", JSONX_REAL, r) },
	{ AT("o", JSONX_OBJECT, o), .optional = true },
	{ 0 },
};

TEST(objects_are_read_by_a_table)
{
	static const struct {
		const char *text, *why; /* NULL: accepted */
	} rows[] = {
		{ "{\"i\": 5, \"s\": \"abc\", \"r\": 1.5, \"b\": true, \"o\": {}, \"n\": null}", NULL },
		{ "{\"s\": \"abc\", \"r\": 1.5}", "i is missing; give a value of type integer" },
		{ "{\"i\": 0, \"s\": \"abc\", \"r\": 1.5}", "i is 0, out of range 1 to 9" },
		{ "{\"i\": 5, \"s\": \"abcd\", \"r\": 1.5}", "s has 4 bytes, at most 3 are allowed" },
		{ "{\"i\": 5, \"s\": \"abc\", \"r\": \"x\"}", "r is of type string where number is wanted" },
		{ "{\"i\": 5, \"s\": \"abc\", \"r\": 1, \"b\": 1}", "b is of type integer where boolean is wanted" },
		{ "{\"i\": 5, \"s\": \"abc\", \"r\": 1, \"o\": []}", "o is of type array where object is wanted" },
		{ "{\"i\": 5, \"s\": \"abc\", \"r\": 1, \"x\": 0}", "x is not a parameter of this call" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct values v = { 0 };
		json_t *o = json_loads(rows[i].text, 0, NULL);

		assert_int_equal(jsonx_read(o, table, &v), rows[i].why ? -EINVAL : 0);
		if (rows[i].why)
			assert_string_equal(err_why(), rows[i].why);
		else
			assert_true(v.i == 5 && v.n == 7 && v.absent == 8 && v.b && v.o && !strcmp(v.s, "abc"));
		json_decref(o);
	}
	assert_int_equal(jsonx_read(NULL, NULL, NULL), 0);
}

TEST(objects_are_built_by_a_table)
{
	json_t *inner = json_object(), *o = JSONX_MAKE(JX_INT("i", -3), JX_BOOL("b", true), JX_REAL("r", 1.5),
						       JX_STR("s", "abc"), JX_NEW("o", json_incref(inner)));
	char *text = json_dumps(o, JSON_COMPACT);

	assert_string_equal(text, "{\"i\":-3,\"b\":true,\"r\":1.5,\"s\":\"abc\",\"o\":{}}");
	free(text);
	json_decref(o);
	/* one bad value: nothing is made, and the values are freed */
	assert_null(JSONX_MAKE(JX_STR("s", "\xff"), JX_NEW("o", json_incref(inner))));
	assert_null(JSONX_MAKE(JX_NEW("o", json_incref(inner)), JX_NEW("x", NULL)));
	assert_int_equal(inner->refcount, 1);
	json_decref(inner);
}
