/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots that another process overwrites between their publisher and dispatch. Forged contents never make dispatch wait,
 * complete another publisher's message, or skip one: each message that was published completes once, forged or not.
 */
#include "scenario/dispatch/world.h"

#include <errno.h>
#include <stdlib.h>

#include "log.h"

#define FAR (UINT64_C(1) << 40)

static struct world w;
static struct test_client *c, *d;
static struct test_pub *p, *q, *r; /* p of c, q of d, both on channel 0; r of c on channel 1 */
static struct test_bridge *b;
static struct sim_slot *slot; /* the last that was published */

static void make(uint64_t seed)
{
	world_create(&w, seed, 0);
	w.forged = true;
	world_channel(&w, 0, 16, false);
	world_channel(&w, 1, 16, false);
	world_bridge(&w, 0, 1024);
	world_route(&w, 0, 0);
	world_route(&w, 1, 0);
	b = bridge_attach(&w, 0);
	c = client_new(&w);
	d = client_new(&w);
	p = client_advertise(c, 0);
	q = client_advertise(d, 0);
	r = client_advertise(c, 1);
}

static bool publish(struct test_client *who, struct test_pub *pub, uint32_t token)
{
	int t = token == NO_TOKEN ? 0 : client_claim_token(who, pub, token), credit = client_claim_credit(who, pub);

	if (credit < 0 || t < 0) {
		assert_true(t <= 0);
		return false;
	}
	slot = client_loan(who, pub);
	slot->token_cell = (uint32_t)t;
	slot->credit_cell = (uint32_t)credit;
	client_publish(who, pub, slot);
	return true;
}

/* The bridge answers its messages, until nothing happens any more, and two rounds of housekeeping later. */
static void settle(void)
{
	for (unsigned i = 0; i < 3; i++) {
		world_settle(&w);
		bridge_read(b);
		bridge_answer_all(b, 0, 1);
		world_run(&w, 1 * S);
	}
	client_read(c);
	client_read(d);
}

/* Counts the completions of messages; a probe's completion only says that simd hears the publisher. */
static unsigned n_done(const struct test_client *who)
{
	unsigned n = 0;

	for (unsigned i = 0; i < who->n_done; i++)
		n += who->done[i].sequence != 0;
	return n;
}

static unsigned once(struct test_client *who, const struct test_pub *pub, uint64_t sequence)
{
	if (client_count(who, pub, sequence) != 1)
		fail_msg("message %llu of publisher %u has completed %u times", (unsigned long long)sequence, pub->id,
			 client_count(who, pub, sequence));
	for (unsigned i = 0; i < who->n_done; i++)
		if (who->done[i].publisher_id == pub->id && who->done[i].sequence == sequence)
			return who->done[i].reason;
	return SIM_REASON_COUNT;
}

/* Expects that nothing is claimed, and that all clients can continue. */
static void all_is_back(void)
{
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	assert_int_equal(world_credits_claimed(&w, 1), 0);
	for (uint32_t t = 0; t < 16; t++)
		assert_false(world_token_claimed(&w, t));
	assert_int_equal(dispatch_outstanding(w.d), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(publish(c, p, 1) && publish(d, q, 2) && publish(c, r, 3));
		settle();
		assert_int_equal(once(c, p, p->sequence), SIM_REASON_NONE);
		assert_int_equal(once(d, q, q->sequence), SIM_REASON_NONE);
		assert_int_equal(once(c, r, r->sequence), SIM_REASON_NONE);
	}
	world_destroy(&w);
}

/* ---- one field, while messages of both clients lie before and behind it ---- */

struct forgery {
	const char *what;
	void (*fn)(struct sim_slot *s);
};

#define FORGERY(name, ...) \
	static void forge_##name(struct sim_slot *s) \
	{ \
		__VA_ARGS__; \
	}

FORGERY(magic, s->magic = 1)
FORGERY(version, s->version++)
FORGERY(local, s->flags = 0)
FORGERY(probe, s->flags |= SIM_SLOT_PROBE)
FORGERY(flags, s->flags = 0xffff)
FORGERY(zero, s->sequence = 0)
FORGERY(before, s->sequence--)
FORGERY(next, s->sequence++)
FORGERY(unpublished, s->sequence += 3)
FORGERY(ahead, s->sequence += 400)
FORGERY(far, s->sequence += FAR)
FORGERY(far_half, s->sequence += UINT64_C(1) << 31)
FORGERY(far_whole, s->sequence += UINT64_C(1) << 32)
FORGERY(last, s->sequence = UINT64_MAX)
FORGERY(nobody, s->publisher_id = 0)
FORGERY(other, s->publisher_id = q->id)
FORGERY(other_channel, s->publisher_id = r->id)
FORGERY(channel, s->channel_id = 1)
FORGERY(type, s->type_hash++)
FORGERY(body, s->body_size = UINT64_MAX)
FORGERY(no_credit, s->credit_cell = 0)
FORGERY(next_credit, s->credit_cell++)
FORGERY(no_token, s->token_cell = 0)
FORGERY(other_token, s->token_cell = 10)
FORGERY(local_free, s->flags = 0; s->credit_cell = 0)
FORGERY(local_next, s->flags = 0; s->sequence++; s->credit_cell++)
FORGERY(next_whole, s->sequence++; s->credit_cell += 2; s->token_cell = 0) /* like p's next message */
FORGERY(other_next, s->publisher_id = q->id; s->sequence = 2; s->credit_cell++; s->token_cell = 0)
FORGERY(all, memset(s, 0xff, sizeof(*s)))

#define ONE(name) \
	{ \
#name, forge_##name \
	}
static const struct forgery forgeries[] = {
	ONE(magic),      ONE(version),    ONE(local),       ONE(probe),       ONE(flags),         ONE(zero),
	ONE(before),     ONE(next),       ONE(unpublished), ONE(ahead),       ONE(far),           ONE(far_half),
	ONE(far_whole),  ONE(last),       ONE(nobody),      ONE(other),       ONE(other_channel), ONE(channel),
	ONE(type),       ONE(body),       ONE(no_credit),   ONE(next_credit), ONE(no_token),      ONE(other_token),
	ONE(local_free), ONE(local_next), ONE(next_whole),  ONE(other_next),  ONE(all),
};

TEST(one_forged_field_costs_only_its_own_message)
{
	for (unsigned i = 0; i < sizeof(forgeries) / sizeof(*forgeries); i++) {
		const struct forgery *f = &forgeries[i];
		bool theirs = f->fn == forge_next_whole, others = f->fn == forge_other_next;
		struct sim_slot *victim;

		print_message("%s\n", f->what);
		make(5);
		assert_true(publish(c, p, NO_TOKEN) && publish(d, q, NO_TOKEN));
		assert_true(publish(c, p, 7));
		victim = slot;
		assert_true(publish(d, q, 9) && publish(c, p, NO_TOKEN) && publish(d, q, NO_TOKEN) && publish(c, r, 8));
		f->fn(victim);
		settle();
		assert_int_equal(once(c, p, 1), SIM_REASON_NONE);
		if (f->fn != forge_no_token)
			assert_true(once(c, p, 2) == SIM_REASON_INVALID || once(c, p, 2) == SIM_REASON_MISSING);
		once(c, p, 2);
		/*
		 * A slot with all fields of another message is taken for that message: the real one then comes too
		 * late, but is not answered twice.
		 */
		assert_int_equal(once(c, p, 3), SIM_REASON_NONE);
		assert_int_equal(once(d, q, 1), SIM_REASON_NONE);
		assert_int_equal(once(d, q, 2), SIM_REASON_NONE);
		assert_int_equal(once(d, q, 3), SIM_REASON_NONE);
		assert_int_equal(once(c, r, 1), SIM_REASON_NONE);
		assert_int_equal(b->received, theirs || others || f->fn != forge_no_token ? 6 : 7);
		assert_int_equal(n_done(c) + n_done(d), 7);
		all_is_back();
	}
}

/* Dispatch skips no message up to the forged number, and does not wait for it. */
TEST(a_forged_high_sequence_delays_and_skips_no_message)
{
	make(6);
	assert_true(publish(c, p, NO_TOKEN));
	slot->sequence = FAR;
	world_settle(&w);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(publish(c, p, NO_TOKEN));
		world_settle(&w);
		assert_int_equal(bridge_read(b), 1);
		bridge_answer_all(b, 0, 1);
		world_settle(&w);
		client_expect(c, p, p->sequence, SIM_REASON_NONE);
	}
	assert_int_equal(once(c, p, 1), SIM_REASON_MISSING);
	all_is_back();
}

/* The client has not claimed it yet, let alone published it. */
TEST(an_unpublished_message_does_not_complete)
{
	make(7);
	assert_true(publish(d, q, NO_TOKEN));
	slot->publisher_id = p->id;
	slot->sequence = 1;
	settle();
	assert_int_equal(client_read(c), 0);
	assert_int_equal(c->n_done, 0);
	assert_int_equal(once(d, q, 1), SIM_REASON_MISSING);
	assert_true(publish(c, p, NO_TOKEN));
	settle();
	assert_int_equal(once(c, p, 1), SIM_REASON_NONE);
	all_is_back();
}

/* Any client may write the cells: a message without its claim, and a claim without its message. */
TEST(a_message_that_lost_its_claim_completes)
{
	make(8);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(publish(c, p, 5));
		atomic_store(&w.page->channel[0].cell[slot->credit_cell - 1], i % 2 ? wire_claim(q->id, 77) : 0);
		settle();
		assert_int_equal(once(c, p, p->sequence), SIM_REASON_MISSING);
		assert_int_equal(w.page->token[5], 0);
	}
	assert_int_equal(c->n_done, 4);
	for (unsigned i = 0; i < 16; i++)
		atomic_store(&w.page->channel[0].cell[i], 0);
	all_is_back();
}

/* A simd that was started when its publisher's sequence number had passed half the range of the number in a claim. */
TEST(a_publisher_with_a_large_sequence_number_is_served)
{
	static const uint64_t before[] = { 5, 4000, (UINT64_C(1) << 31) - 3, UINT64_C(5000000000), UINT64_C(1) << 50 };

	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++) {
		make(9);
		p->sequence = before[i];
		atomic_store(&p->row->sequence, before[i]);
		assert_int_equal(client_try_lost(c, p, 4), 0);
		for (unsigned k = 0; k < 5; k++)
			assert_true(publish(c, p, NO_TOKEN));
		settle();
		assert_int_equal(once(c, p, before[i] + 1), SIM_REASON_MISSING);
		for (unsigned k = 2; k <= 6; k++)
			assert_int_equal(once(c, p, before[i] + k), SIM_REASON_NONE);
		for (unsigned k = 0; k < c->n_done; k++) /* messages from before simd's start are not waited for */
			assert_true(c->done[k].sequence > before[i] || c->done[k].reason == SIM_REASON_MISSING);
		assert_true(c->n_done <= 11);
		all_is_back();
	}
}

/* ---- anything, anywhere ---- */

static uint64_t dice;

static unsigned any(unsigned n)
{
	dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(dice >> 33) % n;
}

static void spoil(struct sim_slot *s)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, 0x7fffffff, 0xffffffff, FAR, UINT64_C(1) << 31 };
	unsigned char *at = (unsigned char *)s;

	if (any(3) == 0)
		forgeries[any(sizeof(forgeries) / sizeof(*forgeries))].fn(s);
	else if (any(2))
		memcpy(at + any(sizeof(*s) / 8) * 8, &odd[any(7)], 8);
	else
		at[any(sizeof(*s))] = (unsigned char)any(256);
}

static void forge_some(bool cells)
{
	static struct sim_slot *out[16];
	struct test_client *who[3] = { c, d, c };
	struct test_pub *pub[3] = { p, q, r };

	for (unsigned i = 0; i < 400; i++) {
		unsigned n = 1 + any(16), sent = 0;

		for (unsigned k = 0; k < n; k++) {
			unsigned of = any(3);

			if (publish(who[of], pub[of], NO_TOKEN))
				out[sent++] = slot;
		}
		for (unsigned k = any(4); k && sent; k--)
			spoil(out[any(sent)]);
		if (cells && any(3) == 0)
			atomic_store(&w.page->channel[any(2)].cell[any(16)],
				     any(2) ? wire_claim(pub[any(3)]->id, p->sequence + any(9)) : 0);
		world_settle(&w);
		bridge_read(b);
		if (any(2))
			bridge_answer_all(b, 0, 1);
		if (any(5) == 0)
			world_run(&w, any(2) ? 1 * S : 1 * MS);
		client_read(c);
		client_read(d);
	}
	settle();
	settle();
	for (unsigned i = 0; i < 3; i++)
		for (uint64_t s = 1; s <= pub[i]->sequence; s++)
			once(who[i], pub[i], s);
	assert_int_equal(n_done(c) + n_done(d), p->sequence + q->sequence + r->sequence);
}

static uint64_t first_seed;
static unsigned runs(void)
{
	first_seed = test_seed(1);
	return getenv("RUNS") ? (unsigned)atoi(getenv("RUNS")) : 20;
}

TEST(forged_slots_are_answered_once)
{
	for (unsigned n = runs(), i = 0; i < n; i++) {
		dice = first_seed + i;
		make(dice);
		forge_some(false);
		all_is_back();
	}
}

/* A process that overwrites the cells too may use up credits, but cannot answer another publisher's message. */
TEST(forged_slots_and_cells_are_answered_once)
{
	for (unsigned n = runs(), i = 0; i < n; i++) {
		dice = first_seed + i;
		make(dice);
		forge_some(true);
		client_dies(c);
		client_dies(d);
		world_run(&w, 3 * S);
		world_destroy(&w);
	}
}

static int prepare(void **unused)
{
	(void)unused;
	log_set_spec("none");
	return 0;
}

TEST_GROUP(prepare, NULL)
