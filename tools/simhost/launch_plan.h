/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that a launch file means: which modules share one, with which settings, and the command line of each.
 *
 * Modules of one process_name are one process with all their DAG files. What several of them give (sched_name,
 * exception_handler, respawn_limit, nice) must be the same. A binary shares with nobody.
 *
 * Thread:  the owner's.
 * Errors:  -EINVAL with "file:line: ..." in err_why(), -ENOMEM.
 */
#ifndef SIMHOST_LAUNCH_PLAN_H
#define SIMHOST_LAUNCH_PLAN_H

#include "launch.h"

#define LAUNCH_PROCESS_DAGS_MAX 256u

struct launch_process {
	struct launch_module m; /* its first module, with the settings that further ones add; but not their DAG files */
	const char *label;      /* in messages: its process_name; of a binary its name, if it has one */
	const char **dag;       /* of all its modules, in the order of the file */
	unsigned *dag_line;
	unsigned n_dags;
	char *program;   /* of a binary, where launch_find() found it */
	char *scheduler; /* file, where it found it; NULL: none */
	char **argv;     /* launch_plan_command() made it */
};

struct launch_plan {
	const struct launch *launch; /* keeps, until it is destroyed */
	struct launch_process *processes;
	unsigned n;
};

int launch_plan_make(const struct launch *l, struct launch_plan **ret);
void launch_plan_destroy(struct launch_plan *p); /* NULL is fine */

/* Options that every process of components gets. */
struct launch_child {
	const char *program; /* simhost */
	const char *socket;  /* NULL: as usual */
	const char *mode;    /* NULL: as its files say */
	int64_t stuck_dur_ns;
};

/* argv of p: NULL ends it. A command line of a binary is cut at blanks, as cyber_launch does; there are no quotes. */
int launch_plan_command(struct launch_process *p, const struct launch_child *c);

#endif
