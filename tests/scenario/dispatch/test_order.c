/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step: bridges write messages in one order, whatever the number of lanes. Tickets, their distribution to lanes,
 * flushes; and a scene that is played again and again, in which a message is lost one message later each time. Bridges
 * here behave as simbridge's host does (tools/bridge/host/order.h): none of them ever waits without end.
 */
#include "scenario/dispatch/world.h"

#include <errno.h>
#include <unistd.h>

#include "fd.h"
#include "log.h"

#define WINDOW  32
#define SLOW_US 20000 /* of each message, so that further lanes open */

static struct world w;
static struct test_client *c;
static struct test_pub *p;

/* A bridge's own side of the order. */
static struct row {
	uint64_t passed;
	uint64_t rows, free_below;
	uint64_t written[WORLD_RECORDS]; /* tickets */
	unsigned n, slips;               /* how often one was written after a later one */
} rows[WORLD_BRIDGES];

static unsigned steps, stepped; /* begun, ended */

static void count(void *arg)
{
	++*(unsigned *)arg;
}

static void make(unsigned n_bridges, uint32_t lanes, bool ordered)
{
	memset(rows, 0, sizeof(rows));
	steps = stepped = 0;
	world_create(&w, test_seed(1), lanes);
	world_channel(&w, 0, WINDOW, ordered);
	for (uint32_t i = 0; i < n_bridges; i++) {
		world_bridge_lossless(&w, i, 128, DISPATCH_LOSSLESS_AUTO, true);
		world_route(&w, 0, i);
		bridge_attach(&w, i);
	}
	c = client_new(&w);
	p = client_advertise(c, 0);
	assert_int_equal(dispatch_hold(w.d, true), 0);
	world_settle(&w);
}

static void publish(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(client_try(c, p, NO_TOKEN), 0);
}

static void begin_step(unsigned messages)
{
	publish(messages);
	steps++;
	assert_int_equal(dispatch_step(w.d, count, &stepped), 0);
	world_settle(&w);
}

/* ---- a bridge that keeps the order ---- */

/* Returns the delivery on that lane that was sent first; -1: none. */
static int head_of(const struct test_bridge *b, int lane)
{
	for (unsigned i = 0; i < b->n_held; i++)
		if (b->held[i].lane == lane)
			return (int)i;
	return -1;
}

/* As order_begin() and order_wait(); true: it may publish now. */
static bool has_turn(struct row *r, uint64_t ticket, uint64_t predecessor)
{
	if (ticket && !predecessor)
		r->passed = r->passed < ticket ? ticket - 1 : r->passed;
	return r->passed >= predecessor || ticket < r->free_below;
}

/* A flush whose turn it is passes at once. */
static void pass_flush(struct row *r, const struct lane_ticket *t)
{
	if (t->ticket > r->passed && has_turn(r, t->ticket, t->predecessor))
		r->passed = t->ticket;
}

static void note_written(struct row *r, uint64_t ticket)
{
	r->slips += ticket && ticket < r->passed;
	r->written[r->n++] = ticket;
	r->passed = ticket > r->passed ? ticket : r->passed;
}

/* One message, of the first lane on which one may be published now. False: none may. */
static bool write_one(struct test_bridge *b, int result)
{
	struct row *r = &rows[b->id];

	pass_flush(r, &b->flush);
	for (int lane = b->n_lanes - 1; lane >= 0; lane--) { /* the last lanes first, which does not help the order */
		int i = head_of(b, lane);

		if (i < 0 || !has_turn(r, b->held[i].ticket, b->held[i].predecessor))
			continue;
		note_written(r, b->held[i].ticket);
		if (b->lanes[lane] >= 0) {
			struct lane_done d = { b->held[i].delivery, result, SLOW_US };
			struct {
				struct lane_head head;
				struct lane_done d;
			} packet = { { LANE_DONE, 1, sizeof(d) }, d };

			bridge_send_raw(b, lane, &packet, sizeof(packet));
		}
		memmove(&b->held[i], &b->held[i + 1], (b->n_held - (unsigned)i - 1) * sizeof(b->held[0]));
		b->n_held--;
		return true;
	}
	return false;
}

/* Writes all messages, and those that simd sends meanwhile. Fails if no message may be written: a deadlock. */
static void write_all(struct test_bridge *b)
{
	for (;;) {
		bridge_read(b);
		if (!b->n_held)
			return;
		if (!write_one(b, 0))
			fail_msg("bridge %u: nobody has a turn, and %u wait for theirs", b->id, b->n_held);
		world_settle(&w);
	}
}

static void finish_step(void)
{
	for (unsigned i = 0; stepped < steps; i++) {
		assert_true(i < 100);
		for (unsigned k = 0; k < WORLD_BRIDGES; k++)
			if (w.bridges[k].alive)
				write_all(&w.bridges[k]);
		world_run(&w, 100 * MS);
	}
	client_read(c);
}

/* Publishes many messages that take long, until simd has opened n lanes. */
static void open_lanes(unsigned n)
{
	for (unsigned i = 0; w.bridges[0].n_lanes < (int)n; i++) {
		assert_true(i < 20);
		begin_step(WINDOW);
		for (unsigned k = 0; k < WINDOW && w.bridges[0].n_lanes < (int)n; k++) {
			bridge_read(&w.bridges[0]);
			write_one(&w.bridges[0], 0);
			world_run(&w, 20 * MS);
		}
		finish_step();
	}
}

/* ---- commands that are late ---- */

static void page_holds(bool holds)
{
	w.clock.flags = SIM_CLOCK_STARTED | (holds ? SIM_CLOCK_LOCKSTEP : 0);
}

static void order(enum dispatch_hold hold)
{
	assert_int_equal(dispatch_hold(w.d, hold), 0);
	world_settle(&w);
}

/* The commands of this turn were read before, and the turn takes messages that the first rank has published since. */
TEST(messages_of_a_round_are_held_before_the_command_arrives)
{
	make(1, 1, false);
	order(DISPATCH_FLOWS);
	page_holds(true);
	publish(2);
	world_settle(&w);
	assert_int_equal(bridge_read(&w.bridges[0]), 0);
	order(DISPATCH_HELD);
	begin_step(1);
	assert_int_equal(bridge_read(&w.bridges[0]), 3);
	finish_step();
	world_destroy(&w);
}

/* The command of a pause, or of a driver that has exited, arrives when time runs again. */
TEST(a_late_pause_or_resume_releases_nothing)
{
	static const enum dispatch_hold words[] = { DISPATCH_FLOWS, DISPATCH_PAUSED };

	for (unsigned i = 0; i < 2; i++) {
		make(1, 1, false);
		page_holds(true);
		publish(2);
		order(words[i]);
		publish(1);
		world_settle(&w);
		assert_int_equal(bridge_read(&w.bridges[0]), 0);
		order(DISPATCH_HELD);
		begin_step(0);
		assert_int_equal(bridge_read(&w.bridges[0]), 3);
		finish_step();
		page_holds(false);
		publish(2);
		order(words[i]);
		assert_int_equal(bridge_read(&w.bridges[0]), 2);
		world_destroy(&w);
	}
}

/* The client has exited since; the order is the same whether dispatch knows that already or not. */
TEST(messages_of_a_client_that_left_keep_their_place)
{
	for (int dies = 0; dies < 2; dies++) {
		const struct test_bridge *b = &w.bridges[0];
		struct test_client *other;
		struct test_pub *last;

		make(1, 1, false);
		other = client_new(&w); /* its name comes after the first one's */
		last = client_advertise(other, 0);
		assert_int_equal(client_try(other, last, NO_TOKEN), 0);
		publish(1);
		if (dies)
			client_dies(other);
		world_settle(&w);
		begin_step(0);
		assert_int_equal(bridge_read(&w.bridges[0]), 2);
		assert_int_equal(b->held[0].publisher_id, p->id);
		assert_int_not_equal(b->held[1].publisher_id, p->id);
		finish_step();
		world_destroy(&w);
	}
}

/*
 * Messages released by a pause still belong to the step: it does not end, and nothing is flushed, before they are
 * written.
 */
TEST(a_step_waits_for_messages_released_in_a_pause)
{
	make(1, 1, false);
	publish(2);
	order(DISPATCH_PAUSED);
	assert_int_equal(bridge_read(&w.bridges[0]), 2);
	order(DISPATCH_HELD);
	w.clock.sim_ns += S;
	begin_step(0);
	assert_int_equal(stepped, 0);
	bridge_read(&w.bridges[0]);
	assert_int_equal(w.bridges[0].flush.ticket, 0);
	finish_step();
	bridge_read(&w.bridges[0]);
	assert_int_equal(w.bridges[0].flush.ticket, 3);
	world_destroy(&w);
}

/* ---- tickets ---- */

TEST(without_lock_step_messages_have_no_tickets)
{
	make(1, 0, false);
	assert_int_equal(dispatch_hold(w.d, false), 0);
	world_settle(&w);
	publish(5);
	world_settle(&w);
	assert_int_equal(bridge_read(&w.bridges[0]), 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(w.bridges[0].held[i].ticket, 0);
	world_destroy(&w);
}

TEST(each_bridge_has_its_own_ticket_sequence)
{
	make(2, 0, false);
	begin_step(6);
	for (unsigned k = 0; k < 2; k++) {
		const struct test_bridge *b = &w.bridges[k];

		assert_true(bridge_read(&w.bridges[k]) >= 2);
		for (unsigned i = 0; i < b->n_held; i++) {
			assert_int_equal(b->held[i].ticket, 1 + i);
			assert_int_equal(b->held[i].predecessor, i);
		}
	}
	finish_step();
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(rows[k].n, 6);
		assert_int_equal(rows[k].slips, 0);
	}
	world_destroy(&w);
}

static const struct held *held_with(const struct test_bridge *b, uint64_t ticket)
{
	unsigned i = 0;

	while (i < b->n_held && b->held[i].ticket != ticket)
		i++;
	assert_true(i < b->n_held);
	return &b->held[i];
}

/* Neighbours are on different lanes, so that they are converted side by side; and they are written in order. */
TEST(lanes_are_used_in_rotation)
{
	const struct test_bridge *b = &w.bridges[0];
	uint64_t last;
	int lane[4];

	make(1, 4, false);
	open_lanes(4);
	last = rows[0].passed;
	begin_step(WINDOW);
	bridge_read(&w.bridges[0]);
	for (uint64_t t = 1; t <= 4; t++) {
		const struct held *h = held_with(b, last + t);

		assert_int_equal(h->predecessor, last + t - 1);
		lane[t - 1] = h->lane;
		for (unsigned k = 0; k + 1 < t; k++)
			assert_int_not_equal(lane[k], lane[t - 1]);
	}
	finish_step();
	assert_int_equal(rows[0].passed, last + WINDOW);
	/* even if the lane of the first message has become free and has no more work than the next lane */
	begin_step(4);
	bridge_read(&w.bridges[0]);
	assert_true(write_one(&w.bridges[0], 0));
	world_settle(&w);
	begin_step(2);
	bridge_read(&w.bridges[0]);
	assert_int_equal(b->n_held, 5);
	assert_int_not_equal(held_with(b, rows[0].passed + 4)->lane, held_with(b, rows[0].passed + 5)->lane);
	finish_step();
	assert_int_equal(rows[0].slips, 0);
	world_destroy(&w);
}

/*
 * Its tickets give more order than the channel requires. Messages after lock-step stay behind it, where they are on
 * several lanes by waiting.
 */
TEST(messages_after_lock_step_do_not_overtake_it)
{
	struct test_bridge *b = &w.bridges[0];

	for (uint32_t lanes = 0; lanes <= 4; lanes += 4) {
		make(1, lanes, true);
		if (lanes)
			open_lanes(lanes);
		begin_step(4);
		assert_int_equal(bridge_read(b), 4);
		assert_int_equal(dispatch_hold(w.d, false), 0);
		world_settle(&w);
		publish(2);
		world_settle(&w);
		if (!lanes)
			assert_int_equal(bridge_read(b), 2); /* the same lane takes it later */
		for (unsigned i = 0; lanes && i < 4; i++) {
			assert_int_equal(bridge_read(b), 0);
			assert_true(write_one(b, 0));
			world_settle(&w);
		}
		bridge_read(b);
		write_all(b);
		assert_int_equal(rows[0].slips, 0);
		client_read(c);
		world_destroy(&w);
	}
}

TEST(another_process_of_a_bridge_starts_with_the_first_ticket)
{
	make(1, 0, false);
	begin_step(3);
	bridge_read(&w.bridges[0]);
	assert_true(write_one(&w.bridges[0], 0));
	bridge_dies(&w.bridges[0]);
	world_settle(&w);
	assert_int_equal(stepped, 1);
	memset(&rows[0], 0, sizeof(rows[0]));
	bridge_attach(&w, 0);
	begin_step(2);
	assert_int_equal(bridge_read(&w.bridges[0]), 2);
	assert_int_equal(w.bridges[0].held[0].predecessor, 0);
	assert_int_equal(w.bridges[0].held[1].predecessor, w.bridges[0].held[0].ticket);
	finish_step();
	world_destroy(&w);
}

/* ---- flushes ---- */

TEST(bridges_flush_once_in_each_second_of_time)
{
	const struct test_bridge *b = &w.bridges[0];
	unsigned at[8] = { 0 };

	make(1, 0, false);
	for (unsigned i = 0; i < 24; i++) {
		w.clock.sim_ns = (int64_t)(i + 1) * 250 * MS;
		begin_step(i % 8 < 6); /* some steps are empty */
		finish_step();
		bridge_read(&w.bridges[0]);
		if (b->flushes <= 6 && !at[b->flushes])
			at[b->flushes] = i + 1;
	}
	assert_int_equal(b->flushes, 6);
	for (unsigned i = 1; i <= 6; i++)
		assert_int_equal(at[i], 4 * i); /* the step that reaches it */
	assert_int_equal(b->overs, 0);
	world_destroy(&w);
}

/* The flush lies after all messages of a step, and before those of the next one. */
TEST(a_flush_has_its_place_in_the_ticket_order)
{
	const struct test_bridge *b = &w.bridges[0];

	make(1, 0, false);
	w.clock.sim_ns = S;
	begin_step(3);
	bridge_read(&w.bridges[0]);
	assert_int_equal(b->flushes, 0);
	finish_step();
	bridge_read(&w.bridges[0]);
	assert_int_equal(b->flushes, 1);
	assert_int_equal(b->flush.ticket, 4);
	assert_int_equal(b->flush.predecessor, 3);
	begin_step(1);
	bridge_read(&w.bridges[0]);
	assert_int_equal(b->held[0].ticket, 5);
	assert_int_equal(b->held[0].predecessor, 4);
	finish_step();
	world_destroy(&w);
}

/*
 * So that buffered data does not stay in the bridge, which flushes by wall time again; a short pause does not end
 * lock-step.
 */
TEST(the_end_of_lock_step_flushes)
{
	const struct test_bridge *b = &w.bridges[0];

	make(1, 0, false);
	begin_step(2);
	finish_step();
	assert_int_equal(dispatch_hold(w.d, false), 0);
	world_run(&w, 900 * MS);
	assert_int_equal(dispatch_hold(w.d, DISPATCH_HELD), 0);
	world_run(&w, 3 * S);
	assert_int_equal(dispatch_hold(w.d, DISPATCH_PAUSED), 0);
	world_run(&w, 3 * S);
	bridge_read(&w.bridges[0]);
	assert_int_equal(b->overs, 0);
	assert_int_equal(dispatch_hold(w.d, false), 0);
	world_run(&w, 5 * S);
	bridge_read(&w.bridges[0]);
	assert_int_equal(b->overs, 1);
	assert_int_equal(b->flushes, 1);
	world_destroy(&w);
}

/* ---- something is lost, one message later each time ---- */

enum loss { NOTHING, LANE, FAILS, PROCESS, FAR_SIDE, DATA_PLANE, LOSSES };

/*
 * The lane's thread fails in the bridge: messages there are lost, no lane waits for it any more, and its socket closes.
 */
static void lose_lane(struct test_bridge *b)
{
	int lane = b->n_lanes - 1;

	bridge_read(b);
	rows[b->id].free_below = ++rows[b->id].rows << LANE_ROW_SHIFT;
	for (unsigned i = b->n_held; i-- > 0;)
		if (b->held[i].lane == lane) {
			memmove(&b->held[i], &b->held[i + 1], (b->n_held - i - 1) * sizeof(b->held[0]));
			b->n_held--;
		}
	b->lanes[lane] = fd_close(b->lanes[lane]);
}

static void lose(enum loss what)
{
	struct test_bridge *b = &w.bridges[0];

	bridge_read(b);
	switch (what) {
	case LANE:
		lose_lane(b);
		break;
	case FAILS:
		write_one(b, -EIO);
		break;
	case PROCESS:
		bridge_dies(b);
		world_settle(&w);
		memset(&rows[0], 0, sizeof(rows[0]));
		bridge_attach(&w, 0);
		break;
	case FAR_SIDE:
		bridge_status(b, SIM_BRIDGE_CONNECTING);
		world_settle(&w);
		write_one(b, -ENOTCONN);
		bridge_status(b, SIM_BRIDGE_CONNECTED);
		break;
	case DATA_PLANE:
		world_roudi_dies(&w);
		world_roudi_back(&w, 1);
		client_prove(c, p);
		break;
	default:
		break;
	}
	world_settle(&w);
}

/* The same scene: three steps of messages on several lanes, and the loss after the n-th message. */
static void play(enum loss what, unsigned n)
{
	unsigned written = 0, before;

	make(2, 8, false);
	open_lanes(3);
	before = w.bridges[0].n_lanes > 2 ? rows[1].n : 0;
	for (unsigned step = 0; step < 3; step++) {
		w.clock.sim_ns += S;
		begin_step(8);
		for (unsigned i = 0; i < 8; i++, written++) {
			if (written == n)
				lose(what);
			bridge_read(&w.bridges[0]);
			write_one(&w.bridges[0], 0);
			world_settle(&w);
		}
		finish_step();
	}
	/* the other bridge has lost nothing, and is in order as always */
	if (what != DATA_PLANE)
		assert_int_equal(rows[1].n, before + 24);
	assert_int_equal(rows[1].slips, 0);
	if (what != LANE)
		assert_int_equal(rows[0].slips, 0);
	rows[0].slips = 0; /* and it is in order again */
	begin_step(8);
	finish_step();
	assert_int_equal(rows[0].slips, 0);
	world_destroy(&w);
}

TEST(no_loss_makes_a_step_wait_for_ever)
{
	log_set_spec("none");
	for (enum loss what = NOTHING; what < LOSSES; what++)
		for (unsigned n = 0; n < 24; n++)
			play(what, n);
}
