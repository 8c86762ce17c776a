/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are stopped (SIGSTOP, Ctrl-Z): a publisher at the worst instruction of a publish, and publishers,
 * subscribers, bridges and participants of lock-step at random moments. The others continue, new ones connect, RouDi
 * stays, and the stopped process is named.
 */
#include "ipc_fault.h"
#include "peer.h"
#include "stack.h"

#include <sys/ptrace.h>

#define DEPTH 4
#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"dispatch\":{\"wait_ms\":100,\"deadline_ms\":500}," \
	"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"none\",\"plugin\":\"null\",\"channels\":[\"/t/a\"]}]}]"

static const struct sim_subscriber_options shallow = { .size = sizeof(shallow), .depth = DEPTH };

/* In a moment without a data plane it is refused. */
static void publish(struct sim_publisher *pub)
{
	struct sim_slot *slot;

	if (sim_loan(pub, 64, &slot) == 0)
		(void)!sim_publish_local(pub, slot);
}

/* Publishes until it is told to stop; `received` counts. command: it stops inside its first push into a queue of that length. */
static int publisher(struct peer *p)
{
	char fault[32];
	struct sim_client *c;
	struct sim_publisher *near, *far;

	snprintf(fault, sizeof(fault), "stop-push:1 %d", atomic_load(&p->command));
	PEER(p, !atomic_load(&p->command) || ipc_fault_at(fault));
	c = peer_connect(p, atomic_load(&p->command) ? "victim" : "innocent");
	near = peer_advertise(p, c, "/p/a", 64, SIM_PUB_LOCAL);
	far = peer_advertise(p, c, "/t/a", 64, SIM_PUB_NO_WAIT);
	AWAIT(sim_publisher_has_subscribers(near));
	while (!atomic_load(&p->stop)) {
		publish(near);
		(void)!peer_queue(p, far, 64, NULL);
		atomic_fetch_add(&p->received, 1);
		atomic_store(&p->ready, 1);
		pace_us(500);
	}
	sim_publisher_destroy(near);
	return peer_leave(p, c, far);
}

static int subscriber(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "subscriber");
	const struct sim_message *m;
	struct sim_subscriber *s;
	int r;

	while ((r = sim_subscribe(c, "/p/a", NULL, &shallow, &s)) == -ESTALE ||
	       r == -ETIMEDOUT) /* RouDi is being replaced */
		pace_us(10000);
	PEER(p, r == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		if (sim_wait(s, 10 * NS_PER_MS) != 1 || sim_take(s, &m) < 0)
			continue;
		sim_release(s, m);
		atomic_fetch_add(&p->received, 1);
	}
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	return 0;
}

struct actor {
	struct peer *p;
	pid_t pid;
};

static struct actor start(int (*fn)(struct peer *), int command)
{
	struct actor a = { .p = peer_new() };

	peer_tell(a.p, command);
	a.pid = peer_fork(a.p, fn);
	return a;
}

static struct actor start_ready(int (*fn)(struct peer *))
{
	struct actor a = start(fn, 0);

	AWAIT(a.p->ready);
	return a;
}

static void end(struct actor *a)
{
	peer_join(a->p, a->pid);
	peer_free(a->p);
}

static void goes_on(const struct actor *a)
{
	uint64_t n = a->p->received;

	AWAIT(a->p->received >= n + 10);
	assert_int_equal(a->p->failed, 0);
}

TEST_WITH(a_publisher_stopped_while_pushing_blocks_nobody_else, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF);
	uint32_t life = stack_life();
	struct actor reads = start_ready(subscriber), goes = start_ready(publisher), stands = start(publisher, DEPTH),
		     fresh;

	AWAIT(test_stands(stands.pid));
	goes_on(&goes);
	goes_on(&reads);
	fresh = start_ready(subscriber); /* RouDi asks the port of each publisher */
	goes_on(&fresh);
	end(&fresh);
	AWAIT(stack_said("was stopped while it held a lock"));
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, "client victim"));
	assert_true(test_stands(stands.pid));
	assert_int_equal(stack_life(), life);
	kill(stands.pid, SIGCONT);
	goes_on(&stands);
	assert_null(strstr(stack_ctl("doctor", NULL)->out, "client victim"));
	end(&stands);
	end(&goes);
	end(&reads);
	stack_stop(simd);
}

/* No other process can access it: RouDi, which waits for it, is replaced, and the log has the reason. */
TEST_FULL_WITH(a_publisher_stopped_while_pushing_under_a_debugger_costs_one_roudi, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF);
	uint32_t life = stack_life();
	struct actor reads = start_ready(subscriber), goes = start_ready(publisher), stands = start(publisher, DEPTH),
		     fresh;
	int st;

	AWAIT(test_stands(stands.pid));
	assert_int_equal(ptrace(PTRACE_ATTACH, stands.pid, NULL, NULL), 0);
	assert_int_equal(waitpid(stands.pid, &st, __WALL), stands.pid);
	fresh = start(subscriber, 0);
	AWAIT(stack_life() > life);
	AWAIT(stack_said("is stopped by a debugger and holds a lock"));
	AWAIT(fresh.p->ready);
	goes_on(&goes);
	goes_on(&reads);
	goes_on(&fresh);
	assert_int_equal(ptrace(PTRACE_DETACH, stands.pid, NULL, NULL), 0);
	kill(stands.pid, SIGCONT);
	goes_on(&stands);
	end(&stands);
	end(&fresh);
	end(&goes);
	end(&reads);
	stack_stop(simd);
}

/* While it is stopped the others publish, receive and are answered; and one more connects. */
static void stop_for_a_while(pid_t pid, const struct actor *goes, const struct actor *reads)
{
	struct actor fresh;

	moment_us((unsigned)(rand() % 2000));
	assert_int_equal(kill(pid, SIGSTOP), 0);
	AWAIT(test_stands(pid));
	goes_on(goes);
	goes_on(reads);
	fresh = start_ready(subscriber);
	goes_on(&fresh);
	end(&fresh);
	assert_true(stack_int("GetInfo", "clients") > 0);
	assert_int_equal(kill(pid, SIGCONT), 0);
}

TEST_FULL_WITH(a_client_stopped_anywhere_blocks_nobody_else, NULL, stack_sweep)
{
	uint64_t seed = test_seed(7);
	pid_t simd = stack_start(CONF);
	uint32_t life = stack_life();
	struct actor goes, reads = start_ready(subscriber), s = start_ready(subscriber), p = start_ready(publisher);

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	goes = start_ready(publisher);
	AWAIT(!strcmp(stack_bridge_text("none", "status"), "connected"));
	for (int i = 0; i < 5; i++) {
		stop_for_a_while(p.pid, &goes, &reads);
		stop_for_a_while(s.pid, &goes, &reads);
		stop_for_a_while((pid_t)stack_bridge("none", "pid"), &goes, &reads);
	}
	assert_int_equal(stack_life(), life);
	assert_int_equal(stack_bridge("none", "restarts"), 0);
	goes_on(&p);
	goes_on(&s);
	end(&p);
	end(&goes);
	end(&s);
	end(&reads);
	stack_stop(simd);
}

/* ---- lock-step ---- */

#define STEPPED "\"TimeSource\":\"unity\"," STACK_POOLS ",\"step\":{\"deadline_ms\":200,\"late\":\"drop\"}"

static int driver(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "driver");
	struct sim_driver *d;

	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	while (!atomic_load(&p->stop)) {
		PEER(p, sim_driver_advance(d, 10 * NS_PER_MS, NULL) == 0);
		atomic_fetch_add(&p->received, 1);
		atomic_store(&p->ready, 1);
		pace_us(1000);
	}
	sim_driver_release(d);
	sim_disconnect(c);
	return 0;
}

/* Takes part, and again when it has dropped out. */
static int participant(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "participant");
	struct sim_step_turn turn;
	struct sim_step *s;
	int r;

	PEER(p, sim_step_join(c, 0, &s) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		r = sim_step_wait(s, 10 * NS_PER_MS, &turn);
		r = r < 0 ? r : sim_step_done(s);
		if (r == 0)
			atomic_fetch_add(&p->received, 1);
		if (r == -ECONNABORTED) {
			sim_step_leave(s);
			PEER(p, sim_step_join(c, 0, &s) == 0);
		} else {
			PEER(p, r == 0 || r == -ETIMEDOUT);
		}
	}
	sim_step_leave(s);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_participant_stopped_in_its_turn_continues, NULL, stack_sweep)
{
	pid_t simd = stack_start(STEPPED);
	struct actor stops = start_ready(participant), takes = start_ready(participant), drives = start_ready(driver);

	srand((unsigned)test_seed(8));
	for (int i = 0; i < 5; i++) {
		goes_on(&stops);
		moment_us((unsigned)(rand() % 2000));
		assert_int_equal(kill(stops.pid, SIGSTOP), 0);
		AWAIT(test_stands(stops.pid));
		goes_on(&drives);
		goes_on(&takes);
		assert_int_equal(kill(stops.pid, SIGCONT), 0);
	}
	goes_on(&stops);
	end(&drives);
	end(&takes);
	end(&stops);
	stack_stop(simd);
}

TEST_GROUP(NULL, NULL)
