/* SPDX-License-Identifier: Apache-2.0 */
/* main() of the test programs: runs what TEST() has registered, see test.h. Thread: the test's. */
#include "tests/support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <sys/wait.h>

static struct test_case *cases;
static CMFixtureFunction group_setup, group_teardown;
static bool processes, skipped;

#define SKIPPED 77 /* how a program, or a test's process, ends that the machine cannot run */

/* A file's constructors run one after the other, but in no order that a compiler promises. */
void test_add(struct test_case *c)
{
	struct test_case **at = &cases;

	while (*at && (strcmp((*at)->file, c->file) != 0 || (*at)->number < c->number))
		at = &(*at)->next;
	c->next = *at;
	*at = c;
}

void test_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	group_setup = setup;
	group_teardown = teardown;
}

void test_processes(void)
{
	processes = true;
}

void test_skip(const char *file, int line)
{
	skipped = true;
	_skip(file, line);
	abort(); /* it does not return */
}

static void in_a_process(void **state)
{
	char arg[TEST_PATH_MAX];
	int status;
	pid_t pid;

	snprintf(arg, sizeof(arg), "=%s", (const char *)*state);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("CMOCKA_MESSAGE_OUTPUT", "SUBUNIT", 1); /* another form: the runner counts it once */
		execl("/proc/self/exe", program_invocation_name, arg, NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

/* "=name" is this one, and here; any other word a pattern as the shell's. */
static bool chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (argv[i][0] == '=' ? !strcmp(argv[i] + 1, name) : !fnmatch(argv[i], name, 0))
			return true;
	return argc < 2;
}

static int none_chosen(void)
{
	fprintf(stderr, "%s: no test has such a name. It has:\n", program_invocation_short_name);
	for (struct test_case *c = cases; c; c = c->next)
		fprintf(stderr, "%s\n", c->test.name);
	return 2;
}

/* ---- what tests ask the machine ---- */

/* State letter of one thread, from "pid (name) S ..."; 'T' when it is gone. */
static char thread_state(pid_t pid, const char *tid)
{
	char path[64], line[512];
	char *p = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)pid, tid);
	f = fopen(path, "r");
	if (!f)
		return 'T';
	if (fgets(line, sizeof(line), f))
		p = strrchr(line, ')');
	fclose(f);
	return p ? p[2] : 'T';
}

bool test_stands(pid_t pid)
{
	char path[64];
	struct dirent *e;
	bool all = true;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			all &= thread_state(pid, e->d_name) == 'T';
	if (d)
		closedir(d);
	return all;
}

int main(int argc, char **argv)
{
	bool here = !processes || (argc > 1 && argv[1][0] == '=');
	struct CMUnitTest *tests = NULL;
	size_t n = 0;
	int r;

	for (struct test_case *c = cases; c; c = c->next) {
		if (!chosen(c->test.name, argc, argv))
			continue;
		tests = realloc(tests, (n + 1) * sizeof(*tests));
		if (!tests)
			return 1;
		tests[n++] = here ? c->test
				  : (struct CMUnitTest){ .name = c->test.name,
							 .test_func = in_a_process,
							 .initial_state = (char *)c->test.name };
	}
	if (!n)
		return none_chosen();
	r = _cmocka_run_group_tests(program_invocation_short_name, tests, n, here ? group_setup : NULL,
				    here ? group_teardown : NULL);
	free(tests);
	return r == 0 && skipped && processes && here ? SKIPPED : r;
}
