/* SPDX-License-Identifier: Apache-2.0 */
/* Apollo's launch files. Thread: one. */
#include "tests/support/test.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "tools/simhost/launch.h"

#include <errno.h>

#define SAMPLE "tests/unit/simhost/samples/perception.launch"

static struct launch *sample(void)
{
	struct launch *l = NULL;

	assert_ok(launch_read(SAMPLE, &l));
	return l;
}

static const char *refused(const char *text)
{
	struct launch *l = NULL;

	err_clear();
	if (launch_parse("x.launch", text, strlen(text), &l) == 0) {
		launch_destroy(l);
		return "it was taken";
	}
	return err_why();
}

TEST(a_launch_file_becomes_processes)
{
	struct launch *l = sample();
	const struct launch_module *m = l->modules;

	assert_int_equal(l->n_modules, 3);
	assert_string_equal(m[0].name, "perception");
	assert_int_equal(m[0].n_dags, 2);
	assert_string_equal(m[0].dag[1], "perception/fusion.dag");
	assert_int_equal(m[0].dag_line[1], 13);
	assert_string_equal(m[0].process_name, "perception");
	assert_string_equal(m[0].sched_name, "perception_sched");
	assert_int_equal(m[0].exception_handler, LAUNCH_RESPAWN);
	assert_int_equal(m[0].respawn_limit, 5);
	assert_int_equal(m[0].nice, -5);
	assert_int_equal(m[0].line, 10);
	assert_string_equal(m[1].dag[0], "planning.dag");
	assert_int_equal(m[1].exception_handler, LAUNCH_EXIT);
	assert_int_equal(m[2].type, LAUNCH_BINARY);
	assert_string_equal(m[2].process_name, "cyber_recorder record -a -i 600");
	assert_int_equal(m[2].n_dags, 0);
	launch_destroy(l);
}

TEST(defaults_are_those_of_cyber_launch)
{
	struct launch *l = sample();

	assert_string_equal(l->modules[1].process_name, "planning");
	assert_null(l->modules[1].sched_name);
	assert_int_equal(l->modules[1].type, LAUNCH_LIBRARY);
	assert_int_equal(l->modules[1].respawn_limit, 3);
	assert_int_equal(l->modules[2].exception_handler, LAUNCH_NONE);
	launch_destroy(l);
}

/* Cyber's name for it. */
TEST(a_module_without_any_name_has_a_process)
{
	static const char text[] = "<cyber><module><dag_conf>d</dag_conf></module></cyber>";
	struct launch *l = NULL;
	char name[64];

	assert_ok(launch_parse("x", text, sizeof(text) - 1, &l));
	snprintf(name, sizeof(name), "mainboard_default_%d", (int)getpid());
	assert_null(l->modules[0].name);
	assert_string_equal(l->modules[0].process_name, name);
	launch_destroy(l);
}

TEST(settings_know_their_lines)
{
	struct launch *l = sample();

	assert_int_equal(l->modules[0].sched_line, 15);
	assert_int_equal(l->modules[0].handler_line, 16);
	assert_int_equal(l->modules[0].limit_line, 17);
	assert_int_equal(l->modules[0].nice_line, 18);
	assert_int_equal(l->modules[1].limit_line, 0);
	launch_destroy(l);
}

TEST(a_binary_loads_no_dag_and_an_unknown_key_does_nothing)
{
	static const char text[] = "<cyber><module><type>binary</type><process_name>p -x</process_name>\n"
				   "<dag_conf>d</dag_conf><shiny>1</shiny></module></cyber>";
	struct launch *l = NULL;

	assert_ok(launch_parse("x", text, sizeof(text) - 1, &l));
	assert_int_equal(l->notes.n, 2);
	assert_string_equal(l->notes.text[0], "x:2: module.shiny: an unknown key, ignored");
	assert_string_equal(l->notes.text[1], "x:1: module: dag_conf of a binary is ignored, by cyber_launch as well");
	launch_destroy(l);
}

TEST(environment_variables_are_read)
{
	struct launch *l = sample();

	assert_int_equal(l->n_variables, 2);
	assert_string_equal(l->variable[0].name, "GLOG_minloglevel");
	assert_string_equal(l->variable[0].value, "2");
	assert_int_equal(l->variable[0].line, 7);
	assert_string_equal(l->variable[1].value, "");
	launch_destroy(l);
}

TEST(settings_without_a_counterpart_are_noted_with_their_line)
{
	static const char *const all[] = {
		SAMPLE ":4: desc: a description; nothing depends on it",
		SAMPLE ":5: version: a description; nothing depends on it",
		SAMPLE ":19: module.cpuprofile: simhost writes no profiles; use perf(1)",
		SAMPLE ":21: module.extra_args: options of mainboard; simhost has its own, see simhost(1)",
		SAMPLE ":27: module.plugin: plug-ins of Cyber are not loaded; a component opens its own shared objects",
	};
	struct launch *l = sample();

	assert_int_equal(l->notes.n, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_string_equal(l->notes.text[i], all[i]);
	launch_destroy(l);
}

#define MODULE(members) "<cyber>\n<module>\n" members "</module></cyber>"
#define DAG             "<dag_conf>d</dag_conf>"

TEST(invalid_launch_files_are_refused_with_the_line)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "x.launch:1: no element found" },
		{ "<cyber>\n<module></cyber>", "x.launch:2: mismatched tag" },
		{ "<launch/>", "x.launch:1: <launch> where <cyber> is wanted: not a launch file of Apollo" },
		{ "<cyber/>", "x.launch:1: \"module\" is missing" },
		{ "<!DOCTYPE cyber [\n]><cyber/>", "x.launch:1: a document type declaration; take it out" },
		{ MODULE("<name>m</name>"),
		  "x.launch:2: module: \"dag_conf\" is missing: the process has no DAG file to load" },
		{ MODULE("<name>m</name><type>binary</type>"),
		  "x.launch:2: module: \"process_name\" is missing: of a binary it is the command line" },
		{ MODULE("<name>m</name><type>shell</type>"),
		  "x.launch:3: module.type: \"shell\" is none of \"library\", \"binary\"" },
		{ MODULE("<name>m</name><exception_handler>abort</exception_handler>"),
		  "x.launch:3: module.exception_handler: \"abort\" is none of \"respawn\", \"exit\", \"none\"" },
		{ MODULE("<name>m</name>\n<respawn_limit>many</respawn_limit>"),
		  "x.launch:4: module.respawn_limit: a value of type string where an integer is wanted" },
		{ MODULE("<name>m</name><respawn_limit>-1</respawn_limit>"),
		  "x.launch:3: module.respawn_limit: -1 is out of range, 0 to 1000000" },
		{ MODULE("<nice>20</nice>"), "x.launch:3: module.nice: 20 is not a number from -20 to 19" },
		{ MODULE("<name>m</name><name>n</name>"), "x.launch:3: module.name: given twice, first in line 3" },
		{ MODULE("<dag_conf><x/></dag_conf>"),
		  "x.launch:3: module.dag_conf: an element with a text and nothing else is wanted" },
		{ "<cyber><environment>\n<a-b>1</a-b></environment></cyber>",
		  "x.launch:2: environment.a-b: the name of a variable is letters, digits and '_'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(refused(cases[i].text), cases[i].why);
}

TEST(blanks_between_elements_do_not_count_as_text)
{
	struct launch *l = NULL;
	char *text = mem_alloc(20000);
	int n;

	assert_non_null(text);
	n = snprintf(text, 20000, "<cyber>%6000s<module><name>a%6000s</name>" DAG "</module></cyber>", "", "");
	assert_int_equal(launch_parse("x", text, (size_t)n, &l), -EINVAL);
	n = snprintf(text, 20000, "<cyber>%6000s<module><name>%6000sa</name>" DAG "</module></cyber>", "", "");
	assert_ok(launch_parse("x", text, (size_t)n, &l));
	assert_string_equal(l->modules[0].name, "a");
	launch_destroy(l);
	mem_free(text);
}
