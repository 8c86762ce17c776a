/* SPDX-License-Identifier: Apache-2.0 */
/* `simhost --check`: what would be loaded, as a table. Thread: main. */
#ifndef SIMHOST_CHECK_H
#define SIMHOST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "dag.h"

/* The n DAG files of one host. Notes and errors, a line each, go to err. True: there was no error. */
bool check_dags(const char *const *paths, unsigned n, FILE *out, FILE *err);

/* A launch file, with the DAG files of each of its processes. */
bool check_launch(const char *path, FILE *out, FILE *err);

/* A file that --scheduler names, as the others. */
bool check_scheduler_file(const char *path, FILE *err);

/*
 * Whether this machine can have a scheduler (JSON text; NULL: none). place: where it is given. notes: gets what of it is ignored or
 * clamped, CPUs that are not there too, with the place; NULL: not asked for. -EINVAL, -ENOMEM, with the place in err_why().
 */
int check_scheduler(const char *scheduler, const char *place, struct notes *notes);
/* The one that a DAG file gives. */
int check_dag_scheduler(const struct dag *d, struct notes *notes);
/* Its place: "file:line: scheduler", and the file that this line names. */
void check_scheduler_place(const struct dag *d, char *ret, size_t size);

#endif
