/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each turn of dispatch looks only at channels whose bit is set, however many there are; messages without a bit are
 * found later. The tests set the bits by hand, as a client does that dies between two steps, is faulty, or is
 * malicious.
 */
#include "scenario/dispatch/world.h"

#include <errno.h>

#define CHANNELS 437
#define ONE      400 /* the channel that has messages */

/* Linked with --wrap: how often dispatch looks into a feed. */
__typeof__(ipc_take) __real_ipc_take, __wrap_ipc_take;

static struct world w;
static struct test_client *c;
static struct test_pub *p;
static unsigned looks;

int __wrap_ipc_take(struct ipc_sub *sub, const void **ret, size_t *ret_size)
{
	looks++;
	return __real_ipc_take(sub, ret, ret_size);
}

/* A world with that many channels, and a client that publishes in one of them. */
static void make(unsigned n, uint32_t channel, uint32_t window)
{
	world_create(&w, test_seed(1), 0);
	for (uint32_t i = 0; i < n; i++)
		world_channel(&w, i, window, false);
	c = client_new(&w);
	p = client_advertise(c, channel);
	looks = 0;
}

/* Publishes a message without setting the channel's bit. */
static void publish_silently(void)
{
	struct sim_slot *s = client_loan(c, p);

	s->credit_cell = (uint32_t)client_claim_credit(c, p);
	p->sequence++;
	assert_int_equal(ipc_publish(p->ipc, s), 0);
}

static void expect_done(uint64_t sequence)
{
	client_expect(c, p, sequence, SIM_REASON_NO_BRIDGE);
}

static void expect_nothing(void)
{
	assert_int_equal(client_read(c), 0);
}

TEST(a_message_does_not_make_dispatch_check_other_channels)
{
	make(CHANNELS, ONE, 4);
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	expect_done(1);
	assert_in_range(looks, 1, 2); /* the message, and that there is no other */
	looks = 0;
	client_ring(c);
	world_settle(&w);
	assert_int_equal(looks, 0);
	world_destroy(&w);
}

/*
 * The client was killed after publishing, or another process cleared the bit, or the bit is never set, as by a foreign
 * publisher.
 */
TEST(a_message_without_a_bit_is_found_within_a_second)
{
	make(CHANNELS, ONE, 4);
	publish_silently();
	client_ring(c);
	world_settle(&w);
	expect_nothing();
	world_run(&w, 1 * S);
	expect_done(1);
	world_destroy(&w);
}

TEST(invalid_bits_are_cleared)
{
	make(3, 0, 4);
	for (unsigned i = 0; i < WIRE_CHANNELS_MAX / 64; i++)
		atomic_store(&w.page->rung[0].word[i], UINT64_MAX);
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	expect_done(1);
	assert_in_range(looks, 3, 4);
	assert_int_equal(atomic_load(&w.page->rung[0].word[0]), 0);
	world_destroy(&w);
}

TEST(the_rest_of_a_feed_needs_no_bit)
{
	make(2, 1, WIRE_WINDOW_MAX);
	for (unsigned i = 0; i < WIRE_WINDOW_MAX; i++)
		publish_silently();
	client_mark(c, 1);
	client_ring(c);
	world_settle(&w);
	assert_int_equal(client_read(c), WIRE_WINDOW_MAX);
	world_destroy(&w);
}

static void probe(void)
{
	struct sim_slot *s = client_loan(c, p);

	s->flags = SIM_SLOT_PROBE;
	s->sequence = 0;
	assert_int_equal(ipc_publish(p->ipc, s), 0);
	client_mark(c, 0);
	client_ring(c);
	world_settle(&w);
}

/* The client reads no completions, so at last all messages of the channel wait for that. */
TEST(a_feed_is_checked_again_when_a_message_becomes_free)
{
	unsigned sent = 0;

	make(1, 0, 2);
	for (unsigned idle = 0; idle < 2; sent++) {
		looks = 0;
		probe();
		idle += looks == 0;
	}
	assert_int_equal(w.page->rung[0].word[0], 0);
	while (sent) {
		assert_true(client_read(c) > 0);
		world_settle(&w);
		sent -= client_count(c, p, 0);
		c->n_done = 0;
	}
	world_destroy(&w);
}

TEST(the_death_of_a_client_makes_dispatch_check_its_channels)
{
	struct test_client *other;

	make(CHANNELS, ONE, 4);
	other = client_new(&w);
	client_advertise(other, 0);
	publish_silently();
	looks = 0;
	client_dies(c);
	world_settle(&w);
	assert_in_range(looks, 2, 4);
	assert_int_equal(world_credits_claimed(&w, ONE), 0);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	world_destroy(&w);
}

static void called(void *arg)
{
	++*(unsigned *)arg;
}

TEST(waiting_for_quiet_includes_messages_without_a_bit)
{
	unsigned quiet = 0;

	make(CHANNELS, ONE, 4);
	publish_silently();
	assert_int_equal(dispatch_quiet(w.d, called, &quiet), 0);
	world_settle(&w);
	expect_done(1);
	assert_int_equal(quiet, 1);
	world_destroy(&w);
}

/* The message's publisher has claimed no credit, so only the feed itself shows it. */
TEST(waiting_for_quiet_checks_the_feeds_last)
{
	unsigned quiet = 0;
	struct sim_slot *s;

	make(CHANNELS, ONE, 4);
	client_claim_credit(c, p);
	assert_int_equal(dispatch_quiet(w.d, called, &quiet), 0);
	world_run(&w, 1 * MS);
	s = client_loan(c, p);
	s->flags = 0;
	assert_int_equal(ipc_publish(p->ipc, s), 0);
	atomic_store(&w.page->channel[ONE].cell[0], 0);
	assert_int_equal(quiet, 0);
	world_run(&w, 1 * MS);
	assert_int_equal(quiet, 1);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	world_destroy(&w);
}

TEST(a_shutdown_answers_messages_without_a_bit)
{
	make(CHANNELS, ONE, 4);
	publish_silently();
	assert_int_equal(dispatch_shutdown(w.d, false, called, &looks), 0);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_SHUTDOWN);
	world_destroy(&w);
}

/* In lock-step no client rings the doorbell: the bits say which channels a step takes from. */
TEST(a_step_checks_the_channels_whose_bits_are_set)
{
	unsigned stepped = 0;

	make(CHANNELS, ONE, 4);
	assert_int_equal(dispatch_hold(w.d, true), 0);
	world_settle(&w);
	publish_silently();
	client_mark(c, ONE);
	looks = 0;
	assert_int_equal(dispatch_step(w.d, called, &stepped), 0);
	world_settle(&w);
	expect_done(1);
	assert_int_equal(stepped, 1);
	assert_in_range(looks, 1, 2);
	assert_int_equal(dispatch_hold(w.d, false), 0);
	world_destroy(&w);
}

/* A channel number that is used again keeps nothing of its earlier channel. */
TEST(a_freed_channel_leaves_no_work)
{
	make(2, 1, 4);
	client_unadvertise(c, p);
	world_settle(&w);
	client_mark(c, 1);
	assert_int_equal(dispatch_channel_del(w.d, 1), 0);
	world_settle(&w);
	assert_int_equal(w.n_channel_free, 1);
	client_mark(c, 1);
	client_ring(c);
	world_settle(&w);
	world_channel(&w, 1, 4, false);
	p = client_advertise(c, 1);
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	expect_done(1);
	world_destroy(&w);
}
