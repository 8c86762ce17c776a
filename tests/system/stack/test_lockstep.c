/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Components in several hosts, in lock-step: a run repeats byte for byte, with any number of scheduler workers, and in
 * any order of connecting. Recordings are compared. A graph of its own with a driver that starts as soon as simd is up,
 * where time waits for the hosts and for the recorder; and the perception rig as it is shipped, with SUMO. * RUNS=n: so
 * many runs of each (10 with FULL=1).
 */
#include "stack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sim/msg/Int64.h>
#include <sim/sim.h>

#include "mem.h"

#define STEPS    300
#define STEP_DUR (10 * NS_PER_MS)
#define FILE_OUT "/tmp/out.mcap"
#define RIG      "config/rigs/perception.json"
#define CHAIN    "config/rigs/perception/chain.json"
#define SUMO_END "1200" /* steps, of 10 ms */

TEST_PROCESSES();

/* ---- recordings ---- */

struct bytes {
	size_t n;
	unsigned char *at;
};

static struct bytes take_file(void)
{
	struct bytes b = { 0 };
	struct stat st;
	FILE *f = fopen(FILE_OUT, "rb");

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	b.n = (size_t)st.st_size;
	b.at = malloc(b.n);
	assert_non_null(b.at);
	assert_int_equal(fread(b.at, 1, b.n, f), b.n);
	fclose(f);
	return b;
}

/* The first run's stays. */
static void compare(struct bytes *first, int run)
{
	struct bytes b = take_file();

	if (!first->at) {
		*first = b;
	} else if (b.n != first->n || memcmp(b.at, first->at, b.n) != 0) {
		fail_msg("run %d: the recording differs: %zu bytes, %zu in the first run", run, b.n, first->n);
	} else {
		free(b.at);
	}
	assert_int_equal(unlink(FILE_OUT), 0);
}

/* How many messages of a channel are in it. */
static unsigned recorded(const char *channel)
{
	const char *const info[] = { "simctl", "bag", "info", FILE_OUT, "--json", NULL };
	const struct ctl_result *r = stack_run(info);
	json_t *j = json_loads(r->out, 0, NULL), *ch;
	unsigned n = 0;
	size_t i;

	if (!j)
		fail_msg("simctl bag info: %s%s", r->out, r->err);
	json_array_foreach(json_object_get(j, "channels"), i, ch)
		if (strcmp(json_string_value(json_object_get(ch, "channel")), channel) == 0)
			n = (unsigned)json_integer_value(json_object_get(ch, "messages"));
	json_decref(j);
	return n;
}

static int runs(int quick)
{
	return getenv("RUNS") ? atoi(getenv("RUNS")) : test_full() ? 10 : quick;
}

static unsigned workers_of(int run)
{
	return 1u << run % 4; /* 1, 2, 4, 8 */
}

/* ---- a graph over three hosts: the first two of one rank, the third behind them; one edge leads back ---- */

#define READ1(a)         "\"readers\":[{\"channel\":\"" a "\",\"pending\":16}]"
#define READ2(a, b)      "\"readers\":[{\"channel\":\"" a "\",\"pending\":16},{\"channel\":\"" b "\"}]"
#define TICK(name, ms)   "{\"class\":\"Tick\",\"name\":\"" name "\",\"interval_ms\":" ms "}"
#define MIX1(name, a)    "{\"class\":\"Mix1\",\"name\":\"" name "\"," READ1(a) "}"
#define MIX2(name, a, b) "{\"class\":\"Mix2\",\"name\":\"" name "\"," READ2(a, b) "}"

static const char *const graph[] = {
	TICK("fast", "7") "," MIX1("left", "/x") "," MIX2("round", "/x", "/end"),
	TICK("slow", "50") "," MIX2("right", "/fast", "/x"),
	MIX2("both", "/left", "/right") "," MIX1("end", "/both"),
};

static void write_dags(unsigned workers)
{
	for (unsigned i = 0; i < 3; i++) {
		char path[32];
		FILE *f;

		snprintf(path, sizeof(path), "/tmp/%c.json", (char)('a' + i));
		f = fopen(path, "w");
		assert_non_null(f);
		fprintf(f,
			"{\"mode\":\"simulation\",\"rank\":%d,\"scheduler\":{\"default_proc_num\":%u},\"modules\":[{\"library\":"
			"\"%s/graph.so\",\"components\":[%s]}]}\n",
			i < 2 ? 10 : 20, workers, realpath(SHELF, (char[PATH_MAX]){ 0 }), graph[i]);
		assert_int_equal(fclose(f), 0);
	}
}

#define HOST(name) \
	"{\"name\":\"host-" name "\",\"command\":[\"simhost\",\"-p\",\"" name "\",\"-d\",\"/tmp/" name ".json\"]}"

static pid_t start_graph(void)
{
	/* by the name of the process, or of the client */
	return stack_start("\"TimeSource\":\"unity\"," STACK_POOLS ",\"rigs\":[{\"name\":\"graph\","
			   "\"wait_for\":[\"host-a\",\"b\",\"host-c\",\"rec\"],"
			   "\"bridges\":[{\"name\":\"rec\",\"plugin\":\"mcap\",\"connection\":\"/tmp/out\"}],"
			   "\"processes\":[" HOST("a") "," HOST("b") "," HOST("c") "]}]");
}

static void drive(void)
{
	struct sim_client_options co = {
		.size = sizeof(co), .name = "engine", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_client *c;
	struct sim_publisher *x;
	struct sim_driver *d;

	if (sim_connect(&co, &c) < 0 || sim_advertise(c, "/x", &sim_Int64_type, NULL, &x) < 0 ||
	    sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL | SIM_DRIVER_LOCKSTEP, &d) < 0)
		fail_msg("%s", sim_why());
	for (int i = 0; i <= STEPS; i++) {
		struct sim_Int64 m = { .data = i };

		if (sim_driver_advance(d, STEP_DUR, NULL) < 0)
			fail_msg("step %d: %s", i, sim_why());
		if (i < STEPS)
			assert_int_equal(sim_try_queue_copy(x, &m, sizeof(m), 0, NULL, NULL, NULL), 0);
	}
	sim_driver_release(d);
	sim_publisher_destroy(x);
	sim_disconnect(c);
}

TEST_WITH(a_graph_over_hosts_repeats_with_any_number_of_workers, NULL, stack_sweep)
{
	struct bytes first = { 0 };

	for (int run = 0; run < runs(4); run++) {
		pid_t simd;

		write_dags(workers_of(run));
		simd = start_graph();
		drive();
		stack_stop(simd);
		if (run == 0) {
			assert_int_equal(recorded("/left"), STEPS);
			assert_true(recorded("/both") > STEPS - 10); /* at first there is no right yet */
			assert_int_equal(recorded("/end"), recorded("/both"));
		}
		compare(&first, run);
	}
	free(first.at);
}

/* Time stands until the client connects, and the status says why. */
TEST_WITH(a_client_missing_at_the_start_is_named, NULL, stack_sweep)
{
	struct sim_client_options co = {
		.size = sizeof(co), .name = "engine", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_client *c;
	struct sim_driver *d;
	pid_t simd =
		stack_start("\"TimeSource\":\"unity\"," STACK_POOLS ",\"step\":{\"deadline_ms\":1},\"rigs\":[{\"name\":"
			    "\"graph\",\"wait_for\":[\"planner\",\"engine\",\"hero\"]}]");

	assert_int_equal(sim_connect(&co, &c), 0);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	assert_non_null(
		strstr(stack_ctl("clock", "status", NULL)->out, "\nwaits for:  planner, hero, before time begins\n"));
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, "it waits for planner (rigs[].wait_for)"));
	AWAIT(stack_said("as it waits for planner, hero (rigs[].wait_for); waiting on"));
	sim_driver_release(d);
	sim_disconnect(c);
	stack_stop(simd);
}

/* ---- the perception rig ---- */

static json_t *load(const char *path)
{
	json_error_t e;
	json_t *j = json_load_file(path, 0, &e);

	if (!j)
		fail_msg("%s:%d: %s", path, e.line, e.text);
	return j;
}

static json_t *process(json_t *rig, const char *name)
{
	json_t *p;
	size_t i;

	json_array_foreach(json_object_get(rig, "processes"), i, p)
		if (strcmp(json_string_value(json_object_get(p, "name")), name) == 0)
			return p;
	fail_msg("%s has no process %s", RIG, name);
	return NULL;
}

static void write_chain(unsigned workers)
{
	json_t *dag = load(CHAIN);

	json_object_set_new(dag, "scheduler", json_pack("{s:i}", "default_proc_num", (int)workers));
	assert_int_equal(json_dump_file(dag, "/tmp/chain.json", 0), 0);
	json_decref(dag);
}

#define BIN SHELF "/../../bin/"

/* The components come when SUMO has been ready for a while: it has asked for its first step. */
static void come_last(json_t *command)
{
	json_array_set_new(command, 0, json_string(BIN "simhost"));
	json_array_insert_new(command, 0, json_string("sh"));
	json_array_insert_new(command, 1, json_string("-c"));
	json_array_insert_new(command, 2,
			      json_string("until " BIN
					  "simctl clock status | grep -q sim-sumo; do :; done; exec \"$0\" \"$@\""));
}

/* As it is shipped, but recorded, as fast as it goes, and with an end. */
static pid_t start_rig(unsigned workers, bool late)
{
	json_t *rig = load(RIG), *chain = json_object_get(process(rig, "chain"), "command"),
	       *sumo = json_object_get(process(rig, "sumo"), "command");
	char conf[8192], *text;
	pid_t simd;

	write_chain(workers);
	assert_string_equal(json_string_value(json_array_get(chain, 4)), CHAIN);
	json_array_set_new(chain, 4, json_string("/tmp/chain.json"));
	if (late)
		come_last(chain);
	json_array_append_new(sumo, json_string("--free-run"));
	json_array_append_new(sumo, json_string("--steps"));
	json_array_append_new(sumo, json_string(SUMO_END));
	json_array_append_new(json_object_get(rig, "wait_for"), json_string("rec"));
	json_object_set_new(rig, "bridges",
			    json_pack("[{s:s,s:s,s:s}]", "name", "rec", "plugin", "mcap", "connection", "/tmp/out"));
	text = json_dumps(rig, 0);
	assert_true(snprintf(conf, sizeof(conf), "\"TimeSource\":\"unity\",\"rigs\":[%s]", text) < (int)sizeof(conf));
	free(text);
	json_decref(rig);
	simd = stack_start(conf);
	return simd;
}

TEST_FULL_WITH(the_perception_rig_repeats, NULL, stack_sweep)
{
	struct bytes first = { 0 };

	for (int run = 0; run < runs(3); run++) {
		pid_t simd = start_rig(workers_of(run), run % 2);

		AWAIT(stack_count("process: sumo exited", "exit code 0") == (unsigned)run + 1);
		stack_stop(simd);
		if (run == 0) {
			assert_true(recorded("/lidar/top") >= 119);
			assert_true(recorded("/control") > 0);
		}
		compare(&first, run);
	}
	free(first.at);
}
