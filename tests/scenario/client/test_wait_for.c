/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rig's wait_for: driven time does not begin before its participants have joined, the listed clients are ready, and
 * its bridges are connected; the clock status names the missing ones.
 */
#include "scenario/client/world.h"

#include <jansson.h>

#define CONF(step) \
	"{\"backend\": \"mem\", \"TimeSource\": \"unity\", \"pools\": [{\"size\": 512, \"count\": 4000}]," step \
	"\"rigs\": [{\"name\": \"car\", \"wait_for\": [\"a\", \"b\", \"log\"], \"bridges\": [{\"name\": \"log\", \"plugin\": " \
	"\"null\", \"start\": \"external\"}]}]}"
#define STEP_DUR (10 * MS)

static struct world w;

struct engine {
	struct sim_client *c;
	struct sim_driver *d;
	pthread_t thread;
	int result;
};

static void *engine_main(void *arg)
{
	struct engine *e = arg;

	e->result = sim_driver_advance(e->d, STEP_DUR, NULL);
	return NULL;
}

static void engine_begin(struct engine *e)
{
	e->c = world_client(&w, "engine", 0);
	assert_int_equal(sim_driver_acquire(e->c, SIM_DRIVER_FREEWHEEL, &e->d), 0);
	assert_int_equal(pthread_create(&e->thread, NULL, engine_main, e), 0);
}

static void engine_end(struct engine *e)
{
	assert_int_equal(pthread_join(e->thread, NULL), 0);
	assert_int_equal(e->result, 0);
	assert_int_equal(sim_now(e->c), STEP_DUR);
	sim_driver_release(e->d);
	sim_disconnect(e->c);
}

/* Returns the missing names, for example "a, log". */
static const char *missing(struct sim_client *c)
{
	static char text[256];
	char *reply = NULL;
	json_t *o, *v;
	size_t i, n = 0;

	*text = '\0';
	if (sim_call(c, "GetClock", NULL, &reply) < 0)
		return "?";
	o = json_loads(reply, 0, NULL);
	json_array_foreach(json_object_get(json_object_get(o, "clock"), "waits_for"), i, v)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "", json_string_value(v));
	json_decref(o);
	free(reply);
	return text;
}

struct crew {
	struct sim_client *a, *b;
	struct bridge_peer log;
	struct sim_step *s;
};

static void come(struct crew *k, int who)
{
	if (who == 0)
		assert_int_equal(sim_step_join(k->a, 1, &k->s), 0);
	else if (who == 1)
		assert_int_equal(sim_client_ready(k->b), 0);
	else
		bridge_connected(&w, &k->log);
}

/* Whichever of them is the last. */
TEST(time_starts_when_all_clients_in_wait_for_are_present)
{
	static const char *const names[] = { "a", "b", "log" };

	for (int last = 0; last < 3; last++) {
		struct sim_step_turn turn;
		struct crew k;
		struct engine e;

		world_create_threads(&w, CONF(""));
		engine_begin(&e);
		k.a = world_client(&w, "a", 0);
		k.b = world_client(&w, "b", 0);
		bridge_start(&w, &k.log);
		assert_string_equal(missing(k.a), "a, b, log"); /* to be connected to simd is not enough */
		come(&k, (last + 1) % 3);
		come(&k, (last + 2) % 3);
		assert_string_equal(missing(k.a), names[last]);
		assert_int_equal(sim_now(k.a), 0);
		come(&k, last);
		assert_int_equal(sim_step_wait(k.s, 10 * S, &turn), 0);
		assert_int_equal(turn.now.sim_ns, STEP_DUR); /* the first step of all */
		assert_string_equal(missing(k.b), "");
		assert_int_equal(sim_step_done(k.s), 0);
		engine_end(&e);
		sim_step_leave(k.s);
		bridge_end(&k.log);
		sim_disconnect(k.b);
		sim_disconnect(k.a);
		world_destroy(&w);
	}
}

/* Only clients that are present now count. */
TEST(a_client_that_leaves_before_the_start_is_waited_for_again)
{
	struct sim_client *a;
	struct sim_step *s;

	world_create_threads(&w, CONF(""));
	a = world_client(&w, "a", 0);
	assert_int_equal(sim_step_join(a, 1, &s), 0);
	assert_string_equal(missing(a), "b, log");
	sim_step_leave(s);
	AWAIT(!strcmp(missing(a), "a, b, log"));
	sim_disconnect(a);
	world_destroy(&w);
}

TEST(a_new_simd_learns_again_which_clients_are_ready)
{
	struct sim_client *b;

	world_create_threads(&w, CONF(""));
	b = world_client(&w, "b", 0);
	assert_int_equal(sim_client_ready(b), 0);
	assert_string_equal(missing(b), "a, log");
	world_kill_simd(&w);
	AWAIT(sim_client_state(b) == SIM_CLIENT_RECONNECTING);
	assert_int_equal(sim_client_ready(b), 0); /* simd gets it after the reconnect */
	world_start_simd(&w);
	world_until(&w, b, SIM_CLIENT_CONNECTED);
	assert_string_equal(missing(b), "a, log");
	sim_disconnect(b);
	world_destroy(&w);
}

/* step.late */
TEST(with_late_drop_time_starts_without_missing_clients)
{
	struct engine e;

	world_create_threads(&w, CONF("\"step\": {\"deadline_ms\": 1, \"late\": \"drop\"},"));
	engine_begin(&e);
	engine_end(&e);
	world_destroy(&w);
}
