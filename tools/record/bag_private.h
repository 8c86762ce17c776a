/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of .bag files: what its files share. Thread: as log.h. */
#ifndef BAG_PRIVATE_H
#define BAG_PRIVATE_H

#include "bag_format.h"
#include "chunks.h"

#define BAG_WINDOW 512u /* read at a record: its header mostly lies in that */

enum bag_kind {
	BAG_WHOLE,     /* a chunk's record */
	BAG_UNCLOSED,  /* a chunk whose length was not written: compressed data to the end of the file */
	BAG_UNWRAPPED, /* records of an uncompressed one */
};

struct bag {
	struct chunk_reader c;
	struct bag_bytes head; /* of the record that was looked at last */
	struct bag_bytes zip;
	uint64_t index_pos;
	uint32_t conn_count, chunk_count;
	unsigned compressions; /* that were seen, a bit each of enum log_compression */
	const char *no_index;  /* why its index is not used; NULL: it is, or there is none */
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
/* n bytes, all of them. */
int bag_read(struct bag *b, uint64_t at, void *buf, size_t n);
/* The record at `at`; its data need not be all there. 0; 1: the file ends in its header; < 0: it is none. */
int bag_record_read(struct bag *b, uint64_t at, struct bag_record *ret);
/* The compression of a chunk; -ENOTSUP. */
int bag_compression(struct bag *b, const struct bag_record *rec);
/* The connection that a record of that header and data describes. 0 also where it is known. */
int bag_connection(struct bag *b, const struct bag_head *h, const uint8_t *data, size_t n, uint64_t at);
/* One record of memory: header and data. *at goes on. 1, 0 at the end, -EBADMSG malformed or cut off. */
int bag_record_next(const uint8_t *p, size_t n, size_t *at, struct bag_head *ret, const uint8_t **ret_data,
		    size_t *ret_size);
static inline int64_t bag_time(const struct bag_field *f)
{
	return f->data ? (int64_t)log_u32(f->data) * 1000000000 + log_u32(f->data + 4) : 0;
}

int bag_load(struct chunk_reader *c, const struct chunk_entry *e, struct chunk *k);
int bag_scan(struct bag *b); /* list chunks by reading all of it */

#endif
