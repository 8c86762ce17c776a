/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a recording of rosbag2. Thread: any. */
#ifndef RECORD_ROSBAG2_H
#define RECORD_ROSBAG2_H

#include <stddef.h>

/*
 * Write dir/metadata.yaml (version 5, which Humble and later read) for n closed MCAP or .db3 files that lie in dir; their names without
 * it. -EEXIST: there is one, and it is kept. Errors with a sentence: of the files as log_reader_open(), of the new one as open(2).
 */
int rosbag2_metadata_write(const char *dir, const char *const *files, unsigned n, char *why, size_t why_size);

#endif
