/* SPDX-License-Identifier: Apache-2.0 */
/* side.h against the server's core (tools/world/world.h), in memory and in virtual time. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "err.h"
#include "mem.h"
#include "rnd.h"
#include "tools/world/world.h"
#include "wire/world.pb-c.h"
#include "world/side.h"

#define MS    INT64_C(1000000)
#define STEP  (10 * MS)
#define N_MAX 4u

struct host {
	struct side *side;
	struct session *s; /* NULL: not connected */
	struct side_event last[SIDE_ENDED + 1];
	unsigned n[SIDE_ENDED + 1];
	char sentence[256], payload[SIDE_NOTE_MAX];
	size_t bytes_out;
	unsigned enters, updates, leaves;
};

static struct world *w;
static int64_t now, blocks_before;
static struct host hosts[N_MAX];
static uint64_t world_number;

static int begin(void **state)
{
	struct mem_stats m;

	(void)state;
	mem_stats(&m);
	blocks_before = m.blocks;
	now = 1000 * MS;
	memset(hosts, 0, sizeof(hosts));
	world_number = 0;
	return 0;
}

static void start(int64_t grace_dur_ns)
{
	const struct world_options o = {
		.store = { .objects_max = 2000, .objects_each_max = 100, .section_mm = 100000, .step_dur_ns = STEP },
		.number = ++world_number,
		.sessions_max = N_MAX,
		.members_max = 2 * N_MAX,
		.radius_mm = INT64_MAX,
		.grace_dur_ns = grace_dur_ns,
		.ahead_dur_ns = 100 * MS,
	};

	assert_int_equal(world_create(&o, now, &w), 0);
}

static void lose(struct host *h)
{
	session_close(h->s, now);
	h->s = NULL;
	side_end(h->side);
}

static void stop(void)
{
	for (unsigned i = 0; i < N_MAX; i++)
		if (hosts[i].s)
			lose(&hosts[i]);
	world_destroy(w);
	w = NULL;
}

static int end(void **state)
{
	struct mem_stats m;

	(void)state;
	stop();
	for (unsigned i = 0; i < N_MAX; i++)
		side_destroy(hosts[i].side);
	mem_stats(&m);
	return m.blocks != blocks_before;
}

/* ---- between a host and the server ---- */

static void note_event(struct host *h, const struct side_event *e)
{
	h->n[e->kind]++;
	h->last[e->kind] = *e;
	if (e->sentence)
		snprintf(h->sentence, sizeof(h->sentence), "%s", e->sentence);
	if (e->payload)
		memcpy(h->payload, e->payload, e->len);
	for (size_t i = 0; i < e->n_changes; i++) {
		h->enters += e->changes[i].change == REMOTE_ENTERED;
		h->updates += e->changes[i].change == REMOTE_UPDATED;
		h->leaves += e->changes[i].change == REMOTE_LEFT;
	}
}

static void take(struct host *h)
{
	struct side_event e;
	const void *data;
	uint8_t *room;
	size_t n, size;
	int r;

	while (h->s && (n = session_output(h->s, &data))) {
		assert_int_equal(side_room(h->side, &room, &size), 0);
		n = n < size ? n : size;
		memcpy(room, data, n);
		session_sent(h->s, n);
		side_add(h->side, n, now);
		while ((r = side_next(h->side, &e)) == 1)
			note_event(h, &e);
		assert_int_equal(r, 0);
	}
	if (h->s && session_ends(h->s))
		lose(h);
}

static void give(struct host *h)
{
	const void *data;
	size_t n;

	while (h->s && (n = side_output(h->side, &data))) {
		session_input(h->s, data, n, now);
		side_sent(h->side, n);
		h->bytes_out += n;
	}
}

/* Until neither side sends anything more. */
static void turn(void)
{
	for (unsigned i = 0; i < N_MAX; i++)
		give(&hosts[i]);
	while (world_turn(w, now) <= now)
		;
	for (unsigned i = 0; i < N_MAX; i++)
		take(&hosts[i]);
	for (unsigned i = 0; i < N_MAX; i++)
		give(&hosts[i]);
	for (unsigned i = 0; i < N_MAX; i++)
		take(&hosts[i]);
}

static void dial(struct host *h)
{
	assert_int_equal(session_open(w, now, &h->s), 0);
	assert_int_equal(side_begin(h->side), 0);
	turn();
}

static struct host *come(unsigned i, enum side_role role)
{
	struct side_options o = { .name = "host", .role = role, .identity = { (uint8_t)(i + 1) }, .history = 4 };

	o.own_codes[2] = 1; /* 144 */
	assert_int_equal(side_create(&o, &hosts[i].side), 0);
	dial(&hosts[i]);
	assert_true(side_is_in(hosts[i].side));
	return &hosts[i];
}

static struct side_object car(const struct host *h, uint64_t id, double x)
{
	const struct side_tick *t = side_tick(h->side);

	return (struct side_object){ .id = id,
				     .code = 2,
				     .motion = { .position = { x, 5, 0 }, .time_sim_ns = t->time_sim_ns + STEP } };
}

static int put(struct host *h, uint64_t id, double x)
{
	struct side_object o = car(h, id, x);

	return side_put(h->side, &o);
}

/* Everybody promises, and the tick comes. */
static void step(void)
{
	for (unsigned i = 0; i < N_MAX; i++)
		if (hosts[i].s)
			assert_int_equal(side_done(hosts[i].side, side_tick(hosts[i].side)->tick, now), 0);
	now += STEP;
	turn();
}

static const struct remote *seen(const struct host *h, uint64_t id)
{
	return remotes_find(side_remotes(h->side), id);
}

static uint64_t world_hash(void)
{
	struct world_info x;

	world_info(w, &x);
	return x.hash;
}

/* ---- objects ---- */

TEST_WITH(hosts_see_each_other, begin, end)
{
	struct host *a, *b;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	assert_int_equal(a->n[SIDE_WELCOME], 1);
	for (int t = 1; t <= 10; t++) {
		assert_int_equal(put(a, 0, t), 0);
		assert_int_equal(put(b, 0, -t), 0);
		step();
		assert_int_equal(side_tick(a->side)->tick, t + 1); /* the first came with the first host */
		assert_int_equal(a->n[SIDE_TICK], t + 1);
		assert_int_equal(remotes_hash(side_remotes(a->side)), world_hash());
		assert_int_equal(remotes_hash(side_remotes(b->side)), world_hash());
	}
	assert_int_equal(a->enters, 2);
	assert_int_equal(a->updates, 18);
	assert_non_null(seen(a, side_id(b->side, 0)));
	assert_int_equal(seen(a, side_id(b->side, 0))->motion.v[0], -10000);
	assert_int_equal(seen(a, side_id(b->side, 0))->owner, side_connection(b->side));
	assert_int_equal(side_remove(b->side, 0), 0);
	assert_int_equal(side_id(b->side, 0) != 0, true);
	step();
	assert_int_equal(a->leaves, 1);
	assert_int_equal(a->n[SIDE_GONE], 1);
	assert_int_equal(side_remove(b->side, 0), -ENOENT);
}

/* With one stamp, as a host that changes its mind before it promises. */
TEST_WITH(of_two_puts_in_a_tick_the_last_counts, begin, end)
{
	struct host *a, *b;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	assert_int_equal(put(a, 0, 1), 0);
	step();
	assert_int_equal(put(a, 0, 7), 0);
	assert_int_equal(put(a, 0, 8), 0);
	step();
	assert_int_equal(seen(b, side_id(a->side, 0))->motion.v[MOTION_POSITION], 8000);
	assert_int_equal(put(a, 1, 3), 0); /* and of one that is new */
	assert_int_equal(put(a, 1, 4), 0);
	step();
	assert_int_equal(seen(b, side_id(a->side, 1))->motion.v[MOTION_POSITION], 4000);
}

TEST_WITH(every_put_object_arrives, begin, end)
{
	const struct motion_real m = { .position = { 1, -2, 3.5 },
				       .rotation = { 0.5, -0.5, 0.5, -0.5 },
				       .velocity = { 4, 5, -6 },
				       .spin = { 0.1, -0.2, 0.3 } };
	struct side_object o = { .id = 0, .code = 19, .motion = m };
	struct motion_real real;
	struct host *a;

	start(0);
	a = come(0, SIDE_REGULATING);
	o.motion.time_sim_ns = side_tick(a->side)->time_sim_ns + STEP;
	assert_int_equal(side_put(a->side, &o), 0);
	step();
	assert_int_equal(seen(a, side_id(a->side, 0))->code, 19);
	real = seen(a, side_id(a->side, 0))->states[0];
	assert_memory_equal(real.position, m.position, sizeof(m.position));
	assert_memory_equal(real.velocity, m.velocity, sizeof(m.velocity));
	for (int i = 0; i < 4; i++)
		assert_true(fabs(real.rotation[i] - m.rotation[i]) < 1e-6);
	for (int i = 0; i < 3; i++)
		assert_true(fabs(real.spin[i] - m.spin[i]) < 1e-4);
	assert_int_equal(real.time_sim_ns, o.motion.time_sim_ns);
}

TEST_WITH(a_number_put_again_after_removal_is_another_object, begin, end)
{
	struct host *a;
	uint64_t first;

	start(0);
	a = come(0, SIDE_REGULATING);
	assert_int_equal(put(a, 3, 1), 0);
	first = side_id(a->side, 3);
	step();
	assert_non_null(seen(a, first));
	assert_int_equal(side_remove(a->side, 3), 0);
	assert_int_equal(put(a, 3, 2), 0);
	step();
	assert_int_equal(side_id(a->side, 3), first + 1);
	assert_null(seen(a, first));
	assert_non_null(seen(a, first + 1));
	assert_int_equal(put(a, first, 3), -EPERM); /* a removed object is not found under its full id either */
}

/* ---- a connection that is lost ---- */

TEST_WITH(a_reconnect_within_the_grace_period_keeps_all_objects, begin, end)
{
	struct host *a, *b;
	uint64_t id;

	start(1000 * MS);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	assert_int_equal(put(a, 0, 1), 0);
	assert_int_equal(put(a, 1, 2), 0);
	step();
	id = side_id(a->side, 0);
	lose(a);
	step();
	assert_int_equal(side_put(a->side,
				  &(struct side_object){ .id = 0,
							 .code = 2,
							 .motion = { .position = { 9 }, .time_sim_ns = 5 * STEP } }),
			 0);                          /* kept */
	assert_int_equal(side_remove(a->side, 1), 0); /* said when it is back */
	assert_int_equal(side_done(a->side, side_tick(a->side)->tick, now), -ENOTCONN);
	assert_non_null(seen(b, id));
	dial(a);
	assert_int_equal(a->n[SIDE_WELCOME], 2);
	assert_true(a->last[SIDE_WELCOME].again);
	step();
	assert_int_equal(side_id(a->side, 0), id);
	assert_int_equal(seen(b, id)->motion.v[0], 9000);
	assert_int_equal(b->leaves, 1);
	assert_int_equal(b->enters, 2);
	assert_int_equal(remotes_hash(side_remotes(a->side)), world_hash());
	assert_int_equal(remotes_hash(side_remotes(b->side)), world_hash());
}

TEST_WITH(after_the_grace_period_objects_are_created_again, begin, end)
{
	struct host *a, *b;
	uint64_t id;

	start(50 * MS);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	assert_int_equal(put(a, 0, 1), 0);
	step();
	id = side_id(a->side, 0);
	lose(a);
	for (int i = 0; i < 10; i++)
		step();
	assert_null(seen(b, id));
	dial(a);
	assert_false(a->last[SIDE_WELCOME].again);
	step();
	assert_int_equal(side_id(a->side, 0), id + 1);
	assert_non_null(seen(b, id + 1));
	assert_int_equal(seen(b, id + 1)->motion.v[0], 1000);
}

/* As another process does: it knows nothing of the one before it but its identity. */
static void forget(struct host *h)
{
	const struct side_options o = { .name = "later", .role = SIDE_REGULATING, .identity = { 1 }, .history = 4 };

	lose(h);
	side_destroy(h->side);
	memset(h, 0, sizeof(*h));
	assert_int_equal(side_create(&o, &h->side), 0);
}

TEST_WITH(a_new_process_replaces_its_predecessor, begin, end)
{
	struct host *a, *b;
	uint64_t id;

	start(1000 * MS);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(put(a, i, i), 0);
	step();
	assert_int_equal(side_remove(a->side, 0), 0);
	step();
	assert_int_equal(put(a, 0, 7), 0);
	step();
	id = side_id(a->side, 0);
	forget(a);
	dial(a);
	assert_true(a->last[SIDE_WELCOME].again);
	assert_int_equal(put(a, 0, 50), 0);
	assert_int_equal(put(a, 5, 55), 0);
	step();
	step();
	assert_int_equal(side_id(a->side, 0), id + 1);
	assert_non_null(seen(b, id + 1));
	assert_int_equal(seen(b, id + 1)->motion.v[0], 50000);
	assert_non_null(seen(b, side_id(a->side, 5)));
	assert_int_equal(remotes_count(side_remotes(b->side)), 2);
	assert_int_equal(remotes_hash(side_remotes(b->side)), world_hash());
}

TEST_WITH(another_run_of_the_server_gets_everything_again, begin, end)
{
	static const uint8_t body[] = { 0x0a, 1, 'm' };
	struct side_object o;
	struct host *a, *b;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_CONSTRAINED);
	o = car(a, 0, 7);
	o.body = body;
	o.len = sizeof(body);
	assert_int_equal(side_put(a->side, &o), 0);
	for (int i = 0; i < 5; i++)
		step();
	stop();
	start(0);
	dial(b);
	dial(a);
	assert_int_equal(side_tick(a->side)->tick, 1);
	step();
	assert_int_equal(side_tick(b->side)->tick, 2);
	assert_int_equal(remotes_count(side_remotes(b->side)), 1);
	assert_non_null(seen(b, side_id(a->side, 0)));
	assert_int_equal(seen(b, side_id(a->side, 0))->body->len, sizeof(body));
	assert_int_equal(remotes_hash(side_remotes(b->side)), world_hash());
}

/* ---- data that is sent ---- */

TEST_WITH(an_unchanged_body_is_not_sent_again, begin, end)
{
	uint8_t body[1002] = { 0x0a, 0xe7, 0x07 };
	struct side_object o;
	struct host *a;
	size_t first, before;

	start(0);
	a = come(0, SIDE_REGULATING);
	o = car(a, 0, 1);
	o.body = body;
	o.len = sizeof(body);
	before = a->bytes_out;
	assert_int_equal(side_put(a->side, &o), 0);
	step();
	first = a->bytes_out - before;
	assert_true(first > sizeof(body));
	o.motion.time_sim_ns += STEP;
	assert_int_equal(side_put(a->side, &o), 0);
	step();
	assert_true(a->bytes_out - before - first < 200);
	body[500] = 1;
	o.motion.time_sim_ns += STEP;
	assert_int_equal(side_put(a->side, &o), 0);
	step();
	assert_int_equal(seen(a, side_id(a->side, 0))->body->data[500], 1);
	o.body = NULL;
	o.motion.time_sim_ns += STEP;
	assert_int_equal(side_put(a->side, &o), 0);
	step();
	assert_int_equal(seen(a, side_id(a->side, 0))->body->len, sizeof(body));
}

TEST_WITH(invalid_calls_are_refused_with_the_reason, begin, end)
{
	static uint8_t long_body[32769] = { 0x0a, 0xfd, 0xff, 1 };
	struct host *a, *b;
	struct side_object o;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_OBSERVER);
	assert_int_equal(put(b, 0, 1), -EPERM);
	assert_int_equal(put(a, 100, 1), -ERANGE); /* objects_each_max */
	assert_int_equal(put(a, 0, NAN), -EINVAL);
	assert_int_equal(put(a, 0, 1e12), -ERANGE);
	assert_int_equal(put(a, (uint64_t)99 << 40, 1), -EPERM);
	o = car(a, 0, 1);
	o.code = 33;
	assert_int_equal(side_put(a->side, &o), -EINVAL);
	o.code = 145; /* not said in own_codes */
	assert_int_equal(side_put(a->side, &o), -EINVAL);
	o.code = 144;
	assert_int_equal(side_put(a->side, &o), 0);
	o.body = "\xff";
	o.len = 1;
	assert_int_equal(side_put(a->side, &o), -EBADMSG);
	o.body = long_body;
	o.len = sizeof(long_body);
	assert_int_equal(side_put(a->side, &o), -E2BIG);
	assert_true(strstr(err_why(), "32768") != NULL);
	assert_int_equal(side_note(a->side, 0, 0, true, 0, long_body, SIDE_NOTE_MAX + 1), -EMSGSIZE);
	assert_int_equal(side_interest(a->side, NULL, 9, 0), -EINVAL);
	step(); /* and the server has nothing to say against any of it */
	assert_true(side_is_in(a->side));
	assert_non_null(seen(b, side_id(a->side, 0)));
}

TEST_WITH(output_to_a_server_that_does_not_read_is_bounded, begin, end)
{
	uint8_t body[30000] = { 0x0a, 0xac, 0xea, 1 };
	struct side_object o;
	struct host *a;
	int r = 0;

	start(0);
	a = come(0, SIDE_REGULATING);
	for (int i = 0; r == 0 && i < 1000; i++) {
		o = car(a, 0, i);
		body[100] = (uint8_t)i;
		o.body = body;
		o.len = sizeof(body);
		r = side_put(a->side, &o);
	}
	assert_int_equal(r, -EAGAIN);
	turn();
	assert_int_equal(put(a, 0, 1), 0);
}

TEST_WITH(notes_reach_their_receivers, begin, end)
{
	struct host *a, *b;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	assert_int_equal(put(a, 0, 1), 0);
	assert_int_equal(put(b, 0, 2), 0);
	step();
	assert_int_equal(side_note(a->side, 0, side_id(b->side, 0), false, 77, "hello", 5), 0);
	step();
	assert_int_equal(b->n[SIDE_NOTE], 1);
	assert_int_equal(b->last[SIDE_NOTE].from, side_id(a->side, 0));
	assert_int_equal(b->last[SIDE_NOTE].time_sim_ns, 77);
	assert_int_equal(b->last[SIDE_NOTE].len, 5);
	assert_memory_equal(b->payload, "hello", 5);
	assert_int_equal(side_note(a->side, 0, 0, true, 78, "all", 3), 0);
	step();
	assert_int_equal(b->n[SIDE_NOTE], 2);
}

/* ---- ownership ---- */

TEST_WITH(an_object_is_given_on_request_and_returned, begin, end)
{
	struct host *a, *b;
	uint64_t id;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	assert_int_equal(put(a, 0, 1), 0);
	step();
	id = side_id(a->side, 0);
	assert_int_equal(put(b, id, 5), -EPERM);
	assert_int_equal(side_ownership(b->side, id, false, 0, false), 0);
	turn();
	assert_int_equal(a->n[SIDE_WANTED], 1);
	assert_int_equal(a->last[SIDE_WANTED].id, id);
	assert_int_equal(a->last[SIDE_WANTED].connection, side_connection(b->side));
	assert_int_equal(side_ownership(a->side, 0, true, side_connection(b->side), false), 0);
	step();
	assert_int_equal(b->n[SIDE_OWNER], 1);
	assert_int_equal(put(b, id, 50), 0);
	step();
	assert_int_equal(seen(a, id)->motion.v[0], 50000);
	assert_int_equal(seen(a, id)->owner, side_connection(b->side));
	assert_int_equal(side_ownership(b->side, id, true, side_connection(a->side), false), 0);
	step();
	assert_int_equal(put(b, id, 51), -EPERM);
	assert_int_equal(put(a, 0, 60), 0);
	step();
	assert_int_equal(side_id(a->side, 0), id);
	assert_int_equal(seen(b, id)->motion.v[0], 60000);
}

TEST_WITH(a_refused_request_is_answered, begin, end)
{
	struct host *a, *b;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	assert_int_equal(put(a, 0, 1), 0);
	step();
	assert_int_equal(side_ownership(b->side, side_id(a->side, 0), false, 0, false), 0);
	turn();
	assert_int_equal(side_ownership(a->side, 0, true, side_connection(b->side), true), 0);
	step();
	assert_int_equal(b->n[SIDE_OWNER], 1);
	assert_true(b->last[SIDE_OWNER].refused);
	assert_int_equal(put(b, side_id(a->side, 0), 2), -EPERM);
}

TEST_WITH(the_number_of_a_given_away_object_stays_in_use, begin, end)
{
	struct host *a, *b;
	uint64_t id;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	assert_int_equal(put(a, 0, 1), 0);
	step();
	id = side_id(a->side, 0);
	assert_int_equal(side_ownership(a->side, 0, true, side_connection(b->side), false), 0);
	step();
	assert_int_equal(put(a, 0, 2), -EBUSY);
	assert_int_equal(side_remove(b->side, id), 0);
	step();
	assert_int_equal(put(a, 0, 2), 0);
	step();
	assert_null(seen(b, id));
	assert_non_null(seen(b, id + 1));
}

/* ---- interest ---- */

TEST_WITH(the_interest_is_sent_again_after_a_reconnect, begin, end)
{
	static const double far[1][3] = { { 100000, 0, 0 } };
	struct host *a, *b;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_OBSERVER);
	assert_int_equal(put(a, 0, 0), 0);
	step();
	assert_non_null(seen(b, side_id(a->side, 0)));
	assert_int_equal(side_interest(b->side, far, 1, 1000), 0);
	step();
	assert_null(seen(b, side_id(a->side, 0)));
	assert_int_equal(b->leaves, 1);
	lose(b);
	dial(b);
	step();
	assert_null(seen(b, side_id(a->side, 0)));
	assert_int_equal(b->enters, 1);
}

/* ---- another program as server, or a hostile one ---- */

static int feed(struct side *s, const void *data, size_t len)
{
	struct side_event e;
	uint8_t *room;
	size_t size;
	int r = 0;

	for (size_t at = 0; at < len && r >= 0;) {
		size_t n = len - at;

		assert_int_equal(side_room(s, &room, &size), 0);
		n = n < size ? n : size;
		memcpy(room, (const uint8_t *)data + at, n);
		side_add(s, n, now);
		at += n;
		while ((r = side_next(s, &e)) == 1)
			;
	}
	return r;
}

TEST_WITH(a_server_of_another_protocol_is_reported, begin, end)
{
	static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	struct side_options o = { .name = "host", .role = SIDE_OBSERVER, .history = 2 };

	start(0);
	assert_int_equal(side_create(&o, &hosts[0].side), 0);
	assert_int_equal(side_begin(hosts[0].side), 0);
	assert_int_equal(feed(hosts[0].side, http, sizeof(http) - 1), -EBADMSG);
	assert_true(strstr(err_why(), "not a world server") != NULL);
}

TEST_WITH(a_refusal_by_the_server_ends_the_host_with_the_reason, begin, end)
{
	struct host *a, *b;

	start(0);
	a = come(0, SIDE_REGULATING);
	world_stop(w);
	take(a);
	assert_int_equal(a->n[SIDE_ENDED], 1);
	assert_true(a->last[SIDE_ENDED].again);
	assert_true(strstr(a->sentence, "stops") != NULL);
	b = a;
	stop();
	start(0);
	dial(b);
	assert_int_equal(side_bye(b->side), 0);
	turn();
}

/* What a real server sent, with any byte wrong or cut off anywhere: an error or nothing, and never more memory than it has sent. */
TEST_WITH(any_bytes_of_a_server_are_checked, begin, end)
{
	static uint8_t sent[65536], wrong[65536];
	size_t len = 0, n;
	struct host *a, *b;
	const void *data;
	struct rnd r;

	start(0);
	a = come(0, SIDE_REGULATING);
	b = come(1, SIDE_REGULATING);
	side_end(b->side);
	session_close(b->s, now);
	assert_int_equal(session_open(w, now, &b->s), 0);
	assert_int_equal(side_begin(b->side), 0);
	for (int t = 0; t < 6; t++) {
		give(b);
		assert_int_equal(put(a, (uint64_t)t, t), 0);
		assert_int_equal(side_done(a->side, side_tick(a->side)->tick, now), 0);
		now += STEP;
		give(a);
		while (world_turn(w, now) <= now)
			;
		n = session_output(b->s, &data);
		assert_true(len + n <= sizeof(sent));
		memcpy(sent + len, data, n);
		assert_true(feed(b->side, data, n) >= 0);
		session_sent(b->s, n);
		len += n;
		assert_int_equal(side_done(b->side, side_tick(b->side)->tick, now), 0);
		take(a);
	}
	assert_true(len > 200);
	rnd_seed(&r, 7);
	for (size_t i = 0; i < len; i++) {
		memcpy(wrong, sent, len);
		wrong[i] ^= (uint8_t)(1u << rnd_below(&r, 8));
		assert_int_equal(side_begin(b->side), 0);
		(void)feed(b->side, wrong, len);
		assert_int_equal(side_begin(b->side), 0);
		(void)feed(b->side, sent, i);
	}
	assert_int_equal(side_begin(b->side), 0);
	assert_int_equal(feed(b->side, sent, len), 0);
	assert_int_equal(remotes_hash(side_remotes(b->side)), world_hash());
}
