/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses, steps, scales and sources at any moment, with the whole daemon in virtual time: no message published for an
 * instant is lost, and the bridge gets the same messages as without them.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <stdio.h>

#include <sim/msg/Vector3.h>

#include "libclient/src/publisher.h"
#include "libclient/src/session.h"
#include "log.h"
#include "rnd.h"

#define INSTANT_DUR (10 * MS)
#define LAG_DUR     (15 * MS)
#define N_PARTS     3
#define N_INSTANTS  40
#define LOG_SIZE    65536

struct part {
	struct sim_client *c;
	struct sim_publisher *pub;
	struct sim_clock_sample last; /* the instant for which it has published */
	struct sim_step *step;        /* NULL: it watches the clock */
	bool in_turn;
};

static struct world w;
static struct part parts[N_PARTS];
static struct sim_client *engine, *stepper, *tool;
static struct sim_publisher *engine_pub;
static struct sim_driver *driver;
static struct bridge_peer bridge;
static struct rnd dice;
static bool inside, disturbed, resume_it;
static unsigned n_paused, n_stepping, published, completed;
static int (*world_wait)(void *arg, int fd, short events, int64_t timeout_dur_ns);
static char log_text[LOG_SIZE];
static size_t log_len;
static char ordered[LOG_SIZE]; /* of the last run */

/* ---- the publishers ---- */

static void on_completed(void *user, bool ok, enum sim_reason reason)
{
	(void)user;
	if (!ok)
		fail_msg("a message was lost: %s", sim_reason_name(reason));
	completed++;
}

/* stamp_sim_ns 0: now */
static void publish(struct sim_publisher *p, double x, int64_t stamp_sim_ns)
{
	struct sim_Vector3 v = { .x = x };
	int r = sim_try_queue_copy(p, &v, sizeof(v), stamp_sim_ns, NULL, on_completed, NULL);

	if (r < 0)
		fail_msg("%s", sim_why());
	published++;
}

static void measure(struct part *p)
{
	struct sim_clock_sample now;

	sim_now_sample(p->c, &now);
	if (!(now.flags & SIM_CLOCK_DRIVEN) || now.sim_ns == 0 || now.sim_ns % INSTANT_DUR ||
	    (now.sim_ns == p->last.sim_ns && now.clock_generation == p->last.clock_generation))
		return;
	p->last = now;
	/* the camera's stamps lie before the engine's last one; its messages still come after the engine's */
	publish(p->pub, (double)now.sim_ns, p == &parts[0] && now.sim_ns > LAG_DUR ? now.sim_ns - LAG_DUR : 0);
}

static void poll_part(struct part *p)
{
	struct sim_step_turn turn;

	if (rnd_u64(&dice) % 3 == 0)
		return;
	sim_process(p->c);
	if (p->in_turn)
		assert_int_equal(sim_step_done(p->step), 0);
	p->in_turn = p->step && !p->in_turn && sim_step_wait(p->step, 0, &turn) == 0;
	if (!p->step || p->in_turn)
		measure(p);
}

static void poll_bridge(void)
{
	unsigned n = rnd_u64(&dice) % 2 ? bridge_next(&bridge, 0) : 0;

	for (unsigned i = 0; i < n; i++) {
		const struct sim_message *s = &bridge.p.deliveries[i].message;

		log_len += (size_t)snprintf(log_text + log_len, LOG_SIZE - log_len, "%u %lld %llu %.0f\n",
					    bridge.p.deliveries[i].channel_id, (long long)s->header.stamp_sim_ns,
					    (unsigned long long)s->header.sequence,
					    ((const struct sim_Vector3 *)s->body)->x);
		assert_true(log_len < LOG_SIZE);
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

static void disturb(void)
{
	static const int64_t steps[] = { 3 * MS, INSTANT_DUR, 25 * MS };
	uint64_t what = rnd_u64(&dice) % 400;

	if (what < 3)
		post(tool, "PauseClock", NULL);
	else if (what < 6)
		post(tool, "ResumeClock", NULL);
	else if (what < 9)
		post(stepper, "StepClock", json_pack("{s:I}", "dur_ns", (json_int_t)steps[what % 3]));
	else if (what < 12)
		post(tool, "SetScale", json_pack("{s:f}", "scale", (double)(what % 3)));
}

static void poll_all(void)
{
	unsigned first = (unsigned)(rnd_u64(&dice) % N_PARTS);
	struct sim_clock_sample now;

	for (unsigned i = 0; i < N_PARTS; i++)
		poll_part(&parts[(first + i) % N_PARTS]);
	poll_bridge();
	if (disturbed)
		disturb();
	sim_process(stepper);
	sim_process(tool);
	sim_now_sample(tool, &now);
	n_paused += (now.flags & SIM_CLOCK_PAUSED) != 0;
	n_stepping += (now.flags & SIM_CLOCK_STEPPING) != 0;
	if (resume_it && now.flags & SIM_CLOCK_PAUSED)
		post(tool, "ResumeClock", NULL);
}

/* Whenever the engine waits, the others run. */
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

static void let_pass(int64_t dur_ns)
{
	w.env.wait(&w, -1, 0, dur_ns);
}

/* ---- the engine ---- */

static struct sim_publisher *advertise(struct sim_client *c, const char *channel)
{
	struct sim_publisher_options o = { .size = sizeof(o) };
	struct sim_publisher *p;

	if (sim_advertise(c, channel, &sim_Vector3_type, &o, &p) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return p;
}

static void call(const char *method, const char *params)
{
	char *json;

	if (sim_call(engine, method, params, &json) < 0)
		fail_msg("%s: %s", method, sim_why());
	free(json);
}

static void take_lease(void)
{
	assert_int_equal(sim_driver_acquire(engine, 0, &driver), 0);
}

/* As an engine does: the results of an instant are published a while after time has reached it. */
static void instant(struct sim_gate *g)
{
	struct sim_clock_sample now;
	int64_t left = INSTANT_DUR, granted;

	while (left > 0) {
		if (sim_driver_advance(driver, left, &granted) < 0)
			fail_msg("%s", sim_why());
		left -= granted;
	}
	for (unsigned i = 0; i < 3; i++) {
		let_pass((int64_t)(rnd_u64(&dice) % 8 + 1) * MS);
		sim_now_sample(engine, &now);
		if (i == 1 && !sim_gate_due(g, &now))
			fail_msg("the engine's gate is shut at %lld", (long long)now.sim_ns);
		publish(engine_pub, (double)i, 0);
	}
}

/* Another source, and back: all begins again. */
static void switch_sources(void)
{
	call("SetSource", "{\"source\": \"simulation\"}");
	let_pass(3 * MS);
	call("SetSource", "{\"source\": \"unity\"}");
	sim_driver_release(driver);
	take_lease();
}

/* ---- one run ---- */

static void part_begin(struct part *p, const char *name, const char *channel, int rank)
{
	*p = (struct part){ .c = world_client(&w, name, 0) };
	p->pub = advertise(p->c, channel);
	if (rank >= 0)
		assert_int_equal(sim_step_join(p->c, (uint32_t)rank, &p->step), 0);
}

static void begin(uint64_t seed, bool lockstep)
{
	log_len = 0;
	n_paused = n_stepping = published = completed = 0;
	rnd_seed(&dice, seed);
	world_create(&w, seed, "");
	world_wait = w.env.wait;
	bridge_start(&w, &bridge);
	bridge_connected(&w, &bridge);
	engine = world_client(&w, "engine", SIM_CLIENT_SOURCE);
	stepper = world_client(&w, "stepper", SIM_CLIENT_NO_DATA);
	tool = world_client(&w, "operator", SIM_CLIENT_NO_DATA);
	engine_pub = advertise(engine, "engine");
	part_begin(&parts[0], "camera", "camera", lockstep ? 0 : -1);
	part_begin(&parts[1], "fusion", "fused", lockstep ? 1 : -1);
	part_begin(&parts[2], "watcher", "watched", -1);
	take_lease();
	w.env.wait = wait_while_others_run;
}

/* Copies the lines of one channel (or of all others) in their order of arrival. */
static size_t lines_of(uint32_t channel, bool others, char *ret)
{
	size_t n = 0;

	for (const char *line = log_text; *line; line = strchr(line, '\n') + 1)
		if (((uint32_t)strtoul(line, NULL, 10) == channel) != others) {
			size_t len = (size_t)(strchr(line, '\n') + 1 - line);

			memcpy(ret + n, line, len);
			n += len;
		}
	ret[n] = 0;
	return n;
}

/*
 * In lock-step the messages have one order, except those of the watcher, for which no step waits; otherwise each
 * channel has an order of its own.
 */
static void in_order(bool lockstep, char *ret)
{
	uint32_t watched = parts[2].pub->reg->channel_id;
	size_t n = lines_of(watched, false, ret);

	if (lockstep) {
		lines_of(watched, true, ret + n);
		return;
	}
	n += lines_of(engine_pub->reg->channel_id, false, ret + n);
	n += lines_of(parts[0].pub->reg->channel_id, false, ret + n);
	lines_of(parts[1].pub->reg->channel_id, false, ret + n);
}

static void finish(void)
{
	disturbed = resume_it = false;
	call("ResumeClock", "{}");
	sim_driver_release(driver); /* the messages published last are not held */
	for (int i = 0; i < 100; i++) {
		let_pass(MS);
		sim_process(engine);
	}
	assert_int_equal(completed, published);
	log_text[log_len] = 0;
	in_order(parts[0].step != NULL, ordered);
	w.env.wait = world_wait;
	for (unsigned i = 0; i < N_PARTS; i++) {
		sim_step_leave(parts[i].step);
		sim_publisher_destroy(parts[i].pub);
		sim_disconnect(parts[i].c);
	}
	sim_publisher_destroy(engine_pub);
	sim_disconnect(engine);
	sim_disconnect(stepper);
	sim_disconnect(tool);
	bridge_end(&bridge);
	world_destroy(&w);
}

static void run(uint64_t seed, bool lockstep, bool disturb_it)
{
	struct sim_gate g;

	begin(seed, lockstep);
	disturbed = disturb_it;
	assert_int_equal(sim_gate_init(&g, 100000), 0);
	for (int i = 0; i < N_INSTANTS; i++) {
		instant(&g);
		if (i % 16 == 15)
			switch_sources();
	}
	finish();
}

static void check_runs(bool lockstep)
{
	static char first[LOG_SIZE];

	run(1, lockstep, false);
	assert_int_equal(n_paused + n_stepping, 0);
	assert_int_equal(published, N_INSTANTS * 6);
	memcpy(first, ordered, sizeof(first));
	for (uint64_t seed = 2; seed <= 16; seed++) {
		run(seed, lockstep, true);
		if (!n_paused || !n_stepping)
			fail_msg("seed %llu: nothing was disturbed", (unsigned long long)seed);
		if (strcmp(first, ordered) != 0)
			fail_msg("seed %llu gives another run", (unsigned long long)seed);
	}
}

TEST(lock_step_loses_no_message_and_repeats_the_log)
{
	check_runs(true);
}

TEST(an_engine_without_lock_step_loses_no_message)
{
	check_runs(false);
}

/* The granted instant is published 20 ms later, and the step is not over before. */
TEST(a_step_lasts_until_the_engine_asks)
{
	struct sim_clock_sample now;
	int64_t granted;

	begin(1, false);
	call("PauseClock", "{}");
	post(stepper, "StepClock", json_pack("{s:I}", "dur_ns", (json_int_t)(100 * MS)));
	assert_int_equal(sim_driver_advance(driver, 200 * MS, &granted), 0);
	assert_int_equal(granted, 100 * MS);
	let_pass(20 * MS);
	for (int i = 0; i < 30; i++)
		publish(engine_pub, i, 0);
	sim_now_sample(engine, &now);
	assert_true(now.flags & SIM_CLOCK_STEPPING);
	resume_it = true;
	assert_int_equal(sim_driver_advance(driver, INSTANT_DUR, &granted), 0);
	assert_true(n_stepping > 20 * 5 && n_paused > 0);
	finish();
}

/* A wall clock is paused at once; messages published before are still delivered. */
TEST(messages_published_before_a_wall_clock_pauses_are_delivered)
{
	begin(1, false);
	call("SetSource", "{\"source\": \"simulation\"}");
	for (int i = 0; i < 20; i++) {
		w.env.wait = world_wait;
		post(tool, "PauseClock", NULL); /* simd has not read it yet */
		publish(engine_pub, i, 0);
		let_pass(MS);
		w.env.wait = wait_while_others_run;
		call("ResumeClock", "{}");
	}
	finish();
}
