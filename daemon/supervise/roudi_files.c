/* SPDX-License-Identifier: Apache-2.0 */
/* RouDi's files; contract in roudi_files.h. Thread: simd-main. */
#include "roudi_files.h"

#include "err.h"
#include "fd.h"
#include "group.h"
#include "iox_stopped.h"
#include "ipc.h"
#include "log.h"
#include "mem.h"
#include "number.h"
#include "wire/pages.h"
#include "plane.h"
#include "trust.h"
#include "rnd.h"
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

LOG_TOPIC("roudi");

#define OUTPUT_MAX      ((size_t)1 << 20)
#define OUTPUT_TAIL     1500
#define CONFIG_TEXT_MAX 8192
#define CMDLINE_MAX     4096
#define MAPS_MAX        ((size_t)4 << 20)
#define ASIDE_PAYLOAD   "payload"
#define ATTACHMENTS_MAX 15 /* of a process, see ipc.h */

/* Returns the length, or -ENOBUFS. */
static int config_text(const struct pools *p, char *buf, size_t size)
{
	size_t len = (size_t)snprintf(buf, size, "[general]\nversion = 1\n\n[[segment]]\n");

	for (unsigned i = 0; i < p->n && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "\n[[segment.mempool]]\nsize = %llu\ncount = %u\n",
					(unsigned long long)p->c[i].size, p->c[i].count);
	return len < size ? (int)len : -ENOBUFS;
}

int roudi_write_config(const char *dir, const struct pools *p, char **ret_path, uint64_t *ret_hash)
{
	static const uint32_t wire = WIRE_ABI;
	char text[CONFIG_TEXT_MAX], *path;
	int n = config_text(p, text, sizeof(text)), r;

	if (n < 0)
		return err_set(n, "RouDi's configuration is longer than %d bytes", CONFIG_TEXT_MAX);
	path = mem_printf("%s/roudi.toml", dir);
	if (!path)
		return err_nomem();
	r = fd_write_file(path, text, (size_t)n, 0644);
	if (r < 0) {
		mem_free(path);
		return r;
	}
	*ret_path = path;
	*ret_hash = hash64(hash64(HASH64_INIT, &wire, sizeof(wire)), text, (size_t)n);
	return 0;
}

int64_t roudi_shm_free(void)
{
	struct statvfs v;

	return statvfs("/dev/shm", &v) < 0 ? -1 : (int64_t)(v.f_bavail * v.f_frsize);
}

bool roudi_shm_has_files(void)
{
	struct statvfs v;

	return statvfs("/dev/shm", &v) < 0 || v.f_files == 0 || v.f_favail >= ROUDI_FILES;
}

/* With the default names the segment is named after RouDi's group, which is then simd's too. */
static bool payload_path(const char *plane, char *ret, size_t n)
{
	const struct group *g = *plane ? NULL : getgrgid(getegid());

	return (*plane || g) && plane_memory(plane, g ? g->gr_name : "", ret, n);
}

static int64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : (int64_t)st.st_blocks * 512;
}

int64_t roudi_shm_room(const char *plane)
{
	int64_t bytes = roudi_shm_free();
	char path[SEGMENT_PATH_MAX];

	if (bytes >= 0 && plane_memory(plane, PLANE_MGMT, path, sizeof(path)))
		bytes += file_bytes(path);
	if (bytes >= 0 && payload_path(plane, path, sizeof(path)))
		bytes += file_bytes(path);
	if (bytes >= 0 && *plane) /* simd's two own files, a page each: the next simd has the same */
		bytes += 2 * 4096;
	return bytes;
}

bool roudi_has_left(const char *plane)
{
	char path[SEGMENT_PATH_MAX];

	return plane_memory(plane, PLANE_MGMT, path, sizeof(path)) && file_bytes(path) > 0;
}

/* ---- segments ---- */

int roudi_open_segment(const char *plane)
{
	char path[SEGMENT_PATH_MAX];
	int fd;

	if (!payload_path(plane, path, sizeof(path)))
		return err_set(-ENOENT, "group %u has no name, and the payload segment is named after it",
			       (unsigned)getegid());
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? err_sys(-errno, "payload segment %s", path) : fd;
}

int64_t roudi_punch(int fd)
{
	struct stat st;
	int64_t before;

	if (fstat(fd, &st) < 0)
		return -errno;
	before = (int64_t)st.st_blocks * 512;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, st.st_size) < 0)
		return -errno;
	return before;
}

bool roudi_aside_path(const char *plane, bool mgmt, uint32_t generation, char *ret, size_t n)
{
	return snprintf(ret, n, "%s/%s.%u", plane, mgmt ? PLANE_MGMT : ASIDE_PAYLOAD, generation) < (int)n;
}

void roudi_set_aside(const char *plane, uint32_t generation)
{
	char path[SEGMENT_PATH_MAX], aside[SEGMENT_PATH_MAX];

	if (!*plane)
		return;
	if (plane_memory(plane, PLANE_MGMT, path, sizeof(path)) &&
	    roudi_aside_path(plane, true, generation, aside, sizeof(aside)))
		(void)rename(path, aside);
	if (payload_path(plane, path, sizeof(path)) && roudi_aside_path(plane, false, generation, aside, sizeof(aside)))
		(void)rename(path, aside);
}

void roudi_forget_aside(const char *plane, uint32_t generation)
{
	char path[SEGMENT_PATH_MAX];

	for (int mgmt = 0; mgmt < 2 && *plane; mgmt++)
		if (roudi_aside_path(plane, mgmt, generation, path, sizeof(path)))
			(void)unlink(path);
}

void roudi_all_aside(const char *plane, void (*fn)(void *arg, uint32_t generation), void *arg)
{
	static const char prefix[] = ASIDE_PAYLOAD ".";
	DIR *d = opendir(plane);
	const struct dirent *e;
	int64_t n;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, prefix, sizeof(prefix) - 1) &&
		    number_i64(e->d_name + sizeof(prefix) - 1, NUMBER_DEC, 1, UINT32_MAX, &n) == 0)
			fn(arg, (uint32_t)n);
	if (d)
		closedir(d);
}

void roudi_clean(const char *plane)
{
	static const char *const files[] = { PLANE_ROUDI, PLANE_ROUDI ".lock", "iox-unique-roudi.lock" };
	char path[SEGMENT_PATH_MAX];

	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (plane_file(plane, files[i], path, sizeof(path)))
			(void)unlink(path);
	if (plane_memory(plane, PLANE_MGMT, path, sizeof(path)))
		(void)unlink(path);
	if (payload_path(plane, path, sizeof(path)))
		(void)unlink(path);
}

static bool lock_path(const char *plane, const char *app, char *ret, size_t n)
{
	char file[300];

	return *app && !strchr(app, '/') && snprintf(file, sizeof(file), "%s.lock", app) < (int)sizeof(file) &&
	       plane_file(plane, file, ret, n);
}

/* Takes an application's lock: it has exited. Negative: it has no lock file, or a process holds the lock. */
static int take_lock(const char *plane, const char *app)
{
	char path[300];
	int fd;

	if (!lock_path(plane, app, path, sizeof(path)))
		return -EINVAL;
	/* O_NONBLOCK: any user can make a pipe of that name */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 ? fd_close(fd) : fd;
}

static void forget_one(const char *plane, const char *name, bool exited)
{
	char path[300];
	int fd = take_lock(plane, name);

	if (fd < 0 && !exited)
		return;
	if (plane_file(plane, name, path, sizeof(path)))
		(void)unlink(path);
	if (lock_path(plane, name, path, sizeof(path)))
		(void)unlink(path);
	fd_close(fd);
}

void roudi_forget_app(const char *plane, const char *app, bool exited)
{
	char name[256];

	if (!*app || strchr(app, '/'))
		return;
	forget_one(plane, app, exited);
	for (int i = 1; i <= ATTACHMENTS_MAX; i++)
		if (snprintf(name, sizeof(name), "%s.%d", app, i) < (int)sizeof(name))
			forget_one(plane, name, exited);
}

bool roudi_has_lock(const char *plane, pid_t pid, const char *name)
{
	char path[300];

	return pid > 0 && lock_path(plane, name, path, sizeof(path)) && fd_flock_held(path, pid, NULL);
}

bool roudi_app_dead(const char *plane, const char *app)
{
	int fd = take_lock(plane, app);

	fd_close(fd);
	return fd >= 0;
}

static size_t cut_number(const char *s, size_t n, char before)
{
	size_t at = n;

	while (at && s[at - 1] >= '0' && s[at - 1] <= '9')
		at--;
	return at && at < n && s[at - 1] == before ? at - 1 : 0;
}

/* "simd-TAG.N.lock" or "NAME-TAG-ID.N.lock" of attachment N, TAG of 8 hexadecimal digits; ret_len: without ".lock". */
static bool is_our_lock(const char *name, size_t *ret_len)
{
	size_t n = strlen(name), end;

	if (n < 6 || n > 255 || strcmp(name + n - 5, ".lock") != 0)
		return false;
	n -= 5;
	*ret_len = n;
	end = cut_number(name, n, '.');
	if (strncmp(name, "simd-", 5) != 0)
		end = cut_number(name, end, '-');
	return end > 9 && name[end - 9] == '-' && strspn(name + end - 8, "0123456789abcdef") >= 8;
}

/*
 * A process that is starting makes its lock file and locks it a moment later. simd tests a lock by taking it, which
 * would make that process fail, so new files are skipped. A file from the future was made before the clock was set
 * back.
 */
static bool is_settled(int dir, const char *file)
{
	struct stat st;

	return fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && llabs((long long)(time(NULL) - st.st_mtime)) > 1;
}

static DIR *open_files(const char *plane)
{
	return opendir(*plane ? plane : "/tmp");
}

void roudi_dead_apps(const char *plane, bool settled, void (*fn)(void *arg, const char *app), void *arg)
{
	DIR *d = open_files(plane);
	const struct dirent *e;
	char app[256];
	size_t n;

	while (d && (e = readdir(d))) {
		if (!is_our_lock(e->d_name, &n) || (settled && !is_settled(dirfd(d), e->d_name)))
			continue;
		snprintf(app, sizeof(app), "%.*s", (int)n, e->d_name);
		if (roudi_app_dead(plane, app))
			fn(arg, app);
	}
	if (d)
		closedir(d);
}

static void forget(void *arg, const char *app)
{
	forget_one((const char *)arg, app, false);
}

void roudi_forget_dead(const char *plane)
{
	roudi_dead_apps(plane, false, forget, (void *)(uintptr_t)plane);
}

void roudi_forget_own(const char *plane, const char *app)
{
	size_t n = strlen(app);
	DIR *d = open_files(plane);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, app, n) && e->d_name[n] == '.')
			(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

/* ---- a RouDi that simd did not start ---- */

static bool is_roudi(const char *pid)
{
	char path[300], *text;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (fd_read_file(path, 64, &text, NULL) < 0)
		return false;
	yes = strcmp(text, "iox-roudi\n") == 0;
	mem_free(text);
	return yes;
}

/*
 * Whether that RouDi sees the same directory. In another mount namespace (a container, another test) /tmp and /dev/shm
 * differ.
 */
static bool same_place(const char *pid, const char *plane)
{
	const char *dir = *plane ? PLANE_BASE : "/tmp";
	char path[300];
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/%s/root%s", pid, dir);
	return stat(path, &a) == 0 && stat(dir, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool has_argument(const char *pid, const char *arg)
{
	char path[300], *text;
	size_t len;
	bool yes = false;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	if (fd_read_file(path, CMDLINE_MAX, &text, &len) < 0)
		return false;
	for (const char *a = text; a < text + len && !yes; a += strlen(a) + 1)
		yes = strcmp(a, arg) == 0;
	mem_free(text);
	return yes;
}

bool roudi_runs(void)
{
	char text[16];
	pid_t pid = 0;

	if (!fd_flock_held("/tmp/roudi.lock", 0, &pid))
		return false;
	snprintf(text, sizeof(text), "%d", (int)pid);
	return pid == 0 || is_roudi(text); /* 0: the holder is in a pid namespace that simd cannot see */
}

static bool is_of_our_user(pid_t pid)
{
	uid_t uid;

	return state_proc_user(pid, &uid) && uid == geteuid();
}

bool roudi_is_ours(pid_t pid, const char *config)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return is_of_our_user(pid) && has_argument(text, config);
}

pid_t roudi_find(const char *plane, const char *config)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	int64_t pid, found = 0;

	while (d && !found && (e = readdir(d)))
		if (number_i64(e->d_name, NUMBER_DEC, 1, INT_MAX, &pid) == 0 && is_roudi(e->d_name) &&
		    same_place(e->d_name, plane) &&
		    (!config || (is_of_our_user((pid_t)pid) && has_argument(e->d_name, config))) &&
		    !state_proc_ending((pid_t)pid))
			found = pid;
	if (d)
		closedir(d);
	return (pid_t)found;
}

static bool monitoring_off(const char *cmdline, size_t len)
{
	const char *end = cmdline + len;
	bool off = false;

	for (const char *a = cmdline; a < end; a += strlen(a) + 1) {
		const char *v = a + strlen(a) + 1;

		if ((strcmp(a, "-m") == 0 || strcmp(a, "--monitoring-mode") == 0) && v < end)
			off = strcmp(v, "off") == 0;
		else if (strncmp(a, "--monitoring-mode=", 18) == 0)
			off = strcmp(a + 18, "off") == 0;
		else if (strncmp(a, "-moff", 6) == 0)
			off = true;
	}
	return off;
}

static unsigned count_segments(const char *maps)
{
	char seen[4][128];
	unsigned n = 0;

	for (const char *p = maps; (p = strstr(p, "/dev/shm/"));) {
		size_t len = strcspn(p += 9, " \n");
		bool known = len >= sizeof(seen[0]) || strncmp(p, PLANE_MGMT, len) == 0;

		for (unsigned i = 0; i < n && !known; i++)
			known = strncmp(seen[i], p, len) == 0 && !seen[i][len];
		if (!known && n < 4) {
			memcpy(seen[n], p, len);
			seen[n++][len] = '\0';
		}
	}
	return n;
}

/* The user who runs RouDi can write to all memory that it shares, so also to root's. */
static int check_user(pid_t pid)
{
	char user[GROUP_NAME_MAX];
	uid_t uid;

	if (!trust_is_asked() || !state_proc_user(pid, &uid) || uid == 0)
		return 0;
	return err_set(-EPERM,
		       "iox-roudi (pid %d) is run by user %s (%u), and root would share memory with it: stop it, or "
		       "--trust-files (" TRUST_VARIABLE "=1)",
		       (int)pid, group_user_name(uid, user), (unsigned)uid);
}

int roudi_suits(pid_t pid)
{
	char path[64], *text;
	size_t len;
	bool off;
	unsigned n;
	int r = check_user(pid);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	r = fd_read_file(path, CMDLINE_MAX, &text, &len);
	if (r < 0)
		return err_prefix(r, "iox-roudi (pid %d) cannot be examined", (int)pid);
	off = monitoring_off(text, len);
	mem_free(text);
	if (!off)
		return err_set(
			-EPROTO,
			"iox-roudi (pid %d) runs with monitoring on: it would remove a process that stalls for 1.5 s; stop "
			"it and let simd start one, or start it with -m off",
			(int)pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	r = fd_read_file(path, MAPS_MAX, &text, &len);
	if (r < 0)
		return err_prefix(r, "iox-roudi (pid %d) cannot be examined", (int)pid);
	n = count_segments(text);
	mem_free(text);
	if (n != 1)
		return err_set(
			-EPROTO,
			"iox-roudi (pid %d) has %u payload segments, simd needs exactly one; stop it and let simd start one",
			(int)pid, n);
	return 0;
}

/* Admission must use the pools that exist: those of a RouDi that simd did not start differ from the configuration. */
int roudi_foreign_pools(struct ipc *ipc, const struct pools *wanted, struct pools *ret)
{
	struct ipc_pool have[POOLS_MAX];
	int n = ipc_pools(ipc, have, POOLS_MAX);

	if (n < 0)
		return err_set(n, "the pools of the running RouDi cannot be read: %s", ipc_why());
	ret->n = (unsigned)n;
	for (int i = 0; i < n; i++)
		ret->c[i] = (struct pool_class){ .size = have[i].size, .count = have[i].total };
	for (unsigned i = 0; i < wanted->n && !wanted->fixed; i++) {
		int cls = pools_class(ret, wanted->c[i].size - POOL_SLOT_ALIGN);

		if (cls >= 0)
			ret->c[cls].listed += wanted->c[i].listed;
	}
	for (unsigned i = 0; i < wanted->n && wanted->fixed; i++) {
		const struct pool_class *w = &wanted->c[i];
		uint64_t fit = 0;
		unsigned at = 0;

		for (unsigned k = ret->n; k-- > 0 && ret->c[k].size >= w->size;) {
			fit += ret->c[k].count;
			at = k;
		}
		if (fit < w->count)
			return err_set(
				-ENOSPC,
				"the running RouDi has %llu slots of %llu bytes or more, simd needs %u; stop it and let simd "
				"start one, or set \"pools\" to what it has",
				(unsigned long long)fit, (unsigned long long)w->size, w->count);
		ret->c[at].listed += w->listed;
	}
	ret->fixed = true;
	return 0;
}

/* ---- its output ---- */

/* Removes colour codes and control characters, in place. */
static void strip_colours(char *line)
{
	char *to = line;

	for (const char *from = line; *from; from++) {
		if (*from == '\033' && from[1] == '[')
			from += strcspn(from, "m");
		else if ((unsigned char)*from >= ' ')
			*to++ = *from;
		if (!*from)
			break;
	}
	*to = '\0';
}

/* Whether every RouDi prints that line. */
static bool is_chatter(const char *line)
{
	return !*line || strstr(line, "Reserving ") || strstr(line, "Log level set") ||
	       strstr(line, "ready for clients");
}

/* Logs the last lines of the output: they say why RouDi could not start. */
void roudi_log_output(const char *path)
{
	char *text, *line, *save = NULL;
	size_t len;

	if (fd_read_file(path, OUTPUT_MAX, &text, &len) < 0)
		return;
	line = text + (len > OUTPUT_TAIL ? len - OUTPUT_TAIL : 0);
	for (line = strtok_r(line, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		strip_colours(line);
		if (!is_chatter(line))
			log_warn("its output: %s", line);
	}
	mem_free(text);
}

void roudi_log_stopped(const char *path, size_t *at)
{
	char *text, *line, *save = NULL;
	struct stat st;
	size_t len;

	if (stat(path, &st) < 0 || (size_t)st.st_size == *at || fd_read_file(path, OUTPUT_MAX, &text, &len) < 0)
		return;
	for (line = strtok_r(text + (*at < len ? *at : 0), "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		strip_colours(line);
		if (strncmp(line, IOX_STOPPED_WORD, sizeof(IOX_STOPPED_WORD) - 1) == 0)
			log_warn("%s", line + sizeof(IOX_STOPPED_WORD) - 1);
	}
	*at = len;
	mem_free(text);
}

/* ---- locks of the dead ---- */

/* NAME=first, then the value in simd's own environment. */
static char *with_ours(const char *name, const char *first, size_t n)
{
	const char *ours = getenv(name);
	bool both = ours && *ours;

	return mem_printf("%s=%.*s%s%s", name, (int)n, first, both ? ":" : "", both ? ours : "");
}

int roudi_environment(const char *plane, char *ret[ROUDI_ENV_MAX])
{
	char path[PATH_MAX];
	char *file;
	int r = ipc_roudi_preload(path, sizeof(path));

	memset(ret, 0, ROUDI_ENV_MAX * sizeof(*ret));
	if (r < 0)
		return err_set(r, "%s", ipc_why());
	r = trust_check(path);
	if (r < 0)
		return r;
	if (strchr(path, ':'))
		return err_set(-ELIBACC, "%s: the dynamic linker takes no path with a colon", path);
	file = strrchr(path, '/') + 1;
	ret[0] = mem_printf(PLANE_VARIABLE "=%s", plane);
	/* LD_PRELOAD is split at spaces too: a library in a path with a space is found by its name */
	if (!strchr(path, ' ')) {
		ret[1] = with_ours("LD_PRELOAD", path, strlen(path));
	} else {
		ret[1] = with_ours("LD_PRELOAD", file, strlen(file));
		ret[2] = with_ours("LD_LIBRARY_PATH", path, (size_t)(file - 1 - path));
	}
	return 0;
}

bool roudi_is_robust(pid_t pid)
{
	char path[64], *text;
	size_t len;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (fd_read_file(path, MAPS_MAX, &text, &len) < 0)
		return false;
	yes = strstr(text, "/roudi_robust.so\n") != NULL;
	mem_free(text);
	return yes;
}
