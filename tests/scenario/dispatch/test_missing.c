/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that were published and never arrive: each completes once, as `missing`, and its credit and token are freed;
 * a claim whose message has yet to be published is kept for ever.
 */
#include "scenario/dispatch/two_clients.h"

#include <errno.h>

static void all_is_back(void)
{
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	assert_false(world_token_claimed(&w, 4));
	assert_int_equal(dispatch_outstanding(w.d), 0);
	pass_one(c, p);
	pass_one(d, q);
	world_destroy(&w);
}

TEST(a_missing_last_message_is_detected_within_a_second)
{
	make(8);
	pass_one(c, p);
	assert_int_equal(client_try_lost(c, p, 4), 0);
	assert_int_equal(client_try_lost(c, p, NO_TOKEN), 0);
	world_run(&w, 1000 * MS);
	client_expect(c, p, 2, SIM_REASON_MISSING);
	client_expect(c, p, 3, SIM_REASON_MISSING);
	world_stats(&w);
	assert_int_equal(w.channel_stats[0].failed[SIM_REASON_MISSING], 2);
	assert_int_equal(w.channel_stats[0].accepted, 3);
	all_is_back();
}

/* Messages of one publisher arrive in order. */
TEST(a_gap_is_detected_at_once)
{
	make(8);
	assert_int_equal(client_try(d, q, NO_TOKEN), 0);
	assert_int_equal(client_try_lost(c, p, 4), 0);
	assert_int_equal(client_try_lost(c, p, NO_TOKEN), 0);
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_MISSING);
	client_expect(c, p, 2, SIM_REASON_MISSING);
	assert_int_equal(world_credits_claimed(&w, 0), 2);
	assert_int_equal(bridge_read(b), 2);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(c, p, 3, SIM_REASON_NONE);
	client_expect(d, q, 1, SIM_REASON_NONE);
	all_is_back();
}

/* Its client was stopped before it rang, so that the house keeping is the first to look. */
TEST(a_message_in_the_queue_is_not_counted_as_missing)
{
	make(8);
	for (unsigned i = 0; i < 8; i++) {
		struct sim_slot *s = client_loan(c, p);

		s->credit_cell = (uint32_t)client_claim_credit(c, p);
		assert_int_equal(ipc_publish(p->ipc, s), 0);
		atomic_store(&p->row->sequence, ++p->sequence);
	}
	world_run(&w, 1000 * MS);
	assert_int_equal(client_read(c), 0);
	assert_int_equal(bridge_read(b), 8);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	for (uint64_t n = 1; n <= 8; n++)
		client_expect(c, p, n, SIM_REASON_NONE);
	all_is_back();
}

/*
 * A slot with an overwritten header cannot be attributed to a publisher; its message is reported missing at once
 * instead of after a second.
 */
TEST(a_slot_without_a_header_is_detected_as_missing_at_once)
{
	struct sim_slot *s;

	make(8);
	s = client_loan(c, p);
	s->credit_cell = (uint32_t)client_claim_credit(c, p);
	memset(s, 6, sizeof(*s));
	client_publish(c, p, s);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_MISSING);
	all_is_back();
}

TEST(a_flood_costs_no_credit)
{
	make(64);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(client_try(c, p, i ? NO_TOKEN : 4), 0);
	assert_int_equal(client_try(d, q, NO_TOKEN), -EAGAIN);
	world_flood(&w, 0);
	world_settle(&w);
	for (uint64_t n = 1; n <= 64; n++)
		client_expect(c, p, n, SIM_REASON_MISSING);
	all_is_back();
}

/* A client that was stopped, that copies for long, or whose thread gets no CPU time. */
TEST(an_unpublished_claim_stays)
{
	struct sim_slot *s;
	int credit, token;

	make(4);
	pass_one(c, p);
	token = client_claim_token(c, p, 4);
	credit = client_claim_credit(c, p);
	for (unsigned i = 0; i < 300; i++) {
		world_run(&w, 1 * S);
		pass_one(d, q);
	}
	world_flood(&w, 0);
	world_run(&w, 2 * S);
	assert_int_equal(world_credits_claimed(&w, 0), 1);
	assert_true(world_token_claimed(&w, 4));
	s = client_loan(c, p);
	s->credit_cell = (uint32_t)credit;
	s->token_cell = (uint32_t)token;
	client_publish(c, p, s);
	world_settle(&w);
	assert_int_equal(bridge_read(b), 1);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(c, p, 2, SIM_REASON_NONE);
	all_is_back();
}

/* Messages of a lock-step turn are sent at its end; another thread of the client may publish before that. */
TEST(kept_messages_may_arrive_late)
{
	struct sim_slot *kept[3];

	make(8);
	for (unsigned i = 0; i < 3; i++) {
		kept[i] = client_loan(c, p);
		kept[i]->credit_cell = (uint32_t)client_claim_credit(c, p);
		p->sequence++;
	}
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	atomic_store(&p->row->sequence, 0);
	world_run(&w, 20 * S);
	client_read(c);
	assert_int_equal(c->n_done, 1); /* by its deadline */
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(ipc_publish(p->ipc, kept[i]), 0);
	atomic_store(&p->row->sequence, 4);
	client_mark(c, 0);
	client_ring(c);
	world_settle(&w);
	assert_int_equal(bridge_read(b), 4);
	bridge_answer_all(b, 0, 1);
	world_run(&w, 2 * S);
	for (uint64_t n = 1; n <= 3; n++)
		client_expect(c, p, n, SIM_REASON_NONE);
	all_is_back();
}

/* ---- naming the publisher ---- */

static unsigned n_told;
static const char *wanted;

static void count_told(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)user;
	(void)topic;
	n_told += level == LOG_LEVEL_WARN && strstr(text, "/test/ch0") && strstr(text, wanted);
}

static void listen_for(const char *text)
{
	n_told = 0;
	wanted = text;
	log_set_spec("warn");
	log_set_handler(count_told, NULL);
}

static void expect_told(unsigned n)
{
	log_set_handler(NULL, NULL);
	log_set_spec("none");
	assert_int_equal(n_told, n);
}

TEST(a_foreign_publisher_is_named_once)
{
	make(8);
	listen_for("an iceoryx application outside simd publishes on it");
	for (unsigned i = 0; i < 10; i++) {
		world_flood(&w, 0);
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
		world_settle(&w);
		bridge_read(b);
		bridge_answer_all(b, 0, 1);
		world_run(&w, 1 * S);
	}
	expect_told(1);
	all_is_back();
}

/* simd knows the port of a publisher that has proved its connection. */
TEST(a_publisher_that_overwrites_slot_headers_is_named)
{
	struct sim_slot *s;

	make(8);
	client_prove(c, p);
	listen_for("client client.1.1, or what it has loaded, writes over the headers of its slots");
	s = client_loan(c, p);
	s->credit_cell = (uint32_t)client_claim_credit(c, p);
	memset(s, 6, sizeof(*s));
	client_publish(c, p, s);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_MISSING);
	expect_told(1);
	all_is_back();
}

/* ---- false data ---- */

/* A sequence number far ahead costs no more than the claimed cells. */
TEST(a_jump_in_sequence_numbers_is_bounded)
{
	make(8);
	assert_int_equal(client_try_lost(c, p, NO_TOKEN), 0);
	p->sequence = UINT64_C(1) << 60;
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	p->sequence = 5;
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	p->sequence = UINT64_MAX;
	assert_int_equal(client_try_lost(c, p, NO_TOKEN), 0);
	world_run(&w, 2 * S);
	assert_true(client_read(c) <= 4);
	bridge_read(b);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	assert_true(client_read(c) <= 1);
	p->sequence = UINT64_MAX - 1;
	atomic_store(&p->row->sequence, 0);
	client_dies(c);
	world_settle(&w);
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	pass_one(d, q);
	world_destroy(&w);
}

/* The message was reported as published before it was: by now its cell belongs to another message. */
TEST(a_message_already_reported_missing_is_not_delivered)
{
	struct sim_slot *late;

	make(1);
	pass_one(c, p);
	late = client_loan(c, p);
	assert_int_equal(client_try_lost(c, p, 4), 0);
	late->credit_cell = 1;
	late->token_cell = 5;
	world_run(&w, 1 * S);
	client_expect(c, p, 2, SIM_REASON_MISSING);
	assert_int_equal(client_try(d, q, 4), 0);
	assert_int_equal(ipc_publish(p->ipc, late), 0);
	client_mark(c, 0);
	client_ring(c);
	world_settle(&w);
	client_expect(c, p, 2, SIM_REASON_MISSING);
	assert_int_equal(world_credits_claimed(&w, 0), 1);
	assert_true(world_token_claimed(&w, 4));
	assert_int_equal(bridge_read(b), 1);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(d, q, 1, SIM_REASON_NONE);
	all_is_back();
}

/* Duplicates happen when one feed takes over from another. */
TEST(a_duplicate_message_is_answered_once)
{
	struct sim_slot *again;

	make(4);
	pass_one(c, p);
	p->sequence = 0;
	again = client_loan(c, p);
	again->credit_cell = 1;
	client_publish(c, p, again);
	world_run(&w, 2 * S);
	client_expect(c, p, 1, SIM_REASON_NONE);
	assert_int_equal(bridge_read(b), 0);
	all_is_back();
}

/* Another process writes the claim of a message that has arrived into a second cell. */
TEST(a_copied_claim_does_not_cost_the_original_message)
{
	make(4);
	assert_int_equal(client_try(c, p, NO_TOKEN), 0);
	world_settle(&w);
	atomic_store(&w.page->channel[0].cell[2], wire_claim(p->id, 1));
	assert_int_equal(client_try_lost(d, q, NO_TOKEN), 0);
	assert_int_equal(client_try(d, q, NO_TOKEN), 0); /* a gap, so that dispatch looks at the channel */
	world_settle(&w);
	client_expect(d, q, 1, SIM_REASON_MISSING);
	assert_int_equal(client_read(c), 0);
	assert_int_equal(bridge_read(b), 2);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	world_run(&w, 2 * S);
	all_is_back();
}

/* ---- together with other ends ---- */

TEST(missing_messages_of_a_dead_client_are_swept)
{
	make(8);
	assert_int_equal(client_try_lost(c, p, 4), 0);
	assert_int_equal(client_try(c, p, NO_TOKEN), 0); /* not taken yet */
	client_dies(c);
	world_settle(&w);
	bridge_read(b);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	assert_false(world_token_claimed(&w, 4));
	pass_one(d, q);
	world_destroy(&w);
}

/* Messages lost with the data plane are answered by the library. */
TEST(messages_lost_in_a_restart_do_not_count_as_missing)
{
	make(8);
	assert_int_equal(client_try_lost(c, p, 4), 0);
	world_roudi_dies(&w);
	world_run(&w, 3 * S);
	assert_int_equal(client_try_lost(c, p, 4), 0); /* it has not heard of it */
	world_roudi_back(&w, 1);
	world_run(&w, 3 * S);
	assert_int_equal(client_read(c), 0);
	assert_int_equal(world_credits_claimed(&w, 0), 1);
	assert_int_equal(dispatch_outstanding(w.d), 0);
	client_dies(c);
	world_settle(&w);
	assert_false(world_token_claimed(&w, 4));
	pass_one(d, q);
	world_destroy(&w);
}

/* Its completions wait for it, and with them the credits. */
TEST(a_client_that_does_not_read_completions_gets_no_more_credits)
{
	unsigned lost = 0;

	make(16);
	for (unsigned i = 0; i < 4000; i++) {
		lost += client_try_lost(c, p, NO_TOKEN) == 0;
		if (i % 16 == 15)
			world_run(&w, 1 * S);
	}
	assert_true(lost < 4000);
	assert_int_equal(world_credits_claimed(&w, 0), 16);
	while (client_read(c))
		world_settle(&w);
	assert_int_equal(c->n_done, lost);
	all_is_back();
}

static int prepare(void **state)
{
	(void)state;
	log_set_spec("none");
	return 0;
}

TEST_GROUP(prepare, NULL)
