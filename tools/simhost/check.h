/* SPDX-License-Identifier: Apache-2.0 */
/* `simhost --check`: prints as a table what simhost would load. Thread: main. */
#ifndef SIMHOST_CHECK_H
#define SIMHOST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "dag.h"

/*
 * Checks the n DAG files of one host. Writes notes and errors to err, one per line. Returns true if there was no error.
 */
bool check_dags(const char *const *paths, unsigned n, FILE *out, FILE *err);

/* Checks a launch file and the DAG files of each of its processes. */
bool check_launch(const char *path, FILE *out, FILE *err);

/* Checks the file given by --scheduler; output and return value as for check_dags(). */
bool check_scheduler_file(const char *path, FILE *err);

/*
 * Checks whether this machine can provide a scheduler configuration (JSON text; NULL: none, returns 0). place: where
 * the configuration is given, the prefix of each sentence. notes: receives what is ignored or clamped, including CPUs
 * that do not exist; NULL: not wanted. -EINVAL, -ENOMEM, with the place in err_why().
 */
int check_scheduler(const char *scheduler, const char *place, struct notes *notes);
/* check_scheduler() for the scheduler that a DAG file gives. */
int check_dag_scheduler(const struct dag *d, struct notes *notes);
/* Writes that scheduler's place: "file:line: scheduler", and the name of the scheduler's file if the line names one. */
void check_scheduler_place(const struct dag *d, char *ret, size_t size);

#endif
