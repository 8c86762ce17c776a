/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every test program includes this first: cmocka with its prerequisites, TEST(), and names that are unique to the
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

#include "wait.h"

struct test_case {
	struct CMUnitTest test;
	const char *file;
	int number; /* increases through its file */
	bool full;  /* only with FULL=1, unless it is named */
	struct test_case *next;
};

void test_add(struct test_case *c);
void test_group(CMFixtureFunction setup, CMFixtureFunction teardown);
void test_processes(void);
void test_sweep(void (*fn)(void));
_Noreturn void test_skip(const char *file, int line);
#undef skip
#define skip() test_skip(__FILE__, __LINE__) /* which is seen through a process of its own too */

/*
 * TEST(what_it_does) { ... } is a test of its program; they run in the order of the source. `state` is what a set-up
 * has left there, as everywhere in cmocka; a test that the machine cannot run says skip(). main() is in test.c: it runs
 * all, or those whose names match one of its arguments (patterns as the shell's; one that matches none lists them).
 * What a test that has failed leaves of the processes it started is ended before the next one begins.
 */
#define TEST(name) TEST_WITH(name, NULL, NULL)
/* The same between a set-up and a tear-down of its own, each int (*)(void **state) or NULL. */
#define TEST_WITH(name, setup, teardown) TEST_NUMBERED(name, setup, teardown, __COUNTER__, false)
/* The same, but `make check` leaves it to FULL=1: it costs much, and others here show most of what it would find. */
#define TEST_FULL(name)                       TEST_FULL_WITH(name, NULL, NULL)
#define TEST_FULL_WITH(name, setup, teardown) TEST_NUMBERED(name, setup, teardown, __COUNTER__, true)
#define TEST_NUMBERED(name, setup, teardown, number, full) \
	static void name(void **state); \
	__attribute__((constructor)) static void add_test_##name(void) \
	{ \
		static struct test_case test_case_ = { \
			{ #name, name, setup, teardown, NULL }, __FILE__, number, full, NULL \
		}; \
\
		test_add(&test_case_); \
	} \
	static void name(__attribute__((unused)) void **state)

/* Once a program: what comes before its first test and after its last one; each may be NULL. */
#define TEST_GROUP(setup, teardown) \
	__attribute__((constructor)) static void set_test_group(void) \
	{ \
		test_group(setup, teardown); \
	}

/*
 * Once a program: each test gets a process of its own, and TEST_GROUP's two run in each. For what a failed test would
 * leave behind in its process for the next ones: a library's state, a bridge.
 */
#define TEST_PROCESSES() \
	__attribute__((constructor)) static void set_test_processes(void) \
	{ \
		test_processes(); \
	}

/*
 * Once a program, for what is shared by its tests: removes what those processes leave on the machine. Called after a
 * failed test before which there were none.
 */
#define TEST_SWEEP(fn) \
	__attribute__((constructor)) static void set_test_sweep(void) \
	{ \
		test_sweep(fn); \
	}

/* A call that returns 0 or more, or says why not (err.h). */
#define assert_ok(expr) \
	do { \
		int ok_r_ = (expr); \
		if (ok_r_ < 0) \
			fail_msg("%s: %d: %s", #expr, ok_r_, err_why()); \
	} while (0)

/* Sanitizers take ten times as long: what goes over all bits or bytes goes over each seventh there, so over another bit of each byte. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_STRIDE 7
#endif
#endif
#ifndef TEST_STRIDE
#define TEST_STRIDE 1
#endif

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

/* Whether every thread of a process stands still after SIGSTOP. */
bool test_stands(pid_t pid);

/* make check FULL=1; FULL= takes it back for one stage. */
static inline bool test_full(void)
{
	const char *full = getenv("FULL");

	return full && *full;
}

/* Seed of randomised tests: SEED=n repeats a run; failing tests print it. */
static inline uint64_t test_seed(uint64_t fallback)
{
	const char *s = getenv("SEED");

	return s ? strtoull(s, NULL, 0) : fallback;
}

#endif
