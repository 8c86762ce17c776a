/* SPDX-License-Identifier: Apache-2.0 */
/* main() of the test programs: runs what TEST() has registered, see test.h. Thread: the test's. */
#include "tests/support/test.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/wait.h>

static struct test_case *cases;
static CMFixtureFunction group_setup, group_teardown;
static void (*sweep)(void);
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

void test_sweep(void (*fn)(void))
{
	sweep = fn;
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
static bool chosen(const struct test_case *c, int argc, char **argv)
{
	const char *name = c->test.name;

	for (int i = 1; i < argc; i++)
		if (argv[i][0] == '=' ? !strcmp(argv[i] + 1, name) : !fnmatch(argv[i], name, 0))
			return true;
	return argc < 2 && (!c->full || test_full());
}

static int none_chosen(void)
{
	fprintf(stderr, "%s: no test has such a name. It has:\n", program_invocation_short_name);
	for (struct test_case *c = cases; c; c = c->next)
		fprintf(stderr, "%s\n", c->test.name);
	return 2;
}

/* ---- what tests ask the machine ---- */

/* State letter and parent of a process or thread, from "pid (name) S 1 ..."; 'T' when it is gone. */
static char state_of(const char *stat, pid_t *ret_parent)
{
	char line[512], state = 'T';
	int parent = 0;
	char *p = NULL;
	FILE *f = fopen(stat, "r");

	if (f && fgets(line, sizeof(line), f))
		p = strrchr(line, ')');
	if (f)
		fclose(f);
	if (p)
		(void)sscanf(p, ") %c %d", &state, &parent);
	if (ret_parent)
		*ret_parent = parent;
	return state;
}

static char thread_state(pid_t pid, const char *tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)pid, tid);
	return state_of(path, NULL);
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

/* ---- what a failed test leaves ---- */

#define PIDS_MAX 1024

static struct CMUnitTest *running; /* as it was registered */
static bool well = true;           /* the last one came to its end */
static pid_t before[PIDS_MAX];     /* those of ours when it began */
static size_t n_before;

/* In a pid namespace all but the test are its own; elsewhere those that descend from it. */
static bool ours(pid_t pid)
{
	pid_t self = getpid();
	char path[64];

	if (self == 1)
		return pid > 1;
	for (int up = 0; pid > 1 && up < 32; up++) {
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		(void)state_of(path, &pid);
		if (pid == self)
			return true;
	}
	return false;
}

static size_t pids(pid_t *ret)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	while (d && n < PIDS_MAX && (e = readdir(d))) {
		ret[n] = (pid_t)atoi(e->d_name);
		n += ours(ret[n]);
	}
	if (d)
		closedir(d);
	return n;
}

static bool was_there(pid_t pid)
{
	for (size_t i = 0; i < n_before; i++)
		if (before[i] == pid)
			return true;
	return false;
}

/* Nothing is left of what has come since then; as the first process of its namespace the test inherits the dead. */
static bool ended(void)
{
	static pid_t now[PIDS_MAX];
	size_t n = pids(now), left = 0;

	for (size_t i = 0; i < n; i++)
		if (!was_there(now[i])) {
			kill(now[i], SIGKILL);
			left += waitpid(now[i], NULL, WNOHANG) != now[i];
		}
	return !left;
}

static int begin_case(void **state)
{
	running++;
	if (!well) {
		if (!HOLDS_WITHIN(10000, ended()))
			fprintf(stderr, "processes of a failed test do not end\n");
		if (sweep && !n_before)
			sweep();
	}
	n_before = pids(before);
	well = false;
	return running->setup_func ? running->setup_func(state) : 0;
}

/*
 * Where another thread than the test's fails, by a signal or by an assertion, cmocka ends the process without a word: what it notes is of that thread.
 * So the signal is said here, with the stack; of an assertion that there was one.
 */
static void (*of_cmocka[NSIG])(int sig);

static void on_signal(int sig)
{
	void *stack[64];
	char text[100];
	int n;

	if (gettid() == getpid())
		of_cmocka[sig](sig);
	n = snprintf(text, sizeof(text), "signal %d in thread %d, which is not the test's:\n", sig, (int)gettid());
	(void)!write(STDERR_FILENO, text, (size_t)n);
	backtrace_symbols_fd(stack, backtrace(stack, 64), STDERR_FILENO);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

static void watch_faults(void)
{
	static const int sigs[] = { SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS, SIGABRT };
	void *stack[1];

	(void)backtrace(stack, 1); /* what it needs it loads now */
	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		of_cmocka[sigs[i]] = signal(sigs[i], on_signal);
}

static void on_end(int status, void *arg)
{
	(void)arg;
	if (status == -1 && gettid() != getpid())
		fprintf(stderr, "an assertion failed in thread %d, which is not the test's\n", (int)gettid());
}

static void run_case(void **state)
{
	watch_faults();
	running->test_func(state);
	well = true;
}

/* What cmocka is to run: the same, between these two. */
static struct CMUnitTest *wrapped(const struct CMUnitTest *tests, size_t n)
{
	struct CMUnitTest *w = calloc(n, sizeof(*w));

	for (size_t i = 0; w && i < n; i++) {
		w[i] = tests[i];
		w[i].setup_func = begin_case;
		w[i].test_func = run_case;
	}
	return w;
}

int main(int argc, char **argv)
{
	bool here = !processes || (argc > 1 && argv[1][0] == '=');
	struct CMUnitTest *tests = NULL, *w;
	size_t n = 0;
	int r;

	for (struct test_case *c = cases; c; c = c->next) {
		if (!chosen(c, argc, argv))
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
		return argc < 2 ? SKIPPED : none_chosen();
	(void)on_exit(on_end, NULL);
	w = wrapped(tests, n);
	if (!w)
		return 1;
	running = tests - 1;
	r = _cmocka_run_group_tests(program_invocation_short_name, w, n, here ? group_setup : NULL,
				    here ? group_teardown : NULL);
	free(w);
	free(tests);
	return r == 0 && skipped && processes && here ? SKIPPED : r;
}
