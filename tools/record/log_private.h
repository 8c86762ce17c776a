/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the formats of this folder have in common: the tables of calls that log.c dispatches to, and files that are read
 * by position and written at their end. Thread: as log.h.
 */
#ifndef LOG_FILE_PRIVATE_H
#define LOG_FILE_PRIVATE_H

#include "log.h"

#define LOG_HEAD_MAX  64u                  /* bytes of a file by which its format is found out */
#define LOG_BYTES_MAX ((size_t)UINT32_MAX) /* default of log_read_options.max_bytes */
#define LOG_WHY_MAX   512u

/* ---- reading ---- */

/* A file on its way to its reader. */
struct log_opening {
	const char *path;
	int fd; /* of the file or directory; belongs to log.c, that of a successful open to the reader */
	bool directory;
	uint64_t size;
	uint8_t head[LOG_HEAD_MAX];
	size_t n_head;
	struct log_read_options options; /* max_bytes is never 0 */
	char *why;
	size_t why_size;
};

struct log_reader_ops {
	void (*close)(struct log_reader *r); /* frees r; the descriptor is closed by log.c */
	int (*select)(struct log_reader *r, const bool *want, size_t n);
	int (*seek)(struct log_reader *r, int64_t log_time_ns);
	int (*next)(struct log_reader *r, struct log_message *ret);
	/* NULL: the format has none. data: else ret->data is NULL, and nothing of it is read. */
	int (*attachment)(struct log_reader *r, uint32_t i, bool data, struct log_attachment *ret);
};

/* First member of each format's reader. fd, options and ops are set by log.c and log_reader_init(). */
struct log_reader {
	const struct log_reader_ops *ops;
	int fd;
	struct log_read_options options;
	struct log_info info;
	char why[LOG_WHY_MAX];
};

void log_reader_init(struct log_reader *r, const struct log_reader_ops *ops, const struct log_opening *o);

/* ---- writing ---- */

/* The end of a file. Its pieces are written from where they lie. */
struct log_out {
	int fd;
	uint64_t size;     /* what was written, whole */
	uint64_t reserved; /* the file system has room for the file up to here */
	bool no_reserve;   /* it cannot say */
};

int log_out_put(struct log_out *o, const struct iovec *pieces, int n); /* all, or an errno and the file as before */
int log_out_bytes(struct log_out *o, const void *data, size_t n);
int log_out_patch(struct log_out *o, uint64_t at, const void *data, size_t n);
/*
 * Room for n more bytes, so that writing them cannot fail for want of it: 0, -ENOSPC, -EDQUOT, or -EFBIG (the process's limit, RLIMIT_FSIZE,
 * or the file system's). Asked of the file system in large steps; where it cannot reserve only the limit is looked at.
 */
int log_out_reserve(struct log_out *o, uint64_t n);
int log_out_sync(struct log_out *o); /* free what was reserved and not used; to the disk */

struct log_writer_ops {
	int (*add_channel)(struct log_writer *w, const struct log_channel *ch, uint32_t *ret_id);
	int (*put)(struct log_writer *w, const struct log_message *m, const struct iovec *pieces, int n);
	int (*metadata)(struct log_writer *w, const char *name, const struct log_pair *pairs,
			size_t n);                                               /* NULL: the format has none */
	int (*attachment)(struct log_writer *w, const struct log_attachment *a); /* NULL: the format has none */
	int (*flush)(struct log_writer *w);
	int (*finish)(struct log_writer *w, char *why, size_t why_size); /* writes; does not free, does not sync */
	void (*destroy)(struct log_writer *w);                           /* frees; the descriptor is closed by log.c */
};

/* First member of each format's writer. */
struct log_writer {
	const struct log_writer_ops *ops;
	struct log_out out;
	char *path;
	uint64_t copied;      /* bytes of payload that were copied or compressed, for the benches */
	uint64_t index_bytes; /* of memory that grow with the file until it is finished */
};

/* ---- formats ---- */

struct log_format_ops {
	enum log_format format;
	const char *name;                                            /* as in a sentence */
	bool (*is)(const struct log_opening *o);                     /* by head, or of a directory */
	int (*open)(struct log_opening *o, struct log_reader **ret); /* NULL: not read */
	/* A new, empty file, open in *out. NULL: not written. */
	int (*create)(const struct log_out *out, const struct log_write_options *o, struct log_writer **ret, char *why,
		      size_t why_size);
};

/* ---- helpers ---- */

/* Writes the sentence, returns r. why may be NULL. */
int log_fail(char *why, size_t why_size, int r, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* n bytes at `at`: the number read, less than n only at the end of the file, or a negative errno. */
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
