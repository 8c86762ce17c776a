/* SPDX-License-Identifier: Apache-2.0 */
/* simhost: the host of components. Options, and what they ask for. Thread: main. */
#include <stdio.h>
#include <string.h>

#include <sim/node.h>

#include "check.h"
#include "log.h"
#include "opt.h"
#include "run.h"
#include "timeutil.h"

struct args {
	bool check;
	struct opt_strings dags, launch;
	const char *name, *socket, *mode;
	int64_t rank, stuck_dur_ns;
};

#define OPT_VALUES struct args

static const struct opt OPTS[] = {
	OPT("check", 'c', FLAG, check, NULL, "read the files, print what would be loaded, and end"),
	OPT("dag", 'd', STRINGS, dags, "FILE", "components to load: JSON, or Apollo's text; may be given several times",
	    .complete = "file"),
	OPT("launch", 'l', STRINGS, launch, "FILE", "processes of an Apollo launch file; with --check",
	    .complete = "file"),
	OPT("process", 'p', STRING, name, "NAME", "name of this process for simd and in the log; simhost"),
	OPT("mode", 'm', STRING, mode, "MODE", "reality or simulation, whatever the files say"),
	OPT("rank", 'r', INT, rank, "N", "place in each step of lock-step, whatever the files say", .max = 1000000),
	OPT("stuck", 0, DUR, stuck_dur_ns, NULL, "end when a callback does not come back for so long; 30s, 0: never"),
	OPT("socket", 's', STRING, socket, "PATH", "simd's control socket", .complete = "file"),
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

static int run(const struct args *a)
{
	struct run_options o = { .dags = a->dags.v,
				 .n = a->dags.n,
				 .name = a->name,
				 .socket = a->socket,
				 .mode = -1,
				 .rank = a->rank,
				 .stuck_dur_ns = a->stuck_dur_ns };

	if (a->mode && strcmp(a->mode, "reality") == 0)
		o.mode = SIM_RUN_REALITY;
	else if (a->mode && strcmp(a->mode, "simulation") == 0)
		o.mode = SIM_RUN_SIMULATION;
	else if (a->mode)
		return wrong_usage("--mode is reality or simulation");
	(void)log_setup("simhost");
	return run_dags(&o);
}

int main(int argc, char *argv[])
{
	static struct args a = { .name = "simhost", .rank = -1, .stuck_dur_ns = 30 * NS_PER_S };

	opt_parse_or_exit(&PROGRAM, argc, argv, &a);
	if (!a.dags.n && !a.launch.n)
		return wrong_usage("no file is given");
	if (a.check)
		return check(&a);
	if (a.launch.n)
		return wrong_usage("--launch goes with --check only, so far");
	return run(&a);
}
