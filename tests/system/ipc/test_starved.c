/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of a RouDi whose memory or CPU time comes too late: an attach to freed memory; a client waits for a RouDi
 * that gets no CPU time, and does not wait for a stopped one. Under ns.sh.
 */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <dirent.h>

#include "hog.h"
#include "ipc_child.h"
#include "ipc_ops.h"
#include "roudi.h"
#include "signs.h"

static const struct ipc_mem_pool pools[] = { { 256, 2000 }, { 65536, 16 } };
static struct roudi roudi;

/* ---- memory that is not there ---- */

/* RouDi writes there once a second, on whatever page: without one it ends by SIGBUS. simd sees to that, too. */
static void back_management(void)
{
	int fd = open("/dev/shm/iceoryx_mgmt", O_RDWR | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(fallocate(fd, 0, 0, st.st_size), 0);
	close(fd);
}

static int open_payload(void)
{
	DIR *d = opendir("/dev/shm");
	const struct dirent *e;
	int fd = -1;

	assert_non_null(d);
	while (fd < 0 && (e = readdir(d)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, "iceoryx_mgmt") != 0)
			fd = openat(dirfd(d), e->d_name, O_RDWR | O_CLOEXEC);
	closedir(d);
	assert_true(fd >= 0);
	return fd;
}

static void resize_shm(unsigned long blocks)
{
	char size[64];

	snprintf(size, sizeof(size), "nr_blocks=%lu", blocks);
	assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, size), 0);
}

static void attaches_and_populates(void)
{
	struct ipc_options o = { .app = "late", .timeout_ms = PATIENT_MS, .prefault = true };
	struct ipc *ipc;

	CHECK_IS(ipc_attach(&o, &ipc), 0);
}

/*
 * simd frees the payload of an ended generation while a client is still attaching, and there may be no memory to
 * allocate it again.
 */
TEST(an_attach_to_freed_memory_fails)
{
	int fd = open_payload();
	struct statvfs shm, left;
	struct stat st;
	pid_t pid;

	if (!getenv("SIMD_TESTS_NS"))
		skip(); /* /dev/shm is others', too */
	back_management();
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, st.st_size), 0);
	assert_int_equal(statvfs("/dev/shm", &shm), 0);
	resize_shm(shm.f_blocks - shm.f_bfree);
	assert_int_equal(statvfs("/dev/shm", &left), 0);
	assert_int_equal(left.f_bfree, 0);
	pid = child_start(attaches_and_populates);
	assert_int_equal(child_status(pid), 0);
	resize_shm(shm.f_blocks);
	close(fd);
}

/* ---- a RouDi that is ready to run and gets no CPU ---- */

#define CREATE_MS 900 /* what a creation has of time that counts */

/* Ports are made until one takes longer than that; RouDi may not have had the time to end the ones before. */
static void patient(void)
{
	struct ipc_options o = { .app = "patient", .timeout_ms = PATIENT_MS };
	struct ipc *ipc = NULL;
	int64_t took_ms;
	int r;

	hog_pin(getpid(), 0);
	CHECK_IS(ipc_attach(&o, &ipc), 0);
	say('a');
	CHECK(read(ref_pipe[0], &(char){ 0 }, 1) == 1);
	do {
		struct ipc_pub *pub = NULL;
		int64_t start_ms = wait_now_ms();

		r = ipc_pub_create(ipc, "late", NULL, &pub);
		took_ms = wait_now_ms() - start_ms;
		ipc_pub_destroy(pub);
	} while (r == -EMFILE || (r == 0 && took_ms <= CREATE_MS));
	CHECK_IS(r, 0);
	say('l');
}

static bool sub_made(struct ipc *ipc, const char *channel, const struct ipc_sub_options *o, struct ipc_sub **ret)
{
	int r = ipc_sub_create(ipc, channel, o, ret);

	CHECK(r == 0 || r == -EAGAIN || r == -EMFILE);
	return r == 0;
}

/* RouDi refuses the 257th subscriber of a publisher in silence, and those that are over count until it has come to them. */
static bool is_heard(struct ipc *ipc, const struct ipc_pub *pub, const struct ipc_sub_options *o, struct ipc_sub **sub)
{
	if (*sub && ipc_pub_has_subscribers(pub))
		return true;
	ipc_sub_destroy(*sub);
	*sub = NULL;
	(void)sub_made(ipc, "late", o, sub);
	return false;
}

/* It has its answer within a second, and what RouDi made meanwhile when it asks again; another port it can have then as well. */
static void prompt(void)
{
	struct ipc_options o = { .app = "prompt", .timeout_ms = PATIENT_MS, .prompt = true };
	struct ipc_sub *sub = NULL, *other = NULL;
	const struct ipc_sub_options depth = { .depth = 4 };
	struct ipc_pub *pub = NULL;
	struct ipc *ipc = NULL;
	const void *slot;
	void *mine;
	size_t size;
	int r;

	hog_pin(getpid(), 0);
	CHECK_IS(ipc_attach(&o, &ipc), 0);
	CHECK_IS(ipc_pub_create(ipc, "late", NULL, &pub), 0);
	say('a');
	CHECK(read(ref_pipe[0], &(char){ 0 }, 1) == 1);
	while ((r = ipc_sub_create(ipc, "late", &depth, &sub)) == 0 || r == -EMFILE) {
		ipc_sub_destroy(sub);
		sub = NULL;
	}
	CHECK_IS(r, -EAGAIN);
	CHECK(strstr(ipc_why(), "still waited for"));
	CHECK(ipc_alive(ipc));
	say('l');
	AWAIT(sub_made(ipc, "late", &depth, &sub));
	AWAIT(sub_made(ipc, "another", &depth, &other));
	CHECK_IS(ipc_loan(pub, 64, &mine), 0);
	AWAIT(is_heard(ipc, pub, &depth, &sub));
	CHECK_IS(ipc_publish(pub, mine), 0);
	CHECK_IS(ipc_take(sub, &slot, &size), 0);
	CHECK(slot == mine);
	ipc_detach(ipc);
}

static void run_without_a_cpu_for_roudi(pid_t hog, void (*fn)(void))
{
	pid_t pid = child_start(fn);

	hear('a');
	assert_int_equal(kill(hog, SIGCONT), 0);
	assert_int_equal(write(ref_pipe[1], "g", 1), 1);
	hear('l');
	assert_int_equal(kill(hog, SIGSTOP), 0);
	assert_int_equal(child_status(pid), 0);
}

TEST(a_roudi_without_cpu_time_is_waited_for)
{
	pid_t hog = hog_start();

	if (!hog)
		skip();
	assert_int_equal(pipe(ref_pipe), 0);
	hog_pin(roudi.pid, hog_cpu());
	run_without_a_cpu_for_roudi(hog, patient);
	run_without_a_cpu_for_roudi(hog, prompt);
	hog_end(hog);
	roudi_kill(&roudi); /* the next is bound to no CPU */
	assert_int_equal(roudi_restart(&roudi, pools, 2), 0);
}

static void asks_a_stopped_one(void)
{
	struct ipc *ipc = attach_as("asker");
	struct ipc_pub *pub = NULL;

	say('a');
	CHECK(read(ref_pipe[0], &(char){ 0 }, 1) == 1);
	CHECK_IS(ipc_pub_create(ipc, "stopped", NULL, &pub), -ETIMEDOUT);
	CHECK(strstr(ipc_why(), "stopped or stuck"));
	CHECK(!ipc_alive(ipc));
}

static void asks_a_stopped_one_promptly(void)
{
	struct ipc_options o = { .app = "hasty", .timeout_ms = PATIENT_MS, .prompt = true };
	struct ipc_pub *pub = NULL;
	struct ipc *ipc = NULL;
	int r;

	CHECK_IS(ipc_attach(&o, &ipc), 0);
	say('a');
	CHECK(read(ref_pipe[0], &(char){ 0 }, 1) == 1);
	r = ipc_pub_create(ipc, "stopped", NULL, &pub);
	CHECK(r == -ETIMEDOUT || r == -EAGAIN);
	AWAIT(!ipc_alive(ipc));
}

#define CPU_LESS_MS 10000 /* what a RouDi without a CPU is given */

/* Returns how long it took. */
static int64_t run_with_a_stopped_roudi(void (*fn)(void))
{
	pid_t pid = child_start(fn);
	int64_t took_ms;

	hear('a');
	roudi_stop(&roudi);
	took_ms = -wait_now_ms();
	assert_int_equal(write(ref_pipe[1], "g", 1), 1);
	assert_int_equal(child_status(pid), 0);
	took_ms += wait_now_ms();
	roudi_continue(&roudi);
	return took_ms;
}

TEST(a_stopped_roudi_is_not_waited_for)
{
	assert_int_equal(pipe(ref_pipe), 0);
	/* tried again where this machine stood meanwhile; who waits as for one without a CPU always takes that long */
	AWAIT(run_with_a_stopped_roudi(asks_a_stopped_one) < CPU_LESS_MS / 2);
	AWAIT(run_with_a_stopped_roudi(asks_a_stopped_one_promptly) < CPU_LESS_MS / 2);
}

static int setup(void **state)
{
	(void)state;
	return pipe(to_parent) < 0 ? -1 : roudi_start(&roudi, pools, 2);
}

static int teardown(void **state)
{
	(void)state;
	roudi_kill(&roudi);
	return 0;
}

TEST_GROUP(setup, teardown)
