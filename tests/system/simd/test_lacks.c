/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd has too few descriptors, files or too little memory when RouDi has died, fewer each time: it logs what is
 * missing, neither exits nor hangs, and brings the data plane up when the resource is free again. Under ns.sh.
 */
#include "system/simd/run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/roudi_files.h"

#define DEATHS_MAX 8 /* of one simd and its client, which have some more attachments */
#define MIB        ((rlim_t)1 << 20)
#define CONF       "{" POOLS ", \"log\": \"error\", \"TimeSource\": \"simulation\"" /* run_errors() has a bound */

static struct simd_run r;
static struct sim_client *c;
static struct sim_publisher *p;
static struct sim_subscriber *s;

static void begin_with(const char *conf)
{
	run_start(&r, conf, NULL);
	assert_true(run_ready(&r));
	c = run_client("sensor");
	run_pair(c, "x", &p, &s);
	run_until_through(p, s);
}

static void begin(void)
{
	begin_with(CONF "}");
}

static void end(void)
{
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	run_stop(&r);
	run_nothing_left();
}

/* By the connection that there is: a new one may take what simd lacks. */
static int64_t ask(const char *key)
{
	int64_t v;
	json_t *j;
	char *text;

	if (sim_call_within(c, "GetInfo", "{}", -1, &text) < 0)
		fail_msg("simd does not answer: %s\n%s", sim_why(), run_errors(&r));
	j = json_loads(text, 0, NULL);
	free(text);
	v = json_integer_value(json_object_get(j, key));
	json_decref(j);
	return v;
}

static void limit(enum __rlimit_resource resource, rlim_t n)
{
	struct rlimit l;

	assert_int_equal(prlimit(r.pid, resource, NULL, &l), 0);
	l.rlim_cur = n < l.rlim_max ? n : l.rlim_max;
	assert_int_equal(prlimit(r.pid, resource, &l, NULL), 0);
}

static unsigned said(const char *text)
{
	unsigned n = 0;

	for (const char *at = run_errors(&r); (at = strstr(at, text)); at++)
		n++;
	return n;
}

static bool names(const char *line, const char *text)
{
	const char *at = strstr(line, text);

	return at && !memchr(line, '\n', (size_t)(at - line));
}

/* How often no generation came up: for want of something in simd, which it says each time by one of the words, or in RouDi. */
static unsigned lacked(const char *const words[2])
{
	unsigned n = said(") exited: ");

	for (const char *at = run_errors(&r); (at = strstr(at, "the data plane is unavailable")); at++, n++) {
		if (!names(at, words[0]) && !names(at, words[1]))
			fail_msg("not for \"%s\": %.700s", words[0], at);
	}
	return n;
}

/* Between the test and the processes that have the client: each has eleven attachments. */
static struct shared {
	unsigned more; /* than none */
	bool enough;
} * sh;

/* The limit with which simd has so many descriptors more than it has now. */
static rlim_t files_with(unsigned more)
{
	char path[64];
	rlim_t n = 0;

	for (unsigned i = 0; i <= more; n++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)r.pid, (int)n);
		i += access(path, F_OK) < 0;
	}
	return n - 1;
}

/*
 * RouDi dies while simd can have none of it, and then has that much. It brings no generation up (false), and does so without the limit;
 * or it is enough.
 */
static bool is_enough(enum __rlimit_resource resource, rlim_t (*with)(unsigned more), const char *const words[2])
{
	int64_t generation = ask("iox_generation");
	unsigned before = lacked(words);
	struct rlimit all;
	bool enough;

	assert_int_equal(prlimit(r.pid, resource, NULL, &all), 0);
	limit(resource, 0);
	assert_int_equal(kill((pid_t)ask("roudi_pid"), SIGKILL), 0);
	AWAIT(lacked(words) > before + 1); /* it has exited itself */
	before = lacked(words);
	limit(resource, with(sh->more));
	AWAIT(lacked(words) > before || ask("iox_generation") != generation);
	enough = lacked(words) == before;
	limit(resource, all.rlim_cur);
	AWAIT(ask("iox_generation") != generation);
	run_until_through(p, s);
	return enough;
}

/* A simd and a client of their own for the next few deaths. */
static void run_some(void (*fn)(void))
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		begin();
		for (unsigned i = 0; i < DEATHS_MAX && !sh->enough; i++, sh->more++)
			fn();
		end();
		exit(0);
	}
	AWAIT(waitpid(pid, &status, WNOHANG) == pid);
	assert_int_equal(status, 0);
}

static void with_few_descriptors(void)
{
	static const char *const words[2] = { "Too many open files", "Too many open files" };

	sh->enough = is_enough(RLIMIT_NOFILE, files_with, words);
}

TEST(running_out_of_descriptors_is_survived)
{
	while (!sh->enough)
		run_some(with_few_descriptors);
	assert_true(sh->more > 6);
}

/* RouDi is well, and simd cannot look. */
TEST(a_health_check_without_a_descriptor_does_not_restart_roudi)
{
	struct rlimit all;
	int64_t generation;

	begin_with(CONF ", \"roudi\": {\"probe_ms\": 50}}");
	generation = ask("iox_generation");
	assert_int_equal(prlimit(r.pid, RLIMIT_NOFILE, NULL, &all), 0);
	limit(RLIMIT_NOFILE, 0);
	AWAIT(said("cannot be checked: ") > 0);
	assert_true(names(strstr(run_errors(&r), "cannot be checked: "), "Too many open files"));
	run_until_through(p, s);
	limit(RLIMIT_NOFILE, all.rlim_cur);
	run_until_through(p, s);
	assert_int_equal(ask("iox_generation"), generation);
	end();
}

/* ---- memory ---- */

static rlim_t memory_with(unsigned more)
{
	char path[64];
	unsigned long pages = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)r.pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	(void)fclose(f);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (more ? MIB << (more - 1) : 0);
}

static void with_little_memory(void)
{
	static const char *const words[2] = { "emory", "no thread to attach with: Resource temporarily unavailable" };

	sh->enough = is_enough(RLIMIT_AS, memory_with, words);
}

TEST(running_out_of_memory_is_survived)
{
	while (!sh->enough)
		run_some(with_little_memory);
	assert_true(sh->more > 3);
}

/* ---- files ---- */

/* So many more files fit there. */
static void leave_files(const char *at, unsigned more)
{
	char option[64];
	struct statvfs v;

	assert_int_equal(statvfs(at, &v), 0);
	snprintf(option, sizeof(option), "nr_inodes=%llu", (unsigned long long)(v.f_files - v.f_ffree) + more);
	assert_int_equal(mount("tmpfs", at, "tmpfs", MS_REMOUNT, option), 0);
}

static void dies_without_files(const char *at, unsigned enough, const char *text)
{
	int64_t generation;

	begin();
	generation = ask("iox_generation");
	leave_files(at, 0);
	assert_int_equal(kill((pid_t)ask("roudi_pid"), SIGKILL), 0);
	AWAIT(said(text) > 0);
	leave_files(at, enough);
	AWAIT(ask("iox_generation") != generation);
	run_until_through(p, s);
	leave_files(at, 1000000);
	end();
}

/* What simd waits for is enough, for it, RouDi and the client. */
TEST(a_generation_starts_with_just_enough_free_inodes)
{
	if (!getenv("SIMD_TESTS_NS"))
		skip(); /* it would be the machine's own /dev/shm */
	dies_without_files("/dev/shm", ROUDI_FILES, "its inodes are used up");
}

TEST(a_full_runtime_directory_is_survived)
{
	if (!getenv("SIMD_TESTS_NS"))
		skip();
	dies_without_files("/tmp", 4, "roudi.log: cannot be written: No space left on device; retrying");
}

static int share(void **state)
{
	(void)state;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return sh == MAP_FAILED ? -1 : 0;
}

TEST_GROUP(share, NULL)
TEST_PROCESSES()
