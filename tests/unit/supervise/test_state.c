/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives simd: the state file, RouDi's configuration, the lock, real children of the real spawn_ops. */
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "supervise/roudi_files.h"
#include "supervise/runtime.h"
#include "spawn_ops.h"
#include "supervise/state.h"
#include "trust.h"

#define HER_UID 12345

TEST(state_comes_back)
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
	snprintf(a.apps[1].app, sizeof(a.apps[1].app), "log-2.1");
	a.apps[1].proc = (struct state_proc){ 5, 6 };
	a.n_children = 2;
	a.children[0] = (struct state_proc){ 7, 8 };
	a.children[1] = state_proc_of(getpid());
	assert_int_equal(state_save(path, &a), 0);
	assert_int_equal(state_load(path, &b), 0);
	assert_memory_equal(&a, &b, sizeof(a));
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
	static const char *const bad[] = { "",
					   "{",
					   "[]",
					   "{}",
					   "{\"app\": 5}",
					   "{\"app\":\"a\",\"simd\":{\"pid\":-1,\"start\":0},\"iox_generation\":1}" };
	static struct state s;
	char path[TEST_PATH_MAX];

	test_path(path, "state.json");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(fd_write_file(path, bad[i], strlen(bad[i]), 0600), 0);
		assert_int_equal(state_load(path, &s), -EINVAL);
		assert_true(*err_why());
	}
	unlink(path);
}

TEST(a_pid_that_was_used_again_is_not_the_same)
{
	struct state_proc me = state_proc_of(getpid());

	assert_true(state_proc_alive(&me));
	me.start++;
	assert_false(state_proc_alive(&me));
	assert_false(state_proc_alive(&(struct state_proc){ 0 }));
}

TEST(a_second_lock_names_the_first)
{
	struct runtime a, b;
	char d1[TEST_PATH_MAX], d2[TEST_PATH_MAX], lock[TEST_PATH_MAX];
	struct stat st;

	assert_int_equal(runtime_init(&a, test_path(d1, "a/run")), 0);
	assert_int_equal(runtime_init(&b, test_path(d2, "b/run")), 0);
	/* the fixed place belongs to the machine: here the lock goes beside the directories */
	test_path(lock, "lk");
	mem_free(a.lock);
	mem_free(b.lock);
	a.lock = mem_strdup(lock);
	b.lock = mem_strdup(lock);
	assert_int_equal(runtime_lock(&a), 0);
	assert_int_equal(runtime_lock(&b), -EBUSY);
	assert_non_null(strstr(err_why(), d1));
	runtime_finish(&a);
	assert_true(stat(lock, &st) < 0);
	assert_int_equal(runtime_lock(&b), 0);
	runtime_finish(&b);
	assert_true(stat(d2, &st) < 0);
	(void)rmdir(test_path(d1, "a"));
	(void)rmdir(test_path(d2, "b"));
}

TEST(a_runtime_directory_is_ones_own)
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
TEST(a_directory_in_another_users_is_not_for_root)
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

/* ---- what another user has put in the place of the lock, or holds ---- */

static const char *lock_path;

static void make_file(void)
{
	int fd = open(lock_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static void make_pipe(void)
{
	assert_int_equal(mkfifo(lock_path, 0666), 0);
}

static void make_link(void)
{
	assert_int_equal(symlink("/nowhere", lock_path), 0);
}

static void make_folder(void)
{
	char in[TEST_PATH_MAX + 8];

	snprintf(in, sizeof(in), "%s/x", lock_path);
	assert_int_equal(mkdir(lock_path, 0755), 0);
	assert_int_equal(mkdir(in, 0755), 0);
}

/* Held by a process of hers until the end of the pipe is closed. */
static pid_t hold_lock(int *ret_end)
{
	int fd = open(lock_path, O_RDONLY | O_CLOEXEC), end[2], ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(end), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		close(end[1]);
		if (setgid(HER_UID) < 0 || setuid(HER_UID) < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			_exit(1);
		prctl(PR_SET_DUMPABLE, 0); /* the folder in /proc is root's then */
		close(ready[0]);
		close(ready[1]);
		_exit((int)read(end[0], &c, 1));
	}
	close(fd);
	close(ready[1]);
	close(end[0]);
	assert_int_equal(read(ready[0], &c, 1), 0);
	close(ready[0]);
	*ret_end = end[1];
	return pid;
}

static void lock_beside(struct runtime *rt, const char *name)
{
	char dir[TEST_PATH_MAX];

	assert_int_equal(runtime_init(rt, test_path(dir, name)), 0);
	mem_free(rt->lock);
	rt->lock = mem_strdup(lock_path);
}

static void root_takes(void (*make)(void), bool hers, bool held)
{
	struct runtime rt, second;
	int end = -1, status = 0;
	pid_t pid = -1;

	make();
	if (hers)
		assert_int_equal(lchown(lock_path, HER_UID, HER_UID), 0);
	if (held)
		pid = hold_lock(&end);
	lock_beside(&rt, "first");
	lock_beside(&second, "second");
	if (hers || held) {
		assert_int_equal(runtime_lock(&rt), 0);
		assert_int_equal(runtime_lock(&second), -EBUSY);
	} else { /* root's own: it knows why */
		assert_int_equal(runtime_lock(&rt), -EINVAL);
		assert_non_null(strstr(err_why(), "user root (0) made it"));
	}
	fd_close(end);
	if (pid > 0)
		assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	runtime_finish(&rt);
	runtime_finish(&second);
	(void)unlink(lock_path);
}

TEST(nothing_of_another_user_is_in_roots_way)
{
	char path[TEST_PATH_MAX];

	if (!trust_is_asked())
		skip();
	lock_path = test_path(path, "lk");
	root_takes(make_file, true, true);
	root_takes(make_file, false, true); /* left by a simd that was killed */
	root_takes(make_pipe, true, false);
	root_takes(make_pipe, false, false);
	root_takes(make_link, true, false);
	root_takes(make_folder, true, true);
	root_takes(make_file, true, false);
}

TEST(only_our_roudi_is_ended)
{
	assert_false(roudi_is_ours(getpid(), "/a/roudi.toml")); /* ours, but it has no such configuration */
	assert_false(roudi_is_ours(0, "/a/roudi.toml"));
}

/* ---- real children ---- */

static int run_limited(const struct spawn *s, struct rlimit *files, char *out, size_t size)
{
	struct spawned c;
	size_t n = 0;
	ssize_t k;
	int status;

	if (spawn_real.start(files, s, &c) < 0)
		return -1;
	assert_int_equal(fd_pidfd_wait(c.pidfd, 20LL * 1000000000), 1);
	assert_int_equal(spawn_real.reap(NULL, c.pid, c.pidfd, &status), 0);
	while (c.out_fd >= 0 && (k = read(c.out_fd, out + n, size - 1 - n)) > 0)
		n += (size_t)k;
	out[n] = '\0';
	close(c.pidfd);
	fd_close(c.out_fd);
	return status;
}

static int run_child(const struct spawn *s, char *out, size_t size)
{
	return run_limited(s, NULL, out, size);
}

/* simd raises its own; a program that closes all descriptors up to the limit must not pay for that. */
TEST(a_child_gets_the_limit_of_descriptors_that_simd_had)
{
	struct spawn s = { .argv = (const char *[]){ "sh", "-c", "ulimit -n", NULL } };
	struct rlimit old;
	char out[64], want[64];

	assert_int_equal(fd_limit_raise(0, &old), 0);
	snprintf(want, sizeof(want), "%llu\n", (unsigned long long)old.rlim_cur);
	assert_int_equal(run_child(&s, out, sizeof(out)), 0);
	assert_string_equal(out, want);
	old.rlim_cur = 77;
	assert_int_equal(run_limited(&s, &old, out, sizeof(out)), 0);
	assert_string_equal(out, "77\n");
}

TEST(a_child_gets_its_environment_and_nothing_else)
{
	const char *argv[] = {
		"sh", "-c", "echo $COLOUR-$GONE; pwd; ls /proc/self/fd | wc -l; ps -o sid= -p $$ | tr -d ' '; echo $$",
		NULL
	};
	const char *env[] = { "COLOUR=blue", "GONE", NULL };
	struct spawn s = { .argv = argv, .env = env, .dir = "/" };
	char out[1024];
	int sid, pid, fds;

	setenv("GONE", "here", 1);
	assert_int_equal(run_child(&s, out, sizeof(out)), 0);
	assert_int_equal(strncmp(out, "blue-\n/\n", 8), 0);
	assert_int_equal(sscanf(out + 8, "%d %d %d", &fds, &sid, &pid), 3);
	assert_int_equal(fds, 4); /* 0, 1, 2 and the directory that ls reads */
	assert_int_equal(sid, pid);
}

TEST(a_failed_start_says_so)
{
	const char *argv[] = { "no-such-program-anywhere", NULL }, *dir[] = { "/", NULL };
	struct spawn s = { .argv = argv };
	char out[16];

	assert_int_equal(run_child(&s, out, sizeof(out)), -1);
	assert_non_null(strstr(err_why(), "no-such-program-anywhere"));
	s.argv = dir;
	assert_int_equal(run_child(&s, out, sizeof(out)), -1);
	argv[0] = "true";
	s.argv = argv;
	s.dir = "/no/such/dir";
	assert_int_equal(run_child(&s, out, sizeof(out)), -1);
}

TEST(what_a_child_leaves_in_its_session_is_killed)
{
	const char *argv[] = { "sh", "-c", "sleep 1000 & echo $!", NULL };
	struct spawn s = { .argv = argv };
	char out[64];
	pid_t left;

	assert_int_equal(run_child(&s, out, sizeof(out)), 0);
	left = (pid_t)atoi(out);
	assert_true(left > 1);
	AWAIT(kill(left, 0) < 0 || state_proc_start(left) < 0);
}

TEST(what_the_last_one_said_stays)
{
	const char *argv[] = { "sh", "-c", "echo \"$SAYS\"", NULL }, *env[] = { "SAYS=", NULL };
	char path[TEST_PATH_MAX], before[TEST_PATH_MAX], says[3][16] = { "SAYS=one", "SAYS=two", "SAYS=three" },
							 out[16], *text;
	struct spawn s = { .argv = argv, .env = env, .output = test_path(path, "out.log") };

	for (int i = 0; i < 3; i++) {
		env[0] = says[i];
		assert_int_equal(run_child(&s, out, sizeof(out)), 0);
	}
	assert_int_equal(fd_read_file(path, 64, &text, NULL), 0);
	assert_string_equal(text, "three\n");
	mem_free(text);
	assert_int_equal(fd_read_file(test_path(before, "out.log.1"), 64, &text, NULL), 0);
	assert_string_equal(text, "two\n");
	mem_free(text);
	unlink(path);
	unlink(before);
}
