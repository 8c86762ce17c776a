/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads DAG files, launch files, and the files that they name. Thread: any. */
#ifndef SIMHOST_FILE_H
#define SIMHOST_FILE_H

#include <stddef.h>

/* Names of environment variables that contain lists of directories, separated by colons; NULL ends the array. */
extern const char *const file_dag_paths[];
extern const char *const file_launch_paths[];
extern const char *const file_library_paths[];
extern const char *const file_config_paths[];

/*
 * Finds `name`: an absolute path as given; else in the directory of the file `beside` (NULL: the current directory), or
 * in a directory of the variables, in their order. ret: returns, mem_free. -ENOENT: not found; err_why() has the
 * directories searched.
 */
int file_find(const char *name, const char *beside, const char *const *variables, char **ret);

/*
 * Reads a whole file of at most TREE_BYTES_MAX bytes and appends a NUL. Refuses it when simhost runs as root and other
 * users could change the file (trust.h).
 */
int file_load(const char *path, char **ret, size_t *ret_len);

#endif
