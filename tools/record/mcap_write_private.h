/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the writer of MCAP: messages and chunks in mcap_write.c, all else in mcap_summary.c. Thread: as log.h. */
#ifndef MCAP_WRITE_PRIVATE_H
#define MCAP_WRITE_PRIVATE_H

#include "mcap_private.h"

struct mcap_index_entry {
	uint64_t time, offset;
};

struct mcap_writer_channel {
	struct mcap_buf record;
	uint16_t schema; /* 0: none */
	bool defined;    /* its record is in the file */
	uint64_t n_messages;
	struct mcap_index_entry *index; /* of the open chunk */
	size_t n_index, cap_index;
};

struct mcap_writer_chunk {
	bool open, ended; /* ended: the compressor is done, the bytes are not in the file yet */
	uint64_t at;      /* in the file; of a compressed one not known yet */
	uint64_t start, end, size, n;
	uint32_t crc, n_channels;
	uint64_t index_bytes;
};

struct mcap_writer {
	struct log_writer base;
	int compression;              /* enum log_compression */
	struct mcap_deflate *deflate; /* NULL: not compressed */
	size_t chunk_bytes;
	bool crc, full; /* full: the open chunk is to be closed before the next message */
	int broken;     /* the compressor's state is lost: every call from here on */

	struct mcap_buf *schemas; /* records */
	size_t n_schemas;
	struct mcap_writer_channel *channels;
	uint32_t n_channels;

	struct mcap_writer_chunk chunk;
	struct mcap_buf packed; /* of the open chunk, compressed */
	struct mcap_buf scratch;
	struct iovec *iov;
	int cap_iov;

	struct mcap_buf chunk_indexes, attachment_indexes,
		metadata_indexes; /* of the summary, as they will stand there */
	uint64_t summary_bytes;   /* of schemas and channels there */
	uint64_t n_messages, start, end;
	uint32_t n_chunks, n_attachments, n_metadata;
};

/* Ids of the file start with 1, as in the files of others. */
static inline uint16_t mcap_channel_id(uint32_t index)
{
	return (uint16_t)(index + 1);
}

int mcap_close_chunk(struct mcap_writer *w);

int mcap_write_metadata(struct log_writer *base, const char *name, const struct log_pair *pairs, size_t n);
int mcap_write_attachment(struct log_writer *base, const struct log_attachment *a);
int mcap_write_summary(struct log_writer *base, char *why, size_t why_size);

#endif
