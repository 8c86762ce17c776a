/* SPDX-License-Identifier: Apache-2.0 */
/* See planes.h. Any user can create such directories, so their content is checked. Thread: main. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd.h"
#include "group.h"
#include "plane.h"
#include "planes.h"
#include "printable.h"
#include "simctl.h"
#include "timeutil.h"

#define ANSWER_MS 3000

struct plane {
	char dir[PLANE_MAX];
	char runtime[PATH_MAX];
	uid_t uid;
	int64_t bytes;
};

/* ---- directories ---- */

static int is_plane(const struct dirent *e)
{
	const char *digits = e->d_name + strlen(PLANE_PREFIX);

	return !strncmp(e->d_name, PLANE_PREFIX, strlen(PLANE_PREFIX)) && strlen(digits) == PLANE_DIGITS &&
	       strspn(digits, "0123456789abcdef") == PLANE_DIGITS;
}

/* Reads its one line. False unless it is a regular file owned by the directory's owner, and holds an absolute path. */
static bool read_owner(int dir, uid_t uid, char *ret, size_t size)
{
	int fd = openat(dir, PLANE_OWNER, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = 0;
	char *end;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == uid)
		n = pread(fd, ret, size - 1, 0);
	fd_close(fd);
	ret[n > 0 ? n : 0] = '\0';
	end = strchr(ret, '\n');
	if (end)
		*end = '\0';
	return end && *ret == '/';
}

static int64_t bytes_in(DIR *d)
{
	const struct dirent *e;
	struct stat st;
	int64_t sum = 0;

	while ((e = readdir(d)))
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			sum += (int64_t)st.st_blocks * 512;
	return sum;
}

/* simd's runtime directory belongs to its user, so nobody can fake another user's simd. */
static bool is_owners(const struct plane *p)
{
	struct stat st;

	return stat(p->runtime, &st) < 0 || st.st_uid == p->uid;
}

static bool plane_look(const char *name, struct plane *ret)
{
	struct stat st;
	bool found;
	int fd;
	DIR *d;

	snprintf(ret->dir, sizeof(ret->dir), PLANE_BASE "/%s", name);
	fd = open(ret->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		fd_close(fd);
		return false;
	}
	found = fstat(fd, &st) == 0 && read_owner(fd, st.st_uid, ret->runtime, sizeof(ret->runtime));
	if (found) {
		ret->uid = st.st_uid;
		ret->bytes = bytes_in(d);
	}
	closedir(d);
	return found && is_owners(ret);
}

/* ---- its simd ---- */

/* GetInfo's reply; NULL: no answer. */
static json_t *get_info(const struct plane *p)
{
	char socket[PATH_MAX + 16], *reply = NULL;
	struct sim_client_options o = { .size = sizeof(o),
					.name = "simctl",
					.socket = socket,
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD,
					.timeout_ms = ANSWER_MS };
	struct sim_client *c = NULL;
	json_t *j = NULL;

	snprintf(socket, sizeof(socket), "%s/control", p->runtime);
	if (sim_connect(&o, &c) == 0 &&
	    sim_call_within(c, "io.simd.Control.GetInfo", "{}", ANSWER_MS * NS_PER_MS, &reply) == 0)
		j = json_loads(reply, 0, NULL);
	free(reply);
	sim_disconnect(c);
	return j;
}

/* Paths may not be valid UTF-8, which JSON requires. */
static json_t *text_of(const char *s)
{
	char fit[PATH_MAX * 4];
	json_t *j = json_string(s);

	if (j)
		return j;
	printable(fit, sizeof(fit), s, strlen(s));
	return json_string(fit);
}

static json_t *rigs_of(const json_t *info)
{
	json_t *names = json_array(), *name;
	size_t i;

	json_array_foreach(json_object_get(info, "rigs"), i, name)
		if (json_is_string(name))
			json_array_append(names, name);
	return names;
}

static void set_pid(json_t *row, json_int_t pid)
{
	json_object_set_new(row, "pid", pid > 0 ? json_integer(pid) : json_null());
}

/* Completes the row of a simd that does not answer. NULL: it has just exited, or out of memory. */
static json_t *silent_row(const struct plane *p, json_t *row)
{
	char path[sizeof(p->dir) + 16];
	pid_t pid = 0;
	bool held;

	snprintf(path, sizeof(path), "%s/" PLANE_LOCK, p->dir);
	held = fd_flock_held(path, 0, &pid);
	json_object_set_new(row, "status", json_string(held ? "silent" : "dead"));
	set_pid(row, held ? pid : 0);
	snprintf(path, sizeof(path), "%s/" PLANE_OWNER, p->dir);
	if (held || access(path, F_OK) == 0)
		return row;
	json_decref(row);
	return NULL;
}

static json_t *plane_row(const struct plane *p, const json_t *info)
{
	char user[GROUP_NAME_MAX];
	json_t *row = json_pack("{s:o, s:s, s:n, s:o, s:n, s:I, s:s, s:s}", "runtime", text_of(p->runtime), "user",
				group_user_name(p->uid, user), "pid", "rigs", rigs_of(info), "uptime_ms", "memory",
				(json_int_t)p->bytes, "plane", p->dir, "status", "running");

	if (!info)
		return silent_row(p, row);
	set_pid(row, json_integer_value(json_object_get(info, "pid")));
	json_object_set_new(row, "uptime_ms", json_integer(json_integer_value(json_object_get(info, "uptime_ms"))));
	return row;
}

/* Whether the simd that answered uses this plane. With an external iox-roudi its reply has "". */
static bool is_its_simd(const struct plane *p, const json_t *info)
{
	const char *plane = json_text(info, "plane");

	return !*plane || !strcmp(plane, p->dir);
}

static void insert(json_t *list, json_t *row)
{
	size_t i = 0;

	while (i < json_array_size(list) &&
	       strcmp(json_text(json_array_get(list, i), "runtime"), json_text(row, "runtime")) < 0)
		i++;
	json_array_insert_new(list, i, row);
}

static void add_simd(json_t *list, const char *name)
{
	struct plane p;
	json_t *info, *row;

	if (!plane_look(name, &p))
		return;
	info = get_info(&p);
	row = is_its_simd(&p, info) ? plane_row(&p, info) : NULL;
	if (row)
		insert(list, row);
	json_decref(info);
}

json_t *planes_find(void)
{
	struct dirent **found = NULL;
	json_t *list = json_array();
	int n = scandir(PLANE_BASE, &found, is_plane, alphasort);

	for (int i = 0; i < n; i++) {
		if (!simctl_stop)
			add_simd(list, found[i]->d_name);
		free(found[i]);
	}
	free(found);
	return json_pack("{s:o}", "simds", list);
}
