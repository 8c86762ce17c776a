/* SPDX-License-Identifier: Apache-2.0 */
/* simhost: the host of components. Parses options and runs what they ask for. Thread: main. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sim/node.h>

#include "check.h"
#include "launcher.h"
#include "log.h"
#include "opt.h"
#include "run.h"
#include "timeutil.h"

struct args {
	bool check;
	struct opt_strings dags;
	const char *launch, *name, *socket, *mode, *scheduler;
	int64_t rank, stuck_dur_ns, kill_after_dur_ns;
};

#define OPT_VALUES struct args

static const struct opt OPTS[] = {
	OPT("check", 'c', FLAG, check, NULL, "read the files, print what would be loaded, and end"),
	OPT("dag", 'd', STRINGS, dags, "FILE", "components to load: JSON, or Apollo's text; may be given several times",
	    .complete = "file"),
	OPT("launch", 'l', STRING, launch, "FILE", "start the processes of an Apollo launch file, and supervise them",
	    .complete = "file"),
	OPT("process", 'p', STRING, name, "NAME", "name of this process for simd and in the log; simhost"),
	OPT("mode", 'm', STRING, mode, "MODE", "reality or simulation, whatever the files say"),
	OPT("rank", 'r', INT, rank, "N", "place in each step of lock-step, whatever the files say", .max = 1000000),
	OPT("scheduler", 0, STRING, scheduler, "FILE", "configuration of the scheduler, whatever the files say",
	    .complete = "file"),
	OPT("stuck", 0, DUR, stuck_dur_ns, NULL, "end the process when a callback takes longer; 30s, 0: never"),
	OPT("kill-after", 0, DUR, kill_after_dur_ns, NULL, "with --launch: time from SIGINT to SIGKILL; 3s"),
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

static const char wrong_launch[] = "--process, --rank and --scheduler cannot be used with --launch: the launch file "
				   "and its DAG files set them";

static bool is_wrong_launch(const struct args *a)
{
	return a->name || a->rank >= 0 || a->scheduler;
}

static int check(const struct args *a)
{
	bool ok;

	if (a->launch && is_wrong_launch(a))
		return wrong_usage(wrong_launch);
	ok = !a->dags.n || check_dags(a->dags.v, a->dags.n, stdout, stderr);
	if (a->scheduler)
		ok &= check_scheduler_file(a->scheduler, stderr);
	if (a->launch)
		ok &= check_launch(a->launch, stdout, stderr);
	return ok ? 0 : 1;
}

static int launch(const struct args *a)
{
	struct launcher_options o = { .file = a->launch,
				      .socket = a->socket,
				      .mode = a->mode,
				      .stuck_dur_ns = a->stuck_dur_ns,
				      .kill_after_dur_ns = a->kill_after_dur_ns };

	if (a->dags.n)
		return wrong_usage("--dag cannot be used with --launch: the launch file names its DAG files");
	if (is_wrong_launch(a))
		return wrong_usage(wrong_launch);
	(void)log_setup("simhost");
	return launcher_run(&o);
}

static int run(const struct args *a, int mode)
{
	struct run_options o = { .dags = a->dags.v,
				 .n = a->dags.n,
				 .name = a->name ? a->name : "simhost",
				 .socket = a->socket,
				 .mode = mode,
				 .rank = a->rank,
				 .scheduler = a->scheduler,
				 .stuck_dur_ns = a->stuck_dur_ns };

	(void)log_setup("simhost");
	return run_dags(&o);
}

/* Returns enum sim_run_mode; -1: not given; -EINVAL: unknown word. */
static int mode_of(const char *word)
{
	if (!word)
		return -1;
	if (!strcmp(word, "reality"))
		return SIM_RUN_REALITY;
	return !strcmp(word, "simulation") ? SIM_RUN_SIMULATION : -EINVAL;
}

int main(int argc, char *argv[])
{
	static struct args a = { .rank = -1, .stuck_dur_ns = 30 * NS_PER_S, .kill_after_dur_ns = 3 * NS_PER_S };
	int mode;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a);
	mode = mode_of(a.mode);
	if (!a.dags.n && !a.launch && !(a.check && a.scheduler))
		return wrong_usage("no file is given");
	if (mode == -EINVAL)
		return wrong_usage("--mode is reality or simulation");
	if (a.check)
		return check(&a);
	return a.launch ? launch(&a) : run(&a, mode);
}
