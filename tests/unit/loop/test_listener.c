/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listener in virtual time, each test at a port and at a path: which peers are admitted, which are closed for a new
 * one, and which are too late.
 */
#include "listener.h"
#include "support/test.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#define MS     INT64_C(1000000)
#define HEADER (100 * MS)
#define IDLE   (300 * MS)
#define PEERS  4u
#define FAR    8

struct near { /* a peer, as seen by its owner */
	struct stream *s;
	char from[LISTENER_FROM_MAX], got[64], why[STREAM_WHY_MAX];
	int error, n_ended;
};

static struct exec *x;
static struct listener *l;
static struct near nears[FAR];
static unsigned n_came, n_refused;
static char refused_why[100];
static bool closed; /* came() refuses peers */
static int far[FAR];
static struct address at;

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct near *n = arg;

	(void)why;
	if (data[0] == '?') /* no complete message yet */
		return 0;
	strncat(n->got, (const char *)data, len);
	listener_mood(n->s, data[0] == 'r' ? PEER_RESTS : data[0] == 'l' ? PEER_LEAVES : PEER_BUSY);
	return (ssize_t)len;
}

static void room(void *arg)
{
	(void)arg;
}

static void ended(void *arg, int error, const char *why)
{
	struct near *n = arg;

	n->error = error;
	n->n_ended++;
	snprintf(n->why, sizeof(n->why), "%s", why);
}

static void *came(void *arg, struct stream *s, const char *from)
{
	struct near *n = &nears[n_came];

	assert_ptr_equal(arg, &far);
	if (closed)
		return NULL;
	n_came++;
	*n = (struct near){ .s = s };
	snprintf(n->from, sizeof(n->from), "%s", from);
	return n;
}

static void refused(void *arg, const char *from, const char *why)
{
	assert_ptr_equal(arg, &far);
	assert_true(!from || *from);
	n_refused++;
	snprintf(refused_why, sizeof(refused_why), "%s", why);
}

static const struct stream_ops ops = { .take = take, .room = room, .ended = ended };
static struct listener_options options;

static void begin(const char *host)
{
	char why[STREAM_WHY_MAX];

	options = (struct listener_options){
		.bounds = { .peers = PEERS, .header = 10, .header_dur_ns = HEADER, .idle_dur_ns = IDLE },
		.stream = { .ops = &ops, .buffer = 64 },
		.arg = &far,
		.came = came,
		.refused = refused
	};
	n_came = n_refused = 0;
	closed = false;
	at = (struct address){ .port = 0 };
	snprintf(at.host, sizeof(at.host), "%s", host);
	memset(far, -1, sizeof(far));
	assert_int_equal(exec_sim_create(1, 0, &x), 0);
	assert_int_equal(listener_create(x, &at, &options, &l, why), 0);
	at.port = listener_port(l);
}

/* Starts again with other bounds. */
static void again(void)
{
	char why[STREAM_WHY_MAX];

	listener_destroy(l);
	at.port = 0;
	assert_int_equal(listener_create(x, &at, &options, &l, why), 0);
	at.port = listener_port(l);
}

static int at_port(void **state)
{
	(void)state;
	begin("127.0.0.1");
	assert_true(at.port > 0);
	return 0;
}

static int at_path(void **state)
{
	char path[TEST_PATH_MAX];

	(void)state;
	begin(test_path(path, "door"));
	assert_int_equal(at.port, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < n_came; i++)
		stream_destroy(nears[i].s);
	listener_destroy(l);
	exec_destroy(x);
	for (int i = 0; i < FAR; i++)
		if (far[i] >= 0)
			close(far[i]);
	return 0;
}

static void run(int64_t dur_ns)
{
	assert_true(exec_sim_run(x, exec_now(x) + dur_ns) >= 0);
}

static void make(int i)
{
	far[i] = socket(*at.host == '/' ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(far[i] >= 0);
}

/* Connects and sends `what`; the connection may be refused before that. */
static void reach(int i, const char *what)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)at.port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int r;

	snprintf(un.sun_path, sizeof(un.sun_path), "%.100s", at.host);
	r = *at.host == '/' ? connect(far[i], (struct sockaddr *)&un, sizeof(un))
			    : connect(far[i], (struct sockaddr *)&in, sizeof(in));
	assert_int_equal(r, 0);
	run(0);
	(void)send(far[i], what, strlen(what), MSG_NOSIGNAL);
	run(0);
}

/* Connects and sends `what`; "": nothing. */
static void come(int i, const char *what)
{
	make(i);
	reach(i, what);
}

static void expect_gone(unsigned i, int error, const char *why)
{
	assert_int_equal(nears[i].n_ended, 1);
	assert_int_equal(nears[i].error, error);
	assert_string_equal(nears[i].why, why);
}

/* Defines a test at a port and at a path. */
#define BOTH(name) \
	static void name##_(void); \
	TEST_WITH(name##_at_a_port, at_port, tear_down) \
	{ \
		name##_(); \
	} \
	TEST_WITH(name##_at_a_path, at_path, tear_down) \
	{ \
		name##_(); \
	} \
	static void name##_(void)

BOTH(they_come_and_go)
{
	char text[8] = "";

	come(0, "hello");
	come(1, "world");
	assert_int_equal(n_came, 2);
	assert_string_equal(nears[0].got, "hello");
	assert_string_equal(nears[1].got, "world");
	assert_non_null(strstr(nears[0].from, *at.host == '/' ? "user " : "127.0.0.1:"));
	assert_int_equal(stream_send(nears[1].s, "ok", 2), 0);
	assert_int_equal(read(far[1], text, sizeof(text)), 2);
	close(far[0]);
	far[0] = -1;
	run(IDLE);
	expect_gone(0, -ECONNRESET, "it has closed the connection");
	assert_int_equal(nears[1].n_ended, 0);
}

/* The limit is for present connections, not for all so far. */
BOTH(a_place_is_free_again)
{
	for (unsigned i = 0; i < PEERS; i++)
		come((int)i, "busy");
	come(4, "no");
	assert_int_equal(n_came, PEERS);
	assert_int_equal(n_refused, 1);
	assert_string_equal(refused_why, "4 are connected");
	assert_true(recv(far[4], refused_why, 1, 0) <= 0);
	close(far[2]);
	far[2] = -1;
	run(0);
	come(5, "yes");
	assert_int_equal(n_came, PEERS + 1);
	assert_string_equal(nears[4].got, "yes");
}

/* The oldest silent peer is closed, else the oldest idle one; busy peers stay. */
BOTH(silent_peers_hold_no_place)
{
	come(0, "rests");
	come(1, "busy");
	come(2, "");
	come(3, "?");
	come(4, "rests");
	expect_gone(2, -EBUSY, "another one needs its place");
	come(5, "busy");
	expect_gone(3, -EBUSY, "another one needs its place");
	come(6, "busy");
	expect_gone(0, -EBUSY, "another one needs its place");
	assert_int_equal(nears[1].n_ended + nears[4].n_ended + nears[5].n_ended + nears[6].n_ended, 0);
	assert_int_equal(n_refused, 0);
}

/* One address can use only its own share. */
BOTH(one_address_has_its_share)
{
	options.bounds.peers_of_one = 2;
	again();
	come(0, "busy");
	come(1, "");
	come(2, "busy");
	expect_gone(1, -EBUSY, "another one needs its place");
	come(3, "busy");
	assert_int_equal(n_came, 3);
	assert_int_equal(n_refused, 1);
	assert_int_equal(strncmp(refused_why, *at.host == '/' ? "2 of user " : "2 of 127.0.0.1 are connected", 10), 0);
}

BOTH(a_header_has_its_time)
{
	come(0, "");
	come(1, "?");
	come(2, "busy");
	run(HEADER - MS);
	assert_int_equal(nears[0].n_ended, 0);
	run(MS);
	expect_gone(0, -ETIMEDOUT, "it does not answer in time");
	expect_gone(1, -ETIMEDOUT, "it does not answer in time");
	run(IDLE);
	assert_int_equal(nears[2].n_ended, 0);
}

BOTH(who_rests_has_its_time)
{
	come(0, "rests");
	run(IDLE - MS);
	assert_int_equal(write(far[0], "rests", 5), 5);
	run(IDLE - MS);
	assert_int_equal(nears[0].n_ended, 0);
	run(MS);
	expect_gone(0, -ETIMEDOUT, "it does not answer in time");
}

/* Ten bytes; afterwards the whole buffer. */
BOTH(a_header_has_its_size)
{
	come(0, "?23456789");
	come(1, "?234567890");
	assert_int_equal(nears[0].n_ended, 0);
	expect_gone(1, -EMSGSIZE, strerror(EMSGSIZE));
	come(2, "busy");
	assert_int_equal(write(far[2], "?2345678901234567890", 20), 20);
	run(0);
	assert_int_equal(nears[2].n_ended, 0);
}

/* Its owner counts it, and it uses none of the listener's places. */
BOTH(peers_that_leave_need_no_place)
{
	for (int i = 0; i < 3; i++)
		come(i, "leaves");
	for (int i = 3; i < 7; i++)
		come(i, "busy");
	assert_int_equal(n_came, 7);
	assert_int_equal(n_refused, 0);
	run(10 * IDLE);
	assert_int_equal(nears[0].n_ended, 0);
}

BOTH(nobody_is_wanted)
{
	closed = true;
	come(0, "");
	assert_int_equal(n_came, 0);
	assert_int_equal(read(far[0], refused_why, 1), 0);
	closed = false;
	come(1, "busy");
	assert_int_equal(n_came, 1);
}

/* Peers outlive their listener. */
BOTH(the_listener_may_be_destroyed_first)
{
	come(0, "");
	listener_destroy(l);
	l = NULL;
	run(10 * HEADER);
	assert_int_equal(nears[0].n_ended, 0);
	listener_mood(nears[0].s, PEER_RESTS);
	assert_int_equal(write(far[0], "abc", 3), 3);
	run(0);
	assert_string_equal(nears[0].got, "abc");
}

/* The listener neither spins nor forgets waiting connections. */
BOTH(without_a_descriptor_they_wait)
{
	struct rlimit old, none;

	come(0, "busy");
	make(1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)far[1] + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	reach(1, "wait");
	assert_int_equal(n_came, 1);
	assert_string_equal(refused_why, "Too many open files");
	assert_true(exec_sim_run(x, exec_now(x) + 1000 * MS) < 100);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	run(100 * MS);
	assert_int_equal(n_came, 2);
	assert_string_equal(nears[1].got, "wait");
}

/* Reads a socket option of the newest connection, which has the highest descriptor. */
static int option_of(int level, int option)
{
	socklen_t len = sizeof(int);
	int v = -1, fd = dup(0);

	close(fd);
	while (--fd > far[0] && getsockopt(fd, level, option, &v, &len) < 0)
		continue;
	return v;
}

TEST_WITH(socket_options_of_its_streams, at_port, tear_down)
{
	options.stream.silent_s = 7;
	options.stream.quick_ack = true;
	again();
	come(0, "one");
	assert_int_equal(option_of(IPPROTO_TCP, TCP_KEEPIDLE), 7);
	/* without quick_ack the acknowledgement would now wait for the next answer */
	assert_int_equal(stream_send(nears[0].s, "x", 1), 0);
	assert_int_equal(send(far[0], "two", 3, MSG_NOSIGNAL), 3);
	run(0);
	assert_string_equal(nears[0].got, "onetwo");
	assert_int_equal(option_of(IPPROTO_TCP, TCP_QUICKACK), 1);
}

TEST(unusable_addresses_are_errors)
{
	static const char *const wrong[] = { "192.0.2.1", "256.256.256.256", "/nowhere/door" };

	begin("127.0.0.1");
	for (int i = 0; i < 3; i++) {
		struct address a = { .port = 0 };
		struct listener *none = NULL;
		char why[STREAM_WHY_MAX] = "";

		snprintf(a.host, sizeof(a.host), "%s", wrong[i]);
		assert_true(listener_create(x, &a, &options, &none, why) < 0);
		assert_true(*why);
		assert_null(none);
	}
	tear_down(NULL);
}
