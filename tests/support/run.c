/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test runner: each test is a program in a process group of its own, with a limit and a log; several at once.
 *
 *     run [--jobs N] [--logs DIR] [--wrap CMD] [--results FILE] [--stage NAME] [--hunt SEED] MODE:LIMIT:PATH ...
 *
 * MODE: "n" (run through --wrap, which gives it namespaces) or "-". LIMIT: seconds of this machine's work
 * (run_machine.h): a machine that is slow, shared or stopped has its seconds later. --jobs: that many at once; while a
 * processor has nothing to do, as some tests only wait, up to four times as many. 1: one at a time. --hunt: looks for
 * tests that fail on a bad machine: one processor, the lowest priority, and their processes are stopped for a while
 * again and again (run_hunt.h).
 *
 * A cmocka program counts as many tests as it reports; any other as one: exit 0 passed, 77 skipped, else failed. A
 * program that leaves processes behind has failed. The last line is "N passed, N failed"; the exit status tells whether
 * the second number is 0. --results: a line for each test, "test STAGE NAME passed failed skipped wall_s cpu_s", with
 * tabs. CPU seconds are those of all processes that ended below the test, RouDi's too.
 *
 * Thread: one; waits in poll() for pidfds.
 */
#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "opt.h"
#include "timeutil.h"

#include "run_hunt.h"
#include "run_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX  16
#define SLOTS_MAX (4 * JOBS_MAX)
#define TICK_MS   250
#define LOG_BYTES ((size_t)16 << 20)
#define SKIPPED   77

struct args {
	int64_t jobs, hunt;
	const char *logs, *wrap, *results, *stage;
};

struct test {
	const char *path;
	char *name, *log, *dir; /* dir: TMPDIR of its own */
	bool wrapped, started, timed_out, left;
	int64_t limit_dur_ns; /* what is left of the time limit */
	int64_t start_mono_ns, took_dur_ns, cpu_dur_ns;
	pid_t pid;
	int pidfd, status;
	unsigned passed, failed, skipped;
};

struct run {
	struct args a;
	struct machine machine;
	pid_t hunter;
	struct test *tests;
	unsigned n, running;
	struct test *slot[SLOTS_MAX];
	char tmp[PATH_MAX];
	unsigned passed, failed, skipped;
};

#define OPT_VALUES struct args
static const struct opt options[] = {
	OPT("jobs", 'j', INT, jobs, NULL, "tests at once", .min = 1, .max = JOBS_MAX),
	OPT("logs", 0, STRING, logs, "DIR", "output goes there"),
	OPT("wrap", 0, STRING, wrap, "CMD", "runs a test in namespaces"),
	OPT("results", 0, STRING, results, "FILE", "append a line for each test there"),
	OPT("stage", 0, STRING, stage, "NAME", "what these lines call this run"),
	OPT("hunt", 0, INT, hunt, "SEED", "stop processes of the tests at random", .min = 0, .max = INT32_MAX),
	{ 0 },
};

static const struct opt_program program = {
	.name = "run",
	.section = 1,
	.summary = "Run tests.",
	.version = SIM_VERSION,
	.opts = options,
};

static volatile sig_atomic_t stop_signal;

static void on_signal(int sig)
{
	stop_signal = sig;
}

/* ---- what a test's log says ---- */

/* Sum of the numbers behind each `key` at a line's start. */
static unsigned sum_after(const char *log, const char *key)
{
	unsigned sum = 0;

	for (const char *p = log; (p = strstr(p, key)); p += strlen(key))
		if (p == log || p[-1] == '\n')
			sum += (unsigned)strtoul(p + strlen(key), NULL, 10);
	return sum;
}

static void count(struct test *t)
{
	bool ok = !t->timed_out && !t->left && WIFEXITED(t->status) && WEXITSTATUS(t->status) == 0;
	char *log;

	if (WIFEXITED(t->status) && WEXITSTATUS(t->status) == SKIPPED) {
		t->skipped = 1;
		return;
	}
	if (fd_read_file(t->log, LOG_BYTES, &log, NULL) == 0) {
		t->passed = sum_after(log, "[  PASSED  ] ");
		t->failed = sum_after(log, "[  FAILED  ] ") + sum_after(log, "[  ERROR   ] ");
		t->skipped = sum_after(log, "[  SKIPPED ] ");
		mem_free(log);
	}
	if (!ok && !t->failed)
		t->failed = 1;
	if (ok && !t->passed && !t->failed && !t->skipped)
		t->passed = 1;
}

/* Shows the failed assertions, wherever in the log they are: the tail may be full of other output. */
static void show_errors(const char *log)
{
	static const char *const marks[] = {
		"ERROR", "[   LINE   ]", "error:", "runtime error", "WARNING: ThreadSanitizer", "still waiting at "
	};

	for (const char *line = log, *end; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		for (unsigned i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
			const char *at = strstr(line, marks[i]);

			if (at && at < end) {
				printf("%.*s\n", (int)(end - line), line);
				break;
			}
		}
	}
}

static void show_tail(const struct test *t)
{
	size_t len;
	char *log;

	if (fd_read_file(t->log, LOG_BYTES, &log, &len) < 0)
		return;
	printf("---- %s\n", t->name);
	show_errors(log);
	printf("%s%s---- end of %s\n", len > 6000 ? "...\n" : "", log + (len > 6000 ? len - 6000 : 0), t->name);
	mem_free(log);
}

static void add_result(const struct run *r, const struct test *t)
{
	FILE *f = r->a.results ? fopen(r->a.results, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "test\t%s\t%s\t%u\t%u\t%u\t%.2f\t%.2f\n", r->a.stage, t->name, t->passed, t->failed, t->skipped,
		(double)t->took_dur_ns / 1e9, (double)t->cpu_dur_ns / 1e9);
	fclose(f);
}

static void report(struct run *r, struct test *t)
{
	const char *note = t->timed_out ? " over its time limit" : t->left ? " left processes behind" : "";

	count(t);
	add_result(r, t);
	r->passed += t->passed;
	r->failed += t->failed;
	r->skipped += t->skipped;
	printf("%-4s %-36s %3u passed%s",
	       t->failed   ? "FAIL"
	       : t->passed ? "ok"
			   : "skip",
	       t->name, t->passed, t->failed ? "" : "        ");
	if (t->failed)
		printf(", %u failed", t->failed);
	printf(" %6.2f s, %6.2f of CPU%s", (double)t->took_dur_ns / 1e9, (double)t->cpu_dur_ns / 1e9, note);
	if (WIFSIGNALED(t->status) && !t->timed_out)
		printf(" (%s)", strsignal(WTERMSIG(t->status)));
	putchar('\n');
	if (t->failed)
		show_tail(t);
	fflush(stdout);
}

/* ---- one test ---- */

static void child(const struct run *r, const struct test *t)
{
	int null = open("/dev/null", O_RDONLY), log = open(t->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (null < 0 || log < 0)
		_exit(126);
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	setenv("TMPDIR", t->wrapped ? "/tmp" : t->dir, 1);
	setenv("CMOCKA_MESSAGE_OUTPUT", "stdout", 1);
	if (r->a.hunt)
		hunt_handicap();
	if (t->wrapped)
		execl(r->a.wrap, r->a.wrap, t->path, (char *)NULL);
	else
		execl(t->path, t->path, (char *)NULL);
	dprintf(2, "%s: %s\n", t->wrapped ? r->a.wrap : t->path, strerror(errno));
	_exit(127);
}

static int start(struct run *r, struct test *t, unsigned slot)
{
	if (mkdir(t->dir, 0700) < 0)
		return err_sys(-errno, "%s", t->dir);
	t->start_mono_ns = mono_now_ns();
	t->pid = fork();
	if (t->pid < 0)
		return err_sys(-errno, "fork");
	if (t->pid == 0)
		child(r, t);
	setpgid(t->pid, t->pid); /* parent and child both do it: whichever is first */
	t->pidfd = fd_pidfd_open(t->pid);
	if (t->pidfd < 0)
		return t->pidfd;
	t->started = true;
	r->slot[slot] = t;
	r->running++;
	return 0;
}

static void remove_tree(const char *dir)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", "--", dir, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* Reaps one and counts its CPU time, and that of those it has waited for. */
static pid_t reap(struct test *t, pid_t pid, int *ret_status)
{
	struct rusage u;
	pid_t had = wait4(pid, ret_status, 0, &u);

	if (had > 0)
		t->cpu_dur_ns += (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
				 (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NS_PER_US;
	return had;
}

/*
 * The runner is the subreaper of what it starts, so whatever a test leaves in its group is reaped
 * here; what had to be killed for it was left behind.
 */
static void finish(struct run *r, unsigned slot)
{
	struct test *t = r->slot[slot];
	siginfo_t info;
	int status;

	/* the leader is still a zombie, so its process group's number cannot be reused */
	waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOWAIT);
	t->took_dur_ns = mono_now_ns() - t->start_mono_ns;
	kill(-t->pid, SIGKILL);
	reap(t, t->pid, &t->status);
	while (reap(t, -t->pid, &status) > 0)
		t->left |= WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !t->timed_out;
	t->pidfd = fd_close(t->pidfd);
	r->slot[slot] = NULL;
	r->running--;
	remove_tree(t->dir);
	report(r, t);
}

static void spend(struct test *t, int64_t dur_ns)
{
	t->limit_dur_ns -= dur_ns;
	if (t->limit_dur_ns > 0 || t->timed_out)
		return;
	t->timed_out = true;
	kill(-t->pid, SIGKILL);
}

static void watch(struct run *r)
{
	struct pollfd p[SLOTS_MAX];
	int64_t work_dur_ns = machine_look(&r->machine);

	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		struct test *t = r->slot[i];

		p[i] = (struct pollfd){ .fd = t ? t->pidfd : -1, .events = POLLIN };
		if (!t)
			continue;
		spend(t, work_dur_ns);
	}
	if (poll(p, SLOTS_MAX, TICK_MS) <= 0)
		return;
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		if (r->slot[i] && p[i].revents)
			finish(r, i);
}

/* ---- all of them ---- */

static struct test *next_of(const struct run *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (!r->tests[i].started)
			return &r->tests[i];
	return NULL;
}

/* Some tests only wait: one more than the jobs starts at each look at the machine that finds a processor with nothing to do. */
static bool has_room(struct run *r)
{
	unsigned jobs = (unsigned)r->a.jobs;

	if (r->running < jobs)
		return true;
	return jobs > 1 && r->running < 4 * jobs && machine_take_idle(&r->machine);
}

static int start_some(struct run *r)
{
	int e = 0;

	for (unsigned i = 0; e == 0 && i < SLOTS_MAX && !stop_signal; i++) {
		struct test *t = r->slot[i] ? NULL : next_of(r);

		if (t && has_room(r))
			e = start(r, t, i);
	}
	return e;
}

static int run_all(struct run *r)
{
	int e;

	while ((e = start_some(r)) == 0 && r->running) {
		watch(r);
		if (stop_signal)
			for (unsigned i = 0; i < SLOTS_MAX; i++)
				if (r->slot[i])
					kill(-r->slot[i]->pid, SIGKILL);
	}
	return e;
}

/* Kills processes that left their test's group and outlived it; they count as one failure. */
static void end_strays(struct run *r)
{
	char path[64], *text;
	bool any = false;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	if (fd_read_file(path, LOG_BYTES, &text, NULL) < 0)
		return;
	for (char *s = strtok(text, " "); s; s = strtok(NULL, " ")) {
		pid_t pid = (pid_t)strtol(s, NULL, 10);
		char *name = NULL;

		snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
		if (fd_read_file(path, 64, &name, NULL) < 0)
			continue;
		printf("FAIL a test left process %d behind: %s", (int)pid, name);
		mem_free(name);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		any = true;
	}
	mem_free(text);
	r->failed += any;
}

static void cleanup(struct run *r)
{
	for (unsigned i = 0; r->tests && i <= r->n; i++) { /* the one after the last may be half initialized */
		mem_free(r->tests[i].name);
		mem_free(r->tests[i].log);
		mem_free(r->tests[i].dir);
	}
	mem_free(r->tests);
	remove_tree(r->tmp);
}

/* MODE:LIMIT:PATH */
static int parse_test(struct run *r, const char *s, struct test *t)
{
	const char *limit = strchr(s, ':'), *path = limit ? strchr(limit + 1, ':') : NULL, *base;

	if (!path)
		return err_set(-EINVAL, "\"%s\" is not MODE:LIMIT:PATH", s);
	t->path = path + 1;
	t->wrapped = memchr(s, 'n', (size_t)(limit - s)) && r->a.wrap;
	t->limit_dur_ns = strtoll(limit + 1, NULL, 10) * NS_PER_S;
	t->pidfd = -1;
	base = strrchr(t->path, '/');
	t->name = mem_strdup(base ? base + 1 : t->path);
	t->log = mem_printf("%s/%s.log", r->a.logs, t->name);
	t->dir = mem_printf("%s/%s", r->tmp, t->name);
	return t->name && t->log && t->dir ? 0 : err_nomem();
}

static int setup(struct run *r, int n, char **specs)
{
	const char *tmp = getenv("TMPDIR");
	int e = fd_mkdir_p(r->a.logs, 0755);

	if (e < 0)
		return e;
	snprintf(r->tmp, sizeof(r->tmp), "%s/simcheck.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(r->tmp))
		return err_sys(-errno, "%s", r->tmp);
	r->tests = mem_calloc((size_t)n + 1, sizeof(*r->tests));
	if (!r->tests)
		return err_nomem();
	for (r->n = 0; r->n < (unsigned)n; r->n++) {
		e = parse_test(r, specs[r->n], &r->tests[r->n]);
		if (e < 0)
			return e;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct run r = { .a = { .jobs = 2, .logs = "build/check", .stage = "tests" } };
	int first = argc, e;

	for (int i = argc; i-- > 1 && strchr(argv[i], ':') && argv[i][0] != '/';)
		first = i;
	opt_parse_or_exit(&program, first, argv, &r.a);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	machine_init(&r.machine);
	e = setup(&r, argc - first, argv + first);
	if (e == 0 && r.a.hunt)
		r.hunter = hunt_start((uint64_t)r.a.hunt);
	if (e == 0)
		e = run_all(&r);
	hunt_stop(r.hunter);
	end_strays(&r);
	for (unsigned i = 0; e == 0 && !stop_signal && i < r.n; i++)
		if (!r.tests[i].start_mono_ns)
			e = err_set(-EIO, "%s was not run", r.tests[i].path);
	if (e < 0 || stop_signal) {
		fprintf(stderr, "run: %s\n", e < 0 ? err_why() : "interrupted");
		r.failed++;
	}
	cleanup(&r);
	if (!r.n) {
		printf("FAIL no test was chosen\n");
		r.failed++;
	}
	if (r.skipped)
		printf("%u skipped\n", r.skipped);
	printf("%u passed, %u failed\n", r.passed, r.failed);
	return r.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
