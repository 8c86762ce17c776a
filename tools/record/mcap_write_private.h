/* SPDX-License-Identifier: Apache-2.0 */
/* State of the writer of MCAP: messages and chunks in mcap_write.c, the rest in mcap_summary.c. Thread: as log.h. */
#ifndef MCAP_WRITE_PRIVATE_H
#define MCAP_WRITE_PRIVATE_H

#include "mcap_private.h"

struct mcap_index_entry {
	uint64_t time, offset;
};

struct mcap_writer_channel {
	struct mcap_buf record;
	uint16_t schema; /* 0: no schema */
	bool defined;    /* its record has been written */
	uint64_t n_messages;
	struct mcap_index_entry *index; /* for the open chunk */
	size_t n_index, cap_index;
};

struct mcap_writer_chunk {
	bool open, ended; /* ended: the compressor has finished, but its output is not in the file yet */
	uint64_t at;      /* position in the file; of a compressed chunk still unknown */
	uint64_t start, end, size, n;
	uint32_t crc, n_channels;
	uint64_t index_bytes;
};

struct mcap_writer {
	struct log_writer base;
	int compression;              /* enum log_compression */
	struct mcap_deflate *deflate; /* NULL: no compression */
	size_t chunk_bytes;
	bool crc, full; /* full: close the open chunk before the next message */
	int broken;     /* errno of all further calls, once the compressor's state is lost */

	struct mcap_buf *schemas; /* encoded records */
	size_t n_schemas;
	struct mcap_writer_channel *channels;
	uint32_t n_channels;

	struct mcap_writer_chunk chunk;
	struct mcap_buf packed; /* the open chunk, compressed */
	struct mcap_buf scratch;
	struct iovec *iov;
	int cap_iov;

	struct mcap_buf chunk_indexes, attachment_indexes,
		metadata_indexes; /* records of the summary, as they will be written */
	uint64_t summary_bytes;   /* size of the schemas and channels in the summary */
	uint64_t n_messages, start, end;
	uint32_t n_chunks, n_attachments, n_metadata;
};

/* Ids in the file start at 1, as with other writers. */
static inline uint16_t mcap_channel_id(uint32_t index)
{
	return (uint16_t)(index + 1);
}

int mcap_close_chunk(struct mcap_writer *w);

int mcap_write_metadata(struct log_writer *base, const char *name, const struct log_pair *pairs, size_t n);
int mcap_write_attachment(struct log_writer *base, const struct log_attachment *a);
int mcap_write_summary(struct log_writer *base, char *why, size_t why_size);

#endif
