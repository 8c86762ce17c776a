/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on a world, as far as no other test has them: the table is in README.md. Thread: the test's. */
#include "support/test.h"

#include "client.h"
#include "mem.h"

#define MS    INT64_C(1000000)
#define STEP  (10 * MS)
#define N_MAX 4

static struct world *w;
static int64_t now, blocks_before;
static struct client clients[N_MAX];

static const struct world_options usual = {
	.store = { .objects_max = 2000, .objects_each_max = 100, .section_mm = 100000, .step_dur_ns = STEP },
	.number = 1,
	.sessions_max = 300,
	.members_max = 600,
	.radius_mm = INT64_MAX,
	.grace_dur_ns = 1000 * MS,
	.ahead_dur_ns = 100 * MS,
};

static int64_t blocks(void)
{
	struct mem_stats m;

	mem_stats(&m);
	return m.blocks;
}

static int begin(void **state)
{
	(void)state;
	blocks_before = blocks();
	now = 1000 * MS;
	memset(clients, 0, sizeof(clients));
	return world_create(&usual, now, &w);
}

static int end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_MAX; i++)
		if (clients[i].s)
			client_lose(&clients[i], now);
	world_destroy(w);
	return blocks() != blocks_before;
}

static struct client *come(unsigned i)
{
	client_connect(&clients[i], w,
		       &(struct client_options){ .role = SIM__WORLD__ROLE__REGULATING, .identity = (uint8_t)(i + 1) },
		       now);
	client_receive(&clients[i], SIZE_MAX, now);
	return &clients[i];
}

static void turn(void)
{
	while (world_turn(w, now) <= now)
		;
	for (unsigned i = 0; i < N_MAX; i++)
		if (clients[i].s)
			client_receive(&clients[i], SIZE_MAX, now);
}

static void all_done(void)
{
	for (unsigned i = 0; i < N_MAX; i++)
		if (clients[i].s)
			client_done(&clients[i], now);
	turn();
}

static struct world_info info(void)
{
	struct world_info x;

	world_info(w, &x);
	return x;
}

#define ID(c, number) ((uint64_t)(c)->connection << 40 | (uint64_t)(number) << 16)

/* ---- before Hello ---- */

/* How many bytes a stranger is sent for these; they end it. */
static size_t answer_to(const void *bytes, size_t len)
{
	struct session *s;
	const void *out;
	size_t n;

	assert_int_equal(session_open(w, now, &s), 0);
	session_input(s, bytes, len, now);
	n = session_output(s, &out);
	assert_true(session_ends(s));
	session_close(s, now);
	return n;
}

TEST_WITH(before_hello_the_server_sends_nothing, begin, end)
{
	static const uint8_t beyond[] = { 1, 0x10, 0, 0, 32 }, huge[] = { 0xff, 0xff, 0xff, 0xff, 32 }, none[4] = { 0 };
	uint8_t frame[] = { 3, 0, 0, 0, 0, 0x08, 1 };

	for (unsigned code = 0; code < 256; code++) {
		frame[4] = (uint8_t)code;
		if (code == 32)
			frame[5] = 0x0b; /* a group: no protobuf of ours */
		assert_int_equal(answer_to(frame, sizeof(frame)), 0);
		frame[5] = 0x08;
	}
	assert_int_equal(answer_to(beyond, sizeof(beyond)), 0); /* 4097 bytes */
	assert_int_equal(answer_to(huge, sizeof(huge)), 0);
	assert_int_equal(answer_to(none, sizeof(none)), 0);
}

/* A byte now and then extends no deadline, nor does it take more memory than the frame may. */
TEST_WITH(an_incomplete_hello_gets_no_more_time, begin, end)
{
	static const uint8_t head[] = { 0, 0x10, 0, 0, 32 };
	struct mem_stats m;
	struct session *s;
	const void *out;
	int64_t before;

	assert_int_equal(session_open(w, now, &s), 0);
	session_input(s, head, sizeof(head), now);
	mem_stats(&m);
	before = m.bytes;
	for (unsigned i = 0; i < 49; i++) {
		now += 100 * MS;
		turn();
		session_input(s, "\x12", 1, now);
		assert_false(session_ends(s));
	}
	mem_stats(&m);
	assert_true(m.bytes - before <= 8192);
	now += 100 * MS;
	turn();
	assert_true(session_ends(s) && session_output(s, &out) == 0);
	session_close(s, now);
}

/* ---- lengths ---- */

/* A frame of a code that no version has: passed over, if it is not too long. */
static bool passes(struct client *c, uint32_t len)
{
	static uint8_t frame[FRAME_MAX_CLIENT + 5];

	for (unsigned i = 0; i < 4; i++)
		frame[i] = (uint8_t)(len >> 8 * i);
	frame[4] = 99;
	client_send_bytes(c, frame, len + 4, now);
	client_receive(c, SIZE_MAX, now);
	return !c->bye;
}

TEST_WITH(frames_have_a_maximum_length, begin, end)
{
	struct client *c = come(0);

	assert_true(passes(c, FRAME_MAX_CLIENT));
	assert_true(passes(c, 1));
	assert_false(passes(c, FRAME_MAX_CLIENT + 1));
	assert_int_equal(c->reason, SIM__WORLD__BYE__REASON__MALFORMED);
}

/* ---- other clients' objects ---- */

static void say_of(struct client *c, uint64_t id)
{
	Sim__World__Object m = SIM__WORLD__OBJECT__INIT;
	Sim__World__Vector at = SIM__WORLD__VECTOR__INIT;

	at.x = 77;
	m.id = id;
	m.time_sim_ns = c->time_sim_ns + c->step_dur_ns;
	m.position = &at;
	client_send(c, 2, &m.base, now);
}

TEST_WITH(ids_of_others_cannot_be_used, begin, end)
{
	struct client *a = come(0), *b = come(1);
	Sim__World__Ownership give = SIM__WORLD__OWNERSHIP__INIT;
	Sim__World__Gone gone = SIM__WORLD__GONE__INIT;
	Sim__World__Note note = SIM__WORLD__NOTE__INIT;

	turn();
	client_object(a, 0, 5, 0, now);
	all_done();
	say_of(b, ID(a, 0));                       /* it is there */
	say_of(b, ID(a, 1));                       /* it would be a's */
	say_of(b, ID(b, 0) + ((uint64_t)7 << 40)); /* a connection that does not exist */
	gone.id = give.id = note.from = ID(a, 0);
	give.connection = b->connection;
	note.number = 1;
	note.all = true;
	client_send(b, 36, &gone.base, now);
	client_send(b, 39, &give.base, now);
	client_send(b, 6, &note.base, now);
	all_done();
	all_done();
	assert_int_equal(info().objects, 1);
	assert_int_equal(client_find(a, ID(a, 0))->motion.v[0], 5000);
	assert_int_equal(client_find(a, ID(a, 0))->owner, a->connection);
	assert_int_equal(a->n_notes, 0);
	assert_true(info().counters.not_owner >= 3);
	assert_false(b->bye);
}

static struct client *come_with(unsigned i, const char *certificate)
{
	static const uint8_t hello[] = "\x19\0\0\0\x20\x08\x01\x12\x02me\x22\x10"
				       "0123456789abcdef";
	struct client *c = &clients[i];

	*c = (struct client){ .n_gone = 0 };
	frame_reader_init(&c->in, FRAME_MAX_SERVER);
	assert_int_equal(session_open(w, now, &c->s), 0);
	session_set_certificate(c->s, certificate);
	session_input(c->s, hello, sizeof(hello) - 1, now);
	client_receive(c, SIZE_MAX, now);
	assert_true(c->welcome);
	return c;
}

/* A client that knows another one's identity gets neither its number nor its objects. */
TEST_WITH(an_identity_belongs_to_its_certificate, begin, end)
{
	struct client *alice = come_with(0, "alice"), *mallory;
	uint32_t number = alice->connection;

	turn();
	client_object(alice, 0, 5, 0, now);
	all_done();
	mallory = come_with(1, "mallory");
	assert_int_not_equal(mallory->connection, number);
	assert_false(mallory->again || alice->bye);
	client_lose(alice, now);
	alice = come_with(0, "alice");
	assert_int_equal(alice->connection, number);
	assert_true(alice->again);
}

/* ---- floods ---- */

/* Of several updates of one object between two ticks the last one counts, and the others take no memory. */
TEST_WITH(a_flood_of_updates_takes_no_memory, begin, end)
{
	struct client *c = come(0);
	struct mem_stats m;
	int64_t before;

	turn();
	client_object(c, 0, 0, 0, now);
	mem_stats(&m);
	before = m.bytes;
	for (unsigned i = 1; i < 20000; i++) {
		c->time_sim_ns += 1000; /* each is later than the one before */
		client_object(c, 0, i, 0, now);
	}
	mem_stats(&m);
	assert_true(m.bytes - before < 65536);
	all_done();
	assert_int_equal(client_find(c, ID(c, 0))->motion.v[0], 19999000);
}

/* ---- slowness ---- */

/* So many steps of an honest client beside the others; returns the number of ticks. */
static uint64_t honest(unsigned steps, void (*others)(unsigned step))
{
	uint64_t before = info().tick;

	for (unsigned i = 0; i < steps; i++, now += STEP) {
		others(i);
		turn();
		client_done(&clients[0], now);
		turn();
	}
	return info().tick - before;
}

static void nobody(unsigned step)
{
	(void)step;
}

static struct {
	unsigned steps; /* that each of them stays for, the last one until it is dropped */
	bool promises;  /* says Done once */
} stay;

/*
 * Sends Hello, and Done once or never, under another name each time, and does so again when it is dropped, or
 * disconnects before that.
 */
static void comes_again(unsigned step)
{
	static uint16_t identity = 10;

	for (unsigned i = 1; i < N_MAX; i++) {
		struct client *c = &clients[i];

		if (c->s && (c->bye || (i < N_MAX - 1 && step % (stay.steps + 1) == i % (stay.steps + 1))))
			client_lose(c, now);
		if (c->s)
			continue;
		identity = identity < 60000 ? identity + 1 : 10;
		client_connect(c, w,
			       &(struct client_options){ .role = SIM__WORLD__ROLE__REGULATING, .identity = identity },
			       now);
		client_receive(c, SIZE_MAX, now);
		if (stay.promises)
			client_done(c, now);
		if (!stay.steps && i < N_MAX - 1)
			client_lose(c, now);
	}
}

static void end_others(void)
{
	for (unsigned i = 1; i < N_MAX; i++)
		if (clients[i].s)
			client_lose(&clients[i], now);
}

/* With other newcomers 0.3 s at once, and a fiftieth of the time. */
static void costs_a_share(bool promises)
{
	come(0);
	turn();
	stay.promises = promises;
	for (stay.steps = 0; stay.steps < 4; stay.steps++) {
		assert_true(honest(2000, comes_again) >= 2000 - 30 - 40 - 30);
		end_others();
		(void)honest(5000, nobody);
	}
}

TEST_WITH(a_client_that_never_sends_done_delays_by_a_bounded_share, begin, end)
{
	costs_a_share(false);
}

/* A client that connects after them, from any address, has nothing to earn. */
TEST_WITH(a_newcomer_does_not_pay_for_others, begin, end)
{
	come(0);
	turn();
	stay.promises = false;
	stay.steps = 3;
	(void)honest(2000, comes_again);
	end_others();
	client_done(come(1), now);
	for (unsigned i = 0; i < 10; i++, now += STEP) {
		turn();
		assert_int_equal(clients[1].role, SIM__WORLD__ROLE__REGULATING);
		all_done();
	}
}

TEST_WITH(a_client_that_sends_done_once_delays_by_a_bounded_share, begin, end)
{
	costs_a_share(true);
}

/* The client hung for a while, and gets its role back when it has kept pace for a second. */
TEST_WITH(a_client_that_was_slow_earns_its_role_again, begin, end)
{
	struct client *c;
	unsigned steps = 0;

	come(0);
	c = come(1);
	turn();
	while (!c->bye)
		(void)honest(1, nobody);
	client_lose(c, now);
	c = come(1);
	all_done();
	assert_int_equal(c->role, SIM__WORLD__ROLE__OBSERVER);
	for (; c->role != SIM__WORLD__ROLE__REGULATING && steps < 1000; steps++, now += STEP) {
		turn();
		all_done();
	}
	assert_in_range(steps, 100, 110);
}
