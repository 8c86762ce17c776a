/* SPDX-License-Identifier: Apache-2.0 */
/* Each mistake in a configuration: one error text that says where and what to do, and a non-zero exit. */
#include "mem.h"
#include "stack.h"
#include "trust.h"

#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NAME     "/tmp/out.json"
#define RIG(text)     "{\"rigs\":[{\"name\":\"a\"," text "}]}"
#define BRIDGE(text)  RIG("\"bridges\":[{\"name\":\"b\"" text "}]")
#define PROCESS(text) RIG("\"processes\":[{\"name\":\"p\"" text "}]")
#define F             FILE_NAME ": "

static const struct {
	const char *conf, *said;
} cases[] = {
	{ "{", FILE_NAME ":1: string or '}' expected near end of file" },
	{ "{\n\"TimeScale\":1,\n\"log\":}", FILE_NAME ":3: unexpected token near '}'" },
	{ "{\"TimeScale\":1,\"TimeScale\":2}", FILE_NAME ":1: duplicate object key near '\"TimeScale\"'" },
	{ "[]", F "the file: is of type array, give an object" },
	{ "{\"a\":1}", F "a: unknown key" },
	{ "{\"socket\":{\"colour\":\"red\"}}", F "socket.colour: unknown key" },
	{ "{\"TimeScale\":\"fast\"}", F "TimeScale: is of type string, give a number" },
	{ "{\"TimeScale\":101}", F "TimeScale: 101 is out of range, 0 to 100" },
	{ "{\"TimeScale\":0.001}", "TimeScale: 0.001 is out of range, 0.01 to 100, or 0 to start paused" },
	{ "{\"TimeSource\":7}", "TimeSource: 7 is out of range, 0 (unity) to 4 (ros2)" },
	{ "{\"TimeSource\":\"\"}",
	  "TimeSource: expected unity, ss2, system, simulation, ros2, 0 to 4, link, or the name of a plug-in" },
	{ "{\"log\":5}", F "log: is of type integer, give a string" },
	{ "{\"log\":\"*:loud\"}", "log: log levels: \"loud\" is not one of none, error, warn, info, debug" },
	{ "{\"backend\":\"dds\"}", F "backend: \"dds\" is not one of iox, mem" },
	{ "{\"backend\":\"mem\"}",
	  "backend \"mem\" exists inside one process, so no other could attach; it is for tests" },
	{ "{\"socket\":{\"mode\":\"0066\"}}",
	  "socket.mode: \"0066\" is not an octal mode that lets the owner in, such as 0660" },
	{ "{\"socket\":{\"group\":\"no-such-group\"}}", "socket.group: there is no group \"no-such-group\"" },
	{ "{\"roudi\":{\"start\":\"maybe\"}}", F "roudi.start: \"maybe\" is not one of simd, external" },
	{ "{\"roudi\":{\"path\":\"\"}}", "roudi.path: empty; name a program" },
	{ "{\"bridge\":{\"program\":\"\"}}", "bridge.program: empty; name a program" },
	{ "{\"process\":{\"restart_max_ms\":10}}", "process.restart_max_ms: 10 is below process.restart_ms, 100" },
	{ "{\"pools\":{}}", F "pools: is of type object, give an array of objects" },
	{ "{\"pools\":[{\"size\":\"1KiB\"}]}", "pools[0].count is required and nothing sets it" },
	{ "{\"pools\":[{\"size\":\"1 parsec\",\"count\":5}]}",
	  F "pools[0].size: \"1 parsec\" is not a size; write bytes, or a number and KiB, MiB, GiB, kB, MB or GB" },
	{ "{\"pools\":[{\"size\":\"2KiB\",\"count\":10},{\"size\":\"1KiB\",\"count\":10}]}",
	  "pools[1].size: sizes must ascend, each above the one before, in steps of 64" },
	{ "{\"pools\":[{\"size\":\"4MiB\",\"count\":2000}]}",
	  "pool of 4194304-byte slots: 2000 of them are 8000 MiB, iceoryx corrupts pools above 4095 MiB; lower its count" },
	{ "{\"limits\":{\"clients\":1e3}}", F "limits.clients: is of type number, give a whole number" },
	{ "{\"dispatch\":{\"wait_ms\":-1}}", F "dispatch.wait_ms: -1 is out of range, 0 to 60000" },
	{ "{\"clock\":{\"spin\":\"yes\"}}", F "clock.spin: is of type string, give true or false" },
	{ "{\"step\":{\"late\":\"never\"}}", F "step.late: \"never\" is not one of wait, warn, drop" },
	{ "{\"rigs\":[{}]}", F "rigs[0]: name is required, it tells the items apart" },
	{ "{\"rigs\":[{\"name\":\"a b\"}]}", "rig \"a b\": use 1 to 40 characters of A-Z a-z 0-9 _ . -" },
	{ "{\"rigs\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", F "rigs[1]: name \"a\" appears twice" },
	{ RIG("\"prefix\":\"x y\""), "rigs[a].prefix: \"x y\" cannot begin a channel name; use A-Z a-z 0-9 _ . / ~ -" },
	{ "{\"rigs\":[{\"name\":\"a\",\"prefix\":\"/car\"},{\"name\":\"b\",\"prefix\":\"car\"}]}",
	  "rigs[b].prefix: \"car\" is that of rig a too, whose channels would be the same; give it another" },
	{ "{\"rigs\":[{\"name\":\"a\"},{\"name\":\"b\"}]}",
	  "rigs[b].prefix: \"\" is that of rig a too, whose channels would be the same; give it another" },
	{ "{\"rigs\":[{\"name\":\"a\",\"prefix\":\"/a\",\"bridges\":[{\"name\":\"x\",\"plugin\":\"null\"}]},"
	  "{\"name\":\"b\",\"prefix\":\"/b\",\"bridges\":[{\"name\":\"x\",\"plugin\":\"null\"}]}]}",
	  "rigs[b].bridges: the name x is taken by rig a; give it another" },
	{ "{\"rigs\":[{\"name\":\"a\",\"prefix\":\"/a\",\"processes\":[{\"name\":\"x\",\"command\":[\"y\"]}]},"
	  "{\"name\":\"b\",\"prefix\":\"/b\",\"processes\":[{\"name\":\"x\",\"command\":[\"y\"]}]}]}",
	  "rigs[b].processes: the name x is taken by rig a; give it another" },
	{ RIG("\"channels\":[{\"name\":\"a,b\"}]"),
	  "rigs[a].channels: \"a,b\" is not a channel name; use A-Z a-z 0-9 _ . / ~ -" },
	{ RIG("\"channels\":[{\"name\":\"x\",\"window\":129}]"),
	  F "rigs[0].channels[0].window: 129 is out of range, 0 to 128" },
	{ BRIDGE(""), "rigs[0].bridges[0].plugin is required and nothing sets it" },
	{ BRIDGE(",\"plugin\":\"\""), "rigs[a].bridges[b].plugin: empty" },
	{ BRIDGE(",\"plugin\":\"null\",\"options\":[]"), "rigs[a].bridges[b].options: expected an object" },
	{ BRIDGE(",\"plugin\":\"null\",\"start\":\"later\""),
	  F "rigs[0].bridges[0].start: \"later\" is not one of simd, external" },
	{ BRIDGE(",\"plugin\":\"null\"},{\"name\":\"b\",\"plugin\":\"null\""),
	  F "rigs[0].bridges[1]: name \"b\" appears twice" },
	{ PROCESS(""), "rigs[0].processes[0].command is required and nothing sets it" },
	{ PROCESS(",\"command\":[]"), "processes[p].command: empty; name a program" },
	{ PROCESS(",\"command\":\"x\""),
	  F "rigs[0].processes[0].command: is of type string, give an array of strings" },
	{ PROCESS(",\"command\":[\"x\"],\"env\":{\"A=B\":\"c\"}"),
	  "processes[p].env.A=B: expected a string, or null to unset it" },
};

static const struct {
	const char *a, *b;
	int code;
	const char *said;
} lines[] = {
	{ "--set", "x", 1, "--set x: expected KEY=VALUE, such as dispatch.wait_ms=50" },
	{ "--set", "TimeScale=abc", 1, "--set: TimeScale: is of type string, give a number" },
	{ "--set", "no.such=1", 1, "--set: no: unknown key; did you mean log?" },
	{ "--rig", "/no/such", 1, "/no/such: No such file or directory" },
	{ "--config", "/no/such", 1, "/no/such: No such file or directory" },
	{ "--ready-fd", "x", 2, "--ready-fd: \"x\" is not a whole number (see simd --help)" },
	{ "--check-config", "--nonsense", 2, "unknown option --nonsense (see simd --help)" },
	{ "--check-config", "extra", 2, "\"extra\" is one argument too many (see simd --help)" },
};

static void said(const struct ctl_result *r, int code, const char *what, const char *given)
{
	char want[512];

	snprintf(want, sizeof(want), "simd: %s\n", what);
	if (r->code != code || *r->out || strcmp(r->err, want))
		fail_msg("%s: exit code %d, said \"%s%s\", not \"%s\"", given, r->code, r->out, r->err, want);
}

static void write_file(const char *text)
{
	FILE *f = fopen(FILE_NAME, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* ---- what others can change, as root ---- */

#define OPEN "/tmp/out-open" /* a directory that any user may write to */

static void copy_to_open(const char *from, const char *name)
{
	const char *b = getenv("B");
	char command[512];

	snprintf(command, sizeof(command), "mkdir -p " OPEN " && chmod 777 " OPEN " && cp '%s/%s' " OPEN "/%s",
		 b ? b : "build", from, name);
	assert_int_equal(system(command), 0);
}

/* Refused with what it is; with the option it is used. */
static void refused(const char *conf, const char *rig, const char *words)
{
	const char *argv[] = { "simd", "--config", FILE_NAME, "--check-config", "--rig", rig, NULL, NULL };
	const struct ctl_result *r;

	write_file(conf);
	argv[rig ? 6 : 4] = NULL;
	r = stack_run(argv);
	if (r->code != 1 || !strstr(r->err, words) || !strstr(r->err, "--trust-files"))
		fail_msg("%d, \"%s\" does not say \"%s\"", r->code, r->err, words);
	argv[rig ? 6 : 4] = "--trust-files";
	argv[rig ? 7 : 5] = NULL;
	r = stack_run(argv);
	if (r->code)
		fail_msg("%s", r->err);
}

#define WITH_BRIDGE(more) "{\"rigs\":[{\"name\":\"a\",\"bridges\":[{\"name\":\"b\"," more "}]}]}"

TEST(root_does_not_obey_files_that_others_can_change)
{
	if (!trust_is_asked())
		skip();
	copy_to_open("lib/simd/bridge_null.so", "bridge_null.so");
	refused(WITH_BRIDGE("\"plugin\":\"" OPEN "/bridge_null.so\""), NULL,
		OPEN "/bridge_null.so: " OPEN " can be written by others (mode 0777");
	refused("{\"bridge\":{\"plugin_dir\":\"" OPEN
		"\"},\"rigs\":[{\"name\":\"a\",\"bridges\":[{\"name\":\"b\",\"plugin\":"
		"\"null\"}]}]}",
		NULL, OPEN " can be written by others");
	copy_to_open("test/plugins/source_good.so", "source_good.so");
	refused("{\"bridge\":{\"plugin_dir\":\"" OPEN "\"},\"TimeSource\":\"good\"}", NULL,
		OPEN "/source_good.so: " OPEN " can be written by others");
	write_file("{\"name\":\"r\"}");
	assert_int_equal(rename(FILE_NAME, OPEN "/rig.json"), 0);
	refused("{}", OPEN "/rig.json", OPEN "/rig.json: " OPEN " can be written by others");
	assert_int_equal(mkdir(FILE_NAME ".d", 0700), 0);
	assert_int_equal(chmod(FILE_NAME ".d", 0777), 0);
	refused("{}", NULL, FILE_NAME ".d: it can be written by others");
	assert_int_equal(rmdir(FILE_NAME ".d"), 0);
	assert_int_equal(chmod(FILE_NAME, 0666), 0);
	refused("{}", NULL, FILE_NAME ": it can be written by others (mode 0666, owner 0:0)");
	assert_int_equal(chmod(FILE_NAME, 0644), 0);
}

/* Wherever it is named, and found by PATH as well. */
TEST(root_does_not_run_programs_that_others_can_change)
{
	const char *path = getenv("PATH");
	char *old = mem_strdup(path ? path : ""), *with = mem_printf("%s:%s", OPEN, path ? path : "");

	if (!trust_is_asked())
		skip();
	copy_to_open("bin/simbridge", "tool");
	refused("{\"bridge\":{\"program\":\"" OPEN "/tool\"}}", NULL,
		"bridge.program: " OPEN "/tool: " OPEN " can be written by others (mode 0777");
	refused("{\"roudi\":{\"path\":\"" OPEN "/tool\"}}", NULL, "roudi.path: " OPEN "/tool: " OPEN " can be");
	refused(PROCESS(",\"command\":[\"" OPEN "/tool\"]"), NULL, "command: " OPEN "/tool: " OPEN " can be written");
	refused(PROCESS(",\"dir\":\"" OPEN "\",\"command\":[\"./tool\"]"), NULL, OPEN " can be written by others");
	setenv("PATH", with, 1);
	refused(PROCESS(",\"command\":[\"tool\"]"), NULL, "command: " OPEN "/tool: " OPEN " can be written");
	setenv("PATH", old, 1);
	mem_free(old);
	mem_free(with);
}

/* The start logs that, and continues without the process. */
TEST_WITH(root_does_not_start_processes_of_other_users, NULL, stack_sweep)
{
	pid_t simd;

	if (!trust_is_asked())
		skip();
	copy_to_open("bin/simctl", "tool");
	simd = stack_start(STACK_POOLS ",\"rigs\":[{\"name\":\"a\",\"processes\":[{\"name\":\"p\",\"command\":[\"" OPEN
				       "/tool\",\"--version\"]}]}]");
	AWAIT(stack_said(OPEN "/tool: " OPEN " can be written by others"));
	assert_false(stack_said("simctl "));
	stack_stop(simd);
}

TEST_WITH(root_does_not_start_a_roudi_of_other_users, NULL, stack_sweep)
{
	static const char *const argv[] = { "simd", "--config", FILE_NAME, "--runtime-dir", STACK_DIR, NULL };
	const struct ctl_result *r;

	if (!trust_is_asked())
		skip();
	copy_to_open("bin/simctl", "iox-roudi");
	write_file("{" STACK_POOLS ",\"roudi\":{\"path\":\"" OPEN "/iox-roudi\"}}");
	r = stack_run(argv);
	if (r->code != 1 || !strstr(r->err, OPEN "/iox-roudi: " OPEN " can be written by others"))
		fail_msg("%d, \"%s\"", r->code, r->err);
}

/* Its members could connect, and reach no memory. */
TEST_WITH(the_group_of_the_socket_owns_the_memory, NULL, stack_sweep)
{
	static const char *const argv[] = { "simd", "--config", FILE_NAME, "--runtime-dir", STACK_DIR, NULL };
	static const char *const check[] = { "simd", "--config", FILE_NAME, "--check-config", NULL };
	const struct group *g = getgrgid(getegid() == 1 ? 2 : 1);
	const struct ctl_result *r;
	char text[200];

	assert_non_null(g);
	snprintf(text, sizeof(text), "{" STACK_POOLS ",\"socket\":{\"group\":\"%s\"}}", g->gr_name);
	write_file(text);
	r = stack_run(argv);
	if (r->code != 78 || !strstr(r->err, "socket.group: only simd's group"))
		fail_msg("%d, \"%s\"", r->code, r->err);
	r = stack_run(check);
	if (r->code != 1 || !strstr(r->err, F "socket.group: only simd's group"))
		fail_msg("%d, \"%s\"", r->code, r->err);
	g = getgrgid(getegid());
	assert_non_null(g);
	snprintf(text, sizeof(text), STACK_POOLS ",\"socket\":{\"group\":\"%s\"}", g->gr_name);
	stack_stop(stack_start(text));
}

/* The iceoryx module: simd does not start with one. */
TEST_WITH(root_does_not_load_modules_of_other_users, NULL, stack_sweep)
{
	static const char *const argv[] = { "simd", "--config", FILE_NAME, "--runtime-dir", STACK_DIR, NULL };
	const struct ctl_result *r;

	if (!trust_is_asked())
		skip();
	copy_to_open("lib/simd/ipc_iox.so", "ipc_iox.so");
	write_file("{" STACK_POOLS "}");
	setenv("SIM_IPC_MODULE", OPEN "/ipc_iox.so", 1);
	r = stack_run(argv);
	unsetenv("SIM_IPC_MODULE");
	assert_int_equal(r->code, 1);
	if (!strstr(r->err, OPEN "/ipc_iox.so: " OPEN " can be written by others"))
		fail_msg("%s", r->err);
}

TEST(each_configuration_error_has_its_text)
{
	static const char *const argv[] = { "simd", "--config", FILE_NAME, "--check-config", NULL };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_file(cases[i].conf);
		said(stack_run(argv), 1, cases[i].said, cases[i].conf);
	}
	assert_int_equal(remove(FILE_NAME), 0);
}

TEST(each_command_line_is_checked)
{
	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *argv[] = { "simd", lines[i].a, lines[i].b, "--check-config", NULL };

		said(stack_run(argv), lines[i].code, lines[i].said, lines[i].b);
	}
}

/* A missing file is reported before the start, unless it belongs to a bridge that is started separately. */
TEST(missing_plugins_are_named)
{
	static const struct {
		const char *conf, *words;
	} c[] = {
		{ BRIDGE(",\"plugin\":\"no-such-plugin\""), "there is no bridge_no-such-plugin.so" },
		{ BRIDGE(",\"plugin\":\"loging\""), "; did you mean logging?\n" },
		{ BRIDGE(",\"plugin\":\"null\",\"converters\":[\"no-such-one\"]"),
		  "there is no converter_no-such-one.so" },
		{ BRIDGE(",\"plugin\":\"/no/such.so\""), "/no/such.so: No such file" },
		{ BRIDGE(",\"plugin\":\"no-such-plugin\",\"start\":\"external\""), NULL },
	};
	static const char *const argv[] = { "simd", "--config", FILE_NAME, "--check-config", NULL };

	for (unsigned i = 0; i < sizeof(c) / sizeof(*c); i++) {
		const struct ctl_result *r;

		write_file(c[i].conf);
		r = stack_run(argv);
		if (r->code != (c[i].words ? 1 : 0) || (c[i].words && !strstr(r->err, c[i].words)))
			fail_msg("%s: exit code %d, \"%s\"", c[i].conf, r->code, r->err);
	}
	assert_int_equal(remove(FILE_NAME), 0);
}

static unsigned lines_in(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* All errors in one run, each with the file and the key; valid settings are not named. */
TEST(check_config_reports_everything_that_a_start_would_refuse)
{
	static const char *const argv[] = { "simd", "--config", FILE_NAME, "--check-config", NULL };
	static const char *const want[] = {
		F "TimeSource: \"sundial\" is no time source",
		F "bridge.program: there is no program \"no-such-simbridge\" beside simd or in PATH",
		F
		"rigs[a].channels[big].max_body: a message of 4096 bytes needs a slot of 4224, the largest of \"pools\" has",
		F
		"rigs[a].channels[/rosout]: only the nodes of ROS 2 themselves may publish under /rosout; choose another",
		F "rigs[a].channels[simd/mine]: only simd itself may publish under /simd/mine; choose another",
		F "rigs[a].bridges[lost].plugin: there is no bridge_no-such-plugin.so",
		F "rigs[a].bridges[lost].converters: there is no converter_no-such-one.so",
		F
		"rigs[a].processes[p].command: there is no program \"/no/such/program\": install it, or give its path",
	};
	const struct ctl_result *r;

	write_file("{\"TimeSource\":\"sundial\",\"bridge\":{\"program\":\"no-such-simbridge\"},"
		   "\"pools\":[{\"size\":\"1KiB\",\"count\":500}],\"rigs\":[{\"name\":\"a\",\"channels\":["
		   "{\"name\":\"big\",\"max_body\":4096},{\"name\":\"small\",\"max_body\":64},{\"name\":\"/rosout\"},"
		   "{\"name\":\"simd/mine\"}],\"bridges\":["
		   "{\"name\":\"lost\",\"plugin\":\"no-such-plugin\",\"converters\":[\"no-such-one\"]},"
		   "{\"name\":\"harmless\",\"plugin\":\"null\"}],\"processes\":["
		   "{\"name\":\"p\",\"command\":[\"/no/such/program\"]},{\"name\":\"q\",\"command\":[\"true\"]}]}]}");
	r = stack_run(argv);
	assert_int_equal(r->code, 1);
	for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++)
		if (!strstr(r->err, want[i]))
			fail_msg("no \"%s\" in:\n%s", want[i], r->err);
	assert_int_equal(lines_in(r->err), 8);
	assert_null(strstr(r->err, "harmless"));
	assert_null(strstr(r->err, "[q]"));
	assert_null(strstr(r->err, "small"));
	assert_int_equal(remove(FILE_NAME), 0);
}

/* Bridges themselves report the settings that they would refuse. */
TEST(check_config_reports_what_bridges_would_refuse)
{
	static const char *const argv[] = { "simd", "--config", FILE_NAME, "--check-config", NULL };
	static const char *const want[] = {
		F "rigs[a].bridges[typo].options.colour: the bridge plug-in \"null\" has no such option",
		F "rigs[a].bridges[typo].options.size: the bridge plug-in \"null\" has no such option",
		F "rigs[a].bridges[log].connection: must be the stem of a file",
		F "rigs[a].bridges[text].plugin: cannot load the bridge plug-in: " FILE_NAME,
	};
	const struct ctl_result *r;

	write_file("{\"rigs\":[{\"name\":\"a\",\"bridges\":["
		   "{\"name\":\"typo\",\"plugin\":\"null\",\"options\":{\"colour\":1,\"size\":2}},"
		   "{\"name\":\"log\",\"plugin\":\"logging\"},"
		   "{\"name\":\"text\",\"plugin\":\"" FILE_NAME "\"},"
		   "{\"name\":\"other\",\"plugin\":\"null\",\"start\":\"external\",\"options\":{\"colour\":1}}]}]}");
	r = stack_run(argv);
	assert_int_equal(r->code, 1);
	for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++)
		if (!strstr(r->err, want[i]))
			fail_msg("no \"%s\" in:\n%s", want[i], r->err);
	assert_int_equal(lines_in(r->err), 4);
	assert_string_equal(stack_leftovers(), "");
	assert_int_equal(remove(FILE_NAME), 0);
}

/* Inbound topics and called services, of each bridge that has them. */
TEST(check_config_reports_invalid_inbound_topics_of_bridges)
{
	static const char *const argv[] = { "simd", "--config", FILE_NAME, "--check-config", NULL };
	static const struct {
		const char *plugin, *options, *words;
	} bad[] = {
		{ "ros1", "\"subscribe\":{\"/a\":{\"no\":1}}", "options.subscribe[\"/a\"]: \"no\" is not a key" },
		{ "ros2", "\"subscribe\":{\"/a\":{\"no\":1}}", "options.subscribe[\"/a\"]: \"no\" is not a key" },
		{ "rosbridge", "\"subscribe\":{\"/a\":{\"no\":1}}", "options.subscribe[\"/a\"]: \"no\" is not a key" },
		{ "lgsvl", "\"subscribe\":{\"/a\":{\"type\":\"no/Such\",\"channel\":\"c\"}}",
		  "options.subscribe[\"/a\"]: type \"no/Such\" is not one that can come in" },
		{ "ros1", "\"call\":{\"/a\":{\"type\":\"std_srvs/SetBool\"}}", "options.call./a: " },
		{ "rosbridge", "\"call\":{\"/a\":{\"type\":\"std_srvs/SetBool\"}}", "options.call./a: " },
		{ "ros2", "\"call\":{\"/a\":{\"type\":\"std_srvs/SetBool\"}}", "options.call./a: " },
	};
	char text[600];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct ctl_result *r;

		snprintf(text, sizeof(text), WITH_BRIDGE("\"plugin\":\"%s\",\"options\":{%s}"), bad[i].plugin,
			 bad[i].options);
		write_file(text);
		r = stack_run(argv);
		if (r->code != 1 || !strstr(r->err, bad[i].words))
			fail_msg("%s: %d, \"%s\" does not say \"%s\"", bad[i].plugin, r->code, r->err, bad[i].words);
	}
	snprintf(
		text, sizeof(text),
		WITH_BRIDGE(
			"\"plugin\":\"rosbridge\",\"options\":{\"call\":{\"/a\":{\"type\":\"std_srvs/SetBool\","
			"\"service\":\"lamp\"}},\"subscribe\":{\"/a\":{\"type\":\"std_msgs/Float64\",\"channel\":\"c\"}}}"));
	write_file(text);
	if (stack_run(argv)->code)
		fail_msg("%s", stack_run(argv)->err);
	assert_int_equal(remove(FILE_NAME), 0);
}

/* Errors that need no look at the machine are reported in one run too. */
TEST(all_errors_that_need_no_look_at_the_machine_are_reported_in_one_run)
{
	static const char *const argv[] = { "simd", "--config", FILE_NAME, "--check-config", NULL };
	const struct ctl_result *r;

	write_file("{\"TimeScale\":0.001,\"socket\":{\"mode\":\"0066\"},\"rigs\":[{\"name\":\"a b\",\"channels\":["
		   "{\"name\":\"a,b\"}],\"processes\":[{\"name\":\"p\",\"command\":[]}]}]}");
	r = stack_run(argv);
	assert_int_equal(r->code, 1);
	assert_int_equal(lines_in(r->err), 5);
	assert_int_equal(remove(FILE_NAME), 0);
}

/* Errors that only the start can find: it fails, and leaves nothing behind. */
TEST(a_start_refuses_what_could_not_be_checked_before)
{
	static const struct {
		const char *conf, *words;
		int code;
	} late[] = {
		{ "{\"TimeSource\":\"sundial\"}", "sundial", 78 },
		{ "{\"runtime_dir\":\"/proc/nowhere\"}", "simd: runtime directory: directory /proc/nowhere", 1 },
		{ BRIDGE(",\"plugin\":\"no-such-plugin\""), "no-such-plugin", 78 },
		{ "{\"roudi\":{\"path\":\"no-such-roudi\"}}", "roudi.path: no-such-roudi: no such program", 78 },
		{ "{\"roudi\":{\"path\":\"/no/such/roudi\"}}", "roudi.path: /no/such/roudi: No such file", 78 },
	};
	static const char *const argv[] = { "simd", "--config", FILE_NAME, NULL };

	for (unsigned i = 0; i < sizeof(late) / sizeof(*late); i++) {
		const struct ctl_result *r;

		write_file(late[i].conf);
		r = stack_run(argv);
		if (r->code != late[i].code || !strstr(r->err, late[i].words))
			fail_msg("%s: exit code %d, said \"%s\"", late[i].conf, r->code, r->err);
		assert_string_equal(stack_leftovers(), "");
	}
	{
		static const char *const fd[] = { "simd", "--ready-fd", "77", NULL };
		const struct ctl_result *r = stack_run(fd);

		assert_int_equal(r->code, 1);
		assert_non_null(strstr(r->err, "--ready-fd 77: no such descriptor is open"));
	}
}

/* ---- where bridges work ---- */

TEST_WITH(bridges_run_in_their_working_directory, NULL, stack_sweep)
{
	char path[40], dir[64] = "";
	pid_t simd;

	assert_int_equal(mkdir("/tmp/out-work", 0755), 0);
	simd = stack_start(STACK_POOLS ",\"bridge\":{\"dir\":\"/tmp/out-work\"},\"rigs\":[{\"name\":\"a\",\"bridges\":"
				       "[{\"name\":\"b\",\"plugin\":\"null\"}]}]");
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)stack_bridge("b", "pid"));
	assert_true(readlink(path, dir, sizeof(dir) - 1) > 0);
	assert_string_equal(dir, "/tmp/out-work");
	stack_stop(simd);
}

/* ---- what passes ---- */

/*
 * systemd would not retry after 78, and the machine has enough memory a second later. The log is a part whose failures
 * are otherwise of that kind.
 */
TEST_WITH(a_lack_of_memory_at_the_start_is_no_configuration_error, NULL, stack_sweep)
{
	const char *b = getenv("B");
	bool seen = false;

	write_file("{\"TimeSource\":\"simulation\",\"runtime_dir\":\"/proc/nowhere\"}");
	for (unsigned mib = 4; mib < 64 && !seen; mib++) {
		char command[300], said[600];
		FILE *f;
		int code;

		snprintf(command, sizeof(command), "ulimit -Sv %u && exec %s/bin/simd --config " FILE_NAME " 2>&1",
			 mib << 10, b ? b : "build");
		f = popen(command, "r");
		assert_non_null(f);
		said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
		code = WEXITSTATUS(pclose(f));
		seen = strstr(said, "simd: log: starting the log thread: Resource temporarily unavailable") != NULL;
		if (code == 78)
			fail_msg("with %u MiB: \"%s\"", mib, said);
	}
	assert_true(seen);
	assert_int_equal(remove(FILE_NAME), 0);
}
