/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h: the newest, as a reader's history keeps them; and a queue. Thread: the test's. */
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

TEST_WITH(a_queue_returns_each_message_once, begin, end)
{
	struct tuple t;

	assert_false(cache_pop(&c, &t));
	for (unsigned i = 1; i <= 5; i++) {
		t = cache_push(&c, (struct tuple){ .m = { counted_new(i, 0) } });
		assert_int_equal(counted_id(t.m[0]), i > 2 ? i - 2 : 0); /* the message that it displaces */
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

TEST_WITH(a_cleared_cache_is_empty_and_usable, begin, end)
{
	cache_clear(&c);
	put(1);
	put(2);
	put(3);
	cache_clear(&c);
	assert_int_equal(atomic_load(&counted_live), 0);
	assert_int_equal(cache_count(&c), 0);
	assert_null(cache_newest(&c, 0));
	put(4);
	assert_int_equal(cache_count(&c), 1);
	assert_int_equal(counted_id(cache_newest(&c, 0)->m[0]), 4);
}

TEST_WITH(references_balance, begin, end)
{
	struct msg *m[4] = { counted_new(1, 0), counted_new(2, 0), counted_new(3, 0), counted_new(4, 0) };
	struct tuple t = { .m = { m[0], m[1], m[2], m[3] } };

	for (int i = 0; i < 4; i++)
		msg_ref(m[i]);
	cache_put(&c, t);
	put(5);
	put(6); /* displaces it */
	for (int i = 0; i < 4; i++)
		assert_int_equal(m[i]->refs, 1);
	tuple_unref(&t);
	assert_int_equal(atomic_load(&counted_live), 2);
	tuple_unref(&t); /* it is all NULL */
}

TEST(sizes_are_bounded_and_allocation_failures_reported)
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
