/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h */
#include "tests/support/test.h"

#include "suite.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "timeutil.h"

#define STALL  NS_PER_S
#define DIAL   (5 * NS_PER_S)
#define LINGER (60 * NS_PER_S)
#define MUCH   ((size_t)3 << 20)
#define BUFFER 65536u

struct exec *suite_x;
struct end suite_near, suite_far;
static struct end *const near = &suite_near, *const far = &suite_far;
static struct listener *listener;
static struct address at;

/* ---- one end ---- */

/* The byte at position i in everything that an end sends. */
static uint8_t pattern(size_t i)
{
	return (uint8_t)(i ^ i >> 8 ^ i >> 16);
}

static void opened(void *arg)
{
	struct end *e = arg;

	e->n_opened++;
}

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct end *e = arg;
	size_t n = e->use && e->use < len ? e->use : len;

	(void)why;
	assert_int_equal(e->n_ended, 0);
	for (size_t i = 0; i < n; i++)
		if (data[i] != pattern(e->n + i))
			fail_msg("byte %zu is %u, not %u", e->n + i, data[i], pattern(e->n + i));
	e->n += n;
	if (e->shy)
		stream_pause(e->s, true);
	return (ssize_t)n;
}

static void room(void *arg)
{
	struct end *e = arg;

	assert_int_equal(e->n_ended, 0);
	assert_false(stream_waits(e->s));
	e->n_room++;
}

static void ended(void *arg, int error, const char *why)
{
	struct end *e = arg;

	e->n_ended++;
	e->error = error;
	snprintf(e->why, sizeof(e->why), "%s", why);
	if (!e->vain)
		return;
	stream_destroy(e->s);
	e->s = NULL;
}

static const struct stream_ops ops = { .opened = opened, .take = take, .room = room, .ended = ended };

/* ---- both ends ---- */

static void *came(void *arg, struct stream *s, const char *from)
{
	struct end *e = arg;

	assert_true(*from);
	assert_null(e->s);
	e->s = s;
	if (suite.protect)
		suite.protect(s, true);
	return e;
}

static void listen_there(unsigned port)
{
	const struct listener_options o = { .bounds = { .peers = 4, .header_dur_ns = LINGER },
					    .stream = { .ops = &ops, .buffer = BUFFER },
					    .arg = far,
					    .came = came };
	char why[STREAM_WHY_MAX], path[TEST_PATH_MAX];

	snprintf(at.host, sizeof(at.host), "%s", suite.host ? suite.host : test_path(path, "door"));
	at.port = port;
	if (listener_create(suite_x, &at, &o, &listener, why) < 0)
		fail_msg("%s", why);
	at.port = listener_port(listener);
}

unsigned suite_port(void)
{
	return at.port;
}

int suite_set_up(void **state)
{
	(void)state;
	*near = *far = (struct end){ 0 };
	assert_int_equal(exec_sim_create(test_seed(1), NS_PER_S, &suite_x), 0);
	if (suite.begin)
		suite.begin(suite_x);
	listen_there(0);
	return 0;
}

int suite_tear_down(void **state)
{
	(void)state;
	stream_destroy(near->s);
	stream_destroy(far->s);
	listener_destroy(listener);
	listener = NULL;
	if (suite.end)
		suite.end();
	exec_destroy(suite_x);
	return 0;
}

void suite_run(int64_t dur_ns)
{
	assert_true(exec_sim_run(suite_x, exec_now(suite_x) + dur_ns) >= 0);
}

static void dial_path(const struct stream_options *o)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%.100s", at.host);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(stream_adopt(suite_x, fd, o, &near->s), 0);
}

void suite_dial_at(unsigned port)
{
	const struct stream_options o = {
		.ops = &ops, .arg = near, .buffer = BUFFER, .dial_dur_ns = DIAL, .stall_dur_ns = STALL
	};
	char why[STREAM_WHY_MAX];

	at.port = port;
	if (suite.host)
		assert_int_equal(stream_dial(suite_x, &at, &o, &near->s, why), 0);
	else
		dial_path(&o);
	if (suite.protect)
		suite.protect(near->s, false);
	assert_int_equal(near->n_opened, 0); /* callbacks come only from the loop */
}

void suite_dial(void)
{
	suite_dial_at(at.port);
}

int suite_connected(void **state)
{
	suite_set_up(state);
	suite_dial();
	UNTIL(far->s && (near->n_opened || !suite.host) && (far->n_opened || !suite.protect));
	listener_mood(far->s, PEER_BUSY);
	assert_int_equal(near->n_ended + far->n_ended, 0);
	return 0;
}

size_t suite_say(const struct end *e, size_t from, size_t most)
{
	static uint8_t data[100000];
	struct iovec v[2] = { { data, 3 }, { data + 3, 0 } };
	size_t n = most < sizeof(data) ? most : sizeof(data);
	ssize_t r;

	for (size_t i = 0; i < n; i++)
		data[i] = pattern(from + i);
	v[0].iov_len = n < 3 ? n : 3;
	v[1].iov_len = n - v[0].iov_len;
	r = stream_write(e->s, v, 2);
	assert_true(r >= 0);
	assert_true((size_t)r == n || stream_waits(e->s));
	return from + (size_t)r;
}

/* Writes until the stream takes no more; returns the bytes taken. */
static size_t fill(const struct end *e)
{
	size_t n = 0, before;

	do {
		before = n;
		n = suite_say(e, n, SIZE_MAX);
	} while (n > before);
	return n;
}

/* ---- bytes ---- */

TEST_WITH(bytes_arrive_in_order_in_both_directions, suite_connected, suite_tear_down)
{
	size_t there = 0, back = 0;

	while (near->n < MUCH || far->n < MUCH) {
		there = suite_say(near, there, there < MUCH ? 1 + MUCH % (there + 7) : 0);
		back = suite_say(far, back, back < MUCH ? 1 + MUCH % (back + 11) : 0);
		suite_run(suite.step_dur_ns);
	}
	UNTIL(near->n == back && far->n == there);
	assert_int_equal(near->n_ended + far->n_ended, 0);
}

/* Bytes that were not used are offered again together with the next ones. */
TEST_WITH(unused_bytes_are_offered_again, suite_connected, suite_tear_down)
{
	far->use = 2;
	assert_int_equal(suite_say(near, 0, 3), 3);
	UNTIL(far->n == 2);
	assert_int_equal(suite_say(near, 3, 2), 5);
	UNTIL(far->n == 4);
	far->use = 0;
	assert_int_equal(suite_say(near, 5, 1), 6);
	UNTIL(far->n == 6);
}

/* If the peer does not read, a write is short; room() comes when there is room again, and nothing is lost. */
TEST_WITH(a_short_write_continues_when_there_is_room, suite_connected, suite_tear_down)
{
	size_t n;

	stream_hurry(near->s, 0);
	stream_pause(far->s, true);
	n = fill(near);
	assert_true(stream_waits(near->s));
	stream_pause(far->s, false);
	UNTIL(near->n_room > 0 && !stream_waits(near->s));
	UNTIL(far->n == n);
	assert_int_equal(suite_say(near, n, 1), n + 1);
	UNTIL(far->n == n + 1);
	assert_int_equal(near->n_ended + far->n_ended, 0);
}

/* stream_send() takes all bytes, and they go before later writes. */
TEST_WITH(sent_bytes_wait_for_room, suite_connected, suite_tear_down)
{
	uint8_t more[2000];
	size_t n;

	stream_hurry(near->s, 0);
	stream_pause(far->s, true);
	n = fill(near);
	for (size_t i = 0; i < sizeof(more); i++)
		more[i] = pattern(n + i);
	assert_int_equal(stream_send(near->s, more, sizeof(more)), 1);
	n += sizeof(more);
	assert_int_equal(suite_say(near, n, 1), n);
	stream_pause(far->s, false);
	UNTIL(far->n == n);
	UNTIL(near->n_room > 0);
	assert_int_equal(suite_say(near, n, 1), n + 1);
	UNTIL(far->n == n + 1);
}

TEST_WITH(a_paused_stream_gets_the_bytes_later, suite_connected, suite_tear_down)
{
	stream_pause(far->s, true);
	assert_int_equal(suite_say(near, 0, 3), 3);
	suite_run(STALL / 2);
	assert_int_equal(far->n, 0);
	far->use = 2;
	stream_pause(far->s, false);
	UNTIL(far->n == 2);
	stream_pause(far->s, true);
	far->use = 0;
	stream_pause(far->s, false);
	assert_int_equal(far->n, 2); /* take() is called only from the loop */
	UNTIL(far->n == 3);
}

/* Bytes received together with the used ones are not lost. */
TEST_WITH(pausing_inside_take_keeps_the_rest, suite_connected, suite_tear_down)
{
	far->shy = true;
	assert_int_equal(suite_say(near, 0, 1000), 1000);
	UNTIL(far->n > 0);
	far->shy = false;
	suite_run(STALL / 2);
	stream_pause(far->s, false);
	UNTIL(far->n == 1000);
}

TEST_WITH(unread_bytes_are_noticed_without_the_loop, suite_connected, suite_tear_down)
{
	assert_true(stream_quiet(far->s));
	stream_pause(far->s, true);
	assert_int_equal(suite_say(near, 0, 1), 1);
	UNTIL(!stream_quiet(far->s));
	stream_pause(far->s, false);
	UNTIL(far->n == 1);
	assert_true(stream_quiet(far->s));
}

/* ---- time ---- */

TEST_WITH(a_passed_deadline_ends_the_stream, suite_connected, suite_tear_down)
{
	stream_deadline(far->s, STALL);
	assert_int_equal(suite_say(near, 0, 1), 1); /* a byte does not extend the deadline */
	suite_run(STALL - 1);
	assert_int_equal(far->n_ended, 0);
	suite_run(1);
	assert_int_equal(far->n_ended, 1);
	assert_int_equal(far->error, -ETIMEDOUT);
	assert_string_equal(far->why, "it does not answer in time");
	UNTIL(near->n_ended);
}

TEST_WITH(a_peer_that_takes_nothing_is_disconnected, suite_connected, suite_tear_down)
{
	size_t n;

	stream_pause(far->s, true);
	n = fill(near);
	suite_run(STALL - 1);
	assert_int_equal(near->n_ended, 0);
	for (; !near->n_ended; suite_run(STALL / 4))
		n = suite_say(near, n, SIZE_MAX); /* the stream takes a little more, once, as bytes on the way arrive */
	assert_int_equal(near->error, -ETIMEDOUT);
	assert_string_equal(near->why, "it has taken nothing for 1000 ms");
	assert_int_equal(stream_write(near->s, &(struct iovec){ &at, 1 }, 1), -ENOTCONN);
}

/* ---- ends ---- */

/* The far end gets all that was sent, though it is slow; bytes that it sends meanwhile are discarded. */
TEST_WITH(an_orderly_end_delivers_everything, suite_connected, suite_tear_down)
{
	static uint8_t more[1000000];
	size_t n;

	stream_pause(far->s, true);
	n = fill(near);
	for (size_t i = 0; i < sizeof(more); i++)
		more[i] = pattern(n + i);
	assert_int_equal(stream_send(near->s, more, sizeof(more)), 1);
	stream_hurry(near->s, 0);
	stream_end(near->s, LINGER);
	assert_int_equal(stream_write(near->s, &(struct iovec){ more, 1 }, 1), -ENOTCONN);
	assert_int_equal(suite_say(far, 0, 100), 100);
	stream_pause(far->s, false);
	UNTIL(far->n_ended);
	assert_int_equal(far->n, n + sizeof(more));
	assert_int_equal(far->error, -ECONNRESET);
	assert_string_equal(far->why, "it has closed the connection");
	UNTIL(near->n_ended);
	assert_int_equal(near->error, 0);
	assert_int_equal(near->n, 0);
}

TEST_WITH(written_bytes_go_out_before_the_end, suite_connected, suite_tear_down)
{
	size_t n = suite_say(near, 0, SIZE_MAX);

	stream_end(near->s, LINGER);
	UNTIL(far->n_ended);
	assert_int_equal(far->n, n);
}

TEST_WITH(an_end_waits_a_bounded_time_for_the_peer_to_close, suite_connected, suite_tear_down)
{
	stream_pause(far->s, true);
	stream_end(near->s, LINGER);
	assert_int_equal(suite_say(far, 0, 100), 100);
	suite_run(LINGER - 1);
	assert_int_equal(near->n_ended, 0);
	suite_run(1);
	assert_int_equal(near->n_ended, 1);
	assert_int_equal(near->error, 0);
}

/* Bytes that the peer sent before its death are received first. */
TEST_WITH(the_death_of_a_peer_ends_the_stream, suite_connected, suite_tear_down)
{
	assert_int_equal(suite_say(near, 0, 1000), 1000);
	stream_destroy(near->s);
	near->s = NULL;
	UNTIL(far->n_ended);
	assert_int_equal(far->n, 1000);
	assert_int_equal(far->error, -ECONNRESET);
	suite_run(STALL);
	assert_int_equal(far->n_ended, 1);
	assert_int_equal(near->n_ended, 0);
}

/* The peer dies while bytes wait to be sent to it. */
TEST_WITH(the_death_of_a_peer_ends_a_stream_with_unsent_bytes, suite_connected, suite_tear_down)
{
	stream_pause(far->s, true);
	(void)fill(near);
	stream_destroy(far->s);
	far->s = NULL;
	UNTIL(near->n_ended);
	assert_true(near->error == -ECONNRESET || near->error == -EPIPE);
}

TEST_WITH(a_stream_may_be_destroyed_inside_ended, suite_connected, suite_tear_down)
{
	near->vain = far->vain = true;
	assert_int_equal(suite_say(near, 0, 1000), 1000);
	stream_end(near->s, LINGER);
	UNTIL(near->n_ended && far->n_ended);
	assert_null(near->s);
	assert_null(far->s);
	*near = *far = (struct end){ 0 };
	suite_dial(); /* its place is free for another connection */
	UNTIL(far->s && (near->n_opened || !suite.host));
	assert_int_equal(suite_say(near, 0, 10), 10);
	UNTIL(far->n == 10);
}

/* ---- dialling ---- */

TEST_WITH(a_stream_can_be_ended_while_it_dials, suite_set_up, suite_tear_down)
{
	if (!suite.host)
		skip();
	suite_dial();
	stream_end(near->s, LINGER);
	suite_run(0);
	assert_int_equal(near->n_opened, 0);
	assert_int_equal(near->n_ended, 1);
	assert_int_equal(near->error, 0);
}

TEST_WITH(dialling_without_a_listener_is_refused, suite_set_up, suite_tear_down)
{
	if (!suite.host)
		skip();
	listener_destroy(listener);
	listener = NULL;
	suite_dial();
	UNTIL(near->n_ended);
	assert_int_equal(near->n_opened, 0);
	assert_int_equal(near->error, -ECONNREFUSED);
}
