/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of rosbag2's logs. Thread: any. */
#ifndef RECORD_ROSBAG2_H
#define RECORD_ROSBAG2_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes dir/metadata.yaml (version 5, for Humble and later) for n closed MCAP or .db3 files in dir; files: their names
 * without dir. -EEXIST: it exists, and is kept. Errors, with the reason in why: of the files as log_reader_open(), of
 * metadata.yaml as open(2).
 */
int rosbag2_metadata_write(const char *dir, const char *const *files, unsigned n, char *why, size_t why_size);

/* Whether a path names such a directory: it ends in a slash. */
bool rosbag2_dir_named(const char *path);
/*
 * Creates the directory: "out/run/" gives the directory out/run, and ret_file (`size` bytes) is the first file in it,
 * out/run/run.mcap. Errors, with the reason in why: those of mkdir(2), -EEXIST: it exists, and is kept; -ENAMETOOLONG.
 */
int rosbag2_dir_create(const char *path, char *ret_file, size_t size, char *why, size_t why_size);
/*
 * Writes metadata.yaml after all files are closed; removes a directory without files. Errors as
 * rosbag2_metadata_write().
 */
int rosbag2_dir_finish(const char *path, char *why, size_t why_size);

#endif
