/* SPDX-License-Identifier: Apache-2.0 */
/* packet.h: a sealed packet opens once, and nothing else opens; bucket.h. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "rnd.h"
#include "world/bucket.h"
#include "world/packet.h"

static const uint8_t keys[2][PACKET_KEY] = { { 1, 2, 3 }, { 4, 5, 6 } };

static void two_ends(struct packet *a, struct packet *b)
{
	assert_int_equal(packet_init(a, 7, keys[0], keys[1], 1), 0);
	assert_int_equal(packet_init(b, 7, keys[1], keys[0], 1), 0);
}

static size_t seal(struct packet *p, uint8_t data[PACKET_MAX], const char *text)
{
	size_t len = strlen(text);

	memcpy(data + PACKET_HEAD, text, len);
	packet_seal(p, data, len);
	return PACKET_HEAD + len + PACKET_TAG;
}

static int open_it(struct packet *p, const uint8_t *data, size_t len)
{
	uint8_t plain[PACKET_PLAIN_MAX];
	uint64_t sequence;
	size_t n;

	return packet_open(p, data, len, plain, &n, &sequence);
}

static uint64_t refused(const struct packet *p)
{
	uint64_t sum = 0;

	for (int i = 0; i < PACKET_REFUSALS_N; i++)
		sum += p->refused[i];
	return sum;
}

TEST(a_sealed_packet_opens_at_the_other_end)
{
	uint8_t data[PACKET_MAX], plain[PACKET_PLAIN_MAX];
	struct packet a, b;
	uint64_t sequence;
	size_t len, n;

	two_ends(&a, &b);
	for (uint64_t i = 1; i < 3000; i++) {
		len = seal(&a, data, "some plain text");
		assert_int_equal(packet_connection(data, len), 7);
		assert_int_equal(packet_open(&b, data, len, plain, &n, &sequence), 0);
		assert_int_equal(n, 15);
		assert_memory_equal(plain, "some plain text", 15);
		assert_int_equal(sequence, i);
		assert_int_equal(open_it(&b, data, len), -EALREADY);
	}
	assert_int_equal(b.good, 2999);
	assert_int_equal(b.refused[PACKET_REPLAYED], 2999);
	assert_int_equal(open_it(&a, data, len), -EKEYREJECTED); /* not to oneself */
	len = seal(&b, data, "back");
	assert_int_equal(open_it(&a, data, len), 0);
}

TEST(each_flipped_bit_is_detected)
{
	uint8_t data[PACKET_MAX];
	struct packet a, b, before;
	size_t len;

	two_ends(&a, &b);
	len = seal(&a, data, "twenty bytes of text");
	for (size_t bit = 0; bit < len * 8; bit++) {
		before = b;
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(open_it(&b, data, len) < 0);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(refused(&b), refused(&before) + 1);
		assert_int_equal(b.newest, 0);
		assert_memory_equal(b.window, before.window, sizeof(b.window));
	}
	assert_int_equal(b.refused[PACKET_CONNECTION], 32);
	assert_int_equal(b.refused[PACKET_OLD], 1); /* of sequence 1 the only bit */
	for (size_t n = 0; n < len; n++)
		assert_true(open_it(&b, data, n) < 0);
	assert_int_equal(b.refused[PACKET_SHORT], PACKET_HEAD + PACKET_TAG);
	assert_int_equal(open_it(&b, data, PACKET_MAX + 1), -EMSGSIZE);
	assert_int_equal(open_it(&b, data, len), 0);
}

/* Each sequence number opens once in any order, unless it is too old: compared with a plain set. */
TEST(the_window_accepts_each_packet_once)
{
	enum { N = 6000 };
	static uint8_t data[N + 1][64];
	static bool seen[N + 1];
	uint64_t newest = 0;
	struct packet a, b;
	size_t len = 0;
	struct rnd r;

	two_ends(&a, &b);
	rnd_seed(&r, 5);
	for (unsigned i = 1; i <= N; i++)
		len = seal(&a, data[i], "x");
	for (unsigned i = 0; i < 30000; i++) {
		uint64_t at = 1 + i / 6, s = at + rnd_below(&r, i % 50 ? 600 : 1400);
		int want;

		s = i % 3 || s < 1200 ? s : s - 1199;
		s = s > N ? N : s;
		want = s < newest && newest - s >= PACKET_WINDOW ? -ESTALE : seen[s] ? -EALREADY : 0;
		assert_int_equal(open_it(&b, data[s], len), want);
		seen[s] = seen[s] || !want;
		newest = s > newest && !want ? s : newest;
	}
	assert_true(b.refused[PACKET_OLD] > 100 && b.refused[PACKET_REPLAYED] > 100);
}

TEST(a_jump_ahead_forgets_earlier_packets)
{
	enum { N = 4000 };
	static uint8_t data[N + 1][64];
	struct packet a, b;
	size_t len = 0;

	two_ends(&a, &b);
	for (unsigned i = 1; i <= N; i++)
		len = seal(&a, data[i], "x");
	for (unsigned i = 1; i <= 900; i++)
		assert_int_equal(open_it(&b, data[i], len), 0);
	assert_int_equal(open_it(&b, data[N], len), 0);
	for (unsigned i = N - PACKET_WINDOW + 1; i < N; i++)
		assert_int_equal(open_it(&b, data[i], len), 0);
	assert_int_equal(open_it(&b, data[N - PACKET_WINDOW], len), -ESTALE);
	assert_int_equal(open_it(&b, data[900], len), -ESTALE);
}

TEST(noise_is_never_accepted)
{
	uint8_t data[PACKET_MAX + 100];
	struct packet a, b;
	struct rnd r;

	two_ends(&a, &b);
	rnd_seed(&r, 2);
	for (unsigned i = 0; i < 3000; i++) {
		size_t len = rnd_below(&r, sizeof(data));

		for (size_t k = 0; k < len; k++)
			data[k] = (uint8_t)rnd_u64(&r);
		if (i % 2)
			memcpy(data, (uint8_t[]){ 7, 0, 0, 0, (uint8_t)i, 0, 0, 0, 0, 0, 0, 0 }, PACKET_HEAD);
		assert_true(open_it(&b, data, len) < 0);
	}
	assert_int_equal(b.good, 0);
	assert_int_equal(refused(&b), 3000);
	assert_int_equal(b.newest, 0);
}

TEST(keys_are_wiped)
{
	static const uint8_t none[2 * PACKET_KEY];
	struct packet a, b;

	two_ends(&a, &b);
	assert_memory_not_equal(a.key_out, none, PACKET_KEY);
	packet_finish(&a);
	assert_memory_equal(a.key_out, none, sizeof(none));
}

TEST(a_bucket_allows_its_burst_and_then_its_rate)
{
	struct bucket b = { 0 };
	int64_t now = INT64_C(5000000000);
	unsigned n = 0;

	while (bucket_take(&b, 100, 20, now))
		n++;
	assert_int_equal(n, 20);
	for (n = 0; now < INT64_C(7000000000); now += 1000000)
		n += bucket_take(&b, 100, 20, now);
	assert_int_equal(n, 199); /* of the time that passed, 1.999 s */
	for (n = 0, now += INT64_C(3600000000000); bucket_take(&b, 100, 20, now);)
		n++;
	assert_int_equal(n, 20); /* not more than full */
}
