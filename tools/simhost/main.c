/* SPDX-License-Identifier: Apache-2.0 */
/* simhost: the host of components. Options, and what they ask for. Thread: main. */
#include <stdio.h>

#include "check.h"
#include "opt.h"

struct args {
	bool check;
	struct opt_strings dags, launch;
};

#define OPT_VALUES struct args

static const struct opt OPTS[] = {
	OPT("check", 'c', FLAG, check, NULL, "read the files, print what would be loaded, and end"),
	OPT("dag", 'd', STRINGS, dags, "FILE", "components to load: JSON, or Apollo's text; may be given several times",
	    .complete = "file"),
	OPT("launch", 'l', STRINGS, launch, "FILE", "processes of an Apollo launch file; with --check",
	    .complete = "file"),
	{ 0 },
};

static const struct opt_program PROGRAM = {
	.name = "simhost",
	.section = 1,
	.summary = "run components of DAG files",
	.version = SIM_VERSION,
	.opts = OPTS,
};

static int wrong_usage(const char *what)
{
	fprintf(stderr, "simhost: %s; simhost --help lists the options\n", what);
	return 2;
}

static int check(const struct args *a)
{
	bool ok = !a->dags.n || check_dags(a->dags.v, a->dags.n, stdout, stderr);

	for (unsigned i = 0; i < a->launch.n; i++)
		ok &= check_launch(a->launch.v[i], stdout, stderr);
	return ok ? 0 : 1;
}

int main(int argc, char *argv[])
{
	static struct args a;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a);
	if (!a.dags.n && !a.launch.n)
		return wrong_usage("no file is given");
	if (!a.check)
		return wrong_usage("--check is missing, and nothing else can be done yet");
	return check(&a);
}
