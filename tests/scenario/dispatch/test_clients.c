/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that send false data, do not read, or die; and the data plane that dies under all of them. */
#include "scenario/dispatch/two_clients.h"

#include <sys/socket.h>
#include <unistd.h>

/* ---- false data ---- */

typedef void (*lie_fn)(struct sim_slot *s);

static void lie_body(struct sim_slot *s)
{
	s->body_size = 4097;
}
/* The publisher may send so many bytes, but this slot is smaller: a reader would read into the next slot. */
static void lie_slot(struct sim_slot *s)
{
	s->body_size = 4096;
}

static void lie_huge(struct sim_slot *s)
{
	s->body_size = UINT64_MAX;
}
static void lie_type(struct sim_slot *s)
{
	s->type_hash++;
}
static void lie_channel(struct sim_slot *s)
{
	s->channel_id = 1;
}
static void lie_credit_none(struct sim_slot *s)
{
	s->credit_cell = 0;
}
static void lie_credit_far(struct sim_slot *s)
{
	s->credit_cell = 5;
}
static void lie_credit_huge(struct sim_slot *s)
{
	s->credit_cell = UINT32_MAX;
}
static void lie_token_huge(struct sim_slot *s)
{
	s->token_cell = UINT32_MAX;
}
static void lie_token_free(struct sim_slot *s)
{
	s->token_cell = 1000;
}

/* Without its credit a slot's publisher is unknown: its message is missing. */
static const struct {
	lie_fn fn;
	enum sim_reason reason;
} answered_lies[] = {
	{ lie_body, SIM_REASON_INVALID },       { lie_slot, SIM_REASON_INVALID },
	{ lie_huge, SIM_REASON_INVALID },       { lie_type, SIM_REASON_INVALID },
	{ lie_channel, SIM_REASON_INVALID },    { lie_token_huge, SIM_REASON_INVALID },
	{ lie_token_free, SIM_REASON_INVALID }, { lie_credit_none, SIM_REASON_MISSING },
	{ lie_credit_far, SIM_REASON_MISSING }, { lie_credit_huge, SIM_REASON_MISSING },
};

TEST(malformed_slots_are_answered_with_the_reason)
{
	for (unsigned i = 0; i < sizeof(answered_lies) / sizeof(answered_lies[0]); i++) {
		struct sim_slot *s;

		make(4);
		s = client_loan(c, p);
		s->credit_cell = (uint32_t)client_claim_credit(c, p);
		answered_lies[i].fn(s);
		client_publish(c, p, s);
		world_settle(&w);
		client_expect(c, p, 1, answered_lies[i].reason);
		assert_int_equal(bridge_read(b), 0);
		assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
		pass_one(d, q);
		pass_one(c, p);
		world_destroy(&w);
	}
}

static void lie_magic(struct sim_slot *s)
{
	s->magic = 0;
}
static void lie_version(struct sim_slot *s)
{
	s->version = 2;
}
static void lie_nobody(struct sim_slot *s)
{
	s->publisher_id = 0;
}
static void lie_stranger(struct sim_slot *s)
{
	s->publisher_id = 4711;
}

static const lie_fn nobodys_lies[] = { lie_magic, lie_version, lie_nobody, lie_stranger };

/* A claim that is not in the name of a publisher: freed at the next house keeping, and counted. */
TEST(claims_without_a_publisher_are_freed_and_counted)
{
	make(4);
	atomic_store(&w.page->channel[p->channel].cell[2], UINT64_C(0x1234567800000001));
	atomic_store(&w.page->token[9], UINT64_C(0x1234560000000001));
	world_run(&w, 1100 * MS);
	assert_int_equal(w.page->channel[p->channel].cell[2], 0);
	assert_int_equal(w.page->token[9], 0);
	world_stats(&w);
	assert_int_equal(w.stats.strange_claims, 2);
	pass_one(c, p);
	world_destroy(&w);
}

/* A wild write into a claim: its publisher would reach that message in days, and wait for the cell as long. */
TEST(claims_far_ahead_are_freed_and_counted)
{
	make(4);
	pass_one(c, p);
	atomic_store(&w.page->channel[p->channel].cell[2], wire_claim(p->id, 1 << 24));
	/* a claim that its publisher can reach soon stays */
	atomic_store(&w.page->channel[p->channel].cell[3], wire_claim(p->id, 100));
	atomic_store(&w.page->token[9], wire_claim(p->id, 1 << 16));
	world_run(&w, 1100 * MS);
	assert_int_equal(w.page->channel[p->channel].cell[2], 0);
	assert_int_equal(w.page->channel[p->channel].cell[3], wire_claim(p->id, 100));
	assert_int_equal(w.page->token[9], 0);
	world_stats(&w);
	assert_int_equal(w.stats.strange_claims, 2);
	pass_one(c, p);
	world_destroy(&w);
}

/*
 * The client was killed before the probe was answered, or dispatch does not know the publisher yet: the probe is valid.
 */
TEST(a_probe_of_an_unknown_publisher_is_not_counted_as_invalid)
{
	struct sim_slot *s;

	make(4);
	s = client_loan(c, p);
	s->flags = SIM_SLOT_PROBE;
	s->sequence = 0;
	s->publisher_id = 4711;
	assert_int_equal(ipc_publish(p->ipc, s), 0);
	client_mark(c, 0);
	client_ring(c);
	world_settle(&w);
	assert_int_equal(client_read(c), 0);
	assert_int_equal(client_read(d), 0);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	world_stats(&w);
	assert_int_equal(w.stats.invalid, 0);
	pass_one(c, p);
	world_destroy(&w);
}

TEST(slots_of_unknown_publishers_are_released)
{
	for (unsigned i = 0; i < sizeof(nobodys_lies) / sizeof(nobodys_lies[0]); i++) {
		struct sim_slot *s;

		make(4);
		s = client_loan(c, p);
		nobodys_lies[i](s);
		client_publish(c, p, s);
		world_settle(&w);
		client_expect(c, p, 1, SIM_REASON_MISSING); /* published, according to its claim */
		assert_int_equal(client_read(d), 0);
		assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
		world_stats(&w);
		assert_int_equal(w.stats.invalid, 1);
		pass_one(c, p);
		world_destroy(&w);
	}
}

/*
 * A client claims credit and token of another client's message: its own claim completes as missing, the other client
 * keeps both.
 */
TEST(claims_of_other_clients_are_safe)
{
	struct sim_slot *s;

	make(4);
	assert_int_equal(client_try(d, q, 8), 0);
	world_settle(&w);
	s = client_loan(c, p);
	s->credit_cell = 1;
	s->token_cell = 9;
	client_publish(c, p, s);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_MISSING);
	assert_true(world_token_claimed(&w, 8));
	assert_int_equal(world_credits_claimed(&w, 0), 1);
	bridge_read(b);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(d, q, 1, SIM_REASON_NONE);
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	world_destroy(&w);
}

/* A publisher that uses one credit for many messages: all but the first are refused, and all slots come back. */
TEST(one_credit_carries_one_message)
{
	int credit;

	make(4);
	credit = client_claim_credit(c, p);
	for (unsigned i = 0; i < 8; i++) {
		struct sim_slot *s = client_loan(c, p);

		s->credit_cell = (uint32_t)credit;
		client_publish(c, p, s);
	}
	world_settle(&w);
	assert_int_equal(client_read(c), 7);
	bridge_read(b);
	assert_int_equal(b->n_held, 1);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	pass_one(d, q);
	world_destroy(&w);
}

/*
 * A flood beyond all limits: the oldest messages are lost in the data plane, the others are answered, and no other
 * client is affected.
 */
TEST(a_flood_harms_only_its_sender)
{
	make(4);
	for (unsigned i = 0; i < 100; i++) {
		struct sim_slot *s = client_loan(c, p);

		s->credit_cell = 1;
		client_publish(c, p, s);
	}
	world_settle(&w);
	assert_true(client_read(c) <= 100);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	pass_one(d, q);
	world_destroy(&w);
}

/* The time of publishing is only used for statistics; whatever its value, the message is delivered. */
TEST(a_message_with_any_publish_time_is_delivered)
{
	static const int64_t times[] = { INT64_MIN, -1000000 * S, 1000000 * S, INT64_MAX };

	make(8);
	for (unsigned i = 0; i < 4; i++) {
		struct sim_slot *s = client_loan(c, p);

		s->credit_cell = (uint32_t)client_claim_credit(c, p);
		s->publish_mono_ns = times[i];
		client_publish(c, p, s);
	}
	world_settle(&w);
	bridge_read(b);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(c, p, 4, SIM_REASON_NONE);
	world_stats(&w);
	assert_in_range(w.stats.queue_p99_dur_ns, 0, 1 * MS);
	pass_one(c, p);
	world_destroy(&w);
}

TEST(a_publisher_on_the_wrong_channel_is_refused)
{
	struct test_pub *other;
	struct sim_slot *s;

	make(4);
	other = client_advertise(c, 1);
	s = client_loan(c, other);
	s->publisher_id = q->id; /* d's, of channel 0 */
	client_publish(c, other, s);
	world_settle(&w);
	client_expect(c, other, 1, SIM_REASON_MISSING);
	assert_int_equal(client_read(d), 0);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	world_destroy(&w);
}

/* Every client may write the page: simd must survive any value, and free no cell twice. */
TEST(an_overwritten_page_harms_no_process)
{
	make(4);
	assert_int_equal(client_try(c, p, 3), 0);
	world_settle(&w);
	for (uint32_t i = 0; i < WIRE_WINDOW_MAX; i++)
		atomic_store(&w.page->channel[0].cell[i], 0xdeadbeef + i);
	atomic_store(&w.layout->info[0].window, 0xffffffff);
	atomic_store(&w.page->channel[0].waiters, 0xffffffff);
	for (uint32_t i = 0; i < WIRE_TOKENS_MAX; i++)
		atomic_store(&w.page->token[i], 0xffffffff);
	bridge_read(b);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	world_run(&w, 2 * S); /* claims without a client are swept */
	assert_int_equal(atomic_load(&w.page->token[5]), 0);
	for (uint32_t i = 4; i < WIRE_WINDOW_MAX; i++)
		atomic_store(&w.page->channel[0].cell[i], 0); /* beyond the window: not simd's */
	atomic_store(&w.layout->info[0].window, 4);
	pass_one(c, p);
	world_destroy(&w);
}

/* ---- clients that do not read ---- */

TEST(completions_wait_for_a_reader)
{
	unsigned accepted = 0, tries = 0;

	make(64);
	for (; tries < 3000; tries++) {
		accepted += client_try(c, p, NO_TOKEN) == 0;
		world_settle(&w);
		bridge_read(b);
		bridge_answer_all(b, 0, 1);
		world_settle(&w);
	}
	assert_true(accepted < tries); /* credits ran out: the backlog is bounded */
	assert_in_range(dispatch_outstanding(w.d), 1, 64 + LANE_BATCH);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots); /* slots are freed without waiting for the reader */
	for (int i = 0; i < 100; i++) {
		client_read(c);
		world_settle(&w);
	}
	for (uint64_t i = 1; i <= accepted; i++)
		client_expect(c, p, i, SIM_REASON_NONE);
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	pass_one(d, q);
	world_destroy(&w);
}

/* Its socket is closed but main does not know yet. */
TEST(a_client_with_a_closed_socket_holds_nothing_up)
{
	make(4);
	assert_int_equal(client_try(c, p, 3), 0);
	close(c->completion);
	c->completion = -1;
	world_settle(&w);
	bridge_read(b);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	assert_int_equal(dispatch_outstanding(w.d), 0);
	assert_false(world_token_claimed(&w, 3));
	pass_one(d, q);
	world_destroy(&w);
}

/* ---- clients that die ---- */

TEST(messages_of_a_dead_client_are_delivered)
{
	make(8);
	assert_int_equal(client_try(c, p, 4), 0);
	world_settle(&w);
	assert_int_equal(client_try(c, p, 5), 0); /* not taken yet */
	client_dies(c);
	world_settle(&w);
	assert_int_equal(bridge_read(b), 2);
	assert_true(world_token_claimed(&w, 4));
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	assert_false(world_token_claimed(&w, 4));
	assert_false(world_token_claimed(&w, 5));
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	pass_one(d, q);
	world_destroy(&w);
}

TEST(claims_of_a_dead_client_are_swept)
{
	make(8);
	client_claim_token(c, p, 4);
	client_claim_credit(c, p);
	client_claim_credit(c, p);
	assert_int_equal(client_try(d, q, 6), 0); /* d's own stay */
	world_settle(&w);
	client_dies(c);
	world_settle(&w);
	assert_false(world_token_claimed(&w, 4));
	assert_true(world_token_claimed(&w, 6));
	assert_int_equal(world_credits_claimed(&w, 0), 1);
	bridge_read(b);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(d, q, 1, SIM_REASON_NONE);
	world_destroy(&w);
}

/* A dead client never clears its waiting flag. */
TEST(a_dead_waiter_is_woken_once)
{
	make(8);
	client_dies(c);
	atomic_store(&w.page->channel[0].waiters, 1);
	for (unsigned i = 0; i < 5; i++)
		pass_one(d, q);
	assert_int_equal(atomic_load(&w.layout->info[0].freed), 1);
	world_destroy(&w);
}

/* The client has not noticed the loss of its control socket, and claims once more. */
TEST(claims_after_death_are_swept_later)
{
	uint32_t dead;

	make(8);
	dead = p->id;
	client_dies(c);
	world_settle(&w);
	atomic_store(&w.page->channel[0].cell[3], dead);
	atomic_store(&w.page->token[11], dead);
	world_run(&w, 1100 * MS);
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	assert_false(world_token_claimed(&w, 11));
	world_destroy(&w);
}

TEST(a_client_that_dies_with_a_full_socket_leaves_nothing)
{
	make(64);
	for (unsigned i = 0; i < 2000; i++) {
		(void)client_try(c, p, NO_TOKEN);
		world_settle(&w);
		bridge_read(b);
		bridge_answer_all(b, 0, 1);
	}
	world_settle(&w);
	assert_true(dispatch_outstanding(w.d) > 0);
	client_dies(c);
	world_settle(&w);
	assert_int_equal(dispatch_outstanding(w.d), 0);
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	world_destroy(&w);
}

/* ---- RouDi dies ---- */

static void prove(struct test_client *who, struct test_pub *pub)
{
	unsigned before = client_count(who, pub, 0);

	client_prove(who, pub);
	client_read(who);
	assert_int_equal(client_count(who, pub, 0), before + 1);
}

TEST(a_restart_answers_queued_messages_and_finishes_the_rest)
{
	make(64);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(client_try(c, p, i == 0 ? 2 : NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(b), 8);
	client_claim_credit(c, p); /* about to publish into the dead generation */
	world_roudi_dies(&w);
	assert_int_equal(client_read(c), 12);
	client_expect(c, p, 20, SIM_REASON_RESTART);
	assert_true(world_token_claimed(&w, 2));
	assert_int_equal(world_credits_claimed(&w, 0), 8);
	assert_int_equal(w.n_sub_free, 1); /* channel 1's: nothing of it is held */
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	assert_false(world_token_claimed(&w, 2));
	assert_int_equal(w.n_sub_free, 2);
	client_claim_credit(c, p); /* it has not heard of the restart */
	world_roudi_back(&w, 2);
	prove(c, p);
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	prove(d, q);
	pass_one(c, p);
	pass_one(d, q);
	world_destroy(&w);
}

TEST(a_bridge_gets_messages_of_a_new_generation_only_once_it_is_attached_to_it)
{
	make(8);
	world_roudi_dies(&w);
	b->alive = false; /* so that world_roudi_back() does not let it follow */
	world_roudi_back(&w, 2);
	b->alive = true;
	prove(c, p);
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(b), 0);
	assert_int_equal(client_read(c), 0);
	assert_int_equal(dispatch_bridge_generation(w.d, 0, w.life), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(b), 1);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	world_destroy(&w);
}

TEST(held_messages_are_answered_at_restart)
{
	make(8);
	assert_int_equal(dispatch_hold(w.d, true), 0);
	world_settle(&w);
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	world_roudi_dies(&w);
	client_expect(c, p, 1, SIM_REASON_RESTART);
	world_roudi_back(&w, 2);
	assert_int_equal(dispatch_hold(w.d, false), 0);
	prove(c, p);
	pass_one(c, p);
	world_destroy(&w);
}

TEST(publishers_deleted_while_roudi_is_dead_are_forgotten)
{
	make(8);
	world_roudi_dies(&w);
	client_unadvertise(c, p);
	client_dies(d);
	assert_int_equal(dispatch_channel_del(w.d, 1), 0);
	world_settle(&w);
	assert_int_equal(w.n_channel_free, 1);
	assert_int_equal(w.last_channel_free, 1);
	world_roudi_back(&w, 1);
	p = client_advertise(c, 0);
	pass_one(c, p);
	world_destroy(&w);
}

static int prepare(void **state)
{
	(void)state;
	log_set_spec("none"); /* the provoked errors are expected */
	return 0;
}

TEST_GROUP(prepare, NULL)
