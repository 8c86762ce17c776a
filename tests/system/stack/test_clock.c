/* SPDX-License-Identifier: Apache-2.0 */
/* Time over the whole stack: pause refuses, a step completes what it accepts, /clock never stops, jumps are announced. */
#include "peer.h"
#include "stack.h"

#include <limits.h>
#include <sys/prctl.h>

#include <sim/msg/Clock.h>

#define CONF(source) \
	"\"TimeSource\":\"" source "\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b\",\"plugin\":\"" FAULTY "\",\"options\":{\"mode\":\"slow\",\"delay_us\":1000}}]}]"

static pid_t simd;

static void start(const char *conf)
{
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
}

static int64_t now_sim_ns(void)
{
	return stack_int("GetClock", "clock/sim_ns");
}

/* ---- pause ---- */

/* Offers a message whenever the test says so. */
static int on_command(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/one", 64, 0);
	int done = 0;

	atomic_store(&p->ready, 1);
	for (;;) {
		PEER_AWAIT(p, atomic_load(&p->stop) || atomic_load(&p->command) > done);
		if (atomic_load(&p->stop))
			break;
		atomic_store(&p->result, peer_queue(p, pub, 64, NULL));
		atomic_store(&p->ready, ++done + 1);
	}
	return peer_leave(p, c, pub);
}

static int offer(struct peer *p)
{
	int n = atomic_load(&p->command) + 1;

	peer_tell(p, n);
	AWAIT(atomic_load(&p->ready) > n);
	return atomic_load(&p->result);
}

TEST_WITH(while_paused_publishing_is_refused, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	int64_t at;
	pid_t pid;

	start(CONF("simulation"));
	pid = peer_fork(p, on_command);
	AWAIT(p->ready);
	assert_int_equal(offer(p), 0);
	AWAIT(p->ok == 1);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	at = now_sim_ns();
	for (int i = 0; i < 20; i++) /* more than a publisher has loans */
		assert_int_equal(offer(p), -ECANCELED);
	assert_int_equal(p->refusals[SIM_REASON_PAUSED], 20);
	assert_int_equal(now_sim_ns(), at);
	assert_int_equal(stack_int("GetClock", "clock/paused"), 1);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	AWAIT(now_sim_ns() > at);
	assert_int_equal(offer(p), 0);
	AWAIT(p->ok == 2);
	/* scale 0 is a pause as well */
	assert_int_equal(stack_ctl("clock", "scale", "0", NULL)->code, 0);
	assert_int_equal(offer(p), -ECANCELED);
	assert_int_equal(stack_ctl("clock", "scale", "2", NULL)->code, 0);
	assert_int_equal(offer(p), 0);
	peer_join(p, pid);
	peer_check(p, false);
	stack_stop(simd);
	peer_free(p);
}

/* ---- step ---- */

/* Publishes ten messages whenever it sees that time has moved. */
static int stepper(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "stepper");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/step", 64, 0);
	int64_t last = sim_now(c);

	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		int64_t now = sim_now(c);

		if (now == last) {
			pace_us(50);
			continue;
		}
		last = now;
		for (int i = 0; i < 10; i++)
			(void)!peer_queue(p, pub, 64, NULL);
		atomic_fetch_add(&p->received, 1);
	}
	return peer_leave(p, c, pub);
}

TEST_WITH(a_step_moves_by_its_length, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	int64_t at;
	pid_t pid;

	start(CONF("simulation"));
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	pid = peer_fork(p, stepper);
	AWAIT(p->ready);
	for (uint64_t i = 1; i <= 20; i++) {
		at = now_sim_ns();
		assert_int_equal(stack_ctl("clock", "step", "10ms", NULL)->code, 0);
		/* it has answered, so time has moved exactly so far, and all that was accepted has left */
		assert_int_equal(now_sim_ns(), at + 10 * NS_PER_MS);
		assert_int_equal(stack_int("GetClock", "clock/paused"), 1);
		assert_true(stack_in_flight("/t/step") <= 0);
	}
	AWAIT(peer_settled(p));
	/* what came inside of a step went, what came too late was refused; nothing else */
	assert_int_equal(p->ok, p->accepted);
	assert_int_equal(p->refused, p->refusals[SIM_REASON_PAUSED]);
	assert_true(p->accepted > 0);
	peer_join(p, pid);
	peer_check(p, false);
	stack_stop(simd);
	peer_free(p);
}

/* ---- /clock ---- */

static int listener(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "listener");
	struct sim_subscriber *sub;
	const struct sim_message *got;

	PEER(p, sim_subscribe(c, "/clock", &sim_Clock_type, NULL, &sub) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		if (sim_wait(sub, 50 * NS_PER_MS) != 1)
			continue;
		while (sim_take(sub, &got) == 0) {
			int64_t was = atomic_load(&p->sim_ns);

			if (got->header.stamp_sim_ns < was &&
			    got->header.clock_generation == atomic_load(&p->generation))
				atomic_store(&p->failed, 1); /* backwards without a jump */
			atomic_store(&p->generation, got->header.clock_generation);
			atomic_store(&p->sim_ns, got->header.stamp_sim_ns);
			atomic_fetch_add(&p->received, 1);
			sim_release(sub, got);
		}
	}
	sim_subscriber_destroy(sub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(the_clock_is_published_while_paused, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	uint32_t generation;
	uint64_t n;
	int64_t at;
	pid_t pid;

	start(CONF("simulation"));
	pid = peer_fork(p, listener);
	AWAIT(p->received > 5 && p->sim_ns > 0);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	at = now_sim_ns();
	AWAIT(p->sim_ns == at);
	n = p->received;
	AWAIT(p->received > n + 20); /* frozen, and still coming */
	assert_int_equal(p->sim_ns, at);
	assert_int_equal(stack_ctl("clock", "step", "5ms", NULL)->code, 0);
	AWAIT(p->sim_ns == at + 5 * NS_PER_MS);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	AWAIT(p->sim_ns > at + 20 * NS_PER_MS);
	/* another source starts from the beginning, with a jump that is reported; --continue carries on without going back */
	generation = p->generation;
	assert_int_equal(stack_ctl("clock", "source", "system", NULL)->code, 0);
	AWAIT(p->generation != generation && p->sim_ns > 1000000000 * NS_PER_S);
	generation = p->generation;
	assert_int_equal(stack_ctl("clock", "source", "system", NULL)->code, 0); /* the same: nothing changes */
	n = p->received;
	AWAIT(p->received > n + 5);
	assert_int_equal(p->generation, generation);
	at = p->sim_ns;
	assert_int_equal(stack_ctl("clock", "source", "simulation", "--continue", NULL)->code, 0);
	AWAIT(!strcmp(stack_text("GetClock", "clock/source"), "simulation"));
	n = p->received;
	AWAIT(p->received > n + 5);
	assert_true(p->sim_ns >= at);
	assert_int_equal(stack_ctl("clock", "source", "simulation", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "source", "unity", NULL)->code, 0);
	AWAIT(now_sim_ns() == 0); /* time has no driver */
	assert_int_equal(p->failed, 0);
	peer_join(p, pid);
	stack_stop(simd);
	peer_free(p);
}

/* ---- a driver ---- */

static int driver(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "driver");
	struct sim_driver *d;

	PEER(p, sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL, &d) == 0);
	while (!atomic_load(&p->stop)) {
		int64_t granted = 0;
		int r = sim_driver_advance(d, 10 * NS_PER_MS, &granted);

		atomic_store(&p->result, r);
		if (r < 0)
			break;
		atomic_fetch_add(&p->received, 1);
		atomic_store(&p->took_dur_ns, granted);
		atomic_store(&p->ready, 1);
		pace_us(200);
	}
	sim_driver_release(d);
	sim_disconnect(c);
	return 0;
}

static int second_driver(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "second");
	struct sim_driver *d;

	atomic_store(&p->result, sim_driver_acquire(c, 0, &d));
	snprintf(p->why, sizeof(p->why), "%s", sim_why());
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_driver_moves_time, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *q = peer_new();
	uint64_t n;
	int64_t at;
	pid_t pid;

	start(CONF("unity"));
	pid = peer_fork(p, driver);
	AWAIT(p->received > 10);
	peer_join(q, peer_fork(q, second_driver));
	assert_int_equal(q->result, -EBUSY);
	assert_non_null(strstr(q->why, "driver"));
	assert_non_null(strstr(stack_ctl("clock", "status", NULL)->out, "as fast as it can"));
	/* in pause its advance blocks; a step grants exactly that much, in parts if need be */
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	at = now_sim_ns();
	n = p->received;
	assert_int_equal(stack_ctl("clock", "step", "25ms", NULL)->code, 0);
	assert_int_equal(now_sim_ns(), at + 25 * NS_PER_MS);
	assert_true(p->received - n <= 4);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	n = p->received;
	AWAIT(p->received > n + 5);
	/* a source that is not driven takes the lease away */
	assert_int_equal(stack_ctl("clock", "source", "simulation", NULL)->code, 0);
	AWAIT(p->result == -EPERM);
	assert_null(strstr(stack_ctl("clock", "status", NULL)->out, "as fast as it can"));
	peer_join(p, pid);
	stack_stop(simd);
	peer_free(p);
	peer_free(q);
}

/* Requests as much as it is told to, and not again. */
static int slow_driver(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "slow");
	struct sim_driver *d;
	int64_t granted;

	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	for (int n = 0;; n++) {
		if (n < 2)
			PEER(p, sim_driver_advance(d, 10 * NS_PER_MS, &granted) == 0);
		atomic_store(&p->ready, n + 1);
		PEER_AWAIT(p, atomic_load(&p->stop) || atomic_load(&p->command) > n);
		if (atomic_load(&p->stop))
			break;
	}
	sim_driver_release(d);
	sim_disconnect(c);
	return 0;
}

static pid_t ctl_clock(const char *command, const char *arg)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		stack_exec_ctl("clock", (const char *const[]){ command, arg, NULL });
	return pid;
}

static void end_by(pid_t pid, int sig)
{
	int status;

	assert_int_equal(kill(pid, sig), 0);
	status = stack_wait(pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 128 + sig);
}

/* The driver does not answer; the requested change takes effect all the same. */
TEST_WITH(a_signal_ends_a_command_that_waits_for_a_driver, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid, ctl;

	start(CONF("unity"));
	pid = peer_fork(p, slow_driver);
	AWAIT(p->ready == 1);
	ctl = ctl_clock("pause", NULL);
	AWAIT(stack_int("GetClock", "clock/pausing") == 1);
	end_by(ctl, SIGINT);
	assert_int_equal(stack_int("GetClock", "clock/pausing"), 1);
	peer_tell(p, 1); /* it asks */
	AWAIT(stack_int("GetClock", "clock/paused") == 1);
	ctl = ctl_clock("step", "50ms");
	AWAIT(stack_int("GetClock", "clock/stepping") == 1);
	end_by(ctl, SIGTERM);
	AWAIT(p->ready == 2);
	assert_int_equal(stack_int("GetClock", "clock/stepping"), 1);
	assert_int_equal(now_sim_ns(), 20 * NS_PER_MS);
	peer_join(p, pid);
	stack_stop(simd);
	peer_free(p);
}

TEST_WITH(sources_without_pause_refuse_control, NULL, stack_sweep)
{
	start(CONF("system"));
	assert_int_equal(stack_ctl("clock", "source", "ros2", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 1);
	assert_int_equal(stack_ctl("clock", "scale", "2", NULL)->code, 1);
	assert_int_equal(stack_ctl("clock", "step", "1s", NULL)->code, 1);
	assert_non_null(strstr(stack_ctl("clock", "step", "1s", NULL)->err, "ros2"));
	assert_int_equal(stack_ctl("clock", "source", "system", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "scale", "0.01", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "scale", "100", NULL)->code, 0);
	stack_stop(simd);
}

/* ---- an engine with one thread ---- */

struct engine {
	pid_t pid;
	int keys;
};

static struct engine engine_start(void)
{
	const char *b = getenv("B");
	char path[PATH_MAX];
	int fds[2];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/examples/engine", b ? b : "build");
	assert_int_equal(pipe(fds), 0);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fds[0], STDIN_FILENO);
		close(fds[1]);
		execl(path, "engine", NULL);
		_exit(127);
	}
	close(fds[0]);
	return (struct engine){ pid, fds[1] };
}

static void press(const struct engine *e, const char *key)
{
	assert_int_equal(write(e->keys, key, 2), 2);
}

static void engine_end(const struct engine *e)
{
	int status;

	press(e, "q\n");
	status = stack_wait(e->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(e->keys);
}

/* The example: its scene is loaded again in a pause, while a step goes on, and by a second run. */
TEST_WITH(an_engine_sets_time_back, NULL, stack_sweep)
{
	struct engine e;
	int64_t generation;

	start(CONF("unity"));
	e = engine_start();
	AWAIT(now_sim_ns() >= 200 * NS_PER_MS);
	assert_int_equal(stack_ctl("clock", "scale", "0.5", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	generation = stack_int("GetClock", "clock/clock_generation");
	press(&e, "r\n"); /* it still waits for 20 ms; it gets them, and then loads the scene again */
	assert_int_equal(stack_ctl("clock", "step", "200ms", NULL)->code, 0);
	assert_int_equal(stack_int("GetClock", "clock/clock_generation"), generation + 1);
	assert_int_equal(now_sim_ns(), 180 * NS_PER_MS); /* of the new run: the step has its length */
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	AWAIT(now_sim_ns() >= NS_PER_S);
	engine_end(&e);
	assert_int_equal(stack_int("GetClock", "clock/clock_generation"), generation + 1);
	e = engine_start();
	AWAIT(stack_int("GetClock", "clock/clock_generation") == generation + 2);
	AWAIT(now_sim_ns() > 0);
	engine_end(&e);
	stack_stop(simd);
}
