/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and reading files, see file.h. Thread: any. */
#include "file.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "tree.h"
#include "trust.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const file_dag_paths[] = { "SIM_DAG_PATH", "APOLLO_DAG_PATH", NULL };
const char *const file_launch_paths[] = { "SIM_LAUNCH_PATH", "APOLLO_LAUNCH_PATH", NULL };
const char *const file_library_paths[] = { "SIM_LIB_PATH", "APOLLO_LIB_PATH", NULL };
const char *const file_config_paths[] = { "SIM_CONF_PATH", "APOLLO_CONF_PATH", NULL };

/* dir: of len bytes; empty: the current directory. Returns 1 if the file exists, else 0; -ENOMEM. */
static int try_in(const char *dir, size_t len, const char *name, char **ret)
{
	char *path = len ? mem_printf("%.*s/%s", (int)len, dir, name) : mem_strdup(name);

	if (!path)
		return err_nomem();
	if (access(path, F_OK) == 0) {
		*ret = path;
		return 1;
	}
	mem_free(path);
	return 0;
}

static int try_list(const char *list, const char *name, char **ret)
{
	int r = 0;

	while (list && *list && r == 0) {
		size_t len = strcspn(list, ":");

		if (len)
			r = try_in(list, len, name, ret);
		list += len + (list[len] == ':');
	}
	return r;
}

/* Looks relative to simhost's own program: libraries installed with it, or the examples of the build. */
static int try_own(const char *name, char **ret)
{
	static const char *const dirs[] = { "lib/simd", "examples" };
	char root[PATH_MAX], dir[PATH_MAX + 16];
	ssize_t n = readlink("/proc/self/exe", root, sizeof(root) - 1);
	int r = 0;

	root[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(root, '/');

		if (!slash)
			return 0;
		*slash = '\0';
	}
	for (unsigned i = 0; r == 0 && i < sizeof(dirs) / sizeof(*dirs); i++) {
		int len = snprintf(dir, sizeof(dir), "%s/%s", root, dirs[i]);

		r = try_in(dir, (size_t)len, name, ret);
	}
	return r;
}

int file_find(const char *name, const char *beside, const char *const *variables, char **ret)
{
	const char *slash = beside ? strrchr(beside, '/') : NULL;
	size_t dir_len = slash ? (size_t)(slash - beside) + (slash == beside) : 0;
	int r = try_in(beside, *name == '/' ? 0 : dir_len, name, ret);

	for (unsigned i = 0; r == 0 && *name != '/' && variables[i]; i++)
		r = try_list(getenv(variables[i]), name, ret);
	if (r == 0 && *name != '/' && variables == file_library_paths)
		r = try_own(name, ret);
	if (r != 0)
		return r < 0 ? r : 0;
	if (*name == '/')
		return err_set(-ENOENT, "%s does not exist", name);
	return err_set(-ENOENT, "%s is neither in %.*s nor below a directory of %s or %s", name,
		       dir_len ? (int)dir_len : 1, dir_len ? beside : ".", variables[0], variables[1]);
}

int file_load(const char *path, char **ret, size_t *ret_len)
{
	int r = trust_check(path);

	return r < 0 ? r : fd_read_file(path, TREE_BYTES_MAX, ret, ret_len);
}
