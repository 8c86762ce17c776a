/* SPDX-License-Identifier: Apache-2.0 */
/* datagram.h: frames over a link that loses, doubles and reorders; the address; bounds against a hostile peer. Thread: the test's. */
#include "datagram_pair.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "mem.h"

#define ROOMY (4u << 20)

static struct pair pair;
static int64_t blocks_before;

static int begin(void **state)
{
	struct mem_stats m;

	(void)state;
	mem_stats(&m);
	blocks_before = m.blocks;
	pair_begin(&pair, 1, ROOMY);
	return 0;
}

static int end(void **state)
{
	struct mem_stats m;

	(void)state;
	pair_end(&pair);
	mem_stats(&m);
	return m.blocks != blocks_before;
}

/* ---- the link ---- */

static size_t some_length(struct rnd *r)
{
	switch (rnd_below(r, 40)) {
	case 0:
		return 8 + rnd_below(r, 60000);
	case 1:
		return 1100 + rnd_below(r, 60);
	default:
		return 8 + rnd_below(r, rnd_below(r, 4) ? 100 : 1500);
	}
}

static void talk(struct pair *p, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		if (i % 10 == 0)
			for (unsigned n = rnd_below(&p->rnd, 12); n--;)
				assert_int_equal(pair_send(&p->end[0], some_length(&p->rnd)), 0);
		if (i % 7 == 0)
			assert_int_equal(pair_send(&p->end[1], 8 + rnd_below(&p->rnd, 300)), 0);
		pair_step(p);
	}
	pair_steps(p, 12000); /* long enough for whatever is left to be decided */
}

static void all_is_decided(const struct pair_end *e, const struct pair_end *other)
{
	struct datagram_stats s, o;

	datagram_stats(e->d, &s);
	datagram_stats(other->d, &o);
	assert_int_equal(e->acked + e->lost, e->tags);
	assert_int_equal(s.acked, e->acked);
	assert_int_equal(s.lost, e->lost);
	assert_int_equal(o.frames_in, other->came);
	assert_int_equal(o.making_bytes, 0);
	assert_int_equal(o.malformed, 0);
}

static void matrix(unsigned loss, uint32_t delay_ms, uint32_t jitter_ms, unsigned double_percent)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct pair_end *e = pair.end;

		pair_end(&pair);
		pair_begin(&pair, seed, ROOMY);
		pair.loss_percent = loss;
		pair.delay_ms = delay_ms;
		pair.jitter_ms = jitter_ms;
		pair.double_percent = double_percent;
		pair_meet(&pair);
		talk(&pair, 1500);
		all_is_decided(&e[0], &e[1]);
		all_is_decided(&e[1], &e[0]);
		assert_true(e[0].bursts > 20 && e[0].tags > 500);
		if (!loss && !jitter_ms) {
			assert_int_equal(e[0].acked, e[0].tags);
			assert_int_equal(e[1].acked, e[1].tags);
		}
		assert_true(e[1].acked > e[1].tags / 2);
	}
}

TEST_WITH(a_link_without_loss_delivers_everything, begin, end)
{
	matrix(0, 0, 0, 0);
	matrix(0, 10, 5, 3);
	matrix(0, 100, 0, 0);
}

TEST_WITH(a_link_with_little_loss_delivers_or_reports_each_frame, begin, end)
{
	matrix(1, 5, 0, 1);
	matrix(5, 10, 10, 2);
	matrix(5, 50, 50, 2);
}

TEST_WITH(a_link_with_much_loss_delivers_or_reports_each_frame, begin, end)
{
	matrix(20, 10, 0, 5);
	matrix(20, 50, 30, 5);
	matrix(20, 100, 100, 5);
}

TEST_WITH(the_measured_round_trip_is_that_of_the_link, begin, end)
{
	struct datagram_stats s;

	pair.delay_ms = 30;
	pair_meet(&pair);
	talk(&pair, 1000);
	datagram_stats(pair.end[0].d, &s);
	assert_true(s.rtt_least_dur_ns >= 60 * PAIR_MS && s.rtt_least_dur_ns <= 61 * PAIR_MS);
	assert_true(s.rtt_dur_ns >= 60 * PAIR_MS && s.rtt_dur_ns <= 63 * PAIR_MS);
}

/* ---- frames ---- */

TEST_WITH(a_frame_of_any_length_arrives, begin, end)
{
	static const size_t lengths[] = { 8,    9,    1099, 1100, 1123,  1124,
					  1125, 1126, 2199, 2200, 65536, DATAGRAM_FRAME_MAX - 1 };

	pair_meet(&pair);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		assert_int_equal(pair_send(&pair.end[0], lengths[i]), 0);
		pair_steps(&pair, 100);
		assert_int_equal(pair.end[1].came, i + 1);
		assert_int_equal(pair.end[0].acked, i + 1);
	}
	assert_int_equal(pair_send(&pair.end[0], DATAGRAM_FRAME_MAX), -EMSGSIZE);
}

TEST_WITH(many_small_frames_share_a_datagram, begin, end)
{
	uint32_t before;

	pair_meet(&pair);
	pair_steps(&pair, 100);
	before = pair.end[0].segments;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(pair_send(&pair.end[0], 18), 0); /* 22 bytes each */
	pair_steps(&pair, 1);
	assert_int_equal(pair.end[0].segments - before, 2); /* 51 in one */
	pair_steps(&pair, 100);
	assert_int_equal(pair.end[0].acked, 100);
}

TEST_WITH(waiting_output_is_bounded, begin, end)
{
	unsigned n = 0;

	pair_meet(&pair);
	while (pair_send(&pair.end[0], 1000) == 0)
		n++;
	assert_int_equal(n, DATAGRAM_OUT_MAX);
	assert_int_equal(pair_send(&pair.end[0], 1000), -ENOBUFS);
	pair_steps(&pair, 100);
	assert_int_equal(pair.end[0].acked, n);
	for (n = 0; n < 9000 && pair_send(&pair.end[0], 8) == 0;)
		n++;
	assert_int_equal(n, 8192); /* frames */
	pair_steps(&pair, 100);
	assert_int_equal(pair.end[0].lost, 0);
}

TEST_WITH(frames_the_receiver_cannot_take_are_reported_as_lost, begin, end)
{
	pair_meet(&pair);
	pair.end[1].full = true;
	assert_int_equal(pair_send(&pair.end[0], 100), 0);
	pair_steps(&pair, 2);
	pair.end[1].full = false;
	assert_int_equal(pair_send(&pair.end[0], 5000), 0);
	pair_steps(&pair, 2000);
	assert_true(pair.end[0].sent[1].lost && pair.end[0].sent[2].acked);
}

/* Frames in pieces, one of which is lost in each round: a frame that one end gives up was never acked by the other. */
TEST_WITH(frames_the_receiver_gave_up_are_reported_as_lost, begin, end)
{
	struct datagram_stats s;

	pair_end(&pair);
	pair_begin(&pair, 4, 65536 + 1100);
	pair_meet(&pair);
	pair.jitter_ms = 20;
	pair.loss_percent = 2;
	for (unsigned i = 0; i < 300; i++) {
		assert_int_equal(pair_send(&pair.end[0], 30000), 0);
		pair_steps(&pair, 9);
	}
	pair_steps(&pair, 12000);
	datagram_stats(pair.end[1].d, &s);
	assert_true(s.given_up > 10 && s.untaken > 10);
	all_is_decided(&pair.end[0], &pair.end[1]);
	assert_true(pair.end[0].acked > 10 && pair.end[0].lost > 10);
}

/* ---- the address ---- */

TEST_WITH(no_answer_is_larger_than_its_request_before_the_address_is_proved, begin, end)
{
	struct datagram *server = pair.end[0].d, *client = pair.end[1].d;
	struct datagram_out out;
	struct datagram_stats s;

	datagram_ping(server);
	assert_int_equal(pair_send(&pair.end[0], 100), -EAGAIN);
	assert_int_equal(datagram_output(server, 0, &out), 0);
	assert_int_equal(out.len, 0); /* does not speak first */
	assert_int_equal(datagram_turn(server, 0), INT64_MAX);
	assert_int_equal(pair_send(&pair.end[1], 8), 0);
	assert_int_equal(datagram_output(client, 0, &out), 0);
	assert_int_equal(out.len, PACKET_MAX);
	assert_int_equal(datagram_input(server, out.data, out.len, 0), 0);
	assert_int_equal(pair_send(&pair.end[0], 1500), -EAGAIN); /* two datagrams */
	assert_int_equal(pair_send(&pair.end[0], 100), 0);
	for (unsigned i = 0; i < 10; i++) {
		int r = pair_send(&pair.end[0], 900);

		assert_true(r == -EAGAIN || (r == 0 && i == 0));
		assert_int_equal(datagram_output(server, 0, &out), 0);
	}
	datagram_stats(server, &s);
	assert_true(s.out_bytes > 900 && s.out_bytes <= s.in_bytes);
	pair_meet(&pair);
	assert_int_equal(pair_send(&pair.end[0], 60000), 0);
}

TEST_WITH(a_clients_first_datagrams_have_the_maximum_size, begin, end)
{
	struct datagram_out out;

	for (unsigned i = 0; i < 3; i++) {
		datagram_ping(pair.end[1].d);
		assert_int_equal(datagram_output(pair.end[1].d, 0, &out), 0);
		assert_int_equal(out.len, PACKET_MAX);
	}
	pair_meet(&pair);
	datagram_ping(pair.end[1].d);
	assert_int_equal(datagram_output(pair.end[1].d, pair.now_mono_ns, &out), 0);
	assert_true(out.len < 100);
}

/* ---- a hostile peer that has the keys ---- */

static int hostile(struct packet *p, const uint8_t *items, size_t len, uint64_t newest)
{
	uint8_t data[PACKET_MAX] = { 0 };

	memcpy(data + PACKET_HEAD, &newest, sizeof(newest));
	if (len)
		memcpy(data + PACKET_HEAD + 44, items, len);
	packet_seal(p, data, 44 + len);
	return datagram_input(pair.end[0].d, data, PACKET_HEAD + 44 + len + PACKET_TAG, pair.now_mono_ns);
}

TEST_WITH(an_acknowledgement_of_unsent_datagrams_is_refused, begin, end)
{
	static const uint8_t items[PACKET_PLAIN_MAX - 44] = { 3 };
	struct datagram_out out;
	struct packet p;

	assert_int_equal(packet_init(&p, 7, pair_keys[1], pair_keys[0], 1), 0);
	assert_int_equal(hostile(&p, items, sizeof(items), 0), 0);
	assert_int_equal(datagram_output(pair.end[0].d, 0, &out), 0);
	assert_true(out.len > 0); /* which it does not read */
	for (uint64_t n = 1; n < 100; n++)
		assert_int_equal(hostile(&p, NULL, 0, n), -EPROTO);
	assert_int_equal(hostile(&p, NULL, 0, UINT64_MAX), -EPROTO);
	assert_false(datagram_is_confirmed(pair.end[0].d));
	assert_int_equal(hostile(&p, NULL, 0, 0), 0);
	assert_false(datagram_is_confirmed(pair.end[0].d));
}

TEST_WITH(malformed_content_is_refused, begin, end)
{
	static const struct {
		size_t len;
		uint8_t items[20];
	} bad[] = {
		{ 1, { 4 } },          /* no such item */
		{ 2, { 3, 200 } },     /* a good one, then none */
		{ 1, { 1 } },          /* a frame without length, */
		{ 3, { 1, 0, 0 } },    /* without a code, */
		{ 4, { 1, 2, 0, 5 } }, /* longer than the data */
		{ 4, { 1, 255, 255, 5 } },
		{ 14, { 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1 } },       /* a piece that is cut, */
		{ 16, { 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 9 } }, /* longer than the data, */
		{ 16, { 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 0, 9 } }, /* of message 0, */
		{ 16, { 2, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 1, 0, 9 } }, /* beyond its count, */
		{ 16, { 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 9 } }, /* too short */
	};
	struct datagram_stats s;
	struct packet p;

	assert_int_equal(packet_init(&p, 7, pair_keys[1], pair_keys[0], 1), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(hostile(&p, bad[i].items, bad[i].len, 0), -EPROTO);
	datagram_stats(pair.end[0].d, &s);
	assert_int_equal(s.malformed, sizeof(bad) / sizeof(*bad));
	assert_int_equal(s.frames_in, 0);
	assert_int_equal(hostile(&p, (uint8_t[]){ 0, 9, 9 }, 3, 0), 0); /* padding is anything */
}

TEST_WITH(the_memory_used_by_a_malicious_peer_is_bounded, begin, end)
{
	static uint8_t items[15 + 1100];
	struct mem_stats before, now;
	struct datagram_stats s;
	struct packet p;

	assert_int_equal(packet_init(&p, 7, pair_keys[1], pair_keys[0], 1), 0);
	mem_stats(&before);
	for (unsigned i = 0; i < 5000; i++) {
		uint64_t message = 1 + i + rnd_below(&pair.rnd, 60);
		uint16_t count = (uint16_t)(2 + rnd_below(&pair.rnd, 952)), len = 1100;

		items[0] = 2;
		memcpy(items + 1, &message, 8);
		memcpy(items + 11, &count, 2);
		memcpy(items + 13, &len, 2);
		assert_true(hostile(&p, items, sizeof(items), 0) != -EKEYREJECTED);
		datagram_stats(pair.end[0].d, &s);
		assert_true(s.making_bytes <= ROOMY);
		mem_stats(&now);
		assert_true(now.bytes - before.bytes <= ROOMY + 10000);
	}
	assert_true(s.given_up > 1000);
	pair.now_mono_ns += 5000 * PAIR_MS;
	datagram_turn(pair.end[0].d, pair.now_mono_ns);
	datagram_stats(pair.end[0].d, &s);
	assert_int_equal(s.making_bytes, 0);
}

TEST_WITH(noise_changes_nothing, begin, end)
{
	uint8_t data[1300];
	struct datagram_stats s;

	for (unsigned i = 0; i < 2000; i++) {
		size_t len = rnd_below(&pair.rnd, sizeof(data));

		for (size_t k = 0; k < len; k++)
			data[k] = (uint8_t)rnd_u64(&pair.rnd);
		if (len > 4)
			data[0] = 7, data[1] = data[2] = data[3] = 0;
		assert_true(datagram_input(pair.end[0].d, data, len, 0) < 0);
	}
	datagram_stats(pair.end[0].d, &s);
	assert_int_equal(s.in + s.in_bytes + s.out_bytes, 0);
	assert_int_equal(datagram_turn(pair.end[0].d, 0), INT64_MAX);
}

/* ---- memory and options ---- */

TEST_WITH(after_an_allocation_failure_nothing_is_sent_partly, begin, end)
{
	struct datagram_out out;
	unsigned failures = 0;

	for (int64_t n = 1; n < 20; n++) {
		pair_end(&pair);
		pair_begin(&pair, 1, ROOMY);
		pair_meet(&pair);
		mem_fail_after(n);
		for (unsigned i = 0; i < 80; i++)
			failures += pair_send(&pair.end[0], i == 40 ? 90000 : 50) == -ENOMEM;
		failures += datagram_output(pair.end[0].d, pair.now_mono_ns, &out) == -ENOMEM;
		mem_fail_after(0);
		pair_steps(&pair, 5000);
		all_is_decided(&pair.end[0], &pair.end[1]);
	}
	assert_true(failures > 100);
}

TEST_WITH(options_out_of_range_are_refused, begin, end)
{
	struct datagram_options o = {
		.key_out = pair_keys[0], .key_in = pair_keys[1], .frame_in_max = 1, .making_max = 1 << 20
	};
	struct datagram *d;

	assert_int_equal(datagram_create(&o, &d), -EINVAL);
	o.frame_in_max = DATAGRAM_FRAME_MAX + 1;
	o.making_max = 2 * DATAGRAM_FRAME_MAX;
	assert_int_equal(datagram_create(&o, &d), -EINVAL);
	o.frame_in_max = 65536;
	o.making_max = 65536;
	assert_int_equal(datagram_create(&o, &d), -EINVAL);
	datagram_destroy(NULL);
}
