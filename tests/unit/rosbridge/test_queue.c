/* SPDX-License-Identifier: Apache-2.0 */
/* What waits for a slow server: bounds, order, who gives way to whom. */
#include "queue.h"
#include "support/test.h"
#include "topics.h"

#include <errno.h>

static struct topics pool;
static struct queue q;

static int set_up(void **state)
{
	(void)state;
	topics_init(&pool);
	q = (struct queue){ 0 };
	queue_init(&q, &pool);
	q.max = 3;
	queue_open(&q, true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	queue_finish(&q);
	topics_finish(&pool);
	return 0;
}

/* n bytes, of which the first says what it is. */
static struct iov_buf *body(char what, size_t n)
{
	struct iov_buf *o = topics_get_buf(&pool);
	char *at;

	assert_non_null(o);
	iov_buf_reset(o);
	at = iov_buf_room(o, n);
	assert_non_null(at);
	memset(at, what, n);
	return o;
}

static int put(struct queue_topic *t, char what, size_t n)
{
	return queue_message(&q, t, "head", body(what, n));
}

/* What comes out: the first byte of each body, '.' for an operation without one. */
static const char *all(void)
{
	static char text[64];
	struct queue_item *i;
	struct iovec v[IOV_BUF_PIECES];
	size_t n = 0;

	while ((i = queue_take(&q))) {
		text[n++] = i->body && iov_buf_iov(i->body, v) ? *(const char *)v[0].iov_base : '.';
		queue_done(&q, i);
	}
	text[n] = '\0';
	return text;
}

TEST_WITH(in_order_until_a_topic_is_full, set_up, tear_down)
{
	struct queue_topic a = { 0 }, b = { 0 };

	assert_int_equal(put(&a, '1', 10), 1); /* it has to be woken */
	assert_int_equal(put(&b, 'x', 10), 0);
	assert_int_equal(put(&a, '2', 10), 0);
	assert_int_equal(put(&a, '3', 10), 0);
	assert_int_equal(put(&a, '4', 10), 0); /* 1 goes, its place is 2's: nobody comes later than he would */
	assert_string_equal(all(), "2x34");
	assert_int_equal(a.dropped, 1);
	assert_int_equal(b.dropped, 0);
	assert_int_equal(put(&a, '5', 10), 1);
	assert_string_equal(all(), "5");
}

TEST_WITH(of_large_ones_the_newest, set_up, tear_down)
{
	struct queue_topic a = { 0 }, own = { .max = 2 };

	for (char c = '1'; c <= '4'; c++) {
		put(&a, c, QUEUE_LARGE);
		put(&own, (char)(c + 16), QUEUE_LARGE);
	}
	assert_string_equal(all(), "4CD");
	assert_int_equal(a.dropped, 3);
	assert_int_equal(own.dropped, 2);
}

TEST_WITH(operations_are_kept, set_up, tear_down)
{
	struct queue_topic a = { 0 };

	put(&a, '1', 10);
	assert_int_equal(queue_op(&q, QUEUE_LAST, "{}", NULL), 0);
	assert_int_equal(queue_op(&q, QUEUE_FIRST, "{}", body('f', 10)), 0);
	for (char c = '2'; c <= '9'; c++)
		put(&a, c, 10);
	queue_forget_topic(&q, &a); /* its messages go out all the same */
	assert_string_equal(all(), "f7.89");
	for (unsigned i = 0; i < QUEUE_OPS_MAX; i++)
		assert_true(queue_op(&q, QUEUE_LAST, "{}", NULL) >= 0);
	assert_int_equal(queue_op(&q, QUEUE_LAST, "{}", body('x', 10)), -ENOBUFS);
}

/* Commands and time overtake, and starve nobody; what is said of their topics stays before them, and the newest time is enough. */
TEST_WITH(urgent_ones_go_before_the_others, set_up, tear_down)
{
	struct queue_topic bulk = { .max = 9 }, command = { .urgent = true },
			   clock = { .max = 1, .urgent = true, .stale = true };

	for (char c = '1'; c <= '5'; c++)
		assert_true(put(&bulk, c, QUEUE_LARGE) >= 0);
	assert_int_equal(queue_op(&q, QUEUE_URGENT, "{}", body('a', 10)), 0);
	put(&command, 'x', 10);
	assert_int_equal(queue_op(&q, QUEUE_URGENT, "{}", body('b', 10)), 0);
	for (char c = 'A'; c <= 'E'; c++)
		put(&clock, c, 10);
	put(&command, 'y', 10);
	assert_int_equal(queue_op(&q, QUEUE_FIRST, "{}", body('f', 10)), 0);
	assert_string_equal(all(), "faxb1E2y345");
	assert_int_equal(clock.dropped, 0);
	assert_false(atomic_load(&q.dropped));
	put(&clock, 'F', 10);
	queue_forget_topic(&q, &clock);
	put(&bulk, '6', 10);
	assert_string_equal(all(), "F6");
}

TEST_WITH(closed_it_takes_operations_alone, set_up, tear_down)
{
	struct queue_topic a = { 0 };

	put(&a, '1', 10);
	queue_op(&q, QUEUE_LAST, "{}", NULL);
	queue_open(&q, false);
	assert_true(queue_empty(&q));
	assert_int_equal(a.n, 0);
	assert_int_equal(put(&a, '2', 10), -ENOTCONN);
	assert_int_equal(queue_op(&q, QUEUE_LAST, "{}", NULL), 1);
	queue_open(&q, true);
	assert_string_equal(all(), ".");
}

TEST_WITH(messages_of_a_closed_topic_leave_the_bound_of_operations, set_up, tear_down)
{
	struct queue_topic a = { 0 };

	put(&a, '1', 10);
	put(&a, '2', 10);
	for (unsigned i = 1; i < QUEUE_OPS_MAX; i++)
		assert_true(queue_op(&q, QUEUE_LAST, "{}", NULL) >= 0);
	queue_forget_topic(&q, &a); /* one more than the bound */
	assert_int_equal(queue_op(&q, QUEUE_LAST, "{}", NULL), -ENOBUFS);
}

TEST_WITH(it_may_wait_for_room, set_up, tear_down)
{
	struct queue_topic a = { 0 };

	q.wait = true;
	q.wait_ms = 1;
	for (int i = 0; i < 3; i++)
		assert_true(put(&a, '1', 10) >= 0);
	assert_int_equal(put(&a, '2', 10), -ETIMEDOUT);
	assert_string_equal(all(), "111");
	assert_int_equal(a.dropped, 0);
	q.wait = false;
}

/* Who waits for a newer time would hold up the clock for one that nobody needs any more. */
TEST_WITH(time_waits_for_no_room, set_up, tear_down)
{
	struct queue_topic clock = { .max = 1, .urgent = true, .stale = true };

	q.wait = true;
	q.wait_ms = 1;
	for (char c = 'A'; c <= 'E'; c++)
		assert_true(put(&clock, c, 10) >= 0);
	assert_string_equal(all(), "E");
	assert_int_equal(clock.dropped, 0);
	q.wait = false;
}
