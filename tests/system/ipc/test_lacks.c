/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that has no file, descriptor, memory or thread left while it attaches gets the errno, as often as it tries,
 * and attaches once the resource is free: a failed attach used to use up one of its eleven. And no wait uses an
 * absolute time of the wall clock, which may be set. Under ns.sh.
 */
#include "ipc_child.h"
#include "lacking.h"
#include "roudi.h"

#include <dirent.h>
#include <sys/resource.h>

#define TRIES 20 /* more than there are attachments */
#define MIB   (UINT64_C(1) << 20)

static const struct ipc_mem_pool pools[] = { { 256, 500 }, { 65536, 16 } };
static struct roudi roudi;

/* Between the test and its child. */
static struct shared {
	uint32_t at;
	int error;
	rlim_t limit;
	bool enough; /* of the limit */
} * sh;

static int start(void **state)
{
	(void)state;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(sh != MAP_FAILED);
	return roudi_restart(&roudi, pools, 2);
}

static int stop(void **state)
{
	(void)state;
	roudi_kill(&roudi);
	return munmap(sh, sizeof(*sh));
}

/* The first of this process, whatever failed before. */
static void attaches_now(void)
{
	struct ipc *ipc = attach_as("poor");

	CHECK(strcmp(ipc_runtime_name(ipc), "poor.1") == 0);
	send_and_take(ipc);
	ipc_detach(ipc);
}

/* ---- each call of the module fails once ---- */

static struct lacking *use_lacking(void)
{
	struct lacking *l = lacking_map();

	CHECK(l);
	CHECK(setenv("SIM_IPC_MODULE", LACKING, 1) == 0);
	return l;
}

/* Or it is attached before that call. */
static void fails_at_one(void)
{
	struct ipc_options o = { .app = "poor", .timeout_ms = PATIENT_MS };
	struct lacking *l = use_lacking();
	struct ipc *ipc = NULL;

	l->error = sh->error;
	l->at = sh->at;
	for (int i = 0; i < TRIES; i++) {
		int r = ipc_attach(&o, &ipc), error = l->memory ? ENOMEM : sh->error;

		sh->enough = r == 0;
		if (sh->enough)
			break;
		if (r != -error)
			printf("call %u, %s\n", sh->at, strerror(error));
		CHECK_IS(r, -error);
		CHECK(strstr(ipc_why(), strerror(error)));
	}
	l->at = 0;
	if (sh->enough)
		ipc_detach(ipc);
	attaches_now();
}

TEST_WITH(each_call_that_fails_costs_nothing, start, stop)
{
	static const int errors[] = { ENOSPC, EACCES, EMFILE, ENOMEM };

	sh->enough = false;
	for (sh->at = 1; !sh->enough; sh->at++)
		for (size_t i = 0; !sh->enough && i < sizeof(errors) / sizeof(errors[0]); i++) {
			sh->error = errors[i];
			child_run(fails_at_one);
		}
	assert_true(sh->at > 20);
}

/* ---- the real limits ---- */

static void limit_to(enum __rlimit_resource resource, rlim_t n)
{
	struct rlimit all;

	CHECK(getrlimit(resource, &all) == 0);
	all.rlim_cur = n < all.rlim_max ? n : all.rlim_max;
	CHECK(setrlimit(resource, &all) == 0);
}

/* Fails TRIES times by the limit, and not without; or it is enough. */
static void attaches_beyond(enum __rlimit_resource resource)
{
	struct ipc_options o = { .app = "poor", .timeout_ms = PATIENT_MS };
	struct ipc *ipc = NULL;
	int r = 0;

	limit_to(resource, sh->limit);
	for (int i = 0; i < TRIES && (r = ipc_attach(&o, &ipc)) < 0; i++)
		CHECK(r == -EMFILE || r == -ENOMEM || r == -EAGAIN);
	limit_to(resource, RLIM_INFINITY);
	sh->enough = r == 0;
	if (sh->enough)
		ipc_detach(ipc);
	attaches_now();
}

static void with_few_descriptors(void)
{
	attaches_beyond(RLIMIT_NOFILE);
}

TEST_WITH(running_out_of_descriptors_is_survived, start, stop)
{
	unsigned failed = 0;

	for (sh->limit = 3, sh->enough = false; !sh->enough; sh->limit++, failed += !sh->enough)
		child_run(with_few_descriptors);
	assert_true(failed > 3);
}

static void with_little_memory(void)
{
	attaches_beyond(RLIMIT_AS);
}

static rlim_t address_space(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	(void)fclose(f);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

TEST_WITH(running_out_of_memory_is_survived, start, stop)
{
	unsigned failed = 0;

	sh->enough = false;
	for (sh->limit = address_space() + MIB; !sh->enough; sh->limit += 2 * MIB, failed += !sh->enough)
		child_run(with_little_memory);
	assert_true(failed > 3);
}

/* ---- the wall clock ---- */

/* Long enough for the heartbeats of iceoryx in between. */
static void waits(void)
{
	struct ipc_waiter *waiter = NULL;
	struct ipc_sub *sub = NULL;
	struct ipc *ipc;

	(void)use_lacking();
	ipc = attach_as("patient");
	send_and_take(ipc);
	CHECK_IS(ipc_sub_create(ipc, "silent", &(struct ipc_sub_options){ .depth = 2 }, &sub), 0);
	CHECK_IS(ipc_waiter_create(ipc, &waiter), 0);
	CHECK_IS(ipc_waiter_add(waiter, sub), 0);
	for (int i = 0; i < 3; i++)
		CHECK_IS(ipc_waiter_wait(waiter, 250 * INT64_C(1000000)), 0);
	send_and_take(ipc); /* RouDi, too, is there yet */
	_exit(0);
}

static int start_with_wall(void **state)
{
	setenv("ROUDI_ALSO", WALL, 1);
	return start(state);
}

static int stop_with_wall(void **state)
{
	unsetenv("ROUDI_ALSO");
	return stop(state);
}

TEST_WITH(no_wait_is_by_the_wall_clock, start_with_wall, stop_with_wall)
{
	child_run(waits);
}
