/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step with the whole daemon, in virtual time: sensors, a program that subscribes and publishes, and a bridge,
 * polled in an order and with delays that a seed chooses; the messages that the bridge gets must not depend on it.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include <sim/msg/Vector3.h>

#include "libclient/src/publisher.h"
#include "fd.h"
#include "log.h"
#include "rnd.h"

#define STEP_DUR (10 * MS)
#define PARTS    6
#define LOG_SIZE 65536

struct part {
	struct sim_client *c;
	struct sim_step *step;
	struct sim_publisher *pub[2];
	struct sim_subscriber *sub[3];
	unsigned n_pub, n_sub;
	struct sim_step_turn turn;
	bool in_turn, held; /* held: it is not polled */
	unsigned taken;     /* in this turn */
	double sum, offset;
	void (*work)(struct part *p);
};

static struct world w;
static struct part parts[PARTS];
static unsigned n_parts;
static struct bridge_peer bridge;
static bool with_bridge, inside;
static struct rnd dice;
static int (*world_wait)(void *arg, int fd, short events, int64_t timeout_dur_ns);
static char log_text[LOG_SIZE];
static size_t log_len;

/* ---- the participants' side ---- */

static double value(const struct sim_message *slot)
{
	return ((const struct sim_Vector3 *)slot->body)->x;
}

static int send_value(struct sim_publisher *p, double x, bool local)
{
	struct sim_slot *slot;
	struct sim_builder b;

	if (sim_loan(p, sizeof(struct sim_Vector3), &slot) < 0)
		return -ENOBUFS;
	assert_non_null(sim_Vector3_init(sim_slot_body_mut(slot), slot->body_size, &b));
	((struct sim_Vector3 *)sim_slot_body_mut(slot))->x = x;
	return local ? sim_publish_local(p, slot) : sim_try_queue(p, slot, NULL, NULL, NULL);
}

static void take_all(struct part *p)
{
	const struct sim_message *slot;

	for (unsigned i = 0; i < p->n_sub; i++)
		while (sim_take(p->sub[i], &slot) == 0) {
			p->taken++;
			p->sum = p->sum * 1.0001 + value(slot) * (double)slot->header.sequence; /* the order counts */
			sim_release(p->sub[i], slot);
		}
}

static void poll_part(struct part *p)
{
	if (p->held || rnd_u64(&dice) % 3 == 0)
		return;
	sim_process(p->c);
	if (!p->step)
		return;
	if (!p->in_turn) {
		p->in_turn = sim_step_wait(p->step, 0, &p->turn) == 0;
		if (p->in_turn) {
			p->taken = 0;
			p->work(p);
		}
		return;
	}
	p->in_turn = false;
	assert_int_equal(sim_step_done(p->step), 0);
}

static struct sim_slot *scribbled; /* its publisher continues to write into it after simd has passed it on */

static void scribble(void)
{
	if (!scribbled || fd_wait(sim_lane_fd(bridge.lane), POLLIN, 0) <= 0)
		return;
	scribbled->body_size = 0x7fffffff;
	scribbled = NULL;
}

static void poll_bridge(void)
{
	unsigned n;

	scribble();
	n = with_bridge && rnd_u64(&dice) % 2 ? bridge_next(&bridge, 0) : 0;
	for (unsigned i = 0; i < n; i++) {
		const struct sim_message *s = &bridge.p.deliveries[i].message;

		if (!s->body)
			continue;
		log_len += (size_t)snprintf(log_text + log_len, LOG_SIZE - log_len, "%u %lld %llu %.17g\n",
					    bridge.p.deliveries[i].channel_id, (long long)s->header.stamp_sim_ns,
					    (unsigned long long)s->header.sequence, value(s));
		assert_true(log_len < LOG_SIZE);
	}
	if (n)
		bridge_answer(&bridge, 0);
}

static unsigned roudi_dies_in; /* RouDi dies after so many polls; 0: it lives */

static void poll_all(void)
{
	unsigned first = (unsigned)(rnd_u64(&dice) % PARTS);

	for (unsigned i = 0; i < PARTS; i++) {
		struct part *p = &parts[(first + i) % PARTS];

		if (p->c)
			poll_part(p);
	}
	poll_bridge();
	if (roudi_dies_in && --roudi_dies_in == 0) {
		world_kill_roudi(&w);
		world_start_roudi(&w);
	}
}

/* Whenever a client waits, the others run. */
static int wait_while_others_run(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	int64_t end = exec_now(w.x) + timeout_dur_ns;
	int r;

	if (inside)
		return world_wait(arg, fd, events, timeout_dur_ns);
	inside = true;
	while (!(r = world_wait(arg, fd, events, 0)) && exec_now(w.x) < end) {
		poll_all();
		world_wait(arg, -1, 0, MS / 20);
	}
	inside = false;
	return r;
}

static void begin(uint64_t seed, const char *extra)
{
	memset(parts, 0, sizeof(parts));
	n_parts = 0;
	log_len = 0;
	with_bridge = false;
	rnd_seed(&dice, seed);
	world_create(&w, seed, extra);
	world_wait = w.env.wait;
	w.env.wait = wait_while_others_run;
}

static struct part *part(const char *name, int rank, void (*work)(struct part *p))
{
	struct part *p = &parts[n_parts++];

	p->c = world_client(&w, name, 0);
	p->work = work;
	if (rank >= 0 && sim_step_join(p->c, (uint32_t)rank, &p->step) < 0)
		fail_msg("%s", sim_why());
	if (rank >= 0 && n_parts % 4 == 0) /* this one gets packets, the others use the page */
		assert_true(sim_step_fd(p->step) >= 0);
	return p;
}

static void publishes(struct part *p, const char *channel)
{
	struct sim_publisher_options o = { .size = sizeof(o) };

	if (sim_advertise(p->c, channel, &sim_Vector3_type, &o, &p->pub[p->n_pub++]) < 0)
		fail_msg("%s: %s", channel, sim_why());
}

static void subscribes(struct part *p, const char *channel)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 32 };

	if (sim_subscribe(p->c, channel, &sim_Vector3_type, &o, &p->sub[p->n_sub++]) < 0)
		fail_msg("%s: %s", channel, sim_why());
}

static void part_end(struct part *p)
{
	if (!p->c)
		return;
	sim_step_leave(p->step);
	for (unsigned i = 0; i < p->n_pub; i++)
		sim_publisher_destroy(p->pub[i]);
	for (unsigned i = 0; i < p->n_sub; i++)
		sim_subscriber_destroy(p->sub[i]);
	sim_disconnect(p->c);
	memset(p, 0, sizeof(*p));
}

static void finish(void)
{
	inside = true;
	for (unsigned i = 0; i < PARTS; i++)
		part_end(&parts[i]);
	if (with_bridge)
		bridge_end(&bridge);
	inside = false;
	world_destroy(&w);
}

static void bridge_begin(void)
{
	inside = true;
	bridge_start(&w, &bridge);
	bridge_connected(&w, &bridge);
	inside = false;
	with_bridge = true;
}

static struct sim_driver *drive(struct sim_client *c)
{
	struct sim_driver *d;

	if (sim_driver_acquire(c, 0, &d) < 0)
		fail_msg("%s", sim_why());
	return d;
}

static void advance(struct sim_driver *d)
{
	int64_t granted;

	if (sim_driver_advance(d, STEP_DUR, &granted) < 0)
		fail_msg("%s", sim_why());
	assert_int_equal(granted, STEP_DUR);
}

/* ---- byte for byte ---- */

static void sense(struct part *p)
{
	double t = (double)p->turn.now.sim_ns / 1e9;

	for (unsigned i = 0; i <= p->turn.number % 3; i++)
		assert_int_equal(send_value(p->pub[i % p->n_pub], t + (double)i + p->offset, false), 0);
}

static void fuse(struct part *p)
{
	take_all(p);
	assert_int_equal(send_value(p->pub[0], p->sum, false), 0);
}

static void run(uint64_t seed, char *ret, size_t size)
{
	struct sim_client *c;
	struct sim_driver *d;
	struct part *p;

	begin(seed, "");
	bridge_begin();
	/* participants connect in another order each time, and get their numbers in that order */
	for (unsigned i = 0, at = (unsigned)seed % 3; i < 3; i++, at = (at + 1) % 3) {
		static const char *const names[] = { "camera", "lidar", "radar" };
		static const char *const own[] = { "c", "l", "r" };

		p = part(names[at], 0, sense);
		p->offset = 100.0 * at;
		publishes(p, own[at]);
		publishes(p, "shared");
	}
	p = part("fusion", 1, fuse);
	subscribes(p, "c");
	subscribes(p, "l");
	subscribes(p, "shared");
	publishes(p, "fused");
	p = part("display", 2, fuse);
	subscribes(p, "fused");
	publishes(p, "shown");
	c = world_client(&w, "engine", 0);
	d = drive(c);
	for (int i = 0; i < 20; i++)
		advance(d);
	sim_driver_release(d);
	sim_disconnect(c);
	finish();
	assert_true(log_len < size);
	memcpy(ret, log_text, log_len + 1);
}

/* Channel numbers depend on the order of connecting; the lines' order must not. */
static void rename_channels(char *text)
{
	static char out[LOG_SIZE];
	size_t n = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s\n", strchr(line, ' ') + 1);
	memcpy(text, out, n + 1);
}

TEST(two_runs_are_identical)
{
	static char first[LOG_SIZE], other[LOG_SIZE];
	unsigned lines = 0;

	run(1, first, sizeof(first));
	rename_channels(first);
	for (const char *s = first; *s; s++)
		lines += *s == '\n';
	assert_int_equal(lines, 3 * (7 * 2 + 7 * 3 + 6 * 1) + 2 * 20);
	for (uint64_t seed = 2; seed <= 11; seed++) {
		run(seed, other, sizeof(other));
		rename_channels(other);
		if (strcmp(first, other) != 0)
			fail_msg("seed %llu gives another run", (unsigned long long)seed);
	}
}

/* ---- tickets ---- */

static void send_and_keep(struct part *p)
{
	struct sim_slot *slot;
	struct sim_builder b;

	if (p->turn.number % 100 < 5 || p->turn.number % 100 >= 95) /* the first steps of a second are empty */
		return;
	assert_int_equal(sim_loan(p->pub[0], sizeof(struct sim_Vector3), &slot), 0);
	assert_non_null(sim_Vector3_init(sim_slot_body_mut(slot), slot->body_size, &b));
	assert_int_equal(sim_try_queue(p->pub[0], slot, NULL, NULL, NULL), 0);
	if (p->turn.number == 7)
		scribbled = slot;
}

/* A pause, long enough for bridges that flush by wall time. */
static void stand_still(struct sim_client *c)
{
	char *json;

	assert_int_equal(sim_call(c, "io.simd.Control.PauseClock", NULL, &json), 0);
	assert_null(strstr(json, "\"pausing\":true"));
	free(json);
	for (int i = 0; i < 30; i++) {
		inside = true;
		world_run(&w, 100 * MS);
		inside = false;
		poll_all();
	}
	assert_int_equal(sim_call(c, "io.simd.Control.ResumeClock", NULL, &json), 0);
	free(json);
}

/*
 * world.c checks that each ticket names the one before it. An unreadable message has one too; and so has the
 * flush of each second.
 */
TEST(each_delivery_has_a_ticket)
{
	struct sim_client *c;
	struct sim_driver *d;

	begin(1, "");
	bridge_begin();
	publishes(part("sensor", 0, send_and_keep), "c");
	c = world_client(&w, "engine", 0);
	d = drive(c);
	for (int i = 0; i < 250; i++) {
		advance(d);
		if (i % 60 == 20)
			stand_still(c);
	}
	poll_all();
	assert_int_equal(bridge.unreadable, 1);
	assert_int_equal(bridge.flushes, 2);
	assert_int_equal(bridge.flushed, 90 + 1 + 90 + 1);
	assert_int_equal(bridge.tickets, 182 + 46);
	sim_driver_release(d);
	sim_disconnect(c);
	finish();
}

/* ---- when messages are seen ---- */

static double seen[2][4]; /* by peer, by step: what it took */

static void look_and_tell(struct part *p)
{
	unsigned me = (unsigned)(p - parts);

	p->sum = 0;
	take_all(p);
	seen[me][p->turn.number] = p->taken;
	assert_int_equal(send_value(p->pub[0], 1, true), 0);
	assert_int_equal(send_value(p->pub[0], 1, false), 0);
}

static void count(struct part *p)
{
	take_all(p);
}

TEST(participants_of_equal_rank_do_not_see_each_others_messages)
{
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct sim_client *c;
		struct sim_driver *d;
		struct part *third;

		begin(seed, "");
		for (unsigned i = 0; i < 2; i++) {
			struct part *p = part(i ? "left" : "right", 0, look_and_tell);

			publishes(p, i ? "l" : "r");
		}
		subscribes(&parts[0], "l");
		subscribes(&parts[1], "r");
		third = part("third", 1, count);
		subscribes(third, "l");
		subscribes(third, "r");
		c = world_client(&w, "engine", 0);
		d = drive(c);
		for (unsigned i = 1; i <= 3; i++) {
			advance(d);
			for (unsigned me = 0; me < 2; me++)
				assert_true(seen[me][i] == (i == 1 ? 0 : 2));
			assert_int_equal(third->taken, 4); /* a later rank sees all of it, in the same step */
		}
		sim_driver_release(d);
		sim_disconnect(c);
		finish();
	}
}

static void idle(struct part *p)
{
	(void)p;
}

/* ---- limits ---- */

static int refusals[2];

static void too_much(struct part *p)
{
	refusals[0] = refusals[1] = 0;
	for (int i = 0; i < 3; i++)
		refusals[0] = send_value(p->pub[0], i, false); /* its window is 2 */
	refusals[1] = 1;
}

static void sync_in_turn(struct part *p)
{
	struct sim_slot *slot;
	enum sim_reason why = SIM_REASON_NONE;

	assert_int_equal(sim_loan(p->pub[0], sizeof(struct sim_Vector3), &slot), 0);
	refusals[0] = sim_publish_sync(p->pub[0], slot, NULL, &why);
	assert_non_null(strstr(sim_why(), "sim_try_queue"));
	refusals[1] = sim_flush(p->c, -1);
}

TEST(a_wait_that_could_never_end_is_refused)
{
	struct sim_client *c;
	struct sim_driver *d;
	struct part *p;

	begin(3, "");
	p = part("sensor", 0, too_much);
	publishes(p, "two");
	c = world_client(&w, "engine", 0);
	d = drive(c);
	advance(d);
	assert_int_equal(refusals[0], -EAGAIN);
	advance(d);
	assert_int_equal(refusals[0], -EAGAIN); /* two of them were accepted, and completed */
	p->work = sync_in_turn;
	advance(d);
	assert_int_equal(refusals[0], -EDEADLK);
	assert_int_equal(refusals[1], -EDEADLK);
	assert_int_equal(sim_flush(c, -1), -EDEADLK); /* c is the driver: it would have to advance time */
	sim_driver_release(d);
	sim_disconnect(c);
	finish();
}

/* What a turn may keep back is bounded by the loans of its publishers. */
static void flood(struct part *p)
{
	int n = 0;

	while (n < 100 && send_value(p->pub[0], n, true) == 0)
		n++;
	refusals[0] = n;
	/* simd may free no message that is held back: it is not published yet */
	assert_int_equal(atomic_load(&p->pub[0]->reg->counters->sequence), p->pub[0]->sequence - (unsigned)n);
}

TEST(kept_messages_are_bounded)
{
	struct sim_client *c;
	struct sim_driver *d;
	struct part *p, *q;

	begin(3, "");
	p = part("flood", 0, flood);
	publishes(p, "f");
	q = part("other", 0, count);
	subscribes(q, "f");
	c = world_client(&w, "engine", 0);
	d = drive(c);
	for (int i = 0; i < 3; i++) {
		advance(d);
		assert_int_equal(refusals[0], 8);
		assert_int_equal(q->taken, i ? 8 : 0);
	}
	sim_driver_release(d);
	sim_disconnect(c);
	finish();
}

/* ---- timers ---- */

static char order[64];

static void on_timer(void *user, const struct sim_timer_event *e)
{
	struct part *p = &parts[0];

	assert_true(inside && p->step && !p->in_turn); /* in sim_step_wait(), before it has returned */
	assert_int_equal(e->now.sim_ns % STEP_DUR, 0);
	strcat(order, user);
	assert_int_equal(send_value(p->pub[0], (double)e->due_sim_ns, true), 0);
}

/* Timers due within the step run in the order of their due times, and messages that they publish belong to the turn. */
TEST(timers_run_in_the_turn)
{
	struct sim_timer *slow, *fast;
	struct sim_client *c;
	struct sim_driver *d;
	struct part *p, *q;

	begin(3, "");
	p = part("timed", 0, idle);
	publishes(p, "t");
	q = part("after", 1, count);
	subscribes(q, "t");
	assert_int_equal(sim_timer_create(p->c, STEP_DUR, 0, on_timer, "s", &slow), 0);
	assert_int_equal(sim_timer_create(p->c, STEP_DUR / 5 * 4, 0, on_timer, "f", &fast), 0);
	c = world_client(&w, "engine", 0);
	d = drive(c);
	order[0] = 0;
	for (int i = 0; i < 4; i++)
		advance(d); /* s at 10 20 30 40; f at 8 16 24 32(and 40) */
	assert_string_equal(order, "fsfsfsfs");
	assert_int_equal(q->taken, 2);
	sim_timer_destroy(slow);
	sim_timer_destroy(fast);
	sim_driver_release(d);
	sim_disconnect(c);
	finish();
}

/* ---- coming and going ---- */

static unsigned turns[PARTS];

static void count_turn(struct part *p)
{
	turns[p - parts]++;
	if (p->n_pub)
		assert_int_equal(send_value(p->pub[0], 1, false), 0);
}

TEST(a_step_continues_when_a_participant_leaves)
{
	for (unsigned when = 0; when < 12; when++) {
		struct sim_client *c;
		struct sim_driver *d;

		begin(when + 1, "");
		memset(turns, 0, sizeof(turns));
		publishes(part("a", 0, count_turn), "a");
		publishes(part("b", 0, count_turn), "b");
		c = world_client(&w, "engine", 0);
		d = drive(c);
		advance(d);
		/* a part of a step, then a is gone: between turns, in one, or with messages kept back */
		inside = true;
		for (unsigned i = 0; i < when; i++)
			poll_all();
		inside = false;
		part_end(&parts[0]);
		for (int i = 0; i < 3; i++)
			advance(d);
		assert_int_equal(turns[1], 4);
		sim_driver_release(d);
		sim_disconnect(c);
		finish();
	}
}

/* The client that connects first is client 1 of the new simd; the participant was client 1 of the old one. */
static void a_new_simd_is_joined(bool participant_first)
{
	struct sim_client *c, *back[2];
	struct sim_driver *d;

	begin(5, "");
	memset(turns, 0, sizeof(turns));
	part("a", 0, count_turn);
	c = world_client(&w, "engine", 0);
	d = drive(c);
	advance(d);
	inside = true;
	world_kill_simd(&w);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	world_until(&w, parts[0].c, SIM_CLIENT_RECONNECTING);
	assert_int_equal(sim_step_wait(parts[0].step, 0, &parts[0].turn), -ENOTCONN);
	world_start_simd(&w);
	back[participant_first] = c;
	back[!participant_first] = parts[0].c;
	world_until(&w, back[0], SIM_CLIENT_CONNECTED);
	world_until(&w, back[1], SIM_CLIENT_CONNECTED);
	inside = false;
	advance(d);
	assert_int_equal(turns[0], 2);
	sim_driver_release(d);
	sim_disconnect(c);
	finish();
}

TEST(a_participant_joins_a_new_simd_again)
{
	a_new_simd_is_joined(true);
	a_new_simd_is_joined(false);
}

/* ---- the data plane dies in a turn ---- */

static unsigned offered, called, delivered;

static void on_called(void *user, bool ok, enum sim_reason reason)
{
	(void)user;
	(void)reason;
	called++;
	delivered += ok;
}

static void offer_one(struct part *p)
{
	struct sim_Vector3 v = { .x = 1 };

	offered++;
	(void)!sim_try_queue_copy(p->pub[0], &v, sizeof(v), 0, NULL, on_called,
				  NULL); /* the callback is called for a refused message as well */
}

/* Kept back, on their way, or refused: each message is answered once, and steps go on. */
TEST(the_data_plane_may_die_in_a_turn)
{
	for (unsigned when = 0; when < 10; when++) {
		struct sim_client *c;
		struct sim_driver *d;

		begin(when + 1, "");
		bridge_begin();
		offered = called = delivered = 0;
		publishes(part("a", 0, offer_one), "a");
		publishes(part("b", 0, offer_one), "b");
		c = world_client(&w, "engine", SIM_CLIENT_NO_DATA);
		d = drive(c);
		advance(d);
		with_bridge = false; /* the bridge would have to attach again */
		inside = true;
		bridge_end(&bridge);
		inside = false;
		roudi_dies_in = when + 1;
		for (int i = 0; i < 3; i++)
			advance(d);
		for (int i = 0; i < 20; i++) {
			world_run(&w, MS);
			sim_process(parts[0].c);
			sim_process(parts[1].c);
		}
		assert_int_equal(roudi_dies_in, 0);
		assert_int_equal(offered, 8);
		assert_int_equal(called, offered);
		assert_int_equal(delivered, 2);
		sim_driver_release(d);
		sim_disconnect(c);
		finish();
	}
}

static void the_late_is_dropped(bool by_packet)
{
	struct sim_client *c;
	struct sim_driver *d;
	struct part late = { 0 };

	begin(5, ", \"step\": {\"deadline_ms\": 20, \"late\": \"drop\"}");
	memset(turns, 0, sizeof(turns));
	part("a", 1, count_turn);
	late.c = world_client(&w, "late", 0);
	late.work = idle;
	assert_int_equal(sim_step_join(late.c, 0, &late.step), 0);
	if (by_packet)
		assert_true(sim_step_fd(late.step) >= 0);
	c = world_client(&w, "engine", 0);
	d = drive(c);
	log_set_spec("off");
	advance(d); /* the late one is not polled */
	log_set_spec("error");
	assert_int_equal(turns[0], 1);
	inside = true;
	if (by_packet) {
		assert_int_equal(sim_step_wait(late.step, 0, &late.turn), 0); /* its turn is still in the socket */
		assert_int_equal(sim_step_done(late.step), -ECONNABORTED);
	}
	assert_int_equal(sim_step_wait(late.step, 0, &late.turn), -ECONNABORTED);
	sim_step_leave(late.step);
	sim_disconnect(late.c);
	inside = false;
	sim_driver_release(d);
	sim_disconnect(c);
	finish();
}

TEST(late_participants_are_dropped)
{
	the_late_is_dropped(true);
	the_late_is_dropped(false);
}

/* The turn on the page belongs to the new owner of the place. */
TEST(a_dropped_participant_does_not_take_the_turn_of_its_successor)
{
	struct sim_client *c;
	struct sim_driver *d;
	struct part late;

	begin(5, ", \"step\": {\"deadline_ms\": 20, \"late\": \"drop\"}");
	memset(turns, 0, sizeof(turns));
	part("late", 0, count_turn);
	c = world_client(&w, "engine", 0);
	d = drive(c);
	for (int i = 0; i < 3; i++)
		advance(d);
	late = parts[0];
	parts[0] = (struct part){ 0 }; /* it is not polled */
	log_set_spec("off");
	advance(d);
	log_set_spec("error");
	part("new", 0, count_turn);
	advance(d);
	assert_int_equal(turns[0], 3);
	assert_int_equal(turns[1], 1);
	inside = true;
	assert_int_equal(sim_step_wait(late.step, 0, &late.turn), -ECONNABORTED);
	sim_step_leave(late.step);
	sim_disconnect(late.c);
	inside = false;
	sim_driver_release(d);
	sim_disconnect(c);
	finish();
}

/* Meanwhile the other participant's turn is on the page. */
static void ask_for_the_others(struct part *p)
{
	struct part *other = &parts[1];

	count_turn(p);
	if (!other->held)
		return;
	other->held = false;
	assert_true(sim_step_fd(other->step) >= 0);
	assert_true(exec_sim_settle(w.x) >= 0);
	assert_int_equal(fd_wait(sim_step_fd(other->step), POLLIN, 0), 1);
}

static void ask_for_own(struct part *p)
{
	count_turn(p);
	if (turns[p - parts] == 4)
		assert_true(sim_step_fd(p->step) >= 0);
}

/* The descriptor is asked for before the turn is taken, or in the turn: each turn comes once. */
TEST(the_descriptor_is_readable_when_a_turn_is_due)
{
	struct sim_client *c;
	struct sim_driver *d;

	begin(5, "");
	memset(turns, 0, sizeof(turns));
	part("a", 0, ask_for_the_others);
	part("b", 0, count_turn);
	part("c", 0, ask_for_own);
	c = world_client(&w, "engine", 0);
	d = drive(c);
	for (int i = 0; i < 6; i++) {
		parts[1].held = i == 3;
		advance(d);
		assert_false(parts[1].held);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(turns[i], 6);
	sim_driver_release(d);
	sim_disconnect(c);
	finish();
}

TEST(the_status_names_the_participants_that_are_waited_for)
{
	struct sim_client *c;
	struct part p = { 0 };
	char *json;

	begin(5, "");
	c = world_client(&w, "tool", SIM_CLIENT_NO_DATA);
	p.c = world_client(&w, "slow", 0);
	assert_int_equal(sim_step_join(p.c, 7, &p.step), 0);
	assert_int_equal(sim_step_join(p.c, 7, &p.step), -EBUSY);
	assert_int_equal(sim_call(c, "io.simd.Control.GetClock", NULL, &json), 0);
	assert_non_null(strstr(json, "\"client\":\"slow\""));
	assert_non_null(strstr(json, "\"rank\":7,\"awaited\":false,\"late\":false"));
	free(json);
	sim_step_leave(p.step);
	sim_disconnect(p.c);
	sim_disconnect(c);
	finish();
}
