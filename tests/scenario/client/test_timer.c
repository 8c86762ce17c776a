/* SPDX-License-Identifier: Apache-2.0 */
/* Timers in simulated time and jumps of the clock, with the whole daemon, in virtual time. */
#include "scenario/client/world.h"

#include <errno.h>

#include <sim/msg/Clock.h>
#include <sim/msg/Vector3.h>

#include "err.h"
#include "log.h"

struct ticks {
	unsigned n;
	int64_t due[64], at[64];
	uint64_t missed[64];
	struct sim_timer *destroy, *stop;
};

static struct world w;

static void on_tick(void *user, const struct sim_timer_event *e)
{
	struct ticks *t = user;

	assert_true(t->n < 64);
	t->due[t->n] = e->due_sim_ns;
	t->at[t->n] = e->now.sim_ns;
	t->missed[t->n++] = e->missed;
	sim_timer_destroy(t->destroy);
	t->destroy = NULL;
	sim_timer_stop(t->stop);
}

static struct sim_timer *timer(struct sim_client *c, int64_t period_dur_ns, unsigned flags, struct ticks *t)
{
	struct sim_timer *ret;

	if (sim_timer_create(c, period_dur_ns, flags, on_tick, t, &ret) < 0)
		fail_msg("%s", sim_why());
	return ret;
}

/* Lets so much wall time pass, and processes each millisecond. */
static void pass(struct sim_client *c, int64_t dur_ns)
{
	for (int64_t end = exec_now(w.x) + dur_ns; exec_now(w.x) < end;) {
		world_run(&w, MS);
		sim_process(c);
	}
}

static void control(struct sim_client *c, const char *method, const char *params)
{
	char *reply = NULL;

	if (sim_call(c, method, params, &reply) < 0)
		fail_msg("%s: %s", method, sim_why());
	free(reply);
	sim_process(c);
}

static struct sim_client *begin(const char *source)
{
	char params[64];
	struct sim_client *c;

	world_create(&w, 7, "");
	c = world_client(&w, "clocked", 0);
	if (source) {
		snprintf(params, sizeof(params), "{\"source\":\"%s\"}", source);
		control(c, "SetSource", params);
	}
	return c;
}

static void finish(struct sim_client *c)
{
	sim_disconnect(c);
	world_destroy(&w);
}

TEST(timers_follow_scale_and_pause)
{
	struct sim_client *c = begin("simulation");
	struct ticks t = { 0 };
	struct sim_timer *timer10 = timer(c, 10 * MS, 0, &t);
	int64_t first = sim_now(c) + 10 * MS;

	pass(c, 35 * MS);
	assert_int_equal(t.n, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(t.due[i], first + i * 10 * MS); /* exactly, however late it was called */
	control(c, "PauseClock", NULL);
	pass(c, 100 * MS);
	assert_int_equal(t.n, 3);
	control(c, "ResumeClock", NULL);
	control(c, "SetScale", "{\"scale\":0.5}");
	pass(c, 40 * MS);
	assert_in_range(t.n, 5, 6);
	control(c, "SetScale", "{\"scale\":4}");
	t.n = 0;
	pass(c, 50 * MS);
	assert_in_range(t.n, 19, 21);
	for (unsigned i = 1; i < t.n; i++)
		assert_int_equal(t.due[i] - t.due[i - 1], 10 * MS);
	sim_timer_destroy(timer10);
	finish(c);
}

TEST(a_long_step_fires_a_timer_once)
{
	struct sim_client *c = begin("simulation");
	struct ticks t = { 0 };
	struct sim_timer *timer10;

	control(c, "PauseClock", NULL);
	timer10 = timer(c, 10 * MS, 0, &t);
	control(c, "StepClock", "{\"dur_ns\":9999999}");
	pass(c, MS);
	assert_int_equal(t.n, 0);
	assert_int_equal(sim_timer_left(timer10), 1);
	control(c, "StepClock", "{\"dur_ns\":1}");
	pass(c, MS);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.missed[0], 0);
	control(c, "StepClock", "{\"dur_ns\":55000000}");
	pass(c, MS);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.missed[1], 4);
	assert_int_equal(sim_timer_left(timer10), 5 * MS); /* on its grid */
	sim_timer_destroy(timer10);
	finish(c);
}

TEST(a_one_shot_timer_can_be_started_and_stopped)
{
	struct sim_client *c = begin("simulation");
	struct ticks t = { 0 }, u = { 0 };
	struct sim_timer *once = timer(c, 10 * MS, SIM_TIMER_ONE_SHOT, &t), *other = timer(c, 15 * MS, 0, &u), *self;

	pass(c, 50 * MS);
	assert_int_equal(t.n, 1);
	assert_int_equal(sim_timer_left(once), INT64_MAX);
	sim_timer_start(once);
	assert_int_equal(sim_timer_left(once), 10 * MS);
	pass(c, 50 * MS);
	assert_int_equal(t.n, 2);
	u.n = 0;
	sim_timer_stop(other);
	pass(c, 50 * MS);
	assert_int_equal(u.n, 0);
	sim_timer_start(other);
	u.stop = other; /* inside its own callback */
	pass(c, 100 * MS);
	assert_int_equal(u.n, 1);
	self = timer(c, 5 * MS, 0, &t);
	t.destroy = self;
	t.n = 0;
	pass(c, 50 * MS);
	assert_int_equal(t.n, 1);
	sim_timer_destroy(once);
	sim_timer_destroy(other);
	sim_timer_destroy(NULL);
	assert_int_equal(sim_timer_create(c, 0, 0, on_tick, &t, &self), -EINVAL);
	assert_int_equal(sim_timer_create(c, 1, 8, on_tick, &t, &self), -EINVAL);
	finish(c);
}

/*
 * As in the tests of Cyber's timers: it does not fire before its time, and never while it is restarted again and again.
 */
TEST(a_timer_started_and_stopped_a_hundred_times_fires_once_at_its_time)
{
	struct sim_client *c = begin("simulation");
	struct ticks t = { 0 };
	struct sim_timer *once = timer(c, 100 * MS, SIM_TIMER_ONE_SHOT, &t);

	pass(c, 90 * MS);
	assert_int_equal(t.n, 0);
	for (int i = 0; i < 100; i++) {
		sim_timer_stop(once);
		assert_int_equal(sim_timer_left(once), INT64_MAX);
		sim_timer_start(once);
		pass(c, 20 * MS);
	}
	assert_int_equal(t.n, 0);
	pass(c, 70 * MS);
	assert_int_equal(t.n, 0);
	pass(c, 20 * MS);
	assert_int_equal(t.n, 1);
	pass(c, 500 * MS);
	assert_int_equal(t.n, 1);
	sim_timer_destroy(once);
	finish(c);
}

/* ---- many ---- */

static void count_periods(void *user, const struct sim_timer_event *e)
{
	*(uint64_t *)user += 1 + e->missed;
}

/* Periods of 1 to 1000 ms: each timer fires as often as its period has passed. */
TEST(a_thousand_timers_keep_their_periods)
{
	struct sim_client *c = begin("simulation");
	static uint64_t count[1000];
	struct sim_timer *t[1000];
	int64_t start_sim_ns;

	control(c, "PauseClock", NULL);
	start_sim_ns = sim_now(c);
	for (int i = 0; i < 1000; i++)
		assert_ok(sim_timer_create(c, (i + 1) * MS, 0, count_periods, &count[i], &t[i]));
	control(c, "ResumeClock", NULL);
	pass(c, 1500 * MS);
	control(c, "PauseClock", NULL);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(count[i], (sim_now(c) - start_sim_ns) / ((i + 1) * MS));
		sim_timer_destroy(t[i]);
	}
	finish(c);
}

#define MANY 200u

static unsigned fired[4 * MANY], n_fired;
static struct many {
	struct sim_timer *t;
	unsigned number, destroys, starts; /* indices of other timers + 1; 0: none */
	int64_t due_sim_ns;
} many[MANY];

static void on_many(void *user, const struct sim_timer_event *e)
{
	struct many *m = user;

	assert_true(n_fired < 4 * MANY);
	m->due_sim_ns = e->due_sim_ns;
	fired[n_fired++] = m->number;
	if (m->destroys) {
		sim_timer_destroy(many[m->destroys - 1].t);
		many[m->destroys - 1].t = NULL;
	}
	if (m->starts)
		sim_timer_start(many[m->starts - 1].t);
}

/* Creates timers with periods of 1 to 50 ms, several with the same. */
static void make_many(struct sim_client *c, unsigned flags)
{
	n_fired = 0;
	for (unsigned i = 0; i < MANY; i++) {
		many[i] = (struct many){ .number = i };
		assert_ok(sim_timer_create(c, (1 + i * 37 % 50) * MS, flags, on_many, &many[i], &many[i].t));
	}
}

/* Expects the order of due times; at the same time, the order of creation. */
static void check_order(void)
{
	for (unsigned i = 1; i < n_fired; i++) {
		const struct many *a = &many[fired[i - 1]], *b = &many[fired[i]];

		assert_true(a->due_sim_ns < b->due_sim_ns || (a->due_sim_ns == b->due_sim_ns && a->number < b->number));
	}
}

static void destroy_many(void)
{
	for (unsigned i = 0; i < MANY; i++)
		sim_timer_destroy(many[i].t);
}

TEST(timers_fire_by_due_time_and_then_by_creation)
{
	struct sim_client *c = begin("simulation");

	control(c, "PauseClock", NULL);
	make_many(c, SIM_TIMER_ONE_SHOT);
	control(c, "StepClock", "{\"dur_ns\":50000000}");
	pass(c, MS);
	assert_int_equal(n_fired, MANY);
	check_order();
	destroy_many();
	finish(c);
}

TEST(callbacks_may_stop_timers_that_are_due_next)
{
	struct sim_client *c = begin("simulation");

	control(c, "PauseClock", NULL);
	make_many(c, 0);
	many[0].destroys = 51; /* due at the same time, made later */
	many[50].number = UINT32_MAX;
	many[100].starts = 151; /* likewise: due one period later now */
	control(c, "StepClock", "{\"dur_ns\":1000000}");
	pass(c, MS);
	assert_int_equal(n_fired, 2);
	assert_int_equal(fired[0], 0);
	assert_int_equal(fired[1], 100);
	assert_int_equal(sim_timer_left(many[150].t), MS);
	many[100].starts = 0;
	control(c, "StepClock", "{\"dur_ns\":49000000}");
	pass(c, MS);
	assert_int_equal(n_fired, 2 + MANY - 1); /* all but the destroyed one, each once for all that it missed */
	destroy_many();
	finish(c);
}

TEST(a_jump_back_moves_all_due_times)
{
	struct sim_client *c = begin("system");

	make_many(c, 0);
	sim_timer_stop(many[7].t);
	pass(c, 30 * MS); /* now the order is another one than that of their periods */
	control(c, "SetSource", "{\"source\":\"simulation\"}");
	control(c, "PauseClock", NULL);
	for (unsigned i = 0; i < MANY; i++)
		assert_true(i == 7 ? sim_timer_left(many[i].t) == INT64_MAX : sim_timer_left(many[i].t) <= 51 * MS);
	n_fired = 0;
	control(c, "StepClock", "{\"dur_ns\":50000000}");
	pass(c, MS);
	assert_int_equal(n_fired, MANY - 1);
	check_order();
	destroy_many();
	finish(c);
}

struct doomed {
	struct sim_timer *t;
	unsigned n;
	pthread_t destroyer;
};

static void *destroy_it(void *arg)
{
	sim_timer_destroy(((struct doomed *)arg)->t);
	return NULL;
}

/* The timer's callback: another thread destroys the timer, and waits for this callback. */
static void on_doomed(void *user, const struct sim_timer_event *e)
{
	struct doomed *d = user;

	(void)e;
	if (d->n++)
		return;
	assert_int_equal(pthread_create(&d->destroyer, NULL, destroy_it, d), 0);
	AWAIT(sim_timer_left(d->t) == INT64_MAX);
	sim_timer_start(d->t);
}

TEST(a_callback_cannot_start_a_timer_that_is_being_destroyed)
{
	struct sim_client *c = begin("simulation");
	struct doomed d = { 0 };

	assert_ok(sim_timer_create(c, 5 * MS, 0, on_doomed, &d, &d.t));
	pass(c, 8 * MS);
	assert_int_equal(d.n, 1);
	pthread_join(d.destroyer, NULL);
	pass(c, 20 * MS);
	assert_int_equal(d.n, 1);
	finish(c);
}

/* ---- jumps ---- */

struct jumps {
	unsigned n;
	struct sim_clock_jump last;
};

static void on_jump(void *user, const struct sim_clock_jump *j)
{
	struct jumps *s = user;

	s->n++;
	s->last = *j;
}

TEST(timers_follow_jumps)
{
	struct sim_client *c = begin("simulation");
	struct ticks t = { 0 };
	struct sim_timer *timer10 = timer(c, 10 * MS, 0, &t);

	pass(c, 25 * MS);
	assert_int_equal(t.n, 2);
	control(c, "SetSource", "{\"source\":\"system\"}"); /* forward by decades: once, and on its grid */
	pass(c, 30 * MS);
	assert_in_range(t.n, 5, 7);
	assert_true(t.missed[2] > 1000000);
	for (unsigned i = 3; i < t.n; i++) {
		assert_int_equal(t.missed[i], 0);
		assert_int_equal((t.due[i] - t.due[1]) % (10 * MS), 0);
	}
	control(c, "SetSource", "{\"source\":\"simulation\"}"); /* back: one period from the new time */
	t.n = 0;
	assert_in_range(sim_timer_left(timer10), 10 * MS - MS, 10 * MS);
	pass(c, 25 * MS);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.missed[0], 0);
	sim_timer_destroy(timer10);
	finish(c);
}

TEST(jump_handlers_are_called_by_their_thresholds)
{
	struct sim_client *c = begin("simulation");
	struct sim_jump_threshold back_only = { -1, 0 }, far = { INT64_MAX, INT64_MAX };
	struct jumps all = { 0 }, back = { 0 }, none = { 0 };
	struct sim_jump_handler *h[3];
	struct sim_clock_sample now;
	struct sim_clock_jump j;
	uint32_t generation;

	sim_now_sample(c, &now);
	generation = now.clock_generation;
	assert_int_equal(sim_clock_jumped(c, &generation, &j), 0);
	assert_int_equal(sim_clock_on_jump(c, NULL, on_jump, &all, &h[0]), 0);
	assert_int_equal(sim_clock_on_jump(c, &back_only, on_jump, &back, &h[1]), 0);
	assert_int_equal(sim_clock_on_jump(c, &far, on_jump, &none, &h[2]), 0);
	pass(c, 10 * MS);
	control(c, "SetSource", "{\"source\":\"system\"}");
	pass(c, 5 * MS);
	assert_int_equal(all.n, 1);
	assert_int_equal(back.n, 0);
	assert_in_range(all.last.old_sim_ns, 10 * MS, 20 * MS);
	assert_true(all.last.new_sim_ns > S);
	assert_int_equal(sim_clock_jumped(c, &generation, &j), 1);
	/* field by field: the struct ends in padding */
	assert_int_equal(j.old_sim_ns, all.last.old_sim_ns);
	assert_int_equal(j.new_sim_ns, all.last.new_sim_ns);
	assert_int_equal(j.clock_generation, all.last.clock_generation);
	assert_int_equal(sim_clock_jumped(c, &generation, &j), 0);
	control(c, "SetSource", "{\"source\":\"unity\"}");
	pass(c, 5 * MS);
	assert_int_equal(all.n, 2);
	assert_int_equal(back.n, 1);
	assert_int_equal(back.last.new_sim_ns, 0);
	sim_jump_handler_destroy(h[1]);
	control(c, "SetSource", "{\"source\":\"simulation\"}");
	control(c, "SetSource", "{\"source\":\"unity\"}"); /* two at once: both are notified */
	pass(c, 5 * MS);
	assert_int_equal(all.n, 4);
	assert_int_equal(back.n, 1);
	assert_int_equal(none.n, 0);
	sim_jump_handler_destroy(h[0]);
	sim_jump_handler_destroy(h[2]);
	sim_jump_handler_destroy(NULL);
	finish(c);
}

TEST(a_new_simd_is_a_jump)
{
	struct sim_client *c = begin("simulation");
	struct sim_jump_handler *h;
	struct jumps all = { 0 };

	assert_int_equal(sim_clock_on_jump(c, NULL, on_jump, &all, &h), 0);
	pass(c, 10 * MS);
	world_kill_simd(&w);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	world_start_simd(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	pass(c, 5 * MS);
	assert_int_equal(all.n, 1);
	assert_in_range(all.last.old_sim_ns, 10 * MS, 50 * MS);
	assert_int_equal(all.last.new_sim_ns, 0); /* unity, at its start */
	sim_jump_handler_destroy(h);
	finish(c);
}

static void send_one(struct sim_publisher *p)
{
	struct sim_slot *slot;
	struct sim_builder b;

	assert_int_equal(sim_loan(p, sizeof(struct sim_Vector3), &slot), 0);
	assert_non_null(sim_Vector3_init(sim_slot_body_mut(slot), slot->body_size, &b));
	assert_int_equal(sim_publish_local(p, slot), 0);
}

/* Stamps from before and after a jump never meet in one reader. */
TEST(readers_start_empty_after_a_jump)
{
	struct sim_client *c = begin("simulation");
	struct sim_publisher_options o = { .size = sizeof(o) };
	struct sim_publisher *p;
	struct sim_reader *r;

	assert_int_equal(sim_advertise(c, "v", &sim_Vector3_type, &o, &p), 0);
	assert_int_equal(sim_reader_create(c, "v", &sim_Vector3_type, 4, &r), 0);
	for (int i = 0; i < 3; i++)
		send_one(p);
	assert_int_equal(sim_reader_observe(r), 3);
	control(c, "SetSource", "{\"source\":\"system\"}");
	assert_non_null(sim_reader_get(r, 2)); /* nothing new has come yet */
	send_one(p);
	assert_int_equal(sim_reader_observe(r), 1);
	assert_non_null(sim_reader_get(r, 0));
	assert_true(sim_reader_get(r, 0)->header.stamp_sim_ns > S);
	assert_null(sim_reader_get(r, 1));
	sim_reader_destroy(r);
	sim_publisher_destroy(p);
	finish(c);
}

TEST(a_sleep_returns_at_its_time_or_times_out)
{
	struct sim_client *c = begin("simulation");

	assert_int_equal(sim_sleep_until(c, sim_now(c) + 5 * MS, S), 0);
	assert_int_equal(sim_sleep_until(c, sim_now(c) + 5 * S, 10 * MS), -ETIMEDOUT);
	finish(c);
}

TEST(a_second_clock_is_reported)
{
	struct sim_client *c = begin(NULL);
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 256, .flags = SIM_PUB_LOCAL | SIM_PUB_LATCH };
	struct sim_publisher *p;
	char *reply;

	assert_int_equal(sim_call(c, "GetClock", NULL, &reply), 0);
	assert_non_null(strstr(reply, "\"other_clocks\":[]"));
	free(reply);
	log_set_spec("off");
	if (sim_advertise(c, "/clock", &sim_Clock_type, &o, &p) < 0)
		fail_msg("%s", sim_why());
	log_set_spec("error");
	assert_int_equal(sim_call(c, "GetClock", NULL, &reply), 0);
	assert_non_null(strstr(reply, "\"other_clocks\":[\"clocked\"]"));
	free(reply);
	sim_publisher_destroy(p);
	finish(c);
}
