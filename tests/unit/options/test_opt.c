/* SPDX-License-Identifier: Apache-2.0 */
/* opt.h: parsing, help, completion. Thread: one. */
#include "tests/support/test.h"

#include "opt.h"
#include "timeutil.h"

#include <errno.h>
#include <string.h>

struct values {
	bool json, color;
	int64_t count, every_dur_ns;
	double scale;
	const char *socket, *channel;
	struct opt_strings rest, with;
	const char *mode;
};

static const struct opt globals[] = {
	{ .name = "json", .type = OPT_FLAG, .off = offsetof(struct values, json), .help = "print JSON" },
	{ .name = "color", .letter = 'c', .type = OPT_FLAG, .off = offsetof(struct values, color), .help = "colours" },
	{ .name = "socket",
	  .letter = 's',
	  .type = OPT_STRING,
	  .off = offsetof(struct values, socket),
	  .metavar = "PATH",
	  .complete = "file",
	  .help = "where simd listens" },
	{ 0 },
};

static const struct opt echo_opts[] = {
	{ .name = "count", .letter = 'n', .type = OPT_INT, .off = offsetof(struct values, count), .min = 1, .max = 100 },
	{ .name = "every", .type = OPT_DUR, .off = offsetof(struct values, every_dur_ns), .min = 1, .max = NS_PER_S },
	{ .name = "scale", .type = OPT_DOUBLE, .off = offsetof(struct values, scale), .min = 0, .max = 100 },
	{ .name = "mode", .type = OPT_STRING, .off = offsetof(struct values, mode), .complete = "seq 2" },
	{ .name = "with", .type = OPT_STRINGS, .off = offsetof(struct values, with) },
	{ .name = "CHANNEL",
	  .kind = OPT_REQUIRED,
	  .type = OPT_STRING,
	  .off = offsetof(struct values, channel),
	  .complete = "prog list --names" },
	{ .name = "FIELD",
	  .kind = OPT_MANY,
	  .type = OPT_STRINGS,
	  .off = offsetof(struct values, rest),
	  .complete = "prog fields %1" },
	{ 0 },
};

static const struct opt hz_opts[] = {
	{ .name = "CHANNEL", .kind = OPT_MANY, .least = 1, .type = OPT_STRINGS, .off = offsetof(struct values, rest) },
	{ 0 },
};

static const struct opt step_opts[] = {
	{ .name = "TIME", .kind = OPT_REQUIRED, .type = OPT_DUR, .off = offsetof(struct values, every_dur_ns) },
	{ 0 },
};

static const struct opt scale_opts[] = {
	{ .name = "SCALE", .kind = OPT_REQUIRED, .type = OPT_DOUBLE, .off = offsetof(struct values, scale), .max = 100 },
	{ 0 },
};

static const struct opt_command commands[] = {
	{ .name = "echo", .help = "print messages", .opts = echo_opts },
	{ .name = "clock pause", .help = "stop" },
	{ .name = "clock step", .help = "go on a little" },
	{ .name = "list", .help = "list" },
	{ .name = "step", .help = "step", .opts = step_opts },
	{ .name = "scale", .help = "scale", .opts = scale_opts },
	{ .name = "hz", .help = "it's the rate: how often", .opts = hz_opts },
	{ 0 },
};

static const struct opt_program program = { .name = "prog",
					    .section = 1,
					    .summary = "Does things.",
					    .version = "1.2.3",
					    .opts = globals,
					    .commands = commands };

static char out_text[16384], err_text_[1024];

static int parse_program(const struct opt_program *p, struct values *v, const struct opt_command **cmd, int argc,
			 const char *const *args)
{
	char *argv[32];
	FILE *out, *err;
	int r;

	for (int i = 0; i < argc; i++)
		argv[i] = (char *)(uintptr_t)args[i];
	*v = (struct values){ 0 };
	*cmd = NULL;
	memset(out_text, 0, sizeof(out_text));
	memset(err_text_, 0, sizeof(err_text_));
	out = fmemopen(out_text, sizeof(out_text) - 1, "w");
	err = fmemopen(err_text_, sizeof(err_text_) - 1, "w");
	r = opt_parse(p, argc, argv, v, cmd, out, err);
	fclose(out);
	fclose(err);
	return r;
}

#define PARSE(v, cmd, ...) \
	parse_program(&program, v, cmd, (int)(sizeof((const char *[]){ "prog", __VA_ARGS__ }) / sizeof(char *)), \
		      (const char *[]){ "prog", __VA_ARGS__ })

TEST(values_of_all_types_are_stored_in_the_struct)
{
	const struct opt_command *cmd;
	struct values v;

	assert_int_equal(PARSE(&v, &cmd, "-cs/x", "echo", "--json", "-n5", "--every=20ms", "--scale", "0.5", "/a",
			       "--mode", "slow", "--with", "x", "--with=y", "-s", "/run/s", "f1", "--", "--f2"),
			 0);
	assert_string_equal(cmd->name, "echo");
	assert_true(v.json);
	assert_true(v.color);
	assert_int_equal(v.count, 5);
	assert_int_equal(v.every_dur_ns, 20 * NS_PER_MS);
	assert_true(v.scale == 0.5);
	assert_string_equal(v.mode, "slow");
	assert_int_equal(v.with.n, 2);
	assert_string_equal(v.with.v[1], "y");
	assert_string_equal(v.socket, "/run/s");
	assert_string_equal(v.channel, "/a");
	assert_int_equal(v.rest.n, 2);
	assert_string_equal(v.rest.v[1], "--f2");
}

TEST(two_words_form_a_command)
{
	const struct opt_command *cmd;
	struct values v;

	assert_int_equal(PARSE(&v, &cmd, "clock", "step"), 0);
	assert_string_equal(cmd->name, "clock step");
	assert_int_equal(PARSE(&v, &cmd, "clock", "stop"), -EINVAL);
	assert_string_equal(err_text_,
			    "prog: unknown command \"clock stop\"; clock is followed by one of pause, step (see prog "
			    "--help)\n");
	assert_int_equal(PARSE(&v, &cmd, "clock"), -EINVAL);
}

TEST(mistakes_get_one_sentence)
{
	static const struct {
		const char *args[6], *says;
	} bad[] = {
		{ { "echo" }, "CHANNEL is missing" },
		{ { "echo", "/a", "-n" }, "--count needs a value" },
		{ { "echo", "/a", "-n", "0" }, "--count: 0 is out of range, 1 to 100" },
		{ { "echo", "/a", "-n", "5x" }, "--count: \"5x\" is not a whole number" },
		{ { "echo", "/a", "-n", "99999999999999999999" }, "is not a whole number" },
		{ { "echo", "/a", "--scale", "nan" }, "is not a number" },
		{ { "echo", "/a", "--every", "5" }, "--every: \"5\" is not a duration" },
		{ { "echo", "/a", "--every", "5s" }, "--every: 5s is out of range" },
		{ { "echo", "/a", "--json=1" }, "--json takes no value" },
		{ { "echo", "/a", "--nope" }, "unknown option --nope" },
		{ { "echo", "/a", "-x" }, "unknown option -x" },
		{ { "echo", "/a", "--no-json" }, "unknown option --no-json" },
		{ { "list", "x" }, "\"x\" is one argument too many" },
		{ { "frob" }, "unknown command \"frob\" (see" },
		{ { "ecko" }, "unknown command \"ecko\"; did you mean echo? (see" },
		{ { "clokc", "step" }, "did you mean clock?" },
		{ { "pause" }, "did you mean clock pause?" },
		{ { "echo", "/a", "--cuont", "5" }, "unknown option --cuont; did you mean --count?" },
		{ { "help", "frob" }, "unknown command \"frob\"" },
		{ { "hlep" }, "did you mean help?" },
		{ { "hz" }, "CHANNEL is missing" },
		{ { NULL }, "give a command" },
		{ { "step", "-1s" }, "TIME: \"-1s\" is not a duration: it is below zero" },
		{ { "scale", "-1" }, "SCALE: -1 is out of range, 0 to 100" },
		{ { "scale", "-.5" }, "SCALE: -.5 is out of range" },
		{ { "scale", "1", "-2" }, "unknown option -2" },
		{ { "list", "-1" }, "unknown option -1" },
		{ { "-1" }, "unknown option -1" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *argv[8] = { "prog" };
		const struct opt_command *cmd;
		struct values v;
		int n = 0;

		while (n < 6 && bad[i].args[n]) {
			argv[n + 1] = bad[i].args[n];
			n++;
		}
		assert_int_equal(parse_program(&program, &v, &cmd, n + 1, argv), -EINVAL);
		if (!strstr(err_text_, bad[i].says))
			fail_msg("\"%s\" does not say \"%s\"", err_text_, bad[i].says);
		assert_ptr_equal(strchr(err_text_, '\n'), err_text_ + strlen(err_text_) - 1);
		assert_string_equal(out_text, "");
	}
}

TEST(help_and_version_go_to_stdout)
{
	const struct opt_command *cmd;
	struct values v;

	assert_int_equal(PARSE(&v, &cmd, "--help"), 1);
	assert_non_null(strstr(out_text, "clock pause"));
	assert_non_null(strstr(out_text, "-s, --socket PATH"));
	assert_string_equal(err_text_, "");
	assert_int_equal(PARSE(&v, &cmd, "echo", "-h"), 1);
	assert_non_null(strstr(out_text, "usage: prog echo [options] CHANNEL [FIELD ...]"));
	assert_int_equal(PARSE(&v, &cmd, "--version"), 1);
	assert_string_equal(out_text, "prog 1.2.3\n");
}

/* `help` with and without a subject, and --help after half a command. */
TEST(help_is_a_command)
{
	static const char *const of_clock[][3] = {
		{ "help", "clock" }, { "clock", "--help" }, { "clock", "-h" }, { "--help", "clock" }
	};
	const struct opt_command *cmd;
	struct values v;

	assert_int_equal(PARSE(&v, &cmd, "help"), 1);
	assert_non_null(strstr(out_text, "usage: prog [options] COMMAND"));
	assert_int_equal(PARSE(&v, &cmd, "help", "clock", "step"), 1);
	assert_non_null(strstr(out_text, "usage: prog clock step"));
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(PARSE(&v, &cmd, of_clock[i][0], of_clock[i][1]), 1);
		assert_non_null(strstr(out_text, "usage: prog clock COMMAND"));
		assert_non_null(strstr(out_text, "clock step "));
		assert_null(strstr(out_text, "echo"));
	}
	assert_int_equal(PARSE(&v, &cmd, "hz", "/a", "/b"), 0);
	assert_int_equal(v.rest.n, 2);
}

TEST(the_command_list_is_complete)
{
	static const char *const want[] = { "option --json\n",  "letter -c\n", "command clock pause\n",
					    "option --count\n", "letter -n\n", "option --version\n" };
	const struct opt_command *cmd;
	struct values v;

	assert_int_equal(PARSE(&v, &cmd, "--list-options"), 1);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_non_null(strstr(out_text, want[i]));
	assert_null(strstr(out_text, "CHANNEL"));
}

/* The script is run by bash, with the words of a line as readline would give them. */
static void complete(const char *line, char *got, size_t size)
{
	char cmd[512];
	FILE *f;
	size_t n;

	snprintf(cmd, sizeof(cmd),
		 "bash --norc -c 'source \"$0\"; prog() { [[ $1 == fields ]] && echo \"of$2\" && return; "
		 "[[ $1 == -*s* ]] && echo \"at$2\" || echo /lidar/top /gps; }; "
		 "COMP_WORDS=(%s); "
		 "COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _prog; echo \"${COMPREPLY[@]}\"' '%s' 2>&1",
		 line, getenv("COMPLETION"));
	f = popen(cmd, "r");
	n = fread(got, 1, size - 1, f);
	got[n] = '\0';
	pclose(f);
}

TEST(bash_completion_works)
{
	static const struct {
		const char *line, *want;
	} lines[] = {
		{ "prog cl", "clock clock\n" },
		{ "prog clock \"\"", "pause step\n" },
		{ "prog echo --mo", "--mode\n" },
		{ "prog echo --mode \"\"", "1 2\n" },
		{ "prog echo /l", "/lidar/top\n" },
		{ "prog list --cou", "\n" },
		{ "prog echo --co", "--color --count\n" },
		/* the program as it was typed, with its --socket */
		{ "prog --socket /x echo \"\"", "at/x\n" },
		{ "prog --socket = /x echo \"\"", "at/x\n" },
		{ "prog echo -s /x --json \"\"", "at/x\n" },
		{ "/nowhere/prog echo \"\"", "\n" },
		/* words after the first argument are completed by that one */
		{ "prog echo --every 1s /gps \"\"", "of/gps\n" },
		{ "prog echo /gps -n = 2 x \"\"", "of/gps\n" },
	};
	const struct opt_command *cmd;
	char path[TEST_PATH_MAX], got[1024];
	struct values v;
	FILE *f;

	assert_int_equal(PARSE(&v, &cmd, "--completion-bash"), 1);
	f = fopen(test_path(path, "completion"), "w");
	assert_non_null(f);
	fputs(out_text, f);
	fclose(f);
	setenv("COMPLETION", path, 1);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		complete(lines[i].line, got, sizeof(got));
		assert_string_equal(got, lines[i].want);
	}
}

/* What a shell prints for a command line of its own; "" where there is no such shell. */
static void by_shell(const char *shell, const char *option, const char *run, char *got, size_t size)
{
	const struct opt_command *cmd;
	char path[TEST_PATH_MAX], line[1024];
	struct values v;
	size_t n;
	FILE *f;

	assert_int_equal(PARSE(&v, &cmd, option), 1);
	f = fopen(test_path(path, shell), "w");
	assert_non_null(f);
	fputs(out_text, f);
	fclose(f);
	setenv("COMPLETION", path, 1);
	snprintf(line, sizeof(line), "command -v %s >/dev/null || exit 0; HOME=/nonexistent %s 2>&1; echo end $?",
		 shell, run);
	f = popen(line, "r");
	n = fread(got, 1, size - 1, f);
	got[n] = '\0';
	pclose(f);
	if (!n)
		print_message("no %s here\n", shell);
}

TEST(fish_completion_works)
{
	char got[4096];

	by_shell("fish", "--completion-fish",
		 "fish --no-config -c 'function prog; string match -qr -- \"^-.*s\" $argv[1]; and echo at$argv[2]; "
		 "or printf \"%s\\n\" /lidar/top /gps; end; source $COMPLETION; "
		 "complete -C\"prog \"; echo =; complete -C\"prog clock \"; echo =; complete -C\"prog echo --mode \"; "
		 "echo =; complete -C\"prog echo /l\"; echo =; complete -C\"prog echo --co\"; echo =; "
		 "complete -C\"prog --socket /x echo a\"; echo =; complete -C\"prog -s=/x echo \"; echo =; "
		 "function prog; echo $argv; end; complete -C\"prog echo --every 1s /gps \"'",
		 got, sizeof(got));
	if (*got)
		assert_string_equal(got, "clock\necho\tprint messages\nhz\tit\'s the rate: how often\nlist\tlist\n"
					 "scale\tscale\nstep\tstep\n=\n"
					 "pause\tstop\nstep\tgo on a little\n=\n1\n2\n=\n/lidar/top\n=\n"
					 "--color\tcolours\n--count\n=\nat/x\n=\natlist\n=\nfields /gps\nend 0\n");
}

TEST(zsh_completion_works)
{
	static const char *const want[] = { "#compdef prog\n", "'echo'", "'pause:stop'",
					    "compadd -- $(seq 2 2>/dev/null)",
					    "compadd -- $(__prog_run list --names 2>/dev/null)" };
	char got[4096];

	by_shell("zsh", "--completion-zsh",
		 "zsh -f -c 'compadd() { shift; print -- $@ }; _describe() { print -- ${(P)@[-1]} }; "
		 "_try() { words=(\"$@\"); CURRENT=$#; . $COMPLETION; }; _try prog clock \"\"; echo =; "
		 "_try prog echo --mode \"\"; echo =; prog() { print -- \"$@\" }; _try prog --socket /x echo \"\"; "
		 "_try prog echo --socket=/x \"\"; _try prog echo --every 1s /gps x \"\"'",
		 got, sizeof(got));
	for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++)
		assert_non_null(strstr(out_text, want[i]));
	if (*got)
		assert_string_equal(
			got,
			"pause:stop step:go on a little\n=\n1 2\n=\n--socket /x list --names\n--socket=/x list --names\nfields /gps\nend 0\n");
}

TEST(a_program_without_commands_has_positionals)
{
	static const struct opt opts[] = {
		{ .name = "FILE", .kind = OPT_REQUIRED, .type = OPT_STRING, .off = offsetof(struct values, channel) },
		{ .name = "N", .kind = OPT_OPTIONAL, .type = OPT_INT, .off = offsetof(struct values, count) },
		{ 0 },
	};
	static const struct opt_program plain = { .name = "plain", .summary = "x", .version = "1", .opts = opts };
	const struct opt_command *cmd;
	struct values v;

	assert_int_equal(parse_program(&plain, &v, &cmd, 3, (const char *[]){ "plain", "f", "7" }), 0);
	assert_string_equal(v.channel, "f");
	assert_int_equal(v.count, 7);
	assert_int_equal(parse_program(&plain, &v, &cmd, 2, (const char *[]){ "plain", "-" }), 0);
	assert_string_equal(v.channel, "-");
	assert_int_equal(parse_program(&plain, &v, &cmd, 4, (const char *[]){ "plain", "f", "7", "8" }), -EINVAL);
	assert_int_equal(parse_program(&plain, &v, &cmd, 3, (const char *[]){ "plain", "f", "x" }), -EINVAL);
	assert_non_null(strstr(err_text_, "plain: N: \"x\" is not a whole number"));
}

TEST(a_repeated_option_is_bounded)
{
	const char *argv[2 * OPT_STRINGS_MAX + 8] = { "prog", "echo", "/a" };
	char *args[2 * OPT_STRINGS_MAX + 8];
	struct values v = { 0 };
	FILE *err = fopen("/dev/null", "w");
	int n = 3;

	for (int i = 0; i <= OPT_STRINGS_MAX; i++) {
		argv[n++] = "--with";
		argv[n++] = "x";
	}
	for (int i = 0; i < n; i++)
		args[i] = (char *)(uintptr_t)argv[i];
	assert_int_equal(opt_parse(&program, n, args, &v, NULL, NULL, err), -EINVAL);
	assert_int_equal(v.with.n, OPT_STRINGS_MAX);
	fclose(err);
}
