/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generations: RouDi stopped, killed, restarted under a client. Every creation is bounded; a client attaches again in
 * the same process until its linker namespaces are used up, and then gets an error. Under ns.sh.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ipc_child.h"
#include "roudi.h"
#include "usage.h"

#define HEARTBEAT_FIRST 2 /* exit code of a child */

static const struct ipc_mem_pool pools[] = { { 256, 500 }, { 65536, 16 } };
static struct roudi roudi;

static int start(void **state)
{
	(void)state;
	return roudi_restart(&roudi, pools, 2);
}

static int stop(void **state)
{
	(void)state;
	roudi_kill(&roudi);
	return 0;
}

/* ---- RouDi stopped ---- */

static void creates_while_stopped(void)
{
	struct ipc *ipc = attach_as("waits");
	struct ipc_pub *pub = NULL, *old = NULL;
	struct ipc_sub *sub = NULL;
	const void *held;
	void *slot;

	CHECK_IS(ipc_pub_create(ipc, "old", NULL, &old), 0);
	CHECK_IS(ipc_sub_create(ipc, "old", &(struct ipc_sub_options){ .depth = 2 }, &sub), 0);
	AWAIT(ipc_pub_has_subscribers(old));
	CHECK_IS(ipc_loan(old, 100, &slot), 0);
	strcpy(slot, "kept");
	CHECK_IS(ipc_publish(old, slot), 0);
	CHECK_IS(ipc_take(sub, &held, &(size_t){ 0 }), 0);
	CHECK_IS(ipc_probe(NULL, PATIENT_MS), 0);
	roudi_stop(&roudi);
	CHECK_IS(ipc_loan(old, 100, &slot), 0); /* the data path does not need RouDi */
	CHECK_IS(ipc_publish(old, slot), 0);
	CHECK_IS(ipc_pub_create(ipc, "new", NULL, &pub), -ETIMEDOUT); /* without the bound it never returns */
	CHECK(strstr(ipc_why(), "did not answer"));
	CHECK_IS(ipc_pub_create(ipc, "new", NULL, &pub), -ESTALE);
	CHECK_IS(ipc_loan(old, 100, &slot), -ESTALE);
	CHECK(strcmp(held, "kept") == 0);
	CHECK_IS(ipc_release(sub, held), 0);
	roudi_continue(&roudi);
	ipc_pub_destroy(old);
	ipc_sub_destroy(sub);
	ipc_detach(ipc);
	send_and_take(attach_as("waits"));
}

TEST_WITH(roudi_stopped_while_a_port_is_created, start, stop)
{
	child_run(creates_while_stopped);
}

static void attaches_while_stopped(void)
{
	struct ipc_options o = { .app = "patient", .timeout_ms = 300 };
	struct ipc *ipc = NULL;

	roudi_stop(&roudi);
	for (int i = 0; i < 15; i++) /* more often than there are lives: it is one start that waits */
		CHECK_IS(ipc_attach(&o, &ipc), -ETIMEDOUT);
	CHECK(strstr(ipc_why(), "does not answer"));
	roudi_continue(&roudi);
	ipc = attach_as("patient");
	CHECK(strcmp(ipc_runtime_name(ipc), "patient.1") == 0);
	send_and_take(ipc);
}

TEST_WITH(roudi_stopped_while_attaching, start, stop)
{
	child_run(attaches_while_stopped);
}

static void probes(void)
{
	struct ipc *ipc = attach_as("prober");

	CHECK_IS(ipc_probe(NULL, PATIENT_MS), 0);
	roudi_stop(&roudi);
	CHECK_IS(ipc_probe(NULL, 100), -ETIMEDOUT);
	roudi_continue(&roudi);
	CHECK_IS(ipc_probe(NULL, PATIENT_MS), 0);
	ipc_detach(ipc);
}

TEST_WITH(a_probe_detects_a_hung_roudi, start, stop)
{
	child_run(probes);
}

/* ---- RouDi killed ---- */

static void *waits(void *arg)
{
	return (void *)(intptr_t)ipc_waiter_wait(arg, -1);
}

static void loses_roudi(void)
{
	struct ipc *ipc = attach_as("orphan");
	struct ipc_pub *pub = NULL, *more = NULL;
	struct ipc_sub *sub = NULL;
	struct ipc_waiter *w = NULL;
	const void *held;
	pthread_t thread;
	void *slot, *result;

	CHECK_IS(ipc_pub_create(ipc, "x", NULL, &pub), 0);
	CHECK_IS(ipc_sub_create(ipc, "x", &(struct ipc_sub_options){ .depth = 4 }, &sub), 0);
	CHECK_IS(ipc_waiter_create(ipc, &w), 0);
	AWAIT(ipc_pub_has_subscribers(pub));
	kill(roudi.pid, SIGKILL);
	AWAIT(ipc_probe(NULL, 100) == -ECONNREFUSED); /* it takes a moment to die */
	if (ipc_loan(pub, 100, &slot) == -ESTALE)
		_exit(HEARTBEAT_FIRST);
	strcpy(slot, "without RouDi");
	CHECK_IS(ipc_publish(pub, slot), 0);
	CHECK_IS(ipc_take(sub, &held, &(size_t){ 0 }), 0);
	CHECK(strcmp(held, "without RouDi") == 0);
	CHECK_IS(ipc_waiter_add(w, sub), 0);
	pthread_create(&thread, NULL, waits, w);
	CHECK_IS(ipc_pub_create(ipc, "y", NULL, &more), -ESTALE);
	pthread_join(thread, &result);
	CHECK((intptr_t)result == -ESTALE);
	CHECK(strcmp(held, "without RouDi") == 0);
	CHECK_IS(ipc_release(sub, held), 0);
	ipc_sub_destroy(sub);
	ipc_pub_destroy(pub);
	ipc_waiter_destroy(w);
	ipc_detach(ipc);
}

/* Again where the library's heartbeat, each 300 ms, found out first. */
TEST_WITH(roudi_killed, start, stop)
{
	int st;

	while (WEXITSTATUS(st = child_status(child_start(loses_roudi))) == HEARTBEAT_FIRST)
		assert_int_equal(roudi_restart(&roudi, pools, 2), 0);
	assert_int_equal(st, 0);
}

/* RouDi dies while it is asked: the creation need not wait for its time limit. */
static void asks_a_dying_roudi(void)
{
	struct ipc *ipc = attach_as("asks");
	struct ipc_pub *pub = NULL;
	pid_t killer;

	roudi_stop(&roudi);
	killer = fork();
	if (killer == 0) {
		moment_us(100000); /* either order gives the same answer */
		kill(roudi.pid, SIGKILL);
		_exit(0);
	}
	CHECK_IS(ipc_pub_create(ipc, "y", NULL, &pub), -ESTALE);
	CHECK(strstr(ipc_why(), "attach again"));
	waitpid(killer, NULL, 0);
}

TEST_WITH(roudi_killed_while_a_port_is_created, start, stop)
{
	child_run(asks_a_dying_roudi);
}

/* The test's parent acts as simd: it restarts RouDi on request. */
static int ask[2], answer[2];

static void want_restart(void)
{
	char c = 'r';

	CHECK(write(ask[1], &c, 1) == 1);
	CHECK(read(answer[0], &c, 1) == 1);
}

/* Mappings and descriptors of this process that belong to segments without a name. */
static unsigned dead_segments(void)
{
	char line[512], path[64];
	unsigned n = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "/dev/shm/") && strstr(line, "(deleted)");
	fclose(f);
	for (int fd = 0; fd < 256; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, line, sizeof(line) - 1);
		line[len > 0 ? len : 0] = '\0';
		n += strstr(line, "/dev/shm/") && strstr(line, "(deleted)");
	}
	return n;
}

static void lives_on(void)
{
	struct ipc_options o = { .app = "survivor", .timeout_ms = PATIENT_MS };
	struct ipc *ipc = attach_as("survivor");
	char name[32];
	int n = 1, r;

	for (;;) {
		send_and_take(ipc);
		snprintf(name, sizeof(name), "survivor.%d", n);
		CHECK(strcmp(ipc_runtime_name(ipc), name) == 0);
		want_restart();
		CHECK(dead_segments() > 0);
		ipc_abandon(ipc);
		ipc_detach(ipc);
		CHECK_IS((int)dead_segments(), 0);
		r = ipc_attach(&o, &ipc);
		if (r < 0)
			break;
		n++;
	}
	CHECK_IS(r, -ENOTRECOVERABLE);
	CHECK(strstr(ipc_why(), "start it again"));
	CHECK_IS(ipc_attach(&o, &ipc), -ENOTRECOVERABLE);
	CHECK_IS(n, 11);
	CHECK(write(ask[1], "q", 1) == 1);
}

/* A child that has RouDi restarted: want_restart(). */
static void run_with_restarts(void (*child)(void))
{
	pid_t pid;
	char c;

	assert_int_equal(pipe(ask), 0);
	assert_int_equal(pipe(answer), 0);
	pid = child_start(child);
	close(ask[1]);
	while (read(ask[0], &c, 1) == 1 && c == 'r') {
		assert_int_equal(roudi_restart(&roudi, pools, 2), 0);
		assert_int_equal(write(answer[1], "x", 1), 1);
	}
	assert_int_equal(child_status(pid), 0);
}

TEST_FULL_WITH(eleven_generations_in_one_process, start, stop)
{
	run_with_restarts(lives_on);
}

/* More applications than link namespaces, one after the other: they share the attachments that are idle. */
static void applications_come_and_go(void)
{
	struct ipc *left = NULL, *right = NULL, *third = NULL;
	struct ipc_options again = { .app = "left-19", .timeout_ms = PATIENT_MS };
	long threads = 0, fds = 0;
	char app[32];

	for (int i = 0; i < 20; i++) {
		if (i == 10)
			want_restart(); /* what is idle now is of a dead RouDi */
		snprintf(app, sizeof(app), "left-%d", i);
		left = attach_as(app);
		snprintf(app, sizeof(app), "right-%d", i);
		right = attach_as(app);
		CHECK(strcmp(ipc_runtime_name(left), i < 10 ? "left-0.1" : "left-10.3") == 0);
		CHECK(strcmp(ipc_runtime_name(right), i < 10 ? "right-0.2" : "right-10.4") == 0);
		if (i % 10 < 2) {
			send_and_take(left);
			send_and_take(right);
			threads = usage_entries("/proc/self/task");
			fds = usage_entries("/proc/self/fd");
		}
		CHECK_IS((int)usage_entries("/proc/self/task"), (int)threads);
		CHECK_IS((int)usage_entries("/proc/self/fd"), (int)fds);
		if (i < 19) {
			ipc_detach(left);
			ipc_detach(right);
		}
	}
	CHECK_IS(ipc_attach(&again, &third), -EEXIST); /* under a name of another, but it is attached */
	third = attach_as("left-10");                  /* whose runtime name another has: it gets the next number */
	CHECK(strcmp(ipc_runtime_name(third), "left-10.5") == 0);
	send_and_take(third);
	send_and_take(left);
	CHECK(write(ask[1], "q", 1) == 1);
}

TEST_FULL_WITH(applications_share_idle_attachments, start, stop)
{
	run_with_restarts(applications_come_and_go);
}

/*
 * A process that may write to RouDi's socket can have any process's ports freed; RouDi reports that to the process
 * named in the message.
 */
static void spoken_for(void)
{
	const struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/tmp/roudi" };
	struct ipc *ipc = attach_as("robbed");
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	send_and_take(ipc);
	CHECK(!ipc_was_impersonated(ipc));
	CHECK(sendto(fd, "18,robbed.1,", 13, 0, (const struct sockaddr *)&a, sizeof(a)) == 13);
	AWAIT(ipc_was_impersonated(ipc));
	ipc_abandon(ipc);
	CHECK(!ipc_was_impersonated(ipc));
	_exit(0);
}

TEST_WITH(a_message_in_the_name_of_another_process_is_reported_to_it, start, stop)
{
	child_run(spoken_for);
}

#define LOADS 7

static _Atomic int loaded;

static void *loads(void *arg)
{
	char app[32];

	(void)arg;
	for (int i = 0; i < LOADS; i++) {
		snprintf(app, sizeof(app), "loads-%d", i);
		attach_as(app);
		atomic_fetch_add(&loaded, 1);
	}
	return NULL;
}

/* A child of which another thread was just loading the module attaches all the same. */
static void forks_while_a_thread_attaches(void)
{
	pthread_t t;
	int n = 0;

	CHECK(pthread_create(&t, NULL, loads, NULL) == 0);
	while (atomic_load(&loaded) < LOADS) {
		pid_t pid = fork();

		if (pid == 0) {
			struct ipc_options o = { .timeout_ms = PATIENT_MS };
			struct ipc *ipc;
			char app[32];

			snprintf(app, sizeof(app), "child-%d", n);
			o.app = app;
			CHECK_IS(ipc_attach(&o, &ipc), 0);
			ipc_detach(ipc);
			_exit(0);
		}
		CHECK_IS(child_status(pid), 0);
		n++;
	}
	CHECK(n > 0);
	pthread_join(t, NULL);
}

TEST_WITH(a_fork_while_a_thread_attaches, start, stop)
{
	child_run(forks_while_a_thread_attaches);
}

/* RouDi is replaced unnoticed: the old registration must not be taken for a living one. */
static void idle_over_restart(void)
{
	struct ipc *ipc = attach_as("idle");

	ipc_detach(ipc);
	want_restart();
	ipc = attach_as("idle");
	CHECK(strcmp(ipc_runtime_name(ipc), "idle.2") == 0);
	CHECK_IS((int)dead_segments(), 0);
	send_and_take(ipc);
	CHECK(write(ask[1], "q", 1) == 1);
}

/* gap_us: for so long there is none. */
static void detached_while_roudi_restarts(useconds_t gap_us)
{
	pid_t pid;
	char c;

	assert_int_equal(pipe(ask), 0);
	assert_int_equal(pipe(answer), 0);
	pid = child_start(idle_over_restart);
	close(ask[1]);
	while (read(ask[0], &c, 1) == 1 && c == 'r') {
		roudi_kill(&roudi);
		moment_us(gap_us);
		assert_int_equal(roudi_restart(&roudi, pools, 2), 0);
		assert_int_equal(write(answer[1], "x", 1), 1);
	}
	assert_int_equal(child_status(pid), 0);
}

TEST_WITH(detaching_while_roudi_restarts, start, stop)
{
	detached_while_roudi_restarts(0);
}

/* The library's heartbeat, each 300 ms, notices it before a process attaches. */
TEST_WITH(detaching_while_roudi_is_missing, start, stop)
{
	detached_while_roudi_restarts(700000);
}

/* ---- RouDi replaced while a process registers ---- */

static void attaches_somehow(void)
{
	struct ipc_options o = { .app = "between", .timeout_ms = 2000 };
	struct ipc *ipc = NULL;
	int r;

	CHECK(write(ask[1], "a", 1) == 1);
	while ((r = ipc_attach(&o, &ipc)) < 0) {
		CHECK(r != -ENOTRECOVERABLE);
		pace_us(1000);
	}
	ipc_detach(ipc);
}

/* Whether it attached in less time than iceoryx alone tries the dead one's socket, which is a minute. */
static bool attached_soon(unsigned moment)
{
	int64_t start_ms = wait_now_ms();
	pid_t pid = child_start(attaches_somehow);
	char c;

	assert_int_equal(read(ask[0], &c, 1), 1);
	moment_us(moment);
	assert_int_equal(roudi_restart(&roudi, pools, 2), 0);
	assert_int_equal(child_status(pid), 0);
	return wait_now_ms() - start_ms < 30000;
}

TEST_WITH(roudi_replaced_while_attaching, start, stop)
{
	srand(1);
	assert_int_equal(pipe(ask), 0);
	for (int i = 0; i < 15; i++) {
		unsigned moment = (unsigned)(rand() % 60000);

		AWAIT(attached_soon(moment)); /* tried again where this machine stood meanwhile */
	}
}

/* The same, but RouDi is missing for several of the tries that iceoryx makes every 10 ms. */
TEST_WITH(roudi_missing_while_attaching, start, stop)
{
	pid_t pid;
	char c;

	assert_int_equal(pipe(ask), 0);
	roudi_stop(&roudi);
	pid = child_start(attaches_somehow);
	assert_int_equal(read(ask[0], &c, 1), 1);
	moment_us(100000); /* it has written to the one that stands; earlier it would only be another case */
	roudi_kill(&roudi);
	moment_us(300000);
	assert_int_equal(roudi_restart(&roudi, pools, 2), 0);
	assert_int_equal(child_status(pid), 0);
}
