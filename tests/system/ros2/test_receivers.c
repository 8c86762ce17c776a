/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel tells of receive buffers, and how long one waits for them, with plain UDP sockets as receivers. */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "receivers.h"

#define DATAGRAM        60000u
#define PATIENCE_DUR_NS INT64_C(3600000000000) /* longer than the runner's */
#define SHORT_DUR_NS    100000000
#define ROOM            600000 /* bytes of a buffer, as asked for: the kernel counts with twice as many */

/* port 0: whatever the kernel chooses. */
static int receiver_at(uint16_t port, int room, struct sockaddr_in *ret)
{
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);

	assert_int_equal(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
	assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(s, (struct sockaddr *)&a, &len), 0);
	assert_true(ntohs(a.sin_port) >= 7400);
	*ret = a;
	return s;
}

static int receiver_with(int room, struct sockaddr_in *ret)
{
	return receiver_at(0, room, ret);
}

static int receiver(struct sockaddr_in *ret)
{
	return receiver_with(ROOM, ret);
}

static void send_to(const struct sockaddr_in *to, unsigned n)
{
	static const uint8_t data[DATAGRAM];
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	while (n--)
		assert_int_equal(sendto(s, data, sizeof(data), 0, (const struct sockaddr *)to, sizeof(*to)), DATAGRAM);
	close(s);
}

static void drain(int s)
{
	static uint8_t data[DATAGRAM];

	while (recv(s, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
}

TEST(room_is_not_waited_for)
{
	struct sockaddr_in a;
	struct receivers *r;
	int s = receiver(&a);

	assert_int_equal(receivers_open(PATIENCE_DUR_NS, &r), 0);
	receivers_begin(r, false);
	assert_int_equal(receivers_wait(r, 10 * ROOM), 10 * ROOM); /* empty: no buffer is too small for anything */
	send_to(&a, 2); /* half of what the kernel counts with, but for these */
	assert_in_range(receivers_wait(r, 2 * DATAGRAM), 2 * DATAGRAM, ROOM - 2 * DATAGRAM);
	send_to(&a, 2);
	assert_in_range(receivers_wait(r, 2 * DATAGRAM), 2 * DATAGRAM, ROOM - 4 * DATAGRAM);
	drain(s);
	assert_in_range(receivers_wait(r, 2 * DATAGRAM), ROOM - 1000, ROOM);
	receivers_close(r);
	close(s);
}

/* Where participants of a domain announce themselves no sample goes; at the port after it they do. */
TEST(discovery_is_not_waited_for)
{
	static const uint16_t discovery[] = { 7400, 7400 + 250, 7400 + 250 * 101 };
	struct sockaddr_in a;
	struct receivers *r;

	assert_int_equal(receivers_open(SHORT_DUR_NS, &r), 0);
	receivers_begin(r, false);
	for (size_t i = 0; i < sizeof(discovery) / sizeof(discovery[0]); i++) {
		int s = receiver_at(discovery[i], ROOM, &a);

		send_to(&a, 10);
		assert_int_equal(receivers_wait(r, 10 * ROOM), 10 * ROOM);
		close(s);
		s = receiver_at(discovery[i] + 1, ROOM, &a);
		send_to(&a, 10);
		receivers_begin(r, false);
		assert_int_equal(receivers_wait(r, 10 * ROOM), -ETIMEDOUT);
		close(s);
	}
	receivers_close(r);
}

/* Nobody knows whose a socket is that has never received anything, but where a reader has just come it may be that one's. */
TEST(a_small_buffer_counts_once_it_is_used)
{
	struct sockaddr_in a, b;
	struct receivers *r;
	int s = receiver(&a), small = receiver_with(ROOM / 10, &b);

	assert_int_equal(receivers_open(PATIENCE_DUR_NS, &r), 0);
	send_to(&a, 1);
	receivers_begin(r, false);
	assert_in_range(receivers_wait(r, 1000), ROOM / 2, ROOM);
	receivers_begin(r, true);
	assert_in_range(receivers_wait(r, 1000), 1000, ROOM / 10);
	receivers_begin(r, false);
	assert_in_range(receivers_wait(r, 1000), ROOM / 2, ROOM);
	send_to(&b, 1);
	drain(small); /* read before anybody has looked, as a fast reader does */
	assert_in_range(receivers_wait(r, 1000), 1000, ROOM / 10);
	receivers_close(r);
	close(small);
	close(s);
}

static _Atomic bool waiting;

static void *drain_main(void *arg)
{
	while (!atomic_load(&waiting))
		;
	drain(*(int *)arg);
	return NULL;
}

TEST(it_waits_until_somebody_reads)
{
	struct sockaddr_in a;
	struct receivers *r;
	pthread_t thread;
	int s = receiver(&a);

	assert_int_equal(receivers_open(PATIENCE_DUR_NS, &r), 0);
	receivers_begin(r, false);
	send_to(&a, 12);
	assert_int_equal(pthread_create(&thread, NULL, drain_main, &s), 0);
	atomic_store(&waiting, true);
	assert_true(receivers_wait(r, 2 * DATAGRAM) > 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	receivers_close(r);
	close(s);
}

/* Each message waits for its time; after three a receiver that does not read is left alone. */
TEST(who_never_reads_is_left_alone)
{
	struct sockaddr_in a;
	struct receivers *r;
	int s = receiver(&a);

	assert_int_equal(receivers_open(SHORT_DUR_NS, &r), 0);
	send_to(&a, 12);
	for (unsigned i = 0; i < 3; i++) {
		receivers_begin(r, false);
		assert_int_equal(receivers_wait(r, 2 * DATAGRAM), -ETIMEDOUT);
		if (i < 2)
			assert_int_equal(receivers_wait(r, 2 * DATAGRAM), -ETIMEDOUT);
	}
	receivers_begin(r, false);
	assert_int_equal(receivers_wait(r, 2 * DATAGRAM), -EAGAIN);
	drain(s);
	assert_true(receivers_wait(r, 2 * DATAGRAM) > 0);
	receivers_close(r);
	close(s);
}

TEST(what_is_dropped_is_told_once)
{
	struct receivers_loss loss;
	struct sockaddr_in a;
	struct receivers *r;
	int s = receiver(&a);

	send_to(&a, 30); /* before anybody looks: not ours */
	drain(s);
	assert_int_equal(receivers_open(PATIENCE_DUR_NS, &r), 0);
	receivers_begin(r, false);
	assert_int_equal(receivers_lost(r, &loss), 0);
	send_to(&a, 30);
	drain(s);
	assert_true(receivers_wait(r, 2 * DATAGRAM) > 0);
	assert_int_equal(receivers_lost(r, &loss), 1);
	assert_int_equal(loss.port, ntohs(a.sin_port));
	assert_int_equal(loss.buffer, 2 * ROOM);
	assert_in_range(loss.packets, 1, 29);
	assert_int_equal(receivers_lost(r, &loss), 0);
	receivers_close(r);
	close(s);
}
