/* SPDX-License-Identifier: Apache-2.0 */
/* A launch file of Apollo as a process of a rig: hosts of components and a program, their ends, and that of the launcher. */
#include "stack.h"

#include <signal.h>

#include <sim/msg/Int32.h>
#include <sim/sim.h>

#include "fd.h"
#include "mem.h"

#define LAUNCH "/tmp/car.launch"
#define LEFT   "/tmp/left.dag"
#define RIGHT  "/tmp/right.dag"
#define SCHED  "/tmp/three.conf"
/* Restarts of the launcher are the rig's, those of its processes the launch file's. */
#define RIG \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"process\":{\"restart_ms\":1,\"restart_max_ms\":1}," \
	"\"rigs\":[{\"name\":\"car\",\"processes\":[{\"name\":\"apollo\",\"command\":[\"simhost\",\"--launch\",\"" LAUNCH \
	"\"],\"restart_limit\":1}]}]"

TEST_PROCESSES();

static struct sim_client *client;

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

#define LIBRARY(name, dag, more) \
	"<module><name>" name "</name><dag_conf>" dag "</dag_conf><process_name>" name "</process_name>" \
	"<exception_handler>respawn</exception_handler><respawn_limit>1</respawn_limit>" more "</module>\n"
#define HOSTS LIBRARY("left", LEFT, "<sched_name>three</sched_name>") LIBRARY("right", RIGHT, "")

/* Two hosts in Cyber's own files, one of which counts, and one doubles; libraries are where its environment says. */
static void write_files(const char *more)
{
	char text[2 * PATH_MAX], shelf[PATH_MAX];

	assert_non_null(realpath(SHELF, shelf));
	snprintf(text, sizeof(text),
		 "<cyber>\n<environment><APOLLO_LIB_PATH>%s</APOLLO_LIB_PATH></environment>\n" HOSTS "%s</cyber>\n",
		 shelf, more);
	write_file(LAUNCH, text);
	write_file(LEFT,
		   "module_config {\n module_library: 'components.so'\n timer_components {\n  class_name: 'Count'\n"
		   "  config { name: 'count' interval: 5 }\n }\n}\n");
	write_file(RIGHT, "module_config {\n module_library: 'components.so'\n components {\n  class_name: 'Times'\n"
			  "  config { name: 'times' readers { channel: '/count' pending_queue_size: 64 } }\n }\n}\n");
	write_file(
		SCHED,
		"scheduler_conf {\n policy: 'classic'\n classic_conf {\n  groups { name: 'trio' processor_num: 3 }\n }\n}\n");
}

static pid_t begin(const char *more)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "test", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	pid_t simd;

	write_files(more);
	simd = stack_start(RIG);
	if (sim_connect(&o, &client) < 0)
		fail_msg("%s", sim_why());
	return simd;
}

static void end(pid_t simd)
{
	sim_disconnect(client);
	stack_stop(simd);
}

static int32_t next(struct sim_subscriber *s)
{
	const struct sim_message *m;
	int32_t v;

	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_take(s, &m), 0);
	v = sim_Int32_from(m->body, m->body_size)->data;
	sim_release(s, m);
	return v;
}

/* Checks the right component's output for the left one's messages. */
static void both_run(void)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };
	struct sim_subscriber *s;

	if (sim_subscribe(client, "/times", &sim_Int32_type, &o, &s) < 0)
		fail_msg("%s", sim_why());
	for (int i = 0; i < 20; i++)
		assert_int_equal(next(s) % 2, 0);
	sim_subscriber_destroy(s);
}

/* The number of the nth process that was started under that name. */
static pid_t pid_of(const char *name, unsigned nth)
{
	char *text = NULL, line[64];
	const char *s;
	pid_t pid = 0;

	snprintf(line, sizeof(line), "%s started, pid ", name);
	AWAIT(stack_count(line, "") >= nth);
	assert_true(fd_read_file(STACK_LOG, (size_t)16 << 20, &text, NULL) >= 0);
	for (s = text; nth && (s = strstr(s, line)); nth--) {
		s += strlen(line);
		pid = (pid_t)strtol(s, NULL, 10);
	}
	mem_free(text);
	assert_true(pid > 0);
	return pid;
}

#define LISTER \
	"<module><name>lister</name><type>binary</type>" \
	"<process_name>simctl list</process_name></module>\n"

TEST_WITH(a_launch_file_runs_hosts_and_a_program_to_their_end, NULL, stack_sweep)
{
	pid_t simd = begin(LISTER);

	both_run();
	AWAIT(stack_said("apollo: left: simhost: 1 components run in reality"));
	AWAIT(stack_said("apollo: right: simhost: 1 components run in reality"));
	AWAIT(stack_said("lister exited: exit code 0 (pid "));
	assert_true(stack_said("apollo: lister: CHANNEL"));
	/* the scheduler that it asks for; the other one has the usual */
	assert_int_equal(stack_threads(pid_of("left", 1), "trio.", NULL), 3);
	assert_int_equal(stack_threads(pid_of("right", 1), "trio.", NULL), 0);
	end(simd);
	assert_true(stack_said("left exited: exit code 0 (pid "));
	assert_true(stack_said("right exited: exit code 0 (pid "));
	assert_true(stack_said("all processes of " LAUNCH " have ended well"));
}

TEST_WITH(a_host_that_dies_is_started_again_up_to_its_limit, NULL, stack_sweep)
{
	pid_t simd = begin("");

	both_run();
	assert_int_equal(kill(pid_of("left", 1), SIGKILL), 0);
	AWAIT(stack_said("left exited: killed by signal 9 (Killed)"));
	assert_int_equal(stack_count("left exited: ", "restarting it, 1 of 1"), 1);
	both_run();
	assert_int_equal(kill(pid_of("left", 2), SIGKILL), 0);
	AWAIT(stack_said("it is not started again after 1 restarts (its respawn_limit)"));
	assert_int_equal(stack_count("left started, pid ", ""), 2);
	assert_int_equal(stack_count("right started, pid ", ""), 1);
	end(simd);
	assert_true(stack_said("right exited: exit code 0 (pid "));
}

/* simd restarts the launcher, which starts all its processes; none of the earlier ones is left. */
TEST_WITH(processes_of_a_killed_launcher_end_too, NULL, stack_sweep)
{
	pid_t simd = begin("");
	pid_t launcher = pid_of("apollo", 1);
	int left, right;

	both_run();
	left = fd_pidfd_open(pid_of("left", 1));
	right = fd_pidfd_open(pid_of("right", 1));
	assert_int_equal(kill(launcher, SIGKILL), 0);
	assert_int_equal(fd_pidfd_wait(left, -1), 1);
	assert_int_equal(fd_pidfd_wait(right, -1), 1);
	(void)pid_of("apollo", 2);
	(void)pid_of("right", 2);
	both_run();
	close(left);
	close(right);
	/* its restart_limit is the rig's */
	assert_int_equal(kill(pid_of("apollo", 2), SIGKILL), 0);
	AWAIT(stack_said("apollo is not started again after 1 restarts (its restart_limit)"));
	end(simd);
}

static void refused(const char *more, const char *why)
{
	static const char *const argv[] = { "simhost", "-s", STACK_SOCKET, "-l", LAUNCH, NULL };
	const struct ctl_result *r;

	write_files(more);
	r = stack_run(argv);
	if (r->code != 78 || !strstr(r->err, why))
		fail_msg("exit code %d; \"%s\" says nothing of \"%s\"", r->code, r->err, why);
	assert_null(strstr(r->err, "started"));
}

TEST_WITH(launch_file_errors_are_reported_with_file_and_line, NULL, stack_sweep)
{
	pid_t simd = stack_start("\"TimeSource\":\"system\"," STACK_POOLS);

	refused("<module><name>x</name><type>binary</type>\n<process_name></process_name></module>",
		LAUNCH ":5: module: \"process_name\" is missing");
	refused(LIBRARY("left", RIGHT, "\n<nice>1</nice>\n<sched_name>other</sched_name>"),
		LAUNCH ":7: module.sched_name: another value than in line 3, for the same process_name");
	refused(LIBRARY("third", LEFT, "<dag_conf>" LEFT "</dag_conf>"),
		LAUNCH ":5: " LEFT ": this file is given twice");
	stack_stop(simd);
}
