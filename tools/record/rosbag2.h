/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a recording of rosbag2. Thread: any. */
#ifndef RECORD_ROSBAG2_H
#define RECORD_ROSBAG2_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Write dir/metadata.yaml (version 5, which Humble and later read) for n closed MCAP or .db3 files that lie in dir; their names without
 * it. -EEXIST: there is one, and it is kept. Errors with a sentence: of the files as log_reader_open(), of the new one as open(2).
 */
int rosbag2_metadata_write(const char *dir, const char *const *files, unsigned n, char *why, size_t why_size);

/* Whether a name means such a directory: it ends in a slash. */
bool rosbag2_dir_named(const char *path);
/*
 * Make it, for files of ours: "out/run/" is the directory out/run, ret_file, of `size` bytes, the first file that goes there, out/run/run.mcap. Errors
 * with a sentence, those of mkdir(2): -EEXIST what is there is kept; -ENAMETOOLONG.
 */
int rosbag2_dir_create(const char *path, char *ret_file, size_t size, char *why, size_t why_size);
/* Its metadata.yaml, when all files are closed; without any it is removed again. Errors as rosbag2_metadata_write(). */
int rosbag2_dir_finish(const char *path, char *why, size_t why_size);

#endif
