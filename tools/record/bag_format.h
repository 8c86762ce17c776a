/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROS 1's .bag, version 2.0: a sequence of records, each a header (fields "name=value", each preceded by its length)
 * and data, both preceded by their length. Chunks hold connections and messages, and may be compressed; each chunk is
 * followed by an index per connection. At the end of the file, all connections are repeated, with the content of each
 * chunk. Little-endian; a time is seconds and nanoseconds, 32 bits each.
 */
#ifndef BAG_FORMAT_H
#define BAG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "log.h"

enum bag_op {
	BAG_MESSAGE = 2,
	BAG_HEADER = 3,
	BAG_INDEX = 4,
	BAG_CHUNK = 5,
	BAG_CHUNK_INFO = 6,
	BAG_CONNECTION = 7,
};

#define BAG_MAGIC       "#ROSBAG V2.0\n"
#define BAG_MAGIC_SIZE  13u
#define BAG_HEADER_SIZE 4096u        /* size of the first record's header and data, without their lengths */
#define BAG_HEADERS_MAX (1u << 20)   /* longest header that is read, bytes */
#define BAG_CHUNK_BYTES (768u << 10) /* ROS's default */

/* A part of a record; borrows from its bytes. */
struct bag_field {
	const uint8_t *data;
	size_t size;
};

struct bag_head { /* the fields of a header that the reader uses; data NULL: absent */
	int op;   /* -1: absent */
	struct bag_field conn, time, topic, compression, size, index_pos, conn_count, chunk_count, chunk_pos,
		start_time, end_time, count, ver, encryptor;
};

/* Parses a header of n bytes. False: malformed. */
bool bag_head_parse(const uint8_t *p, size_t n, struct bag_head *ret);
/* The next field of a header; advances *at. 1; 0: end; -EBADMSG. */
int bag_field_next(const uint8_t *p, size_t n, size_t *at, struct bag_field *ret_name, struct bag_field *ret_value);

static inline bool bag_is_text(const struct bag_field *f, const char *text)
{
	return f->size == strlen(text) && !memcmp(f->data, text, f->size);
}

/* ---- compression (bag_zip.c) ---- */

/* LZ4 in the frames of roslz4, or bzip2; not for LOG_COMPRESSION_NONE. */
int64_t bag_zip_bound(enum log_compression c, size_t n);
/* Compresses n bytes into `to`. Returns the size, or -ENOMEM, -EMSGSIZE. */
int64_t bag_zip(enum log_compression c, int level, const void *from, size_t n, void *to, size_t room);

struct bag_bytes {
	uint8_t *data;
	size_t size, room;
};
/*
 * Decompresses to the end of the stream, at most max bytes; `to` grows as needed. 0; -EBADMSG: damaged or truncated,
 * `to` holds what came before; -EMSGSIZE: longer than max; -ENOMEM.
 */
int bag_unzip(enum log_compression c, const void *from, size_t n, size_t max, struct bag_bytes *to);

#endif
