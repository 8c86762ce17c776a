/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A free-running engine with two bridges: everything is recorded, nothing is lost, and an unresponsive bridge stops no
 * other client.
 */
#include "peer.h"
#include "stack.h"

#include <zlib.h>

#define STEPS     3000
#define RIG(a, b) RIG_WITH(",", a, b)
#define RIG_WITH(more, a, b) \
	"\"TimeSource\":\"unity\"," STACK_POOLS more "\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"a\"," a \
	"},{\"name\":\"b\"," b "}]}]"
#define FAULTY_BRIDGE "\"plugin\":\"" FAULTY "\""
#define SLOW          FAULTY_BRIDGE ",\"options\":{\"mode\":\"slow\",\"delay_us\":300}"
#define LOGGING       "\"plugin\":\"logging\",\"connection\":\"/tmp/out\""

static pid_t simd;

static void start(const char *conf)
{
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("a", "status"), "connected"));
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
}

/* Advances as fast as it can, publishes on two channels at each step, and never looks at a completion. */
static int engine(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_publisher *one = peer_advertise(p, c, "/t/one", 64, 0), *two = peer_advertise(p, c, "/t/two", 64, 0);
	struct sim_driver *d;
	int64_t granted;

	PEER(p, sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL, &d) == 0);
	atomic_store(&p->ready, 1);
	for (int i = 0; i < STEPS; i++) {
		PEER(p, sim_driver_advance(d, 10 * NS_PER_MS, &granted) == 0);
		PEER(p, peer_queue(p, one, sizeof(struct sim_Ultrasonic), NULL) == 0);
		PEER(p, peer_queue(p, two, sizeof(struct sim_Ultrasonic), NULL) == 0);
	}
	sim_driver_release(d); /* messages accepted by now are still waited for */
	peer_settle(p);
	sim_publisher_destroy(one);
	sim_publisher_destroy(two);
	sim_disconnect(c);
	return 0;
}

static void expect_all(const char *bridge)
{
	AWAIT(stack_bridge(bridge, "sent") == 2 * STEPS);
	assert_int_equal(stack_bridge(bridge, "failed") + stack_bridge(bridge, "dropped"), 0);
}

static unsigned lines(const char *path)
{
	gzFile f = gzopen(path, "rb");
	char line[4096];
	unsigned n = 0;

	assert_non_null(f);
	while (gzgets(f, line, sizeof(line)))
		n += line[strlen(line) - 1] == '\n';
	gzclose(f);
	return n;
}

static void run_free(const char *conf)
{
	struct peer *p = peer_new();

	start(conf);
	peer_join(p, peer_fork(p, engine));
	peer_check(p, false);
	assert_int_equal(p->accepted, 2 * STEPS);
	assert_int_equal(p->ok, 2 * STEPS);
	expect_all("a");
	expect_all("b");
	peer_free(p);
}

TEST_WITH(a_free_run_with_two_null_bridges_loses_nothing, NULL, stack_sweep)
{
	run_free(RIG(FAULTY_BRIDGE, FAULTY_BRIDGE));
	stack_stop(simd);
}

TEST_FULL_WITH(a_free_run_with_a_slow_bridge_loses_nothing, NULL, stack_sweep)
{
	run_free(RIG(FAULTY_BRIDGE, SLOW));
	assert_int_equal(stack_count("bridge-slow", ""), 0);
	stack_stop(simd);
}

TEST_WITH(a_free_run_with_a_logging_bridge_loses_nothing, NULL, stack_sweep)
{
	run_free(RIG(FAULTY_BRIDGE, LOGGING));
	stack_stop(simd);
	assert_int_equal(lines("/tmp/out.txt.gz"), 2 * 2 * STEPS); /* a head and a body each */
}

/* config/rigs/dataset.json, as the README says; only its log is written elsewhere. */
TEST_FULL_WITH(the_recipe_for_a_data_set_loses_nothing, NULL, stack_sweep)
{
	json_t *rig = json_load_file("config/rigs/dataset.json", 0, NULL), *log;
	char *text, *conf = NULL;
	int64_t sent;

	log = json_array_get(json_object_get(rig, "bridges"), 0);
	assert_int_equal(json_object_set_new(log, "connection", json_string("/tmp/out")), 0);
	text = json_dumps(rig, JSON_COMPACT);
	assert_true(asprintf(&conf, "\"rigs\":[%s]", text) > 0);
	simd = stack_start(conf);
	AWAIT(stack_said("sumo exited"));
	assert_int_equal(stack_count("sim-sumo", "as fast as it can"), 1);
	AWAIT(stack_bridge("log", "queued") + stack_bridge("log", "held") == 0);
	sent = stack_bridge("log", "sent");
	assert_true(sent >= 3000); /* the IMU alone has one a step */
	assert_int_equal(stack_bridge("log", "attempted"), sent);
	assert_int_equal(stack_count("published", " 0 refused"), stack_count("published", ""));
	assert_int_equal(stack_count("published", " 0 not delivered"), stack_count("published", ""));
	stack_stop(simd);
	assert_int_equal(lines("/tmp/out.txt.gz"), 2 * sent);
	json_decref(rig);
	free(text);
	free(conf);
}

#define PATIENT \
	",\"dispatch\":{\"deadline_ms\":60000},\"process\":{\"stop_ms\":60000}," /* however busy the machine is */

/* In the middle of the run the recorder is started again, by command. */
TEST_FULL_WITH(a_bridge_restarted_during_a_free_run_loses_nothing, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	start(RIG_WITH(PATIENT, FAULTY_BRIDGE, LOGGING));
	pid = peer_fork(p, engine);
	AWAIT(p->called > 500);
	assert_int_equal(stack_ctl("bridge", "restart", "b", NULL)->code, 0);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(p->ok, p->accepted);
	peer_free(p);
	stack_stop(simd);
}

/* The bridge is killed: only the messages that it had not answered are lost. */
TEST_WITH(a_bridge_killed_during_a_free_run_loses_only_what_it_held, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	start(RIG_WITH(PATIENT, FAULTY_BRIDGE, LOGGING));
	pid = peer_fork(p, engine);
	AWAIT(p->called > 500);
	assert_int_equal(kill((pid_t)stack_bridge("b", "pid"), SIGKILL), 0);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(p->ok + p->reasons[SIM_REASON_BRIDGE_DIED], p->accepted);
	assert_true(p->ok > p->accepted - 1000);
	peer_free(p);
	stack_stop(simd);
}

/* ---- with time that runs by itself ---- */

#define WALL(b, more) \
	"\"TimeSource\":\"system\"," STACK_POOLS more ",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"a\"," FAULTY_BRIDGE "},{\"name\":\"b\"," b "}]}]"

static void stop_load(struct peer *p, pid_t pid)
{
	peer_tell(p, -1);
	peer_join(p, pid);
	peer_check(p, false);
	peer_free(p);
	stack_stop(simd);
}

/* A recorder that hangs costs its deadline once; then everything continues without it, and the log says so. */
TEST_WITH(a_hung_recorder_blocks_nobody_else_for_ever, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	int64_t sent;
	pid_t pid;

	start(WALL(FAULTY_BRIDGE ",\"lossless\":true,\"options\":{\"mode\":\"hang\",\"every\":100}",
		   ",\"dispatch\":{\"deadline_ms\":300}"));
	pid = peer_fork(p, peer_publisher);
	AWAIT(stack_count("bridge b", "it is stalled") == 1);
	sent = stack_bridge("a", "sent");
	AWAIT(stack_bridge("a", "sent") > sent + 1000);
	assert_true(p->reasons[SIM_REASON_BRIDGE_SLOW] > 0);
	assert_non_null(strstr(stack_ctl("bridge", "info", "b", NULL)->out, "stalled"));
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, "b is stalled"));
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, "(bridge-slow): it did not answer"));
	assert_int_equal(stack_bridge("a", "failed"), 0);
	stop_load(p, pid);
}

/*
 * A bridge that publishers do not wait for misses messages when it falls behind: named once, counted, and doctor gives
 * advice.
 */
TEST_FULL_WITH(a_slow_lossless_bridge_is_named, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	start(WALL(FAULTY_BRIDGE ",\"options\":{\"mode\":\"slow\",\"delay_us\":20000}", ""));
	pid = peer_fork(p, peer_publisher);
	AWAIT(p->reasons[SIM_REASON_BRIDGE_SLOW] > 100);
	assert_int_equal(stack_count("bridge b has fallen behind", "bridge-slow"), 1);
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, "\"lossless\": true"));
	assert_non_null(strstr(stack_ctl("bridge", "info", "b", NULL)->out, "fell behind: missed"));
	assert_int_equal(stack_bridge("a", "dropped"), 0);
	stop_load(p, pid);
}

/* The same for the logging bridge, which keeps data: producers wait for it, and the other bridge waits too. */
TEST_WITH(producers_wait_for_a_recorder, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	start(WALL(LOGGING, ""));
	assert_non_null(strstr(stack_ctl("bridge", "info", "b", NULL)->out, "lossless: yes"));
	assert_null(strstr(stack_ctl("bridge", "info", "a", NULL)->out, "lossless: yes"));
	pid = peer_fork(p, peer_publisher);
	AWAIT(p->called > 20000);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(stack_bridge("b", "failed") + stack_bridge("b", "dropped"), 0);
	assert_int_equal(stack_bridge("b", "sent"), p->accepted);
	peer_free(p);
	stack_stop(simd);
}
