/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROS 1's .bag, version 2.0: records back to back, each a header (fields "name=value", each behind its length) and data, both behind
 * their length. Chunks hold connections and messages, and may be compressed; behind a chunk stands an index of it for each connection; at
 * the end all connections again, and what is in which chunk. Little-endian; a time is seconds and nanoseconds, 32 bits each.
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
#define BAG_HEADER_SIZE 4096u        /* of the first record's header and data, without their lengths */
#define BAG_HEADERS_MAX (1u << 20)   /* bytes of a record's header that are read */
#define BAG_CHUNK_BYTES (768u << 10) /* ROS's default */

/* A part of a record, borrowed of its bytes. */
struct bag_field {
	const uint8_t *data;
	size_t size;
};

struct bag_head { /* the fields of a record's header that this reads; data NULL: it has none */
	int op;   /* -1: none */
	struct bag_field conn, time, topic, compression, size, index_pos, conn_count, chunk_count, chunk_pos,
		start_time, end_time, count, ver, encryptor;
};

/* A header of n bytes. False: it is malformed. */
bool bag_head_parse(const uint8_t *p, size_t n, struct bag_head *ret);
/* The next field of a header; *at goes on. 1, 0 at the end, -EBADMSG. */
int bag_field_next(const uint8_t *p, size_t n, size_t *at, struct bag_field *ret_name, struct bag_field *ret_value);

static inline bool bag_is_text(const struct bag_field *f, const char *text)
{
	return f->size == strlen(text) && !memcmp(f->data, text, f->size);
}

/* ---- compression (bag_zip.c) ---- */

/* LZ4 in the frames of roslz4, bzip2; of LOG_COMPRESSION_NONE nothing. */
int64_t bag_zip_bound(enum log_compression c, size_t n);
/* n bytes into to; how many, or -ENOMEM, -EMSGSIZE. */
int64_t bag_zip(enum log_compression c, int level, const void *from, size_t n, void *to, size_t room);

struct bag_bytes {
	uint8_t *data;
	size_t size, room;
};
/*
 * To the end of the stream, at most max bytes: room grows as they come. 0; -EBADMSG damaged or cut off: to has what came before it;
 * -EMSGSIZE: there is more; -ENOMEM.
 */
int bag_unzip(enum log_compression c, const void *from, size_t n, size_t max, struct bag_bytes *to);

#endif
