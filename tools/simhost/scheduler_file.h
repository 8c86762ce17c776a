/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's configuration in a file: JSON, or a conf file of Cyber. Thread: the owner's. */
#ifndef SIMHOST_SCHEDULER_FILE_H
#define SIMHOST_SCHEDULER_FILE_H

#include "keys.h"

/* Names of tasks become as those of components in DAG files: what the name of a node cannot have is replaced. 0, -ENOMEM. */
int scheduler_fit_tasks(json_t *scheduler);

/*
 * As JSON text of an object, with the keys that sim_host_options::scheduler has: returns, mem_free. Of a text of Cyber what stands
 * in scheduler_conf, or all if that is missing; what is not for a scheduler here is noted and left out, and so is an unknown policy, for
 * which the usual one is taken, as Cyber does. Borrows text; whether other values are right, the scheduler says.
 * Returns: 0; -EINVAL with file:line; -ENOMEM.
 */
int scheduler_file_text(const char *file, const char *text, size_t len, struct notes *notes, char **ret);

/* The same of a file, which root reads only if nobody else can change it. Also errors of files. */
int scheduler_file_read(const char *path, struct notes *notes, char **ret);

#endif
