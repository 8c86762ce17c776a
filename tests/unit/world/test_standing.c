/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standing.h: a record of how often a client has kept time waiting, kept longer each time, and for a bounded number of
 * clients. Thread: the test's.
 */
#include "support/test.h"

#include "tools/world/standing.h"

#define S INT64_C(1000000000)

static struct standing st;
static const uint8_t key[STANDING_KEY] = { 1, 2, 3 }, other[STANDING_KEY] = { 1, 2, 4 };

static int begin(void **state)
{
	(void)state;
	memset(&st, 0, sizeof(st));
	return 0;
}

TEST_WITH(slowness_is_remembered_longer_each_time, begin, NULL)
{
	static const int64_t kept_s[] = { 20, 40, 80, 160, 320, 640, 1280, 1280 };
	int64_t now = S;

	assert_int_equal(standing_times(&st, key, now), 0);
	for (uint32_t i = 0; i < 8; i++) {
		standing_slow(&st, key, now);
		assert_int_equal(standing_times(&st, key, now), i + 1);
		now += kept_s[i] * S - 1;
		assert_int_equal(standing_times(&st, key, now), i + 1);
	}
	assert_int_equal(standing_times(&st, key, now + 1), 0);
	assert_int_equal(standing_times(&st, other, now), 0);
	standing_slow(&st, key, now + 1);
	assert_int_equal(standing_times(&st, key, now + 1), 1);
}

TEST_WITH(a_role_takes_longer_to_earn_each_time, begin, NULL)
{
	assert_int_equal(standing_earn_dur_ns(0), 0);
	assert_int_equal(standing_earn_dur_ns(1), S);
	assert_int_equal(standing_earn_dur_ns(3), 4 * S);
	assert_int_equal(standing_earn_dur_ns(7), 64 * S);
	assert_int_equal(standing_earn_dur_ns(UINT32_MAX), 64 * S);
}

TEST_WITH(of_too_many_entries_the_first_to_expire_is_dropped, begin, NULL)
{
	uint8_t k[STANDING_KEY] = { 9 };

	standing_slow(&st, key, 0);
	standing_slow(&st, key, 0); /* until 40 s */
	for (uint32_t i = 0; i < 3 * STANDING_KEPT; i++) {
		memcpy(k + 4, &i, sizeof(i));
		standing_slow(&st, k, 1);
	}
	assert_int_equal(standing_times(&st, key, 1), 2);
	assert_int_equal(standing_times(&st, k, 1), 1);
}
