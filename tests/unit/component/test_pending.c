/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.h: each message once and in order; an overrun continues with the newest, as Cyber's CacheBuffer does; no
 * waiting thread is forgotten.
 */
#include "counted.h"

#include <errno.h>
#include <pthread.h>

#include "err.h"
#include "libclient/component/pending.h"
#include "mem.h"

static struct pending p;

static int begin(void **state)
{
	(void)state;
	return pending_init(&p, 3);
}

static int end(void **state)
{
	(void)state;
	pending_finish(&p);
	return atomic_load(&counted_live);
}

static bool put(unsigned id)
{
	return pending_put(&p, counted_new(id, 0));
}

/* The message taken; 0: none. */
static unsigned id_of(struct msg *m)
{
	unsigned id = counted_id(m);

	msg_unref(m);
	return id;
}

static unsigned take(void)
{
	return id_of(pending_take(&p));
}

TEST_WITH(each_message_is_taken_once_in_order, begin, end)
{
	unsigned n = 0;

	assert_int_equal(take(), 0);
	for (unsigned round = 1; round < 10; round++) {
		for (unsigned i = 1; i <= 3; i++)
			put(n + i);
		assert_false(pending_overrun(&p));
		for (unsigned i = 1; i <= 3; i++)
			assert_int_equal(take(), ++n);
		assert_int_equal(take(), 0);
	}
}

/* The writer of the first message wakes the reader; the reader then continues until the queue is empty. */
TEST_WITH(the_first_message_wakes, begin, end)
{
	assert_true(put(1));
	assert_false(put(2));
	assert_int_equal(take(), 1);
	assert_false(put(3));
	assert_int_equal(take(), 2);
	assert_int_equal(take(), 3);
	assert_true(put(4)); /* it may have looked already */
	assert_false(put(5));
	assert_false(put(6));
	assert_false(put(7)); /* no room */
}

TEST_WITH(an_overrun_continues_with_the_newest, begin, end)
{
	uint64_t skipped = 7;

	for (unsigned i = 1; i <= 3; i++)
		put(i);
	assert_int_equal(take(), 1);
	put(4);
	assert_false(pending_overrun(&p));
	assert_int_equal(atomic_load(&counted_live), 3);
	for (unsigned i = 5; i <= 7; i++)
		put(i);
	assert_true(pending_overrun(&p));
	assert_int_equal(atomic_load(&counted_live), 4); /* no more than there is room for, and the newest */
	assert_int_equal(id_of(pending_skip(&p, &skipped)), 7);
	assert_int_equal(skipped, 5); /* 2 to 6 */
	assert_false(pending_overrun(&p));
	assert_int_equal(take(), 0);

	assert_null(pending_skip(&p, &skipped));
	assert_int_equal(skipped, 0);
	assert_true(put(8)); /* as before */
	assert_int_equal(take(), 8);
}

TEST_WITH(remaining_messages_are_released, begin, end)
{
	for (unsigned i = 1; i <= 5; i++)
		put(i);
	assert_int_equal(atomic_load(&counted_live), 4);
}

TEST(sizes_are_bounded_and_allocation_failures_reported)
{
	struct pending bad;

	assert_int_equal(pending_init(&bad, 0), -EINVAL);
	assert_int_equal(pending_init(&bad, PENDING_MAX + 1), -EINVAL);
	assert_non_null(strstr(err_why(), "257"));
	pending_finish(&bad);
	mem_fail_after(1);
	assert_int_equal(pending_init(&bad, 1), -ENOMEM);
	mem_fail_after(0);
	pending_finish(&bad);
	assert_int_equal(pending_init(&bad, PENDING_MAX), 0);
	pending_finish(&bad);
}

/* ---- two threads ---- */

#define MESSAGES 30000u

static struct {
	pthread_mutex_t lock;
	uint32_t notified, rested; /* bells */
	_Atomic bool ended;
	_Atomic unsigned last; /* the message taken */
	uint64_t taken, skipped;
	unsigned disorder;
} x;

static void got(struct msg *m)
{
	unsigned id = id_of(m);

	x.disorder += id <= atomic_load(&x.last);
	x.taken++;
	atomic_store(&x.last, id);
}

/* As a reader's. False: it rests until it is notified. */
static bool step(void)
{
	struct msg *m = pending_overrun(&p) ? NULL : pending_take(&p);
	uint64_t skipped = 0;

	if (!m && pending_overrun(&p)) {
		pthread_mutex_lock(&x.lock);
		m = pending_skip(&p, &skipped);
		pthread_mutex_unlock(&x.lock);
		x.skipped += skipped;
	}
	if (m)
		got(m);
	return m;
}

static void *take_all(void *unused)
{
	uint32_t done = 0;

	while (!atomic_load(&x.ended)) {
		AWAIT_BELL(&x.notified, seen_ != done);
		done = __atomic_load_n(&x.notified, __ATOMIC_SEQ_CST);
		while (step())
			;
		bell_ring(&x.rested);
	}
	return unused;
}

static void put_and_notify(unsigned id)
{
	bool wake;

	pthread_mutex_lock(&x.lock);
	wake = put(id);
	pthread_mutex_unlock(&x.lock);
	if (wake)
		bell_ring(&x.notified);
}

/* The newest of each batch arrives, though it has no notification of its own. */
static void exchange(unsigned together)
{
	pthread_t t;

	memset(&x, 0, sizeof(x));
	pthread_mutex_init(&x.lock, NULL);
	assert_int_equal(pthread_create(&t, NULL, take_all, NULL), 0);
	for (unsigned id = 1; id <= MESSAGES; id++) {
		put_and_notify(id);
		if (id % together == 0)
			AWAIT_BELL(&x.rested, atomic_load(&x.last) == id);
	}
	atomic_store(&x.ended, true);
	bell_ring(&x.notified);
	pthread_join(t, NULL);
	pthread_mutex_destroy(&x.lock);
	assert_int_equal(x.disorder, 0);
	assert_int_equal(x.taken + x.skipped, MESSAGES);
}

TEST_WITH(between_threads_no_message_is_lost, begin, end)
{
	exchange(3);
	assert_int_equal(x.skipped, 0);
}

TEST_WITH(an_overrun_between_threads_is_counted, begin, end)
{
	exchange(1000);
}
