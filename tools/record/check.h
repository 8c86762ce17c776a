/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the integrity of a log. Thread: one at a time. */
#ifndef RECORD_CHECK_H
#define RECORD_CHECK_H

#include "log.h"

/*
 * Reads all of the log, by its index and without, and reports each problem, with its offset if known. Returns the
 * number of problems; errors as log_reader_open(), with the reason in why.
 */
int64_t log_check(const char *path, void (*say)(void *arg, const char *sentence), void *arg, char *why,
		  size_t why_size);

#endif
