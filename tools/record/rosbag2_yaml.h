/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metadata.yaml of rosbag2, as far as it is needed to read the files of a recording: any YAML, but that the values that are needed may not be
 * aliases. Thread: any.
 */
#ifndef RECORD_ROSBAG2_YAML_H
#define RECORD_ROSBAG2_YAML_H

#include <stddef.h>

#define ROSBAG2_YAML_MAX  ((size_t)16 << 20) /* bytes of the file */
#define ROSBAG2_FILES_MAX 64u
#define ROSBAG2_TEXT_MAX  512u

struct rosbag2_yaml {
	char storage[32];                                /* "sqlite3", "mcap" */
	char compression[32];                            /* "", "zstd" */
	char compression_mode[32];                       /* "", "FILE", "MESSAGE" */
	char files[ROSBAG2_FILES_MAX][ROSBAG2_TEXT_MAX]; /* beside it */
	size_t n_files;
};

/* 0; -EBADMSG with a sentence that has the line; -E2BIG too many files. */
int rosbag2_yaml_parse(const char *text, size_t n, struct rosbag2_yaml *ret, char *why, size_t why_size);

#endif
