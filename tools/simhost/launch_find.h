/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a launch file need: programs, DAG files, configurations of the scheduler. What is missing or wrong is
 * known, with file and line, before anything is started.
 *
 * Thread:  main.
 * Errors:  -EINVAL, -ENOENT, -EPERM, ... with "file:line: ..." in err_why().
 */
#ifndef SIMHOST_LAUNCH_FIND_H
#define SIMHOST_LAUNCH_FIND_H

#include <limits.h>

#include "launch_plan.h"

/* Its variables become those of this process, so that what is looked for below is found as its processes find it. */
int launch_environment(const struct launch *l);

/* Where this program is. */
int launch_own_program(char ret[PATH_MAX]);

/*
 * Program and scheduler of p. A program without a slash is looked for beside simhost, then in PATH. NAME of sched_name is NAME.conf, beside the
 * launch file, below a directory of SIM_CONF_PATH or APOLLO_CONF_PATH, or in CYBER_PATH/conf; Cyber's CYBER_DEFAULT may be
 * missing. Its values are checked; on what of them is not taken there is a note in `notes`.
 */
int launch_find(const struct launch *l, struct launch_process *p, struct notes *notes);

/* Its DAG files, one by one and together, as its process will read them. */
int launch_check_dags(const struct launch *l, const struct launch_process *p);

#endif
