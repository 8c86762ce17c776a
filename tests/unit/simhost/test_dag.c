/* SPDX-License-Identifier: Apache-2.0 */
/* DAG files: both syntaxes, the files that they name, and errors with their line. Thread: one. */
#include "tests/support/test.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "tools/simhost/dag.h"
#include "tools/simhost/scheduler_file.h"

#include <errno.h>

#define SAMPLES "tests/unit/simhost/samples/"

static struct dag *parsed(const char *name)
{
	struct dag *d = NULL;
	char path[128], *text;
	size_t len;

	snprintf(path, sizeof(path), SAMPLES "%s", name);
	assert_ok(fd_read_file(path, TREE_BYTES_MAX, &text, &len));
	assert_ok(dag_parse(name, text, len, &d));
	mem_free(text);
	return d;
}

static struct dag *parse(const char *text)
{
	struct dag *d = NULL;

	assert_ok(dag_parse("x.dag", text, strlen(text), &d));
	return d;
}

/* Which sentence it is refused with. */
static const char *refused(const char *text)
{
	struct dag *d = NULL;

	err_clear();
	if (dag_parse("x.dag", text, strlen(text), &d) == 0) {
		dag_destroy(d);
		return "it was taken";
	}
	return err_why();
}

static bool noted(const struct notes *n, const char *sentence)
{
	for (unsigned i = 0; i < n->n; i++)
		if (!strcmp(n->text[i], sentence))
			return true;
	return false;
}

#define ONE(members)  "{ \"modules\": [ { \"library\": \"l.so\", \"components\": [\n { " members " } ] } ] }"
#define READERS(list) ONE("\"class\": \"C\", \"name\": \"n\", \"readers\": [ " list " ]")

#define TEXT(config) \
	"module_config {\n module_library: 'l'\n components {\n class_name: 'C'\n config {\n" config "\n} } }"

/* ---- ours ---- */

TEST(our_file_becomes_components_in_order)
{
	struct dag *d = parsed("chain.json");
	const struct dag_component *c = d->components;

	assert_false(d->apollo);
	assert_int_equal(d->n_modules, 2);
	assert_int_equal(d->n_components, 3);
	assert_string_equal(d->modules[0].library, "libobstacles.so");
	assert_string_equal(c[0].class_name, "GridClusters");
	assert_string_equal(c[0].name, "obstacles");
	assert_string_equal(c[0].config, "{\"cell_m\":0.5,\"min_points\":4}");
	assert_int_equal(c[0].n_readers, 1);
	assert_string_equal(c[0].reader[0].channel, "/lidar/top");
	assert_int_equal(c[0].reader[0].depth, 2);
	assert_int_equal(c[0].reader[0].pending, 3);
	assert_int_equal(c[0].fusion, SIM_FUSION_ALL_LATEST);
	assert_int_equal(c[1].fusion, SIM_FUSION_BY_TIME);
	assert_int_equal(c[1].tolerance_dur_ns, 12500000);
	assert_string_equal(c[1].config_file, "tracker.json");
	assert_int_equal(c[1].module, 0);
	assert_int_equal(c[2].module, 1);
	assert_int_equal(c[2].interval_dur_ns, 100000000);
	assert_string_equal(c[2].config, "{}");
	assert_int_equal(d->notes.n, 0);
	dag_destroy(d);
}

TEST(a_reader_keeps_one_message_by_default)
{
	struct dag *d = parsed("chain.json");

	assert_int_equal(d->components[1].reader[0].depth, 1);
	assert_int_equal(d->components[1].reader[0].pending, 1);
	assert_int_equal(d->components[1].reader[1].depth, 50);
	dag_destroy(d);
}

TEST(every_entry_has_its_line)
{
	struct dag *d = parsed("chain.json");

	assert_int_equal(d->host.mode_line, 2);
	assert_int_equal(d->host.rank_line, 3);
	assert_int_equal(d->host.scheduler_line, 4);
	assert_int_equal(d->modules[1].line, 28);
	assert_int_equal(d->components[0].line, 9);
	assert_int_equal(d->components[1].line, 15);
	assert_int_equal(d->components[1].config_line, 18);
	assert_int_equal(d->components[1].reader[1].line, 21);
	dag_destroy(d);
}

TEST(a_file_sets_the_options_of_its_host)
{
	struct dag *d = parsed("chain.json");

	assert_int_equal(d->host.mode, SIM_RUN_SIMULATION);
	assert_int_equal(d->host.rank, 40);
	assert_string_equal(d->host.scheduler, "{\"policy\":\"classic\"}");
	dag_destroy(d);
	d = parse("{\"modules\": []}");
	assert_int_equal(d->host.mode_line + d->host.rank_line + d->host.scheduler_line, 0);
	assert_null(d->host.scheduler);
	dag_destroy(d);
}

TEST(errors_in_our_file_are_named_with_their_line)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "{\n \"modules\": [ }", "x.dag:2: unexpected token near '}'" },
		{ "{\n \"modules\": 3 }", "x.dag:2: modules: a value of type integer where a list is wanted" },
		{ "{ \"modules\": [],\n \"moduls\": [] }", "x.dag:2: moduls: an unknown key; did you mean modules?" },
		{ "{ \"modules\": [],\n \"mode\": \"fast\" }",
		  "x.dag:2: mode: \"fast\" is none of \"reality\", \"simulation\"" },
		{ "{ \"modules\": [],\n \"rank\": -1 }", "x.dag:2: rank: -1 is out of range, 0 to 1000000" },
		{ "{}", "x.dag:1: \"modules\" is missing" },
		{ "[]", "x.dag:1: a list where an object is wanted" },
		{ ONE("\"class\": \"C\""), "x.dag:2: modules[0].components[0]: \"name\" is missing" },
		{ ONE("\"class\": 7"),
		  "x.dag:2: modules[0].components[0].class: a value of type integer where a string is wanted" },
		{ ONE("\"class\": \"\""), "x.dag:2: modules[0].components[0].class: it is empty" },
		{ ONE("\"config\": []"), "x.dag:2: modules[0].components[0].config: a list where an object is wanted" },
		{ ONE("\"fusion\": \"newest\""),
		  "x.dag:2: modules[0].components[0].fusion: \"newest\" is none of \"all-latest\", \"hold\", \"by-time\"" },
		{ ONE("\"interval_ms\": 0"),
		  "x.dag:2: modules[0].components[0].interval_ms: 0 ms is out of range, more than 0 to 86400000" },
		{ READERS("{ \"channel\": \"/a\", \"depth\": 257 }"),
		  "x.dag:2: modules[0].components[0].readers[0].depth: 257 is out of range, 1 to 256" },
		{ READERS("{ \"channel\": \"/a\", \"pending\": 0 }"),
		  "x.dag:2: modules[0].components[0].readers[0].pending: 0 is out of range, 1 to 256" },
		{ READERS("{ \"channel\": \"/a\" }, { \"channel\": \"/b\" }, { \"channel\": \"/c\" }, { \"channel\": \"/d\" }, "
			  "{ \"channel\": \"/e\" }"),
		  "x.dag:2: modules[0].components[0].readers[4]: a component has at most 4 readers" },
		{ READERS("{ \"channel\": \"/a\" }, { \"channel\": \"/a\" }"),
		  "x.dag:2: modules[0].components[0]: two readers of /a, in lines 2 and 2; a node has one for each channel" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(refused(cases[i].text), cases[i].why);
}

TEST(invalid_names_are_refused_with_their_line)
{
	assert_string_equal(
		refused(ONE("\"class\": \"C\",\n\"name\": \"a//b\"")),
		"x.dag:2: component \"a//b\" is not a node's name; use 1 to 63 characters of A-Z a-z 0-9 _ . ~ - "
		"and single slashes inside");
	assert_non_null(strstr(refused(ONE("\"class\": \"C\", \"name\": \"/n\"")), "x.dag:2: component \"/n\""));
	assert_string_equal(
		refused(READERS("{ \"channel\": \"/a\" },\n{ \"channel\": \"/b//c\" }")),
		"x.dag:3: component n: \"/b//c\" is not a channel name; use 1 to 99 characters of A-Z a-z 0-9 "
		"_ . / ~ -");
	assert_non_null(strstr(refused(TEXT("name: ''")), "x.dag:"));
	assert_non_null(strstr(refused(TEXT("name: '/n'")), "x.dag:3: component \"/n\""));
}

/* To Cyber a component's name is any text, in a conf file too. */
TEST(a_cyber_name_is_adapted_to_a_node_name)
{
	struct dag *d = parse(TEXT("name: 'lane detection (left)'"));
	struct notes notes = { 0 };
	static const char conf[] =
		"scheduler_conf { classic_conf { groups { tasks { name: 'lane detection (left)' prio: 3 } } } }";
	char *text;

	assert_string_equal(d->components[0].name, "lane_detection__left_");
	assert_int_equal(d->notes.n, 1);
	assert_non_null(strstr(d->notes.text[0], "name: as a node it is called lane_detection__left_"));
	dag_destroy(d);
	assert_ok(scheduler_file_text("s.conf", conf, strlen(conf), &notes, &text));
	assert_non_null(strstr(text, "\"lane_detection__left_\""));
	mem_free(text);
	notes_finish(&notes);
}

#define TASKS "{ \"classic_conf\": { \"groups\": [ { \"tasks\": [ { \"name\": \"lane left\" } ] } ] } }"

TEST(a_cyber_name_is_adapted_to_a_node_name_in_json)
{
	struct dag *d = parse("{ \"scheduler\": " TASKS ",\n\"modules\": [ { \"library\": \"l.so\", \"components\": [\n"
			      "{ \"class\": \"C\", \"name\": \"lane left\" } ] } ] }");
	struct notes notes = { 0 };
	char *text;

	assert_string_equal(d->components[0].name, "lane_left");
	assert_int_equal(d->notes.n, 1);
	assert_non_null(
		strstr(d->notes.text[0], ":3: modules[0].components[0].name: as a node it is called lane_left"));
	assert_non_null(strstr(d->host.scheduler, "\"lane_left\""));
	dag_destroy(d);
	assert_ok(scheduler_file_text("s.json", TASKS, strlen(TASKS), &notes, &text));
	assert_non_null(strstr(text, "\"lane_left\""));
	mem_free(text);
	notes_finish(&notes);
}

/* A repeated field may be written as a list in brackets, as in the files of Apollo. */
TEST(a_list_in_brackets_is_a_repeated_field)
{
	static const char conf[] =
		"scheduler_conf {\n policy: 'fair'\n threads: [ { name: 'shm' policy: 'SCHED_FIFO' prio: 10 } ]\n"
		" classic_conf { groups: [ {\n name: 'g' processor_policy: 'SCHED_OTHER' processor_prio: 0\n"
		" tasks: [ { name: 'a' prio: 3 }, { name: 'b' } ] }, { name: 'h' processor_policy: 'SCHED_RR' } ] } }";
	struct notes notes = { 0 };
	char *text;

	assert_ok(scheduler_file_text("s.conf", conf, strlen(conf), &notes, &text));
	assert_string_equal(
		text,
		"{\"policy\":\"fair\",\"threads\":[{\"name\":\"shm\",\"policy\":\"SCHED_FIFO\",\"prio\":10}],"
		"\"classic_conf\":{\"groups\":[{\"name\":\"g\",\"processor_policy\":\"SCHED_OTHER\",\"processor_prio\":0,"
		"\"tasks\":[{\"name\":\"a\",\"prio\":3},{\"name\":\"b\"}]},{\"name\":\"h\",\"processor_policy\":\"SCHED_RR\"}]}}");
	assert_int_equal(notes.n, 0);
	mem_free(text);
	notes_finish(&notes);
}

TEST(mutually_exclusive_keys_are_refused)
{
#define NAMED "\"class\": \"C\", \"name\": \"n\", "
	assert_non_null(strstr(refused(ONE(NAMED "\"config\": {}, \"config_file\": \"f\"")), "are both given"));
	assert_non_null(strstr(refused(ONE(NAMED "\"fusion\": \"by-time\"")), "needs tolerance_ms"));
	assert_non_null(strstr(refused(ONE(NAMED "\"tolerance_ms\": 5")), "for fusion by-time alone"));
	assert_non_null(strstr(refused(ONE(NAMED "\"interval_ms\": 5, \"readers\": [ { \"channel\": \"/a\" } ]")),
			       "has no readers"));
}

/* ---- Apollo's ---- */

TEST(an_apollo_file_becomes_the_same_struct)
{
	struct dag *d = parsed("perception.dag");
	const struct dag_component *c = d->components;

	assert_true(d->apollo);
	assert_int_equal(d->n_modules, 2);
	assert_int_equal(d->n_components, 4);
	assert_string_equal(d->modules[0].library, "lib/libfusion_component.so");
	assert_string_equal(c[0].class_name, "LidarDetectionComponent");
	assert_string_equal(c[0].config_file, "fusion.pb.txt");
	assert_int_equal(c[0].reader[0].depth, 15);
	assert_int_equal(c[0].reader[0].pending, 5);
	assert_string_equal(c[1].name, "fusion");
	assert_int_equal(c[1].n_readers, 2);
	assert_string_equal(c[1].reader[1].channel, "/apollo/localization/pose");
	assert_int_equal(c[1].reader[1].line, 38);
	assert_int_equal(c[1].reader[1].pending, 1);
	assert_int_equal(c[1].reader[1].depth, 1);
	assert_string_equal(c[3].name, "planning");
	assert_int_equal(c[3].module, 1);
	dag_destroy(d);
}

TEST(timer_components_follow_the_others_of_their_module)
{
	struct dag *d = parsed("perception.dag");

	assert_string_equal(d->components[2].class_name, "StatusComponent");
	assert_int_equal(d->components[2].interval_dur_ns, 500000000);
	assert_int_equal(d->components[2].module, 0);
	assert_int_equal(d->components[2].line, 5);
	dag_destroy(d);
}

TEST(apollo_settings_without_a_counterpart_are_noted_with_their_line)
{
	static const char *const all[] = {
		"perception.dag:18: module_config.components.config.flag_file_path: files of gflags are not read; put the values "
		"into the component's configuration",
		"perception.dag:25: module_config.components.config.readers.qos_profile.reliability: channels have no reliability "
		"of their own: on one machine nothing is lost on the way",
		"perception.dag:26: module_config.components.config.readers.qos_profile.durability: whether late readers get the "
		"last message is up to the writer (SIM_PUB_LATCH)",
		"perception.dag:49: module_config.components.config.shiny: an unknown key, ignored",
	};
	struct dag *d = parsed("perception.dag");

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!noted(&d->notes, all[i]))
			fail_msg("no note: %s", all[i]);
	assert_int_equal(d->notes.n, 4);
	dag_destroy(d);
}

TEST(values_beyond_our_limits_are_clamped_with_a_note)
{
	struct dag *d = parse(
		TEXT("name: 'n' readers { channel: '/a' pending_queue_size: 1000 qos_profile { depth: 300 "
		     "history: HISTORY_KEEP_ALL mps: 10 } }\n readers { channel: '/b' } readers { channel: '/c' } "
		     "readers { channel: '/d' }\n readers { channel: '/e' }"));

	assert_int_equal(d->components[0].reader[0].pending, DAG_DEPTH_MAX);
	assert_int_equal(d->components[0].reader[0].depth, DAG_DEPTH_MAX);
	assert_int_equal(d->components[0].n_readers, 4);
	assert_true(noted(&d->notes,
			  "x.dag:8: module_config.components.config.readers: a component has at most 4 readers; "
			  "this one is left out"));
	assert_int_equal(d->notes.n, 5);
	dag_destroy(d);
}

TEST(errors_in_an_apollo_file_are_refused_with_their_line)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "x.dag:1: \"module_config\" is missing" },
		{ "module_config {\n", "x.dag:1: module_config: the file ends before its '}'" },
		{ "module_config {\n }\n}", "x.dag:3: the name of a field is missing" },
		{ "module_config {\n module_library 'l' }",
		  "x.dag:2: module_config.module_library: ':' or '{' is missing behind it" },
		{ "module_config {\n module_library: l }",
		  "x.dag:2: module_config.module_library: a word without quotes where a string is wanted" },
		{ "module_config {\n module_library: 'l\n' }", "x.dag:2: a string without its end" },
		{ "module_config {\n components { } }",
		  "x.dag:2: module_config.components: \"class_name\" is missing" },
		{ TEXT("name: 'n' name: 'm'"),
		  "x.dag:6: module_config.components.config.name: given twice, first in line 6" },
		{ TEXT("name: 'n' readers {\n}"),
		  "x.dag:6: module_config.components.config.readers: \"channel\" is missing" },
		{ TEXT("name: 'n' readers { channel: '/a'\n pending_queue_size: 'x' }"),
		  "x.dag:7: module_config.components.config.readers.pending_queue_size: a value of type string where an integer is wanted" },
		{ "module_config {\n module_library: 'l'\n timer_components {\n class_name: 'C' config {\n name: 'n' } } }",
		  "x.dag:4: module_config.timer_components.config: \"interval\" is missing" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(refused(cases[i].text), cases[i].why);
}

/* ---- the files that it names ---- */

static const char *put(char buf[TEST_PATH_MAX], const char *name, const char *text)
{
	assert_ok(fd_write_file(test_path(buf, name), text, strlen(text), 0600));
	return buf;
}

static int make_files(void **state)
{
	char path[TEST_PATH_MAX];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_ok(fd_mkdir_p(test_path(path, i ? "libs" : "confs"), 0700));
	put(path, "beside.so", "");
	put(path, "libs/far.so", "");
	put(path, "confs/far.json", "{\n \"a\": 1 }");
	put(path, "confs/far.pb.txt", "a: 1 a: 2");
	put(path, "bad.json", "{\n \"a\": }");
	put(path, "list.json", "[]");
	setenv("SIM_LIB_PATH", "/nowhere:", 1);
	setenv("APOLLO_LIB_PATH", test_path(path, "libs"), 1);
	setenv("SIM_CONF_PATH", test_path(path, "confs"), 1);
	unsetenv("APOLLO_CONF_PATH");
	return 0;
}

/* A file of one component with that library and that configuration file, which is read. */
static int read_one(const char *library, const char *config, struct dag **ret)
{
	char path[TEST_PATH_MAX], text[400];

	snprintf(
		text, sizeof(text),
		"{ \"modules\": [ { \"library\": \"%s\",\n \"components\": [ { \"class\": \"C\", \"name\": \"n\",\n \"config_file\": \"%s\" } ] } ] }",
		library, config);
	return dag_read(put(path, "one.json", text), ret);
}

TEST_WITH(files_are_found_beside_the_dag_and_below_the_search_paths, make_files, NULL)
{
	char path[TEST_PATH_MAX];
	struct dag *d;

	assert_ok(read_one("beside.so", "far.json", &d));
	assert_string_equal(d->modules[0].path, test_path(path, "beside.so"));
	assert_string_equal(d->components[0].config, "{\"a\":1}");
	dag_destroy(d);
	assert_ok(read_one("far.so", "confs/far.json", &d));
	assert_string_equal(d->modules[0].path, test_path(path, "libs/far.so"));
	dag_destroy(d);
}

TEST_WITH(a_dag_is_found_below_its_search_path, make_files, NULL)
{
	char path[TEST_PATH_MAX];
	struct dag *d;

	put(path, "confs/empty.json", "{ \"modules\": [] }");
	unsetenv("SIM_DAG_PATH");
	assert_int_equal(dag_read("empty.json", &d), -ENOENT);
	assert_string_equal(err_why(),
			    "empty.json is neither in . nor below a directory of SIM_DAG_PATH or APOLLO_DAG_PATH");
	setenv("SIM_DAG_PATH", test_path(path, "confs"), 1);
	assert_ok(dag_read("empty.json", &d));
	assert_string_equal(d->path, test_path(path, "confs/empty.json"));
	dag_destroy(d);
}

TEST_WITH(a_configuration_in_text_format_becomes_json_with_a_note, make_files, NULL)
{
	struct dag *d;

	assert_ok(read_one("beside.so", "far.pb.txt", &d));
	assert_string_equal(d->components[0].config, "{\"a\":[1,2]}");
	assert_int_equal(d->notes.n, 1);
	assert_non_null(strstr(d->notes.text[0], "confs/far.pb.txt:1: protobuf's text format, read as JSON"));
	dag_destroy(d);
}

TEST_WITH(a_missing_or_invalid_file_is_named_with_the_line, make_files, NULL)
{
	struct dag *d;

	assert_int_equal(read_one("none.so", "far.json", &d), -ENOENT);
	assert_non_null(strstr(err_why(), "one.json:1: none.so is neither in "));
	assert_non_null(strstr(err_why(), "nor below a directory of SIM_LIB_PATH or APOLLO_LIB_PATH"));
	assert_int_equal(read_one("beside.so", "none.json", &d), -ENOENT);
	assert_non_null(strstr(err_why(), "one.json:3: none.json is neither in "));
	assert_int_equal(read_one("/none.so", "far.json", &d), -ENOENT);
	assert_non_null(strstr(err_why(), "one.json:1: /none.so does not exist"));
	assert_int_equal(read_one("beside.so", "bad.json", &d), -EINVAL);
	assert_non_null(strstr(err_why(), "bad.json:2: "));
	assert_int_equal(read_one("beside.so", "list.json", &d), -EINVAL);
	assert_non_null(strstr(err_why(), "list.json:1: a configuration must be an object"));
}

TEST_WITH(a_scheduler_may_be_a_file, make_files, NULL)
{
	char path[TEST_PATH_MAX];
	struct dag *d;

	put(path, "s.json", "{ \"modules\": [], \"scheduler\": \"far.json\" }");
	assert_ok(dag_read(path, &d));
	assert_string_equal(d->host.scheduler, "{\"a\":1}");
	dag_destroy(d);
}

TEST_WITH(a_scheduler_may_be_in_a_cyber_conf_file, make_files, NULL)
{
	static const char *const all[] = {
		"cyber.conf:2: run_mode_conf: not for the scheduler, ignored",
		"cyber.conf:5: scheduler_conf.routine_num: there are no coroutines, and no bound on tasks",
	};
	char path[TEST_PATH_MAX], *text;
	struct dag *d;

	assert_ok(fd_read_file(SAMPLES "cyber.conf", TREE_BYTES_MAX, &text, NULL));
	put(path, "cyber.conf", text);
	put(path, "s.json", "{ \"modules\": [], \"scheduler\": \"cyber.conf\" }");
	assert_ok(dag_read(path, &d));
	assert_string_equal(
		d->host.scheduler,
		"{\"policy\":\"classic\",\"process_level_cpuset\":\"0\",\"threads\":[{\"name\":\"async_log\",\"cpuset\":\"0\"}],\"classic_conf\":{\"groups\":[{\"name\":\"group1\","
		"\"processor_num\":1,\"affinity\":\"range\",\"processor_policy\":\"SCHED_OTHER\",\"processor_prio\":0,"
		"\"tasks\":[{\"name\":\"tracks\",\"prio\":10}]}]}}");
	assert_int_equal(d->notes.n, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_non_null(strstr(d->notes.text[i], all[i]));
	dag_destroy(d);
	mem_free(text);
}

TEST(lists_in_brackets_are_read_completely)
{
	char path[TEST_PATH_MAX], *text;
	struct dag *d;

	assert_ok(fd_read_file(SAMPLES "lists.conf", TREE_BYTES_MAX, &text, NULL));
	put(path, "lists.conf", text);
	put(path, "s.json", "{ \"modules\": [], \"scheduler\": \"lists.conf\" }");
	assert_ok(dag_read(path, &d));
	assert_non_null(strstr(d->host.scheduler, "\"threads\":[{\"name\":\"lidar\""));
	assert_non_null(strstr(d->host.scheduler, "{\"name\":\"b\",\"processor\":1,\"prio\":12}"));
	assert_int_equal(d->notes.n, 0);
	dag_destroy(d);
	mem_free(text);
}

/* ---- memory ---- */

TEST(allocation_failures_are_errors_and_leak_nothing)
{
	static const char *const files[] = { SAMPLES "chain.json", SAMPLES "perception.dag" };
	struct mem_stats before, after;

	for (unsigned i = 0; i < 2; i++) {
		char *text;
		size_t len;
		int r = -ENOMEM;

		assert_ok(fd_read_file(files[i], TREE_BYTES_MAX, &text, &len));
		mem_stats(&before);
		for (int64_t nth = 1; r < 0; nth++) {
			struct dag *d = NULL;

			mem_fail_after(nth);
			r = dag_parse("x", text, len, &d);
			mem_fail_after(0);
			/* jansson may then report any error of its syntax */
			if (r != 0 && r != -ENOMEM && (i || r != -EINVAL || nth > 10000))
				fail_msg("allocation %lld: %d: %s", (long long)nth, r, err_why());
			dag_destroy(d);
			mem_stats(&after);
			assert_int_equal(before.bytes, after.bytes);
		}
		mem_free(text);
	}
}

static int adopt(void **state)
{
	(void)state;
	mem_adopt_jansson();
	return 0;
}

TEST_GROUP(adopt, NULL)
