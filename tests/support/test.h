/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test program includes first: cmocka with what it needs, and names that are unique to the
 * running test. Thread: the test's.
 */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* `buf` becomes a path in the directory that the runner made for this test (or /tmp when run by hand). */
#define TEST_PATH_MAX 108
static inline const char *test_path(char buf[TEST_PATH_MAX], const char *name)
{
	const char *dir = getenv("TMPDIR");

	if (snprintf(buf, TEST_PATH_MAX, "%s/%s", dir ? dir : "/tmp", name) >= TEST_PATH_MAX)
		fail_msg("the path of %s is too long", name);
	return buf;
}

/*
 * Whether dir/name is, or holds, the checkout: one below /tmp or /dev/shm is mounted back into the private ones of a
 * test in namespaces, and is no trace of anything.
 */
static inline bool test_is_checkout(const char *dir, const char *name)
{
	size_t n = strlen(dir), len = strlen(name);
	char here[PATH_MAX];

	return getcwd(here, sizeof(here)) && strncmp(here, dir, n) == 0 && here[n] == '/' &&
	       strncmp(here + n + 1, name, len) == 0 && (here[n + 1 + len] == '/' || !here[n + 1 + len]);
}

/* Seed of randomised tests: SEED=n repeats a run; failing tests print it. */
static inline uint64_t test_seed(uint64_t fallback)
{
	const char *s = getenv("SEED");

	return s ? strtoull(s, NULL, 0) : fallback;
}

#endif
