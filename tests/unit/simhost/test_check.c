/* SPDX-License-Identifier: Apache-2.0 */
/* What `simhost --check` prints. Thread: one. */
#include "tests/support/test.h"

#include "err.h"
#include "fd.h"
#include "tools/simhost/check.h"

#include <sys/wait.h>

#define DAG \
	"{ \"modules\": [ { \"library\": \"l.so\", \"components\": [\n" \
	"{ \"class\": \"Tracker\", \"name\": \"tracks\", \"config\": {}, \"readers\": [ { \"channel\": \"/a\" }, { \"channel\": \"/b\" } ],\n" \
	"\"fusion\": \"by-time\", \"tolerance_ms\": 2.5 },\n" \
	"{ \"class\": \"Beat\", \"name\": \"beat\", \"interval_ms\": 100 },\n" \
	"{ \"class\": \"O\\u001b[0m\", \"name\": \"once\" } ] } ], \"rank\": 3 }"
#define TEXT \
	"module_config { module_library: 'l.so' components { class_name: 'C' config { name: 'tracks' flag_file_path: 'f' } } }"

struct printed {
	char *out, *err;
	bool ok;
};

static void put(const char *name, const char *text)
{
	char path[TEST_PATH_MAX];

	assert_ok(fd_write_file(test_path(path, name), text, strlen(text), 0600));
}

static char program[PATH_MAX];

/* In the directory of the test, so that paths are short. */
static int enter(void **state)
{
	char path[TEST_PATH_MAX];
	const char *b = getenv("B");

	if (!*program) {
		snprintf(path, sizeof(path), "%.80s/bin/simhost", b ? b : "build");
		assert_non_null(realpath(path, program));
	}
	(void)state;
	put("l.so", "");
	put("a.json", DAG);
	put("b.dag", TEXT);
	put("x.launch",
	    "<cyber><module><name>m</name>\n<dag_conf>a.json</dag_conf>\n<dag_conf>none.dag</dag_conf><nice>2</nice>"
	    "<exception_handler>respawn</exception_handler></module></cyber>");
	return chdir(test_path(path, "."));
}

static void check(struct printed *p, const char *const *dags, unsigned n, const char *launch)
{
	size_t out_len, err_len;
	FILE *out = open_memstream(&p->out, &out_len), *err = open_memstream(&p->err, &err_len);

	assert_non_null(out);
	assert_non_null(err);
	p->ok = launch ? check_launch(launch, out, err) : check_dags(dags, n, out, err);
	fclose(out);
	fclose(err);
}

static void finish(struct printed *p)
{
	free(p->out);
	free(p->err);
}

TEST_WITH(the_components_to_be_loaded_are_listed_in_a_table, enter, NULL)
{
	static const char *const dags[] = { "a.json" };
	struct printed p;

	check(&p, dags, 1, NULL);
	assert_string_equal(p.err, "");
	assert_string_equal(p.out, "component  class     library  runs on                       configuration\n"
				   "tracks     Tracker   l.so     /a, /b by-time within 2.5 ms  in the file\n"
				   "beat       Beat      l.so     every 100 ms\n"
				   "once       O\\x1b[0m  l.so     init alone\n"
				   "mode reality, rank 3\n");
	assert_true(p.ok);
	finish(&p);
}

TEST_WITH(an_invalid_scheduler_is_named_with_its_line, enter, NULL)
{
	static const char *const dags[] = { "s.json" };
	struct printed p;

	put("s.json", "{ \"modules\": [],\n\"scheduler\": { \"policy\": 5 } }");
	check(&p, dags, 1, NULL);
	assert_false(p.ok);
	assert_string_equal(p.err, "error: s.json:2: scheduler: policy: a string is expected\n");
	finish(&p);
	put("s.json", "{ \"modules\": [], \"scheduler\": {} }");
	check(&p, dags, 1, NULL);
	assert_true(p.ok);
	assert_string_equal(p.err, "");
	finish(&p);
}

TEST_WITH(ignored_scheduler_settings_are_noted_one_per_line, enter, NULL)
{
	static const char *const dags[] = { "s.json" };
	struct printed p;

	put("far.json", "{ \"routine_num\": 1, \"threads\": [ { \"name\": \"timer\" } ] }");
	put("s.json", "{ \"modules\": [],\n\"scheduler\": \"far.json\" }");
	check(&p, dags, 1, NULL);
	assert_true(p.ok);
	assert_string_equal(
		p.err,
		"note: s.json:2: scheduler far.json: routine_num: there are no coroutines, ignored\n"
		"note: s.json:2: scheduler far.json: threads[0]: there is no thread timer to put anywhere, ignored\n");
	finish(&p);
}

TEST_WITH(notes_are_no_errors, enter, NULL)
{
	static const char *const dags[] = { "b.dag" };
	struct printed p;

	check(&p, dags, 1, NULL);
	assert_true(p.ok);
	assert_string_equal(
		p.err,
		"note: b.dag:1: module_config.components.config.flag_file_path: files of gflags are not read; put the "
		"values into the component's configuration\n");
	finish(&p);
}

TEST_WITH(every_file_is_checked_and_then_all_together, enter, NULL)
{
	static const char *const dags[] = { "none.json", "a.json", "b.dag" };
	struct printed p;

	check(&p, dags, 3, NULL);
	assert_false(p.ok);
	assert_string_equal(p.out, "");
	assert_non_null(strstr(p.err, "error: none.json is neither in . nor below"));
	assert_non_null(strstr(p.err, "error: b.dag:1: a second component of the name \"tracks\", which a.json:2 has"));
	finish(&p);
}

TEST_WITH(a_launch_file_names_its_processes_and_the_line_of_a_missing_dag, enter, NULL)
{
	struct printed p;

	check(&p, NULL, 0, "x.launch");
	assert_false(p.ok);
	assert_string_equal(p.out, "process m: components, when it ends it is started again up to 3 times, nice 2\n");
	assert_string_equal(
		p.err,
		"error: x.launch:3: none.dag is neither in . nor below a directory of SIM_DAG_PATH or APOLLO_DAG_PATH\n");
	finish(&p);
}

/* `simhost` with these arguments: its output, and its exit code. */
static int run(char *const argv[], char *text, size_t size)
{
	int fds[2], status;
	size_t n = 0;
	ssize_t k;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], 1);
		dup2(fds[1], 2);
		execv(program, argv);
		_exit(127);
	}
	close(fds[1]);
	while (n + 1 < size && (k = read(fds[0], text + n, size - 1 - n)) > 0)
		n += (size_t)k;
	text[n] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

/* The file of --scheduler is read, too: with DAG files, and alone. */
TEST_WITH(a_given_scheduler_is_checked, enter, NULL)
{
	char *dag[] = { "simhost", "--check", "--scheduler", "s.conf", "--dag", "a.json", NULL };
	char *alone[] = { "simhost", "--check", "--scheduler", "s.conf", NULL };
	char *launch[] = { "simhost",  "--check", "--scheduler", "s.conf", "--launch",
			   "x.launch", "--dag",   "none.json",   NULL };
	char text[4096];

	assert_int_equal(run(dag, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "error: s.conf: No such file"));
	put("s.conf", "scheduler_conf {\n policy: 5 }");
	assert_int_equal(run(dag, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "error: s.conf: policy: a string"));
	assert_int_equal(run(alone, text, sizeof(text)), 1);
	put("s.conf", "scheduler_conf {\n process_level_cpuset: '0, 1023' threads: [ { name: 'io_poller' } ] }");
	assert_int_equal(run(dag, text, sizeof(text)), 0);
	assert_non_null(
		strstr(text,
		       "note: s.conf: process_level_cpuset: there is no CPU 1023 for this process: what is left is "));
	assert_non_null(
		strstr(text, "note: s.conf: threads[0]: there is no thread io_poller to put anywhere, ignored"));
	assert_int_equal(run(alone, text, sizeof(text)), 0);
	assert_int_equal(run(launch, text, sizeof(text)), 2); /* as without --check */
	assert_null(strstr(text, "none.json"));               /* refused before anything is checked */
}

#define LAUNCH(sched) \
	"<cyber><module><name>m</name><dag_conf>own.dag</dag_conf>\n<sched_name>" sched "</sched_name></module></cyber>"

static void says(const char *launch, bool ok, const char *what)
{
	struct printed p;

	put("s.launch", launch);
	check(&p, NULL, 0, "s.launch");
	if (p.ok != ok || !strstr(ok ? p.out : p.err, what))
		fail_msg("%s%s\nsays nothing of %s", p.out, p.err, what);
	finish(&p);
}

static void notes(const char *launch, const char *what)
{
	struct printed p;

	check(&p, NULL, 0, launch);
	if (!p.ok || !strstr(p.err, what))
		fail_msg("%s\nsays nothing of %s", p.err, what);
	finish(&p);
}

/* NAME.conf beside the launch file, below the directories of configurations, or where Cyber has it. */
TEST_WITH(the_scheduler_of_a_process_is_found_by_its_name, enter, NULL)
{
	put("own.dag", "module_config { module_library: 'l.so' }");
	unsetenv("CYBER_PATH");
	says(LAUNCH("CYBER_COMPUTE"), true, "process m: components, when it ends it is not started again\n");
	notes("s.launch",
	      "note: s.launch:2: module.sched_name: CYBER_COMPUTE.conf is neither in . nor below a directory of "
	      "SIM_CONF_PATH or APOLLO_CONF_PATH, nor is it in conf of CYBER_PATH; the process has the usual scheduler\n");
	says(LAUNCH("CYBER_DEFAULT"), true, "process m: components, when it ends it is not started again\n");
	put("one.conf", "scheduler_conf {\n policy: 'classic'\n routine_num: 5 }");
	says(LAUNCH("one"), true, "process m: components, when it ends it is not started again, scheduler one.conf\n");
	put("two.conf", "scheduler_conf {\n policy: 5 }");
	says(LAUNCH("two"), false, "error: s.launch:2: module.sched_name: two.conf: policy: a string");
	assert_ok(fd_mkdir_p("cyber/conf", 0700));
	assert_ok(fd_mkdir_p("apollo", 0700));
	put("cyber/conf/three.conf", "scheduler_conf { policy: 'classic' }");
	put("apollo/four.conf", "scheduler_conf { policy: 'classic' }");
	setenv("CYBER_PATH", "cyber", 1);
	setenv("APOLLO_CONF_PATH", "apollo", 1);
	says(LAUNCH("three"), true, ", scheduler cyber/conf/three.conf\n");
	says(LAUNCH("four"), true, ", scheduler apollo/four.conf\n");
	unsetenv("CYBER_PATH");
	unsetenv("APOLLO_CONF_PATH");
}

/* What the program's process ends with. */
static int ends_with(const char *arguments)
{
	char line[PATH_MAX + 200];
	int status;

	snprintf(line, sizeof(line), "%s %s >/dev/null 2>&1", program, arguments);
	status = system(line);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST_WITH(exit_codes_tell_what_to_fix, enter, NULL)
{
	assert_int_equal(ends_with("--check -d a.json"), 0);
	assert_int_equal(ends_with("-c -d a.json -d b.dag"), 1);
	assert_int_equal(ends_with("-c -d a.json -l x.launch"), 1);
	assert_int_equal(ends_with("-c"), 2);
	assert_int_equal(ends_with("-d none.json"), 78);
	assert_int_equal(ends_with("-m dreaming -d a.json"), 2);
	assert_int_equal(ends_with("--chck -d a.json"), 2);
	assert_int_equal(ends_with("-l x.launch"), 78);
	assert_int_equal(ends_with("-l x.launch -d a.json"), 2);
	assert_int_equal(ends_with("-l x.launch -p name"), 2);
	assert_int_equal(ends_with("-d a.json --scheduler none.conf"), 78);
}

/* Files shipped with simd need no path: they are found beside the program. */
TEST_WITH(the_example_is_found_from_anywhere, enter, NULL)
{
	put("own.json",
	    "{ \"modules\": [ { \"library\": \"libperception.so\", \"components\": [ { \"class\": \"Stopper\", "
	    "\"name\": \"s\" } ] } ] }");
	assert_int_equal(ends_with("--check -d own.json"), 0);
	put("lost.json", "{ \"modules\": [ { \"library\": \"libnone.so\", \"components\": [ { \"class\": \"Stopper\", "
			 "\"name\": \"s\" } ] } ] }");
	assert_int_equal(ends_with("--check -d lost.json"), 1);
}
