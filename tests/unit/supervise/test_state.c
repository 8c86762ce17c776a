/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives simd: the state file, RouDi's configuration, the lock, real children of the real spawn_ops. */
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "rnd.h"
#include "supervise/roudi_files.h"
#include "supervise/runtime.h"
#include "spawn_ops.h"
#include "supervise/state.h"
#include "trust.h"

#define HER_UID 12345

static void same_proc(const struct state_proc *a, const struct state_proc *b)
{
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->start, b->start);
}

static void same(const struct state *a, const struct state *b)
{
	assert_string_equal(a->simd_app, b->simd_app);
	same_proc(&a->simd, &b->simd);
	assert_int_equal(a->generation, b->generation);
	same_proc(&a->roudi, &b->roudi);
	assert_int_equal(a->roudi_owned, b->roudi_owned);
	assert_true(a->roudi_hash == b->roudi_hash);
	assert_int_equal(a->n_apps, b->n_apps);
	for (unsigned i = 0; i < a->n_apps; i++) {
		assert_string_equal(a->apps[i].app, b->apps[i].app);
		assert_int_equal(a->apps[i].bridge, b->apps[i].bridge);
		assert_int_equal(a->apps[i].client, b->apps[i].client);
		same_proc(&a->apps[i].proc, &b->apps[i].proc);
	}
	assert_int_equal(a->n_children, b->n_children);
	for (unsigned i = 0; i < a->n_children; i++)
		same_proc(&a->children[i], &b->children[i]);
}

TEST(a_written_state_reads_back)
{
	static struct state a, b;
	char path[TEST_PATH_MAX];

	test_path(path, "state.json");
	assert_int_equal(state_load(path, &b), -ENOENT);
	snprintf(a.simd_app, sizeof(a.simd_app), "simd-0011.3");
	a.simd = state_proc_of(getpid());
	a.generation = 7;
	a.roudi = (struct state_proc){ 12, 34 };
	a.roudi_owned = true;
	a.roudi_hash = 0xfedcba9876543210;
	a.n_apps = 2;
	snprintf(a.apps[0].app, sizeof(a.apps[0].app), "cam-1.1");
	a.apps[1].bridge = true;
	a.apps[1].client = true;
	snprintf(a.apps[1].app, sizeof(a.apps[1].app), "log-2.1");
	a.apps[1].proc = (struct state_proc){ 5, 6 };
	a.n_children = 2;
	a.children[0] = (struct state_proc){ 7, 8 };
	a.children[1] = state_proc_of(getpid());
	assert_int_equal(state_save(path, &a), 0);
	assert_int_equal(state_load(path, &b), 0);
	same(&a, &b);
	unlink(path);
}

TEST(roudi_is_configured_with_the_pools)
{
	struct pools p = { .n = 2, .c = { { .size = 64, .count = 10 }, { .size = 4096, .count = 3 } } };
	char dir[TEST_PATH_MAX], *path = NULL, *text = NULL;
	uint64_t hash, other;
	size_t len;

	test_path(dir, "roudi");
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(roudi_write_config(dir, &p, &path, &hash), 0);
	assert_int_equal(fd_read_file(path, 4096, &text, &len), 0);
	assert_string_equal(text, "[general]\nversion = 1\n\n[[segment]]\n"
				  "\n[[segment.mempool]]\nsize = 64\ncount = 10\n"
				  "\n[[segment.mempool]]\nsize = 4096\ncount = 3\n");
	assert_true(hash != hash64(HASH64_INIT, text, len)); /* a simd of another wire version does not adopt it */
	unlink(path);
	mem_free(path);
	mem_free(text);
	p.c[1].count = 4;
	assert_int_equal(roudi_write_config(dir, &p, &path, &other), 0);
	assert_true(hash != other);
	unlink(path);
	rmdir(dir);
	mem_free(path);
}

TEST(a_broken_state_is_refused)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"app\": 5}",
		"{\"app\":\"a\",\"simd\":{\"pid\":-1,\"start\":0},\"iox_generation\":1}",
		("{\"app\":\"a\",\"simd\":{\"pid\":1,\"start\":0},\"iox_generation\":1,"
		 "\"roudi\":{\"pid\":1,\"start\":0},\"roudi_owned\":true,\"roudi_config\":\"12\",\"apps\":[]}"),
	};
	static struct state s;
	char path[TEST_PATH_MAX];

	test_path(path, "state.json");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(fd_write_file(path, bad[i], strlen(bad[i]), 0600), 0);
		assert_int_equal(state_load(path, &s), -EINVAL);
		assert_true(*err_why());
	}
	assert_non_null(strstr(err_why(), "\"roudi_config\" is not 16 hexadecimal digits")); /* of the last one */
	unlink(path);
}

TEST(a_reused_pid_is_not_the_same_process)
{
	struct state_proc me = state_proc_of(getpid());

	assert_true(state_proc_alive(&me));
	me.start++;
	assert_false(state_proc_alive(&me));
	assert_false(state_proc_alive(&(struct state_proc){ 0 }));
}

static void make_runtime(struct runtime *rt, const char *name)
{
	char dir[TEST_PATH_MAX];

	assert_ok(runtime_init(rt, test_path(dir, name)));
}

static void is_refused(struct runtime *rt, const char *one, const char *other)
{
	assert_int_equal(runtime_lock(rt, false), -EBUSY);
	if (!strstr(err_why(), one) || !strstr(err_why(), other))
		fail_msg("it says %s", err_why());
}

/* The file of a simd that was killed while it wrote it; only the holder of the lock removes it. */
TEST(an_incomplete_state_file_is_removed)
{
	struct runtime a, b;
	char path[TEST_PATH_MAX], other[TEST_PATH_MAX];

	make_runtime(&a, "unfinished");
	assert_ok(fd_write_file(test_path(path, "unfinished/state.json.a1B2c3"), "{", 1, 0644));
	assert_ok(fd_write_file(test_path(other, "unfinished/state.json.of-others"), "{", 1, 0644));
	assert_ok(runtime_lock(&a, false));
	make_runtime(&b, "unfinished");
	assert_int_equal(runtime_lock(&b, false), -EBUSY);
	runtime_finish(&b);
	assert_int_equal(access(path, F_OK), 0);
	runtime_finish(&a);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(rmdir(test_path(path, "unfinished")), 0);
}

TEST(two_runtime_directories_have_separate_data_planes)
{
	struct runtime a, b;
	struct stat st;

	make_runtime(&a, "a");
	make_runtime(&b, "b");
	assert_ok(runtime_lock(&a, false));
	assert_ok(runtime_lock(&b, false));
	assert_string_not_equal(a.own, b.own);
	assert_int_equal(stat(a.own, &st), 0);
	assert_int_equal(st.st_mode & 07777, 01770);
	runtime_finish(&a);
	runtime_finish(&b);
}

/* By a link, too. */
TEST(a_second_simd_in_one_directory_is_refused)
{
	char dir[TEST_PATH_MAX], link[TEST_PATH_MAX];
	struct runtime a, b;
	struct stat st;

	assert_int_equal(mkdir(test_path(dir, "real"), 0700), 0);
	assert_int_equal(symlink(dir, test_path(link, "link")), 0);
	make_runtime(&a, "real/run");
	make_runtime(&b, "link/run");
	assert_string_equal(a.own, b.own);
	assert_ok(runtime_lock(&a, false));
	is_refused(&b, "/real/run", "another simd runs");
	runtime_finish(&a);
	assert_ok(runtime_lock(&b, false));
	runtime_finish(&b);
	assert_true(stat(dir, &st) == 0 && rmdir(dir) == 0);
	assert_int_equal(unlink(link), 0);
}

TEST(two_directories_with_one_name_refuse_each_other)
{
	char path[TEST_PATH_MAX];
	struct runtime a, b;
	int fd;

	make_runtime(&a, "a");
	make_runtime(&b, "b");
	strcpy(b.own, a.own);
	assert_ok(runtime_lock(&a, false));
	is_refused(&b, a.dir, b.dir);
	/* killed, with what the next one is to take over */
	fd = open(test_path(path, "a/state.json"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	fd_close(fd);
	a.lock_fd = fd_close(a.lock_fd);
	is_refused(&b, a.dir, "--clean-up");
	/* its directory has been removed: there is nothing to take over */
	assert_int_equal(unlink(path), 0);
	assert_ok(runtime_lock(&b, false));
	runtime_finish(&b);
	runtime_finish(&a);
}

/* The RouDi of the plain names serves one. */
TEST(one_external_roudi_serves_one)
{
	struct runtime a, b;

	make_runtime(&a, "a");
	make_runtime(&b, "b");
	assert_ok(runtime_lock(&a, true));
	assert_string_equal(a.plane, "");
	assert_int_equal(runtime_lock(&b, true), -EBUSY);
	assert_non_null(strstr(err_why(), a.dir));
	runtime_finish(&a);
	runtime_finish(&b);
}

TEST(a_runtime_directory_must_be_private)
{
	static struct state left;
	struct runtime rt;
	char dir[TEST_PATH_MAX], path[TEST_PATH_MAX];
	FILE *f;

	assert_int_equal(mkdir(test_path(dir, "own"), 0700), 0);
	assert_int_equal(chmod(dir, 0770), 0);
	assert_int_equal(runtime_init(&rt, dir), -EPERM);
	assert_non_null(strstr(err_why(), "chmod go-w"));
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(runtime_init(&rt, dir), 0);
	/* nor does it read a state that others may write */
	f = fopen(test_path(path, "own/state.json"), "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(state_load(path, &left), -EPERM);
	assert_non_null(strstr(err_why(), "666"));
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(state_load(path, &left), -EINVAL);
	assert_int_equal(unlink(path), 0);
	runtime_finish(&rt);
	if (geteuid() != 0)
		return;
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_int_equal(chown(dir, 12345, 12345), 0);
	assert_int_equal(runtime_init(&rt, dir), -EACCES); /* for root too */
	assert_non_null(strstr(err_why(), "12345"));
	assert_int_equal(rmdir(dir), 0);
}

/* Its owner would put another in its place while simd writes there. */
TEST(root_does_not_use_a_directory_inside_another_users)
{
	char above[TEST_PATH_MAX], dir[TEST_PATH_MAX];
	struct runtime rt;
	struct stat st;

	if (!trust_is_asked())
		skip();
	assert_int_equal(mkdir(test_path(above, "hers"), 0755), 0);
	assert_int_equal(chown(above, HER_UID, HER_UID), 0);
	assert_int_equal(runtime_init(&rt, test_path(dir, "hers/run")), -EPERM);
	assert_non_null(strstr(err_why(), above));
	assert_true(stat(dir, &st) < 0);
	setenv(TRUST_VARIABLE, "1", 1);
	assert_int_equal(runtime_init(&rt, dir), 0);
	unsetenv(TRUST_VARIABLE);
	runtime_finish(&rt);
	assert_int_equal(rmdir(above), 0);
}

/* ---- what another user has put in the place of the plane ---- */

static const char *in_the_way;

static void make_file(void)
{
	int fd = open(in_the_way, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static void make_pipe(void)
{
	assert_int_equal(mkfifo(in_the_way, 0666), 0);
}

static void make_link(void)
{
	assert_int_equal(symlink("/nowhere", in_the_way), 0);
}

static void make_folder(void)
{
	char in[PLANE_PATH_MAX];

	assert_int_equal(mkdir(in_the_way, 0777), 0);
	assert_true(plane_file(in_the_way, "x", in, sizeof(in)));
	assert_int_equal(mkdir(in, 0755), 0);
}

static void remove_aside(const char *plane)
{
	char command[2 * PLANE_PATH_MAX];

	snprintf(command, sizeof(command), "rm -rf %s.??????", plane);
	assert_int_equal(system(command), 0);
}

static void root_takes(void (*make)(void), bool hers)
{
	struct runtime rt;

	make_runtime(&rt, "first");
	in_the_way = rt.own;
	make();
	if (hers) {
		assert_int_equal(lchown(rt.own, HER_UID, HER_UID), 0);
		assert_ok(runtime_lock(&rt, false));
	} else { /* root's own: it knows why */
		assert_true(runtime_lock(&rt, false) < 0);
		assert_non_null(strstr(err_why(), "user root (0) made it"));
		assert_int_equal(unlink(rt.own), 0);
	}
	remove_aside(rt.own);
	runtime_finish(&rt);
}

TEST(files_of_another_user_do_not_block_root)
{
	if (!trust_is_asked())
		skip();
	root_takes(make_file, true);
	root_takes(make_pipe, true);
	root_takes(make_link, true);
	root_takes(make_folder, true);
	root_takes(make_pipe, false);
	root_takes(make_link, false);
}

/* A member of our group, in a plane that a simd which was killed has left. */
TEST(a_lock_of_another_user_does_not_block_a_start)
{
	char lock[PLANE_PATH_MAX];
	struct runtime rt;
	struct stat st;

	if (!trust_is_asked())
		skip();
	make_runtime(&rt, "first");
	assert_ok(runtime_lock(&rt, false));
	rt.lock_fd = fd_close(rt.lock_fd);
	assert_true(plane_file(rt.own, "simd.lock", lock, sizeof(lock)));
	assert_int_equal(chown(lock, HER_UID, HER_UID), 0);
	assert_ok(runtime_lock(&rt, false));
	assert_int_equal(stat(lock, &st), 0);
	assert_int_equal(st.st_uid, 0);
	runtime_finish(&rt);
}
