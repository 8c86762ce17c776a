/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h: messages are used again, are bounded, and outlive their heap. Leaks of messages are found by the sanitizers. */
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>

#include "err.h"
#include "libclient/component/heap.h"
#include "mem.h"

#define MESSAGES 200u
#define THREADS  3u

static struct heap_msg *loan(struct heap *h, size_t body_size)
{
	struct heap_msg *m;

	assert_ok(heap_loan(h, body_size, &m));
	return m;
}

static void give_back(struct heap_msg *m)
{
	msg_unref(&m->msg);
}

TEST(returned_messages_are_reused)
{
	struct heap *h = heap_create();
	struct heap_msg *m = loan(h, 100), *first = m, *other;

	m->slot.sequence = 7;
	give_back(m);
	for (int i = 0; i < 100; i++) {
		m = loan(h, 64);
		assert_ptr_equal(m, first);
		assert_int_equal(m->slot.sequence, 0);
		give_back(m);
	}
	m = loan(h, 100);
	other = loan(h, 100);
	assert_ptr_not_equal(m, other);
	give_back(other);
	give_back(m);
	heap_destroy(h);
	heap_destroy(NULL);
}

/* One that is too small gives way, so that they grow with the messages and not in number. */
TEST(messages_that_are_too_small_are_replaced)
{
	struct heap *h = heap_create();
	struct heap_msg *small[HEAP_MESSAGES_MAX], *m;

	for (unsigned i = 0; i < HEAP_MESSAGES_MAX; i++)
		small[i] = loan(h, 1);
	assert_int_equal(heap_loan(h, 1, &m), -ENOBUFS);
	assert_non_null(strstr(err_why(), "1024"));
	for (unsigned i = 0; i < HEAP_MESSAGES_MAX; i++)
		give_back(small[i]);
	for (unsigned i = 0; i < HEAP_MESSAGES_MAX; i++) {
		small[i] = loan(h, 5000);
		memset(&small[i]->slot + 1, 1, 5000);
	}
	assert_int_equal(heap_loan(h, 1, &m), -ENOBUFS);
	for (unsigned i = 0; i < HEAP_MESSAGES_MAX; i++)
		give_back(small[i]);
	heap_destroy(h);
}

TEST(readers_see_the_bytes_that_were_filled)
{
	struct heap *h = heap_create();
	struct heap_msg *m = loan(h, 3);

	memcpy(&m->slot + 1, "abc", 3);
	m->slot.body_size = 3;
	m->slot.sequence = 9;
	heap_seal(m);
	assert_int_equal(m->msg.m.header.sequence, 9);
	assert_int_equal(m->msg.m.body_size, 3);
	assert_memory_equal(m->msg.m.body, "abc", 3);
	heap_destroy(h);
	assert_memory_equal(m->msg.m.body, "abc", 3); /* it outlives it */
	give_back(m);
}

/* ---- destroyed while others give back ---- */

struct held {
	struct heap_msg *m[MESSAGES];
	pthread_barrier_t *start;
};

static void *give_all_back(void *arg)
{
	struct held *x = arg;

	pthread_barrier_wait(x->start);
	for (unsigned i = 0; i < MESSAGES; i++)
		give_back(x->m[i]);
	return NULL;
}

TEST(the_last_returned_message_frees_the_heap)
{
	static struct held held[THREADS];
	struct mem_stats before, after;

	mem_stats(&before);
	for (int round = 0; round < 50; round++) {
		struct heap *h = heap_create();
		pthread_barrier_t start;
		pthread_t t[THREADS];

		pthread_barrier_init(&start, NULL, THREADS + 1);
		for (unsigned i = 0; i < THREADS; i++) {
			held[i].start = &start;
			for (unsigned k = 0; k < MESSAGES; k++)
				held[i].m[k] = loan(h, 64);
			assert_int_equal(pthread_create(&t[i], NULL, give_all_back, &held[i]), 0);
		}
		give_back(loan(h, 64));
		pthread_barrier_wait(&start);
		heap_destroy(h);
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		pthread_barrier_destroy(&start);
	}
	mem_stats(&after);
	assert_int_equal(after.blocks, before.blocks);
}

static struct {
	_Atomic(struct heap_msg *) at;
	uint32_t put, taken; /* bells */
} hand;

static void *give_back_each(void *unused)
{
	struct heap_msg *m;
	uint64_t left;

	do {
		AWAIT_BELL(&hand.put, (m = atomic_exchange(&hand.at, NULL)));
		left = m->slot.sequence;
		give_back(m);
		bell_ring(&hand.taken);
	} while (left);
	return unused;
}

/* A few buffers are enough for far more messages than exist at a time, whichever thread frees them. */
TEST(messages_are_reused_between_threads)
{
	struct heap *h = heap_create();
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, give_back_each, NULL), 0);
	for (unsigned left = 5 * HEAP_MESSAGES_MAX; left-- > 0;) {
		struct heap_msg *m = loan(h, 64);

		m->slot.sequence = left;
		AWAIT_BELL(&hand.taken, !atomic_load(&hand.at));
		atomic_store(&hand.at, m);
		bell_ring(&hand.put);
	}
	pthread_join(t, NULL);
	heap_destroy(h);
}
