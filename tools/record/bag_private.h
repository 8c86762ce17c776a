/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of .bag files: shared by its source files. Thread: as log.h. */
#ifndef BAG_PRIVATE_H
#define BAG_PRIVATE_H

#include "bag_format.h"
#include "chunks.h"

#define BAG_WINDOW 512u /* bytes read at once at a record: usually contain its header */

enum bag_kind {
	BAG_WHOLE,     /* a chunk's record */
	BAG_UNCLOSED,  /* a chunk whose length was never written: compressed data to the end of the file */
	BAG_UNWRAPPED, /* the records of such a chunk without compression */
};

struct bag {
	struct chunk_reader c;
	struct bag_bytes head; /* header of the record that was read last */
	struct bag_bytes zip;
	uint64_t index_pos;
	uint32_t conn_count, chunk_count;
	unsigned compressions; /* compressions in use, one bit for each enum log_compression */
	const char *no_index;  /* why the index is not used; NULL: it is used, or absent */
	char names[32];
};

struct bag_record {
	uint64_t at, data_at, data_size;
	struct bag_head head;
};

int bag_fail(struct bag *b, int r, uint64_t at, const char *what);
static inline uint64_t bag_left(const struct bag *b, uint64_t at)
{
	return at < b->c.r.info.size ? b->c.r.info.size - at : 0;
}
/* Reads exactly n bytes. */
int bag_read(struct bag *b, uint64_t at, void *buf, size_t n);
/* Reads the record at `at`; its data may be incomplete. 0; 1: the file ends in its header; < 0: not a record. */
int bag_record_read(struct bag *b, uint64_t at, struct bag_record *ret);
/* A chunk's compression, or -ENOTSUP. */
int bag_compression(struct bag *b, const struct bag_record *rec);
/* Adds the connection that a record describes; 0 also if it is already known. */
int bag_connection(struct bag *b, const struct bag_head *h, const uint8_t *data, size_t n, uint64_t at);
/* The next record in memory: header and data; advances *at. 1; 0: end; -EBADMSG: malformed or truncated. */
int bag_record_next(const uint8_t *p, size_t n, size_t *at, struct bag_head *ret, const uint8_t **ret_data,
		    size_t *ret_size);
static inline int64_t bag_time(const struct bag_field *f)
{
	return f->data ? (int64_t)log_u32(f->data) * 1000000000 + log_u32(f->data + 4) : 0;
}

int bag_load(struct chunk_reader *c, const struct chunk_entry *e, struct chunk *k);
int bag_scan(struct bag *b); /* lists chunks by reading the whole file */

#endif
