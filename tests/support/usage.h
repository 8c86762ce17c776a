/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has: memory of its own, descriptors, threads. For tests that say that nothing grows. */
#ifndef TEST_SUPPORT_USAGE_H
#define TEST_SUPPORT_USAGE_H

#include <dirent.h>
#include <stdio.h>
#include <sys/types.h>

struct usage {
	long anon_kib; /* RssAnon: what is shared, as slots and pages that it has looked at, does not count */
	long descriptors, threads;
};

/* Entries of a folder less . and ..; -1: there is none. */
static inline long usage_entries(const char *path)
{
	DIR *dir = opendir(path);
	long n = -2;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* 0, or -1: there is no such process. */
static inline int usage_of(pid_t pid, struct usage *ret)
{
	struct usage u = { .anon_kib = -1 };
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f) && sscanf(line, "RssAnon: %ld", &u.anon_kib) != 1)
		;
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	u.descriptors = usage_entries(path);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	u.threads = usage_entries(path);
	if (u.anon_kib < 0 || u.descriptors < 0 || u.threads < 0)
		return -1;
	*ret = u;
	return 0;
}

#endif
