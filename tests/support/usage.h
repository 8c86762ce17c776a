/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources of a process: private memory, descriptors, threads, CPU time. For tests that check that nothing grows, or
 * spins.
 */
#ifndef TEST_SUPPORT_USAGE_H
#define TEST_SUPPORT_USAGE_H

#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

struct usage {
	long anon_kib; /* RssAnon: excludes shared memory, such as slots and file pages */
	long descriptors, threads;
	long cpu_ms; /* used so far */
};

/* Entries of a folder without . and ..; -1: there is no such folder. */
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

/* -1: there is no such process. */
static inline long usage_cpu_ms(pid_t pid)
{
	unsigned long user, sys;
	char path[64];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	n = fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys);
	fclose(f);
	return n == 2 ? (long)(user + sys) * 1000 / sysconf(_SC_CLK_TCK) : -1;
}

/* 0, or -1: there is no such process; unknown values are -1. */
static inline int usage_of(pid_t pid, struct usage *ret)
{
	struct usage u = { -1, -1, -1, -1 };
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	*ret = u;
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
	u.cpu_ms = usage_cpu_ms(pid);
	*ret = u;
	return u.cpu_ms < 0 || u.anon_kib < 0 || u.descriptors < 0 || u.threads < 0 ? -1 : 0;
}

/* For a process that runs. */
static inline struct usage usage(pid_t pid)
{
	struct usage u;

	assert_int_equal(usage_of(pid, &u), 0);
	return u;
}

#endif
