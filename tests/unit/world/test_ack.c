/* SPDX-License-Identifier: Apache-2.0 */
/* ack.h: the sender gets one report of each datagram, and never a false one of an arrival. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "mem.h"
#include "rnd.h"
#include "world/ack.h"

#define MS INT64_C(1000000)
#define N  20000

struct sender {
	struct ack_out out;
	bool received[N + 1], decided[N + 1];
	unsigned arrived, lost;
};

static void decided(void *user, const struct ack_sent *sent, bool arrived)
{
	struct sender *s = user;

	assert_true(sent->first <= N && !s->decided[sent->first]);
	assert_true(!arrived || s->received[sent->first]);
	s->decided[sent->first] = true;
	s->arrived += arrived;
	s->lost += !arrived;
}

static void send_one(struct sender *s, int64_t now)
{
	assert_int_equal(ack_out_reserve(&s->out, 1), 0);
	ack_out_sent(&s->out, s->out.next, 1, now);
}

static int answer(struct sender *s, const struct ack_in *in, int64_t then, int64_t now)
{
	uint8_t bytes[ACK_BYTES];

	ack_write(in, then, bytes);
	return ack_out_read(&s->out, bytes, now);
}

TEST(each_datagram_is_decided_once_and_correctly)
{
	static struct sender s;
	struct ack_in in = { 0 };
	struct rnd r;

	rnd_seed(&r, 9);
	ack_out_init(&s.out, 1, decided, &s);
	for (uint64_t i = 1; i <= N; i++) {
		send_one(&s, (int64_t)i * MS);
		if (rnd_below(&r, 10)) { /* this one or one of the last hundred: late, or again */
			uint64_t n = rnd_below(&r, 4) || i < 200 ? i : i - rnd_below(&r, 100);

			s.received[n] = true;
			ack_received(&in, n, (int64_t)i * MS);
		}
		if (!rnd_below(&r, 8))
			assert_int_equal(answer(&s, &in, (int64_t)i * MS, (int64_t)i * MS), 0);
	}
	ack_out_turn(&s.out, N * MS + 10000 * MS);
	assert_int_equal(s.arrived + s.lost, N);
	assert_true(s.arrived > N / 2 && s.lost > N / 20);
	assert_true(s.out.size < 256);
	ack_out_finish(&s.out);
}

TEST(all_of_the_256_datagrams_before_the_newest_are_acknowledged)
{
	static struct sender s;
	struct ack_in in = { 0 };

	ack_out_init(&s.out, 1, decided, &s);
	for (uint64_t i = 1; i <= 600; i++) {
		send_one(&s, 0);
		s.received[i] = i % 3;
		if (i % 3)
			ack_received(&in, i, 0);
	}
	assert_int_equal(answer(&s, &in, 0, MS), 0);
	assert_int_equal(in.newest, 599);
	assert_int_equal(s.arrived, 172); /* of 343 to 599 those that are no multiple of 3 */
	assert_true(!s.decided[597] && !s.decided[600] && s.decided[534]); /* lost when 64 behind */
	ack_out_finish(&s.out);
}

TEST(an_acknowledgement_of_an_unsent_datagram_is_refused)
{
	static struct sender s;
	struct ack_in in = { 0 };

	ack_out_init(&s.out, 1000, decided, &s);
	assert_int_equal(answer(&s, &in, 0, 0), 0); /* nothing has come yet */
	send_one(&s, 0);
	ack_received(&in, 1001, 0);
	assert_int_equal(answer(&s, &in, 0, MS), -EBADMSG);
	in = (struct ack_in){ .newest = 999 };
	assert_int_equal(answer(&s, &in, 0, MS), -EBADMSG);
	assert_int_equal(s.arrived + s.lost, 0);
	assert_int_equal(s.out.rtt_n, 0);
	ack_out_finish(&s.out);
}

TEST(the_round_trip_excludes_the_time_at_the_receiver)
{
	static struct sender s;
	struct ack_in in = { 0 };

	ack_out_init(&s.out, 1, decided, &s);
	assert_int_equal(ack_rtt_least_dur_ns(&s.out), INT64_MAX);
	for (uint64_t i = 1; i <= 100; i++) {
		int64_t sent = (int64_t)i * 1000 * MS, wait = (int64_t)(i % 10) * MS;

		send_one(&s, sent);
		s.received[i] = true;
		ack_received(&in, i, sent + 20 * MS + wait);
		assert_int_equal(answer(&s, &in, sent + 50 * MS + wait, sent + 70 * MS + wait), 0);
		assert_int_equal(answer(&s, &in, sent + 50 * MS + wait, sent + 500 * MS), 0); /* again is no new one */
	}
	assert_int_equal(ack_rtt_least_dur_ns(&s.out), 40 * MS); /* of 93 to 100: with 100 */
	assert_true(s.out.smooth_dur_ns > 42 * MS && s.out.smooth_dur_ns < 47 * MS);
	ack_out_finish(&s.out);
}

TEST(an_unacknowledged_datagram_is_lost_after_a_time)
{
	static struct sender s;

	ack_out_init(&s.out, 1, decided, &s);
	assert_int_equal(ack_out_turn(&s.out, 0), INT64_MAX);
	send_one(&s, 5 * MS);
	assert_int_equal(ack_out_turn(&s.out, 6 * MS), 5 * MS + ACK_LOST_DUR_NS);
	assert_int_equal(s.lost, 0);
	assert_int_equal(ack_out_turn(&s.out, 5 * MS + ACK_LOST_DUR_NS), INT64_MAX);
	assert_int_equal(s.lost, 1);
	for (unsigned i = 0; i < 3 * ACK_IN_FLIGHT_MAX; i++)
		send_one(&s, 2000 * MS);
	assert_int_equal(s.out.size, ACK_IN_FLIGHT_MAX);
	assert_int_equal(s.lost, 1 + 2 * ACK_IN_FLIGHT_MAX); /* the oldest made room */
	ack_out_finish(&s.out);
}
