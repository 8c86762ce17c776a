/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishers that are stopped in the middle of a publish, with locks held: the other processes and RouDi go on, and the
 * stopped one stays stopped until it is continued. With unmodified iceoryx each of them would wait for it. Under ns.sh.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "ipc_child.h"
#include "ipc_fault.h"
#include "roudi.h"

#define DEPTH  4
#define SIZE   8
#define LAST   (3 * DEPTH)
#define OUTPUT "/tmp/roudi-output"

static const struct ipc_mem_pool pools[] = { { 256, 2000 } };
static struct roudi roudi;
static const char *fault;
static int gate[2];        /* behind its first publish the stopped one waits for a byte */
static atomic_int *beyond; /* it has come as far as that */

static void publish_all(const char *app, bool waits)
{
	struct ipc *ipc = attach_as(app);
	struct ipc_pub *pub = NULL;
	uint64_t *slot;
	char c;

	CHECK_IS(ipc_pub_create(ipc, "t", NULL, &pub), 0);
	AWAIT(ipc_pub_has_subscribers(pub));
	for (uint64_t i = 1; i <= LAST; i++) {
		CHECK_IS(ipc_loan(pub, SIZE, (void **)&slot), 0);
		*slot = i;
		CHECK_IS(ipc_publish(pub, slot), 0);
		if (!waits || i > 1)
			continue;
		atomic_store(beyond, 1);
		CHECK(read(gate[0], &c, 1) == 1);
	}
	ipc_pub_destroy(pub);
	ipc_detach(ipc);
}

/* Stops inside its first publish. */
static void standing(void)
{
	CHECK(ipc_fault_at(fault));
	publish_all("standing", true);
}

static void innocent(void)
{
	publish_all("innocent", false);
}

/* Subscribes, which concerns the port of each publisher, and ends. */
static void newcomer(void)
{
	struct ipc *ipc;
	struct ipc_sub *sub = NULL;

	ipc = attach_as("newcomer");
	CHECK_IS(ipc_sub_create(ipc, "t", &(struct ipc_sub_options){ .depth = DEPTH }, &sub), 0);
	AWAIT(ipc_sub_connected(sub));
	ipc_sub_destroy(sub);
	ipc_detach(ipc);
}

/* Keeps the channel from being without a subscriber. */
static void reader(void)
{
	struct ipc_sub *sub = NULL;
	struct ipc *ipc = attach_as("reader");

	CHECK_IS(ipc_sub_create(ipc, "t", &(struct ipc_sub_options){ .depth = DEPTH }, &sub), 0);
	for (;;)
		pause();
}

static pid_t stop_one(const char *where)
{
	pid_t pid;

	fault = where;
	atomic_store(beyond, 0);
	pid = child_start(standing);
	AWAIT(test_stands(pid));
	return pid;
}

/* It does all the rest, as if nothing had been. */
static void let_go_on(pid_t pid)
{
	AWAIT(test_stands(pid));
	assert_int_equal(write(gate[1], "", 1), 1);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(child_status(pid), 0);
}

static void attach(pid_t pid)
{
	int st;

	assert_int_equal(ptrace(PTRACE_ATTACH, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &st, __WALL), pid);
}

static bool printed(const char *what)
{
	char text[4096] = "";
	FILE *f = fopen(OUTPUT, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return strstr(text, what);
}

static int start(void **state)
{
	(void)state;
	setenv("ROUDI_OUTPUT", OUTPUT, 1);
	beyond = mmap(NULL, sizeof(*beyond), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (beyond == MAP_FAILED || pipe(gate) < 0)
		return -1;
	return roudi_restart(&roudi, pools, 1);
}

static int stop(void **state)
{
	(void)state;
	roudi_kill(&roudi);
	return 0;
}

/* Not even for a moment: the stopped publisher is not touched. */
TEST_WITH(publishers_do_not_wait_for_a_stopped_publisher, start, stop)
{
	pid_t reads = child_start(reader), stands = stop_one("stop-notify:1");

	child_run(innocent);
	assert_int_equal(atomic_load(beyond), 0);
	assert_false(printed("stopped"));
	let_go_on(stands);
	kill(reads, SIGKILL);
	child_status(reads);
}

TEST_WITH(roudi_resumes_a_stopped_process_for_a_moment, start, stop)
{
	pid_t reads = child_start(reader), stands = stop_one("stop-push:1");

	child_run(newcomer);
	assert_int_equal(ipc_probe(NULL, PATIENT_MS), 0);
	assert_true(printed("was stopped again"));
	child_run(innocent);
	let_go_on(stands);
	kill(reads, SIGKILL);
	child_status(reads);
}

/* Only the debugger can continue it. */
TEST_WITH(a_debugger_is_named, start, stop)
{
	pid_t reads = child_start(reader), stands = stop_one("stop-push:1"), waits;

	attach(stands);
	waits = child_start(newcomer);
	AWAIT(printed("stopped by a debugger"));
	assert_int_equal(ptrace(PTRACE_DETACH, stands, NULL, NULL), 0);
	assert_int_equal(child_status(waits), 0);
	let_go_on(stands);
	kill(reads, SIGKILL);
	child_status(reads);
}

/* An iceoryx application with a waitset, which ends when it has been woken for the last message. */
static pid_t start_waiter(void)
{
	char path[4096] = "", last[16], line[16] = "";
	int out[2];
	pid_t pid;

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 64) > 0);
	snprintf(strrchr(path, '/'), 64, "/lib/waiter");
	snprintf(last, sizeof(last), "%d", LAST);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		execl(path, path, last, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	assert_true(read(out[0], line, sizeof(line)) > 0);
	close(out[0]);
	return pid;
}

/* There the queue has a lock, and each publisher lets the one before it go on. */
TEST_WITH(a_waitset_is_woken, start, stop)
{
	pid_t waits = start_waiter(), stands = stop_one("stop-notify:1");

	child_run(innocent);
	assert_int_equal(child_status(waits), 0);
	let_go_on(stands);
}

/* Other processes do without a process that they cannot access. */
TEST_WITH(a_waitset_is_woken_under_a_debugger_too, start, stop)
{
	pid_t waits = start_waiter(), stands = stop_one("stop-notify:1");

	attach(stands);
	child_run(innocent);
	assert_int_equal(child_status(waits), 0);
	assert_int_equal(atomic_load(beyond), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, stands, NULL, NULL), 0);
	let_go_on(stands);
}

TEST_GROUP(NULL, NULL)
