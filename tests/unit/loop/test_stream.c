/* SPDX-License-Identifier: Apache-2.0 */
/* A stream in virtual time: the far end is the other descriptor of a pair, or a socket of this machine that listens. */
#include "stream.h"
#include "mem.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS     INT64_C(1000000)
#define STALL  (100 * MS)
#define LINGER (50 * MS)
#define DIAL   (200 * MS)

static struct exec *x;
static struct stream *s;
static int far = -1;
static char got[64], told[STREAM_WHY_MAX]; /* bytes received; reason of the end */
static int n_opened, n_room, n_ended, error;
static size_t use;   /* so many bytes at a time; 0: all that there are */
static bool in_time; /* received bytes satisfy the deadline */

static void opened(void *arg)
{
	(void)arg;
	n_opened++;
}

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	size_t n = use && use < len ? use : len;

	(void)arg;
	if (data[0] == '!') {
		snprintf(why, STREAM_WHY_MAX, "it lies");
		return -EPROTO;
	}
	if (data[0] == '?')
		return 0;
	if (in_time)
		stream_deadline(s, 0);
	strncat(got, (const char *)data, n);
	return (ssize_t)n;
}

static void room(void *arg)
{
	(void)arg;
	n_room++;
}

static void ended(void *arg, int e, const char *why)
{
	(void)arg;
	n_ended++;
	error = e;
	snprintf(told, sizeof(told), "%s", why);
}

static const struct stream_ops ops = { .opened = opened, .take = take, .room = room, .ended = ended };
static const struct stream_options options = { .ops = &ops, .buffer = 8, .dial_dur_ns = DIAL, .stall_dur_ns = STALL };

static int set_up(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(exec_sim_create(1, 0, &x), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(stream_adopt(x, pair[0], &options, &s), 0);
	far = pair[1];
	*got = '\0';
	n_opened = n_room = n_ended = error = 0;
	use = 0;
	in_time = false;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stream_destroy(s);
	s = NULL;
	exec_destroy(x);
	close(far);
	return 0;
}

static void run(int64_t dur_ns)
{
	assert_true(exec_sim_run(x, exec_now(x) + dur_ns) >= 0);
}

static void far_writes(const char *text)
{
	assert_int_equal(write(far, text, strlen(text)), strlen(text));
	run(0);
}

static ssize_t write_text(const char *text)
{
	struct iovec v[2] = { { (void *)(uintptr_t)text, 1 }, { (void *)(uintptr_t)(text + 1), strlen(text) - 1 } };

	return stream_write(s, v, 2);
}

/* Until the socket takes no more. */
static void fill(void)
{
	static char zeros[1 << 16];
	struct iovec v = { zeros, sizeof(zeros) };

	while (stream_write(s, &v, 1) > 0)
		continue;
}

static void expect_end(int e, const char *why)
{
	assert_int_equal(n_ended, 1);
	assert_int_equal(error, e);
	assert_string_equal(told, why);
	assert_int_equal(write_text("ab"), -ENOTCONN);
	run(DIAL);
	assert_int_equal(n_ended, 1);
}

TEST_WITH(bytes_go_both_ways, set_up, tear_down)
{
	char text[8] = "";

	far_writes("abc");
	assert_string_equal(got, "abc");
	assert_int_equal(write_text("xyz"), 3);
	assert_int_equal(read(far, text, sizeof(text)), 3);
	assert_string_equal(text, "xyz");
	run(STALL + MS);
	assert_int_equal(n_ended + n_room, 0);
}

/* Bytes that were not used are offered again with the next ones. */
TEST_WITH(unused_bytes_are_offered_again, set_up, tear_down)
{
	use = 2;
	far_writes("abcde");
	assert_string_equal(got, "ab");
	far_writes("f");
	assert_string_equal(got, "abcd");
	use = 0;
	far_writes("g");
	assert_string_equal(got, "abcdefg");
}

TEST_WITH(a_peer_that_goes, set_up, tear_down)
{
	far_writes("abc");
	assert_int_equal(shutdown(far, SHUT_WR), 0);
	run(0);
	assert_string_equal(got, "abc");
	expect_end(-ECONNRESET, "it has closed the connection");
}

TEST_WITH(a_peer_that_lies, set_up, tear_down)
{
	far_writes("!");
	expect_end(-EPROTO, "it lies");
}

TEST_WITH(a_full_buffer_of_which_nothing_is_used, set_up, tear_down)
{
	far_writes("?234567");
	assert_int_equal(n_ended, 0);
	far_writes("8");
	expect_end(-EMSGSIZE, strerror(EMSGSIZE));
}

TEST_WITH(there_is_room_again, set_up, tear_down)
{
	static char all[1 << 20];

	fill();
	run(STALL - MS);
	assert_int_equal(n_room, 0);
	while (read(far, all, sizeof(all)) > 0)
		continue;
	run(STALL + MS); /* all was taken, so it does not stall */
	assert_int_equal(n_room, 1);
	assert_int_equal(n_ended, 0);
	assert_int_equal(write_text("ab"), 2);
}

TEST_WITH(a_peer_that_takes_nothing, set_up, tear_down)
{
	fill();
	for (int64_t i = 0; i < STALL / MS; i++) {
		assert_int_equal(n_ended, 0);
		assert_int_equal(write_text("ab"), 0); /* trying again is no progress */
		run(MS);
	}
	expect_end(-ETIMEDOUT, "it has taken nothing for 100 ms");
}

TEST_WITH(a_shorter_stall_time_ends_earlier, set_up, tear_down)
{
	fill();
	run(STALL / 2);
	stream_hurry(s, STALL / 10);
	run(STALL / 10);
	expect_end(-ETIMEDOUT, "it has taken nothing for 10 ms");
}

/* The far end reads all that was written; bytes that it sends meanwhile are discarded. */
TEST_WITH(an_orderly_end, set_up, tear_down)
{
	char text[8] = "";

	assert_int_equal(write_text("bye"), 3);
	stream_end(s, LINGER);
	assert_int_equal(write_text("ab"), -ENOTCONN);
	far_writes("late");
	assert_int_equal(read(far, text, sizeof(text)), 3);
	assert_int_equal(read(far, text, sizeof(text)), 0);
	assert_int_equal(n_ended, 0);
	assert_int_equal(shutdown(far, SHUT_WR), 0);
	run(0);
	assert_string_equal(got, "");
	assert_int_equal(n_ended, 1);
	assert_int_equal(error, 0);
}

TEST_WITH(a_peer_that_does_not_close_is_left, set_up, tear_down)
{
	stream_end(s, LINGER);
	run(LINGER - MS);
	assert_int_equal(n_ended, 0);
	run(MS);
	assert_int_equal(n_ended, 1);
	assert_int_equal(error, 0);
}

/* ---- answers, deadlines, owners ---- */

/* All that the far end reads, until there is nothing for now. */
static size_t far_reads(char *last)
{
	static char all[1 << 16];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(far, all, sizeof(all))) > 0) {
		sum += (size_t)n;
		*last = all[n - 1];
		run(0);
	}
	return sum;
}

/* Bytes that are sent wait in the stream, before later writes. */
TEST_WITH(sent_bytes_wait_for_room, set_up, tear_down)
{
	static char zeros[1 << 16];
	size_t sum = 0;
	char last = 0;

	while (stream_send(s, zeros, sizeof(zeros)) == 0)
		sum += sizeof(zeros);
	sum += sizeof(zeros);
	assert_int_equal(stream_send(s, "xyz", 3), 1);
	sum -= (size_t)read(far, zeros, sizeof(zeros));
	assert_int_equal(write_text("ab"), 0); /* though the socket would take it */
	assert_int_equal(n_room, 0);
	assert_int_equal(far_reads(&last), sum + 3);
	assert_int_equal(last, 'z');
	assert_int_equal(n_room, 1);
	assert_int_equal(write_text("ab"), 2);
}

/* No bytes may follow a part of a send. */
TEST_WITH(a_send_without_memory_ends_the_stream, set_up, tear_down)
{
	fill();
	mem_fail_after(1);
	assert_int_equal(stream_send(s, "xyz", 3), -ENOMEM);
	mem_fail_after(0);
	run(0);
	expect_end(-ENOMEM, strerror(ENOMEM));
}

/* An end in order leaves nothing behind that was sent; a peer that never reads it does not hold it for ever. */
TEST_WITH(sent_bytes_go_out_before_the_end, set_up, tear_down)
{
	static char zeros[1 << 16];
	char last = 0;

	while (stream_send(s, zeros, sizeof(zeros)) == 0)
		continue;
	assert_int_equal(stream_send(s, "z", 1), 1);
	stream_end(s, LINGER);
	run(STALL / 2);
	assert_int_equal(n_ended, 0);
	assert_true(far_reads(&last) > sizeof(zeros));
	assert_int_equal(last, 'z');
	assert_int_equal(read(far, zeros, 1), 0);
	run(LINGER);
	assert_int_equal(n_ended, 1);
	assert_int_equal(error, 0);
}

TEST_WITH(an_end_is_bounded_when_the_peer_reads_nothing, set_up, tear_down)
{
	static char zeros[1 << 16];

	stream_hurry(s, 0);
	while (stream_send(s, zeros, sizeof(zeros)) == 0)
		continue;
	stream_end(s, LINGER);
	run(LINGER);
	assert_int_equal(n_ended, 1);
	assert_int_equal(error, -ETIMEDOUT);
}

TEST_WITH(a_deadline_passes, set_up, tear_down)
{
	stream_deadline(s, DIAL);
	far_writes("abc");
	run(DIAL / 2);
	stream_deadline(s, DIAL); /* another one */
	run(DIAL - MS);
	assert_int_equal(n_ended, 0);
	stream_deadline(s, 0);
	run(DIAL);
	assert_int_equal(n_ended, 0);
	stream_deadline(s, DIAL);
	run(DIAL);
	expect_end(-ETIMEDOUT, "it does not answer in time");
}

/* Bytes that arrived while the program stood still are in time. */
TEST_WITH(bytes_received_by_the_deadline_count, set_up, tear_down)
{
	in_time = true;
	for (int i = 0; i < 20; i++) { /* whichever of the two runs first */
		stream_deadline(s, MS);
		exec_sim_spend(x, 2 * MS);
		assert_int_equal(write(far, "a", 1), 1);
		while (strlen(got) <= (size_t)i && exec_sim_one(x) == 1)
			continue;
		assert_int_equal(strlen(got), i + 1);
	}
	run(DIAL);
	assert_int_equal(n_ended, 0);
}

TEST_WITH(a_paused_stream_takes_nothing, set_up, tear_down)
{
	use = 2;
	far_writes("abcd");
	stream_pause(s, true);
	far_writes("efgh");
	assert_string_equal(got, "ab");
	use = 0;
	stream_pause(s, false);
	assert_string_equal(got, "ab"); /* from the loop alone */
	run(0);
	assert_string_equal(got, "abcdefgh");
	stream_pause(s, true);
	close(far); /* which shows in spite of that */
	far = -1;
	run(0);
	expect_end(-ECONNRESET, "it has closed the connection");
}

static ssize_t take_other(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	(void)why;
	strncat(arg, (const char *)data, len);
	return (ssize_t)len;
}

static const struct stream_ops other = { .take = take_other, .room = room, .ended = ended };
static char other_got[64];

static ssize_t take_and_end(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	(void)arg;
	(void)data;
	(void)why;
	assert_int_equal(stream_send(s, "bye", 3), 0);
	stream_end(s, LINGER);
	return (ssize_t)len;
}

/* An answer, and the end: from inside take(). */
TEST_WITH(it_may_be_ended_inside_take, set_up, tear_down)
{
	static const struct stream_ops last = { .take = take_and_end, .room = room, .ended = ended };
	char text[8] = "";

	stream_hand(s, &last, NULL);
	far_writes("abcd");
	far_writes("efgh");
	assert_int_equal(read(far, text, sizeof(text)), 3);
	assert_int_equal(read(far, text, sizeof(text)), 0);
	assert_int_equal(shutdown(far, SHUT_WR), 0);
	run(0);
	assert_int_equal(n_ended, 1);
	assert_int_equal(error, 0);
}

static ssize_t take_and_hand(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	(void)arg;
	(void)data;
	(void)why;
	stream_hand(s, &other, other_got);
	return len < 2 ? 0 : 2;
}

TEST_WITH(another_owner_has_the_rest, set_up, tear_down)
{
	static const struct stream_ops first = { .take = take_and_hand, .room = room, .ended = ended };

	*other_got = '\0';
	stream_hand(s, &first, NULL);
	far_writes("abcd");
	assert_string_equal(other_got, "cd");
	far_writes("e");
	assert_string_equal(other_got, "cde");
}

TEST_WITH(quiet_is_known_at_once, set_up, tear_down)
{
	assert_true(stream_quiet(s));
	assert_int_equal(write(far, "a", 1), 1);
	assert_false(stream_quiet(s));
	run(0);
	assert_true(stream_quiet(s));
	assert_int_equal(shutdown(far, SHUT_WR), 0);
	assert_false(stream_quiet(s));
	assert_int_equal(n_ended, 0);
	run(0);
	assert_false(stream_quiet(s));
	assert_int_equal(n_ended, 1);
}

/* ---- dialling ---- */

/* A port of this machine, with or without a listener. */
static unsigned port(bool listens, int backlog, int *ret_fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	*ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(*ret_fd, (struct sockaddr *)&at, len), 0);
	if (listens)
		assert_int_equal(listen(*ret_fd, backlog), 0);
	assert_int_equal(getsockname(*ret_fd, (struct sockaddr *)&at, &len), 0);
	return ntohs(at.sin_port);
}

static void dial(unsigned to)
{
	struct address a = { .host = "127.0.0.1", .port = to };
	char why[STREAM_WHY_MAX];

	stream_destroy(s);
	assert_int_equal(stream_dial(x, &a, &options, &s, why), 0);
	assert_int_equal(n_opened + n_ended, 0); /* callbacks come only from the loop */
}

TEST_WITH(dialled_and_open, set_up, tear_down)
{
	int fd, peer;

	dial(port(true, 1, &fd));
	run(0);
	assert_int_equal(n_opened, 1);
	peer = accept(fd, NULL, NULL);
	assert_int_equal(write(peer, "abc", 3), 3);
	run(DIAL + MS);
	assert_string_equal(got, "abc");
	assert_int_equal(n_ended, 0);
	close(peer);
	close(fd);
}

TEST_WITH(dialling_without_a_listener, set_up, tear_down)
{
	int fd;

	dial(port(false, 0, &fd));
	run(0);
	assert_int_equal(n_opened, 0);
	expect_end(-ECONNREFUSED, strerror(ECONNREFUSED));
	close(fd);
}

/* Of a full backlog the kernel says nothing. */
TEST_WITH(dialling_without_an_answer, set_up, tear_down)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd, others[4];
	unsigned to = port(true, 0, &fd);

	at.sin_port = htons((uint16_t)to);
	for (unsigned i = 0; i < 4; i++) {
		others[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(others[i], (struct sockaddr *)&at, sizeof(at));
	}
	dial(to);
	run(DIAL - MS);
	assert_int_equal(n_ended, 0);
	run(MS);
	expect_end(-ETIMEDOUT, strerror(ETIMEDOUT));
	for (unsigned i = 0; i < 4; i++)
		close(others[i]);
	close(fd);
}

TEST_WITH(an_unknown_host_name, set_up, tear_down)
{
	struct address a = { .host = "256.256.256.256", .port = 1 };
	char why[STREAM_WHY_MAX] = "";
	struct stream *none = NULL;

	assert_int_equal(stream_dial(x, &a, &options, &none, why), -ENOENT);
	assert_true(*why);
}

TEST_WITH(it_can_be_ended_while_it_dials, set_up, tear_down)
{
	int fd;

	dial(port(true, 1, &fd));
	stream_end(s, LINGER);
	run(0);
	assert_int_equal(n_opened, 0);
	assert_int_equal(n_ended, 1);
	assert_int_equal(error, 0);
	close(fd);
}
