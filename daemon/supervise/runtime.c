/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime directory and the lock; contract in runtime.h. Thread: simd-main. */
#include "runtime.h"

#include "err.h"
#include "fd.h"
#include "group.h"
#include "log.h"
#include "mem.h"
#include "state.h"
#include "timeutil.h"
#include "trust.h"

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

#define LOCK_PATH         "/tmp/simd.lock"
#define LOCK_TRIES        100
#define LOCK_PAUSE_DUR_NS (10 * NS_PER_MS)

/* ret_private: in /tmp, where everyone may make a directory of that name. */
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

/* Whose the directory above is can put another in its place, or a link to one that root writes to. */
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

/* Whoever may write here takes simd's place at the socket, or has the next simd end processes by its state file. */
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

/* Processes that simd starts may have another working directory. */
static char *runtime_path(const char *asked, bool *ret_private)
{
	char *usual = asked && *asked ? NULL : usual_dir(ret_private);
	char *full = usual || (asked && *asked) ? fd_absolute(usual ? usual : asked) : NULL;

	mem_free(usual);
	return full;
}

int runtime_init(struct runtime *rt, const char *dir)
{
	bool private = false;
	int r;

	*rt = (struct runtime){ .lock_fd = -1 };
	rt->dir = runtime_path(dir, &private);
	rt->socket = rt->dir ? mem_printf("%s/control", rt->dir) : NULL;
	rt->state = rt->dir ? mem_printf("%s/state.json", rt->dir) : NULL;
	rt->lock = mem_strdup(LOCK_PATH);
	r = rt->socket && rt->state && rt->lock ? make_dir(rt->dir, private) : err_nomem();
	if (r < 0) {
		mem_free(rt->dir); /* not ours to remove */
		rt->dir = NULL;
		runtime_finish(rt);
	}
	return r;
}

/* ---- one simd per RouDi ---- */

static int held(const struct runtime *rt, int fd)
{
	struct stat st;
	pid_t holder = 0;
	char text[512], user[GROUP_NAME_MAX];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	uid_t owner = fstat(fd, &st) == 0 ? st.st_uid : 0;

	(void)fd_flock_held(rt->lock, 0, &holder);
	(void)state_proc_user(holder, &owner);
	fd_close(fd);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	return err_set(
		-EBUSY,
		"another simd has this machine's iceoryx: %s (%s, held by pid %d, user %s); one RouDi serves one simd: stop "
		"it first, or run this one in a mount namespace with its own /tmp and /dev/shm",
		*text ? text : "unknown", rt->lock, (int)holder, group_user_name(owner, user));
}

/* Whether the process runs a simd; one that we may not look at may be. */
static bool is_simd(pid_t pid)
{
	char path[64], exe[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n < 0)
		return errno != ENOENT;
	exe[n] = '\0';
	name = strrchr(exe, '/');
	return name && (strcmp(name, "/simd") == 0 || strcmp(name, "/simd (deleted)") == 0);
}

static void write_owner(const struct runtime *rt)
{
	int fd = open(rt->lock, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return; /* left behind by another user: the lock counts, its text is only for people */
	dprintf(fd, "simd, pid %d, runtime directory %s\n", (int)getpid(), rt->dir);
	fd_close(fd);
}

static bool put_in_place(const char *mine, const char *lock)
{
	return rename(mine, lock) == 0 || (errno == EISDIR && fd_put_aside(lock) == 0 && rename(mine, lock) == 0);
}

/* Ours in the place of what is there, and locked already: whoever made that would make it again in between. */
static bool replace_lock(struct runtime *rt)
{
	char *mine = mem_printf("%s.XXXXXX", rt->lock);
	int fd = mine ? mkostemp(mine, O_CLOEXEC) : -1;

	if (fd >= 0 && (fchmod(fd, 0644) < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !put_in_place(mine, rt->lock))) {
		(void)unlink(mine);
		fd = fd_close(fd);
	}
	mem_free(mine);
	rt->lock_fd = fd;
	return fd >= 0;
}

/* Anybody can lock this file, whoever made it. Root does not let a process stop it that is another user's and no simd. */
static bool take_from_squatter(struct runtime *rt)
{
	char user[GROUP_NAME_MAX];
	pid_t holder = 0;
	uid_t uid;

	if (geteuid() != 0 || !fd_flock_held(rt->lock, 0, &holder) || !state_proc_user(holder, &uid) || uid == 0 ||
	    is_simd(holder) || !replace_lock(rt))
		return false;
	log_warn("%s was held by pid %d of user %s (%u), which is no simd: removed", rt->lock, (int)holder,
		 group_user_name(uid, user), (unsigned)uid);
	return true;
}

/* What cannot be opened, or is no file. 1: it has gone meanwhile. */
static int take_from_oddity(struct runtime *rt, int r)
{
	char user[GROUP_NAME_MAX];
	struct stat st;

	if (lstat(rt->lock, &st) < 0)
		return errno == ENOENT ? 1 : err_sys(-errno, "lock %s", rt->lock);
	group_user_name(st.st_uid, user);
	if (geteuid() != 0 || st.st_uid == 0 || !replace_lock(rt))
		return err_set(r,
			       "lock %s cannot be taken (%s): user %s (%u) made it; that user, or root, must remove it",
			       rt->lock, err_text(r), user, (unsigned)st.st_uid);
	log_warn("%s, made by user %s (%u), was no file that can be locked: removed", rt->lock, user,
		 (unsigned)st.st_uid);
	return 0;
}

/* Whether the file we locked is still the one at the path: a simd that ends removes it. */
static bool still_there(const struct runtime *rt, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(rt->lock, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int open_lock(const struct runtime *rt)
{
	/* without O_CREAT first: in a sticky directory the kernel refuses to "create" another user's file; a pipe is not waited for */
	int fd = open(rt->lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		fd = open(rt->lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return fd;
	fd_close(fd);
	return -EINVAL;
}

/*
 * Whether the one that wrote the lock has exited, or is just ending. A child that it had forked but not yet
 * executed then holds the lock for a moment more.
 */
static bool owner_ended(int fd)
{
	char text[512];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *pid;

	text[n > 0 ? n : 0] = '\0';
	pid = strstr(text, "pid ");
	return pid && state_proc_ending((pid_t)atoi(pid + 4));
}

/* 1: to be tried again. */
static int try_lock(struct runtime *rt, bool last)
{
	int fd = open_lock(rt);

	if (fd < 0)
		return fd == -EEXIST ? 1 : take_from_oddity(rt, fd);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (!still_there(rt, fd)) {
			fd_close(fd);
			return 1;
		}
		rt->lock_fd = fd;
		return 0;
	}
	if (take_from_squatter(rt)) {
		fd_close(fd);
		return 0;
	}
	if (!owner_ended(fd) || last)
		return held(rt, fd);
	fd_close(fd);
	(void)fd_wait(-1, 0, LOCK_PAUSE_DUR_NS);
	return 1;
}

int runtime_lock(struct runtime *rt)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		int r = try_lock(rt, i == LOCK_TRIES - 1);

		if (r < 0)
			return r;
		if (r == 0) {
			write_owner(rt);
			return 0;
		}
	}
	return err_set(-EBUSY, "lock %s keeps changing hands; try again", rt->lock);
}

void runtime_finish(struct runtime *rt)
{
	if (rt->lock_fd >= 0) {
		(void)unlink(rt->lock);
		rt->lock_fd = fd_close(rt->lock_fd);
	}
	if (rt->dir)
		(void)rmdir(rt->dir);
	mem_free(rt->dir);
	mem_free(rt->socket);
	mem_free(rt->state);
	mem_free(rt->lock);
	*rt = (struct runtime){ .lock_fd = -1 };
}
