/* SPDX-License-Identifier: Apache-2.0 */
/* timeutil.h, rnd.h, seqlock.h. Thread: one, and a writer for the sequence lock. */
#include "tests/support/test.h"

#include "rnd.h"
#include "seqlock.h"
#include "timeutil.h"

#include <errno.h>
#include <pthread.h>

TEST(timespec_round_trips)
{
	static const int64_t ns[] = { 0,           1,           -1,        999999999,           1000000000,
				      -1000000000, -1000000001, INT64_MAX, INT64_MIN + NS_PER_S };

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		struct timespec t = timespec_from_ns(ns[i]);

		assert_in_range(t.tv_nsec, 0, 999999999);
		assert_int_equal(timespec_to_ns(&t), ns[i]);
	}
	assert_int_equal(ns_add(INT64_MAX - 1, 5), INT64_MAX);
	assert_int_equal(ns_add(INT64_MIN + 1, -5), INT64_MIN);
	assert_int_equal(ns_add(2, -5), -3);
}

TEST(stamps_have_nine_decimals)
{
	char buf[STAMP_FORMAT_MAX];

	assert_string_equal(stamp_format(12000000340, buf), "12.000000340");
	assert_string_equal(stamp_format(-1, buf), "-0.000000001");
	assert_string_equal(stamp_format(INT64_MIN, buf), "-9223372036.854775808");
}

TEST(random_numbers_are_spread)
{
	unsigned hist[7] = { 0 };
	struct rnd a, b;

	rnd_seed(&a, 0);
	rnd_seed(&b, 1);
	assert_true(a.state && a.state != b.state);
	for (int i = 0; i < 7000; i++)
		hist[rnd_below(&a, 7)]++;
	for (int i = 0; i < 7; i++)
		assert_in_range(hist[i], 800, 1200);
	assert_true(hash64(HASH64_INIT, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(rnd_entropy() != rnd_entropy());
}

struct page {
	uint32_t seq, stop;
	uint64_t a, b;
};

static void *write_pairs(void *arg)
{
	struct page *p = arg;

	for (uint64_t i = 1; !__atomic_load_n(&p->stop, __ATOMIC_RELAXED); i++) {
		seqlock_write_begin(&p->seq);
		seqlock_store(&p->a, i);
		seqlock_store(&p->b, ~i);
		seqlock_write_end(&p->seq);
	}
	return NULL;
}

TEST(seqlock_never_shows_a_torn_pair)
{
	struct page p = { .b = ~UINT64_C(0) };
	unsigned good = 0;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, write_pairs, &p), 0);
	while (good < 20000) {
		uint32_t s;
		uint64_t a, b;

		if (!seqlock_read_begin(&p.seq, &s))
			continue;
		a = seqlock_load(&p.a);
		b = seqlock_load(&p.b);
		if (!seqlock_read_ok(&p.seq, s))
			continue;
		good++;
		assert_true(a == ~b);
	}
	__atomic_store_n(&p.stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	/* a whole write between begin and ok, and one that has only begun */
	uint32_t seen;

	assert_true(seqlock_read_begin(&p.seq, &seen));
	assert_true(seqlock_read_ok(&p.seq, seen));
	seqlock_write_begin(&p.seq);
	assert_false(seqlock_read_ok(&p.seq, seen));
	assert_false(seqlock_read_begin(&p.seq, &seen));
	seqlock_write_end(&p.seq);
	assert_false(seqlock_read_ok(&p.seq, seen));
	/* a writer that takes over from one that died inside a write */
	p.seq = 5;
	seqlock_write_begin(&p.seq);
	assert_true(p.seq & 1);
	seqlock_write_end(&p.seq);
	assert_false(p.seq & 1);
}
