/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and reading the files that DAG and launch files are about. Thread: any. */
#ifndef SIMHOST_FILE_H
#define SIMHOST_FILE_H

#include <stddef.h>

/* Names of variables of the environment that hold lists of directories, with colons; NULL ends. */
extern const char *const file_dag_paths[];
extern const char *const file_launch_paths[];
extern const char *const file_library_paths[];
extern const char *const file_config_paths[];

/*
 * Where `name` is: as it is when it is absolute; else below the directory of the file `beside` (NULL: below the current one), or below
 * one of the lists, in their order. ret: returns, mem_free. -ENOENT: the sentence has the directories that were looked into.
 */
int file_find(const char *name, const char *beside, const char *const *variables, char **ret);

/* The whole of it, with a NUL behind, at most TREE_BYTES_MAX; refused when root runs us and others could change it (trust.h). */
int file_load(const char *path, char **ret, size_t *ret_len);

#endif
