/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's configuration: Cyber's keys, their meaning, and invalid values. */
#include "tests/support/test.h"

#include <errno.h>

#include "libclient/component/scheduler_private.h"

#include "err.h"

static struct sched_conf *conf_of(const char *json)
{
	struct sched_conf *c;

	assert_ok(sched_conf_read(json, &c));
	return c;
}

/* ---- CPUs ---- */

static void expect_cpus(const char *s, uint32_t n, int first, int last)
{
	struct sched_cpus c;

	assert_ok(sched_cpus_parse(s, &c));
	assert_int_equal(c.n, n);
	assert_int_equal(CPU_COUNT(&c.set), (int)n);
	assert_true(CPU_ISSET((size_t)first, &c.set) && CPU_ISSET((size_t)last, &c.set));
}

TEST(cpu_lists_are_parsed_as_in_cyber)
{
	expect_cpus("0-1,2-3", 4, 0, 3);
	expect_cpus("0", 1, 0, 0);
	expect_cpus("0-7,16-23", 16, 0, 23);
	expect_cpus("3,3,2-3", 2, 2, 3);
	expect_cpus("0-7, 16-23", 16, 0, 23); /* Apollo 5's own */
	expect_cpus(" 0 - 1 ,\t3 ", 3, 0, 3);
	expect_cpus("1023", 1, 1023, 1023);
	expect_cpus("0-1,", 2, 0, 1);
}

TEST(impossible_cpu_numbers_are_left_out)
{
	struct sched_cpus c;

	assert_int_equal(sched_cpus_parse("0,1024", &c), 1);
	assert_int_equal(c.n, 1);
	assert_int_equal(sched_cpus_parse("1022-99999", &c), 1);
	assert_int_equal(c.n, 2);
	assert_int_equal(sched_cpus_parse("99999", &c), 1);
	assert_int_equal(c.n, 0);
}

TEST(an_invalid_cpu_list_is_refused)
{
	static const char *const bad[] = { "",   ",",   "a",    ",0",  "1-",
					   "-1", "3-1", "1--2", "0x1", "0 1",
					   " ",  "0- ", "0, ",  "0,,", "99999999999999999999" };
	struct sched_cpus c;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(sched_cpus_parse(bad[i], &c), -EINVAL);
		assert_non_null(strstr(err_why(), "is no list of CPUs, such as \"0-3,8\""));
	}
}

/* ---- accepted configurations ---- */

/* Defaults: classic, one group, a worker per CPU. */
TEST(an_empty_configuration_is_one_group)
{
	static const char *const none[] = { NULL, "{}", "{\"policy\":\"classic\"}", "{\"classic_conf\":{}}",
					    "{\"classic_conf\":{\"groups\":[{\"processor_num\":0}]}}" };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct sched_conf *c = conf_of(none[i]);

		assert_int_equal(c->n_groups, 1);
		assert_string_equal(c->groups[0].name, "default_grp");
		assert_int_equal(c->groups[0].workers, sched_cpu_count());
		assert_int_equal(c->groups[0].place.cpus.n, 0);
		assert_int_equal(c->groups[0].place.policy, SCHED_OTHER);
		assert_int_equal(c->others, 0);
		assert_string_equal(sched_conf_notes(c), "");
		sched_conf_destroy(c);
	}
}

TEST(every_key_of_classic_is_accepted)
{
	struct sched_conf *c = conf_of(
		"{\"policy\":\"classic\",\"default_proc_num\":5,\"process_level_cpuset\":\"0-7\","
		"\"threads\":[{\"name\":\"shm\",\"cpuset\":\"1\",\"policy\":\"SCHED_FIFO\",\"prio\":10}],"
		"\"classic_conf\":{\"groups\":[{\"name\":\"a\",\"processor_num\":2,\"affinity\":\"1to1\",\"cpuset\":\"2-3\","
		"\"processor_policy\":\"SCHED_RR\",\"processor_prio\":4,\"tasks\":[{\"name\":\"x\",\"prio\":12},{\"name\":\"y\"}]},"
		"{\"name\":\"b\",\"processor_prio\":-3,\"tasks\":[{\"name\":\"z\",\"prio\":0}]}]}}");
	const struct sched_group_conf *g = c->groups;

	assert_false(c->choreography);
	assert_int_equal(c->process.n, 8);
	assert_true(c->intake.cpus.n == 1 && c->intake.policy == SCHED_FIFO && c->intake.prio == 10);
	assert_int_equal(c->n_groups, 2);
	assert_true(g[0].workers == 2 && g[0].one_to_one && g[0].place.cpus.n == 2);
	assert_true(g[0].place.policy == SCHED_RR && g[0].place.prio == 4);
	assert_string_equal(g[1].name, "b");
	assert_true(g[1].workers == 5 && !g[1].one_to_one && g[1].place.cpus.n == 0 && g[1].place.prio == -3);
	assert_int_equal(c->n_tasks, 3);
	assert_true(c->tasks[0].group == 0 && c->tasks[0].prio == 12);
	assert_true(c->tasks[1].group == 0 && c->tasks[1].prio == 1);
	assert_true(c->tasks[2].group == 1 && c->tasks[2].prio == 0);
	sched_conf_destroy(c);
}

TEST(every_key_of_choreography_is_accepted)
{
	struct sched_conf *c = conf_of(
		"{\"policy\":\"choreography\",\"default_proc_num\":3,\"choreography_conf\":{\"choreography_processor_num\":2,"
		"\"choreography_affinity\":\"1to1\",\"choreography_cpuset\":\"4,6\",\"choreography_processor_policy\":\"SCHED_FIFO\","
		"\"choreography_processor_prio\":9,\"pool_affinity\":\"range\",\"pool_cpuset\":\"0-3\","
		"\"pool_processor_policy\":\"SCHED_OTHER\",\"pool_processor_prio\":2,\"tasks\":[{\"name\":\"a\",\"processor\":1,\"prio\":7},"
		"{\"name\":\"b\",\"processor\":2},{\"name\":\"c\"}]}}");
	const struct sched_group_conf *g = c->groups;

	assert_true(c->choreography);
	assert_int_equal(c->n_groups, 3);
	assert_int_equal(c->others, 2);
	for (int i = 0; i < 2; i++) {
		assert_true(g[i].workers == 1 && g[i].place.policy == SCHED_FIFO && g[i].place.prio == 9);
		assert_true(g[i].place.cpus.n == 1 && CPU_ISSET((size_t)(4 + 2 * i), &g[i].place.cpus.set));
	}
	assert_string_equal(g[1].name, "processor 1");
	assert_true(g[2].workers == 3 && g[2].place.cpus.n == 4 &&
		    g[2].place.prio == 2); /* pool_processor_num: not said */
	assert_true(c->tasks[0].group == 1 && c->tasks[0].prio == 7);
	assert_true(c->tasks[1].group == 2 && c->tasks[2].group == 2); /* no such processor; none */
	sched_conf_destroy(c);
}

/* More CPUs than groups or workers there can be: as many as there can be. */
TEST(defaults_keep_to_the_bounds)
{
	struct sched_conf *c = conf_of("{\"process_level_cpuset\":\"0-1023\"}");

	assert_int_equal(c->groups[0].workers, SCHED_WORKERS_MAX);
	sched_conf_destroy(c);
	c = conf_of("{\"process_level_cpuset\":\"0-1023\",\"policy\":\"choreography\"}");
	assert_int_equal(c->n_groups, SCHED_GROUPS_MAX);
	sched_conf_destroy(c);
}

/* ---- notes ---- */

static void expect_notes(const char *json, const char *notes)
{
	struct sched_conf *c = conf_of(json);

	assert_string_equal(sched_conf_notes(c), notes);
	sched_conf_destroy(c);
}

TEST(clamped_and_ignored_values_are_noted)
{
	expect_notes(
		"{\"classic_conf\":{\"groups\":[{\"tasks\":[{\"name\":\"t\",\"prio\":20},{\"name\":\"u\",\"prio\":19}]}]}}",
		"classic_conf.groups[0].tasks[0].prio: 20 is taken as 19, the highest");
	expect_notes(
		"{\"routine_num\":100,\"threads\":[{\"name\":\"async_log\"},{\"name\":\"shm_disp\"}]}",
		"routine_num: there are no coroutines, ignored\nthreads[0]: there is no thread async_log to put anywhere, ignored");
	expect_notes("{\"threads\":[{\"name\":\"io_poller\"},{\"name\":\"shm\"},{\"name\":\"shm_disp\"}]}",
		     "threads[0]: there is no thread io_poller to put anywhere, ignored\n"
		     "threads[2]: thread shm is there already, ignored");
}

#define GROUP(g)  "{\"classic_conf\":{\"groups\":[{" g "}]}}"
#define CHOREO(k) "{\"policy\":\"choreography\",\"choreography_conf\":{" k "}}"

/* A configuration of Cyber that means something there does not stop anything here. */
TEST(values_that_cyber_accepts_are_accepted_with_a_note)
{
	expect_notes("{\"policy\":\"fair\"}", "policy: \"fair\" is unknown; classic is taken, as in Cyber");
	expect_notes("{\"threads\":[{\"name\":\"shm\",\"policy\":\"FIFO\",\"prio\":50}]}",
		     "threads[0].policy: \"FIFO\" is unknown; SCHED_OTHER is taken, as in Cyber");
	expect_notes(GROUP("\"processor_policy\":\"\",\"affinity\":\"\",\"name\":\"\""), "");
	expect_notes(CHOREO("\"pool_processor_policy\":\"x\""),
		     "choreography_conf.pool_processor_policy: \"x\" is unknown; "
		     "SCHED_OTHER is taken, as in Cyber");
	expect_notes(
		GROUP("\"affinity\":\"some\",\"cpuset\":\"0\""),
		"classic_conf.groups[0].affinity: \"some\" is neither range nor 1to1: its threads run on any CPU, as in Cyber");
	expect_notes(
		GROUP("\"processor_num\":2,\"affinity\":\"1to1\",\"cpuset\":\"0\""),
		"classic_conf.groups[0].affinity: 1to1 needs a CPU for each of 2 threads, and cpuset has 1: they share these");
	expect_notes(
		CHOREO("\"choreography_affinity\":\"1to1\",\"choreography_processor_num\":2"),
		"choreography_conf.choreography_affinity: 1to1 needs a CPU for each of 2 threads, and choreography_cpuset has "
		"0: they run on any CPU");
	expect_notes(GROUP("\"processor_policy\":\"SCHED_FIFO\",\"processor_prio\":0"),
		     "classic_conf.groups[0].processor_prio: 0 is none of 1 to 99; SCHED_OTHER is taken, as in Cyber");
	expect_notes(
		GROUP("\"processor_prio\":20"),
		"classic_conf.groups[0].processor_prio: 20 is none of -20 to 19; the nearest is taken, as in Cyber");
	expect_notes(GROUP("\"cpuset\":\"0,5000\""),
		     "classic_conf.groups[0].cpuset: there is no CPU beyond 1023, left out");
}

TEST(of_tasks_of_one_name_the_last_counts)
{
	struct sched_conf *c =
		conf_of(GROUP("\"name\":\"a\",\"tasks\":[{\"name\":\"t\"}]},{\"name\":\"b\",\"tasks\":[{\"name\":\"t\","
			      "\"prio\":7}]"));

	assert_int_equal(c->n_tasks, 1);
	assert_true(c->tasks[0].group == 1 && c->tasks[0].prio == 7);
	assert_string_equal(sched_conf_notes(c),
			    "classic_conf.groups[1].tasks[0]: task \"t\" is listed twice; the last entry counts");
	sched_conf_destroy(c);
}

TEST(groups_with_one_name_are_merged)
{
	struct sched_conf *c = conf_of(
		GROUP("\"name\":\"a\",\"processor_num\":1,\"affinity\":\"1to1\",\"cpuset\":\"0\"},{\"name\":\"a\","
		      "\"processor_num\":255,\"tasks\":[{\"name\":\"t\"}]},{\"name\":\"a\",\"processor_num\":9"));

	assert_int_equal(c->n_groups, 1);
	assert_int_equal(c->groups[0].workers, SCHED_WORKERS_MAX);
	assert_false(c->groups[0].one_to_one);
	assert_int_equal(c->tasks[0].group, 0);
	assert_non_null(
		strstr(sched_conf_notes(c), "groups[1]: group \"a\" is there already, and gets its threads and tasks"));
	sched_conf_destroy(c);
}

/* However many there are: they end in a word that says so. */
TEST(many_notes_are_cut_between_sentences)
{
	char json[4096] = "{\"classic_conf\":{\"groups\":[{\"tasks\":[";
	size_t n = strlen(json);
	struct sched_conf *c;
	const char *notes;

	for (int i = 0; i < 60; i++)
		n += (size_t)snprintf(json + n, sizeof(json) - n, "%s{\"name\":\"t%d\",\"prio\":99}", i ? "," : "", i);
	snprintf(json + n, sizeof(json) - n, "]}]}}");
	c = conf_of(json);
	notes = sched_conf_notes(c);
	assert_int_equal(c->tasks[59].prio, 19);
	assert_string_equal(notes + strlen(notes) - strlen("the highest\nand more"), "the highest\nand more");
	sched_conf_destroy(c);
}

/* ---- refused configurations ---- */

static void refused(const char *json, const char *why)
{
	struct sched_conf *conf;

	assert_int_equal(sched_conf_read(json, &conf), -EINVAL);
	if (!strstr(err_why(), why))
		fail_msg("\"%s\" says nothing of \"%s\"", err_why(), why);
}

TEST(errors_at_the_top_level_are_named)
{
	refused("{", "line 1");
	refused("[]", "the configuration: an object is expected");
	refused("{\"policy\":\"classic\",\"policy\":\"classic\"}", "duplicate");
	refused("{\"polcy\":1}", "polcy: unknown key");
	refused("{\"policy\":1}", "policy: a string");
	refused("{\"default_proc_num\":0}", "default_proc_num: a whole number from 1 to 256");
	refused("{\"routine_num\":\"many\"}", "routine_num: a whole number");
	refused("{\"process_level_cpuset\":\"a\"}", "process_level_cpuset: \"a\" is no list of CPUs");
	refused("{\"threads\":{}}", "threads: a list");
	refused("{\"threads\":[{\"name\":\"shm\",\"cpus\":\"1\"}]}", "threads[0].cpus: unknown key");
}

TEST(errors_in_a_group_are_named)
{
	refused("{\"classic_conf\":[]}", "classic_conf: an object");
	refused("{\"classic_conf\":{\"group\":[]}}", "classic_conf.group: unknown key");
	refused("{\"classic_conf\":{\"groups\":{}}}", "classic_conf.groups: a list");
	refused(GROUP("\"proc_num\":1"), "classic_conf.groups[0].proc_num: unknown key");
	refused(GROUP("\"name\":\"0123456789012345678901234567890123456789012345678901234567890123\""),
		"groups[0].name: at most 63 characters");
	refused(GROUP("\"processor_num\":1000"), "groups[0].processor_num: a whole number from 0 to 256");
	refused(GROUP("\"cpuset\":\"3-1\""), "groups[0].cpuset: \"3-1\" is no list of CPUs");
	refused(GROUP("\"processor_prio\":\"high\""), "processor_prio: a whole number");
	refused(GROUP("\"tasks\":[{\"prio\":1}]"), "groups[0].tasks[0].name: missing");
	refused(GROUP("\"tasks\":[{\"name\":\"a\",\"prio\":-1}]"), "groups[0].tasks[0].prio: a whole number");
	refused(GROUP("\"tasks\":[{\"name\":\"a\",\"prio\":1.5}]"), "groups[0].tasks[0].prio: a whole number");
	refused(GROUP("\"tasks\":[{\"name\":\"a\",\"processor\":1}]"), "tasks[0].processor: unknown key");
}

TEST(errors_in_choreography_are_named)
{
	refused(CHOREO("\"processor_num\":1"), "choreography_conf.processor_num: unknown key");
	refused(CHOREO("\"choreography_processor_num\":64"), "choreography_processor_num: at most 63");
	refused(CHOREO("\"pool_cpuset\":1"), "choreography_conf.pool_cpuset: a string");
	refused(CHOREO("\"pool_processor_prio\":1.5"), "pool_processor_prio: a whole number");
	refused(CHOREO("\"tasks\":[{\"name\":\"a\",\"cpu\":1}]"), "choreography_conf.tasks[0].cpu: unknown key");
	refused(CHOREO("\"tasks\":[{\"name\":\"a\",\"processor\":-1}]"), "tasks[0].processor: a whole number");
}
