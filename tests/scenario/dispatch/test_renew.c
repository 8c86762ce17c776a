/* SPDX-License-Identifier: Apache-2.0 */
/* A new feed in place of one that may be damaged: each message is taken once, from either feed. */
#include "scenario/dispatch/world.h"

#include <errno.h>

#include "log.h"

#define WINDOW 4

static struct world w;
static struct test_client *c;
static struct test_pub *p;
static struct test_bridge *b;

static int begin(void **state)
{
	(void)state;
	world_create(&w, test_seed(1), 0);
	world_channel(&w, 0, WINDOW, false);
	world_bridge(&w, 0, 0);
	world_route(&w, 0, 0);
	b = bridge_attach(&w, 0);
	c = client_new(&w);
	p = client_advertise(c, 0);
	return 0;
}

/* Sends n messages all the way to the bridge and back; nothing else arrives. */
static void round_trip(unsigned n)
{
	unsigned before = b->received, done = c->n_done;

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	bridge_read(b);
	assert_int_equal(b->received, before + n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(b->held[i].sequence, p->sequence - n + 1 + i);
	while (b->n_held)
		bridge_answer(b, 0, 0);
	world_settle(&w);
	client_read(c);
	assert_int_equal(c->n_done, done + n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(c->done[done + i].reason, SIM_REASON_NONE);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
}

TEST_WITH(messages_in_old_and_new_queue_are_delivered, begin, NULL)
{
	round_trip(3);
	world_renew(&w, 0);
	for (unsigned i = 0; i < 3 * WINDOW; i++) /* more than a queue: both release their messages */
		round_trip(WINDOW);
	assert_int_equal(w.n_sub_free, 0);
	world_run(&w, 300 * MS);
	assert_int_equal(w.n_sub_free, 1);
	for (unsigned i = 0; i < 3 * WINDOW; i++)
		round_trip(WINDOW);
	world_stats(&w);
	assert_int_equal(w.stats.invalid, 0);
	world_destroy(&w);
}

/* The bridge keeps slots of the old feed for long; the fresh one takes over meanwhile. */
TEST_WITH(slots_of_the_old_queue_may_be_held, begin, NULL)
{
	for (unsigned i = 0; i < WINDOW; i++)
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	bridge_read(b);
	world_renew(&w, 0);
	world_run(&w, 300 * MS);
	assert_int_equal(w.n_sub_free, 0);
	while (b->n_held)
		bridge_answer(b, 0, 0);
	world_settle(&w);
	assert_int_equal(w.n_sub_free, 1);
	client_read(c);
	round_trip(WINDOW);
	world_destroy(&w);
}

/* Messages in the old feed, in the new one, and in both when the new one takes over, at the same time. */
TEST_WITH(messages_waiting_in_both_queues_are_delivered, begin, NULL)
{
	struct test_client *two = client_new(&w);
	struct test_pub *other = client_advertise(two, 0);

	world_renew(&w, 0);
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
		assert_int_equal(client_try(two, other, NO_TOKEN), 0);
		world_run(&w, 10 * MS);
		bridge_read(b);
		while (b->n_held)
			bridge_answer(b, 0, 0);
		world_settle(&w);
		client_read(c);
		client_read(two);
	}
	assert_int_equal(b->received, 100);
	assert_int_equal(c->n_done, 50);
	assert_int_equal(two->n_done, 50);
	assert_int_equal(w.n_sub_free, 1);
	world_destroy(&w);
}

TEST_WITH(queues_are_renewed_one_at_a_time, begin, NULL)
{
	world_renew(&w, 0);
	world_renew(&w, 0);
	assert_int_equal(w.n_sub_free, 1); /* the second */
	world_run(&w, 300 * MS);
	assert_int_equal(w.n_sub_free, 2);
	world_renew(&w, 0);
	world_run(&w, 300 * MS);
	assert_int_equal(w.n_sub_free, 3);
	round_trip(WINDOW);
	world_destroy(&w);
}

static unsigned n_accused;

static void count_accusations(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)user;
	(void)level;
	(void)topic;
	n_accused += strstr(text, "more than its credits") != NULL;
}

/*
 * Messages that are pushed out of the new feed were already taken from the old one, and no publisher has exceeded its
 * limits.
 */
TEST_WITH(the_new_queue_may_be_full_before_the_old_one_is_empty, begin, NULL)
{
	log_set_spec("warn");
	log_set_handler(count_accusations, NULL);
	n_accused = 0;
	world_renew_deep(&w, 0, 2);
	round_trip(WINDOW);
	world_run(&w, 300 * MS);
	assert_int_equal(w.n_sub_free, 1);
	round_trip(1);
	assert_int_equal(n_accused, 0);
	for (unsigned i = 0; i < 3 * WINDOW; i++)
		round_trip(1);
	for (unsigned i = 0; i < WINDOW; i++)
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(n_accused, 1); /* with a queue this short the accusation is true */
	log_set_handler(NULL, NULL);
	log_set_spec("error");
	world_destroy(&w);
}

/* Another process may publish into the old feed until it is removed: dispatch does not read those messages. */
TEST_WITH(a_publisher_ends_after_another_took_over, begin, NULL)
{
	struct test_client *two = client_new(&w);

	client_unadvertise(c, p);
	world_settle(&w);
	assert_int_equal(w.n_reaped, 1);
	assert_int_equal(w.n_overflowed, 0);
	p = client_advertise(two, 0);
	world_renew(&w, 0);
	world_run(&w, 300 * MS);
	client_unadvertise(two, p);
	world_settle(&w);
	assert_int_equal(w.n_reaped, 2);
	assert_int_equal(w.n_overflowed, 1);
	p = client_advertise(two, 0);
	world_run(&w, 11000 * MS);
	client_unadvertise(two, p);
	world_settle(&w);
	assert_int_equal(w.n_reaped, 3);
	assert_int_equal(w.n_overflowed, 1);
	world_destroy(&w);
}

TEST_WITH(the_generation_may_end_during_a_renewal, begin, NULL)
{
	world_renew(&w, 0);
	world_roudi_dies(&w);
	assert_int_equal(w.n_sub_free, 2);
	world_roudi_back(&w, 1);
	world_destroy(&w);
}

TEST_WITH(dispatch_may_end_during_a_renewal, begin, NULL)
{
	world_renew(&w, 0);
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_abort(&w);
}

TEST_GROUP(NULL, NULL)
