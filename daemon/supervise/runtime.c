/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime directory and the lock; contract in runtime.h. Thread: simd-main. */
#include "runtime.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "state.h"
#include "timeutil.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_PATH         "/tmp/simd.lock"
#define LOCK_TRIES        100
#define LOCK_PAUSE_DUR_NS (10 * NS_PER_MS)

static char *usual_dir(void)
{
	const char *env = getenv("SIMD_RUNTIME_DIR"), *xdg = getenv("XDG_RUNTIME_DIR");

	if (env && *env)
		return mem_strdup(env);
	if (geteuid() == 0 || access("/run/simd", W_OK) == 0)
		return mem_strdup("/run/simd");
	if (xdg && *xdg)
		return mem_printf("%s/simd", xdg);
	return mem_printf("/tmp/simd-%u", (unsigned)geteuid());
}

static int make_dir(const char *dir)
{
	struct stat st;
	int r = fd_mkdir_p(dir, 0755);

	if (r < 0)
		return r;
	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(-ENOTDIR, "%s is not a directory", dir);
	if (st.st_uid != geteuid() && geteuid() != 0 && access(dir, W_OK) < 0)
		return err_set(-EACCES, "%s belongs to another user; name another one with --runtime-dir", dir);
	return 0;
}

/* Processes that simd starts may have another working directory. */
static char *runtime_path(const char *asked)
{
	char *usual = asked && *asked ? NULL : usual_dir();
	char *full = usual || (asked && *asked) ? fd_absolute(usual ? usual : asked) : NULL;

	mem_free(usual);
	return full;
}

int runtime_init(struct runtime *rt, const char *dir)
{
	int r;

	*rt = (struct runtime){ .lock_fd = -1 };
	rt->dir = runtime_path(dir);
	rt->socket = rt->dir ? mem_printf("%s/control", rt->dir) : NULL;
	rt->state = rt->dir ? mem_printf("%s/state.json", rt->dir) : NULL;
	rt->lock = mem_strdup(LOCK_PATH);
	r = rt->socket && rt->state && rt->lock ? make_dir(rt->dir) : err_nomem();
	if (r < 0)
		runtime_finish(rt);
	return r;
}

/* ---- one simd per RouDi ---- */

static int held(const struct runtime *rt, int fd)
{
	char text[512];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	fd_close(fd);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	return err_set(
		-EBUSY,
		"another simd has this machine's iceoryx: %s (%s); one RouDi serves one simd: stop it first, or run this "
		"one in a mount namespace with its own /tmp and /dev/shm",
		*text ? text : "unknown", rt->lock);
}

/* Whether the file we locked is still the one at the path: a simd that ends removes it. */
static bool still_there(const struct runtime *rt, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(rt->lock, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int open_lock(const struct runtime *rt)
{
	/* without O_CREAT first: in a sticky directory the kernel refuses to "create" another user's file */
	int fd = open(rt->lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT)
		fd = open(rt->lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 ? -errno : fd;
}

static void write_owner(const struct runtime *rt)
{
	int fd = open(rt->lock, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return; /* left behind by another user: the lock counts, its text is only for people */
	dprintf(fd, "simd, pid %d, runtime directory %s\n", (int)getpid(), rt->dir);
	fd_close(fd);
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

int runtime_lock(struct runtime *rt)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		int fd = open_lock(rt);

		if (fd == -EEXIST)
			continue;
		if (fd < 0)
			return err_sys(fd, "lock %s", rt->lock);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			if (!owner_ended(fd) || i == LOCK_TRIES - 1)
				return held(rt, fd);
			fd_close(fd);
			(void)fd_wait(-1, 0, LOCK_PAUSE_DUR_NS);
			continue;
		}
		if (still_there(rt, fd)) {
			rt->lock_fd = fd;
			write_owner(rt);
			return 0;
		}
		fd_close(fd);
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
