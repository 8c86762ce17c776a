/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One order under any delay: an engine, participants of three ranks and two recording bridges. Their files are the
 * same, byte for byte, with simd's dispatch threads in SCHED_IDLE, beside busy loops, with two operators who pause,
 * step and scale at random, and where one of the bridges is killed. * RUNS=n: so many runs of each (4 with FULL=1, 20
 * in make soak FULL=1).
 */
#include "peer.h"
#include "stack.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <sim/msg/Int64.h>

#define INSTANTS    60
#define INSTANT_DUR (20 * NS_PER_MS) /* together over a second, so that the bridges flush in between */
#define N_PARTS     3
#define N_OPERATORS 2
#define N_LOOPS     3
#define N_LOGS      2
#define GO_ON       100 /* a command to the engine */

#define CONF \
	"\"TimeSource\":\"unity\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\"," \
	"\"wait_for\":[\"camera\",\"fusion\",\"planner\",\"log\",\"rec\"],\"bridges\":[" \
	"{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/out-log\"}," \
	"{\"name\":\"rec\",\"plugin\":\"mcap\",\"connection\":\"/tmp/out-rec\"}]}]"

static const char *const files[N_LOGS] = { "/tmp/out-log.txt.gz", "/tmp/out-rec.mcap" };

/* In the order of their turns; the order of the channels' names is another one. */
static const struct {
	const char *name, *channel;
} parts[N_PARTS] = { { "camera", "/car/z" }, { "fusion", "/car/c" }, { "planner", "/car/a" } };

enum hardship {
	IDLE = 1,      /* dispatch is run by processors that have nothing else to do */
	LOOPS = 2,     /* and they have */
	OPERATORS = 4, /* time is paused, stepped and scaled */
	KILL = 8,      /* the recorder dies */
	ROUDI = 16,    /* RouDi dies, while nothing is on its way */
};

struct arena {
	_Atomic int over, instant, halts,
		halted; /* halts: the engine is to, in the middle, when nothing is on its way */
};

static struct arena *arena;

/* ---- the processes ---- */

static void publish(struct peer *p, struct sim_publisher *pub, int64_t data, int64_t stamp_sim_ns)
{
	struct sim_Int64 m = { .data = data };

	int r;

	/* until its data plane is back */
	AWAIT((r = sim_try_queue_copy(pub, &m, sizeof(m), stamp_sim_ns, NULL, NULL, NULL)) != -ESTALE);
	PEER(p, r == 0);
}

static int part_main(struct peer *p)
{
	int me = p->command, r;
	struct sim_client *c = peer_connect(p, parts[me].name);
	struct sim_publisher *pub;
	struct sim_step_turn turn;
	struct sim_step *s;

	PEER(p, sim_advertise(c, parts[me].channel, &sim_Int64_type, NULL, &pub) == 0);
	PEER(p, sim_step_join(c, (uint32_t)me, &s) == 0);
	while ((r = sim_step_wait(s, 20 * NS_PER_MS, &turn)) == 0 || (r == -ETIMEDOUT && !atomic_load(&arena->over))) {
		if (r < 0)
			continue;
		for (int i = 0; i < 2; i++)
			publish(p, pub, turn.now.sim_ns + i, 0);
		PEER(p, sim_step_done(s) == 0);
	}
	sim_step_leave(s);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

/* Its stamps are ahead of those of the next instant; still it has published before. */
static int engine_main(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_clock_sample now;
	struct sim_publisher *pub;
	struct sim_driver *d;

	PEER(p, sim_advertise(c, "/car/m", &sim_Int64_type, NULL, &pub) == 0);
	PEER(p, sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL, &d) == 0);
	for (int i = 0; i <= INSTANTS; i++) {
		PEER(p, sim_driver_advance(d, INSTANT_DUR, NULL) == 0);
		atomic_store(&arena->instant, i);
		if (i == INSTANTS / 2 && atomic_load(&arena->halts)) {
			atomic_store(&arena->halted, 1);
			PEER_AWAIT(p, p->command == GO_ON);
		}
		sim_now_sample(c, &now);
		PEER(p, now.sim_ns == (i + 1) * INSTANT_DUR);
		for (int k = 0; k < 2 && i < INSTANTS; k++)
			publish(p, pub, i + k, now.sim_ns + 2 * INSTANT_DUR);
	}
	atomic_store(&arena->over, 1);
	sim_driver_release(d);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

static void operate(struct sim_client *c, uint32_t dice)
{
	static const char *const calls[][2] = {
		{ "PauseClock", "{}" },
		{ "ResumeClock", "{}" },
		{ "StepClock", "{\"dur_ns\":20000000}" },
		{ "StepClock", "{\"dur_ns\":60000000}" },
		{ "SetScale", "{\"scale\":0}" },
		{ "SetScale", "{\"scale\":1}" },
		{ "ResumeClock", "{}" },
	};
	const char *const *call = calls[dice % (sizeof(calls) / sizeof(calls[0]))];
	char *json;

	/* the other one may be faster: many are refused, and some end before they have begun */
	if (sim_call(c, call[0], call[1], &json) == 0)
		free(json);
}

static int operator_main(struct peer *p)
{
	struct sim_client *c = peer_connect(p, p->command ? "night" : "day");
	uint32_t dice = (uint32_t)mono_now_ns() | 1;

	while (!atomic_load(&arena->over)) {
		dice = dice * 1664525u + 1013904223u;
		operate(c, dice >> 20);
		if (dice >> 30)
			moment_us(dice >> 21);
	}
	sim_disconnect(c);
	return 0;
}

static pid_t loop_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (volatile unsigned n = 0;; n++)
		;
}

/* ---- a run ---- */

/* Its dispatch threads; how many. */
static unsigned make_idle(pid_t simd)
{
	char path[300], name[32];
	const struct dirent *e;
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)simd);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)simd, e->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) && strncmp(name, "simd-work", 9) == 0) {
			assert_int_equal(sched_setscheduler(atoi(e->d_name), SCHED_IDLE, &(struct sched_param){ 0 }),
					 0);
			n++;
		}
		if (f)
			fclose(f);
	}
	closedir(d);
	return n;
}

#define N_PEERS (N_PARTS + 1 + N_OPERATORS)

static int (*main_of(int i))(struct peer *p)
{
	return i < N_PARTS ? part_main : i == N_PARTS ? engine_main : operator_main;
}

static void kill_roudi(void)
{
	uint32_t life = stack_life();

	assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
	AWAIT(stack_life() > life);
}

/* Starts with another process each time, so that the order of connecting differs. */
static void play(unsigned hard, int from)
{
	int n = hard & OPERATORS ? N_PEERS : N_PARTS + 1;
	struct peer *p[N_PEERS];
	pid_t pids[N_PEERS];

	for (int k = 0; k < n; k++) {
		int i = (from + k) % n;

		p[i] = peer_new();
		peer_tell(p[i], i % (N_PARTS + 1));
		pids[i] = peer_fork(p[i], main_of(i));
	}
	if (hard & KILL) {
		AWAIT(atomic_load(&arena->instant) >= INSTANTS / 2 || p[N_PARTS]->failed);
		kill((pid_t)stack_bridge("rec", "pid"), SIGKILL);
	}
	if (hard & ROUDI) {
		AWAIT(atomic_load(&arena->halted) || p[N_PARTS]->failed);
		kill_roudi();
		peer_tell(p[N_PARTS], GO_ON);
	}
	AWAIT(atomic_load(&arena->over) || p[N_PARTS]->failed);
	for (int i = 0; i < n; i++) {
		peer_join(p[i], pids[i]);
		peer_free(p[i]);
	}
}

static void run(unsigned hard, int number)
{
	pid_t loops[N_LOOPS], simd;

	memset(arena, 0, sizeof(*arena));
	atomic_store(&arena->halts, (hard & ROUDI) != 0);
	simd = stack_start(CONF);
	if (hard & IDLE)
		assert_true(make_idle(simd) > 0);
	for (int i = 0; i < N_LOOPS; i++)
		loops[i] = hard & LOOPS ? loop_start() : 0;
	play(hard, number);
	for (int i = 0; i < N_LOOPS; i++)
		if (loops[i]) {
			kill(loops[i], SIGKILL);
			assert_int_equal(waitpid(loops[i], NULL, 0), loops[i]);
		}
	stack_stop(simd);
}

/* ---- equal runs ---- */

struct bytes {
	size_t n;
	unsigned char *at;
};

static struct bytes take_file(const char *path)
{
	struct bytes b = { 0 };
	struct stat st;
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	b.n = (size_t)st.st_size;
	b.at = malloc(b.n);
	assert_non_null(b.at);
	assert_int_equal(fread(b.at, 1, b.n, f), b.n);
	fclose(f);
	assert_int_equal(unlink(path), 0);
	return b;
}

/* n: of the logs. The first run's stay. */
static void compare(struct bytes *first, int number, int n)
{
	for (int i = 0; i < n; i++) {
		struct bytes b = take_file(files[i]);

		if (!first[i].at) {
			assert_true(b.n > 1000);
			first[i] = b;
			continue;
		}
		if (b.n != first[i].n || memcmp(b.at, first[i].at, b.n) != 0)
			fail_msg("run %d: %s differs: %zu bytes, %zu in the first run", number, files[i], b.n,
				 first[i].n);
		free(b.at);
	}
}

static int runs(int quick)
{
	return getenv("RUNS") ? atoi(getenv("RUNS")) : test_full() ? 4 : quick;
}

static void check(unsigned hard, int quick)
{
	struct bytes first[N_LOGS] = { { 0 } };
	int n = runs(quick);

	run(0, 0);
	compare(first, 0, N_LOGS);
	for (int i = 1; i <= n; i++) {
		run(hard, i);
		compare(first, i, hard & KILL ? 1 : N_LOGS);
	}
	for (int i = 0; i < N_LOGS; i++)
		free(first[i].at);
}

TEST_FULL_WITH(undisturbed_runs_write_equal_logs, NULL, stack_sweep)
{
	check(0, 2);
}

TEST_FULL_WITH(busy_loops_change_nothing, NULL, stack_sweep)
{
	check(LOOPS, 2);
}

TEST_FULL_WITH(a_late_dispatch_changes_nothing, NULL, stack_sweep)
{
	check(IDLE | LOOPS, 2);
}

TEST_WITH(two_operators_change_nothing, NULL, stack_sweep)
{
	check(IDLE | LOOPS | OPERATORS, 2);
}

TEST_FULL_WITH(a_killed_recorder_changes_no_other_log, NULL, stack_sweep)
{
	check(KILL, 2);
}

TEST_FULL_WITH(a_new_data_plane_changes_nothing, NULL, stack_sweep)
{
	check(ROUDI, 2);
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
