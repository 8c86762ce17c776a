/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses metadata.yaml of rosbag2, as far as needed to read its files. Any YAML, but the values that are needed must
 * not be aliases. Thread: any.
 */
#ifndef RECORD_ROSBAG2_YAML_H
#define RECORD_ROSBAG2_YAML_H

#include <stddef.h>

#define ROSBAG2_YAML_MAX  ((size_t)16 << 20) /* limit of the file's size */
#define ROSBAG2_FILES_MAX 64u
#define ROSBAG2_TEXT_MAX  512u

struct rosbag2_yaml {
	char storage[32];                                /* "sqlite3", "mcap" */
	char compression[32];                            /* "", "zstd" */
	char compression_mode[32];                       /* "", "FILE", "MESSAGE" */
	char files[ROSBAG2_FILES_MAX][ROSBAG2_TEXT_MAX]; /* relative to metadata.yaml */
	size_t n_files;
};

/* 0; -EBADMSG: malformed, with the line in why; -E2BIG: too many files. */
int rosbag2_yaml_parse(const char *text, size_t n, struct rosbag2_yaml *ret, char *why, size_t why_size);

#endif
