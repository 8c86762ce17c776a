/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the formats of this folder: the tables of calls that log.c dispatches to, and files that are read at given
 * offsets and appended to. Thread: as log.h.
 */
#ifndef LOG_FILE_PRIVATE_H
#define LOG_FILE_PRIVATE_H

#include "log.h"

#define LOG_HEAD_MAX  64u                  /* bytes at a file's start from which its format is detected */
#define LOG_BYTES_MAX ((size_t)UINT32_MAX) /* default of log_read_options.max_bytes */
#define LOG_WHY_MAX   512u

/* ---- reading ---- */

/* A file that is being opened by the reader of its format. */
struct log_opening {
	const char *path;
	int fd; /* file or directory; owned by log.c, after a successful open by the reader */
	bool directory;
	uint64_t size;
	uint8_t head[LOG_HEAD_MAX];
	size_t n_head;
	struct log_read_options options; /* max_bytes is not 0 */
	char *why;
	size_t why_size;
};

struct log_reader_ops {
	void (*close)(struct log_reader *r); /* frees r; log.c closes the descriptor */
	int (*select)(struct log_reader *r, const bool *want, size_t n);
	int (*seek)(struct log_reader *r, int64_t log_time_ns);
	int (*next)(struct log_reader *r, struct log_message *ret);
	/* NULL: the format has no attachments. data false: ret->data is NULL, and the data is not read. */
	int (*attachment)(struct log_reader *r, uint32_t i, bool data, struct log_attachment *ret);
};

/* First member of each format's reader. log.c and log_reader_init() set fd, options and ops. */
struct log_reader {
	const struct log_reader_ops *ops;
	int fd;
	struct log_read_options options;
	struct log_info info;
	char why[LOG_WHY_MAX];
};

void log_reader_init(struct log_reader *r, const struct log_reader_ops *ops, const struct log_opening *o);

/* ---- writing ---- */

/* A file that is appended to. Pieces are written without a copy. */
struct log_out {
	int fd;
	uint64_t size;     /* bytes written; the file is whole up to here */
	uint64_t reserved; /* the file system has reserved space up to here */
	bool no_reserve;   /* the file system does not support reservation */
};

/* writes all pieces; on an error the file is as before */
int log_out_put(struct log_out *o, const struct iovec *pieces, int n);
int log_out_bytes(struct log_out *o, const void *data, size_t n);
int log_out_patch(struct log_out *o, uint64_t at, const void *data, size_t n);
/*
 * Reserves n more bytes, so that writing them cannot fail for lack of space. 0, -ENOSPC, -EDQUOT, or -EFBIG
 * (RLIMIT_FSIZE, or the file system's limit). Reserves in large steps; if the file system cannot reserve, only the
 * limit is checked.
 */
int log_out_reserve(struct log_out *o, uint64_t n);
int log_out_sync(struct log_out *o); /* releases unused reserved space, and calls fdatasync(2) */

struct log_writer_ops {
	int (*add_channel)(struct log_writer *w, const struct log_channel *ch, uint32_t *ret_id);
	int (*put)(struct log_writer *w, const struct log_message *m, const struct iovec *pieces, int n);
	int (*metadata)(struct log_writer *w, const char *name, const struct log_pair *pairs,
			size_t n); /* NULL: the format has no metadata */
	/* NULL: the format has no attachments */
	int (*attachment)(struct log_writer *w, const struct log_attachment *a);
	int (*flush)(struct log_writer *w);
	/* writes the end of the file; does not free or sync */
	int (*finish)(struct log_writer *w, char *why, size_t why_size);
	void (*destroy)(struct log_writer *w); /* frees; log.c closes the descriptor */
};

/* First member of each format's writer. */
struct log_writer {
	const struct log_writer_ops *ops;
	struct log_out out;
	char *path;
	uint64_t copied;      /* bytes of payload that were copied or compressed, for benchmarks */
	uint64_t index_bytes; /* memory that grows with the file until it is finished */
};

/* ---- formats ---- */

struct log_format_ops {
	enum log_format format;
	const char *name;                                            /* for messages to the user */
	bool (*is)(const struct log_opening *o);                     /* checks the head, or the directory */
	int (*open)(struct log_opening *o, struct log_reader **ret); /* NULL: cannot be read */
	/* Writes the beginning of a new, empty file, open in *out. NULL: cannot be written. */
	int (*create)(const struct log_out *out, const struct log_write_options *o, struct log_writer **ret, char *why,
		      size_t why_size);
};

/* ---- helpers ---- */

/* Formats the reason into why, which may be NULL, and returns r. */
int log_fail(char *why, size_t why_size, int r, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Reads n bytes at `at`. Returns the number of bytes, less than n only at the end of the file, or a negative errno. */
ssize_t log_pread(int fd, uint64_t at, void *buf, size_t n);

static inline uint16_t log_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t log_u32(const uint8_t *p)
{
	return (uint32_t)log_u16(p) | (uint32_t)log_u16(p + 2) << 16;
}

static inline uint64_t log_u64(const uint8_t *p)
{
	return (uint64_t)log_u32(p) | (uint64_t)log_u32(p + 4) << 32;
}

#endif
