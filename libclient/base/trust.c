/* SPDX-License-Identifier: Apache-2.0 */
/* Checks which users can change a file; contract in trust.h. Thread: any. */
#include "trust.h"

#include "err.h"
#include "fd.h"
#include "mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40

/*
 * Trusted besides root and this process's user: the owners of the files of this code, and their groups if these may
 * write to them.
 */
struct trusted {
	uid_t uid[2];
	gid_t gid[2];
};

static void add_owner(struct trusted *t, unsigned i, const char *file)
{
	struct stat st;

	if (stat(file, &st) < 0)
		return;
	t->uid[i] = st.st_uid;
	t->gid[i] = st.st_mode & S_IWGRP ? st.st_gid : 0;
}

static struct trusted trusted_now(void)
{
	struct trusted t = { .uid = { 0 } };
	Dl_info info;

	add_owner(&t, 0, "/proc/self/exe");
	if (dladdr((const void *)(uintptr_t)&trusted_now, &info) && info.dli_fname && strchr(info.dli_fname, '/'))
		add_owner(&t, 1, info.dli_fname); /* libsimclient */
	return t;
}

static int refuse(const char *path, const char *at, const char *why, const struct stat *st)
{
	return err_set(
		-EPERM,
		"%s: %s %s (mode %04o, owner %u:%u); run as root, only what nobody else can change is used: chown root "
		"and chmod go-w, or --trust-files (" TRUST_VARIABLE "=1)",
		path, strcmp(path, at) ? at : "it", why, st->st_mode & 07777, st->st_uid, st->st_gid);
}

/* path: as given; at: one file or directory on its way. */
static int check_one(const struct trusted *t, const char *path, const char *at, const struct stat *st)
{
	bool sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

	if (st->st_uid != 0 && st->st_uid != geteuid() && st->st_uid != t->uid[0] && st->st_uid != t->uid[1])
		return refuse(path, at, "belongs to another user", st);
	if (S_ISLNK(st->st_mode) || sticky)
		return 0;
	if ((st->st_mode & S_IWOTH) ||
	    ((st->st_mode & S_IWGRP) && st->st_gid != 0 && st->st_gid != t->gid[0] && st->st_gid != t->gid[1]))
		return refuse(path, at, "can be written by others", st);
	return 0;
}

/* Replaces the link that ends at the n-th byte of full by its target; the walk then begins again. */
static int follow(char full[PATH_MAX], size_t n)
{
	char to[PATH_MAX], next[2 * PATH_MAX], link[PATH_MAX];
	size_t dir = n;
	ssize_t len;

	snprintf(link, sizeof(link), "%.*s", (int)n, full);
	len = readlink(link, to, sizeof(to) - 1);
	if (len < 0)
		return -errno;
	to[len] = '\0';
	while (dir && full[dir - 1] != '/')
		dir--;
	if (to[0] == '/')
		dir = 0;
	if (snprintf(next, sizeof(next), "%.*s%s%s", (int)dir, full, to, full + n) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(full, next);
	return 0;
}

/* Returns 1: a link was followed; 0: the whole path is fine, or the rest does not exist. */
static int walk(const struct trusted *t, const char *path, char full[PATH_MAX])
{
	char at[PATH_MAX];

	for (size_t n = 1;; n++) {
		struct stat st;
		int r;

		n += strcspn(full + n, "/");
		snprintf(at, sizeof(at), "%.*s", (int)n, full);
		if (lstat(at, &st) < 0)
			return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(-errno, "%s", at);
		r = check_one(t, path, at, &st);
		if (r < 0)
			return r;
		if (S_ISLNK(st.st_mode)) {
			r = follow(full, n);
			return r < 0 ? err_sys(r, "%s", at) : 1;
		}
		if (!full[n])
			return 0;
	}
}

bool trust_is_asked(void)
{
	const char *any = secure_getenv(TRUST_VARIABLE);
	unsigned inside = 0, outside = 0;
	FILE *f;

	if (geteuid() != 0 || (any && strcmp(any, "1") == 0))
		return false;
	f = fopen("/proc/self/uid_map", "re");
	if (f && fscanf(f, "%u %u", &inside, &outside) != 2)
		inside = outside = 0;
	if (f)
		fclose(f);
	return inside == outside;
}

int trust_check(const char *path)
{
	struct trusted t = trusted_now();
	char full[PATH_MAX], *absolute;
	struct stat root;
	int r, links = 0;

	if (!trust_is_asked())
		return 0;
	absolute = fd_absolute(path);
	if (!absolute)
		return err_nomem();
	r = snprintf(full, sizeof(full), "%s", absolute) < (int)sizeof(full) ? 0 : -ENAMETOOLONG;
	mem_free(absolute);
	if (r < 0)
		return err_sys(r, "%.100s...", path);
	if (stat("/", &root) == 0)
		r = check_one(&t, path, "/", &root);
	for (; r == 0; r = 0) {
		r = walk(&t, path, full);
		if (r <= 0)
			return r;
		if (++links > LINKS_MAX)
			return err_sys(-ELOOP, "%s", path);
	}
	return r;
}
