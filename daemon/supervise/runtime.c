/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime directory, the plane and its lock; contract in runtime.h. Thread: simd-main. */
#include "runtime.h"

#include "err.h"
#include "fd.h"
#include "group.h"
#include "log.h"
#include "mem.h"
#include "number.h"
#include "rnd.h"
#include "state.h"
#include "timeutil.h"
#include "trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

LOG_TOPIC("simd");

#define LOCK_TRIES        100
#define PLANE_NAMES       16u
#define LOCK_PAUSE_DUR_NS (10 * NS_PER_MS)

/* ret_private: set if it is in /tmp, where every user can make a directory of that name. */
static char *usual_dir(bool *ret_private)
{
	const char *env = getenv("SIMD_RUNTIME_DIR"), *xdg = getenv("XDG_RUNTIME_DIR");

	if (env && *env)
		return mem_strdup(env);
	if (geteuid() == 0 || access("/run/simd", W_OK) == 0)
		return mem_strdup("/run/simd");
	if (xdg && *xdg)
		return mem_printf("%s/simd", xdg);
	*ret_private = true;
	return mem_printf("/tmp/simd-%u", (unsigned)geteuid());
}

/*
 * The owner of the directory above could replace this one, or put a link in its place to a directory that root writes
 * to.
 */
static int check_above(const char *dir)
{
	char *above = mem_strdup(dir), *slash = above ? strrchr(above, '/') : NULL;
	int r = above ? 0 : err_nomem();

	if (slash && slash != above) {
		*slash = '\0';
		r = trust_check(above);
	}
	mem_free(above);
	return r;
}

/*
 * A user who can write here could take simd's place at the socket, or make the next simd kill processes by its state
 * file.
 */
static int make_dir(const char *dir, bool private)
{
	char user[GROUP_NAME_MAX];
	struct stat st;
	int r = check_above(dir);

	if (r == 0)
		r = fd_mkdir_p(dir, private ? 0700 : 0755);
	if (r < 0)
		return r;
	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(-ENOTDIR, "%s is not a directory", dir);
	if (st.st_uid != geteuid())
		return err_set(-EACCES,
			       "%s belongs to user %s (%u), and simd runs as %u: run it as that user, or name another "
			       "directory with --runtime-dir",
			       dir, group_user_name(st.st_uid, user), (unsigned)st.st_uid, (unsigned)geteuid());
	if (private && (st.st_mode & 077))
		return chmod(dir, 0700) < 0 ? err_sys(-errno, "%s: its mode", dir) : 0;
	if (st.st_mode & 022)
		return err_set(-EPERM, "others may write to %s (mode %03o), and so take simd's place: chmod go-w %s",
			       dir, (unsigned)st.st_mode & 0777, dir);
	return 0;
}

/* Absolute, because processes that simd starts may have another working directory. */
static char *runtime_path(const char *asked, bool *ret_private)
{
	char *usual = asked && *asked ? NULL : usual_dir(ret_private);
	char *full = usual || (asked && *asked) ? fd_absolute(usual ? usual : asked) : NULL;

	mem_free(usual);
	return full;
}

/* The runtime directory of the simd that uses or used the plane; "": unknown. */
static const char *owner_of(int dir, char *buf, size_t size)
{
	int fd = openat(dir, PLANE_OWNER, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? 0 : pread(fd, buf, size - 1, 0);

	fd_close(fd);
	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return buf;
}

/* Compares the directories, not their names; a directory that is gone equals no other. */
static bool is_same_directory(const char *one, const char *other)
{
	struct stat a, b;

	return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* The n-th name for the plane of that runtime directory. */
static void nth_plane(const char *real, unsigned n, char ret[PLANE_MAX])
{
	uint64_t hash = hash64(HASH64_INIT, real, strlen(real));
	unsigned char digit = (unsigned char)n;

	if (n)
		hash = hash64(hash, &digit, 1);
	snprintf(ret, PLANE_MAX, PLANE_BASE "/" PLANE_PREFIX "%0*x", PLANE_DIGITS, (unsigned)hash);
}

/* Whether another user made the plane. Always false for root, which can move it aside: see in_the_way(). */
static bool is_of_another(const char *plane)
{
	struct stat st;

	return geteuid() != 0 && lstat(plane, &st) == 0 && st.st_uid != geteuid();
}

/* Whether an earlier simd of that runtime directory made the plane, or a running one uses it. */
static bool is_plane_of(const char *plane, const char *dir)
{
	int fd = open(plane, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	char owner[PATH_MAX];
	struct stat st;
	bool yes = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		   is_same_directory(owner_of(fd, owner, sizeof(owner)), dir);

	fd_close(fd);
	return yes;
}

/*
 * Names the plane after the real path, however the directory is reached. Any user can take a name first, so there are
 * several.
 */
static int name_plane(const char *dir, char ret[PLANE_MAX])
{
	char real[PATH_MAX];

	if (!realpath(dir, real))
		return err_sys(-errno, "runtime directory %s", dir);
	for (unsigned n = 0; n < PLANE_NAMES; n++) {
		nth_plane(real, n, ret);
		if (is_plane_of(ret, real))
			return 0;
	}
	for (unsigned n = 0; n < PLANE_NAMES; n++) {
		nth_plane(real, n, ret);
		if (!is_of_another(ret))
			return 0;
	}
	nth_plane(real, 0, ret); /* all names are taken: the error names the first */
	return 0;
}

void runtime_plane_of(const char *dir, char ret[PLANE_MAX])
{
	bool private;
	char *path = runtime_path(dir, &private);

	if (!path || name_plane(path, ret) < 0)
		ret[0] = '\0';
	mem_free(path);
}

int runtime_init(struct runtime *rt, const char *dir)
{
	bool private = false;
	int r;

	*rt = (struct runtime){ .lock_fd = -1, .plain_fd = -1, .plane = rt->own };
	rt->dir = runtime_path(dir, &private);
	rt->socket = rt->dir ? mem_printf("%s/control", rt->dir) : NULL;
	rt->state = rt->dir ? mem_printf("%s/state.json", rt->dir) : NULL;
	if (!rt->socket || !rt->state)
		r = err_nomem();
	else if (strchr(rt->dir, '\n')) /* PLANE_OWNER has one line */
		r = err_set(-EINVAL, "its name has a line break in it: name another one with --runtime-dir");
	else
		r = make_dir(rt->dir, private);
	if (r == 0)
		r = name_plane(rt->dir, rt->own);
	if (r < 0) {
		mem_free(rt->dir); /* so that runtime_finish() does not remove it */
		rt->dir = NULL;
		runtime_finish(rt);
	}
	return r;
}

/* ---- the plane's directory ---- */

static int take_away(const char *path)
{
	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	return errno == EISDIR ? fd_put_aside(path) : err_sys(-errno, "%s", path);
}

static int in_the_way(const char *dir, int r)
{
	char user[GROUP_NAME_MAX];
	struct stat st;

	if (lstat(dir, &st) < 0)
		return errno == ENOENT ? 1 : err_sys(-errno, "%s", dir);
	group_user_name(st.st_uid, user);
	if (geteuid() != 0 || st.st_uid == 0)
		return err_set(
			r,
			"%s is in the way of simd's data plane: user %s (%u) made it; that user, or root, must remove it",
			dir, user, (unsigned)st.st_uid);
	r = take_away(dir);
	if (r < 0)
		return r;
	log_warn("%s, made by user %s (%u), was in the way of simd's data plane: put aside", dir, user,
		 (unsigned)st.st_uid);
	return 1;
}

int runtime_check_base(void)
{
	if (access(PLANE_BASE, F_OK) == 0)
		return 0;
	return err_set(-ENOENT,
		       "there is no " PLANE_BASE ", where the data plane lies: mount -t tmpfs tmpfs " PLANE_BASE);
}

/*
 * Returns 0 with ret_fd; 1: try again. Members of simd's group make sockets and locks in the plane, and cannot remove
 * each other's.
 */
static int make_plane(const char *dir, int *ret_fd)
{
	struct stat st;
	int fd, r = runtime_check_base();

	if (r < 0)
		return r;
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_sys(-errno, "%s, simd's data plane, cannot be made", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid()) {
		r = fd < 0 && errno != EACCES ? -errno : -EACCES;
		fd_close(fd);
		return in_the_way(dir, r);
	}
	if (fchown(fd, (uid_t)-1, getegid()) < 0 || fchmod(fd, 01770) < 0) {
		r = err_sys(-errno, "%s: its mode", dir);
		fd_close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/* ---- its lock ---- */

static int held(const struct runtime *rt, const char *plane, int dir)
{
	char lock[PLANE_PATH_MAX], owner[PATH_MAX], user[GROUP_NAME_MAX];
	uid_t uid = geteuid();
	pid_t holder = 0;

	(void)plane_file(plane, PLANE_LOCK, lock, sizeof(lock));
	(void)fd_flock_held(lock, 0, &holder);
	(void)state_proc_user(holder, &uid);
	owner_of(dir, owner, sizeof(owner));
	group_user_name(uid, user);
	if (strcmp(plane, rt->own) != 0)
		return err_set(
			-EBUSY,
			"another simd uses this machine's iox-roudi (pid %d, user %s, runtime directory %s); one that is "
			"\"external\" serves one simd: stop that one, or set roudi.start to \"simd\"",
			(int)holder, user, owner);
	if (*owner && !is_same_directory(owner, rt->dir))
		return err_set(
			-EBUSY,
			"runtime directories %s and %s have the same name for their data plane, and a simd runs in "
			"the second (%s, pid %d, user %s): name another directory with --runtime-dir",
			rt->dir, owner, plane, (int)holder, user);
	return err_set(-EBUSY,
		       "another simd runs in %s (pid %d, user %s): stop it first, or name another directory with "
		       "--runtime-dir",
		       *owner ? owner : rt->dir, (int)holder, user);
}

/* Opens the lock with mode 0600, so that no other user can lock it. Returns 1: try again. */
static int open_lock(const char *plane, int dir, int *ret_fd)
{
	int fd = openat(dir, PLANE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	char path[PLANE_PATH_MAX];
	struct stat st;
	int r;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
		*ret_fd = fd;
		return 0;
	}
	if (fd < 0 && errno == ENOSPC)
		return err_set(-ENOSPC,
			       "%s has room for no more file: its inodes are used up; remove some, or remount /dev/shm "
			       "with a larger nr_inodes",
			       plane);
	fd_close(fd);
	/* a member of simd's group made it, in a plane left by an earlier simd */
	(void)plane_file(plane, PLANE_LOCK, path, sizeof(path));
	r = take_away(path);
	return r < 0 ? r : 1;
}

/* Whether the locked file and its directory still have their names: a simd that ends removes both. */
static bool still_there(const char *plane, int dir, int fd)
{
	struct stat a, b;

	return fstat(dir, &a) == 0 && stat(plane, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev &&
	       fstat(fd, &a) == 0 && fstatat(dir, PLANE_LOCK, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_ino == b.st_ino;
}

/*
 * Whether the process that wrote the lock has exited or is exiting. A child that it forked may hold it a moment longer.
 */
static bool owner_ended(int fd)
{
	char text[32];
	const char *at = text;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	int64_t pid;

	text[n > 0 ? n : 0] = '\0';
	return n > 0 && (number_take_i64(&at, NUMBER_DEC, 1, INT_MAX, &pid) < 0 || state_proc_ending((pid_t)pid));
}

/*
 * A plane left by a killed simd, perhaps with a running RouDi, belongs to the next simd of the same runtime directory.
 */
static int check_owner(const struct runtime *rt, const char *plane, int dir)
{
	char owner[PATH_MAX], state[PATH_MAX + 16];

	owner_of(dir, owner, sizeof(owner));
	snprintf(state, sizeof(state), "%s/state.json", owner);
	if (!*owner || is_same_directory(owner, rt->dir) || strcmp(plane, rt->own) != 0 || access(state, F_OK) < 0)
		return 0;
	return err_set(
		-EBUSY,
		"runtime directories %s and %s have the same name for their data plane, and a killed simd has left "
		"the second one's (%s): name another directory with --runtime-dir, or simd --clean-up --runtime-dir %s",
		rt->dir, owner, plane, owner);
}

/* Written in place: when /dev/shm is full, another process would take a page that is freed first. */
static int write_pid(int lock)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	return pwrite(lock, text, (size_t)n, 0) == n && ftruncate(lock, n) == 0 ? 0 : -1;
}

/*
 * Whether an earlier simd of this directory wrote it; then it stays, as a new file may find no room. A member of simd's
 * group may have made a false one.
 */
static bool is_owner_written(const struct runtime *rt, int dir)
{
	char owner[PATH_MAX];
	struct stat st;

	return fstatat(dir, PLANE_OWNER, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && (st.st_mode & 07777) == 0644 &&
	       strcmp(owner_of(dir, owner, sizeof(owner)), rt->dir) == 0;
}

static int make_owner(const struct runtime *rt, int dir)
{
	int fd, r = -1;

	(void)unlinkat(dir, PLANE_OWNER, 0);
	fd = openat(dir, PLANE_OWNER, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd >= 0 && fchmod(fd, 0644) == 0)
		r = dprintf(fd, "%s\n", rt->dir);
	fd_close(fd);
	return r;
}

static int write_owner(const struct runtime *rt, int dir, int lock)
{
	int r = write_pid(lock);

	if (r == 0 && !is_owner_written(rt, dir))
		r = make_owner(rt, dir);
	return r < 0 ? err_sys(-errno, "%s cannot be written", rt->own) : 0;
}

static int try_lock(const struct runtime *rt, const char *plane, int dir, bool last, int *ret_fd)
{
	int fd, r = open_lock(plane, dir, &fd);

	if (r)
		return r;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		r = owner_ended(fd) && !last ? 1 : held(rt, plane, dir);
	else if (!still_there(plane, dir, fd))
		r = 1;
	else
		r = check_owner(rt, plane, dir);
	if (r == 0)
		r = write_owner(rt, dir, fd);
	if (r == 0)
		*ret_fd = fd;
	else
		fd_close(fd);
	return r;
}

static int lock_plane(const struct runtime *rt, const char *plane, int *ret_fd)
{
	int r = 1;

	for (int i = 0; i < LOCK_TRIES && r > 0; i++) {
		int dir;

		if (i > 0)
			(void)fd_wait(-1, 0, LOCK_PAUSE_DUR_NS);
		r = make_plane(plane, &dir);
		if (r)
			continue;
		r = try_lock(rt, plane, dir, i == LOCK_TRIES - 1, ret_fd);
		fd_close(dir);
	}
	return r > 0 ? err_set(-EBUSY, "%s: other simds keep taking its lock; try again", plane) : r;
}

int runtime_lock(struct runtime *rt, bool external)
{
	int r = lock_plane(rt, rt->own, &rt->lock_fd);

	if (r == 0 && external) {
		rt->plane = "";
		r = lock_plane(rt, PLANE_EXTERNAL, &rt->plain_fd);
	}
	return r;
}

void runtime_clear_external(struct runtime *rt)
{
	(void)lock_plane(rt, PLANE_EXTERNAL, &rt->plain_fd);
}

/* Also removes sockets and locks of clients, which are of no use without RouDi. */
static void remove_plane(const char *plane)
{
	DIR *d = opendir(plane);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (unlinkat(dirfd(d), e->d_name, 0) < 0 && errno == EISDIR)
			(void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	if (d)
		closedir(d);
	(void)rmdir(plane);
}

static void unlock_plane(const char *plane, int *fd)
{
	char lock[PLANE_PATH_MAX];

	if (*fd < 0)
		return;
	(void)plane_file(plane, PLANE_ROUDI ".lock", lock, sizeof(lock));
	if (!fd_flock_held(lock, 0, NULL))
		remove_plane(plane);
	*fd = fd_close(*fd);
}

/* Removes temporary files of a simd that was killed inside fd_write_file(). */
static void remove_unfinished(const char *dir)
{
	static const char *const written[] = { "state.json.", "roudi.toml." };
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		for (unsigned i = 0; i < sizeof(written) / sizeof(*written); i++)
			if (strncmp(e->d_name, written[i], strlen(written[i])) == 0 &&
			    strlen(e->d_name) == strlen(written[i]) + strlen("XXXXXX"))
				(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

void runtime_finish(struct runtime *rt)
{
	if (rt->dir && rt->lock_fd >= 0)
		remove_unfinished(rt->dir);
	unlock_plane(PLANE_EXTERNAL, &rt->plain_fd);
	unlock_plane(rt->own, &rt->lock_fd);
	if (rt->dir)
		(void)rmdir(rt->dir);
	mem_free(rt->dir);
	mem_free(rt->socket);
	mem_free(rt->state);
	*rt = (struct runtime){ .lock_fd = -1, .plain_fd = -1, .plane = "" };
}
