/* SPDX-License-Identifier: Apache-2.0 */
/* What waits for a cyber_bridge, in virtual time: in which order and when it goes out, what is dropped, and that each task is answered once. */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>

#include "queue.h"

#define MS INT64_C(1000000)

struct sim_task {
	int answers, result;
};

static struct sim_task task[8];
static unsigned bufs; /* that the queue has */

static void complete(void *ctx, struct sim_task *t, int result)
{
	(void)ctx;
	t->answers++;
	t->result = result;
}

static void put_buf(void *arg, struct iov_buf *o)
{
	(void)arg;
	bufs--;
	iov_buf_finish(o);
	free(o);
}

static const struct sim_bridge_host host = { .complete = complete };
static struct queue q;

static void start(unsigned max)
{
	q = (struct queue){ .host = &host, .max = max, .put_buf = put_buf };
	memset(task, 0, sizeof(task));
	queue_init(&q);
	queue_open(&q, true);
}

static void stop(void)
{
	queue_finish(&q);
	assert_int_equal(bufs, 0);
}

static struct queue_channel *channel(const char *name, int64_t pace_dur_ns)
{
	struct queue_channel *c;

	assert_int_equal(queue_channel_create(name, pace_dur_ns, &c), 0);
	return c;
}

static struct iov_buf *bytes(size_t n)
{
	struct iov_buf *o = malloc(sizeof(*o));

	assert_non_null(o);
	iov_buf_init(o);
	memset(iov_buf_room(o, n), 0, n);
	bufs++;
	return o;
}

static int put(struct queue_channel *c, size_t n, struct sim_task *t)
{
	bool wake;

	return queue_put(&q, c, bytes(n), t, &wake);
}

/* The next one is of that channel, and is out at once. */
static void expect(int64_t now, const struct queue_channel *c, size_t n)
{
	int64_t wait = 0;
	struct queue_item *i = queue_take(&q, now, &wait);

	assert_non_null(i);
	assert_ptr_equal(i->channel, c);
	assert_int_equal(i->body->total, n);
	queue_done(&q, i, 0, now);
}

static void expect_none(int64_t now, int64_t dur)
{
	int64_t wait = 0;

	assert_null(queue_take(&q, now, &wait));
	assert_int_equal(wait, dur);
}

TEST(one_channel_keeps_its_pace_and_others_go_meanwhile)
{
	struct queue_channel *a, *b, *c;

	start(10);
	a = channel("/a", 2 * MS);
	b = channel("/b", 2 * MS);
	c = channel("/c", 0);
	for (size_t i = 1; i <= 3; i++)
		assert_int_equal(put(a, i, NULL), 0);
	assert_int_equal(put(b, 4, NULL), 0);
	assert_int_equal(put(c, 5, NULL), 0);
	assert_int_equal(put(c, 6, NULL), 0);
	expect(0, a, 1);
	expect(0, b, 4);
	expect(0, c, 5);
	expect(0, c, 6);
	expect_none(MS, MS);
	expect(2 * MS, a, 2);
	expect_none(2 * MS, 2 * MS);
	expect(7 * MS, a, 3);
	expect_none(7 * MS, -1);
	assert_int_equal(a->sent, 3);
	queue_channel_destroy(&q, a);
	queue_channel_destroy(&q, b);
	queue_channel_destroy(&q, c);
	stop();
}

TEST(large_ones_have_no_pace)
{
	struct queue_channel *a;

	start(10);
	a = channel("/a", 2 * MS);
	assert_int_equal(put(a, QUEUE_LARGE, &task[0]), 1);
	expect(0, a, QUEUE_LARGE);
	assert_int_equal(task[0].answers, 1);
	assert_int_equal(put(a, QUEUE_LARGE, &task[1]), 1);
	expect(0, a, QUEUE_LARGE);
	queue_channel_destroy(&q, a);
	stop();
}

TEST(the_newest_wins)
{
	struct queue_channel *a;
	struct queue_item *i;
	int64_t wait;

	start(2);
	a = channel("/a", 0);
	for (size_t n = 1; n <= 4; n++)
		assert_int_equal(put(a, n, NULL), 0);
	assert_int_equal(a->dropped, 2);
	assert_true(atomic_load(&q.dropped));
	expect(0, a, 3);
	expect(0, a, 4);
	/* of large ones one waits, behind the one that is on its way */
	assert_int_equal(put(a, QUEUE_LARGE, &task[0]), 1);
	i = queue_take(&q, 0, &wait);
	assert_int_equal(put(a, QUEUE_LARGE + 1, &task[1]), 1);
	assert_int_equal(put(a, QUEUE_LARGE + 2, &task[2]), 1);
	assert_int_equal(task[1].answers, 1);
	assert_int_equal(task[1].result, -ENOBUFS);
	assert_int_equal(task[0].answers, 0);
	queue_done(&q, i, 0, 0);
	expect(0, a, QUEUE_LARGE + 2);
	assert_int_equal(task[2].answers, 1);
	assert_int_equal(task[2].result, 0);
	queue_channel_destroy(&q, a);
	stop();
}

/* Each task is answered once: of what waits, and of what is on its way. */
TEST(the_end_of_a_connection)
{
	struct queue_channel *a, *b;
	struct queue_item *i;
	int64_t wait;

	start(10);
	a = channel("/a", 0);
	b = channel("/b", 0);
	assert_int_equal(put(a, QUEUE_LARGE, &task[0]), 1);
	assert_int_equal(put(b, QUEUE_LARGE, &task[1]), 1);
	assert_int_equal(put(b, 1, NULL), 0);
	i = queue_take(&q, 0, &wait);
	queue_channel_destroy(&q, a); /* before its message is out */
	queue_open(&q, false);
	assert_int_equal(task[1].result, -ENOTCONN);
	queue_done(&q, i, -ENOTCONN, 0);
	assert_int_equal(task[0].answers + task[1].answers, 2);
	assert_int_equal(put(b, QUEUE_LARGE, &task[2]), -ENOTCONN);
	assert_int_equal(task[2].answers, 0); /* its publish() returns that */
	expect_none(0, -1);
	queue_channel_destroy(&q, b);
	stop();
}

/* What waits outlives its channel of ours. */
TEST(a_channel_that_goes)
{
	struct queue_channel *a;

	start(10);
	a = channel("/a", 2 * MS);
	assert_int_equal(put(a, 1, NULL), 0);
	assert_int_equal(put(a, 2, NULL), 0);
	queue_channel_destroy(&q, a);
	expect(0, a, 1);
	expect(2 * MS, a, 2);
	expect_none(2 * MS, -1);
	stop();
}

TEST(who_takes_is_woken_once)
{
	struct queue_channel *a;
	bool wake;

	start(10);
	a = channel("/a", 0);
	assert_int_equal(queue_put(&q, a, bytes(1), NULL, &wake), 0);
	assert_true(wake);
	assert_int_equal(queue_put(&q, a, bytes(1), NULL, &wake), 0);
	assert_false(wake);
	expect(0, a, 1);
	assert_int_equal(queue_put(&q, a, bytes(1), NULL, &wake), 0);
	assert_false(wake); /* it looks again by itself */
	expect(0, a, 1);
	expect(0, a, 1);
	expect_none(0, -1);
	assert_int_equal(queue_put(&q, a, bytes(1), NULL, &wake), 0);
	assert_true(wake);
	queue_channel_destroy(&q, a);
	stop();
}

/* With room for one of a megabyte less than QUEUE_BYTES, one channel does not push out what others have. */
TEST(all_small_ones_together_have_a_bound)
{
	struct queue_channel *a, *b;

	start(QUEUE_MAX);
	a = channel("/a", 0);
	b = channel("/b", 0);
	q.bytes = QUEUE_BYTES - 5; /* as if */
	assert_int_equal(put(a, 5, NULL), 0);
	assert_int_equal(put(b, 1, NULL), -ENOBUFS);
	assert_int_equal(b->dropped, 1);
	assert_int_equal(put(a, 5, NULL), 0); /* for the one before */
	expect(0, a, 5);
	expect_none(0, -1);
	queue_channel_destroy(&q, a);
	queue_channel_destroy(&q, b);
	stop();
}

TEST(who_waits_for_room_waits_so_long)
{
	struct queue_channel *a;

	start(1);
	q.wait = true;
	q.wait_ms = 1;
	a = channel("/a", 0);
	assert_int_equal(put(a, QUEUE_LARGE, &task[0]), 1);
	assert_int_equal(put(a, QUEUE_LARGE, &task[1]), -ETIMEDOUT);
	assert_int_equal(task[0].answers, 0);
	expect(0, a, QUEUE_LARGE);
	assert_int_equal(put(a, QUEUE_LARGE, &task[1]), 1);
	queue_channel_destroy(&q, a);
	queue_open(&q, false);
	assert_int_equal(task[1].result, -ENOTCONN);
	stop();
}
