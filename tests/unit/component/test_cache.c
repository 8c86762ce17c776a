/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h: the newest by number, as Cyber's CacheBuffer and ChannelBuffer. Thread: the test's. */
#include "counted.h"

#include "err.h"
#include "mem.h"

static struct cache c;

static int begin(void **state)
{
	(void)state;
	return cache_init(&c, 2);
}

static int end(void **state)
{
	(void)state;
	cache_finish(&c);
	return atomic_load(&counted_live);
}

static void put(unsigned id)
{
	cache_put(&c, (struct tuple){ .m = { counted_new(id, 0) } });
}

/* What is read; 0: nothing. */
static unsigned read_one(uint64_t *next, uint64_t *ret_skipped)
{
	struct tuple t;
	unsigned id;

	if (!cache_read(&c, next, &t, ret_skipped))
		return 0;
	id = counted_id(t.m[0]);
	tuple_unref(&t);
	assert_null(t.m[0]);
	return id;
}

TEST_WITH(nothing_is_read_of_an_empty_one, begin, end)
{
	uint64_t next = 0, skipped = 7;

	assert_int_equal(read_one(&next, &skipped), 0);
	assert_int_equal(next, 0);
	assert_int_equal(skipped, 7);
	assert_int_equal(cache_count(&c), 0);
	assert_null(cache_newest(&c, 0));
}

TEST_WITH(each_is_read_once, begin, end)
{
	uint64_t next = 0, skipped;

	put(1);
	assert_int_equal(read_one(&next, &skipped), 1);
	assert_int_equal(next, 2);
	assert_int_equal(skipped, 0);
	assert_int_equal(read_one(&next, NULL), 0);
	assert_int_equal(next, 2);
	put(2);
	put(3);
	assert_int_equal(read_one(&next, NULL), 2);
	assert_int_equal(read_one(&next, &skipped), 3);
	assert_int_equal(skipped, 0);
	assert_int_equal(read_one(&next, NULL), 0);
}

TEST_WITH(an_overrun_goes_on_with_the_newest, begin, end)
{
	uint64_t next = 0, skipped;

	put(1);
	assert_int_equal(read_one(&next, NULL), 1);
	put(2);
	put(3);
	put(4);
	assert_int_equal(read_one(&next, &skipped), 4);
	assert_int_equal(next, 5); /* behind number 4 */
	assert_int_equal(skipped, 2);
	assert_int_equal(read_one(&next, NULL), 0);
}

TEST_WITH(who_begins_begins_with_the_newest, begin, end)
{
	uint64_t next = 0, skipped;

	put(1);
	put(2);
	assert_int_equal(read_one(&next, &skipped), 2);
	assert_int_equal(skipped, 0);
	assert_int_equal(read_one(&next, NULL), 0);
}

TEST_WITH(readers_have_their_own_numbers, begin, end)
{
	uint64_t a = 0, b = 0;

	put(1);
	assert_int_equal(read_one(&a, NULL), 1);
	put(2);
	assert_int_equal(read_one(&b, NULL), 2);
	assert_int_equal(read_one(&a, NULL), 2);
	assert_int_equal(read_one(&b, NULL), 0);
}

TEST_WITH(the_newest_are_seen_in_order, begin, end)
{
	put(1);
	assert_int_equal(cache_count(&c), 1);
	put(2);
	put(3);
	assert_int_equal(cache_count(&c), 2); /* of three two */
	assert_int_equal(counted_id(cache_newest(&c, 1)->m[0]), 2);
	assert_int_equal(counted_id(cache_newest(&c, 0)->m[0]), 3);
	assert_null(cache_newest(&c, 2));
	assert_null(cache_newest(&c, UINT32_MAX));
}

TEST_WITH(a_queue_gives_each_once, begin, end)
{
	struct tuple t;

	assert_false(cache_pop(&c, &t));
	for (unsigned i = 1; i <= 5; i++) {
		t = cache_push(&c, (struct tuple){ .m = { counted_new(i, 0) } });
		assert_int_equal(counted_id(t.m[0]), i > 2 ? i - 2 : 0); /* what it displaces */
		tuple_unref(&t);
	}
	for (unsigned i = 4; i <= 5; i++) {
		assert_true(cache_pop(&c, &t));
		assert_int_equal(counted_id(t.m[0]), i);
		tuple_unref(&t);
	}
	assert_false(cache_pop(&c, &t));
	put(6);
	assert_int_equal(cache_count(&c), 1);
}

TEST_WITH(cleared_it_is_empty_and_nothing_is_missed, begin, end)
{
	uint64_t reader = 0, late = 0, skipped = 0;

	cache_clear(&c);
	put(1);
	assert_int_equal(read_one(&reader, NULL), 1);
	put(2);
	put(3);
	cache_clear(&c);
	assert_int_equal(atomic_load(&counted_live), 0);
	assert_int_equal(cache_count(&c), 0);
	assert_null(cache_newest(&c, 0));
	assert_int_equal(read_one(&reader, NULL), 0);
	assert_int_equal(read_one(&late, NULL), 0);
	put(4);
	put(5);
	assert_int_equal(read_one(&reader, &skipped), 4); /* the first of the new run, not the newest */
	assert_int_equal(skipped, 0);
	assert_int_equal(read_one(&reader, NULL), 5);
	assert_int_equal(read_one(&late, NULL), 5);
}

TEST_WITH(an_overrun_after_clearing_counts_the_new_ones, begin, end)
{
	uint64_t next = 0, skipped = 0;

	put(1);
	assert_int_equal(read_one(&next, NULL), 1);
	put(2);
	cache_clear(&c);
	for (unsigned i = 3; i <= 6; i++)
		put(i);
	assert_int_equal(read_one(&next, &skipped), 6);
	assert_int_equal(skipped, 3);
}

TEST_WITH(references_balance, begin, end)
{
	struct msg *m[4] = { counted_new(1, 0), counted_new(2, 0), counted_new(3, 0), counted_new(4, 0) };
	uint64_t next = 0;
	struct tuple t;

	cache_put(&c, (struct tuple){ .m = { m[0], m[1], m[2], m[3] } });
	assert_true(cache_read(&c, &next, &t, NULL));
	for (int i = 0; i < 4; i++)
		assert_int_equal(m[i]->refs, 2);
	put(5);
	put(6); /* displaces it */
	for (int i = 0; i < 4; i++)
		assert_int_equal(m[i]->refs, 1);
	tuple_unref(&t);
	assert_int_equal(atomic_load(&counted_live), 2);
	tuple_unref(&t); /* it is all NULL */
}

TEST(sizes_are_bounded_and_memory_may_be_short)
{
	struct cache bad;

	assert_int_equal(cache_init(&bad, 0), -EINVAL);
	assert_int_equal(cache_init(&bad, CACHE_MAX + 1), -EINVAL);
	assert_non_null(strstr(err_why(), "257"));
	cache_finish(&bad);
	mem_fail_after(1);
	assert_int_equal(cache_init(&bad, 1), -ENOMEM);
	mem_fail_after(0);
	cache_finish(&bad);
	assert_int_equal(cache_init(&bad, CACHE_MAX), 0);
	assert_int_equal(cache_count(&bad), 0);
	cache_finish(&bad);
}
