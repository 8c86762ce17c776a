/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes made from the modules of a launch file, their command lines, and the handling of one that exits.
 * Thread: one.
 */
#include "tests/support/test.h"

#include "err.h"
#include "tools/simhost/launcher.h"

#include <signal.h>
#include <sys/wait.h>

struct planned {
	struct launch *l;
	struct launch_plan *p;
};

static struct planned plan(const char *text)
{
	struct planned x = { 0 };

	assert_ok(launch_parse("x.launch", text, strlen(text), &x.l));
	assert_ok(launch_plan_make(x.l, &x.p));
	return x;
}

static void finish(struct planned *x)
{
	launch_plan_destroy(x->p);
	launch_destroy(x->l);
}

static const char *refused(const char *text)
{
	struct launch *l = NULL;
	struct launch_plan *p = NULL;
	int r;

	assert_ok(launch_parse("x.launch", text, strlen(text), &l));
	err_clear();
	r = launch_plan_make(l, &p);
	launch_plan_destroy(p);
	launch_destroy(l);
	return r < 0 ? err_why() : "it was taken";
}

/* Words of a command line, with blanks between. */
static const char *command(struct launch_process *p, const struct launch_child *c)
{
	static char text[1024];
	size_t n = 0;

	assert_ok(launch_plan_command(p, c));
	for (unsigned i = 0; p->argv[i]; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "", p->argv[i]);
	return text;
}

#define OF(name, more) "<module><name>" name "</name>" more "</module>\n"
#define DAG(file)      "<dag_conf>" file "</dag_conf>"
#define IN(process)    "<process_name>" process "</process_name>"
#define FILE_OF(text)  "<cyber>\n" text "</cyber>"

static const struct launch_child simhost = { .program = "/bin/simhost", .stuck_dur_ns = 5 };

TEST(modules_of_one_process_name_share_a_process)
{
	struct planned x =
		plan(FILE_OF(OF("a", DAG("1") DAG("2") IN("p")) OF("b", DAG("3")) OF("c", DAG("4") IN("p"))));

	assert_int_equal(x.p->n, 2);
	assert_string_equal(x.p->processes[0].label, "p");
	assert_int_equal(x.p->processes[0].n_dags, 3);
	assert_string_equal(x.p->processes[0].dag[2], "4");
	assert_int_equal(x.p->processes[0].dag_line[2], 4);
	assert_int_equal(x.p->processes[0].m.line, 2);
	assert_string_equal(x.p->processes[1].label, "b");
	finish(&x);
}

TEST(modules_without_any_name_share_cybers_default_process)
{
	struct planned x = plan("<cyber><module>" DAG("1") "</module><module>" DAG("2") "</module></cyber>");

	assert_int_equal(x.p->n, 1);
	assert_int_equal(x.p->processes[0].n_dags, 2);
	finish(&x);
}

/* A setting of only one of them holds for the process. */
TEST(settings_of_several_modules_are_put_together)
{
	struct planned x = plan(FILE_OF(
		OF("a", DAG("1") IN("p") "<nice>3</nice>")
			OF("b", DAG("2") IN("p") "<exception_handler>respawn</exception_handler><nice>3</nice>")
				OF("c",
				   DAG("3") IN("p") "<respawn_limit>7</respawn_limit><sched_name>s</sched_name>")));
	const struct launch_module *m = &x.p->processes[0].m;

	assert_int_equal(x.p->n, 1);
	assert_int_equal(m->exception_handler, LAUNCH_RESPAWN);
	assert_int_equal(m->respawn_limit, 7);
	assert_int_equal(m->nice, 3);
	assert_string_equal(m->sched_name, "s");
	finish(&x);
}

TEST(two_values_for_one_process_are_refused_with_both_lines)
{
	static const struct {
		const char *key, *a, *b;
	} cases[] = {
		{ "exception_handler", "respawn", "exit" },
		{ "respawn_limit", "1", "2" },
		{ "nice", "1", "0" },
		{ "sched_name", "a", "b" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[1024], why[256];

		snprintf(text, sizeof(text),
			 "<cyber><module>" DAG("1") IN("p") "\n<%s>%s</%s></module>\n<module>" DAG("2")
				 IN("p") "\n\n"
					 "<%s>%s</%s></module></cyber>",
			 cases[i].key, cases[i].a, cases[i].key, cases[i].key, cases[i].b, cases[i].key);
		snprintf(why, sizeof(why),
			 "x.launch:5: module.%s: another value than in line 2, for the same process_name; give one",
			 cases[i].key);
		assert_string_equal(refused(text), why);
	}
}

#define BINARY(line) "<type>binary</type>" IN(line)

TEST(a_binary_shares_its_process_with_no_module)
{
	static const char why[] =
		"x.launch:3: module: a second process of the name \"p\", which the module in line 2 has; "
		"give each its own process_name";

	assert_string_equal(refused(FILE_OF(OF("a", BINARY("p")) OF("b", BINARY("p")))), why);
	assert_string_equal(refused(FILE_OF(OF("a", DAG("1") IN("p")) OF("b", BINARY("p")))), why);
	assert_string_equal(refused(FILE_OF(OF("a", BINARY("p")) OF("b", DAG("1") IN("p")))), why);
}

TEST(a_name_that_no_client_can_have_is_refused)
{
	assert_string_equal(
		refused(FILE_OF(OF("a b", DAG("1")))),
		"x.launch:2: module: its process_name \"a b\" must be 1 to 40 characters of A-Z a-z 0-9 _ . -");
}

TEST(a_process_of_components_runs_simhost_with_its_dag_files)
{
	struct launch_child c = { .program = "/bin/simhost", .socket = "/s", .mode = "simulation", .stuck_dur_ns = 7 };
	struct planned x = plan(FILE_OF(OF("a", DAG("1") DAG("2 3"))));

	assert_string_equal(command(&x.p->processes[0], &simhost),
			    "/bin/simhost --process a --stuck=5ns --dag 1 --dag 2 3");
	assert_string_equal(x.p->processes[0].argv[7], "2 3");
	finish(&x);
	x = plan(FILE_OF(OF("a", DAG("1"))));
	x.p->processes[0].scheduler = strdup("/c/s.conf");
	assert_string_equal(
		command(&x.p->processes[0], &c),
		"/bin/simhost --process a --socket /s --mode simulation --stuck=7ns --scheduler /c/s.conf --dag 1");
	free(x.p->processes[0].scheduler);
	x.p->processes[0].scheduler = NULL;
	finish(&x);
}

TEST(a_command_line_is_split_at_blanks)
{
	struct planned x = plan(FILE_OF(OF("rec", BINARY("cyber_recorder  record\n -a '-i 600'"))));

	assert_string_equal(command(&x.p->processes[0], &simhost), "cyber_recorder record -a '-i 600'");
	assert_string_equal(x.p->processes[0].argv[3], "'-i");
	assert_string_equal(x.p->processes[0].label, "rec");
	finish(&x);
}

TEST(too_many_dag_files_of_a_process_are_refused)
{
	char text[40000] = "<cyber>";
	size_t n = strlen(text);

	for (unsigned m = 0; m < 5; m++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "\n<module>" IN("p"));
		for (unsigned i = 0; i < 60; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, DAG("%u"), i);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "</module>");
	}
	snprintf(text + n, sizeof(text) - n, "</cyber>");
	assert_string_equal(refused(text),
			    "x.launch:6: module: with it the process has more than 256 DAG files; give it "
			    "another process_name");
}

/* ---- what becomes of one that ends ---- */

TEST(a_process_is_started_again_up_to_its_limit)
{
	struct launch_module m = { .exception_handler = LAUNCH_RESPAWN, .respawn_limit = 2 };

	assert_int_equal(launcher_next(&m, 0), LAUNCHER_AGAIN);
	assert_int_equal(launcher_next(&m, 1), LAUNCHER_AGAIN);
	assert_int_equal(launcher_next(&m, 2), LAUNCHER_LEAVE);
	m.respawn_limit = 0;
	assert_int_equal(launcher_next(&m, 0), LAUNCHER_LEAVE);
}

TEST(other_exception_handlers_restart_nothing)
{
	struct launch_module m = { .exception_handler = LAUNCH_EXIT, .respawn_limit = 3 };

	assert_int_equal(launcher_next(&m, 0), LAUNCHER_STOP);
	m.exception_handler = LAUNCH_NONE;
	assert_int_equal(launcher_next(&m, 0), LAUNCHER_LEAVE);
}

TEST(an_end_by_the_requested_sigint_is_a_success)
{
	assert_true(launcher_ended_well(0, false));
	assert_true(launcher_ended_well(0, true));
	assert_false(launcher_ended_well(W_EXITCODE(1, 0), true));
	assert_true(launcher_ended_well(SIGINT, true));
	assert_true(launcher_ended_well(W_EXITCODE(130, 0), true));
	assert_false(launcher_ended_well(SIGINT, false));
	assert_false(launcher_ended_well(W_EXITCODE(130, 0), false));
	assert_false(launcher_ended_well(SIGKILL, true));
}
