/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of one stem: <stem>.txt.gz, <stem>.2.txt.gz, <stem>.3.txt.gz, ... A file that is not empty is never opened
 * for writing again, because an end cut off by a kill or a full disk would hide what follows: a writer takes the number
 * after the highest one, and locks the file while it writes, so that a second writer takes the next number.
 *
 * A file is a sequence of gzip members, each written as a whole: once a second (flush), or when enough data has
 * collected. So the file of a killed writer is complete, unless it was killed during a write. Data that could not be
 * written (full disk) is truncated from the file again, kept, and becomes the beginning of the next file. Owner's
 * thread.
 */
#ifndef LOGGING_FILE_H
#define LOGGING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#define ZLIB_CONST
#include <zlib.h>

#define STEM_MAX  3800
#define PATH_SIZE (STEM_MAX + 32)

struct log_file {
	int fd; /* -1: closed */
	off_t size;
	unsigned number; /* of the file, from 1; 0: no file so far */
	char path[PATH_SIZE];
	z_stream z;
	int level, strategy;
	bool inside;        /* a member has been started */
	unsigned char *out; /* members not yet written */
	size_t n, cap;
};

/* level: of gzip, 1 to 9. 0; -ENOMEM. */
int log_file_init(struct log_file *f, int level);
/* Closes it. Returns how many bytes could not be written and are lost. */
size_t log_file_finish(struct log_file *f);

/*
 * Opens the next file of the stem, starting with data that the previous one did not take. 0; negative errno; `path` is
 * then the file concerned.
 */
int log_file_open(struct log_file *f, const char *stem);
/*
 * Returns 0; -ENOTCONN closed, or -ENOMEM: data not taken. -EIO: data taken, but the file cannot be written and is
 * closed; the data is kept for the next one. packs: false for data that is hardly compressible (base64).
 */
int log_file_write(struct log_file *f, const char *data, size_t len, bool packs);
int log_file_flush(struct log_file *f); /* 0; -EIO as above */
int log_file_close(struct log_file *f); /* 0; -EIO as above */

#endif
