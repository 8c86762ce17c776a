/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishers that die at the worst instruction of a publish: the others go on, RouDi too. As iceoryx comes, an innocent
 * publisher would wait for a lost index, or for a lock, without end. Under ns.sh.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ipc_child.h"
#include "ipc_fault.h"
#include "roudi.h"

#define DEPTH 4
#define SIZE  8

static const struct ipc_mem_pool pools[] = { { 256, 2000 } };
static struct roudi roudi;
static int to_reader[2], from_reader[2];
static pid_t reader_pid;
static const char *fault;

/* Dies inside its first publish. */
static void victim(void)
{
	struct ipc_pub *pub = NULL;
	struct ipc *ipc;
	void *slot;

	CHECK(ipc_fault_at(fault));
	ipc = attach_as("victim");
	CHECK_IS(ipc_pub_create(ipc, "t", NULL, &pub), 0);
	AWAIT(ipc_pub_has_subscribers(pub));
	CHECK_IS(ipc_loan(pub, SIZE, &slot), 0);
	memset(slot, 0, SIZE);
	ipc_publish(pub, slot);
	_exit(1); /* not killed */
}

/* More than the queue takes. */
static void innocent(void)
{
	struct ipc *ipc = attach_as("innocent");
	struct ipc_pub *pub = NULL;
	uint64_t *slot;

	CHECK_IS(ipc_pub_create(ipc, "t", NULL, &pub), 0);
	AWAIT(ipc_pub_has_subscribers(pub));
	for (uint64_t i = 1; i <= 3 * DEPTH; i++) {
		CHECK_IS(ipc_loan(pub, SIZE, (void **)&slot), 0);
		*slot = i;
		CHECK_IS(ipc_publish(pub, slot), 0);
	}
}

/* Answers each byte with the number of messages that lay in its queue, and that of the newest. */
static void reader(void)
{
	struct ipc *ipc = attach_as("reader");
	struct ipc_sub *sub = NULL;
	const void *slot;
	uint64_t told[2];
	size_t size;
	char c;

	CHECK_IS(ipc_sub_create(ipc, "t", &(struct ipc_sub_options){ .depth = DEPTH }, &sub), 0);
	CHECK(write(from_reader[1], "r", 1) == 1);
	while (read(to_reader[0], &c, 1) == 1) {
		for (told[0] = told[1] = 0; ipc_take(sub, &slot, &size) == 0; told[0]++) {
			memcpy(&told[1], slot, SIZE);
			ipc_release(sub, slot);
		}
		CHECK(write(from_reader[1], told, sizeof(told)) == sizeof(told));
	}
}

static void reader_start(void)
{
	char c;

	reader_pid = child_start(reader);
	assert_int_equal(read(from_reader[0], &c, 1), 1);
}

static uint64_t taken(uint64_t newest)
{
	uint64_t told[2];

	assert_int_equal(write(to_reader[1], "?", 1), 1);
	assert_int_equal(read(from_reader[0], told, sizeof(told)), sizeof(told));
	if (told[0])
		assert_int_equal(told[1], newest);
	return told[0];
}

static void kill_one(const char *where)
{
	fault = where;
	assert_int_equal(child_status(child_start(victim)), SIGKILL);
	assert_int_equal(ipc_free_app(NULL, "victim"), 0);
}

static int start(void **state)
{
	(void)state;
	if (pipe(to_reader) < 0 || pipe(from_reader) < 0)
		return -1;
	return roudi_restart(&roudi, pools, 1);
}

static int stop(void **state)
{
	(void)state;
	kill(reader_pid, SIGKILL);
	child_status(reader_pid);
	roudi_kill(&roudi);
	return 0;
}

/*
 * Each death uses up one index of the reader's queue, until none is left: the reader then gets no messages, and no
 * process waits.
 */
TEST_WITH(queue_indices_lost_by_killed_processes_block_nobody_else, start, stop)
{
	reader_start();
	for (unsigned int lost = 1; lost <= DEPTH; lost++) {
		kill_one("push:1");
		child_run(innocent);
		assert_int_equal(taken(3 * DEPTH), DEPTH - lost);
	}
}

static void newcomer(void)
{
	attach_as("newcomer");
}

/* RouDi takes over the locks of the dead publisher's port. */
TEST_WITH(locks_of_dead_processes_are_taken_over, start, stop)
{
	reader_start();
	for (unsigned int i = 0; i < 3; i++) {
		kill_one("notify:1");
		assert_int_equal(ipc_probe(NULL, PATIENT_MS), 0);
		child_run(newcomer);
		child_run(innocent);
		assert_int_equal(taken(3 * DEPTH), DEPTH);
	}
}

/* What this thread holds of mutexes that processes share. */
static bool holds_a_lock(void)
{
	struct robust_list_head *head;
	size_t size;

	CHECK(syscall(SYS_get_robust_list, 0, &head, &size) == 0);
	return head->list.next != &head->list;
}

static void survivor(void)
{
	struct ipc_pub *pub = NULL;
	struct ipc *ipc;
	void *slot;

	CHECK(ipc_fault_at("fatal:1"));
	ipc = attach_as("survivor");
	CHECK_IS(ipc_pub_create(ipc, "t", NULL, &pub), 0);
	AWAIT(ipc_pub_has_subscribers(pub));
	CHECK_IS(ipc_loan(pub, SIZE, &slot), 0);
	CHECK_IS(ipc_publish(pub, slot), -ESTALE);
	CHECK(!holds_a_lock());
	CHECK_IS(ipc_free_app(NULL, "survivor"), 0);
	CHECK_IS(ipc_probe(NULL, PATIENT_MS), 0);
}

/* A FATAL error of iceoryx leaves the locks held in the middle of a publish, and the process lives on. */
TEST_WITH(locks_are_left_with_a_fatal_error, start, stop)
{
	reader_start();
	child_run(survivor);
	child_run(innocent);
}

/* Its loan of an invalid slot fails, and it continues with the next one. */
static void lender(void)
{
	struct ipc_pub *pub = NULL;
	struct ipc *ipc;
	void *slot;

	CHECK(ipc_fault_at(fault));
	ipc = attach_as("lender");
	CHECK_IS(ipc_pub_create(ipc, "t", NULL, &pub), 0);
	CHECK_IS(ipc_loan(pub, SIZE, &slot), -EBADMSG);
	CHECK_IS(ipc_loan(pub, SIZE, &slot), 0);
	memset(slot, 0, SIZE);
	CHECK_IS(ipc_publish(pub, slot), 0);
}

TEST_WITH(a_chunk_header_is_written_over_during_a_loan, start, stop)
{
	static const char *const at[] = { "loan:50", "loan:-4294967296", "loan:4294967296" };

	for (unsigned i = 0; i < 3; i++) {
		fault = at[i];
		child_run(lender);
	}
}

TEST_GROUP(NULL, NULL)
