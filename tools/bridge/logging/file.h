/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of one stem: <stem>.txt.gz, <stem>.2.txt.gz, <stem>.3.txt.gz, ... What holds something is never opened for
 * writing again: a writer takes the number after the highest one, and holds a lock on it while it writes, so that a second
 * one takes the next. Not the same file again: an end cut off by a kill or a full disk would hide what follows.
 *
 * A file is a row of gzip members, each written whole: once a second (flush), or when there is enough of it. So one whose
 * writer was killed is whole, but for a kill in the middle of a write. What could not be written (a full disk) is taken off
 * the file's end again, kept, and is the beginning of the next one. Owner's thread.
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
	unsigned number; /* of the file, from 1; 0: there has been none */
	char path[PATH_SIZE];
	z_stream z;
	int level, strategy;
	bool inside;        /* a member has begun */
	unsigned char *out; /* members that are not written yet */
	size_t n, cap;
};

/* level: of gzip, 1 .. 9. 0; -ENOMEM. */
int log_file_init(struct log_file *f, int level);
/* Closes it; how many bytes could not be written, and are lost. */
size_t log_file_finish(struct log_file *f);

/* The next file of the stem, begun with what the last one did not take. 0; negative errno, with `path` the one that it is about. */
int log_file_open(struct log_file *f, const char *stem);
/*
 * 0 taken; -ENOTCONN closed, -ENOMEM: not taken. -EIO: taken, but the file cannot be written, and is closed: it is kept for the next one.
 * packs: false for what hardly can be compressed (base64).
 */
int log_file_write(struct log_file *f, const char *data, size_t len, bool packs);
int log_file_flush(struct log_file *f); /* 0; -EIO as above */
int log_file_close(struct log_file *f); /* 0; -EIO as above */

#endif
