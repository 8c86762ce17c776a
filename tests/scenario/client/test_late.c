/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step with a dispatch thread that is late, in virtual time: pauses, resumes and steps at each instant, by an operator and by the
 * engine's own program, and by twenty operators against each other; and dispatch late by each number of turns. What the bridge gets is the
 * same as on time and without any of them.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <stdio.h>

#include <sim/msg/Vector3.h>

#include "libclient/src/session.h"
#include "rnd.h"

#define INSTANT_DUR (10 * MS)
#define N_INSTANTS  20
#define N_PARTS     3
#define LOG_SIZE    8192
#define LATE_MAX    8
#define CROWD       20

/*
 * In the order of their turns. Their names sort differently, so that a message which is sent too early is out of place
 * in the log.
 */
static const struct {
	const char *name, *channel;
	uint32_t rank;
} roles[N_PARTS] = { { "camera", "z", 0 }, { "fusion", "c", 1 }, { "planner", "a", 2 } };

struct part {
	struct sim_client *c;
	struct sim_publisher *pub;
	struct sim_step *step;
	bool in_turn;
};

/*
 * What an operator does at one instant: p pause, r resume, s step, 0 and 1 scale, o a pause by the engine's program. The first at once,
 * the others each once time is paused; behind a ! all at once. It ends with time running.
 */
static const char *const scripts[] = { "pr", "", "psr", "!pr", "or", "0s1", "pssr", "!0s1", "osr", "01", "!psr" };

#define N_SCRIPTS (sizeof(scripts) / sizeof(scripts[0]))

static struct world w;
static struct part parts[N_PARTS];
static struct sim_client *engine, *tool, *crowd[CROWD];
static struct rnd dice; /* random numbers of the crowd of operators */
static bool crowded;
static struct sim_publisher *engine_pub;
static struct sim_driver *driver;
static struct bridge_peer bridge;
static bool inside;
static const char *script; /* actions that are still to come */
static unsigned n_done;    /* of the script's actions */
static bool stepping;      /* it has asked for a step, and time has not moved yet */
static int (*world_wait)(void *arg, int fd, short events, int64_t timeout_dur_ns);
static char text[LOG_SIZE];
static size_t len;

/* ---- the publishers ---- */

/* stamp_sim_ns 0: now */
static void publish(struct sim_publisher *p, double x, int64_t stamp_sim_ns)
{
	struct sim_Vector3 v = { .x = x };

	if (sim_try_queue_copy(p, &v, sizeof(v), stamp_sim_ns, NULL, NULL, NULL) < 0)
		fail_msg("%s", sim_why());
}

/*
 * A participant begins its turn in one poll, and ends it in the next: dispatch may have a turn of its own in between.
 */
static void poll_part(struct part *p)
{
	struct sim_step_turn turn;

	sim_process(p->c);
	if (p->in_turn)
		assert_int_equal(sim_step_done(p->step), 0);
	p->in_turn = !p->in_turn && sim_step_wait(p->step, 0, &turn) == 0;
	if (p->in_turn)
		publish(p->pub, (double)turn.now.sim_ns, 0);
}

static void poll_bridge(void)
{
	unsigned n = bridge_next(&bridge, 0);

	for (unsigned i = 0; i < n; i++) {
		const struct sim_message *s = &bridge.p.deliveries[i].message;

		len += (size_t)snprintf(text + len, LOG_SIZE - len, "%u %lld %.0f\n", bridge.p.deliveries[i].channel_id,
					(long long)s->header.stamp_sim_ns, ((const struct sim_Vector3 *)s->body)->x);
		assert_true(len < LOG_SIZE);
	}
	if (n)
		bridge_answer(&bridge, 0);
}

/* ---- disturbances ---- */

static void post(struct sim_client *c, const char *method, json_t *params)
{
	struct session *s;

	assert_int_equal(client_session(c, &s), 0);
	assert_int_equal(session_post(c, s, method, params, VARLINK_ONEWAY), 0);
	session_unref(s);
}

static void act_by(struct sim_client *c, char what)
{
	if (what == 'p')
		post(c, "PauseClock", NULL);
	else if (what == 'r')
		post(c, "ResumeClock", NULL);
	else if (what == 's')
		post(c, "StepClock", json_pack("{s:I}", "dur_ns", (json_int_t)INSTANT_DUR));
	else
		post(c, "SetScale", json_pack("{s:f}", "scale", (double)(what - '0')));
	n_done++;
}

static void act(char what)
{
	act_by(tool, what);
}

/* Each operator takes an action of its own. */
static void poll_crowd(void)
{
	for (unsigned i = 0; i < CROWD; i++) {
		sim_process(crowd[i]);
		if (rnd_below(&dice, 40) == 0)
			act_by(crowd[i], "prs01r"[rnd_below(&dice, 6)]);
	}
}

/* A step is over when time has moved and is paused again. */
static void poll_operator(void)
{
	struct sim_clock_sample now;
	bool paused;

	sim_process(tool);
	sim_now_sample(tool, &now);
	paused = now.flags & SIM_CLOCK_PAUSED;
	stepping = stepping && paused;
	if (!*script || !paused || stepping)
		return;
	stepping = *script == 's';
	act(*script++);
}

static int wait_while_others_run(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	int64_t end = exec_now(w.x) + timeout_dur_ns;
	int r;

	if (inside)
		return world_wait(arg, fd, events, timeout_dur_ns);
	inside = true;
	while (!(r = world_wait(arg, fd, events, 0)) && exec_now(w.x) < end) {
		for (unsigned i = 0; i < N_PARTS; i++)
			poll_part(&parts[i]);
		poll_bridge();
		poll_operator();
		if (crowded)
			poll_crowd();
		world_wait(arg, -1, 0, MS / 20);
	}
	inside = false;
	return r;
}

/* ---- one run ---- */

static struct sim_publisher *advertise(struct sim_client *c, const char *channel)
{
	struct sim_publisher_options o = { .size = sizeof(o) };
	struct sim_publisher *p;

	if (sim_advertise(c, channel, &sim_Vector3_type, &o, &p) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return p;
}

static void begin(unsigned late, bool driven)
{
	len = n_done = 0;
	stepping = false;
	script = "";
	world_create_late(&w, 1, "");
	world_wait = w.env.wait;
	bridge_start(&w, &bridge);
	bridge_connected(&w, &bridge);
	engine = world_client(&w, "engine", 0);
	tool = world_client(&w, "operator", SIM_CLIENT_NO_DATA);
	engine_pub = advertise(engine, "m");
	for (unsigned i = 0; i < N_PARTS; i++) {
		struct part *p = &parts[i];

		*p = (struct part){ .c = world_client(&w, roles[i].name, 0) };
		p->pub = advertise(p->c, roles[i].channel);
		world_run(&w, 10 * MS); /* simd listens before its first message */
	}
	w.late = late;
	/* lock-step begins with the first participant; dispatch learns that late as well */
	for (unsigned i = 0; i < N_PARTS; i++)
		assert_int_equal(sim_step_join(parts[i].c, roles[i].rank, &parts[i].step), 0);
	if (driven)
		assert_int_equal(sim_driver_acquire(engine, 0, &driver), 0);
	w.env.wait = wait_while_others_run;
}

static void call(const char *method, const char *params)
{
	char *json;

	if (sim_call(engine, method, params, &json) < 0)
		fail_msg("%s: %s", method, sim_why());
	free(json);
}

static void disturb(const char *s)
{
	bool at_once = *s == '!';

	script = "";
	if (*s == 'o') {
		call("PauseClock", "{}");
		script = s + 1;
		return;
	}
	s += at_once;
	do
		if (*s)
			act(*s++);
	while (at_once && *s);
	script = s;
}

/* Returns the next script; "" while one is running, as a step takes several instants. */
static const char *next_script(unsigned shift, unsigned *count)
{
	return *script || stepping || shift == N_SCRIPTS ? "" : scripts[((*count)++ + shift) % N_SCRIPTS];
}

/*
 * The engine publishes for the instant that it was granted. Its stamps are later than those that others publish in the
 * next instant, but its messages still come before these. It is asked to stop before its messages, among them, or after
 * them.
 */
static void instant(const char *s, unsigned when)
{
	struct sim_clock_sample now;
	int64_t granted;

	if (sim_driver_advance(driver, INSTANT_DUR, &granted) < 0)
		fail_msg("%s", sim_why());
	assert_int_equal(granted, INSTANT_DUR);
	sim_now_sample(engine, &now);
	for (unsigned i = 0; i < 3; i++) {
		/* its own pause begins at once: nothing may follow for that instant */
		if (*s && i == (*s == 'o' ? 2 : when))
			disturb(s);
		if (i < 2)
			publish(engine_pub, i, now.sim_ns + 2 * INSTANT_DUR);
	}
}

static void finish(void)
{
	w.late = 0;
	w.env.wait(&w, -1, 0, 20 * MS);
	w.env.wait = world_wait;
	for (unsigned i = 0; i < N_PARTS; i++) {
		sim_step_leave(parts[i].step);
		sim_publisher_destroy(parts[i].pub);
		sim_disconnect(parts[i].c);
	}
	sim_publisher_destroy(engine_pub);
	sim_disconnect(engine);
	sim_disconnect(tool);
	bridge_end(&bridge);
	world_destroy(&w);
}

/* shift: which of the scripts runs at which instant; N_SCRIPTS: none. */
static void run(unsigned late, unsigned shift, unsigned when)
{
	unsigned count = 0;

	begin(late, true);
	for (unsigned i = 0; i < N_INSTANTS; i++)
		instant(next_script(shift, &count), when);
	assert_int_equal(sim_driver_advance(driver, INSTANT_DUR, NULL), 0);
	sim_driver_release(driver);
	finish();
}

static unsigned lines(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

TEST(a_late_dispatch_does_not_change_the_log)
{
	static char first[LOG_SIZE];

	run(0, N_SCRIPTS, 0);
	assert_int_equal(n_done, 0);
	assert_int_equal(lines(), N_INSTANTS * (N_PARTS + 2) + N_PARTS);
	memcpy(first, text, sizeof(first));
	for (unsigned late = 0; late <= LATE_MAX; late++)
		for (unsigned shift = 0; shift <= N_SCRIPTS; shift++) {
			run(late, shift, (late + shift) % 3);
			assert_true(shift == N_SCRIPTS || n_done >= N_INSTANTS / 2);
			if (strcmp(first, text) != 0)
				fail_msg("dispatch late by %u turns, schedule %u: another log", late, shift);
		}
}

/* Time without a driver waits for participants in steps only. */
static void run_steps(unsigned late)
{
	struct sim_clock_sample now;

	begin(late, false);
	call("PauseClock", "{}");
	call("SetSource", "{\"source\": \"simulation\"}");
	script = "ssssssss";
	do {
		w.env.wait(&w, -1, 0, MS);
		sim_now_sample(tool, &now);
	} while (now.sim_ns < 8 * INSTANT_DUR || !(now.flags & SIM_CLOCK_PAUSED));
	finish();
}

TEST(a_late_dispatch_does_not_change_the_log_of_wall_clock_steps)
{
	static char first[LOG_SIZE];

	run_steps(0);
	assert_int_equal(lines(), 8 * N_PARTS);
	memcpy(first, text, sizeof(first));
	for (unsigned late = 1; late <= LATE_MAX; late++) {
		run_steps(late);
		if (strcmp(first, text) != 0)
			fail_msg("dispatch late by %u turns: another log", late);
	}
}

/* ---- twenty operators against each other ---- */

static void run_crowded(unsigned late, uint64_t seed)
{
	rnd_seed(&dice, seed);
	begin(late, true);
	for (unsigned i = 0; i < CROWD; i++) {
		char name[16];

		snprintf(name, sizeof(name), "operator.%u", i);
		crowd[i] = world_client(&w, name, SIM_CLIENT_NO_DATA);
	}
	crowded = true;
	for (unsigned i = 0; i < N_INSTANTS; i++)
		instant("", 0);
	crowded = false;
	w.env.wait(&w, -1, 0, MS); /* their messages are read */
	call("ResumeClock", "{}");
	assert_int_equal(sim_driver_advance(driver, INSTANT_DUR, NULL), 0);
	sim_driver_release(driver);
	for (unsigned i = 0; i < CROWD; i++)
		sim_disconnect(crowd[i]);
	finish();
}

TEST(twenty_operators_do_not_change_the_log)
{
	static char first[LOG_SIZE];

	run(0, N_SCRIPTS, 0);
	memcpy(first, text, sizeof(first));
	for (unsigned late = 0; late <= LATE_MAX; late++) {
		run_crowded(late, late + 1);
		assert_true(n_done > CROWD);
		if (strcmp(first, text) != 0)
			fail_msg("dispatch late by %u turns: another log", late);
	}
}
