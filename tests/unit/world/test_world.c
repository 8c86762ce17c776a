/* SPDX-License-Identifier: Apache-2.0 */
/* world.h: clients that come, speak, fall silent, send noise and go, in virtual time. Thread: the test's. */
#include "support/test.h"

#include <errno.h>

#include "client.h"
#include "mem.h"
#include "rnd.h"

#define MS    INT64_C(1000000)
#define STEP  (10 * MS)
#define N_MAX 40

static struct world *w;
static int64_t now, blocks_before;
static struct client clients[N_MAX];
static char events[20000];

static void on_event(void *user, enum world_event what, uint32_t connection, const char *name, const char *sentence)
{
	size_t len = strlen(events);

	(void)user;
	snprintf(events + len, sizeof(events) - len, "%d %u %s: %s\n", what, connection, name, sentence);
}

static const struct world_options usual = {
	.store = { .objects_max = 2000, .objects_each_max = 100, .section_mm = 100000, .step_dur_ns = STEP },
	.number = 1,
	.sessions_max = N_MAX,
	.members_max = 2 * N_MAX,
	.radius_mm = INT64_MAX,
	.grace_dur_ns = 1000 * MS,
	.ahead_dur_ns = 100 * MS,
	.event = on_event,
};

static void begin_with(const struct world_options *o)
{
	struct mem_stats m;

	mem_stats(&m);
	blocks_before = m.blocks;
	now = 1000 * MS;
	*events = 0;
	memset(clients, 0, sizeof(clients));
	assert_int_equal(world_create(o, now, &w), 0);
}

static int begin(void **state)
{
	(void)state;
	begin_with(&usual);
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

static struct client *come_as(unsigned i, const struct client_options *o)
{
	client_connect(&clients[i], w, o, now);
	client_receive(&clients[i], SIZE_MAX, now);
	return &clients[i];
}

static struct client *come(unsigned i, Sim__World__Role role)
{
	return come_as(i, &(struct client_options){ .role = role, .identity = (uint8_t)(i + 1) });
}

/* Until nothing is due at this moment; everybody takes what there is. */
static int64_t turn(void)
{
	int64_t wake;

	while ((wake = world_turn(w, now)) <= now)
		;
	for (unsigned i = 0; i < N_MAX; i++)
		if (clients[i].s)
			client_receive(&clients[i], SIZE_MAX, now);
	return wake;
}

static void all_done(void)
{
	for (unsigned i = 0; i < N_MAX; i++)
		if (clients[i].s && clients[i].role != SIM__WORLD__ROLE__OBSERVER)
			client_done(&clients[i], now);
}

static struct world_info info(void)
{
	struct world_info x;

	world_info(w, &x);
	return x;
}

#define ID(c, number) ((uint64_t)(c)->connection << 40 | (uint64_t)(number) << 16)

TEST_WITH(every_client_sees_all_objects, begin, end)
{
	for (unsigned i = 0; i < 5; i++)
		assert_true(come(i, SIM__WORLD__ROLE__REGULATING)->welcome);
	for (unsigned t = 1; t <= 20; t++) {
		for (unsigned i = 0; i < 5; i++) {
			client_object(&clients[i], 0, i * 30.0 + t, 5, now);
			client_done(&clients[i], now);
		}
		turn();
		for (unsigned i = 0; i < 5; i++) {
			assert_int_equal(clients[i].tick, info().tick);
			assert_int_equal(client_hash(&clients[i]), info().hash);
			assert_int_equal(client_count(&clients[i]), 5);
			assert_int_equal(clients[i].n_stale, 0);
		}
	}
	assert_true(info().tick >= 20);
	assert_int_equal(client_find(&clients[0], ID(&clients[4], 0))->motion.v[0], 140000);
}

TEST_WITH(without_a_regulating_client_time_stands_still, begin, end)
{
	struct client *c = come(0, SIM__WORLD__ROLE__CONSTRAINED);

	assert_true(turn() > now);
	assert_int_equal(info().tick, 0);
	come(1, SIM__WORLD__ROLE__REGULATING);
	turn();
	assert_int_equal(c->tick, 1); /* and the first tick waits for nobody */
	turn();
	assert_int_equal(c->tick, 1);
	client_done(&clients[1], now);
	turn();
	assert_int_equal(c->tick, 2);
}

TEST_WITH(a_late_client_sees_the_same_world, begin, end)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING), *b;

	for (unsigned t = 0; t < 50; t++) {
		client_object(a, t % 10, t, 0, now);
		client_done(a, now);
		turn();
	}
	b = come(1, SIM__WORLD__ROLE__CONSTRAINED);
	assert_int_equal(b->tick, info().tick);
	client_object(a, 3, 1, 1, now);
	client_done(a, now);
	turn();
	assert_int_equal(client_hash(b), info().hash);
	assert_int_equal(client_count(b), 10);
}

TEST_WITH(a_client_that_leaves_takes_its_objects_along, begin, end)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING), *b = come(1, SIM__WORLD__ROLE__REGULATING);
	const uint64_t id = ID(b, 7);
	Sim__World__Bye bye = SIM__WORLD__BYE__INIT;

	client_object(b, 7, 0, 0, now);
	all_done();
	turn();
	all_done();
	turn();
	assert_non_null(client_find(a, id));
	client_send(b, 1, &bye.base, now);
	client_done(a, now);
	turn();
	assert_true(b->bye && b->reason == SIM__WORLD__BYE__REASON__DONE && !b->s);
	assert_true(a->n_gone == 1 && a->last_gone == id);
	assert_null(client_find(a, id));
	assert_int_equal(info().sessions, 1);
}

TEST_WITH(a_lost_client_returns_to_its_objects, begin, end)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING), *b = come(1, SIM__WORLD__ROLE__REGULATING);
	const uint32_t number = b->connection;
	const uint64_t id = ID(b, 7);

	client_object(b, 7, 0, 0, now);
	all_done();
	turn();
	client_lose(b, now);
	now += 900 * MS;
	client_done(a, now);
	turn();
	assert_non_null(client_find(a, id));
	b = come(1, SIM__WORLD__ROLE__REGULATING);
	assert_true(b->connection == number && b->again);
	now += 2000 * MS; /* the grace does not count any more */
	all_done();
	turn();
	client_object(b, 7, 5, 0, now);
	all_done();
	turn();
	assert_int_equal(client_find(a, id)->motion.v[0], 5000);
	client_lose(b, now);
	now += 1000 * MS;
	client_done(a, now);
	turn();
	assert_int_equal(a->n_gone, 1);
	b = come(1, SIM__WORLD__ROLE__REGULATING);
	assert_true(b->connection == number && !b->again);
	assert_true(come(2, SIM__WORLD__ROLE__OBSERVER)->connection > number);
}

TEST_WITH(a_second_connection_with_an_identity_replaces_the_first, begin, end)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING), *b;

	client_object(a, 0, 0, 0, now);
	client_done(a, now);
	turn();
	b = come_as(1, &(struct client_options){ .role = SIM__WORLD__ROLE__REGULATING, .identity = 1 });
	assert_true(b->connection == a->connection && b->again);
	turn();
	assert_true(a->bye && a->reason == SIM__WORLD__BYE__REASON__REPLACED);
	client_done(b, now);
	turn();
	assert_int_equal(client_count(b), 1);
}

TEST_WITH(a_stopped_client_is_demoted_and_removed_and_returns, begin, end)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING), *b = come(1, SIM__WORLD__ROLE__REGULATING);
	uint64_t stood;

	client_object(b, 0, 3, 0, now);
	all_done();
	turn();
	all_done();
	turn();
	stood = info().tick;
	for (unsigned i = 0; i < 29; i++, now += 10 * MS) {
		client_done(a, now);
		turn();
		assert_int_equal(info().tick, stood); /* b says nothing */
	}
	for (unsigned i = 0; i < 30; i++, now += 10 * MS) {
		client_done(a, now);
		turn();
	}
	assert_true(info().tick > stood + 10);
	assert_true(b->bye && b->reason == SIM__WORLD__BYE__REASON__SLOW);
	assert_non_null(strstr(b->sentence, "time has waited for it for 0.5"));
	assert_non_null(strstr(events, "goes on without it"));
	assert_int_equal(a->n_gone, 1);
	b = come(1, SIM__WORLD__ROLE__REGULATING);
	assert_true(b->welcome && !b->again);
	client_object(b, 1, 4, 0, now);
	for (unsigned i = 0; i < 3; i++) {
		all_done();
		turn();
	}
	assert_int_equal(client_hash(b), info().hash);
	assert_int_equal(client_count(b), 1);
}

TEST_WITH(an_object_can_be_given_to_another_client, begin, end)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING), *b = come(1, SIM__WORLD__ROLE__REGULATING);
	Sim__World__Ownership m = SIM__WORLD__OWNERSHIP__INIT;
	const uint64_t id = ID(a, 0);

	client_object(a, 0, 1, 1, now);
	for (int i = 0; i < 2; i++) {
		all_done();
		turn();
	}
	m.id = id;
	client_send(b, 38, &m.base, now);
	turn();
	assert_true(a->ownership.code == 38 && a->ownership.id == id && a->ownership.connection == b->connection);
	m.connection = b->connection;
	client_send(a, 39, &m.base, now);
	all_done();
	turn();
	assert_true(a->ownership.code == 39 && !a->ownership.refused && b->ownership.code == 39 &&
		    b->ownership.connection == b->connection);
	assert_int_equal(client_find(a, id)->owner, b->connection);
	client_send(a, 39, &m.base, now); /* it is not its own any more */
	turn();
	assert_true(a->ownership.refused);
	m.id = ID(a, 9);
	client_send(b, 38, &m.base, now); /* of nobody */
	turn();
	assert_true(b->ownership.code == 39 && b->ownership.refused);
}

TEST_WITH(messages_arrive_once_and_at_their_receivers, begin, end)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING), *b = come(1, SIM__WORLD__ROLE__REGULATING),
		      *far = come_as(2, &(struct client_options){
						.role = SIM__WORLD__ROLE__REGULATING, .identity = 3, .radius = 200 });
	Sim__World__Note m = SIM__WORLD__NOTE__INIT;

	client_object(a, 0, 0, 0, now);
	client_object(b, 0, 10, 0, now);
	client_object(far, 0, 5000, 0, now);
	for (int i = 0; i < 2; i++) {
		all_done();
		turn();
	}
	m.from = ID(a, 0);
	m.to = ID(b, 0);
	m.number = 1;
	client_send(a, 6, &m.base, now);
	client_send(a, 6, &m.base, now); /* the same number */
	turn();
	assert_true(b->n_notes == 1 && b->last_note_from == m.from && far->n_notes == 0 && a->n_notes == 0);
	m.to = 0;
	m.number = 2;
	client_send(a, 6, &m.base, now); /* those who see where it is */
	turn();
	assert_true(b->n_notes == 2 && far->n_notes == 0);
	m.all = true;
	m.number = 3;
	client_send(a, 6, &m.base, now);
	turn();
	assert_true(b->n_notes == 3 && far->n_notes == 1);
	m.from = ID(b, 0); /* not its own */
	m.number = 4;
	client_send(a, 6, &m.base, now);
	m.from = ID(a, 0);
	for (m.number = 5; m.number < 205; m.number++)
		client_send(a, 6, &m.base, now);
	turn();
	assert_int_equal(far->n_notes, 1 + 97); /* a hundred in a second, three of which were before */
	assert_int_equal(info().notes, 100);
	assert_int_equal(info().notes_lost, 1 + 1 + 103);
}

TEST_WITH(a_client_sees_the_objects_in_its_radius, begin, end)
{
	struct client *a = come_as(0, &(struct client_options){ .role = SIM__WORLD__ROLE__REGULATING,
								.identity = 1,
								.radius = 300 }),
		      *b = come(1, SIM__WORLD__ROLE__REGULATING);
	Sim__World__Vector at = SIM__WORLD__VECTOR__INIT, *centres[] = { &at };
	Sim__World__Interest m = SIM__WORLD__INTEREST__INIT;

	for (unsigned i = 0; i < 50; i++)
		client_object(b, i, i * 100.0 + 50, 0, now);
	client_object(a, 0, 0, 0, now);
	for (int i = 0; i < 2; i++) {
		all_done();
		turn();
	}
	assert_int_equal(client_count(a), 1 + 4); /* cells that begin at 0, 100, 200, 300 */
	assert_int_equal(client_count(b), 51);
	at.x = 2500;
	m.centre = centres;
	m.n_centre = 1;
	m.radius = 140;
	client_send(a, 42, &m.base, now);
	all_done();
	turn();
	assert_int_equal(client_count(a), 4); /* 2300, 2400, 2500, 2600 */
	assert_int_equal(a->n_leaves, 4);
}

TEST_WITH(stamps_from_the_future_are_refused_or_clamped, begin, end)
{
	struct world_options o = usual;
	struct client *c = come(0, SIM__WORLD__ROLE__REGULATING);

	for (int clamp = 0; clamp < 2; clamp++) {
		turn();
		c->time_sim_ns += 200 * MS;
		client_object(c, 0, 1, 0, now);
		c->time_sim_ns -= 200 * MS;
		client_done(c, now);
		turn();
		assert_int_equal(client_count(c), clamp);
		assert_int_equal(info().ahead, 1);
		if (clamp)
			break;
		end(NULL);
		o.clamp = true;
		begin_with(&o);
		c = come(0, SIM__WORLD__ROLE__REGULATING);
	}
	assert_int_equal(client_find(c, ID(c, 0))->motion.v[MOTION_TIME], 100 * 1000);
}

TEST_WITH(an_observer_owns_nothing, begin, end)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING), *b = come(1, SIM__WORLD__ROLE__OBSERVER);
	struct session_info si;

	turn();
	client_object(b, 0, 0, 0, now);
	client_done(a, now);
	turn();
	assert_int_equal(info().objects, 0);
	session_info(b->s, &si);
	assert_true(si.refused == 1 && si.updates == 0);
}

/* ---- what the operator reads ---- */

static unsigned lines(enum world_event what, const struct client *c, const char *sentence)
{
	unsigned n = 0;
	char line[128];

	snprintf(line, sizeof(line), "%d %u client: %s", what, c->connection, sentence);
	for (const char *at = events; (at = strstr(at, line)); at++)
		n += at == events || at[-1] == '\n';
	return n;
}

static void left(const struct client *c, const char *why)
{
	assert_int_equal(lines(WORLD_LEFT, c, why), 1);
	assert_int_equal(lines(WORLD_LEFT, c, ""), 1);
}

TEST_WITH(each_join_leave_and_demotion_is_logged, begin, end)
{
	Sim__World__Bye bye = SIM__WORLD__BYE__INIT;
	struct client before, *again;

	for (unsigned i = 0; i < 6; i++) {
		come(i, i && i < 5 ? SIM__WORLD__ROLE__OBSERVER : SIM__WORLD__ROLE__REGULATING);
		assert_int_equal(lines(WORLD_CAME, &clients[i], i && i < 5 ? "observer\n" : "regulating\n"), 1);
	}
	turn();
	bye.sentence = (char *)(uintptr_t) "";
	client_send(&clients[1], 1, &bye.base, now);
	left(&clients[1], "it has said Bye\n");
	before = clients[2];
	client_lose(&clients[2], now);
	left(&before, "its connection is lost\n");
	client_send_bytes(&clients[3], "\0\0\0\0", 5, now);
	left(&clients[3], "malformed frame");
	again = come_as(6, &(struct client_options){ .role = SIM__WORLD__ROLE__OBSERVER, .identity = 5 });
	assert_int_equal(again->connection, clients[4].connection);
	left(&clients[4], "its identity has connected again\n");
	for (unsigned t = 0; t < 60; t++, now += 10 * MS) {
		client_done(&clients[0], now);
		turn();
	}
	assert_int_equal(lines(WORLD_LATE, &clients[5], "time has waited for it"), 2);
	assert_non_null(strstr(events, "goes on without it: it is an observer now\n"));
	left(&clients[5], "time has waited for it");
	assert_int_equal(lines(WORLD_CAME, again, ""), 2);
	world_stop(w);
	turn();
	left(&clients[0], "the server stops\n");
	assert_int_equal(lines(WORLD_LEFT, again, "the server stops\n"), 1);
}

/* ---- those who mean harm ---- */

TEST_WITH(noise_is_ignored_and_does_no_harm, begin, end)
{
	struct client *a = come(0, SIM__WORLD__ROLE__REGULATING);
	struct rnd r;

	rnd_seed(&r, 7);
	client_object(a, 0, 0, 0, now);
	for (unsigned i = 0; i < 500; i++) {
		uint8_t noise[1024];
		struct session *s;
		const void *out;

		for (unsigned k = 0; k < sizeof(noise); k++)
			noise[k] = (uint8_t)rnd_u64(&r);
		assert_int_equal(session_open(w, now, &s), 0);
		session_input(s, noise, sizeof(noise), now);
		assert_true(session_ends(s));
		assert_int_equal(session_output(s, &out), 0);
		session_close(s, now);
	}
	client_done(a, now);
	turn();
	client_done(a, now);
	turn();
	assert_int_equal(client_count(a), 1);
	assert_int_equal(info().sessions, 1);
}

TEST_WITH(a_malformed_message_ends_only_its_sender, begin, end)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
#define BYTES(b) { b, sizeof(b) - 1 }
		BYTES("\0\0\0\0"),
		BYTES("\xff\xff\xff\x7f"),
		BYTES("\x02\0\0\0\x20\x08"),                                         /* a second Hello */
		BYTES("\x02\0\0\0\x23\x08"),                                         /* Done that is no protobuf */
		BYTES("\x03\0\0\0\x23\x08\x63"),                                     /* of tick 99 */
		BYTES("\x02\0\0\0\x02\x0b"),                                         /* an object with a group */
		BYTES("\x01\0\0\0\x02"),                                             /* without an id */
		BYTES("\x04\0\0\0\x02\x3a\x01\x08"),                                 /* whose body is invalid */
		BYTES("\x0f\0\0\0\x02\x08\x01\x1a\x09\x09\0\0\0\0\0\0\xf0\x7f\x10"), /* at infinity */
		BYTES("\x0a\0\0\0\x2a\x11\0\0\0\0\0\0\xf8\x7f"),                     /* interest of not-a-number */
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct client *c = come(1 + i, SIM__WORLD__ROLE__REGULATING);

		turn();
		client_send_bytes(c, bad[i].bytes, bad[i].len, now);
		turn();
		if (!c->bye || c->reason != SIM__WORLD__BYE__REASON__MALFORMED)
			fail_msg("%u: %d %s", i, c->bye, c->sentence);
	}
	assert_int_equal(info().sessions, 0);
}

TEST_WITH(an_invalid_hello_is_refused, begin, end)
{
	static const struct client_options bad[] = { { .name = "\n" },       { .name = "" }, { .role = 9 },
						     { .lookahead_ns = -1 }, { .level = 5 }, { .radius = -1 },
						     { .radius = 1e300 } };
	struct world_options o = usual;
	struct client *c;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c = come_as(i, &bad[i]);
		assert_true(c->bye && !c->welcome && c->reason == SIM__WORLD__BYE__REASON__MALFORMED);
	}
	end(NULL);
	o.token = "secret";
	begin_with(&o);
	for (unsigned i = 0; i < 3; i++) {
		c = come_as(i, &(struct client_options){ .token = i ? i == 1 ? "secreT" : "secret0" : NULL });
		assert_true(c->bye && c->reason == SIM__WORLD__BYE__REASON__REFUSED);
	}
	assert_true(come_as(3, &(struct client_options){ .token = "secret" })->welcome);
	assert_null(strstr(events, "secret"));
}

TEST_WITH(a_silent_connection_is_closed, begin, end)
{
	struct session *s;
	const void *out;

	assert_int_equal(session_open(w, now, &s), 0);
	assert_int_equal(turn(), now + 5000 * MS);
	now += 5000 * MS;
	turn();
	assert_true(session_ends(s) && session_output(s, &out) == 0);
	session_close(s, now);
}

TEST_WITH(the_number_of_clients_is_limited, begin, end)
{
	struct session *s;

	for (unsigned i = 0; i < N_MAX; i++)
		come(i, SIM__WORLD__ROLE__OBSERVER);
	assert_int_equal(session_open(w, now, &s), -ENOSPC);
	for (unsigned round = 0; round < 10; round++)
		for (unsigned i = 0; i < N_MAX; i++) {
			client_lose(&clients[i], now);
			now += 2000 * MS;
			turn();
			come_as(i, &(struct client_options){ .role = SIM__WORLD__ROLE__OBSERVER,
							     .identity = (uint8_t)(round * N_MAX + i) });
			assert_true(clients[i].welcome);
		}
}

TEST_WITH(a_client_that_does_not_read_gets_no_ticks_and_is_then_removed, begin, end)
{
	struct world_options o = usual;
	struct client *a, *b;
	struct session_info si;
	uint64_t seen;

	end(NULL);
	o.queue_soft = 20000;
	o.queue_hard = 1000000;
	begin_with(&o);
	a = come(0, SIM__WORLD__ROLE__REGULATING);
	b = come(1, SIM__WORLD__ROLE__CONSTRAINED);
	for (unsigned t = 0; t < 200; t++) {
		for (unsigned i = 0; i < 100; i++)
			client_object(a, i, i + t * 1.5, t % 7, now);
		client_done(a, now);
		while (world_turn(w, now) <= now)
			;
		client_receive(a, SIZE_MAX, now);
	}
	session_info(b->s, &si);
	assert_true(si.skipped > 100 && si.queued < 2 * o.queue_soft);
	seen = si.ticks;
	while (client_receive(b, SIZE_MAX, now))
		;
	client_object(a, 0, 1, 1, now);
	client_done(a, now);
	turn();
	assert_int_equal(client_hash(b),
			 info().hash); /* it has the newest state at once, against a tick of long ago or none */
	session_info(b->s, &si);
	assert_int_equal(si.ticks, seen + 1);
	for (unsigned t = 0; t < 1100; t++, now += 10 * MS) {
		for (unsigned i = 0; i < 100; i++)
			client_object(a, i, i + t * 1.5, t % 7, now);
		client_done(a, now);
		while (world_turn(w, now) <= now)
			;
		client_receive(a, SIZE_MAX, now);
	}
	client_receive(b, SIZE_MAX, now);
	assert_true(b->bye && b->reason == SIM__WORLD__BYE__REASON__SLOW && strstr(b->sentence, "does not read"));
}

/* ---- everything at once ---- */

static void act(unsigned i, struct rnd *r)
{
	static const Sim__World__Role roles[] = { SIM__WORLD__ROLE__REGULATING, SIM__WORLD__ROLE__REGULATING,
						  SIM__WORLD__ROLE__CONSTRAINED, SIM__WORLD__ROLE__OBSERVER };
	struct client *c = &clients[i];
	Sim__World__Again again = SIM__WORLD__AGAIN__INIT;
	Sim__World__Bye bye = SIM__WORLD__BYE__INIT;

	if (!c->s) {
		if (!rnd_below(r, 10))
			client_connect(c, w,
				       &(struct client_options){ .role = roles[rnd_below(r, 4)],
								 .identity = (uint8_t)(1 + i % 20) },
				       now);
		return;
	}
	client_receive(c, rnd_below(r, 3) ? SIZE_MAX : rnd_below(r, 2000), now);
	if (!c->s || !c->welcome)
		return;
	switch (rnd_below(r, 40)) {
	case 0:
		client_lose(c, now);
		return;
	case 1:
		client_send(c, 1, &bye.base, now);
		return;
	case 2:
		again.all = true;
		client_send(c, 41, &again.base, now);
		return;
	default:
		break;
	}
	if (c->role != SIM__WORLD__ROLE__OBSERVER)
		for (unsigned k = rnd_below(r, 4); k; k--)
			client_object(c, rnd_below(r, 8), rnd_below(r, 2000), rnd_below(r, 500), now);
	if (rnd_below(r, 20))
		client_done(c, now);
}

/* Whatever the clients do: one that has received a tick completely has the world of that tick. */
TEST(a_random_crowd_sees_one_world)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct world_options o = usual;
		uint64_t hashes[4096] = { 0 };
		unsigned agreed = 0;
		struct rnd r;

		rnd_seed(&r, seed);
		o.barrier.pace_permille = seed % 2 ? 1000 : 0;
		o.barrier.dilate = seed % 3 == 0;
		begin_with(&o);
		for (unsigned step = 0; step < 600; step++) {
			now += rnd_below(&r, 12) * MS;
			for (unsigned i = 0; i < 12; i++)
				act(rnd_below(&r, N_MAX), &r);
			while (world_turn(w, now) <= now)
				hashes[info().tick % 4096] = info().hash;
			hashes[info().tick % 4096] = info().hash;
			for (unsigned i = 0; i < N_MAX; i++) {
				const void *out;

				if (!clients[i].s || session_output(clients[i].s, &out) || !clients[i].n_sections)
					continue;
				assert_int_equal(client_hash(&clients[i]), hashes[clients[i].tick % 4096]);
				assert_int_equal(clients[i].n_stale, 0);
				agreed++;
			}
		}
		assert_true(agreed > 50 && info().tick > 20);
		assert_int_equal(end(NULL), 0);
	}
}
