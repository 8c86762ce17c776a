/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a launch file: which modules share a process, with which settings, and the command line of each
 * process.
 *
 * Modules of one process_name become one process with all their DAG files. Settings that several of them give
 * (sched_name, exception_handler, respawn_limit, nice) must be the same. A binary always has a process for itself.
 *
 * Thread:  the owner's.
 * Errors:  -EINVAL with "file:line: ..." in err_why(), -ENOMEM.
 */
#ifndef SIMHOST_LAUNCH_PLAN_H
#define SIMHOST_LAUNCH_PLAN_H

#include "launch.h"

#define LAUNCH_PROCESS_DAGS_MAX 256u

struct launch_process {
	/* the first module, plus settings that only later modules give; without the latter's DAG files */
	struct launch_module m;
	const char *label; /* for messages: process_name; of a binary its name, if given */
	const char **dag;  /* DAG files of all modules, in the order of the file */
	unsigned *dag_line;
	unsigned n_dags;
	char *program;   /* of a binary: path found by launch_find() */
	char *scheduler; /* configuration file found by launch_find(); NULL: none */
	char **argv;     /* set by launch_plan_command() */
};

struct launch_plan {
	const struct launch *launch; /* borrowed until the plan is destroyed */
	struct launch_process *processes;
	unsigned n;
};

int launch_plan_make(const struct launch *l, struct launch_plan **ret);
void launch_plan_destroy(struct launch_plan *p); /* NULL is fine */

/* Options passed to every process of components. */
struct launch_child {
	const char *program; /* path of simhost */
	const char *socket;  /* NULL: the default socket */
	const char *mode;    /* NULL: as the DAG files say */
	int64_t stuck_dur_ns;
};

/*
 * Sets p->argv, ended by NULL. The command line of a binary is split at blanks, as cyber_launch does; quotes have no
 * meaning.
 */
int launch_plan_command(struct launch_process *p, const struct launch_child *c);

#endif
