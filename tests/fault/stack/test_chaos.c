/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every process is killed, in a random order, under running clients: simd, RouDi, bridges, sensors, several at once.
 * After each kill the observing clients continue, and in the end each message had exactly one outcome. A second simd
 * beside it, with a data plane of its own, notices nothing. So it is when others have filled /dev/shm to the last page:
 * nobody is killed by a page that there is no memory for. And when the RouDi that is to follow a dead one fails for
 * seconds (for 100, where there is time: FAULT_KILLS from 10000 on), and while the wall clock of simd, RouDi and
 * bridges is set by an hour and back. FAULT_KILLS=n: a twentieth of it deaths (25), in a full /dev/shm and while the
 * clock is set a fiftieth; SEED=n.
 */
#include "peer.h"
#include "stack.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "fd.h"
#include "patient.h"

#define FLAKY     "/tmp/out-roudi" /* iox-roudi, unless there is BROKEN */
#define BROKEN    "/tmp/out-broken"
#define STEP_FILE "/tmp/out-step"
#define HOUR_S    3600
#define CONF \
	"\"TimeSource\":\"system\",\"process\":{\"restart_ms\":5,\"restart_max_ms\":50}," \
	"\"roudi\":{\"path\":\"" FLAKY \
	"\",\"retry_ms\":600000,\"probe_ms\":200,\"probe_timeout_ms\":1000},\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b1\",\"plugin\":\"" FAULTY "\",\"options\":{\"mode\":\"slow\",\"delay_us\":300}}," \
	"{\"name\":\"b2\",\"plugin\":\"" FAULTY "\",\"options\":{\"mode\":\"late\",\"delay_us\":300}}]}]"
#define WITNESSES 3
#define LIVES     6 /* of RouDi, until none is ended any more: a process has 11, and simd ends hung ones */

static pid_t simd, victim;
static struct peer *prey;
static uint32_t first_life;
static _Atomic int64_t *step_s; /* by which the wall clock is off; NULL: it is left alone */

static void begin_simd(void)
{
	if (step_s) {
		setenv("LD_PRELOAD", STEPPED, 1);
		setenv("STEPPED", STEP_FILE, 1);
	}
	simd = stack_start(CONF);
	unsetenv("LD_PRELOAD");
}

static int sensor(struct peer *p)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "prey", .timeout_ms = PATIENT_MS };
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = 64 };
	struct sim_publisher *pub = NULL;
	struct sim_client *c = NULL;

	/* simd and RouDi may be away just now */
	while (!pub) {
		if (!c && sim_connect(&o, &c) < 0)
			c = NULL;
		if (c && sim_advertise(c, "/t/prey", &sim_Ultrasonic_type, &po, &pub) < 0)
			pub = NULL;
		pace_us(1000);
	}
	while (!atomic_load(&p->stop)) {
		(void)!peer_queue(p, pub, 64, NULL);
		atomic_store(&p->ready, 1);
		pace_us(500);
	}
	return 0;
}

static void hunt(void)
{
	if (prey) {
		kill(victim, SIGKILL);
		assert_int_equal(stack_wait(victim), SIGKILL); /* and by nothing else before */
		peer_check(prey, true);
		peer_free(prey);
	}
	prey = peer_new();
	victim = peer_fork(prey, sensor);
}

static void kill_one(int kind)
{
	static const char *const names[] = { "simd", "RouDi", "b1", "b2", "the sensor", "the sensor", "simd and RouDi" };
	bool spared = stack_life() >= first_life + LIVES; /* RouDi */
	pid_t pid;

	print_message("kills %s\n", names[kind]);
	switch (kind) {
	case 0:
		stack_kill(simd);
		begin_simd();
		break;
	case 1:
		pid = spared ? 0 : stack_roudi();
		if (pid > 1)
			kill(pid, SIGKILL);
		break;
	case 2:
	case 3:
		pid = (pid_t)stack_bridge(kind == 2 ? "b1" : "b2", "pid");
		if (pid > 1)
			kill(pid, SIGKILL);
		break;
	case 6:
		stack_kill_both(simd, spared ? 0 : stack_roudi());
		begin_simd();
		break;
	default:
		hunt();
	}
}

/* ---- the other simd ---- */

#define OTHER_DIR "/tmp/rt-other"

static struct {
	struct peer *p;
	pid_t simd, client;
	uint32_t life;
} other;

static void other_goes_on(void)
{
	uint64_t had = other.p->received;

	AWAIT(other.p->received > had + 2 || other.p->failed);
	assert_int_equal(other.p->failed, 0);
}

static void other_begin(void)
{
	int fd;

	other.simd = stack_spawn_in(OTHER_DIR, "\"TimeSource\":\"system\"," STACK_POOLS, &fd);
	stack_await_ready(fd);
	setenv("SIMD_SOCKET", OTHER_DIR "/control", 1);
	other.p = peer_new();
	other.client = peer_fork(other.p, peer_exchange);
	other_goes_on();
	other.life = other.p->generation;
}

static void other_end(void)
{
	assert_int_equal(other.p->generation, other.life);
	peer_join(other.p, other.client);
	peer_free(other.p);
	assert_int_equal(kill(other.simd, SIGTERM), 0);
	assert_int_equal(stack_wait(other.simd), 0);
}

/* ---- rounds ---- */

struct round {
	uint64_t ok[WITNESSES], told[WITNESSES][SIM_REASON_COUNT], received;
};

static uint64_t told(const struct peer *w, int reason)
{
	return w->reasons[reason] + w->refusals[reason];
}

static void remember(struct round *r, struct peer *const w[WITNESSES], const struct peer *ex)
{
	for (int k = 0; k < WITNESSES; k++) {
		r->ok[k] = w[k]->ok;
		for (int i = 0; i < SIM_REASON_COUNT; i++)
			r->told[k][i] = told(w[k], i);
	}
	r->received = ex->received;
}

/* All that is to be known of it is in this one line: another run may not show it again. */
static void tell_of(const struct peer *w, const uint64_t was[SIM_REASON_COUNT])
{
	char text[1024];
	size_t n = 0;

	for (int i = 0; i < SIM_REASON_COUNT && n < sizeof(text) - 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %llu, ", sim_reason_name((enum sim_reason)i),
				      (unsigned long long)(told(w, i) - was[i]));
	n += (size_t)snprintf(text + n, sizeof(text) - n, "b1 %s, ", stack_bridge_text("b1", "status"));
	print_message("peer %llu does not go on yet; %sb2 %s, RouDi %d in life %u\n", (unsigned long long)w->number,
		      text, stack_bridge_text("b2", "status"), (int)stack_roudi(), stack_life());
}

static void goes_on(const struct peer *w, uint64_t ok, const uint64_t was[SIM_REASON_COUNT])
{
	for (unsigned looks = 0; w->ok <= ok + 2; looks++) {
		if (looks == WAIT_SAYS || w->failed)
			tell_of(w, was);
		assert_int_equal(w->failed, 0);
		wait_look_again();
	}
}

static struct {
	struct peer *w[WITNESSES], *ex;
	pid_t pid[WITNESSES], ex_pid;
	uint32_t slots;
} all;

static void begin_all(void)
{
	static const char script[] = "#!/bin/sh\n[ ! -e " BROKEN " ] || exit 3\nexec iox-roudi \"$@\"\n";
	uint64_t seed = test_seed(21);

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	assert_int_equal(fd_write_file(FLAKY, script, strlen(script), 0700), 0);
	other_begin();
	begin_simd();
	AWAIT(stack_bridge("b1", "pid") > 1 && stack_bridge("b2", "pid") > 1);
	AWAIT(!strcmp(stack_bridge_text("b2", "status"), "connected"));
	all.slots = stack_slots();
	first_life = stack_life();
	for (int i = 0; i < WITNESSES; i++) {
		all.w[i] = peer_new();
		peer_tell(all.w[i], 500);
		all.pid[i] = peer_fork(all.w[i], peer_publisher);
		AWAIT(all.w[i]->ready || all.w[i]->failed);
	}
	all.ex = peer_new();
	all.ex_pid = peer_fork(all.ex, peer_exchange);
	AWAIT(all.ex->ready);
	hunt();
	AWAIT(prey->ready);
}

static void all_go_on(void)
{
	struct round was;

	remember(&was, all.w, all.ex);
	for (int k = 0; k < WITNESSES; k++)
		goes_on(all.w[k], was.ok[k], was.told[k]);
	AWAIT(all.ex->received > was.received + 2 || all.ex->failed);
	other_goes_on();
}

static void end_all(unsigned rounds)
{
	uint64_t accepted = 0;

	other_end();
	kill(victim, SIGKILL);
	assert_int_equal(stack_wait(victim), SIGKILL);
	peer_check(prey, true);
	peer_free(prey);
	prey = NULL;
	for (int i = 0; i < WITNESSES; i++) {
		peer_tell(all.w[i], -1);
		peer_join(all.w[i], all.pid[i]);
		peer_check(all.w[i], false);
		assert_int_equal(all.w[i]->called, all.w[i]->offered);
		accepted += all.w[i]->accepted;
		peer_free(all.w[i]);
	}
	peer_join(all.ex, all.ex_pid);
	peer_free(all.ex);
	print_message("%u rounds, %u lives of RouDi, %llu messages\n", rounds, stack_life() - first_life + 1,
		      (unsigned long long)accepted);
	AWAIT(stack_slots() <= all.slots);
	stack_stop(simd);
}

static unsigned kills(void)
{
	const char *n = getenv("FAULT_KILLS");

	return n ? (unsigned)atoi(n) : 500;
}

static void chaos(unsigned share, bool full)
{
	unsigned rounds = kills() / share;

	begin_all();
	if (full)
		stack_shm_fill(0);
	for (unsigned i = 0; i < rounds; i++) {
		kill_one(rand() % 7);
		if (rand() % 3 == 0) { /* a second blow before the first is over */
			moment_us((unsigned)(rand() % 100000));
			kill_one(rand() % 7);
		}
		if (step_s)
			atomic_store(step_s, i % 2 ? -HOUR_S : HOUR_S);
		all_go_on();
	}
	stack_shm_clear();
	end_all(rounds);
}

TEST_WITH(all_processes_are_killed_and_recover, NULL, stack_sweep)
{
	chaos(20, false);
}

static int cleared(void **state)
{
	stack_shm_clear();
	return stack_sweep(state);
}

TEST_WITH(all_processes_recover_in_a_full_dev_shm, NULL, cleared)
{
	chaos(50, true);
}

/* Other processes are killed meanwhile; not simd, whose first start is not retried for so long. */
TEST_WITH(all_processes_recover_while_roudi_fails_for_seconds, NULL, stack_sweep)
{
	static const unsigned seconds[] = { 1, 3, 10, 100 };
	unsigned n = kills() >= 10000 ? 4 : 3;

	begin_all();
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(fd_write_file(BROKEN, "", 0, 0600), 0);
		assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
		kill_one(2 + rand() % 4);
		moment_us(seconds[i] * 1000000);
		assert_int_equal(unlink(BROKEN), 0);
		all_go_on();
		assert_int_equal(kill(simd, 0), 0);
	}
	assert_true(stack_count("iox-roudi", "exited: exit code 3") > 0);
	end_all(n);
}

static int set_back(void **state)
{
	if (step_s)
		(void)munmap((void *)(uintptr_t)step_s, sizeof(*step_s));
	step_s = NULL;
	unsetenv("STEPPED");
	return stack_sweep(state);
}

TEST_WITH(all_processes_recover_while_the_wall_clock_is_set, NULL, set_back)
{
	static const int64_t none;
	int fd;

	assert_int_equal(fd_write_file(STEP_FILE, (const char *)&none, sizeof(none), 0600), 0);
	fd = open(STEP_FILE, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	step_s = (_Atomic int64_t *)mmap(NULL, sizeof(*step_s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_true(step_s != MAP_FAILED);
	chaos(50, false);
}
