/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduler configuration files: JSON, or a conf file of Cyber. Thread: the owner's. */
#ifndef SIMHOST_SCHEDULER_FILE_H
#define SIMHOST_SCHEDULER_FILE_H

#include "keys.h"

/*
 * Replaces characters in the names of tasks that are invalid in a node name, as DAG files do with names of components.
 * 0, -ENOMEM.
 */
int scheduler_fit_tasks(json_t *scheduler);

/*
 * Converts to JSON text of an object with the keys of sim_host_options::scheduler: returns, mem_free. Of Cyber's text
 * only scheduler_conf is used, or the whole text if it has none; keys that are not for the scheduler here are left out,
 * with a note. Values are not checked. text: borrowed.
 * Returns: 0; -EINVAL with file:line; -ENOMEM.
 */
int scheduler_file_text(const char *file, const char *text, size_t len, struct notes *notes, char **ret);

/*
 * scheduler_file_text() of a file. When simhost runs as root, refuses a file that other users could change. Also
 * returns errors of reading files.
 */
int scheduler_file_read(const char *path, struct notes *notes, char **ret);

#endif
