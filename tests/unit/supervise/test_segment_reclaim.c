/* SPDX-License-Identifier: Apache-2.0 */
/* When which parts of a dead generation's memory are freed. */
#include "tests/support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "exec.h"
#include "ipc_iox_layout.h"
#include "plane.h"
#include "supervise/roudi_files.h"
#include "supervise/segment_commit.h"
#include "supervise/segment_reclaim.h"
#include "timeutil.h"

#define PAGE  4096
#define SMALL 296             /* bytes of a slot of class 0, of which there are 100 */
#define LARGE (4 * PAGE + 40) /* of class 1, of which there are 8 */
#define SIZE  (100 * SMALL + 8 * LARGE)

static struct exec *x;
static struct segment_reclaim g;
static uint8_t *payload;

static int setup(void **state)
{
	(void)state;
	assert_ok(exec_sim_create(1, 0, &x));
	segment_reclaim_init(&g, x, "");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	segment_reclaim_finish(&g);
	exec_destroy(x);
	munmap(payload, SIZE);
	return 0;
}

static int file_of(size_t size)
{
	int fd = memfd_create("segment", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

/* A list in which all slots are free but these. */
static void write_list(const struct segment_commit *c, unsigned cls, const uint32_t *out, unsigned n)
{
	uint64_t at = segment_commit_list_at(c, cls);

	for (uint32_t i = 0; i <= c->count[cls]; i++) {
		uint32_t next = i + 1;

		for (unsigned k = 0; k < n; k++)
			next = out[k] == i ? c->count[cls] + 1 : next;
		assert_int_equal(pwrite(c->mgmt_fd, &next, sizeof(next), (off_t)(at + 4 * i)), sizeof(next));
	}
}

/* All of it written; slots 4 and 5 of the large ones are out, and one small one. */
static struct segment_commit dead_one(void)
{
	struct segment_commit c = { .payload_fd = file_of(SIZE),
				    .ballast_fd = -1,
				    .n = 2,
				    .at = { 0, 100 * SMALL },
				    .chunk = { SMALL, LARGE },
				    .count = { 100, 8 } };

	c.mgmt_fd = file_of(segment_commit_list_at(&c, 2) + PAGE);
	write_list(&c, 0, (const uint32_t[]){ 70 }, 1);
	write_list(&c, 1, (const uint32_t[]){ 4, 5 }, 2);
	payload = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, c.payload_fd, 0);
	assert_true(payload != MAP_FAILED);
	memset(payload, 0x5a, SIZE);
	return c;
}

static size_t kept(size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += payload[i] == 0x5a;
	return n;
}

static void expect_held(void)
{
	const size_t large = 100 * SMALL;

	assert_int_equal(kept(70 * SMALL, 71 * SMALL), SMALL);
	assert_int_equal(kept(large + 4 * LARGE, large + 6 * LARGE), 2 * LARGE);
}

TEST_WITH(slots_held_by_clients_stay_until_the_clients_have_moved, setup, teardown)
{
	struct segment_commit c = dead_one();

	segment_reclaim_add(&g, &c, 1);
	exec_sim_run(x, exec_now(x) + 9 * NS_PER_S);
	assert_int_equal(kept(0, SIZE), SIZE);
	exec_sim_run(x, exec_now(x) + 2 * NS_PER_S);
	expect_held();
	/* of the rest what shares a page with these, at most */
	assert_true(kept(0, SIZE) < SMALL + 2 * LARGE + 4 * PAGE);
	segment_reclaim_now(&g);
	assert_int_equal(kept(0, SIZE), 0);
}

TEST_WITH(without_room_more_memory_is_freed, setup, teardown)
{
	struct segment_commit c = dead_one();

	segment_reclaim_add(&g, &c, 1);
	segment_reclaim_for_room(&g);
	expect_held();
	assert_true(kept(0, SIZE) < SMALL + 2 * LARGE + 4 * PAGE);
	/* a process that has not moved in 10 s is not waited for where no other one could move */
	exec_sim_run(x, exec_now(x) + 11 * NS_PER_S);
	expect_held();
	segment_reclaim_for_room(&g);
	assert_int_equal(kept(0, SIZE), 0);
}

/* For a RouDi of another user, or of another build, it is unknown which slots are in use. */
TEST_WITH(a_segment_with_unknown_slots_is_freed_completely, setup, teardown)
{
	struct segment_commit c = dead_one();

	c.whole = true;
	segment_reclaim_add(&g, &c, 1);
	exec_sim_run(x, exec_now(x) + 11 * NS_PER_S);
	assert_int_equal(kept(0, SIZE), 0);
}

/* ---- what an earlier simd has left ---- */

static const struct pools pools = { .n = 2, .c = { { .size = 256, .count = 100 }, { .size = 16384, .count = 8 } } };

static void make_file(const char *plane, const char *name, uint64_t size)
{
	char path[TEST_PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", plane, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

/* As a RouDi of these pools leaves it, and longer. */
static void leave(const char *plane, uint32_t generation, uint64_t more)
{
	struct segment_commit c = { .n = 2, .count = { 100, 8 } };
	uint64_t slots = 108;

	make_file(plane, PLANE_MGMT,
		  segment_commit_list_at(&c, 2) + IOX_ENTRY_SIZE * slots + (4 * (slots + 1) + 7) / 8 * 8 +
			  IOX_MGMT_TAIL + more);
	make_file(plane, "payload", SIZE);
	roudi_set_aside(plane, generation);
}

static bool is_aside(const char *plane, uint32_t generation)
{
	char path[TEST_PATH_MAX + 32];

	return roudi_aside_path(plane, false, generation, path, sizeof(path)) && access(path, F_OK) == 0 &&
	       roudi_aside_path(plane, true, generation, path, sizeof(path)) && access(path, F_OK) == 0;
}

static unsigned known(void)
{
	const struct list *at;
	unsigned n = 0;

	for (at = g.segments.next; at != &g.segments; at = at->next)
		n++;
	return n;
}

TEST_WITH(a_file_set_aside_is_found_once_and_finally_unlinked, setup, teardown)
{
	char plane[TEST_PATH_MAX], other[TEST_PATH_MAX], mine[TEST_PATH_MAX + 32];

	test_path(plane, "aside");
	assert_int_equal(mkdir(plane, 0700), 0);
	segment_reclaim_init(&g, x, plane);
	leave(plane, 7, 0);
	leave(plane, 8, 0);
	leave(plane, 9, 100); /* of another build of iceoryx */
	leave(plane, 11, 0);
	assert_true(roudi_aside_path(plane, false, 11, mine, sizeof(mine)));
	test_path(other, "another");
	assert_int_equal(link(mine, other), 0); /* it was linked to a file that is used elsewhere */
	for (int i = 0; i < 2; i++) {
		segment_reclaim_inherit(&g, &pools);
		assert_int_equal(known(), 2);
		assert_true(is_aside(plane, 7) && is_aside(plane, 8) && !is_aside(plane, 9) && !is_aside(plane, 11));
	}
	segment_reclaim_now(&g);
	assert_int_equal(known(), 0);
	assert_false(is_aside(plane, 7) || is_aside(plane, 8));
	/* with other pools the positions of its slots are unknown */
	leave(plane, 10, 0);
	segment_reclaim_inherit(&g, NULL);
	assert_int_equal(known(), 0);
	assert_false(is_aside(plane, 10));
	assert_int_equal(rmdir(plane), 0);
	assert_int_equal(unlink(other), 0);
}
