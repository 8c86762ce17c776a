/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that reloads its scene, and one that is started a second time: time goes back by a jump of which every
 * client is notified, channels and handles stay, and nothing leaks however often it happens. In virtual time.
 */
#include "scenario/client/imu.h"

#include <dirent.h>
#include <errno.h>

#include <sim/timer.h>

#include "err.h"
#include "log.h"

#define RELOADS 100
#define TICK    (10 * MS)
#define TICKS   5

static struct world w;
static struct sim_client *engine, *other;
static struct sim_driver *d;
static struct bridge_peer bridge;
static unsigned jumps, fired, told;
static struct sim_clock_jump last;

static void on_log(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)user;
	(void)level;
	told += strcmp(topic, "time") == 0 && strncmp(text, "time jumps", 10) == 0;
}

static int setup(void **state)
{
	(void)state;
	world_create(&w, test_seed(7), "");
	engine = world_client(&w, "engine", SIM_CLIENT_SOURCE);
	other = world_client(&w, "other", 0);
	assert_ok(sim_driver_acquire(engine, 0, &d));
	jumps = fired = told = 0;
	assert_ok(log_set_spec("error,time:info"));
	log_set_handler(on_log, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_driver_release(d);
	sim_disconnect(engine);
	sim_disconnect(other);
	log_set_handler(NULL, NULL);
	assert_ok(log_set_spec("error"));
	world_destroy(&w);
	return 0;
}

static void on_jump(void *user, const struct sim_clock_jump *jump)
{
	(void)user;
	jumps++;
	last = *jump;
}

static void on_timer(void *user, const struct sim_timer_event *event)
{
	(void)user;
	(void)event;
	fired++;
}

static unsigned descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void publish(struct sim_publisher *p, unsigned token)
{
	struct outcome done = { 0 };
	struct sim_slot *slot = imu_loan(p);

	((struct sim_Imu *)sim_slot_body_mut(slot))->linear_acceleration.x = token;
	assert_ok(sim_try_queue(p, slot, NULL, on_done, &done));
	world_run(&w, MS);
	while (bridge_next(&bridge, 0) > 0)
		bridge_answer(&bridge, 0);
	world_process(&w, engine);
	assert_int_equal(done.calls, 1);
	if (!done.ok)
		fail_msg("%s", sim_reason_name(done.reason));
}

/* Returns the number of the scene's latched messages that a new subscriber gets. */
static unsigned latched(uint32_t *ret_generation)
{
	struct sim_subscriber *s = imu_subscribe(other, "map", SIM_SUB_LATCHED);
	const struct sim_message *m;
	unsigned token;

	assert_int_equal(sim_wait(s, S), 1);
	assert_ok(sim_take(s, &m));
	token = (unsigned)((const struct sim_Imu *)m->body)->linear_acceleration.x;
	*ret_generation = m->header.clock_generation;
	assert_ok(sim_release(s, m));
	assert_int_equal(sim_take(s, &m), -EAGAIN);
	sim_subscriber_destroy(s);
	return token;
}

static void run_scene(struct sim_publisher *p)
{
	int64_t granted;

	for (int64_t i = 1; i <= TICKS; i++) {
		assert_ok(sim_driver_advance(d, TICK, &granted));
		assert_int_equal(granted, TICK);
		assert_int_equal(sim_now(other), i * TICK);
		publish(p, 0);
		world_process(&w, other);
	}
}

TEST_WITH(a_hundred_reloads_leave_nothing_behind, setup, teardown)
{
	struct sim_jump_handler *handler;
	struct sim_publisher *map, *imu;
	struct sim_subscriber *sub;
	struct mem_stats first, now;
	struct sim_timer *timer;
	unsigned fds = 0;

	bridge_start(&w, &bridge);
	bridge_connected(&w, &bridge);
	map = imu_advertise(engine, "map", SIM_PUB_LATCH);
	imu = imu_advertise(engine, "imu", 0);
	sub = imu_subscribe(other, "imu", 0);
	assert_ok(sim_clock_on_jump(other, NULL, on_jump, NULL, &handler));
	assert_ok(sim_timer_create(other, TICK, 0, on_timer, NULL, &timer));
	for (unsigned i = 1; i <= RELOADS; i++) {
		uint32_t generation;
		unsigned before;

		publish(map, i);
		run_scene(imu);
		before = fired;
		assert_ok(sim_driver_jump(d, 0));
		assert_int_equal(sim_now(engine), 0);
		world_process(&w, other);
		world_process(&w, bridge.c);
		assert_int_equal(jumps, i);
		assert_int_equal(last.old_sim_ns, TICKS * TICK);
		assert_int_equal(last.new_sim_ns, 0);
		assert_true(fired - before <= 1); /* at the jump's own time at most */
		publish(map, 1000 + i);
		assert_int_equal(latched(&generation), 1000 + i);
		assert_int_equal(generation, last.clock_generation);
		for (unsigned k = 0; k < TICKS; k++)
			imu_expect(sub, (i - 1) * TICKS + k + 1); /* the channel has continued */
		mem_stats(&now);
		if (i == RELOADS / 2) {
			first = now;
			fds = descriptors();
		}
	}
	assert_true(fired >= RELOADS * (TICKS - 1));
	assert_int_equal(now.blocks, first.blocks);
	assert_int_equal(descriptors(), fds);
	sim_timer_destroy(timer);
	sim_jump_handler_destroy(handler);
	sim_subscriber_destroy(sub);
	sim_publisher_destroy(imu);
	sim_publisher_destroy(map);
	bridge_end(&bridge);
}

/* A second run reports where it begins; a driver that continues at the current time reports nothing, or that time. */
TEST_WITH(a_second_run_of_the_engine_is_a_jump, setup, teardown)
{
	struct sim_clock_jump jump;
	uint32_t generation;
	int64_t granted;

	assert_ok(sim_driver_set(d, 0));
	generation = sim_clock_page(other)->clock_generation;
	assert_ok(sim_driver_advance(d, S, &granted));
	sim_driver_release(d);
	sim_disconnect(engine);
	world_run(&w, MS);

	engine = world_client(&w, "engine", SIM_CLIENT_SOURCE);
	assert_ok(sim_driver_acquire(engine, 0, &d));
	assert_ok(sim_driver_set(d, S));
	assert_ok(sim_driver_advance(d, S, &granted));
	assert_int_equal(sim_clock_jumped(other, &generation, &jump), 0);
	assert_int_equal(sim_now(other), 2 * S);
	sim_driver_release(d);
	sim_disconnect(engine);
	world_run(&w, MS);

	engine = world_client(&w, "engine", SIM_CLIENT_SOURCE);
	assert_ok(sim_driver_acquire(engine, 0, &d));
	assert_ok(sim_driver_set(d, 0));
	assert_int_equal(sim_clock_jumped(other, &generation, &jump), 1);
	assert_int_equal(jump.old_sim_ns, 2 * S);
	assert_int_equal(jump.new_sim_ns, 0);
	assert_ok(sim_driver_advance(d, TICK, &granted));
	assert_int_equal(sim_now(other), TICK);
}

/* The log does not fill, and a client that looks rarely sees one large jump. */
TEST_WITH(a_thousand_jumps_a_second_are_followed, setup, teardown)
{
	static const int64_t to[] = { 0, INT64_MAX, 5 * S, 1 };
	struct sim_jump_handler *handler;
	struct sim_gate gate;
	struct sim_clock_sample now;
	int64_t granted;

	assert_ok(sim_clock_on_jump(other, NULL, on_jump, NULL, &handler));
	assert_ok(sim_gate_init(&gate, 100000));
	for (unsigned i = 0; i < 1000; i++) {
		int64_t at = to[i % 4];

		assert_ok(sim_driver_jump(d, at));
		assert_int_equal(sim_now(other), at);
		sim_now_sample(other, &now);
		assert_true(sim_gate_due(&gate, &now));
		assert_int_equal(sim_driver_jump(d, -1 - (int64_t)i), -ERANGE);
		assert_int_equal(sim_driver_advance(d, MS, &granted), at == INT64_MAX ? -ERANGE : 0);
		world_run(&w, MS);
		if (i % 10 == 0)
			world_process(&w, other);
	}
	world_process(&w, other);
	assert_int_equal(sim_now(other), 1 + MS);
	assert_int_equal(last.new_sim_ns, 1);
	assert_int_equal(last.clock_generation, sim_clock_page(other)->clock_generation);
	assert_in_range(jumps, 64, 1000);
	assert_in_range(told, 1, 100);
	sim_jump_handler_destroy(handler);
}

/* Simulated time that was jumped over takes no wall time. */
TEST_WITH(a_paced_driver_keeps_its_pace_over_jumps, setup, teardown)
{
	static const int64_t to[] = { 3600 * S, 5 * S, 0, 7 * S };
	int64_t granted, began, wall_ns;

	sim_driver_release(d);
	assert_ok(sim_driver_acquire(engine, SIM_DRIVER_PACED, &d));
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = 0; k < 50; k++)
			assert_ok(sim_driver_advance(d, TICK, &granted));
		assert_ok(sim_driver_jump(d, to[i]));
		began = exec_now(w.x);
		for (unsigned k = 0; k < 50; k++)
			assert_ok(sim_driver_advance(d, TICK, &granted));
		wall_ns = exec_now(w.x) - began;
		assert_in_range(wall_ns, 50 * TICK, 50 * TICK + MS);
		assert_int_equal(sim_now(other), to[i] + 50 * TICK);
	}
}
