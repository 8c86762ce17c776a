/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a log is sound. Thread: one's. */
#ifndef RECORD_CHECK_H
#define RECORD_CHECK_H

#include "log.h"

/*
 * Reads all of it, by its index and without, and says each thing that is wrong, with its offset where it has one. Returns how many;
 * errors as log_reader_open(), with a sentence.
 */
int64_t log_check(const char *path, void (*say)(void *arg, const char *sentence), void *arg, char *why,
		  size_t why_size);

#endif
