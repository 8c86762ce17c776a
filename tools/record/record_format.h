/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo's .record: a sequence of sections, each a head and a protobuf message. First the header, in an area of fixed
 * size that is rewritten when the file is closed; then channels, and chunks of two sections each; last the index. Field
 * numbers are those of cyber/proto/record.proto.
 */
#ifndef RECORD_FORMAT_H
#define RECORD_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

enum record_section {
	RECORD_HEADER = 0,
	RECORD_CHUNK_HEADER = 1,
	RECORD_CHUNK_BODY = 2,
	RECORD_INDEX = 3,
	RECORD_CHANNEL = 4,
};

#define RECORD_HEAD  16u                         /* int32 type, 4 zero bytes, int64 size */
#define RECORD_AREA  2048u                       /* area of the header, after its head */
#define RECORD_FIRST (RECORD_HEAD + RECORD_AREA) /* offset of the next section */
#define RECORD_PAD   0x30                        /* Cyber RT writes one such byte after the header, then zeros */

#define RECORD_CHUNK_BYTES       (16u << 20) /* Cyber RT's default size of a chunk's content */
#define RECORD_CHUNK_DUR_NS      INT64_C(20000000000)
#define RECORD_SEGMENT_DUR_NS    INT64_C(60000000000)
#define RECORD_SEGMENT_BYTES     (UINT64_C(2) << 30)
#define RECORD_SECTION_BYTES_MAX INT32_MAX /* protobuf's own limit */

struct record_header {
	uint64_t major, minor, compress, chunk_interval, segment_interval, index_position, chunk_number, channel_number;
	uint64_t begin_time, end_time, message_number, size, is_complete, chunk_raw_size, segment_raw_size;
};

struct record_chunk { /* ChunkHeader, and ChunkHeaderCache of the index */
	uint64_t begin_time, end_time, message_number, raw_size;
};

#endif
