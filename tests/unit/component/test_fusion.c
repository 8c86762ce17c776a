/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusion.h: all-latest and hold, case by case, and what all kinds share. test_fusion_time.c: by-time; test_fusion_model.c: against a model.
 * Thread: the test's.
 */
#include "fusion_calls.h"

#include "mem.h"

/* ---- one input: a queue ---- */

TEST(with_one_input_each_message_is_fetched_once)
{
	begin(SIM_FUSION_ALL_LATEST, 1, 10, 0);
	assert_true(put(0, 1));
	assert_int_equal(fetch(), 1);
	assert_int_equal(fetch(), 0);
	for (unsigned i = 1; i <= 10; i++)
		assert_true(put(0, i));
	for (unsigned i = 1; i <= 10; i++)
		assert_int_equal(fetch(), i);
	assert_int_equal(fetch(), 0);
	assert_int_equal(stats().fetched, 11);
	assert_int_equal(stats().overrun, 0);
	end();
}

TEST(with_one_input_messages_before_the_first_fetch_are_kept)
{
	begin(SIM_FUSION_ALL_LATEST, 1, 3, 0);
	for (unsigned i = 1; i <= 3; i++)
		put(0, i);
	for (unsigned i = 1; i <= 3; i++)
		assert_int_equal(fetch(), i);
	end();
}

TEST(with_one_input_an_overrun_continues_with_the_newest)
{
	begin(SIM_FUSION_ALL_LATEST, 1, 3, 0);
	for (unsigned i = 1; i <= 4; i++)
		put(0, i);
	assert_int_equal(fetch(), 4);
	assert_int_equal(fetch(), 0);
	assert_int_equal(stats().overrun, 3);
	assert_int_equal(atomic_load(&counted_live),
			 0); /* skipped messages are released, not kept until they are overwritten */
	put(0, 5);
	put(0, 6);
	assert_int_equal(fetch(), 5); /* and all is as before */
	assert_int_equal(fetch(), 6);
	assert_int_equal(stats().fetched, 3);
	end();
}

TEST(with_one_input_all_kinds_behave_the_same)
{
	for (unsigned kind = SIM_FUSION_ALL_LATEST; kind <= SIM_FUSION_BY_TIME; kind++) {
		begin((enum sim_fusion)kind, 1, 1, 5);
		assert_true(put_at(0, 1, 7));
		assert_true(put_at(0, 2, 3));
		assert_int_equal(fetch(), 2);
		assert_int_equal(stats().overrun, 1);
		end();
	}
}

/* ---- all-latest ---- */

TEST(all_latest_drops_while_a_partner_never_arrived)
{
	begin(SIM_FUSION_ALL_LATEST, 2, 10, 0);
	assert_false(put(0, 1));
	assert_int_equal(fetch(), 0);
	assert_false(put(1, 2)); /* it wakes no thread, and the message is dropped */
	assert_int_equal(fetch(), 0);
	assert_true(put(0, 3));
	assert_int_equal(fetch(), 302);
	assert_int_equal(stats().unmatched[0], 0);
	assert_int_equal(stats().unmatched[1], 1);
	end();
}

TEST(all_latest_reuses_partners)
{
	begin(SIM_FUSION_ALL_LATEST, 2, 10, 0);
	put(1, 99);
	for (unsigned i = 1; i <= 10; i++)
		assert_true(put(0, i));
	for (unsigned i = 1; i <= 10; i++)
		assert_int_equal(fetch(), 100 * i + 99);
	assert_int_equal(fetch(), 0);
	end();
}

TEST(all_latest_takes_the_partners_present_at_arrival)
{
	begin(SIM_FUSION_ALL_LATEST, 3, 10, 0);
	put(1, 11);
	put(2, 21);
	put(0, 1);
	put(1, 12);
	assert_int_equal(fetch(), 11121); /* as they were when input 0 came, not when it is fetched */
	put(0, 2);
	assert_int_equal(fetch(), 21221);
	end();
}

TEST(all_latest_continues_with_the_newest_after_an_overrun)
{
	begin(SIM_FUSION_ALL_LATEST, 2, 10, 0);
	put(1, 99);
	for (unsigned i = 0; i < 100; i++)
		assert_true(put(0, i));
	assert_int_equal(fetch(), 9999);
	assert_int_equal(fetch(), 0);
	assert_int_equal(stats().overrun, 99);
	assert_int_equal(stats().fetched, 1);
	end();
}

TEST(all_latest_counts_drops_at_each_missing_partner)
{
	begin(SIM_FUSION_ALL_LATEST, 4, 10, 0);
	put(0, 1);
	put(2, 2);
	put(0, 3);
	put(1, 4);
	put(0, 5);
	put(3, 6);
	assert_true(put(0, 7));
	assert_int_equal(fetch(), 7040206);
	assert_int_equal(stats().unmatched[1], 2);
	assert_int_equal(stats().unmatched[2], 1);
	assert_int_equal(stats().unmatched[3], 3);
	end();
}

/* ---- hold ---- */

TEST(hold_waits_for_each_partner_once)
{
	begin(SIM_FUSION_HOLD, 3, 1, 4);
	assert_false(put(0, 1));
	assert_false(put(1, 11));
	assert_false(put(0, 2));
	assert_false(put(1, 12));
	assert_int_equal(fetch(), 0);
	assert_true(put(2, 21));
	assert_int_equal(fetch(), 11221); /* in order, though pending is 1; with the partners that are the latest now */
	assert_int_equal(fetch(), 21221);
	assert_int_equal(fetch(), 0);
	assert_false(put(1, 13)); /* from now on as all-latest */
	assert_true(put(0, 3));
	assert_int_equal(fetch(), 31321);
	assert_int_equal(stats().unmatched[1] + stats().unmatched[2] + stats().overrun, 0);
	end();
}

TEST(hold_drops_the_oldest_when_too_many_wait)
{
	begin(SIM_FUSION_HOLD, 3, 1, 2);
	put(2, 21);
	for (unsigned i = 1; i <= 5; i++)
		put(0, i);
	assert_true(put(1, 11));
	assert_int_equal(fetch(), 41121);
	assert_int_equal(fetch(), 51121);
	assert_int_equal(fetch(), 0);
	assert_int_equal(stats().unmatched[1], 3);
	assert_int_equal(stats().unmatched[2], 0);
	assert_int_equal(stats().overrun, 0);
	end();
}

TEST(hold_behaves_like_all_latest_if_partners_come_first)
{
	begin(SIM_FUSION_HOLD, 2, 2, 1);
	assert_false(put(1, 11));
	for (unsigned i = 1; i <= 3; i++)
		assert_true(put(0, i));
	assert_int_equal(fetch(), 311);
	assert_int_equal(stats().overrun, 2);
	end();
}

/* ---- all kinds ---- */

TEST(a_cleared_fusion_is_like_new)
{
	for (unsigned kind = SIM_FUSION_ALL_LATEST; kind <= SIM_FUSION_BY_TIME; kind++) {
		begin((enum sim_fusion)kind, 3, 1, 2);
		put_at(1, 11, 100);
		put_at(2, 21, 100);
		for (unsigned i = 1; i <= 4; i++) /* overflows it */
			put_at(0, i, 100);
		put_at(0, 5, 200); /* by-time: waits */
		fusion_clear(f);
		assert_int_equal(atomic_load(&counted_live), 0);
		assert_int_equal(fetch(), 0);
		assert_false(put_at(0, 6, 300));
		put_at(1, 12, 300);
		put_at(2, 22, 300);
		assert_int_equal(fetch(), kind == SIM_FUSION_ALL_LATEST ? 0 : 61222);
		put_at(0, 7, 300);
		assert_int_equal(fetch(), 71222);
		end();
	}
}

TEST(held_messages_are_released_at_destruction)
{
	for (unsigned kind = SIM_FUSION_ALL_LATEST; kind <= SIM_FUSION_BY_TIME; kind++) {
		begin((enum sim_fusion)kind, 4, 3, 3);
		for (unsigned i = 1; i <= 3; i++)
			put_at(i, i, 100);
		put_at(0, 4, 100);
		put_at(0, 5, 200);
		assert_true(atomic_load(&counted_live) >= 5);
		end();
	}
	fusion_destroy(NULL);
}

/* ---- references, locks, memory ---- */

static struct msg own[16];
static unsigned released;

static void release_asks(struct msg *m)
{
	struct fusion_stats s;

	(void)m;
	assert_int_equal(pthread_mutex_trylock(&f->lock), 0);
	pthread_mutex_unlock(&f->lock);
	fusion_stats(f, &s);
	released++;
}

static void put_own(unsigned input, unsigned k, int64_t stamp_sim_ns)
{
	own[k] = (struct msg){ .m.header.stamp_sim_ns = stamp_sim_ns, .refs = 1, .release = release_asks };
	fusion_put(f, input, &own[k]);
	msg_unref(&own[k]);
}

/* Each way for a reference to fall: its release finds the lock free. */
TEST(nothing_is_released_under_the_lock)
{
	struct tuple t;

	for (unsigned kind = SIM_FUSION_ALL_LATEST; kind <= SIM_FUSION_BY_TIME; kind++) {
		begin((enum sim_fusion)kind, 2, 1, 2);
		released = 0;
		for (unsigned k = 0; k < 3; k++)
			put_own(0, k, 100); /* dropped at once, or as too many wait */
		put_own(1, 3, 100);
		put_own(1, 4, 300); /* replaces the latest */
		put_own(0, 5, 150); /* by-time: too far off */
		for (unsigned k = 6; k < 10; k++)
			put_own(0, k, 100); /* overflows the ring */
		put_own(0, 10, 500);
		assert_true(fusion_fetch(f, &t));
		tuple_unref(&t);
		put_own(0, 11, 100);
		fusion_clear(f);
		assert_int_equal(released, 12);
		fusion_destroy(f);
	}
}

TEST(nothing_is_allocated_after_create)
{
	struct mem_stats before, after;

	for (unsigned kind = SIM_FUSION_ALL_LATEST; kind <= SIM_FUSION_BY_TIME; kind++) {
		begin((enum sim_fusion)kind, 4, 3, 3);
		mem_stats(&before);
		for (unsigned i = 0; i < 1000; i++) {
			put_at((i * 7 + i / 5) % 4, 1, i);
			if (i % 3 == 0)
				fetch();
		}
		fusion_clear(f);
		mem_stats(&after);
		assert_int_equal(after.calls, before.calls);
		end();
	}
}

TEST(options_are_checked)
{
	struct fusion_options good = {
		.kind = SIM_FUSION_BY_TIME, .n = 4, .pending = 1, .depth = { 1, 1, 1, 1 }, .tolerance_dur_ns = 1
	};
	struct fusion_options bad[] = { good, good, good, good, good, good, good, good };

	bad[0].n = 0;
	bad[1].n = 5;
	bad[2].pending = 0;
	bad[3].pending = CACHE_MAX + 1;
	bad[4].depth[3] = 0;
	bad[5].depth[0] = CACHE_MAX + 1;
	bad[6].tolerance_dur_ns = 0;
	bad[7].kind = (enum sim_fusion)3;
	for (unsigned i = 0; i < 8; i++) {
		f = NULL;
		err_clear();
		assert_int_equal(fusion_create(&bad[i], &f), -EINVAL);
		assert_true(*err_why());
		assert_null(f);
	}
	good = (struct fusion_options){ .n = 4, .pending = 256 }; /* all-latest needs no depth, and no tolerance */
	assert_ok(fusion_create(&good, &f));
	end();
}

TEST(allocation_failures_are_reported)
{
	struct fusion_options o = {
		.kind = SIM_FUSION_BY_TIME, .n = 4, .pending = 2, .depth = { 3, 3, 3, 3 }, .tolerance_dur_ns = 1
	};
	struct mem_stats before, after;
	int r = -ENOMEM;

	mem_stats(&before);
	for (int64_t n = 1; r < 0; n++) {
		mem_fail_after(n);
		r = fusion_create(&o, &f);
		mem_fail_after(0);
		assert_true(r == 0 || r == -ENOMEM);
	}
	end();
	mem_stats(&after);
	assert_int_equal(after.blocks, before.blocks);
}
