/* SPDX-License-Identifier: Apache-2.0 */
/* Supervised processes that do not exist, in virtual time: back-off, rules, stopping, order, output. */
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf.h"
#include "config/config.h"
#include "exec.h"
#include "err.h"
#include "log.h"
#include "mem.h"
#include "supervise/processes.h"
#include "supervise/process.h"
#include "spawn_ops.h"

#define MS    INT64_C(1000000)
#define S     INT64_C(1000000000)
#define FAKES 64

/* ---- processes that are an eventfd and a pipe ---- */

struct fake {
	pid_t pid;
	int exit_fd, out_fd, status;
	bool alive, stubborn; /* stubborn: ignores SIGTERM */
	char name[64];
};

static struct {
	struct fake f[FAKES];
	unsigned n, starts, refuse;
	int keep[2];     /* that the last one inherited; -1: none */
	char order[512]; /* what happened, in its order */
	struct mem_stats before;
	struct exec *x;
} sim;

static void note(const char *what, const char *who)
{
	size_t n = strlen(sim.order);

	snprintf(sim.order + n, sizeof(sim.order) - n, "%s%s ", what, who);
}

static struct fake *by_pid(pid_t pid)
{
	for (unsigned i = 0; i < sim.n; i++) {
		if (sim.f[i].pid == pid)
			return &sim.f[i];
	}
	return NULL;
}

static void die(struct fake *f, int status)
{
	uint64_t one = 1;

	if (!f->alive)
		return;
	f->alive = false;
	f->status = status;
	assert_int_equal(write(f->exit_fd, &one, 8), 8);
	close(f->exit_fd);
	close(f->out_fd);
}

static int fake_start(void *user, const struct spawn *s, struct spawned *ret)
{
	struct fake *f = &sim.f[sim.n];
	int p[2];

	(void)user;
	sim.starts++;
	if (sim.refuse) {
		sim.refuse--;
		return err_set(-ENOENT, "%s: no such program", s->argv[0]);
	}
	assert_true(sim.n < FAKES);
	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	*f = (struct fake){
		.pid = (pid_t)(1000 + sim.n++), .exit_fd = eventfd(0, EFD_CLOEXEC), .out_fd = p[1], .alive = true
	};
	snprintf(f->name, sizeof(f->name), "%s", s->argv[1] ? s->argv[1] : s->argv[0]);
	sim.keep[0] = s->keep ? s->keep[0] : -1;
	sim.keep[1] = s->keep ? s->keep[1] : -1;
	*ret = (struct spawned){ .pid = f->pid, .pidfd = dup(f->exit_fd), .out_fd = p[0] };
	note("+", f->name);
	return 0;
}

static int fake_signal(void *user, pid_t pid, int pidfd, int sig, bool group)
{
	struct fake *f = by_pid(pid);

	(void)user;
	(void)pidfd;
	(void)group;
	note(sig == SIGKILL ? "!" : "-", f->name);
	if (sig == SIGKILL || !f->stubborn)
		die(f, sig);
	return 0;
}

static int fake_reap(void *user, pid_t pid, int pidfd, int *ret_status)
{
	(void)user;
	(void)pidfd;
	*ret_status = by_pid(pid)->status;
	return 0;
}

static const struct spawn_ops ops = { fake_start, fake_signal, fake_reap };

static int begin(void **state)
{
	(void)state;
	memset(&sim, 0, sizeof(sim));
	mem_stats(&sim.before);
	return exec_sim_create(1, S, &sim.x);
}

static int end(void **state)
{
	struct mem_stats now;

	(void)state;
	exec_destroy(sim.x);
	mem_stats(&now);
	assert_int_equal(now.blocks, sim.before.blocks);
	return 0;
}

static void run(int64_t dur_ns)
{
	assert_true(exec_sim_run(sim.x, exec_now(sim.x) + dur_ns) >= 0);
}

static const char *const argv[] = { "prog", NULL };

static void init(struct process *p, enum process_restart rule)
{
	struct process_options o = { .name = "p",
				     .spawn = { .argv = argv },
				     .restart = rule,
				     .restart_dur_ns = 100 * MS,
				     .restart_max_dur_ns = S,
				     .stop_dur_ns = 500 * MS };

	process_init(p, sim.x, &ops, NULL, &o);
}

/* ---- one process ---- */

TEST_WITH(back_off_doubles_to_its_bound, begin, end)
{
	static const int64_t pauses[] = { 100, 200, 400, 800, 1000, 1000 };
	struct process p;

	init(&p, PROCESS_ALWAYS);
	process_start(&p);
	for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
		die(&sim.f[i], 256);
		run((pauses[i] - 1) * MS);
		assert_int_equal(sim.starts, i + 1);
		run(2 * MS);
		assert_int_equal(sim.starts, i + 2);
	}
	/* a long life clears the record */
	run(11 * S);
	die(&sim.f[6], 256);
	run(101 * MS);
	assert_int_equal(sim.starts, 8);
	process_finish(&p);
}

static void ends_with(unsigned i, const char *line, int code)
{
	assert_int_equal(write(sim.f[i].out_fd, line, strlen(line)), (ssize_t)strlen(line));
	die(&sim.f[i], code << 8);
	run(2 * S);
}

/* What time cannot mend is not tried for ever; another end in between begins the count again. */
TEST_WITH(a_process_that_can_never_work_is_abandoned, begin, end)
{
	struct process p;

	init(&p, PROCESS_ALWAYS);
	p.o.give_up = 3;
	process_start(&p);
	ends_with(0, "no such option\n", PROCESS_NEVER_WORKS);
	ends_with(1, "no such library\n", 127);
	ends_with(2, "something else\n", 1);
	for (unsigned i = 3; i < 6; i++) {
		assert_int_equal(p.state, PROCESS_RUNNING);
		ends_with(i, "no such option\n", i == 3 ? 126 : i == 4 ? 127 : PROCESS_NEVER_WORKS);
	}
	assert_int_equal(p.state, PROCESS_DONE);
	assert_string_equal(p.permanent, "no such option");
	run(60 * S);
	assert_int_equal(sim.starts, 6);
	/* it was repaired, and is restarted on request */
	process_again(&p);
	assert_int_equal(p.state, PROCESS_RUNNING);
	assert_string_equal(p.permanent, "");
	ends_with(6, "", PROCESS_NEVER_WORKS);
	assert_int_equal(p.state, PROCESS_RUNNING);
	process_finish(&p);
}

/*
 * As cyber_launch's respawn_limit: all restarts count, however long each run was; a process that is restarted on
 * request begins at 0 again.
 */
TEST_WITH(restarts_have_a_limit, begin, end)
{
	struct process p;

	init(&p, PROCESS_ALWAYS);
	p.o.restart_limit = 2;
	process_start(&p);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(p.state, PROCESS_RUNNING);
		run(3600 * S);
		ends_with(i, "component tracker crashed\n", 1);
	}
	assert_int_equal(p.state, PROCESS_DONE);
	assert_string_equal(p.permanent, "component tracker crashed");
	run(60 * S);
	assert_int_equal(sim.starts, 3);
	process_again(&p);
	for (unsigned i = 3; i < 6; i++) {
		assert_int_equal(p.state, PROCESS_RUNNING);
		ends_with(i, "", 1);
	}
	assert_int_equal(p.state, PROCESS_DONE);
	assert_int_equal(sim.starts, 6);
	process_finish(&p);
}

TEST_WITH(a_missing_program_is_given_up_after_some_attempts, begin, end)
{
	struct process p;

	init(&p, PROCESS_ALWAYS);
	p.o.give_up = 3;
	sim.refuse = 100;
	process_start(&p);
	run(60 * S);
	assert_int_equal(sim.starts, 3);
	assert_int_equal(p.state, PROCESS_DONE);
	assert_string_equal(p.permanent, "prog: no such program");
	sim.refuse = 0;
	process_finish(&p);
}

TEST_WITH(the_restart_rule_decides_whether_it_starts_again, begin, end)
{
	static const struct {
		enum process_restart rule;
		int status;
		bool again;
	} cases[] = {
		{ PROCESS_ALWAYS, 0, true },       { PROCESS_ON_FAILURE, 0, false },
		{ PROCESS_ON_FAILURE, 256, true }, { PROCESS_ON_FAILURE, SIGSEGV, true },
		{ PROCESS_NEVER, 256, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct process p;
		unsigned before = sim.starts;

		init(&p, cases[i].rule);
		process_start(&p);
		die(&sim.f[sim.n - 1], cases[i].status);
		run(5 * S);
		assert_int_equal(sim.starts - before, cases[i].again ? 2 : 1);
		assert_int_equal(p.state, cases[i].again ? PROCESS_RUNNING : PROCESS_DONE);
		process_finish(&p);
	}
}

TEST_WITH(a_program_that_is_missing_is_tried_again, begin, end)
{
	struct process p;

	init(&p, PROCESS_NEVER);
	sim.refuse = 2;
	process_start(&p);
	assert_int_equal(p.state, PROCESS_WAITING);
	run(S);
	assert_int_equal(p.state, PROCESS_RUNNING);
	assert_int_equal(sim.starts, 3);
	process_finish(&p);
}

TEST_WITH(a_stubborn_process_is_killed, begin, end)
{
	struct process p;

	init(&p, PROCESS_ALWAYS);
	process_start(&p);
	sim.f[0].stubborn = true;
	process_stop(&p);
	process_stop(&p); /* twice is once */
	run(499 * MS);
	assert_true(process_alive(&p));
	run(2 * MS);
	assert_false(process_alive(&p));
	assert_string_equal(sim.order, "+prog -prog !prog ");
	run(5 * S);
	assert_int_equal(sim.starts, 1);
	process_finish(&p);
}

TEST_WITH(a_process_can_be_restarted_on_request, begin, end)
{
	struct process p;

	init(&p, PROCESS_ALWAYS);
	process_start(&p);
	process_again(&p);
	run(200 * MS);
	assert_int_equal(sim.starts, 2);
	assert_int_equal(p.restarts, 1);
	/* while it waits for its next start, that comes at once */
	die(&sim.f[1], 256);
	exec_sim_settle(sim.x);
	assert_int_equal(p.state, PROCESS_WAITING);
	process_again(&p);
	assert_int_equal(p.state, PROCESS_RUNNING);
	process_finish(&p);
}

/* ---- what a run leaves to the next ---- */

static void leave(const char *text)
{
	assert_int_equal(send(sim.keep[0], text, 1, 0), 1);
}

/* '\0': nothing. */
static char find(void)
{
	char c = '\0';

	return recv(sim.keep[1], &c, 1, MSG_DONTWAIT) == 1 ? c : '\0';
}

TEST_WITH(descriptors_kept_by_a_run_reach_the_next, begin, end)
{
	struct process p;

	init(&p, PROCESS_ALWAYS);
	p.o.keep = true;
	process_start(&p);
	leave("a");
	die(&sim.f[0], SIGKILL);
	run(S);
	assert_int_equal(sim.starts, 2);
	assert_int_equal(find(), 'a');
	leave("b");
	process_again(&p); /* it has had the time to take it out */
	run(S);
	assert_int_equal(find(), 'b');
	process_finish(&p);
}

TEST_WITH(stopping_a_process_drops_its_kept_descriptors, begin, end)
{
	struct process p;

	init(&p, PROCESS_ON_FAILURE);
	p.o.keep = true;
	process_start(&p);
	leave("a");
	process_stop(&p);
	run(S);
	assert_int_equal(p.keep[0], -1);
	process_start(&p);
	assert_int_equal(find(), '\0');
	leave("b");
	die(&sim.f[1], 256);
	exec_sim_settle(sim.x);
	assert_int_equal(p.state, PROCESS_WAITING);
	process_stop(&p); /* while it waits for its next start */
	assert_int_equal(p.keep[0], -1);
	process_start(&p);
	leave("c");
	die(&sim.f[2], 0); /* by itself, for good */
	exec_sim_settle(sim.x);
	assert_int_equal(p.state, PROCESS_DONE);
	assert_int_equal(p.keep[0], -1);
	process_finish(&p);
	init(&p, PROCESS_ALWAYS); /* nothing is kept for a bridge */
	process_start(&p);
	assert_int_equal(sim.keep[0], -1);
	process_finish(&p);
}

/* ---- its output ---- */

static char logged[4096];

static void keep(void *user, enum log_level level, const char *topic, const char *line)
{
	size_t n = strlen(logged);

	(void)user;
	(void)level;
	if (strcmp(topic, "p") == 0)
		snprintf(logged + n, sizeof(logged) - n, "%s|", line);
}

static void keep_errors(void *user, enum log_level level, const char *topic, const char *line)
{
	(void)user;
	(void)topic;
	if (level == LOG_LEVEL_ERROR)
		snprintf(logged, sizeof(logged), "%s", line);
}

/* Its last word does not stand in for the exit code, the signal or the want of memory. */
TEST_WITH(the_last_exit_is_logged_like_the_others, begin, end)
{
	struct process p;

	log_set_spec("error");
	log_set_handler(keep_errors, NULL);
	init(&p, PROCESS_ALWAYS);
	p.o.give_up = 1;
	process_start(&p);
	ends_with(0, "no such option\n", PROCESS_NEVER_WORKS);
	assert_non_null(strstr(logged, "permanent: exit code 78: no such option"));
	process_finish(&p);
	init(&p, PROCESS_ALWAYS);
	p.o.restart_limit = 1;
	process_start(&p);
	ends_with(1, "on my way\n", 1);
	assert_int_equal(write(sim.f[2].out_fd, "on my way\n", 10), 10);
	die(&sim.f[2], SIGSEGV);
	run(2 * S);
	assert_non_null(strstr(logged, "permanent: killed by signal 11 (Segmentation fault): on my way"));
	process_finish(&p);
	log_set_handler(NULL, NULL);
	log_set_spec("none");
}

TEST_WITH(output_is_logged_by_line, begin, end)
{
	struct process p;
	char flood[3000];

	logged[0] = '\0';
	log_set_spec("info");
	log_set_handler(keep, NULL);
	init(&p, PROCESS_NEVER);
	process_start(&p);
	assert_int_equal(write(sim.f[0].out_fd, "one\ntw", 6), 6);
	run(MS);
	assert_string_equal(logged, "one|");
	assert_int_equal(write(sim.f[0].out_fd, "o\n\nlast", 7), 7);
	die(&sim.f[0], 0); /* output from before the end is not lost */
	run(MS);
	assert_string_equal(logged, "one|two|last|");
	process_finish(&p);

	/* its output cannot look like another line, control the terminal, or hide behind a NUL */
	logged[0] = '\0';
	init(&p, PROCESS_NEVER);
	process_start(&p);
	assert_int_equal(write(sim.f[1].out_fd, "a\r\x1b[1A\xff\0b\n", 10), 10);
	run(MS);
	assert_string_equal(logged, "a\\r\\x1b[1A\\xff\\x00b|");
	assert_string_equal(p.last, "a\\r\\x1b[1A\\xff\\x00b");
	process_finish(&p);

	/* a line without end is cut, not kept */
	logged[0] = '\0';
	init(&p, PROCESS_NEVER);
	process_start(&p);
	memset(flood, 'x', sizeof(flood));
	assert_int_equal(write(sim.f[2].out_fd, flood, sizeof(flood)), sizeof(flood));
	run(MS);
	assert_true(strlen(logged) > 2000);
	process_finish(&p);

	/* nor is a flood of lines: the log stays readable, and reports how many lines it left out */
	logged[0] = '\0';
	init(&p, PROCESS_NEVER);
	process_start(&p);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(write(sim.f[3].out_fd, "x\n", 2), 2);
		exec_sim_settle(sim.x);
	}
	assert_int_equal(strlen(logged), 2 * 200);
	run(2 * S);
	assert_int_equal(write(sim.f[3].out_fd, "y\n", 2), 2);
	run(MS);
	assert_non_null(strstr(logged, "800 lines suppressed"));
	assert_non_null(strstr(logged, "y|"));
	process_finish(&p);
	log_set_handler(NULL, NULL);
	log_set_spec("none");
}

/* ---- the processes ---- */

static void unlock_next(void *arg)
{
	note("done:", arg);
}

TEST_WITH(processes_start_and_stop_in_order, begin, end)
{
	struct config_sources src = {
		.text = "{\"rigs\": [{\"name\": \"r\", \"processes\": ["
			"{\"name\": \"late\", \"command\": [\"x\", \"late\"], \"order\": 5}, "
			"{\"name\": \"early\", \"command\": [\"x\", \"early\"], \"order\": -1}, "
			"{\"name\": \"mid\", \"command\": [\"x\", \"mid\"]}], "
			"\"bridges\": [{\"name\": \"b1\", \"plugin\": \"null\"}, "
			"{\"name\": \"ext\", \"plugin\": \"null\", \"start\": \"external\"}]}]}",
	};
	struct processes_options o = { .x = sim.x, .ops = &ops, .socket = "/s" };
	struct conf *c;
	struct processes *f;

	assert_int_equal(config_load(&src, &c), 0);
	o.conf = c;
	assert_int_equal(processes_create(&o, &f), 0);
	processes_start(f);
	assert_string_equal(sim.order, "+b1 +early +mid +late ");
	assert_string_equal(processes_rig_of(f, 1002), "r");
	assert_null(processes_rig_of(f, 1));
	assert_true(processes_bridge_kill(f, "b1", "a test", true));
	assert_false(processes_bridge_kill(f, "ext", "a test", true));
	assert_int_equal(processes_bridge_restart(f, "ext"), -EOPNOTSUPP);
	run(S);
	assert_int_equal(processes_bridge_restarts(f, "b1"), 1);
	assert_int_equal(processes_restart(f, "b1"), -ENOENT);
	sim.order[0] = '\0';
	assert_int_equal(processes_restart(f, "mid"), 0);
	run(S);
	assert_string_equal(sim.order, "-mid +mid ");
	sim.order[0] = '\0';
	processes_stop(f, PART_PROCESSES, unlock_next, (void *)(uintptr_t) "processes");
	run(S);
	assert_string_equal(sim.order, "-late -mid -early done:processes ");
	processes_stop(f, PART_BRIDGES, unlock_next, (void *)(uintptr_t) "bridges");
	run(S);
	assert_non_null(strstr(sim.order, "-b1 done:bridges"));
	processes_destroy(f);
	conf_destroy(c);
}

static struct processes *processes_of(const char *config, struct conf **ret_conf)
{
	struct config_sources src = { .text = config };
	struct processes_options o = { .x = sim.x, .ops = &ops, .socket = "/s" };
	struct processes *f;

	assert_int_equal(config_load(&src, ret_conf), 0);
	o.conf = *ret_conf;
	assert_int_equal(processes_create(&o, &f), 0);
	processes_start(f);
	return f;
}

static void told(const char *order)
{
	run(S);
	assert_string_equal(sim.order, order);
	sim.order[0] = '\0';
}

TEST_WITH(the_driver_of_a_time_source_runs_with_it, begin, end)
{
	struct conf *c;
	struct processes *f = processes_of("{}", &c);

	processes_source(f, "unity");
	told("");
	processes_source(f, "ss2");
	processes_source(f, "ss2");
	told("+sim-ss2 ");
	die(&sim.f[0], 0); /* also when it ends in order: the source needs it */
	told("+sim-ss2 ");
	processes_source(f, "system");
	told("-sim-ss2 ");
	sim.f[1].stubborn = true;
	processes_source(f, "ss2");
	told("+sim-ss2 ");
	sim.f[2].stubborn = true;
	processes_source(f, "system");
	processes_source(f, "ss2"); /* taken up again while the old one ends: one at a time */
	assert_int_equal(sim.starts, 3);
	die(&sim.f[2], 0);
	told("-sim-ss2 +sim-ss2 ");
	die(&sim.f[3], SIGSEGV);
	run(1);
	processes_source(f, "system"); /* while the next start is waited for: none then */
	run(10 * S);
	told("");
	processes_source(f, "ss2");
	processes_stop(f, PART_PROCESSES, unlock_next, (void *)(uintptr_t) "processes");
	processes_source(f, "ss2"); /* too late */
	told("+sim-ss2 -sim-ss2 done:processes ");
	processes_source(f, "ss2");
	told("");
	processes_destroy(f);
	conf_destroy(c);
}

TEST_WITH(without_a_command_there_is_no_driver, begin, end)
{
	struct conf *c;
	struct processes *f = processes_of("{\"ss2\": {\"command\": []}}", &c);

	processes_source(f, "ss2");
	told("");
	processes_destroy(f);
	conf_destroy(c);
}

TEST(the_exit_status_is_described_in_words)
{
	char text[PROCESS_END_TEXT];

	assert_string_equal(process_end_text(3 << 8, 0, 1, text), "exit code 3");
	assert_string_equal(process_end_text(SIGTERM, 0, 1, text), "killed by signal 15 (Terminated)");
	assert_string_equal(process_end_text(SIGKILL, -1, -1, text), "killed by signal 9 (Killed)");
	assert_string_equal(process_end_text(SIGKILL, 4, 4, text),
			    "killed by signal 9 (Killed), not by the kernel's out-of-memory killer");
	assert_string_equal(
		process_end_text(SIGKILL, 4, 6, text),
		"killed by signal 9 (Killed); meanwhile the kernel killed 2 of simd's control group, which was out of "
		"memory (memory.events)");
}

TEST(the_end_of_a_foreign_process_is_described_as_far_as_known)
{
	char text[PROCESS_END_TEXT];

	assert_string_equal(process_end_text(PROCESS_END_UNSEEN, -1, -1, text),
			    "it is no child of this simd, so its exit status is unknown");
	assert_null(strstr(process_end_text(PROCESS_END_UNSEEN, 4, 4, text), "memory"));
	assert_non_null(strstr(process_end_text(PROCESS_END_UNSEEN, 4, 6, text),
			       "meanwhile the kernel killed 2 of simd's control group, which was out of memory "
			       "(memory.events)"));
}

static int prepare(void **state)
{
	(void)state;
	mem_adopt_jansson();
	log_set_spec("none");
	return 0;
}

TEST_GROUP(prepare, NULL)
