/* SPDX-License-Identifier: Apache-2.0 */
/* A pause that waits until no message is on its way: the whole daemon, in virtual time. */
#include "scenario/client/world.h"

#include <errno.h>

#include <sim/msg/Vector3.h>

#define N_MESSAGES 5

static struct world w;
static struct bridge_peer bridge;
static struct sim_client *engine, *tool, *other;
static struct sim_driver *driver;
static struct sim_publisher *pub;
static struct outcome outcome;
static bool inside, answered, resumes;
static int turns;
static int (*world_wait)(void *arg, int fd, short events, int64_t timeout_dur_ns);

static void answer_all(void)
{
	assert_int_equal(outcome.calls, 0); /* their arrival has not been reported */
	for (unsigned n = 0; n < N_MESSAGES;) {
		unsigned more = bridge_next(&bridge, 10);

		assert_true(more > 0);
		n += more;
		bridge_answer(&bridge, 0);
	}
	answered = true;
}

static void turn(void)
{
	char *json = NULL;

	turns++;
	if (turns == 10 && resumes) {
		assert_int_equal(sim_call(other, "ResumeClock", "{}", &json), 0);
		free(json);
	}
	if (turns == 20)
		answer_all();
	sim_process(engine);
}

/* Whenever a client waits for simd, the bridge and the others have a turn now and then. */
static int wait_and_turn(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	int64_t end = exec_now(w.x) + timeout_dur_ns;
	int r;

	if (inside)
		return world_wait(arg, fd, events, timeout_dur_ns);
	inside = true;
	while (!(r = world_wait(arg, fd, events, 0)) && exec_now(w.x) < end) {
		turn();
		world_wait(arg, -1, 0, MS);
	}
	inside = false;
	return r;
}

static int begin(void **state)
{
	struct sim_publisher_options po = { .size = sizeof(po) };

	(void)state;
	memset(&outcome, 0, sizeof(outcome));
	inside = answered = resumes = false;
	turns = 0;
	world_create(&w, 1, "");
	world_wait = w.env.wait;
	bridge_start(&w, &bridge);
	bridge_connected(&w, &bridge);
	engine = world_client(&w, "engine", SIM_CLIENT_SOURCE);
	tool = world_client(&w, "tool", SIM_CLIENT_NO_DATA);
	other = world_client(&w, "other", SIM_CLIENT_NO_DATA);
	assert_int_equal(sim_advertise(engine, "v", &sim_Vector3_type, &po, &pub), 0);
	assert_int_equal(sim_driver_acquire(engine, 0, &driver), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	w.env.wait = world_wait;
	sim_driver_release(driver);
	sim_publisher_destroy(pub);
	sim_disconnect(engine);
	sim_disconnect(tool);
	sim_disconnect(other);
	bridge_end(&bridge);
	world_destroy(&w);
	return 0;
}

static void publish(void)
{
	const struct sim_Vector3 v = { .x = 1 };

	for (int i = 0; i < N_MESSAGES; i++)
		assert_int_equal(sim_try_queue_copy(pub, &v, sizeof(v), 0, NULL, on_done, &outcome), 0);
}

static int drain(void)
{
	char *json = NULL;
	int r;

	w.env.wait = wait_and_turn;
	r = sim_call_within(tool, "PauseClock", "{\"drain\": true}", 3600 * S, &json);
	if (r == 0)
		assert_non_null(strstr(json, "\"paused\":true"));
	free(json);
	w.env.wait = world_wait;
	return r;
}

static void pause_now(void)
{
	char *json = NULL;

	/* requested by the driver's own client: begins at once */
	assert_int_equal(sim_call(engine, "PauseClock", "{}", &json), 0);
	assert_non_null(strstr(json, "\"paused\":true"));
	free(json);
}

TEST_WITH(a_drain_waits_until_all_has_arrived, begin, end)
{
	assert_int_equal(sim_driver_advance(driver, 10 * MS, NULL), 0);
	publish();
	pause_now();
	assert_int_equal(drain(), 0);
	assert_true(answered);
	sim_process(engine);
	assert_int_equal(outcome.ok, N_MESSAGES);
	turns = 100;
	assert_int_equal(drain(), 0); /* no message is on its way */
	assert_int_equal(turns, 100);
}

/* First the pause, which is due at the driver's next request; then the messages it has published. */
TEST_WITH(a_drain_waits_for_the_pause_first, begin, end)
{
	char *json = NULL;

	assert_int_equal(sim_driver_advance(driver, 10 * MS, NULL), 0);
	publish();
	assert_int_equal(sim_call(tool, "PauseClock", "{}", &json), 0);
	assert_non_null(strstr(json, "\"pausing\":true"));
	free(json);
	sim_driver_release(driver); /* the driver asks for no more time */
	driver = NULL;
	assert_int_equal(drain(), 0);
	assert_true(answered);
}

TEST_WITH(a_drain_ends_when_time_resumes, begin, end)
{
	assert_int_equal(sim_driver_advance(driver, 10 * MS, NULL), 0);
	publish();
	pause_now();
	resumes = true;
	assert_int_equal(drain(), -ECANCELED);
	assert_non_null(strstr(sim_why(), "time went on"));
}
