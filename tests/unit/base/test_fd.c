/* SPDX-License-Identifier: Apache-2.0 */
/* fd.h and notify.h: shared pages, descriptor passing, sockets, files. Thread: one, and children. */
#include "tests/support/test.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "notify.h"
#include "timeutil.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static bool cloexec(int fd)
{
	return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

TEST(a_read_only_page_stays_read_only)
{
	char link[64];
	const char *seen;
	void *map, *ro, *rw;
	int fd, again;

	assert_int_equal(fd_shared_create("test", 100, FD_SHARE_RO, &map, &fd), 0);
	assert_true(cloexec(fd));
	memcpy(map, "hello", 6);
	assert_int_equal(fd_shared_map(fd, 100, false, &ro), 0);
	seen = ro;
	assert_string_equal(seen, "hello");
	memcpy(map, "later", 6);
	assert_string_equal(seen, "later"); /* the writer's mapping is still one */
	assert_int_equal(fd_shared_map(fd, 100, true, &rw), -EPERM);
	assert_int_equal(mprotect(ro, 100, PROT_READ | PROT_WRITE), -1);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	again = open(link, O_RDWR | O_CLOEXEC);
	if (again >= 0) { /* opening may work, mapping for writing and resizing must not */
		assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) == MAP_FAILED);
		assert_int_equal(write(again, "x", 1), -1);
		fd_close(again);
	}
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 1 << 20), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(fd_shared_map(fd, 5000, false, &rw), -EINVAL); /* smaller than wanted */
	fd_shared_unmap(ro, 100);
	fd_shared_unmap(map, 100);
	fd_close(fd);
}

TEST(a_child_does_not_inherit_the_writers_mapping)
{
	void *map;
	int fd, status;
	pid_t pid;

	assert_int_equal(fd_shared_create("test", 4096, FD_SHARE_RO, &map, &fd), 0);
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)map = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(!WIFEXITED(status) ||
		    WEXITSTATUS(status) != 0); /* a sanitizer turns the signal into an exit status */
	fd_shared_unmap(map, 4096);
	fd_close(fd);
}

TEST(shared_cells_can_be_written_by_both)
{
	uint64_t *map, *peer;
	void *p;
	int fd;

	assert_int_equal(fd_shared_create("test", 4096, FD_SHARE_RW, &p, &fd), 0);
	map = p;
	assert_int_equal(fd_shared_map(fd, 4096, true, &p), 0);
	peer = p;
	peer[3] = 7;
	assert_int_equal(map[3], 7);
	fd_shared_unmap(peer, 4096);
	fd_shared_unmap(map, 4096);
	fd_shared_unmap(NULL, 4096);
	fd_close(fd);
}

TEST(a_page_that_can_shrink_is_refused)
{
	int fd = memfd_create("bad", MFD_CLOEXEC | MFD_ALLOW_SEALING), file[2];
	void *map;

	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(fd_shared_map(fd, 4096, false, &map), -EPERM);
	assert_non_null(strstr(err_why(), "shrink"));
	assert_int_equal(pipe(file), 0);
	assert_int_equal(fd_shared_map(file[0], 4096, false, &map), -EPERM);
	assert_int_equal(fd_shared_create("zero", 0, FD_SHARE_RO, &map, &file[0]), -EINVAL);
	fd_close(fd);
	fd_close(file[0]);
	fd_close(file[1]);
}

TEST(descriptors_are_passed_and_excess_ones_closed)
{
	int sock[2], fds[FD_PASS_MAX], many[FD_PASS_MAX + 1], before, after;
	unsigned n;
	char buf[16];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	for (unsigned i = 0; i < FD_PASS_MAX + 1; i++)
		many[i] = sock[0];
	assert_int_equal(fd_send(sock[0], "ab", 2, many, 2, 0), 2);
	assert_int_equal(fd_recv(sock[1], buf, sizeof(buf), fds, FD_PASS_MAX, &n, 0), 2);
	assert_int_equal(n, 2);
	assert_true(cloexec(fds[0]) && cloexec(fds[1]));
	fd_close(fds[0]);
	fd_close(fds[1]);

	before = fd_dup(sock[0]);
	fd_close(before);
	assert_int_equal(fd_send(sock[0], "c", 1, many, FD_PASS_MAX, 0), 1);
	assert_int_equal(fd_recv(sock[1], buf, sizeof(buf), fds, 3, &n, 0), -E2BIG);
	assert_int_equal(n, 0);
	after = fd_dup(sock[0]);
	assert_int_equal(before, after); /* all of them were closed */
	fd_close(after);
	assert_int_equal(fd_send(sock[0], "c", 1, many, FD_PASS_MAX + 1, 0), -E2BIG);

	assert_int_equal(fd_set_nonblock(sock[1], true), 0);
	assert_int_equal(fd_recv(sock[1], buf, sizeof(buf), fds, 3, &n, 0), -EAGAIN);
	assert_int_equal(fd_wait(sock[1], POLLIN, 0), 0);
	fd_close(sock[0]);
	assert_int_equal(fd_wait(sock[1], POLLIN, -1), 1);
	assert_int_equal(fd_recv(sock[1], buf, sizeof(buf), fds, 3, &n, 0), 0);
	assert_int_equal(fd_send(sock[1], "x", 1, NULL, 0, 0), -EPIPE); /* and no SIGPIPE */
	fd_close(sock[1]);
}

/* The kernel truncates the descriptors that do not fit into this process: that is not the peer's fault. */
TEST(too_many_descriptors_are_reported)
{
	int sock[2], fds[FD_PASS_MAX], many[3], top;
	struct rlimit old, few;
	unsigned n;
	char buf[16];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	many[0] = many[1] = many[2] = sock[0];
	assert_int_equal(fd_send(sock[0], "ab", 2, many, 3, 0), 2);
	top = fd_dup(0);
	fd_close(top);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = (rlim_t)top + 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(fd_recv(sock[1], buf, sizeof(buf), fds, FD_PASS_MAX, &n, 0), -EMFILE);
	assert_int_equal(fd_dup(0), top); /* those that did fit were closed */
	fd_close(top);
	assert_int_equal(fd_limit_raise((unsigned long)top + 4, &few), 0);
	assert_int_equal(few.rlim_cur, top + 2);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(few.rlim_cur, top + 4);
	assert_int_equal(few.rlim_max, old.rlim_max);
	assert_int_equal(fd_limit_raise(2, &few), 0); /* never lower */
	assert_int_equal(few.rlim_cur, top + 4);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	fd_close(sock[0]);
	fd_close(sock[1]);
}

/* Without room for any they are never created: not even the sender's own end stays open. */
TEST(without_room_for_descriptors_they_are_dropped)
{
	int sock[2], fds[1], next;
	unsigned n;
	char buf[16];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	next = fd_dup(0);
	fd_close(next);
	assert_int_equal(fd_send(sock[0], "a", 1, sock, 1, 0), 1);
	assert_int_equal(fd_recv(sock[1], buf, sizeof(buf), fds, 0, &n, 0), -E2BIG);
	assert_int_equal(fd_dup(0), next);
	fd_close(next);
	fd_close(sock[0]);
	assert_int_equal(fd_recv(sock[1], buf, sizeof(buf), fds, 0, &n, 0), 0);
	fd_close(sock[1]);
}

TEST(a_packet_pair_keeps_packet_boundaries)
{
	char buf[8];
	int fds[2];

	assert_int_equal(fd_packet_pair(fds, SOCK_NONBLOCK), 0);
	assert_true(cloexec(fds[0]) && cloexec(fds[1]));
	assert_int_equal(send(fds[0], "ab", 2, 0), 2);
	assert_int_equal(send(fds[0], "c", 1, 0), 1);
	assert_int_equal(recv(fds[1], buf, sizeof(buf), 0), 2);
	assert_int_equal(recv(fds[1], buf, sizeof(buf), 0), 1);
	assert_int_equal(recv(fds[1], buf, sizeof(buf), 0), -1); /* and does not wait */
	fd_close(fds[0]);
	fd_close(fds[1]);
}

TEST(a_pidfd_signals_the_end_of_its_process)
{
	int pidfd;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	pidfd = fd_pidfd_open(pid);
	assert_true(pidfd >= 0 && cloexec(pidfd));
	assert_int_equal(fd_pidfd_wait(pidfd, 0), 0);
	assert_int_equal(fd_pidfd_kill(pidfd, SIGKILL), 0);
	assert_int_equal(fd_pidfd_wait(pidfd, -1), 1);
	waitpid(pid, NULL, 0);
	assert_int_equal(fd_pidfd_kill(pidfd, SIGKILL), -ESRCH);
	fd_close(pidfd);
	assert_true(fd_pidfd_open(-1) < 0);
}

TEST(a_reused_pid_is_detected)
{
	int64_t before = mono_now_ns() - NS_PER_S; /* start times are in clock ticks */
	pid_t pid = fork();
	int pidfd;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(fd_pidfd_open_since(pid, before), -ESRCH);
	pidfd = fd_pidfd_open_since(pid, mono_now_ns());
	assert_true(pidfd >= 0 && cloexec(pidfd));
	assert_int_equal(fd_pidfd_kill(pidfd, SIGKILL), 0);
	assert_int_equal(fd_pidfd_wait(pidfd, -1), 1);
	waitpid(pid, NULL, 0);
	assert_int_equal(fd_pidfd_open_since(pid, mono_now_ns()), -ESRCH);
	fd_close(pidfd);
}

TEST(a_stat_file_is_read_with_any_process_name)
{
	char path[64], letter = 0;

	assert_int_equal(prctl(PR_SET_NAME, ") Z 1 (2) 3"), 0);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getpid());
	assert_int_equal(fd_stat_field(path, 4, &letter), getppid());
	assert_int_equal(letter, 'R');
	assert_true(fd_stat_field(path, 52, NULL) >= 0);
	assert_int_equal(fd_stat_field(path, 90, NULL), -1); /* there are not as many */
	assert_int_equal(fd_stat_field("/proc/0/stat", 4, NULL), -1);
}

TEST(the_peer_pidfd_is_that_of_the_process_which_connected)
{
	int way[2], pair[2], sock, pidfd;
	unsigned n;
	pid_t pid;
	char c = 'x';

	assert_int_equal(fd_packet_pair(way, 0), 0);
	pid = fork();
	if (pid == 0) { /* its child keeps the other end */
		fd_close(way[0]);
		if (fd_packet_pair(pair, 0) < 0)
			_exit(1);
		if (fork() > 0 && fd_send(way[1], &c, 1, pair, 1, 0) != 1)
			_exit(1);
		(void)!read(way[1], &c, 1);
		_exit(0);
	}
	assert_int_equal(fd_recv(way[0], &c, 1, &sock, 1, &n, 0), 1);
	assert_int_equal(n, 1);
	pidfd = fd_peer_pidfd(sock, mono_now_ns());
	assert_true(pidfd >= 0 && cloexec(pidfd));
	assert_int_equal(fd_pidfd_wait(pidfd, 0), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(fd_pidfd_wait(pidfd, -1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	fd_close(pidfd);
	pidfd = fd_peer_pidfd(sock, mono_now_ns()); /* from Linux 6.16 on the dead have one too */
	assert_true(pidfd == -ESRCH || fd_pidfd_wait(pidfd, 0) == 1);
	fd_close(pidfd);
	assert_int_equal(fd_wait(sock, POLLIN, 0), 0); /* no hang-up */
	fd_close(way[0]);
	assert_int_equal(fd_wait(sock, POLLIN, -1), 1);
	fd_close(sock);
	fd_close(way[1]);
}

TEST(a_lock_names_its_owner)
{
	char path[TEST_PATH_MAX];
	int fd = open(test_path(path, "lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pid_t pid = 0;

	assert_true(fd >= 0);
	assert_false(fd_flock_held(path, 0, &pid));
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_true(fd_flock_held(path, 0, &pid));
	assert_int_equal(pid, getpid());
	assert_true(fd_flock_held(path, getpid(), NULL));
	assert_false(fd_flock_held(path, getppid(), NULL));
	fd_close(fd);
	assert_false(fd_flock_held(path, getpid(), NULL));
	unlink(path);
	assert_false(fd_flock_held(path, 0, NULL));
}

TEST(a_socket_refuses_bad_paths)
{
	char path[TEST_PATH_MAX], longer[200];
	struct stat st;
	int fd;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(fd_unix_listen(longer, SOCK_STREAM, 0600), -ENAMETOOLONG);
	assert_int_equal(fd_unix_connect("", SOCK_STREAM, 0), -EINVAL);
	test_path(path, "no/such/dir");
	assert_int_equal(fd_unix_listen(path, SOCK_STREAM, 0600), -ENOENT);
	test_path(path, "open");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0777), 0);
	test_path(path, "open/sock");
	assert_int_equal(fd_unix_listen(path, SOCK_STREAM, 0600), -EPERM);
	test_path(path, "file");
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	fd_close(fd);
	assert_int_equal(fd_unix_listen(path, SOCK_STREAM, 0600), -EEXIST);
	assert_int_equal(stat(path, &st), 0); /* left alone */
}

TEST(a_relative_path_is_made_absolute)
{
	char cwd[PATH_MAX], want[PATH_MAX + 8], *full = fd_absolute("a/b");

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(want, sizeof(want), "%s/a/b", cwd);
	assert_string_equal(full, want);
	mem_free(full);
	full = fd_absolute("/a/b");
	assert_string_equal(full, "/a/b");
	mem_free(full);
}

TEST(a_stale_socket_is_replaced_and_a_live_one_is_not)
{
	char path[TEST_PATH_MAX];
	struct ucred cred;
	struct stat st;
	int a, b, c, d;

	test_path(path, "sock");
	assert_int_equal(fd_unix_connect(path, SOCK_STREAM, 0), -ENOENT);
	a = fd_unix_listen(path, SOCK_STREAM, 0660);
	assert_true(a >= 0 && cloexec(a));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(fd_unix_listen(path, SOCK_STREAM, 0600), -EADDRINUSE);
	fd_close(a);
	assert_int_equal(fd_unix_connect(path, SOCK_STREAM, 0), -ECONNREFUSED);
	b = fd_unix_listen(path, SOCK_STREAM, 0600);
	assert_true(b >= 0);
	c = fd_unix_connect(path, SOCK_STREAM, 3600 * NS_PER_S);
	assert_true(c >= 0 && cloexec(c));
	d = fd_unix_accept(b);
	assert_true(d >= 0 && cloexec(d));
	assert_int_equal(fd_unix_accept(b), -EAGAIN);
	assert_int_equal(fd_peer_cred(d, &cred), 0);
	assert_int_equal(cred.pid, getpid());
	fd_close(b);
	fd_close(c);
	fd_close(d);
	unlink(path);
}

TEST(a_path_that_is_not_a_socket_is_named)
{
	static const char *const paths[][2] = { { "", "is a directory, not a socket" },
						{ "file", "is a plain file, not a socket" },
						{ "fifo", "is a device or a pipe, not a socket" } };
	char path[TEST_PATH_MAX];

	fclose(fopen(test_path(path, "file"), "w"));
	assert_int_equal(mkfifo(test_path(path, "fifo"), 0600), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(fd_unix_connect(test_path(path, paths[i][0]), SOCK_STREAM, 0), -ENOTSOCK);
		assert_non_null(strstr(err_why(), paths[i][1]));
	}
}

TEST(long_and_relative_paths_work)
{
	char deep[300], here[PATH_MAX];
	int a, b;

	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(deep, sizeof(deep), "%s/%0120d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", 7);
	assert_int_equal(fd_mkdir_p(deep, 0700), 0);
	assert_int_equal(chdir(deep), 0);
	strcat(deep, "/sock");
	assert_int_equal(fd_unix_connect(deep, SOCK_STREAM, 0), -ENOENT);
	a = fd_unix_listen(deep, SOCK_STREAM, 0600);
	assert_true(a >= 0);
	assert_int_equal(fd_unix_listen(deep, SOCK_STREAM, 0600), -EADDRINUSE);
	b = fd_unix_connect(deep, SOCK_STREAM, 0);
	assert_true(b >= 0);
	fd_close(b);
	b = fd_unix_connect("sock", SOCK_STREAM, 0);
	assert_true(b >= 0);
	fd_close(b);
	fd_close(a);
	a = fd_unix_listen("sock", SOCK_STREAM, 0600); /* replaces the dead one */
	assert_true(a >= 0);
	fd_close(a);
	unlink(deep);
	assert_int_equal(chdir(here), 0);
	deep[strlen(deep) - 5] = '\0';
	rmdir(deep);
}

TEST(files_are_bounded_and_replaced_atomically)
{
	char path[TEST_PATH_MAX], dir[TEST_PATH_MAX], *text = NULL;
	struct stat st;
	size_t len;

	test_path(path, "value");
	assert_int_equal(fd_read_file(path, 10, &text, &len), -ENOENT);
	assert_non_null(strstr(err_why(), path));
	assert_int_equal(fd_write_file(path, "0123456789", 10, 0640), 0);
	assert_int_equal(fd_read_file(path, 10, &text, &len), 0);
	assert_int_equal(len, 10);
	assert_string_equal(text, "0123456789");
	mem_free(text);
	assert_int_equal(fd_read_file(path, 9, &text, &len), -EFBIG);
	assert_int_equal(fd_read_file("/", 9, &text, &len), -EISDIR);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	test_path(dir, "a/b/c");
	assert_int_equal(fd_mkdir_p(dir, 0755), 0);
	assert_int_equal(fd_mkdir_p(dir, 0755), 0);
	test_path(dir, "value/x");
	assert_true(fd_mkdir_p(dir, 0755) < 0);
	test_path(dir, "nodir/x");
	assert_int_equal(fd_write_file(dir, "x", 1, 0600), -ENOENT);
}

/* Where a file is expected; it must not hang. */
TEST(reading_a_pipe_as_a_file_times_out_or_is_bounded)
{
	char path[TEST_PATH_MAX], *text;
	size_t len;
	int fd;

	test_path(path, "pipe");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(fd_read_file(path, 10, &text, &len), -ETIMEDOUT);
	assert_non_null(strstr(err_why(), "no process writes to it"));
	fd = open(path, O_RDWR | O_CLOEXEC); /* whose end does not come */
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "12345", 5), 5);
	assert_int_equal(fd_read_file(path, 10, &text, &len), -ETIMEDOUT);
	assert_int_equal(write(fd, "0123456789+", 11), 11);
	assert_int_equal(fd_read_file(path, 10, &text, &len), -EFBIG);
	close(fd);
}

TEST(large_files_read_whole)
{
	char path[TEST_PATH_MAX], *text, *big = mem_alloc(100000);
	size_t len;

	memset(big, 'y', 100000);
	test_path(path, "big");
	assert_int_equal(fd_write_file(path, big, 100000, 0600), 0);
	assert_int_equal(fd_read_file(path, 1 << 20, &text, &len), 0);
	assert_int_equal(len, 100000);
	assert_memory_equal(text, big, len);
	mem_free(text);
	assert_int_equal(fd_read_file(path, 100000, &text, &len), 0);
	mem_free(text);
	mem_free(big);
}

TEST(closing_descriptors_keeps_errno)
{
	int fd = open("/dev/null", O_RDONLY);

	errno = ENOENT;
	fd = fd_close(fd);
	assert_int_equal(fd, -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fd_close(-1), -1);
	fd = 5;
	assert_int_equal(fd_steal(&fd), 5);
	assert_int_equal(fd, -1);
	assert_int_equal(fd_dup(-1), -EBADF);
}

TEST(notify_reaches_the_manager)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char buf[64];
	int fd;

	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_send("READY=1"), 0);
	test_path(a.sun_path, "notify");
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	setenv("NOTIFY_SOCKET", a.sun_path, 1);
	assert_int_equal(notify_send("READY=1"), 1);
	assert_int_equal(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), 7);
	assert_memory_equal(buf, "READY=1", 7);
	setenv("NOTIFY_SOCKET", "nonsense", 1);
	assert_int_equal(notify_send("READY=1"), -EINVAL);
	fd_close(fd);
	setenv("WATCHDOG_USEC", "3000000", 1);
	unsetenv("WATCHDOG_PID");
	assert_int_equal(notify_watchdog_dur_ns(), 1500 * NS_PER_MS);
	setenv("WATCHDOG_USEC", "3s", 1);
	assert_int_equal(notify_watchdog_dur_ns(), 0);
	setenv("WATCHDOG_USEC", "3000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(notify_watchdog_dur_ns(), 0); /* meant for another process */
}
