/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step and timers with real threads over the in-memory data plane, to be run under a sanitizer. No wall time is
 * asserted; bounds only end a test that hangs.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/prctl.h>

#include <sim/msg/Vector3.h>

#include "dispatch/dispatch_private.h"
#include "registry/shards.h"
#include "registry/simd.h"
#include "wire/pages.h"

#define STEPS    40
#define STEP_DUR (10 * MS)

static struct world w;

static int put(struct sim_publisher *p, double x, bool local)
{
	struct sim_Vector3 v = { .x = x };

	return local ? sim_publish_local_copy(p, &v, sizeof(v), 0)
		     : sim_try_queue_copy(p, &v, sizeof(v), 0, NULL, NULL, NULL);
}

static void steps_of(struct sim_driver *d, unsigned n, int64_t dur_ns)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(sim_driver_advance(d, dur_ns, NULL), 0);
}

static void steps(struct sim_driver *d, unsigned n)
{
	steps_of(d, n, STEP_DUR);
}

struct part {
	const char *name;
	uint32_t rank;
	const char *out, *in[2];
	struct sim_client *c;
	struct sim_step *s;
	struct sim_publisher *pub;
	struct sim_subscriber *sub[2];
	pthread_t thread;
	unsigned turns, taken, uneven;
	atomic_bool over;
};

static void *take_part(void *arg)
{
	struct part *p = arg;
	struct sim_step_turn turn;
	const struct sim_message *slot;
	int r;

	while ((r = sim_step_wait(p->s, 20 * MS, &turn)) == 0 || (r == -ETIMEDOUT && !atomic_load(&p->over))) {
		unsigned n = 0;

		if (r < 0)
			continue;
		p->turns++;
		for (int i = 0; i < 2 && p->in[i]; i++)
			while (sim_take(p->sub[i], &slot) == 0) {
				n++;
				p->uneven += slot->header.stamp_sim_ns != turn.now.sim_ns;
				sim_release(p->sub[i], slot);
			}
		p->taken += n;
		if (p->out) {
			assert_int_equal(put(p->pub, (double)turn.dur_ns, true), 0);
			assert_int_equal(put(p->pub, (double)turn.dur_ns, false), 0);
		}
		assert_int_equal(sim_step_done(p->s), 0);
	}
	return NULL;
}

static void part_begin(struct part *p)
{
	struct sim_publisher_options po = { .size = sizeof(po) };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 32 };

	p->c = world_client(&w, p->name, 0);
	if (p->out)
		assert_int_equal(sim_advertise(p->c, p->out, &sim_Vector3_type, &po, &p->pub), 0);
	for (int i = 0; i < 2 && p->in[i]; i++)
		assert_int_equal(sim_subscribe(p->c, p->in[i], &sim_Vector3_type, &so, &p->sub[i]), 0);
	assert_int_equal(sim_step_join(p->c, p->rank, &p->s), 0);
}

static void part_end(struct part *p)
{
	atomic_store(&p->over, true);
	pthread_join(p->thread, NULL);
	sim_step_leave(p->s);
	sim_publisher_destroy(p->pub);
	for (int i = 0; i < 2; i++)
		sim_subscriber_destroy(p->sub[i]);
	sim_disconnect(p->c);
}

TEST(ranks_run_in_order_with_threads)
{
	struct part parts[] = {
		{ .name = "a", .out = "a" },
		{ .name = "b", .out = "b", .in = { "a" } },
		{ .name = "sum", .rank = 1, .out = "s", .in = { "a", "b" } },
		{ .name = "end", .rank = 2, .in = { "s" } },
	};
	struct sim_client *c;
	struct sim_driver *d;
	int64_t granted;

	world_create_threads(&w, "");
	for (int i = 0; i < 4; i++)
		part_begin(&parts[i]);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&parts[i].thread, NULL, take_part, &parts[i]), 0);
	c = world_client(&w, "engine", 0);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	for (int i = 0; i < STEPS; i++) {
		assert_int_equal(sim_driver_advance(d, STEP_DUR, &granted), 0);
		assert_int_equal(granted, STEP_DUR);
	}
	sim_driver_release(d);
	sim_disconnect(c);
	for (int i = 0; i < 4; i++)
		part_end(&parts[i]);
	for (int i = 0; i < 4; i++)
		assert_int_equal(parts[i].turns, STEPS);
	assert_int_equal(parts[1].taken, 2 * (STEPS - 1)); /* a's, each a step later */
	assert_int_equal(parts[1].uneven, 2 * (STEPS - 1));
	assert_int_equal(parts[2].taken, 4 * STEPS); /* of the same step */
	assert_int_equal(parts[2].uneven, 0);
	assert_int_equal(parts[3].taken, 2 * STEPS);
	world_destroy(&w);
}

/* ---- a slow dispatch thread ---- */

struct talker {
	struct sim_client *c;
	struct sim_step *s;
	struct sim_publisher *pub;
	pthread_t thread;
	atomic_uint sent, refused;
	atomic_bool over;
};

static void *talk(void *arg)
{
	struct talker *t = arg;
	struct sim_step_turn turn;
	int r;

	while ((r = sim_step_wait(t->s, 20 * MS, &turn)) == 0 || (r == -ETIMEDOUT && !atomic_load(&t->over))) {
		if (r < 0)
			continue;
		atomic_fetch_add(put(t->pub, 1, true) ? &t->refused : &t->sent, 1);
		assert_int_equal(sim_step_done(t->s), 0);
	}
	return NULL;
}

/*
 * Blocks dispatch's thread until a command for it arrives: as no message is sent to bridges, only the rounds of
 * lock-step send one.
 */
static void stand_still(void *arg)
{
	struct talker *t = arg;

	while (inbox_empty(&shard_of(w.simd, 0)->in) && !atomic_load(&t->refused))
		sched_yield();
}

/* Rounds that are faster than dispatch wait for it, before a window is full of messages for local subscribers. */
TEST(local_messages_are_not_refused_while_dispatch_stands)
{
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_NO_WAIT };
	static struct talker t;
	struct exec_post post;
	struct sim_client *c;
	struct sim_driver *d;

	world_create_threads(&w, "");
	t.c = world_client(&w, "talker", 0);
	assert_int_equal(sim_advertise(t.c, "a", &sim_Vector3_type, &po, &t.pub), 0);
	assert_int_equal(sim_step_join(t.c, 0, &t.s), 0);
	assert_int_equal(pthread_create(&t.thread, NULL, talk, &t), 0);
	c = world_client(&w, "engine", 0);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	steps(d, 2);
	exec_post_init(&post, shard_exec(w.simd, 0), stand_still, &t);
	exec_post(&post);
	steps_of(d, 2000, 1000); /* within one second of simulated time: nothing is flushed */
	atomic_store(&t.over, true);
	pthread_join(t.thread, NULL);
	assert_int_equal(t.refused, 0);
	assert_int_equal(t.sent, 2002);
	sim_driver_release(d);
	sim_disconnect(c);
	sim_step_leave(t.s);
	sim_publisher_destroy(t.pub);
	sim_disconnect(t.c);
	world_destroy(&w);
}

/* ---- asleep on the page ---- */

struct sleeper {
	struct sim_client *c;
	struct sim_step *s;
	pthread_t thread;
	_Atomic unsigned turns;
	int result;
};

/* Without a time-out: a sleeper that is not woken never ends. */
static void *sleep_on_page(void *arg)
{
	struct sleeper *p = arg;
	struct sim_step_turn turn;

	while ((p->result = sim_step_wait(p->s, -1, &turn)) == 0) {
		atomic_fetch_add(&p->turns, 1);
		assert_int_equal(sim_step_done(p->s), 0);
	}
	return NULL;
}

static void sleeper_begin(struct sleeper *p, const char *name)
{
	p->c = world_client(&w, name, 0);
	assert_int_equal(sim_step_join(p->c, 1, &p->s), 0);
	assert_int_equal(pthread_create(&p->thread, NULL, sleep_on_page, p), 0);
}

static uint64_t last_round(void)
{
	return __atomic_load_n(&w.simd->layout_page->turn.number, __ATOMIC_RELAXED);
}

static uint64_t answered_on_page(void)
{
	return atomic_load(&w.simd->dispatch_page->grant.number);
}

/* By turns; by another thread that asks for the descriptor, so that packets come; and when simd dies. */
TEST(sleepers_wake_at_turns_packets_and_the_death_of_simd)
{
	struct sleeper p[3] = { 0 };
	struct sim_client *c;
	struct sim_driver *d;

	world_create_threads(&w, "");
	sleeper_begin(&p[0], "a");
	sleeper_begin(&p[1], "b");
	sleeper_begin(&p[2], "c");
	c = world_client(&w, "engine", 0);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	steps(d, 3 * STEPS);
	assert_int_equal(answered_on_page(), last_round()); /* by the last participant */
	assert_true(sim_step_fd(p[1].s) >= 0);
	steps(d, STEPS);
	world_kill_simd(&w);
	for (int i = 0; i < 3; i++) {
		pthread_join(p[i].thread, NULL);
		assert_int_equal(p[i].turns, 4 * STEPS);
		assert_int_equal(p[i].result, -ENOTCONN);
		sim_step_leave(p[i].s);
		sim_disconnect(p[i].c);
	}
	sim_driver_release(d);
	sim_disconnect(c);
	world_destroy(&w);
}

static bool is_claimed(void)
{
	for (unsigned i = 0; i < WIRE_CHANNELS_MAX; i++)
		for (unsigned k = 0; k < WIRE_WINDOW_MAX; k++)
			if (atomic_load(&w.simd->dispatch_page->channel[i].cell[k]))
				return true;
	return false;
}

struct one_step {
	struct sim_driver *d;
	atomic_bool over;
};

static void *one_step(void *arg)
{
	struct one_step *o = arg;

	steps(o->d, 1);
	atomic_store(&o->over, true);
	return NULL;
}

/*
 * Takes one turn, with a message or without. Meanwhile this participant waits on, and what it keeps back is released.
 */
static void publish_in_step(struct part *p, struct sim_driver *d, bool publish)
{
	struct one_step o = { .d = d };
	struct sim_step_turn turn;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, one_step, &o), 0);
	assert_int_equal(sim_step_wait(p->s, -1, &turn), 0);
	if (publish)
		assert_int_equal(put(p->pub, 1, false), 0);
	assert_int_equal(sim_step_done(p->s), 0);
	while (!atomic_load(&o.over))
		assert_int_equal(sim_step_wait(p->s, MS, &turn), -ETIMEDOUT);
	pthread_join(thread, NULL);
}

/*
 * Every other step has a message to be dispatched, which is finished when the driver continues. The driver is a tool,
 * without data.
 */
static void publish_in_steps(bool shared)
{
	struct part p = { .name = "a", .rank = 1, .out = "a" };
	struct sleeper other = { 0 };
	struct sim_client *c;
	struct sim_driver *d;

	world_create_threads(&w, "");
	part_begin(&p);
	if (shared)
		sleeper_begin(&other, "b");
	c = world_client(&w, "engine", SIM_CLIENT_NO_DATA);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	for (unsigned i = 0; i < STEPS; i++) {
		publish_in_step(&p, d, i % 2);
		assert_false(is_claimed());
		assert_true(i < 2 || (answered_on_page() == last_round()) == !(i % 2));
	}
	sim_driver_release(d);
	sim_disconnect(c);
	sim_step_leave(p.s);
	sim_publisher_destroy(p.pub);
	sim_disconnect(p.c);
	world_kill_simd(&w); /* ends the sleeper as well */
	if (shared) {
		pthread_join(other.thread, NULL);
		sim_step_leave(other.s);
		sim_disconnect(other.c);
	}
	world_destroy(&w);
}

TEST(published_messages_are_dispatched_before_the_driver_continues)
{
	publish_in_steps(false);
}

TEST(kept_messages_are_dispatched_before_the_driver_continues)
{
	publish_in_steps(true);
}

/* ---- timers and jumps ---- */

struct count {
	_Atomic unsigned ticks, jumps;
	_Atomic int64_t last_due;
	_Atomic int slack_dur_ns; /* timer slack of the calling thread */
	_Atomic unsigned odd;     /* intervals that are no multiple of the period */
};

static void on_tick(void *user, const struct sim_timer_event *e)
{
	struct count *k = user;
	int64_t last = atomic_exchange(&k->last_due, e->due_sim_ns);

	if (atomic_fetch_add(&k->ticks, 1) && (e->due_sim_ns - last) % MS)
		atomic_fetch_add(&k->odd, 1);
	atomic_store(&k->slack_dur_ns, prctl(PR_GET_TIMERSLACK));
}

static void on_jump(void *user, const struct sim_clock_jump *j)
{
	(void)j;
	atomic_fetch_add(&((struct count *)user)->jumps, 1);
}

static void control(struct sim_client *c, const char *method, const char *params)
{
	char *reply = NULL;

	if (sim_call(c, method, params, &reply) < 0)
		fail_msg("%s: %s", method, sim_why());
	free(reply);
}

TEST(timers_follow_lock_step_with_a_thread)
{
	struct sim_jump_handler *h;
	struct sim_timer *t, *u;
	struct count k = { 0 }, idle = { 0 };
	struct sim_client *c;
	unsigned ticks;

	world_create_threads(&w, "");
	c = world_client(&w, "timed", 0);
	assert_int_equal(sim_clock_on_jump(c, NULL, on_jump, &k, &h), 0);
	assert_int_equal(sim_timer_create(c, MS, 0, on_tick, &k, &t), 0); /* unity: time stands */
	assert_int_equal(sim_timer_create(c, 3600 * S, SIM_TIMER_ONE_SHOT, on_tick, &idle, &u), 0);
	control(c, "SetSource", "{\"source\":\"simulation\"}");
	AWAIT(atomic_load(&k.jumps) == 1);
	AWAIT(atomic_load(&k.ticks) > 20);
	control(c, "PauseClock", NULL);
	AWAIT(sim_timer_left(t) > 0);
	ticks = atomic_load(&k.ticks);
	control(c, "StepClock", "{\"dur_ns\":1000000}");
	AWAIT(atomic_load(&k.ticks) == ticks + 1);
	assert_int_equal(atomic_load(&k.odd), 0);
	assert_int_equal(atomic_load(&k.slack_dur_ns), 1);
	control(c, "ResumeClock", NULL);
	AWAIT(atomic_load(&k.ticks) > ticks + 10);
	sim_timer_stop(t);
	sim_timer_start(t);
	sim_timer_destroy(t);
	ticks = atomic_load(&k.ticks);
	control(c, "SetSource", "{\"source\":\"system\"}"); /* time jumps by decades: the timer is due */
	AWAIT(atomic_load(&idle.ticks) == 1);
	assert_int_equal(atomic_load(&k.ticks), ticks);
	sim_timer_destroy(u);
	sim_jump_handler_destroy(h);
	sim_disconnect(c);
	world_destroy(&w);
}

/* Without a thread of its own the program polls; the descriptor says when. */
TEST(a_program_that_polls_is_woken_by_timers)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "polls", .flags = SIM_CLIENT_NO_THREAD, .timeout_ms = 3600000
	};
	struct count k = { 0 };
	struct sim_client *c;
	struct sim_timer *t;

	world_create_threads(&w, "");
	o.socket = w.path;
	assert_int_equal(sim_connect(&o, &c), 0);
	control(c, "SetSource", "{\"source\":\"simulation\"}");
	assert_int_equal(sim_timer_create(c, 5 * MS, 0, on_tick, &k, &t), 0);
	while (atomic_load(&k.ticks) < 5) {
		struct pollfd p = { .fd = sim_client_fd(c), .events = POLLIN };

		assert_int_equal(poll(&p, 1, -1), 1);
		sim_process(c);
	}
	sim_timer_destroy(t);
	sim_disconnect(c);
	world_destroy(&w);
}
