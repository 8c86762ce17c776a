/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that rosbag2 can open, around simd's MCAP files. Thread: any. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log_private.h"
#include "mem.h"
#include "rosbag2.h"

bool rosbag2_dir_named(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	return n > 1 && path[n - 1] == '/';
}

/* Turns "out/run//" into "out/run". The caller frees it. */
static char *without_slashes(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return mem_printf("%.*s", (int)n, path);
}

int rosbag2_dir_create(const char *path, char *ret_file, size_t size, char *why, size_t why_size)
{
	char *dir = without_slashes(path);
	const char *slash = dir ? strrchr(dir, '/') : NULL;
	int n = dir ? snprintf(ret_file, size, "%s/%s.mcap", dir, slash ? slash + 1 : dir) : 0, r = 0;

	if (!dir)
		r = log_fail(why, why_size, -ENOMEM, "no memory");
	else if ((size_t)n >= size)
		r = log_fail(why, why_size, -ENAMETOOLONG, "%.80s...: the name is too long", dir);
	else if (mkdir(dir, 0777) < 0)
		r = log_fail(why, why_size, -errno, "%s: %s", dir,
			     errno == EEXIST ? "it exists, and is kept: name another directory" : strerror(errno));
	mem_free(dir);
	return r;
}

static int is_mcap(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 5 && strcmp(e->d_name + n - 5, ".mcap") == 0;
}

/* Sorts run.mcap, run.2.mcap, ..., run.10.mcap; run_0000.mcap, ... */
static int by_number(const struct dirent **a, const struct dirent **b)
{
	size_t m = strlen((*a)->d_name), n = strlen((*b)->d_name);

	return m != n ? (m > n) - (m < n) : strcmp((*a)->d_name, (*b)->d_name);
}

static int describe(const char *dir, struct dirent **list, int n, char *why, size_t why_size)
{
	const char **files = mem_calloc((size_t)n, sizeof(*files));
	int r;

	if (!files)
		return log_fail(why, why_size, -ENOMEM, "no memory");
	for (int i = 0; i < n; i++)
		files[i] = list[i]->d_name;
	r = rosbag2_metadata_write(dir, files, (unsigned)n, why, why_size);
	mem_free(files);
	return r;
}

int rosbag2_dir_finish(const char *path, char *why, size_t why_size)
{
	struct dirent **list = NULL;
	int n = scandir(path, &list, is_mcap, by_number), r = 0;

	if (n > 0)
		r = describe(path, list, n, why, why_size);
	else if (n < 0 || rmdir(path) < 0)
		r = log_fail(why, why_size, -errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return r;
}
