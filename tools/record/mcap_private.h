/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCAP: shared by its writer and its reader. A file is magic, records, magic; a record is one byte of opcode, eight of
 * length, content; all little-endian. Thread: as log.h.
 */
#ifndef MCAP_PRIVATE_H
#define MCAP_PRIVATE_H

#include "log_private.h"

#define MCAP_MAGIC      "\x89MCAP0\r\n"
#define MCAP_MAGIC_SIZE 8u
#define MCAP_HEAD       9u  /* opcode and length */
#define MCAP_MESSAGE    22u /* fields of a message before its data */
#define MCAP_CHUNK_MIN  40u /* fields of a chunk, without the name of its compression and its records */
#define MCAP_FOOTER     20u

enum mcap_op {
	MCAP_OP_HEADER = 0x01,
	MCAP_OP_FOOTER = 0x02,
	MCAP_OP_SCHEMA = 0x03,
	MCAP_OP_CHANNEL = 0x04,
	MCAP_OP_MESSAGE = 0x05,
	MCAP_OP_CHUNK = 0x06,
	MCAP_OP_MESSAGE_INDEX = 0x07,
	MCAP_OP_CHUNK_INDEX = 0x08,
	MCAP_OP_ATTACHMENT = 0x09,
	MCAP_OP_ATTACHMENT_INDEX = 0x0a,
	MCAP_OP_STATISTICS = 0x0b,
	MCAP_OP_METADATA = 0x0c,
	MCAP_OP_METADATA_INDEX = 0x0d,
	MCAP_OP_SUMMARY_OFFSET = 0x0e,
	MCAP_OP_DATA_END = 0x0f,
};

/* ---- growing buffer ---- */

/* `failed` stays set once memory has run out, so it is checked only once, after all fields of a record. */
struct mcap_buf {
	uint8_t *p;
	size_t n, cap;
	bool failed;
};

void mcap_buf_finish(struct mcap_buf *b);
/* room for n more bytes, not counted in size yet; NULL: out of memory */
uint8_t *mcap_buf_room(struct mcap_buf *b, size_t n);
void mcap_put(struct mcap_buf *b, const void *data, size_t n);
void mcap_put_int(struct mcap_buf *b, uint64_t v, unsigned bytes);
void mcap_put_str(struct mcap_buf *b, const char *s);
void mcap_put_map(struct mcap_buf *b, const struct log_pair *pairs, size_t n);
size_t mcap_begin(struct mcap_buf *b, enum mcap_op op); /* begins a record; the result is passed to mcap_end() */
void mcap_end(struct mcap_buf *b, size_t at);

/* ---- reading fields ---- */

/* `bad` stays set once a field would end after the data; reading then returns 0 and "". */
struct mcap_cursor {
	const uint8_t *p;
	size_t left;
	bool bad;
};

static inline const uint8_t *mcap_take(struct mcap_cursor *c, uint64_t n)
{
	const uint8_t *p = c->p;

	if (c->bad || n > c->left) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	c->left -= (size_t)n;
	return p;
}

static inline uint64_t mcap_get_int(struct mcap_cursor *c, unsigned bytes)
{
	const uint8_t *p = mcap_take(c, bytes);

	if (!p)
		return 0;
	return bytes == 8 ? log_u64(p) : bytes == 4 ? log_u32(p) : bytes == 2 ? log_u16(p) : p[0];
}

static inline struct log_bytes mcap_get_bytes(struct mcap_cursor *c, uint64_t n)
{
	const uint8_t *p = mcap_take(c, n);

	return (struct log_bytes){ .data = p ? p : (const uint8_t *)"", .size = p ? (size_t)n : 0 };
}

/* Not NUL-terminated. */
static inline struct log_bytes mcap_get_str(struct mcap_cursor *c)
{
	return mcap_get_bytes(c, mcap_get_int(c, 4));
}

/* A map or an array: its size in bytes (u32), then its content. */
static inline struct mcap_cursor mcap_get_sub(struct mcap_cursor *c)
{
	struct log_bytes b = mcap_get_str(c);

	return (struct mcap_cursor){ .p = b.data, .left = b.size, .bad = c->bad };
}

/* Reads the next record of c, and advances c past its content. False: end, or c->bad. */
static inline bool mcap_get_record(struct mcap_cursor *c, uint8_t *ret_op, struct mcap_cursor *ret_content)
{
	struct log_bytes b;

	if (c->bad || !c->left)
		return false;
	*ret_op = (uint8_t)mcap_get_int(c, 1);
	b = mcap_get_bytes(c, mcap_get_int(c, 8));
	*ret_content = (struct mcap_cursor){ .p = b.data, .left = b.size };
	return !c->bad;
}

/* ---- chunks ---- */

struct mcap_chunk_head {
	uint64_t start, end, uncompressed, records; /* records: size in the file */
	uint32_t crc;
	int compression; /* enum log_compression; -1: an unknown name */
	char name[12];   /* that name, truncated */
	size_t size;     /* of these fields; the records follow */
};

/* Parses the fields of a chunk before its records. False: incomplete, or they contradict the content's length. */
bool mcap_chunk_head(const uint8_t *content, size_t have, uint64_t length, struct mcap_chunk_head *ret);
const char *mcap_compression_name(int compression);

/* Decompressors, used for one chunk after the other; zeroed: none yet. */
struct mcap_inflaters {
	struct LZ4F_dctx_s *lz4;
	struct ZSTD_DCtx_s *zstd;
};
void mcap_inflaters_finish(struct mcap_inflaters *d);

/*
 * Decompresses the records of a chunk, at most h->uncompressed bytes, even if the stream holds more. 0, or a negative
 * errno with the reason in why; *ret_n is the size decompressed so far. The caller frees *ret in every case
 * (mem_free(), may be NULL).
 */
int mcap_inflate(struct mcap_inflaters *d, const struct mcap_chunk_head *h, const uint8_t *records, size_t n,
		 uint8_t **ret, size_t *ret_n, char *why, size_t why_size);

/* Compresses records into a stream as they come. */
struct mcap_deflate;
int mcap_deflate_create(enum log_compression c, int level, struct mcap_deflate **ret);
void mcap_deflate_destroy(struct mcap_deflate *d);
size_t mcap_deflate_bound(const struct mcap_deflate *d, size_t n); /* the most that n bytes can become */
int mcap_deflate_begin(struct mcap_deflate *d, struct mcap_buf *out);
int mcap_deflate_add(struct mcap_deflate *d, const void *data, size_t n, struct mcap_buf *out);
int mcap_deflate_end(struct mcap_deflate *d, struct mcap_buf *out);

uint32_t mcap_crc(uint32_t crc, const void *data, size_t n); /* zlib's; crc starts as 0 */

/* ---- for log.c ---- */

int mcap_open(struct log_opening *o, struct log_reader **ret);
int mcap_create(const struct log_out *out, const struct log_write_options *o, struct log_writer **ret, char *why,
		size_t why_size);

/* For tests: memory for chunks while they overlap. */
void mcap_reader_set_budget(struct log_reader *r, size_t bytes);

#endif
