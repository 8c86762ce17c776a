/* SPDX-License-Identifier: Apache-2.0 */
/* See plugin_file.h. */
#include "plugin_file.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define END ".so"

static void look_at(const char *file, const char *kind, plugin_file_fn fn, void *arg)
{
	size_t n = strlen(kind), len = strlen(file);
	char name[sizeof(((struct dirent *)0)->d_name)];

	if (len <= n + 1 + strlen(END) || strncmp(file, kind, n) != 0 || file[n] != '_' ||
	    strcmp(file + len - strlen(END), END) != 0)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(len - n - 1 - strlen(END)), file + n + 1);
	fn(arg, name);
}

void plugin_files(const char *const *dirs, const char *kind, plugin_file_fn fn, void *arg)
{
	for (; *dirs; dirs++) {
		DIR *d = opendir(*dirs);
		const struct dirent *e;

		while (d && (e = readdir(d)))
			look_at(e->d_name, kind, fn, arg);
		if (d)
			closedir(d);
	}
}
