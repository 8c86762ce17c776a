/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `simhost --launch` with programs of the system: processes started, restarted and stopped, and its messages. Thread:
 * one.
 */
#include "tests/support/test.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "timeutil.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LOG     "log"
#define PATIENT "1h" /* a process that ends by itself is not killed */

TEST_PROCESSES();

static char program[PATH_MAX];

static void put(const char *name, const char *text)
{
	assert_ok(fd_write_file(name, text, strlen(text), 0600));
}

static void fifo(const char *name)
{
	unlink(name);
	assert_int_equal(mkfifo(name, 0600), 0);
}

/* Each test in a directory of its own. */
static int enter(void **state)
{
	const char *b = getenv("B");
	char path[TEST_PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%.80s/bin/simhost", b ? b : "build");
	assert_non_null(realpath(path, program));
	snprintf(path, sizeof(path), "%.80s/launch.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(path));
	assert_int_equal(chdir(path), 0);
	fifo("never"); /* opening it blocks */
	return 0;
}

#define SCRIPT(name, more) \
	"<module><name>" name "</name><type>binary</type><process_name>sh " name ".sh</process_name>" more "</module>\n"
#define RESPAWN(limit) "<exception_handler>respawn</exception_handler><respawn_limit>" #limit "</respawn_limit>"
#define EXIT_ALL       "<exception_handler>exit</exception_handler>"

/* With its log in a file. */
static pid_t start(const char *modules, const char *kill_after)
{
	const char *const argv[] = { program, "--launch", "x.launch", "--kill-after", kill_after, NULL };
	char text[4096];
	pid_t pid;

	snprintf(text, sizeof(text), "<cyber>\n%s</cyber>\n", modules);
	put("x.launch", text);
	pid = fork();
	if (pid == 0) {
		int fd = open(LOG, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);

		dup2(fd, 1);
		dup2(fd, 2);
		execv(program, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static bool said(const char *what)
{
	char *text = NULL;
	bool found = fd_read_file(LOG, (size_t)1 << 20, &text, NULL) == 0 && strstr(text, what);

	mem_free(text);
	return found;
}

static void must_say(const char *what)
{
	char *text = NULL;

	assert_ok(fd_read_file(LOG, (size_t)1 << 20, &text, NULL));
	if (!strstr(text, what))
		fail_msg("\"%s\" is not in:\n%s", what, text);
	mem_free(text);
}

/* The launcher's exit code. */
static int ends(pid_t pid)
{
	int status, fd = fd_pidfd_open(pid);

	assert_int_equal(fd_pidfd_wait(fd, -1), 1);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static unsigned lines_of(const char *name)
{
	char *text = NULL;
	unsigned n = 0;

	assert_ok(fd_read_file(name, 4096, &text, NULL));
	for (const char *s = text; (s = strchr(s, '\n')); s++)
		n++;
	mem_free(text);
	return n;
}

/* ---- ends ---- */

TEST_WITH(a_process_that_exits_is_restarted_up_to_its_limit, enter, NULL)
{
	put("a.sh", "echo run >>runs; exit 3\n");
	assert_int_equal(ends(start(SCRIPT("a", RESPAWN(2)), PATIENT)), 1);
	assert_int_equal(lines_of("runs"), 3);
	must_say("a exited: exit code 3 (pid ");
	must_say("; restarting it, 1 of 2");
	must_say("; restarting it, 2 of 2");
	must_say("; it is not started again after 2 restarts (its respawn_limit)");
}

TEST_WITH(a_killed_process_is_named_with_the_signal, enter, NULL)
{
	put("a.sh", "kill -SEGV $$\n");
	assert_int_equal(ends(start(SCRIPT("a", ""), PATIENT)), 1);
	must_say("a exited: killed by signal 11 (Segmentation fault) (pid ");
	must_say("; it is not started again (its exception_handler)");
}

TEST_WITH(the_last_exit_of_each_process_counts, enter, NULL)
{
	put("a.sh", "mkdir once && exit 1; exit 0\n");
	assert_int_equal(ends(start(SCRIPT("a", RESPAWN(1)), PATIENT)), 0);
	must_say("all processes of x.launch have ended well");
	put("b.sh", "exit 78\n"); /* what only a change of files can mend */
	assert_int_equal(ends(start(SCRIPT("a", "") SCRIPT("b", ""), PATIENT)), 78);
}

TEST_WITH(one_process_may_end_all_others, enter, NULL)
{
	fifo("go");
	put("a.sh", "echo >go; exec cat never\n");
	put("b.sh", "read x <go; exit 0\n");
	assert_int_equal(ends(start(SCRIPT("a", RESPAWN(3)) SCRIPT("b", EXIT_ALL), PATIENT)), 0);
	must_say("b exited: exit code 0 (pid ");
	must_say("; stopping all others (its exception_handler)");
	must_say("a exited: killed by signal 2 (Interrupt)");
	assert_false(said("restarting"));
}

TEST_WITH(other_processes_continue_without_one, enter, NULL)
{
	pid_t pid;
	int fd;

	fifo("go");
	put("a.sh", "read x <go; echo on >went; exit 0\n");
	put("b.sh", "exit 4\n");
	pid = start(SCRIPT("a", "") SCRIPT("b", ""), PATIENT);
	AWAIT(said("b exited: exit code 4"));
	fd = open("go", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "\n", 1), 1);
	close(fd);
	assert_int_equal(ends(pid), 1);
	assert_int_equal(lines_of("went"), 1);
}

/* ---- stopping ---- */

static void stops_on(int number)
{
	pid_t pid;

	put("a.sh", "mkdir ready; exec cat never\n");
	pid = start(SCRIPT("a", RESPAWN(3)), "1h");
	AWAIT(access("ready", F_OK) == 0);
	assert_int_equal(kill(pid, number), 0);
	assert_int_equal(ends(pid), 0);
	must_say("stopping all processes");
	must_say("a exited: killed by signal 2 (Interrupt)");
	assert_false(said("restarting"));
	assert_int_equal(rmdir("ready"), 0);
}

TEST_WITH(a_termination_signal_becomes_sigint_for_all, enter, NULL)
{
	stops_on(SIGINT);
	stops_on(SIGTERM);
	stops_on(SIGHUP);
}

#define STUBBORN "trap '' INT; mkdir ready; exec cat never\n"

TEST_WITH(a_process_that_does_not_end_is_killed_and_counts_as_failed, enter, NULL)
{
	pid_t pid;

	put("a.sh", STUBBORN);
	pid = start(SCRIPT("a", ""), "50ms");
	AWAIT(access("ready", F_OK) == 0);
	assert_int_equal(kill(pid, SIGINT), 0);
	assert_int_equal(ends(pid), 1);
	must_say(") has not exited after SIGINT; killing it");
	must_say("a exited: killed by signal 9 (Killed)");
}

TEST_WITH(a_second_signal_ends_the_waiting, enter, NULL)
{
	pid_t pid;

	put("a.sh", STUBBORN);
	pid = start(SCRIPT("a", ""), "1h");
	AWAIT(access("ready", F_OK) == 0);
	assert_int_equal(kill(pid, SIGINT), 0);
	AWAIT(said("stopping all processes"));
	assert_int_equal(kill(pid, SIGINT), 0);
	assert_int_equal(ends(pid), 1);
	must_say("stopping all processes at once");
}

/* No process still waits for its restart at the end. */
TEST_WITH(a_process_waiting_for_its_restart_is_not_started_at_the_end, enter, NULL)
{
	fifo("go");
	put("a.sh", "echo run >>runs; echo >go; exit 1\n");
	put("b.sh", "read x <go; exit 0\n");
	assert_true(ends(start(SCRIPT("a", RESPAWN(1000000)) SCRIPT("b", EXIT_ALL), PATIENT)) <= 1);
	must_say("have ended");
}

TEST_WITH(no_process_outlives_the_launcher, enter, NULL)
{
	char *text = NULL;
	pid_t pid, child;
	int fd;

	put("a.sh", "trap '' INT TERM HUP; echo $$ >pid.new; mv pid.new pid; exec cat never\n");
	pid = start(SCRIPT("a", ""), PATIENT);
	AWAIT(access("pid", F_OK) == 0);
	assert_ok(fd_read_file("pid", 20, &text, NULL));
	child = (pid_t)strtol(text, NULL, 10);
	mem_free(text);
	fd = fd_pidfd_open(child);
	assert_true(fd >= 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(fd_pidfd_wait(fd, -1), 1);
	close(fd);
}

/* ---- environment and output ---- */

TEST_WITH(processes_get_the_environment_and_their_output_is_labelled, enter, NULL)
{
	put("a.sh", "echo \"$GREETING and ($EMPTY)\"; echo '<3>bad' >&2; printf 'no end'\n");
	assert_int_equal(ends(start("<environment><GREETING>hello</GREETING><EMPTY></EMPTY></environment>" SCRIPT("a",
														  ""),
				    PATIENT)),
			 0);
	must_say(" a: hello and ()\n");
	must_say("error a: bad\n");
	must_say(" a: no end\n");
}

TEST_WITH(processes_get_their_nice_value, enter, NULL)
{
	put("a.sh", "echo \"nice $(nice)\"\n");
	assert_int_equal(ends(start(SCRIPT("a", "<nice>19</nice>"), PATIENT)), 0);
	must_say(" a: nice 19\n");
}

/* ---- what cannot be started ---- */

/* Nothing of the file runs. */
static void refused(const char *modules, const char *why)
{
	char text[2048];

	put("a.sh", "mkdir ran\n");
	snprintf(text, sizeof(text), SCRIPT("a", "") "%s", modules);
	assert_int_equal(ends(start(text, PATIENT)), 78);
	must_say(why);
	assert_int_equal(access("ran", F_OK), -1);
}

TEST_WITH(missing_files_are_named_with_file_and_line_before_anything_runs, enter, NULL)
{
	put("d.dag", "module_config { module_library: 'none.so' }");
	put("s.conf", "scheduler_conf {\n policy: 5 }");
	refused("<module><type>binary</type><process_name>no-such-program -x</process_name></module>",
		"x.launch:3: module.process_name: no-such-program: no such program in ");
	refused("<module><type>binary</type><process_name>./a.sh</process_name></module>",
		"x.launch:3: module.process_name: ./a.sh cannot be executed: Permission denied");
	refused("<module><name>m</name>\n<dag_conf>none.dag</dag_conf></module>",
		"x.launch:4: none.dag is neither in . nor below a directory of SIM_DAG_PATH or APOLLO_DAG_PATH");
	refused("<module><name>m</name>\n<dag_conf>d.dag</dag_conf></module>",
		"x.launch:4: d.dag:1: none.so is neither in ");
	refused("<module><name>m</name><dag_conf>d.dag</dag_conf>\n<sched_name>s</sched_name></module>",
		"x.launch:4: module.sched_name: s.conf: policy: a string");
	refused("<module><name>m</name>\n<type>robot</type></module>",
		"x.launch:4: module.type: \"robot\" is none of \"library\", \"binary\"");
}
