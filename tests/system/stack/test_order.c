/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same inputs give the same logs: two rigs, three logging bridges and one that records, which convert large
 * messages on several lanes, sensors with random delays. The compressed files are the same in each run, whatever the
 * number of lanes and CPUs. And bridges that are killed in the middle delay no other client.
 *
 * RUNS=n: so many runs (10 with FULL=1).
 */
#include "peer.h"
#include "stack.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

#include <sim/msg/CompressedImage.h>

#define LOG(name, channels) \
	"{\"name\":\"" name "\",\"plugin\":\"logging\",\"connection\":\"/tmp/out-" name "\",\"channels\":[\"" channels \
	"\"]," \
	"\"options\":{\"max_array\":0}}"
#define REC "{\"name\":\"car-rec\",\"plugin\":\"mcap\",\"connection\":\"/tmp/out-car-rec\"}"
#define CONF \
	"\"TimeSource\":\"unity\",\"pools\":[{\"size\":\"1KiB\",\"count\":600},{\"size\":\"64KiB\",\"count\":300}]," \
	"\"dispatch\":{\"lanes\":%u,\"cycle_ms\":1},\"rigs\":[" \
	"{\"name\":\"car\",\"prefix\":\"/car\",\"bridges\":[" LOG("car-all", "*") "," LOG( \
		"car-part", "camera") "," REC "]}," \
				      "{\"name\":\"van\",\"prefix\":\"/van\",\"bridges\":[" LOG("van-all", "*") "]}]"

#define STEPS    110 /* over two seconds of simulated time */
#define STEP_DUR (20 * NS_PER_MS)
#define SENSORS  3
#define IMAGE    24000 /* bytes, which become four times as many of text */
#define LOGS     4
#define RECORDED 3 /* the log that is a recording */

/* Where the processes of a run meet before it begins, and the one that kills with the engine. */
struct arena {
	_Atomic int joined, over, step;
};

static struct arena *arena;
static pid_t simd;

static const char *const sensors[SENSORS] = { "camera", "lidar", "radar" };
static const char *const channels[SENSORS] = { "/car/camera", "/car/lidar", "/van/radar" };
static const char *const logs[LOGS] = { "car-all", "car-part", "van-all", "car-rec" };

/* ---- the processes ---- */

static void dawdle(void)
{
	static unsigned state;

	if (!state)
		state = (unsigned)mono_now_ns() | 1;
	state = state * 1664525u + 1013904223u;
	if (state >> 28 < 4)
		moment_us(state >> 22);
}

static void publish(struct peer *p, struct sim_publisher *pub, uint32_t seed)
{
	static uint8_t body[IMAGE + 4096];
	struct sim_builder b;
	uint8_t *data;

	sim_CompressedImage_init(body, sizeof(body), &b);
	data = sim_CompressedImage_data_alloc(&b, IMAGE);
	for (unsigned i = 0; i < IMAGE; i++)
		data[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
	PEER(p, sim_try_queue_copy(pub, body, sim_builder_size(&b), 0, NULL, NULL, NULL) == 0);
}

static int sensor_main(struct peer *p)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = IMAGE + 4096 };
	int me = p->command, r;
	struct sim_client *c = peer_connect(p, sensors[me]);
	struct sim_publisher *pub;
	struct sim_step_turn turn;
	struct sim_step *s;

	PEER(p, sim_advertise(c, channels[me], &sim_CompressedImage_type, &o, &pub) == 0);
	PEER(p, sim_step_join(c, 0, &s) == 0);
	atomic_fetch_add(&arena->joined, 1);
	while ((r = sim_step_wait(s, 20 * NS_PER_MS, &turn)) == 0 || (r == -ETIMEDOUT && !atomic_load(&arena->over))) {
		if (r < 0)
			continue;
		for (int i = 0; i < 3; i++) {
			dawdle();
			publish(p, pub, (uint32_t)(turn.now.sim_ns / NS_PER_MS) * 8 + (uint32_t)(me * 4 + i));
		}
		PEER(p, sim_step_done(s) == 0);
	}
	sim_step_leave(s);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

/* All that the sensors publish, without them. */
static int alone_main(struct peer *p)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = IMAGE + 4096 };
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_publisher *pubs[SENSORS];
	struct sim_driver *d;

	for (int k = 0; k < SENSORS; k++)
		PEER(p, sim_advertise(c, channels[k], &sim_CompressedImage_type, &o, &pubs[k]) == 0);
	PEER(p, sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL | SIM_DRIVER_LOCKSTEP, &d) == 0);
	for (int i = 0; i < STEPS; i++) {
		PEER(p, sim_driver_advance(d, STEP_DUR, NULL) == 0);
		for (int k = 0; k < 3 * SENSORS; k++) {
			dawdle();
			publish(p, pubs[k % SENSORS], (uint32_t)(i * 16 + k));
		}
	}
	PEER(p, sim_driver_advance(d, STEP_DUR, NULL) == 0);
	atomic_store(&arena->over, 1);
	sim_driver_release(d);
	for (int k = 0; k < SENSORS; k++)
		sim_publisher_destroy(pubs[k]);
	sim_disconnect(c);
	return 0;
}

static int driver_main(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_driver *d;

	PEER(p, sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL, &d) == 0);
	AWAIT(atomic_load(&arena->joined) == SENSORS);
	for (int i = 0; i < STEPS; i++) {
		PEER(p, sim_driver_advance(d, STEP_DUR, NULL) == 0);
		atomic_fetch_add(&arena->step, 1);
	}
	atomic_store(&arena->over, 1);
	sim_driver_release(d);
	sim_disconnect(c);
	return 0;
}

/* ---- a run ---- */

static void begin(unsigned lanes)
{
	char conf[4096];

	snprintf(conf, sizeof(conf), CONF, lanes);
	memset(arena, 0, sizeof(*arena));
	simd = stack_start(conf);
	for (int i = 0; i < LOGS; i++)
		AWAIT(!strcmp(stack_bridge_text(logs[i], "status"), "connected"));
}

struct crew {
	struct peer *p[SENSORS + 1];
	pid_t pids[SENSORS + 1];
};

/* Starts with another process each time, so that the order of connecting differs. */
static void start(struct crew *w, int from)
{
	for (int k = 0; k <= SENSORS; k++) {
		int i = (from + k) % (SENSORS + 1);

		w->p[i] = peer_new();
		peer_tell(w->p[i], i);
		w->pids[i] = peer_fork(w->p[i], i < SENSORS ? sensor_main : driver_main);
	}
}

static void finish(struct crew *w)
{
	AWAIT(atomic_load(&arena->over) || w->p[SENSORS]->failed);
	for (int i = 0; i <= SENSORS; i++) {
		peer_join(w->p[i], w->pids[i]);
		peer_free(w->p[i]);
	}
}

static void path_of(int log, int number, char ret[64])
{
	char middle[16] = "";

	if (number > 1)
		snprintf(middle, sizeof(middle), ".%d", number);
	snprintf(ret, 64, "/tmp/out-%s%s%s", logs[log], middle, log == RECORDED ? ".mcap" : ".txt.gz");
}

/* ---- equal runs ---- */

struct bytes {
	size_t n;
	unsigned char *at;
};

static struct bytes first[LOGS];

static struct bytes take_file(int log)
{
	struct bytes b = { 0 };
	struct stat st;
	char path[64];
	FILE *f;

	path_of(log, 1, path);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	b.n = (size_t)st.st_size;
	b.at = malloc(b.n);
	assert_int_equal(fread(b.at, 1, b.n, f), b.n);
	fclose(f);
	assert_int_equal(unlink(path), 0);
	return b;
}

static unsigned members(const struct bytes *b)
{
	unsigned n = 0;

	for (size_t i = 0; i + 3 < b->n; i++)
		n += !memcmp(b->at + i, "\x1f\x8b\x08\x00", 4);
	return n;
}

static void compare(int run)
{
	for (int i = 0; i < LOGS; i++) {
		struct bytes b = take_file(i);

		if (!first[i].at) {
			assert_true(b.n > 100000);
			assert_true(i == RECORDED || members(&b) >= 3); /* a flush at each second, and at the end */
			first[i] = b;
			continue;
		}
		if (b.n != first[i].n || memcmp(b.at, first[i].at, b.n) != 0)
			fail_msg("run %d: the file of %s differs: %zu bytes, %zu in the first run", run, logs[i], b.n,
				 first[i].n);
		free(b.at);
	}
}

static void forget(void)
{
	for (int i = 0; i < LOGS; i++)
		free(first[i].at);
	memset(first, 0, sizeof(first));
}

static void pin(bool one)
{
	cpu_set_t some;

	assert_int_equal(sched_getaffinity(0, sizeof(some), &some), 0);
	for (size_t i = 0, kept = 0; i < CPU_SETSIZE && one; i++)
		if (CPU_ISSET(i, &some) && kept++)
			CPU_CLR(i, &some);
	assert_int_equal(sched_setaffinity(0, sizeof(some), &some), 0);
}

static int runs(void)
{
	return getenv("RUNS") ? atoi(getenv("RUNS")) : test_full() ? 10 : 3;
}

/* The first with one lane a bridge, one on one CPU, the others with as many lanes as they come to. */
TEST_WITH(equal_runs_write_equal_files, NULL, stack_sweep)
{
	cpu_set_t before;
	unsigned wide = 0;

	sched_getaffinity(0, sizeof(before), &before);
	for (int run = 0; run < runs(); run++) {
		struct crew w;

		pin(run == 2);
		begin(run ? 12 : 1);
		start(&w, run);
		finish(&w);
		for (int i = 0; i < LOGS && run; i++)
			wide += stack_bridge(logs[i], "lanes") > 1;
		stack_stop(simd);
		sched_setaffinity(0, sizeof(before), &before);
		compare(run);
	}
	assert_true(wide > 0);
	forget();
}

static void run_alone(void)
{
	struct peer *p = peer_new();
	pid_t pid = peer_fork(p, alone_main);

	AWAIT(atomic_load(&arena->over) || p->failed);
	peer_join(p, pid);
	peer_free(p);
}

/* A driver without participants. */
TEST_FULL_WITH(a_driver_alone_writes_equal_files, NULL, stack_sweep)
{
	unsigned wide = 0;

	for (int run = 0; run < runs(); run++) {
		begin(run ? 12 : 1);
		run_alone();
		for (int i = 0; i < LOGS && run; i++)
			wide += stack_bridge(logs[i], "lanes") > 1;
		stack_stop(simd);
		compare(run);
	}
	assert_true(wide > 0);
	forget();
}

/* ---- bridges that are killed ---- */

/* The stamps of a log rise from message to message; the last one. A file that was killed may end in the middle of a member. */
static double check_rising(int log, int number)
{
	static char line[8 * IMAGE];
	double last = 0, at;
	char path[64];
	gzFile f;

	path_of(log, number, path);
	f = gzopen(path, "rb");
	while (f && gzgets(f, line, sizeof(line))) {
		if (sscanf(line, "sim/CompressedImage /%*s %lf", &at) != 1)
			continue;
		if (at < last)
			fail_msg("%s: %f comes after %f", path, at, last);
		last = at;
	}
	if (f)
		gzclose(f);
	return last;
}

static void kill_bridge(const char *name, int after_step)
{
	pid_t pid;

	AWAIT(atomic_load(&arena->step) >= after_step || atomic_load(&arena->over));
	pid = (pid_t)stack_bridge(name, "pid");
	if (pid > 0)
		kill(pid, SIGKILL);
}

/* Each step ends, and messages after the last kill are in the log, in order. */
TEST_WITH(a_killed_bridge_delays_no_step, NULL, stack_sweep)
{
	struct crew w;
	double last = 0;

	begin(12);
	start(&w, 0);
	for (int i = 0; i < 4; i++)
		kill_bridge("car-all", 15 + 15 * i);
	finish(&w);
	assert_int_equal(atomic_load(&arena->step), STEPS);
	stack_stop(simd);
	for (int i = 1; i <= 5; i++) {
		double to = check_rising(0, i);

		last = to > last ? to : last;
	}
	assert_true(last > (double)(STEPS * STEP_DUR) / 1e9 - 0.001);
	assert_true(check_rising(2, 1) > last - 0.001); /* the other rig's has all of it */
}

static int setup(void **state)
{
	(void)state;
	arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return arena == MAP_FAILED;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(arena, sizeof(*arena));
}

TEST_GROUP(setup, teardown)
