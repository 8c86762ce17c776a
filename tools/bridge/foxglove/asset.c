/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that clients may fetch by a URI, such as the meshes of a vehicle's model: those below the folders of the option
 * "assets", {"package://car/": "/usr/share/car"}. Neither ".." nor a link can lead out of these folders.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foxglove.h"

int asset_check(const struct sim_bridge_host *host, json_t **ret)
{
	json_t *j = json_loads(bridge_option(host, "assets"), JSON_REJECT_DUPLICATES, NULL), *one;
	bool ok = json_is_object(j) && json_object_size(j) <= 64;
	const char *prefix;

	json_object_foreach(j, prefix, one)
		ok = ok && json_string_length(one) && strstr(prefix, "://") && prefix[strlen(prefix) - 1] == '/';
	if (ok) {
		*ret = j;
		return 0;
	}
	json_decref(j);
	host->log(
		host->ctx, 0,
		"options.assets: not an object of at most 64 folders by the beginning of their URIs, which ends with '/', such as "
		"{\"package://car/\": \"/usr/share/car\"}");
	return -EINVAL;
}

static const char *folder_of(const json_t *assets, const char *uri, const char **ret_rest)
{
	const char *prefix;
	json_t *one;

	json_object_foreach((json_t *)(uintptr_t)assets, prefix, one) {
		size_t n = strlen(prefix);

		if (strncmp(uri, prefix, n) == 0 && uri[n]) {
			*ret_rest = uri + n;
			return json_string_value(one);
		}
	}
	return NULL;
}

static int open_below(const char *folder, const char *rest)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, r;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, rest, &how, sizeof(how));
	r = fd < 0 ? -errno : fd;
	close(dir);
	return r;
}

static int read_all(int fd, uint8_t **ret, size_t *ret_len)
{
	struct stat st;
	size_t len = 0;
	ssize_t n = 1;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EISDIR;
	if (st.st_size > (off_t)FOXGLOVE_ASSET_MAX)
		return -EFBIG;
	*ret = malloc((size_t)st.st_size + 1);
	if (!*ret)
		return -ENOMEM;
	while (len < (size_t)st.st_size && (n = read(fd, *ret + len, (size_t)st.st_size - len)) > 0)
		len += (size_t)n;
	*ret_len = len;
	return n < 0 ? -errno : 0;
}

int asset_read(const json_t *assets, const char *uri, uint8_t **ret, size_t *ret_len, char *why, size_t why_size)
{
	const char *rest = NULL, *folder = folder_of(assets, uri, &rest);
	int fd = folder ? open_below(folder, rest) : -ENOENT, r = fd < 0 ? fd : read_all(fd, ret, ret_len);

	if (fd >= 0)
		close(fd);
	if (r < 0)
		snprintf(why, why_size, "%.150s: %s", uri,
			 !folder        ? "no folder of the rig's option \"assets\" has it"
			 : r == -EXDEV  ? "it leads out of its folder"
			 : r == -EISDIR ? "it is not a file"
			 : r == -EFBIG  ? "it is longer than 16 MiB"
					: strerror(-r));
	return r;
}
