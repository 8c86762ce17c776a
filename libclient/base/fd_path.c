/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets and files by path, see fd.h. Thread: any. */
#include "err.h"
#include "fd.h"
#include "mem.h"
#include "timeutil.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WRITER_DUR_NS (2 * NS_PER_S)

char *fd_absolute(const char *path)
{
	char cwd[PATH_MAX];

	return *path == '/' || !getcwd(cwd, sizeof(cwd)) ? mem_strdup(path) : mem_printf("%s/%s", cwd, path);
}

struct address {
	struct sockaddr_un a;
	int dir; /* keeps the directory open that a.sun_path names by its descriptor; -1: none */
};

/* A path too long for a socket address (107 bytes) is reached through its directory's descriptor. */
static int long_address(const char *path, struct address *ret)
{
	const char *base = strrchr(path, '/');
	char dir[PATH_MAX];
	int fd, n;

	if (!base || strlen(path) >= sizeof(dir))
		return err_set(-ENAMETOOLONG, "socket \"%.100s...\": the path has %zu characters", path, strlen(path));
	snprintf(dir, sizeof(dir), "%.*s", base > path ? (int)(base - path) : 1, path);
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(-errno, "socket %s: its directory", path);
	n = snprintf(ret->a.sun_path, sizeof(ret->a.sun_path), "/proc/self/fd/%d%s", fd, base);
	if (n < 0 || (size_t)n >= sizeof(ret->a.sun_path)) {
		fd_close(fd);
		return err_set(-ENAMETOOLONG, "socket \"%.100s...\": the name has %zu characters", path,
			       strlen(base) - 1);
	}
	ret->dir = fd;
	return 0;
}

static int unix_address(const char *path, struct address *ret)
{
	size_t n = strlen(path);

	*ret = (struct address){ .a.sun_family = AF_UNIX, .dir = -1 };
	if (!n)
		return err_set(-EINVAL, "a socket's path is empty");
	if (n >= sizeof(ret->a.sun_path))
		return long_address(path, ret);
	memcpy(ret->a.sun_path, path, n + 1);
	return 0;
}

/* Another user who can write to the directory could replace our socket with another one. */
static int check_parent(const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct stat st;

	snprintf(dir, sizeof(dir), "%.*s", slash > path ? (int)(slash - path) : 1, slash ? path : ".");
	if (stat(dir, &st) < 0)
		return err_sys(-errno, "socket %s: its directory", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(-ENOTDIR, "socket %s: %s is not a directory", path, dir);
	if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
		return err_set(-EPERM, "socket %s: anyone may write to %s; use a directory of its own", path, dir);
	return 0;
}

/* Frees `path` for a new socket: removes only a socket on which no process listens. */
static int clear_path(const char *path, const struct address *a, int type)
{
	struct stat st;
	int fd, r;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(-errno, "socket %s", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(-EEXIST, "socket %s: something that is not a socket is in its place; remove it", path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(-errno, "socket %s", path);
	r = connect(fd, (const struct sockaddr *)&a->a, sizeof(a->a)) < 0 ? errno : 0;
	fd_close(fd);
	if (r == ENOENT)
		return 0;
	if (r != ECONNREFUSED)
		return err_set(-EADDRINUSE, "socket %s: another process listens there", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_sys(-errno, "socket %s: removing what a dead process left", path);
	return 0;
}

static int listen_at(const char *path, const struct address *a, int type, mode_t mode)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return err_sys(-errno, "socket %s", path);
	/* sets the mode on the unbound socket, so that there is no moment at which others could connect */
	if (fchmod(fd, mode) < 0 || bind(fd, (const struct sockaddr *)&a->a, sizeof(a->a)) < 0) {
		r = err_sys(-errno, "socket %s", path);
		fd_close(fd);
		return r;
	}
	if (chmod(path, mode) < 0 || listen(fd, 128) < 0) {
		r = err_sys(-errno, "socket %s", path);
		unlink(path);
		fd_close(fd);
		return r;
	}
	return fd;
}

int fd_unix_listen(const char *path, int type, mode_t mode)
{
	struct address a;
	int r = unix_address(path, &a);

	if (r < 0)
		return r;
	r = check_parent(path);
	if (r == 0)
		r = clear_path(path, &a, type);
	if (r == 0)
		r = listen_at(path, &a, type, mode);
	fd_close(a.dir);
	return r;
}

/* NULL: a socket, or nothing. */
static const char *other_kind(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || S_ISSOCK(st.st_mode))
		return NULL;
	return S_ISDIR(st.st_mode) ? "a directory" : S_ISREG(st.st_mode) ? "a plain file" : "a device or a pipe";
}

static int connect_error(int r, const char *path)
{
	/* connecting to a file gives the same errno as to a socket whose owner has died */
	const char *kind = r == -ECONNREFUSED ? other_kind(path) : NULL;

	if (kind)
		return err_set(-ENOTSOCK, "%s is %s, not a socket", path, kind);
	switch (r) {
	case -ENOENT:
		return err_set(r, "%s: no such socket; is the program that owns it running?", path);
	case -ECONNREFUSED:
		return err_set(r, "%s: no process listens there any more; its owner has died", path);
	case -EACCES:
		return err_set(r, "%s: no permission; join the group that owns it", path);
	case -EAGAIN:
		return err_set(-ETIMEDOUT, "%s: too many connections are waiting there", path);
	default:
		return err_sys(r, "%s", path);
	}
}

static int connect_until(int fd, const struct address *a, const char *path, int64_t until_mono_ns)
{
	/* a full backlog returns EAGAIN at once and gives no event to wait for: retry until the time is up */
	while (connect(fd, (const struct sockaddr *)&a->a, sizeof(a->a)) < 0) {
		int64_t now = mono_now_ns();

		if (errno != EAGAIN && errno != EINTR)
			return connect_error(-errno, path);
		if (now >= until_mono_ns)
			return connect_error(-EAGAIN, path);
		mono_sleep_until(ns_add(now, 2 * NS_PER_MS) < until_mono_ns ? now + 2 * NS_PER_MS : until_mono_ns);
	}
	return 0;
}

int fd_unix_connect(const char *path, int type, int64_t timeout_dur_ns)
{
	int64_t until = ns_add(mono_now_ns(), timeout_dur_ns < 0 ? INT64_MAX : timeout_dur_ns);
	struct address a;
	int fd, r = unix_address(path, &a);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = fd < 0 ? err_sys(-errno, "%s", path) : connect_until(fd, &a, path, until);
	fd_close(a.dir);
	if (r < 0) {
		fd_close(fd);
		return r;
	}
	return fd;
}

int fd_unix_accept(int listen_fd)
{
	int fd;

	do
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd >= 0)
		return fd;
	return errno == EAGAIN ? -EAGAIN : err_sys(-errno, "accepting a connection");
}

int fd_peer_cred(int sock, struct ucred *ret)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0)
		return err_sys(-errno, "the peer's credentials");
	*ret = c;
	return 0;
}

#define LOCKS_MAX ((size_t)1 << 20)

/* "1: FLOCK  ADVISORY  WRITE 1234 00:2f:5678 0 EOF" */
bool fd_flock_held(const char *path, pid_t pid, pid_t *ret_pid)
{
	unsigned long long inode;
	struct stat st;
	bool held = false;
	char *text;
	int owner;

	if (lstat(path, &st) < 0 || fd_read_file("/proc/locks", LOCKS_MAX, &text, NULL) < 0)
		return false;
	for (const char *l = text; l && *l && !held; l = strchr(l, '\n'), l += l != NULL) {
		if (sscanf(l, "%*s FLOCK %*s %*s %d %*x:%*x:%llu", &owner, &inode) != 2 || inode != st.st_ino)
			continue;
		held = !pid || owner == pid;
		if (ret_pid)
			*ret_pid = owner > 0 ? owner : 0;
	}
	mem_free(text);
	return held;
}

/* ---- files ---- */

/* The caller must not wait for ever if others have put a pipe or a terminal in the place of the file. */
static int wait_for_data(int fd, const char *path)
{
	int r = fd_wait(fd, POLLIN, WRITER_DUR_NS);

	return r < 0 ? r : r ? 0 : err_set(-ETIMEDOUT, "%s: not a file, and no process writes to it", path);
}

/* Reads at most len bytes; returns 0 at the end. */
static ssize_t read_some(int fd, const char *path, void *to, size_t len)
{
	for (;;) {
		ssize_t n = read(fd, to, len);
		int r;

		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return err_sys(-errno, "%s", path);
		r = wait_for_data(fd, path);
		if (r < 0)
			return r;
	}
}

static int read_all(int fd, const char *path, size_t max, char **ret, size_t *ret_len)
{
	size_t cap = 4096 < max ? 4096 : max, len = 0;
	char *buf = mem_alloc(cap + 1);

	for (;;) {
		ssize_t n;
		char *p;

		if (!buf)
			return err_nomem();
		/* one byte more tells "too long" from "just fits" */
		n = read_some(fd, path, buf + len, cap - len + (cap == max));
		if (n < 0) {
			mem_free(buf);
			return (int)n;
		}
		len += (size_t)n;
		if (len > max) {
			mem_free(buf);
			return err_set(-EFBIG, "%s: larger than %zu bytes", path, max);
		}
		if (!n)
			break;
		if (len < cap || cap == max)
			continue;
		cap = cap * 2 < max ? cap * 2 : max;
		p = mem_realloc(buf, cap + 1);
		if (!p)
			mem_free(buf);
		buf = p;
	}
	buf[len] = '\0';
	*ret = buf;
	if (ret_len)
		*ret_len = len;
	return 0;
}

int fd_read_file(const char *path, size_t max, char **ret, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r = 0;
	struct stat st;

	if (fd < 0)
		return err_sys(-errno, "%s", path);
	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) /* one without a writer has an end at once */
		r = wait_for_data(fd, path);
	if (r == 0)
		r = read_all(fd, path, max, ret, ret_len);
	fd_close(fd);
	return r;
}

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(-errno, "writing");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_write_file(const char *path, const void *data, size_t len, mode_t mode)
{
	char *tmp = mem_printf("%s.XXXXXX", path);
	int fd, r;

	if (!tmp)
		return err_nomem();
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0) {
		r = err_sys(-errno, "%s", path);
		goto out;
	}
	r = fd_write_all(fd, data, len);
	if (r < 0)
		err_prefix(r, "%s", path);
	else if (fchmod(fd, mode) < 0 || rename(tmp, path) < 0)
		r = err_sys(-errno, "%s", path);
	fd_close(fd);
	if (r < 0)
		unlink(tmp);
out:
	mem_free(tmp);
	return r;
}

int fd_mkdir_p(const char *path, mode_t mode)
{
	char *p = mem_strdup(path);
	struct stat st;
	int r = 0;

	if (!p)
		return err_nomem();
	for (char *s = p + 1; *p && r == 0; s++) {
		char c = *s;

		if (c && c != '/')
			continue;
		*s = '\0';
		if (mkdir(p, mode) < 0 && errno != EEXIST)
			r = err_sys(-errno, "directory %s", p);
		*s = c;
		if (!c)
			break;
	}
	if (!r && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
		r = err_set(-ENOTDIR, "%s is not a directory", path);
	mem_free(p);
	return r;
}

int fd_put_aside(const char *path)
{
	char *other = mem_printf("%s.XXXXXX", path);
	int r = other ? 0 : err_nomem();

	if (r == 0 && (!mkdtemp(other) || rename(path, other) < 0))
		r = err_sys(-errno, "%s cannot be put aside", path);
	mem_free(other);
	return r;
}
