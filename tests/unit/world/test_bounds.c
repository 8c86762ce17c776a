/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h: clients that send, request or keep too much, in virtual time: none of it affects another client. Thread: the
 * test's.
 */
#include "support/test.h"

#include <errno.h>

#include "client.h"
#include "mem.h"

#define MS    INT64_C(1000000)
#define STEP  (10 * MS)
#define N_MAX 40

static struct world *w;
static int64_t now, blocks_before;
static struct client clients[N_MAX];

static void begin_with(size_t soft, size_t hard)
{
	const struct world_options o = {
		.store = { .objects_max = 2000, .objects_each_max = 100, .section_mm = 100000, .step_dur_ns = STEP },
		.number = 1,
		.sessions_max = N_MAX,
		.members_max = 2 * N_MAX,
		.radius_mm = INT64_MAX,
		.grace_dur_ns = 1000 * MS,
		.ahead_dur_ns = 100 * MS,
		.queue_soft = soft,
		.queue_hard = hard,
	};
	struct mem_stats m;

	mem_stats(&m);
	blocks_before = m.blocks;
	now = 1000 * MS;
	memset(clients, 0, sizeof(clients));
	assert_int_equal(world_create(&o, now, &w), 0);
}

static int begin(void **state)
{
	(void)state;
	begin_with(0, 0);
	return 0;
}

static int end(void **state)
{
	struct mem_stats m;

	(void)state;
	for (unsigned i = 0; i < N_MAX; i++)
		if (clients[i].s)
			client_lose(&clients[i], now);
	world_destroy(w);
	mem_stats(&m);
	return m.blocks != blocks_before;
}

static struct client *come(unsigned i, Sim__World__Role role, uint8_t identity)
{
	client_connect(&clients[i], w, &(struct client_options){ .role = role, .identity = identity }, now);
	client_receive(&clients[i], SIZE_MAX, now);
	return &clients[i];
}

static void tick(void)
{
	while (world_turn(w, now) <= now)
		;
}

/* Two regulating clients, each with an object that the other one sees. */
static void two(struct client **a, struct client **b)
{
	*a = come(0, SIM__WORLD__ROLE__REGULATING, 1);
	*b = come(1, SIM__WORLD__ROLE__REGULATING, 2);
	client_object(*a, 0, 1, 1, now);
	client_object(*b, 0, 2, 1, now);
	for (unsigned i = 0; i < 2; i++) {
		client_done(*a, now);
		client_done(*b, now);
		tick();
		client_receive(*a, SIZE_MAX, now);
		client_receive(*b, SIZE_MAX, now);
	}
}

static struct world_info info(void)
{
	struct world_info x;

	world_info(w, &x);
	return x;
}

static size_t queued(const struct client *c)
{
	struct session_info x;

	session_info(c->s, &x);
	return x.queued;
}

#define ID(c, number) ((uint64_t)(c)->connection << 40 | (uint64_t)(number) << 16)

/* ---- requests to other clients ---- */

TEST_WITH(requests_to_an_owner_are_limited_per_second, begin, end)
{
	Sim__World__Ownership m = SIM__WORLD__OWNERSHIP__INIT;
	struct client *a, *b;
	size_t one;

	two(&a, &b);
	m.id = ID(a, 0);
	client_send(b, 38, &m.base, now);
	one = queued(a);
	assert_true(one > 0 && one < 50);
	for (unsigned i = 0; i < 5000; i++)
		client_send(b, 38, &m.base, now);
	assert_int_equal(queued(a), 1000 * one);
	client_receive(b, SIZE_MAX, now);
	assert_true(b->ownership.code == 39 && b->ownership.refused); /* and it knows */
	client_receive(a, SIZE_MAX, now);
	now += 100 * MS;
	m.connection = a->connection;
	for (unsigned i = 0; i < 5000; i++) { /* the same for gifts, and for refusals */
		m.refused = i % 2;
		m.id = m.refused ? ID(b, 0) : ID(a, 0);
		client_send(b, i % 3 ? 39 : 38, &m.base, now);
	}
	assert_true(queued(a) <= 100 * one);
	assert_true(a->s && !a->bye && b->s);
}

TEST(messages_of_others_do_not_end_a_client_that_reads_late)
{
	Sim__World__Note m = SIM__WORLD__NOTE__INIT;
	uint8_t payload[2000] = { 0 };
	struct client *a, *b;

	begin_with(20000, 100000);
	two(&a, &b);
	m.from = ID(b, 0);
	m.to = ID(a, 0);
	m.payload = (ProtobufCBinaryData){ sizeof(payload), payload };
	for (unsigned i = 1; i <= 100; i++) {
		m.number = i;
		client_send(b, 6, &m.base, now);
	}
	assert_in_range(queued(a), 20001, 20000 + sizeof(payload) + 50);
	assert_true(info().withheld > 80 && info().withheld == info().notes_lost);
	client_done(b, now);
	tick();
	assert_false(session_ends(a->s));
	client_receive(a, SIZE_MAX, now);
	assert_int_equal(a->n_notes, 100 - info().withheld);
	assert_int_equal(end(NULL), 0);
}

TEST(a_client_that_asks_without_reading_ends_before_the_next_tick)
{
	Sim__World__Ownership m = SIM__WORLD__OWNERSHIP__INIT;
	struct client *a, *b;

	begin_with(20000, 100000);
	two(&a, &b);
	m.id = ID(a, 9); /* of nobody: an answer each */
	for (unsigned i = 0; i < 20000; i++)
		client_send(b, 38, &m.base, now);
	assert_true(session_ends(b->s) && queued(b) < 100000 + 300);
	client_receive(b, SIZE_MAX, now);
	assert_true(b->bye && b->reason == SIM__WORLD__BYE__REASON__SLOW);
	assert_int_equal(end(NULL), 0);
}

/* ---- its share ---- */

TEST_WITH(a_flood_ends_only_its_sender, begin, end)
{
	static const uint8_t unknown[] = { 1, 0, 0, 0, 100 };
	static uint8_t noise[sizeof(unknown) * 10000];
	struct client *a, *b;
	unsigned n = 0;

	two(&a, &b);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = unknown[i % sizeof(unknown)];
	for (; !session_ends(b->s) && n < 1000; n++)
		client_send_bytes(b, noise, sizeof(noise), now);
	assert_in_range(n, 100, 110);
	client_receive(b, SIZE_MAX, now);
	assert_true(b->bye && b->reason == SIM__WORLD__BYE__REASON__FLOOD);
	assert_int_equal(info().floods, 1);
	assert_true(a->s && !session_ends(a->s));
}

/* 50 objects at 100 Hz, and after 9 s of silence all of it at once; in a world without a pace at any rate of ticks. */
TEST_WITH(normal_traffic_never_exceeds_its_share, begin, end)
{
	static const uint8_t unknown[] = { 1, 0, 0, 0, 100 };
	struct client *a, *b;

	two(&a, &b);
	for (unsigned t = 0; t < 900; t++)
		for (unsigned i = 0; i < 50; i++)
			client_send_bytes(b, unknown, sizeof(unknown), now);
	for (unsigned t = 0; t < 1200; t++) { /* without wall time: 1000 frames a tick */
		for (unsigned i = 0; i < 1000; i++)
			client_send_bytes(b, unknown, sizeof(unknown), now);
		client_done(a, now);
		client_done(b, now);
		tick();
		client_receive(a, SIZE_MAX, now);
		client_receive(b, SIZE_MAX, now);
	}
	for (unsigned t = 0; t < 1200; t++, now += STEP) /* without ticks */
		for (unsigned i = 0; i < 1000; i++)
			client_send_bytes(b, unknown, sizeof(unknown), now);
	assert_true(b->s && !session_ends(b->s));
	assert_int_equal(info().floods, 0);
}

/* ---- sent again ---- */

static void round_of(struct client *a, struct client *b)
{
	client_done(a, now);
	client_done(b, now);
	tick();
	client_receive(a, SIZE_MAX, now);
}

TEST_WITH(full_world_requests_are_rate_limited, begin, end)
{
	Sim__World__Again m = SIM__WORLD__AGAIN__INIT;
	struct client *a, *b;
	unsigned whole = 0;

	two(&a, &b);
	for (unsigned i = 0; i < 100; i++)
		client_object(a, i, i * 10.0, 0, now);
	round_of(a, b);
	client_receive(b, SIZE_MAX, now);
	for (unsigned t = 0; t < 50; t++) {
		m.all = true;
		client_send(b, 41, &m.base, now);
		m.all = false;
		for (unsigned i = 0; i < 50; i++)
			client_send(b, 41, &m.base, now);
		round_of(a, b);
		whole += queued(b) > 2000;
		client_receive(b, SIZE_MAX, now);
	}
	assert_in_range(whole, 1, 4);
	now += 1000 * MS; /* it was not forgotten */
	round_of(a, b);
	assert_true(queued(b) > 2000);
}

/* ---- identities ---- */

/* More of them than there is room for, within the grace; the returning one has its objects. */
static void many_identities(unsigned objects)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING, 1), *b = come(1, SIM__WORLD__ROLE__REGULATING, 2);
	const uint32_t number = b->connection;
	struct mem_stats full = { 0 }, after;

	for (unsigned i = 0; i < 3; i++)
		client_object(b, i, i, 0, now);
	for (unsigned i = 0; i < 2; i++)
		round_of(a, b);
	client_lose(b, now);
	for (unsigned i = 3; i < 250; i++) {
		struct client *c = come(2, SIM__WORLD__ROLE__REGULATING, (uint8_t)i);

		assert_true(c->welcome);
		for (unsigned k = 0; k < objects; k++)
			client_object(c, k, i, k, now);
		client_done(a, now);
		client_done(c, now);
		tick();
		client_receive(a, SIZE_MAX, now);
		client_lose(c, now);
		if (i == 120) /* the table is full */
			mem_stats(&full);
	}
	mem_stats(&after);
	assert_true(after.blocks < full.blocks + 50); /* a forgotten client costs nothing */
	b = come(1, SIM__WORLD__ROLE__REGULATING, 2);
	assert_true(b->welcome && b->again && b->connection == number);
	assert_true(info().objects <= 3 + objects * 2 * N_MAX);
}

TEST_WITH(endless_new_identities_lock_no_client_out, begin, end)
{
	many_identities(0);
}

TEST_WITH(endless_new_identities_with_an_object_lock_no_client_out, begin, end)
{
	many_identities(1);
	for (unsigned i = 2; i < N_MAX; i++)
		assert_true(come(i, SIM__WORLD__ROLE__OBSERVER, (uint8_t)(i + 1))->welcome);
}

/* As the server's loop does, once their Bye is sent. */
static void close_ended(struct session **s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (s[i] && session_ends(s[i])) {
			session_close(s[i], now);
			s[i] = NULL;
		}
}

TEST_WITH(a_connection_without_hello_takes_no_place, begin, end)
{
	struct session *silent[5 * N_MAX];
	unsigned waits = 0;

	for (unsigned i = 0; i < 5 * N_MAX; i++) {
		assert_int_equal(session_open(w, now, &silent[i]), 0);
		close_ended(silent, i);
		if (i % 5 == 4) /* meanwhile others come */
			assert_true(come(i / 5, SIM__WORLD__ROLE__OBSERVER, (uint8_t)(i / 5 + 1))->welcome);
		close_ended(silent, i);
	}
	for (unsigned i = 0; i < 5 * N_MAX; i++)
		if (silent[i]) {
			waits++;
			session_close(silent[i], now);
		}
	assert_in_range(waits, N_MAX - 1, N_MAX);
	assert_int_equal(info().clients, N_MAX);
	assert_int_equal(session_open(w, now, &silent[0]), -ENOSPC);
}

/* ---- a frame that is not whole ---- */

/* Bytes of a frame of 60000 that are sent until it ends, one lot every so often; the world has no ticks. */
static unsigned partial(size_t lot, int64_t every_dur_ns)
{
	static const uint8_t head[5] = { 0x60, 0xea, 0, 0, 100 };
	static const uint8_t zero[60000];
	struct client *c = come(2, SIM__WORLD__ROLE__OBSERVER, 3);
	unsigned sent = 0;

	client_send_bytes(c, head, sizeof(head), now);
	while (!session_ends(c->s) && sent < 59999) {
		lot = lot < 59999 - sent ? lot : 59999 - sent;
		client_send_bytes(c, zero, lot, now);
		sent += (unsigned)lot;
		now += every_dur_ns;
		tick();
	}
	client_receive(c, SIZE_MAX, now);
	assert_int_equal(c->bye, sent < 59999);
	if (c->bye)
		assert_int_equal(c->reason, SIM__WORLD__BYE__REASON__SLOW);
	else
		client_lose(c, now);
	return sent;
}

TEST_WITH(a_frame_that_never_ends_ends_its_sender, begin, end)
{
	assert_in_range(partial(1, 1000 * MS), 10, 11);        /* a byte a second */
	assert_in_range(partial(500, 1000 * MS), 9000, 11000); /* 10 s and half of the time that it took */
	assert_true(partial(1100, 1000 * MS) >= 59999);        /* slow, and honest */
	assert_true(partial(30000, 9000 * MS) >= 59999);       /* stopped, and continued */
}

TEST_WITH(the_time_limit_of_a_frame_starts_with_the_frame, begin, end)
{
	static const uint8_t begun[] = { 1, 0, 0 }, next[] = { 0, 100, 1, 0, 0 };
	struct client *c = come(2, SIM__WORLD__ROLE__OBSERVER, 3);

	client_send_bytes(c, begun, sizeof(begun), now);
	for (unsigned i = 0; i < 100; i++, now += 1000 * MS) {
		client_send_bytes(c, next, sizeof(next), now);
		tick();
	}
	assert_false(session_ends(c->s));
}
