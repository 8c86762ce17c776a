/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for slots; contract in memory_room.h. Thread: any. */
#include "memory_room.h"

#include "fd.h"
#include "mem.h"
#include "number.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#define FILE_MAX  ((size_t)64 << 10)
#define DEPTH_MAX 32          /* levels of nested control groups */
#define SPARE     (2LL << 20) /* bytes left for others */

/*
 * Returns the number after a word at the start of a line of a file, or the file's first number if word is NULL; -1: not
 * found.
 */
static int64_t number_in(const char *path, const char *word)
{
	int64_t n = -1;
	const char *at;
	char *text;
	size_t len;

	if (fd_read_file(path, FILE_MAX, &text, &len) < 0)
		return -1;
	at = word ? strstr(text, word) : text;
	if (at && (!word || at == text || at[-1] == '\n')) {
		at += word ? strlen(word) : 0;
		at += strspn(at, " \t");
		if (number_take_i64(&at, NUMBER_DEC, INT64_MIN, INT64_MAX, &n) < 0)
			n = -1;
	}
	mem_free(text);
	return n;
}

static int64_t shm_has(const char *root)
{
	char path[PATH_MAX];
	struct statvfs v;

	snprintf(path, sizeof(path), "%s/dev/shm", root);
	return statvfs(path, &v) < 0 ? INT64_MAX : (int64_t)(v.f_bavail * v.f_frsize);
}

static int64_t machine_has(const char *root)
{
	char path[PATH_MAX];
	int64_t kib;

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	kib = number_in(path, "MemAvailable:");
	return kib < 0 ? INT64_MAX : kib * 1024;
}

/* Counts cached pages of files as available: the kernel frees them when memory is short. */
static int64_t group_has(const char *root, const char *group)
{
	char path[PATH_MAX];
	int64_t max, current, files;
	int n = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s/memory.", root, group);

	if (n < 0 || n > PATH_MAX - 16)
		return INT64_MAX;
	strcpy(path + n, "max");
	max = number_in(path, NULL);
	strcpy(path + n, "current");
	current = number_in(path, NULL);
	if (max < 0 || current < 0)
		return INT64_MAX;
	strcpy(path + n, "stat");
	files = number_in(path, "inactive_file ");
	return max - current + (files > 0 ? files : 0);
}

/*
 * Returns this process's control group as a path that begins with "/", within *ret_text; NULL: not known. Free
 * *ret_text with mem_free() in both cases.
 */
static char *own_group(const char *root, char **ret_text)
{
	char path[PATH_MAX], *text, *group;
	size_t len;

	*ret_text = NULL;
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (fd_read_file(path, FILE_MAX, &text, &len) < 0)
		return NULL;
	*ret_text = text;
	group = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	if (!group)
		return NULL;
	group = strchr(group, '/');
	group[strcspn(group, "\n")] = '\0';
	return group;
}

static int64_t groups_have(const char *root)
{
	char *text, *group = own_group(root, &text), *cut;
	int64_t least = INT64_MAX;

	for (int i = 0; group && i < DEPTH_MAX; i++) {
		int64_t has = group_has(root, strcmp(group, "/") == 0 ? "" : group);

		least = has < least ? has : least;
		cut = strrchr(group, '/');
		if (!cut || !group[1])
			break;
		cut[cut == group] = '\0'; /* the parent of "/a" is "/" */
	}
	mem_free(text);
	return least;
}

int64_t memory_oom_kills(const char *root)
{
	char path[PATH_MAX], *text, *group = own_group(root, &text);
	int64_t n = -1;

	if (group && snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s/memory.events", root, group) < PATH_MAX)
		n = number_in(path, "oom_kill ");
	mem_free(text);
	return n;
}

static int64_t less_spare(int64_t bytes)
{
	if (bytes == INT64_MAX)
		return bytes;
	return bytes > SPARE ? bytes - SPARE : 0;
}

int64_t memory_left(const char *root)
{
	int64_t machine = machine_has(root), groups = groups_have(root);

	return less_spare(machine < groups ? machine : groups);
}

int64_t memory_room(const char *root, const char **ret_whose)
{
	int64_t least = shm_has(root), machine = machine_has(root), groups = groups_have(root);

	*ret_whose = "/dev/shm";
	if (machine < least) {
		least = machine;
		*ret_whose = "this machine";
	}
	if (groups < least) {
		least = groups;
		*ret_whose = "this container or service";
	}
	return less_spare(least);
}
