/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a launch file need: programs, DAG files, scheduler configurations. Reports what is missing or
 * wrong, with file and line, before a process is started.
 *
 * Thread:  main.
 * Errors:  -EINVAL, -ENOENT, -EPERM, ... with "file:line: ..." in err_why().
 */
#ifndef SIMHOST_LAUNCH_FIND_H
#define SIMHOST_LAUNCH_FIND_H

#include <limits.h>

#include "launch_plan.h"

/*
 * Sets the launch file's variables in this process, so that the searches below find the same files as its processes
 * will.
 */
int launch_environment(const struct launch *l);

/* Path of the running simhost program. */
int launch_own_program(char ret[PATH_MAX]);

/*
 * Finds program and scheduler of p. A program without a slash is searched beside simhost, then in PATH. sched_name NAME
 * stands for the file NAME.conf, beside the launch file, below a directory of SIM_CONF_PATH or APOLLO_CONF_PATH, or in
 * CYBER_PATH/conf; Cyber's CYBER_DEFAULT may be missing. Checks the scheduler's values; a value that is ignored or
 * changed adds a note.
 */
int launch_find(const struct launch *l, struct launch_process *p, struct notes *notes);

/* Checks the DAG files of p, each and all together, as its process will read them. */
int launch_check_dags(const struct launch *l, const struct launch_process *p);

#endif
