/* SPDX-License-Identifier: Apache-2.0 */
/* fusion.h: by-time, case by case. Thread: the test's. */
#include "fusion_calls.h"

TEST(by_time_takes_the_nearest_partner)
{
	begin(SIM_FUSION_BY_TIME, 2, 4, 4);
	put_at(1, 11, 90);
	put_at(1, 12, 96);
	assert_false(put_at(0, 1, 100)); /* 96 is near, but the next may be nearer */
	assert_int_equal(fetch(), 0);
	assert_true(put_at(1, 13, 103));
	assert_int_equal(fetch(), 113);
	assert_true(put_at(0, 2, 99)); /* here 96 is */
	assert_int_equal(fetch(), 212);
	assert_true(put_at(0, 3, 103)); /* used again, and exact */
	assert_int_equal(fetch(), 313);
	end();
}

TEST(by_time_drops_partners_outside_the_tolerance)
{
	begin(SIM_FUSION_BY_TIME, 2, 4, 4);
	put_at(1, 11, 89);
	assert_false(put_at(0, 1, 100));
	assert_int_equal(stats().unmatched[1], 0); /* it waits */
	assert_false(put_at(1, 12, 111));
	assert_int_equal(stats().unmatched[1], 1);
	assert_true(put_at(0, 2, 101)); /* 10 off, which is within the tolerance */
	assert_int_equal(fetch(), 212);
	assert_false(put_at(0, 3, 100)); /* known at once */
	assert_int_equal(stats().unmatched[1], 2);
	end();
}

TEST(by_time_waits_for_every_partner)
{
	begin(SIM_FUSION_BY_TIME, 4, 4, 4);
	put_at(0, 1, 100);
	assert_false(put_at(3, 31, 102));
	assert_false(put_at(1, 11, 99));
	assert_false(put_at(1, 12, 104));
	assert_true(put_at(2, 21, 100));
	assert_int_equal(fetch(), 1112131);
	put_at(0, 2, 200);
	put_at(2, 22, 230); /* too far: dropped, whatever the others do */
	assert_int_equal(stats().unmatched[1], 0);
	assert_int_equal(stats().unmatched[2], 1);
	assert_int_equal(stats().unmatched[3], 0);
	assert_false(put_at(1, 13, 200));
	assert_false(put_at(3, 32, 200));
	assert_false(put_at(0, 3, 150)); /* all know that none is near */
	assert_int_equal(stats().unmatched[1], 1);
	assert_int_equal(stats().unmatched[2], 2);
	assert_int_equal(stats().unmatched[3], 1);
	end();
}

TEST(by_time_prefers_the_earlier_of_two_equally_near)
{
	begin(SIM_FUSION_BY_TIME, 2, 4, 4);
	put_at(1, 11, 95);
	put_at(1, 12, 105);
	put_at(0, 1, 100);
	assert_int_equal(fetch(), 111); /* of two as near: the earlier stamp */
	fusion_clear(f);
	put_at(1, 12, 105);
	put_at(1, 11, 95);
	put_at(0, 1, 100);
	assert_int_equal(fetch(), 111); /* in whatever order they came */
	fusion_clear(f);
	put_at(1, 13, 100);
	put_at(1, 14, 100);
	put_at(0, 1, 100);
	assert_int_equal(fetch(), 113); /* of equal stamps: the first that came */
	fusion_clear(f);
	put_at(0, 1, 100);
	put_at(1, 13, 100);
	put_at(1, 14, 100);
	assert_int_equal(fetch(), 113);
	end();
}

TEST(by_time_completes_many_at_once_in_order)
{
	begin(SIM_FUSION_BY_TIME, 2, 1, 4); /* a driver of 100 Hz, a partner of 25 */
	for (unsigned i = 1; i <= 4; i++)
		assert_false(put_at(0, i, 10 + i));
	assert_true(put_at(1, 11, 15));
	for (unsigned i = 1; i <= 4; i++)
		assert_int_equal(fetch(), 100 * i + 11);
	assert_int_equal(stats().overrun, 0);
	end();
}

TEST(by_time_drops_the_oldest_when_too_many_wait)
{
	begin(SIM_FUSION_BY_TIME, 3, 1, 2);
	put_at(1, 11, 100);
	for (unsigned i = 1; i <= 3; i++)
		put_at(0, i, 100);
	assert_int_equal(stats().unmatched[1], 0); /* that one had come */
	assert_int_equal(stats().unmatched[2], 1);
	put_at(2, 21, 100);
	assert_int_equal(fetch(), 21121);
	assert_int_equal(fetch(), 31121);
	assert_int_equal(fetch(), 0);
	end();
}

TEST(by_time_keeps_only_the_newest_messages_of_a_partner)
{
	begin(SIM_FUSION_BY_TIME, 2, 4, 2);
	put_at(1, 11, 90);
	put_at(1, 12, INT64_MAX); /* a publisher whose clock is wrong */
	assert_int_equal(atomic_load(&counted_live), 2);
	put_at(0, 1, 92);
	assert_int_equal(fetch(), 111);
	put_at(1, 13, 100);
	assert_int_equal(atomic_load(&counted_live), 2);
	assert_false(put_at(0, 2, 88)); /* 90 is gone by now, and 100 too far off */
	assert_int_equal(stats().unmatched[1], 1);
	put_at(1, 14, 101); /* and so is the odd one, after as many as are kept */
	assert_false(put_at(0, 3, 105));
	assert_true(put_at(1, 15, 106));
	assert_int_equal(fetch(), 315);
	end();
}

TEST(by_time_matches_each_message_by_itself)
{
	begin(SIM_FUSION_BY_TIME, 2, 4, 4);
	put_at(0, 1, 120); /* two publishers, the second one behind */
	put_at(0, 2, 100);
	assert_true(put_at(1, 11, 101));
	assert_int_equal(fetch(), 211);
	assert_true(put_at(1, 12, 120));
	assert_int_equal(fetch(), 112);
	put_at(0, 3, 130);
	put_at(1, 13, 128);
	put_at(1, 14, 125); /* stamps of a partner go back */
	assert_true(put_at(1, 15, 133));
	assert_int_equal(fetch(), 313);
	end();
}

TEST(by_time_accepts_any_stamp)
{
	begin(SIM_FUSION_BY_TIME, 2, 4, 4);
	put_at(1, 11, INT64_MIN);
	put_at(0, 1, INT64_MAX);
	put_at(0, 2, INT64_MIN);
	assert_int_equal(fetch(), 211);
	put_at(1, 12, INT64_MAX);
	assert_int_equal(fetch(), 112);
	put_at(0, 3, 0);
	assert_int_equal(stats().unmatched[1], 1);
	fusion_clear(f);
	put_at(1, 13, INT64_MAX);
	assert_false(put_at(0, 4, INT64_MIN)); /* 2^64 - 1 off */
	assert_int_equal(stats().unmatched[1], 2);
	end();
}
