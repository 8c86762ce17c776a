/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step with real processes: three sensors, a program that subscribes and publishes, a driver and the logging
 * bridge, all of them as slow and as fast as chance has it. What the bridge writes is the same in every run, byte for
 * byte, on one CPU and on two.
 */
#include "peer.h"
#include "stack.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <zlib.h>

#define CONF \
	"\"TimeSource\":\"unity\"," STACK_POOLS \
	",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/out\"}]}]"

#define RUNS     10
#define STEPS    40
#define STEP_DUR (10 * NS_PER_MS)
#define SENSORS  3
#define WARM_UP \
	600 /* messages of each sensor before the first step, so that sequence numbers are the same in each run */
#define LOG_MAX (4u << 20)

/* Where the processes of a run meet before it begins; the run itself uses lock-step alone. */
struct arena {
	_Atomic int listening;      /* the program has subscribed */
	_Atomic int heard[SENSORS]; /* it has had something of that sensor: they are connected */
	_Atomic int warm[SENSORS];  /* that sensor has sent its warm-up */
	_Atomic int joined, over;
	unsigned seed;
};

static struct arena *arena;
static pid_t simd;

static const char *const names[SENSORS] = { "camera", "lidar", "radar" };
static const char *const channels[SENSORS] = { "/s/camera", "/s/lidar", "/s/radar" };

/* ---- the processes ---- */

/* As slow as chance has it: from not at all to a millisecond. */
static void dawdle(void)
{
	static unsigned state;

	if (!state)
		state = (unsigned)mono_now_ns() | 1;
	state = state * 1664525u + 1013904223u;
	if (state >> 28 < 5)
		moment_us(state >> 22);
}

static float value(unsigned sensor, uint64_t step, unsigned i)
{
	uint32_t x = (uint32_t)(arena->seed * 2654435761u + sensor * 40503u + (uint32_t)step * 97u + i);

	return (float)(x % 100000u) / 7.0f;
}

static int put(struct sim_publisher *pub, float v, bool local)
{
	struct sim_Ultrasonic m = { .minimum_distance = v };

	return local ? sim_publish_local_copy(pub, &m, sizeof(m), 0)
		     : sim_try_queue_copy(pub, &m, sizeof(m), 0, NULL, NULL, NULL);
}

static void wait_for(struct peer *p, _Atomic int *flag, int at_least)
{
	(void)p;
	AWAIT(atomic_load(flag) >= at_least);
}

/* Until the program is connected to us, and then up to a fixed number. */
static void warm_up(struct peer *p, unsigned me, struct sim_publisher *pub)
{
	int n = 0;

	wait_for(p, &arena->listening, 1);
	while (!atomic_load(&arena->heard[me])) {
		PEER(p, put(pub, -1, true) == 0);
		PEER(p, ++n < WARM_UP);
		pace_us(10000);
	}
	while (n++ < WARM_UP)
		PEER(p, put(pub, -1, true) == 0);
	atomic_store(&arena->warm[me], 1);
}

/* Takes its turns until the run is over. */
static void take_part(struct peer *p, struct sim_client *c, uint32_t rank,
		      void (*work)(struct peer *p, const struct sim_step_turn *turn, void *arg), void *arg)
{
	struct sim_step_turn turn;
	struct sim_step *s;
	int r;

	PEER(p, sim_step_join(c, rank, &s) == 0);
	atomic_fetch_add(&arena->joined, 1);
	while ((r = sim_step_wait(s, 20 * NS_PER_MS, &turn)) == 0 || (r == -ETIMEDOUT && !atomic_load(&arena->over))) {
		if (r < 0)
			continue;
		dawdle();
		work(p, &turn, arg);
		dawdle();
		PEER(p, sim_step_done(s) == 0);
	}
	PEER(p, r == -ETIMEDOUT);
	sim_step_leave(s);
}

static uint64_t step_of(const struct sim_step_turn *turn)
{
	return (uint64_t)(turn->now.sim_ns / STEP_DUR);
}

struct sensor {
	unsigned me;
	struct sim_publisher *own, *shared;
};

static void sense(struct peer *p, const struct sim_step_turn *turn, void *arg)
{
	struct sensor *s = arg;

	for (unsigned i = 0; i <= step_of(turn) % 2; i++) {
		PEER(p, put(s->own, value(s->me, step_of(turn), i), false) == 0);
		dawdle();
	}
	PEER(p, put(s->shared, value(s->me, step_of(turn), 7), false) == 0);
}

static int sensor_main(struct peer *p)
{
	struct sensor s = { .me = (unsigned)p->command };
	struct sim_client *c = peer_connect(p, names[s.me]);

	s.own = peer_advertise(p, c, channels[s.me], 64, 0);
	s.shared = peer_advertise(p, c, "/s/shared", 64, 0);
	warm_up(p, s.me, s.own);
	take_part(p, c, 0, sense, &s);
	sim_publisher_destroy(s.own);
	sim_publisher_destroy(s.shared);
	sim_disconnect(c);
	return 0;
}

struct program {
	struct sim_subscriber *in[SENSORS];
	struct sim_publisher *out;
	double sum;
};

static void process(struct peer *p, const struct sim_step_turn *turn, void *arg)
{
	struct program *g = arg;
	const struct sim_message *msg;

	for (unsigned i = 0; i < SENSORS; i++) {
		unsigned n = 0;

		while (sim_take(g->in[i], &msg) == 0) {
			const struct sim_Ultrasonic *m = msg->body;

			PEER(p, msg->header.stamp_sim_ns == turn->now.sim_ns);
			g->sum = g->sum * 0.999 + (double)m->minimum_distance;
			sim_release(g->in[i], msg);
			n++;
		}
		PEER(p, n == 1 + step_of(turn) % 2); /* all of this step, nothing else */
	}
	PEER(p, put(g->out, (float)g->sum, false) == 0);
}

static void hear(struct peer *p, struct program *g)
{
	const struct sim_message *msg;

	for (unsigned i = 0; i < SENSORS; i++)
		while (!atomic_load(&arena->heard[i])) {
			PEER(p, sim_wait(g->in[i], -1) == 1);
			if (sim_take(g->in[i], &msg) == 0) {
				atomic_store(&arena->heard[i], 1);
				sim_release(g->in[i], msg);
			}
		}
	for (unsigned i = 0; i < SENSORS; i++) {
		wait_for(p, &arena->warm[i], 1);
		while (sim_take(g->in[i], &msg) == 0)
			sim_release(g->in[i], msg);
	}
}

static int program_main(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "fusion");
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };
	struct program g = { .out = peer_advertise(p, c, "/fused", 64, 0) };

	for (unsigned i = 0; i < SENSORS; i++)
		PEER(p, sim_subscribe(c, channels[i], &sim_Ultrasonic_type, &o, &g.in[i]) == 0);
	atomic_store(&arena->listening, 1);
	hear(p, &g);
	take_part(p, c, 1, process, &g);
	for (unsigned i = 0; i < SENSORS; i++)
		sim_subscriber_destroy(g.in[i]);
	sim_publisher_destroy(g.out);
	sim_disconnect(c);
	return 0;
}

static int driver_main(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_driver *d;
	int64_t granted;

	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	wait_for(p, &arena->joined, SENSORS + 1);
	for (int i = 0; i < STEPS; i++) {
		PEER(p, sim_driver_advance(d, STEP_DUR, &granted) == 0);
		PEER(p, granted == STEP_DUR);
	}
	atomic_store(&arena->over, 1);
	sim_driver_release(d);
	sim_disconnect(c);
	return 0;
}

/* ---- the log ---- */

static char log_text[LOG_MAX];

/* All that has been written so far; the bridge still has the file open. Returns how much. */
static size_t read_log(void)
{
	gzFile f = gzopen("/tmp/out.txt.gz", "rb");
	size_t n = 0;
	int r;

	if (!f)
		return 0;
	while (n < LOG_MAX - 1 && (r = gzread(f, log_text + n, (unsigned)(LOG_MAX - 1 - n))) > 0)
		n += (size_t)r;
	gzclose(f);
	log_text[n] = '\0';
	return n;
}

static unsigned lines(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

#define LINES (2 * STEPS * (SENSORS * 1 + 1) + 2 * SENSORS * (STEPS + STEPS / 2))

/* What so many runs have written, once all of it is there. The bridge flushes once a second. */
static char *take_log(unsigned runs)
{
	AWAIT(read_log() && lines(log_text) >= runs * LINES);
	assert_int_equal(lines(log_text), runs * LINES);
	return log_text;
}

/* ---- the runs ---- */

static void restart_time(void)
{
	json_t *a = stack_call("SetSource", "{s:s}", "source", "simulation");
	json_t *b = stack_call("SetSource", "{s:s}", "source", "unity");

	assert_non_null(a);
	assert_non_null(b);
	json_decref(a);
	json_decref(b);
}

static void run_once(unsigned seed)
{
	struct peer *p[SENSORS + 2];
	pid_t pids[SENSORS + 2];

	memset(arena, 0, sizeof(*arena));
	arena->seed = seed;
	restart_time();
	for (int i = 0; i < SENSORS + 2; i++) {
		p[i] = peer_new();
		peer_tell(p[i], i);
		pids[i] = peer_fork(p[i], i < SENSORS ? sensor_main : i == SENSORS ? program_main : driver_main);
	}
	for (int i = 0; i < SENSORS + 2; i++) {
		peer_join(p[i], pids[i]);
		peer_free(p[i]);
	}
}

static void pin(unsigned cpus)
{
	cpu_set_t all, some;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&some);
	for (size_t i = 0; i < CPU_SETSIZE && cpus; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &some);
			cpus--;
		}
	assert_int_equal(sched_setaffinity(0, sizeof(some), &some), 0);
}

static char *first; /* of the first run of all */

static void differs(const char *a, const char *b, int run, unsigned cpus)
{
	size_t n = 0, line = 0;

	for (; a[n] && a[n] == b[n]; n++)
		if (a[n] == '\n')
			line = n + 1;
	fail_msg("run %d on %u CPUs differs from the first one:\n%.200s\n---\n%.200s", run, cpus, a + line, b + line);
}

static void begin(void)
{
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
}

static void runs_on(unsigned cpus)
{
	cpu_set_t before;
	const char *text;

	sched_getaffinity(0, sizeof(before), &before);
	pin(cpus); /* all that is started inherits it */
	begin();
	for (int i = 0; i < RUNS; i++)
		run_once(11);
	text = take_log(RUNS);
	if (!first)
		first = strndup(text, strlen(text) / RUNS);
	for (int i = 0; i < RUNS; i++, text += strlen(first))
		if (strncmp(first, text, strlen(first)) != 0)
			differs(first, text, i, cpus);
	stack_stop(simd);
	sched_setaffinity(0, sizeof(before), &before);
}

TEST_WITH(runs_are_identical_on_two_cpus, NULL, stack_sweep)
{
	runs_on(2);
}

TEST_WITH(runs_are_identical_on_one_cpu, NULL, stack_sweep)
{
	runs_on(1);
}

/* Another seed gives another run: the comparison can fail. */
TEST_WITH(another_seed_gives_another_run, NULL, stack_sweep)
{
	begin();
	run_once(12);
	assert_non_null(first);
	assert_true(strcmp(first, take_log(1)) != 0);
	stack_stop(simd);
}

/* ---- participants that are waited for ---- */

static int stubborn_main(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "stubborn");
	struct sim_step_turn turn;
	struct sim_step *s;

	struct sim_publisher *pub = peer_advertise(p, c, "/s/stubborn", 64, 0);

	PEER(p, sim_step_join(c, 3, &s) == 0);
	p->ready = 1;
	PEER(p, sim_step_wait(s, -1, &turn) == 0);
	PEER(p, put(pub, 1, false) == 0); /* kept back: another one has the same rank */
	PEER_IDLE(p);                     /* never acknowledges */
	return 0;
}

static void nothing(struct peer *p, const struct sim_step_turn *turn, void *arg)
{
	(void)p;
	(void)turn;
	(void)arg;
}

static int companion_main(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "companion");

	take_part(p, c, 3, nothing, NULL);
	sim_disconnect(c);
	return 0;
}

static int lone_driver_main(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_driver *d;

	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	p->ready = 1;
	for (int i = 0; i < 5; i++)
		PEER(p, sim_driver_advance(d, STEP_DUR, NULL) == 0);
	p->result = 1;
	sim_driver_release(d);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_late_participant_is_named_and_may_die, NULL, stack_sweep)
{
	struct peer *late = peer_new(), *engine = peer_new(), *companion = peer_new();
	pid_t late_pid, engine_pid, companion_pid;

	simd = stack_start("\"TimeSource\":\"unity\"," STACK_POOLS ",\"step\":{\"deadline_ms\":100,\"late\":\"warn\"}");
	memset(arena, 0, sizeof(*arena));
	late_pid = peer_fork(late, stubborn_main);
	companion_pid = peer_fork(companion, companion_main);
	AWAIT(late->ready && arena->joined == 1);
	engine_pid = peer_fork(engine, lone_driver_main);
	AWAIT(strstr(stack_ctl("clock", "status", NULL)->out, "LATE"));
	assert_non_null(strstr(stack_ctl("clock", "status", NULL)->out, "rank 3      stubborn"));
	AWAIT(stack_said("stubborn") && stack_said("has not acknowledged"));
	assert_int_equal(engine->result, 0);
	kill(late_pid, SIGKILL); /* out at once */
	stack_wait(late_pid);
	peer_join(engine, engine_pid);
	assert_int_equal(engine->result, 1);
	atomic_store(&arena->over, 1);
	peer_join(companion, companion_pid);
	peer_free(companion);
	peer_free(late);
	peer_free(engine);
	stack_stop(simd);
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
	free(first);
	return munmap(arena, sizeof(*arena));
}

TEST_GROUP(setup, teardown)
