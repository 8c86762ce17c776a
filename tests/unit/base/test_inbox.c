/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inbox.h: items put in by several threads are taken out once, in each thread's order. Thread: a reader and the
 * senders.
 */
#include "tests/support/test.h"

#include "inbox.h"
#include "list.h"
#include "thread.h"

#define SENDERS 4
#define EACH    20000

struct number {
	struct inbox_item item;
	unsigned from, n;
};

static struct inbox box;
static struct number numbers[SENDERS][EACH];

static void *send_all(void *arg)
{
	struct number *mine = arg;

	for (unsigned i = 0; i < EACH; i++)
		(void)inbox_put(&box, &mine[i].item);
	return NULL;
}

TEST(inbox_keeps_each_senders_order)
{
	unsigned next[SENDERS] = { 0 }, total = 0;
	pthread_t t[SENDERS];

	for (unsigned s = 0; s < SENDERS; s++) {
		for (unsigned i = 0; i < EACH; i++)
			numbers[s][i] = (struct number){ .from = s, .n = i };
		assert_int_equal(thread_start(&t[s], "sender", send_all, numbers[s]), 0);
	}
	while (total < SENDERS * EACH)
		for (struct inbox_item *i = inbox_take(&box); i; i = i->next, total++) {
			const struct number *n = container_of(i, struct number, item);

			assert_int_equal(n->n, next[n->from]++);
		}
	for (unsigned s = 0; s < SENDERS; s++)
		pthread_join(t[s], NULL);
	assert_true(inbox_empty(&box));
}

TEST(an_inbox_reports_the_put_that_made_it_non_empty)
{
	struct number a = { .n = 1 }, b = { .n = 2 };

	assert_true(inbox_put(&box, &a.item));
	assert_false(inbox_put(&box, &b.item));
	assert_ptr_equal(inbox_take(&box), &a.item);
	assert_null(inbox_take(&box));
	assert_true(inbox_put(&box, &b.item));
	assert_ptr_equal(inbox_take(&box), &b.item);
}
