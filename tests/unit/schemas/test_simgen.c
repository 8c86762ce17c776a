/* SPDX-License-Identifier: Apache-2.0 */
/* The program simgen: command line, search for nested types, errors with file:line, files it leaves alone. */
#include "support/test.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[TEST_PATH_MAX];
static char output[16384];

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void folder(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	mkdir(path, 0700);
}

static bool there(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* Exit status of simgen in the test's folder; stdout and stderr in `output`. */
static int simgen(const char *args)
{
	char here[4096], command[8192];
	FILE *f;
	size_t n;
	int status;

	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(command, sizeof(command), "cd %s && %s%s%s %s 2>&1", dir, SIMGEN[0] == '/' ? "" : here,
		 SIMGEN[0] == '/' ? "" : "/", SIMGEN, args);
	f = popen(command, "re");
	assert_non_null(f);
	n = fread(output, 1, sizeof(output) - 1, f);
	output[n] = '\0';
	status = pclose(f);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect(const char *args, int status, const char *text)
{
	int got = simgen(args);

	if (got != status || !strstr(output, text))
		fail_msg("simgen %s: status %d, not %d; it says: %s", args, got, status, output);
}

TEST(usage_errors_exit_with_two)
{
	expect("--help", 0, "usage: simgen");
	expect("--version", 0, "simgen ");
	expect("", 2, "FILE is missing");
	expect("A.msg", 2, "no output folder");
	expect("-x A.msg", 2, "unknown option -x");
	expect("--outdi=x A.msg", 2, "unknown option --outdi; did you mean --outdir?");
	expect("--list=x A.msg", 2, "--list takes no value");
	expect("-h", 0, "-I, --include DIR");
	expect("--list-options", 0, "option --outdir\nletter -o\n");
	expect("--completion-bash", 0, "complete -F _simgen simgen");
	expect("--completion-zsh", 0, "#compdef simgen");
	expect("--completion-fish", 0, "-l outdir -s o -x");
	expect("-o", 2, "--outdir needs a value");
}

TEST(invalid_files_are_named)
{
	put("A.txt", "int8 a\n");
	put("A.msg", "int8 a\n");
	put("9.msg", "int8 a\n");
	expect("-p p -o out A.txt", 1, "A.txt: is not named <Name>.msg");
	expect("-p p -o out None.msg", 1, "None.msg: cannot be read: No such file");
	expect("-o out A.msg", 1, "A.msg: has no known package: give it with -p");
	expect("-p 9p -o out A.msg", 1, "has no known package");
	expect("-p p -o out 9.msg", 1, "not a type's name");
	expect("-p p -o /dev/null/x A.msg", 1, "simgen: directory /dev/null");
	assert_false(there("out"));
	expect("-pp -oout A.msg", 0, "");
	assert_true(there("out/p/msg/A.h"));
	assert_false(there("out/p/msg/all.h"));
	expect("--package=p --list --outdir out A.msg", 0, "");
	assert_true(there("out/p/msg/all.h"));
	expect("-p p --hash $(for i in $(seq 500); do echo A.msg; done)", 0, "p/A ");
}

TEST(types_of_other_packages_are_found)
{
	folder("one"), folder("one/msg"), folder("two"), folder("flat"), folder("tree"), folder("tree/three");
	put("one/msg/A.msg", "A2 a\ntwo/B b\nthree/C c\n");
	put("one/msg/A2.msg", "one/A3 x\n");
	put("one/msg/A3.msg", "int8 x\n");
	put("flat/B.msg", "B2 x\n");
	put("flat/B2.msg", "float64 x\n");
	put("tree/three/C.msg", "string s\n");
	expect("-o o2 one/msg/A.msg", 1, "one/msg/A.msg:2: type 'two/B' is not defined");
	expect("-I two=flat -o o2 one/msg/A.msg", 1, "one/msg/A.msg:3: type 'three/C' is not defined");
	assert_false(there("o2"));
	expect("-I two=flat -I tree -o o2 one/msg/A.msg", 0, "");
	assert_true(there("o2/one/msg/A.h"));
	assert_false(there("o2/one/msg/A2.h")); /* only the requested one */
	expect("-I two=flat -I tree --hash one/msg/A.msg", 0, "one/A ");
}

/* A service: two halves in one header, nested types of its package beside it or in msg/. */
TEST(a_service_becomes_request_and_response_in_one_header)
{
	folder("svc"), folder("svc/srv"), folder("svc/msg");
	put("svc/msg/Point.msg", "float64 x\n");
	put("svc/srv/Go.srv", "# Go there.\n\nPoint to\nint8 FAST = 1\n---\nbool ok\nPoint[] way\n");
	expect("--hash svc/srv/Go.srv", 0, "svc/GoRequest ");
	assert_non_null(strstr(output, "svc/GoResponse "));
	expect("-l -o o3 svc/srv/Go.srv", 0, "");
	assert_true(there("o3/svc/srv/Go.h") && there("o3/svc/srv/all.h"));
	assert_false(there("o3/svc/msg/Point.h") || there("o3/svc/msg/GoRequest.h"));
	put("Both.srv", "---\n");
	expect("-p p -o o4 Both.srv", 0, "");
	put("No.srv", "int8 a\n");
	expect("-p p -o o5 No.srv", 1, "No.srv: has no line '---' between request and response");
	put("Two.srv", "---\nint8 a\n--- \n");
	expect("-p p -o o5 Two.srv", 1, "Two.srv:3: a second line '---'");
	put("Bad.srv", "int8 a\n---\n\nflo@t b\n");
	expect("-p p -o o5 Bad.srv", 1, "Bad.srv:4: ");
	put("Bad.srv", "int8 a\n---\nBadRequest b\n");
	expect("-p p -o o5 Bad.srv", 0, ""); /* a half is a type like others */
	put("Bad.srv", "int8 a\n---\nBadResponse b\n");
	expect("-p p -o o5 Bad.srv", 1, "Bad.srv:3: type 'p/BadResponse' contains itself");
	put("TwoRequest.msg", "int8 a\n");
	put("Two.srv", "---\n");
	expect("-p p -o o5 TwoRequest.msg Two.srv", 1,
	       "its Request would be type 'p/TwoRequest', which exists already");
}

static const struct {
	const char *text, *where, *reason;
} errors[] = {
	{ "int8 ok\nflo@t x\n", "Bad.msg:2: ", "not a type" },
	{ "Missing x\n", "Bad.msg:1: ", "'p/Missing' is not defined" },
	{ "\nBad[] x\n", "Bad.msg:2: ", "contains itself" },
	{ "Loop x\n", "Loop.msg:1: ", "'p/Bad' contains itself" },
	{ "Deep1 x\n", "Deep7.msg:1: ", "nests types deeper than 8" },
	{ "int8 a\nBroken b\n", "Broken.msg:3: ", "not a name" },
	{ "byte x\n", "Bad.msg:1: ", "differs between ROS 1 and ROS 2" },
	{ "wstring x\n", "Bad.msg:1: ", "use string" },
	{ "char C = 1\n", "Bad.msg:1: ", "differs between" },
	{ "int32 x 5\n", "Bad.msg:1: ", "default value" },
	{ "int8 a\nfloat64[200000] x\n", "Bad.msg:2: ", "larger than" },
	{ "int8 class\n", "Bad.msg:1: ", "word of C or C++" },
	{ "int8 ok\nint8 register\n", "Bad.msg:2: ", "word of C or C++" },
	{ "int8 x_\n", "Bad.msg:1: ", "may not end in '_'" },
	{ "int8 a__b\n", "Bad.msg:1: ", "hold '__'" },
	{ "int8[] type\n", "Bad.msg:1: ", "accessor" },
	{ "int8[] x\nint8[] x_alloc\n", "Bad.msg:2: ", "accessor" },
	{ "string x\nstring x_set\n", "Bad.msg:2: ", "accessor" },
	{ "int8 a\nint8 HASH = 1\n", "Bad.msg:2: ", "macro of constant 'HASH'" },
};

TEST(bad_definitions_are_named_with_their_line)
{
	char name[80], text[64], args[128];

	put("Loop.msg", "Bad y\n");
	put("Broken.msg", "int8 a\n\nint8 9b\n");
	for (int i = 1; i <= 9; i++) {
		snprintf(name, sizeof(name), "Deep%d.msg", i);
		snprintf(text, sizeof(text), i < 9 ? "Deep%d x\n" : "int8 x\n", i + 1);
		put(name, text);
	}
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		put("Bad.msg", errors[i].text);
		expect("-p p -o bad Bad.msg", 1, errors[i].reason);
		if (strncmp(output, errors[i].where, strlen(errors[i].where)) != 0)
			fail_msg("'%s': not in %s but %s", errors[i].text, errors[i].where, output);
		if (strchr(output, '\n') != output + strlen(output) - 1)
			fail_msg("more than one line: %s", output);
		assert_false(there("bad"));
	}
	put("lower.msg", "int8 a\n");
	put("Under_score.msg", "int8 a\n");
	expect("-p p -o bad lower.msg", 1, "lower.msg: 'lower': a type's name begins with a capital");
	expect("-p p -o bad Under_score.msg", 1, "has no '_'");
	memset(text, 0, sizeof(text));
	memset(text, 'L', 62); /* with its package 64 characters */
	snprintf(name, sizeof(name), "%s.msg", text);
	put(name, "int8 a\n");
	snprintf(args, sizeof(args), "-p p -o bad %s", name);
	expect(args, 1, "not a type's name of at most 63 characters");
}

/* Every file is tried, each with its own line. */
TEST(several_errors_are_reported_at_once)
{
	put("X1.msg", "flo@t x\n");
	put("X2.msg", "int8 a\nint8 a\n");
	assert_int_equal(simgen("-p p -o bad X1.msg X2.msg"), 1);
	assert_non_null(strstr(output, "X1.msg:1: "));
	assert_non_null(strstr(output, "X2.msg:2: "));
}

TEST(strict_requires_a_unit_in_each_comment)
{
	put("S.msg", "int8 a # [m] fine\nint8 b # no unit\n");
	expect("-s -p p -o s S.msg", 1, "S.msg:2: the comment of 'b' does not begin with its unit");
	put("S.msg", "int8 a # [m]\n");
	expect("-s -p p -o s S.msg", 1, "S.msg:1: the comment of 'a' ends after its unit");
	put("S.msg", "int8 a # [m] fine\n# [-] above\nint8 b\n");
	expect("-s -p p -o s S.msg", 0, "");
}

TEST(unchanged_files_are_not_rewritten)
{
	char path[512];
	struct stat before, after;

	put("T.msg", "int8 a\n");
	expect("-p p -o t T.msg", 0, "");
	snprintf(path, sizeof(path), "%s/t/p/msg/T.h", dir);
	assert_int_equal(stat(path, &before), 0);
	expect("-p p -o t T.msg", 0, "");
	assert_int_equal(stat(path, &after), 0);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	put("T.msg", "int16 a\n");
	expect("-p p -o t T.msg", 0, "");
	assert_int_equal(stat(path, &after), 0);
	assert_memory_not_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
}

static int setup(void **state)
{
	(void)state;
	test_path(dir, "simgen.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[TEST_PATH_MAX + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

TEST_GROUP(setup, teardown)
