/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of MCAP. Without compression, an open chunk is written as an empty chunk followed by its records, and its
 * fields are overwritten when it closes: so records are written without a copy, and those of a killed process are found
 * after the empty chunk. With compression, an open chunk is in memory, compressed as records come.
 *
 * Space for what is written later (indexes, summary, a compressed chunk) is reserved before a message is accepted, so a
 * full disk refuses messages, and never loses accepted ones. Thread: as log.h.
 */
#include <errno.h>
#include <string.h>

#include "mcap_private.h"
#include "mcap_write_private.h"
#include "mem.h"

#define CHUNK_BYTES ((size_t)4 << 20)
/* so that the chunk stays within 4 GiB, which every reader takes */
#define MESSAGE_MAX      ((uint64_t)UINT32_MAX - (1u << 20))
#define CHUNK_HEAD       (MCAP_HEAD + MCAP_CHUNK_MIN)
#define CHANNELS_MAX     65535u
#define SCHEMA_BYTES_MAX ((size_t)64 << 20)

static struct mcap_writer *of(struct log_writer *w)
{
	return (struct mcap_writer *)w;
}

/* ---- channels ---- */

static int add_schema(struct mcap_writer *w, const struct log_channel *ch, uint16_t *ret_id)
{
	struct mcap_buf b = { 0 };
	struct mcap_buf *p;
	size_t at;

	*ret_id = 0;
	if (!ch->schema_name || (!*ch->schema_name && !ch->schema.size))
		return 0;
	at = mcap_begin(&b, MCAP_OP_SCHEMA);
	mcap_put_int(&b, 0, 2);
	mcap_put_str(&b, ch->schema_name);
	mcap_put_str(&b, ch->schema_encoding);
	mcap_put_int(&b, ch->schema.size, 4);
	mcap_put(&b, ch->schema.data, ch->schema.size);
	mcap_end(&b, at);
	for (size_t i = 0; i < w->n_schemas && !b.failed; i++)
		if (w->schemas[i].n == b.n &&
		    !memcmp(w->schemas[i].p + MCAP_HEAD + 2, b.p + MCAP_HEAD + 2, b.n - MCAP_HEAD - 2)) {
			*ret_id = (uint16_t)(i + 1);
			mcap_buf_finish(&b);
			return 0;
		}
	p = b.failed ? NULL : mem_realloc(w->schemas, (w->n_schemas + 1) * sizeof(*p));
	if (!p) {
		mcap_buf_finish(&b);
		return -ENOMEM;
	}
	w->schemas = p;
	*ret_id = (uint16_t)(w->n_schemas + 1);
	b.p[MCAP_HEAD] = (uint8_t)*ret_id;
	b.p[MCAP_HEAD + 1] = (uint8_t)(*ret_id >> 8);
	p[w->n_schemas++] = b;
	w->summary_bytes += b.n;
	return 0;
}

static int add_channel(struct log_writer *base, const struct log_channel *ch, uint32_t *ret_id)
{
	struct mcap_writer *w = of(base);
	struct mcap_writer_channel c = { 0 }, *p;
	size_t at;
	int r;

	if (ch->schema.size > SCHEMA_BYTES_MAX)
		return -EMSGSIZE;
	if (w->n_channels == CHANNELS_MAX)
		return -ENOSPC;
	r = add_schema(w, ch, &c.schema);
	if (r < 0)
		return r;
	at = mcap_begin(&c.record, MCAP_OP_CHANNEL);
	mcap_put_int(&c.record, mcap_channel_id(w->n_channels), 2);
	mcap_put_int(&c.record, c.schema, 2);
	mcap_put_str(&c.record, ch->topic);
	mcap_put_str(&c.record, ch->message_encoding);
	mcap_put_map(&c.record, ch->metadata, ch->n_metadata);
	mcap_end(&c.record, at);
	p = c.record.failed ? NULL : mem_realloc(w->channels, (w->n_channels + 1) * sizeof(*p));
	if (!p) {
		mcap_buf_finish(&c.record);
		return -ENOMEM;
	}
	w->channels = p;
	p[w->n_channels] = c;
	*ret_id = w->n_channels++;
	w->summary_bytes += c.record.n;
	return 0;
}

/* Adds the records that must come before the channel's first message. */
static void put_definitions(struct mcap_writer *w, const struct mcap_writer_channel *c, struct mcap_buf *b)
{
	const struct mcap_buf *s = c->schema ? &w->schemas[c->schema - 1] : NULL;

	if (c->defined)
		return;
	if (s)
		mcap_put(b, s->p, s->n);
	mcap_put(b, c->record.p, c->record.n);
}

/* ---- chunks ---- */

static void chunk_fields(const struct mcap_writer *w, const struct mcap_writer_chunk *k, uint64_t records,
			 struct mcap_buf *b)
{
	const char *name = mcap_compression_name(w->compression);

	mcap_put_int(b, MCAP_OP_CHUNK, 1);
	mcap_put_int(b, MCAP_CHUNK_MIN + strlen(name) + records, 8);
	mcap_put_int(b, k->start, 8);
	mcap_put_int(b, k->end, 8);
	mcap_put_int(b, k->size, 8);
	mcap_put_int(b, k->crc, 4);
	mcap_put_str(b, name);
	mcap_put_int(b, records, 8);
}

/*
 * Adds the open chunk's message indexes to b, and its entry in the summary to index. `at`: the position of b in the
 * file.
 */
static void put_indexes(struct mcap_writer *w, uint64_t chunk_at, uint64_t chunk_length, uint64_t at,
			struct mcap_buf *b, struct mcap_buf *index)
{
	const struct mcap_writer_chunk *k = &w->chunk;
	const char *name = mcap_compression_name(w->compression);
	size_t from = b->n, rec = mcap_begin(index, MCAP_OP_CHUNK_INDEX);

	mcap_put_int(index, k->start, 8);
	mcap_put_int(index, k->end, 8);
	mcap_put_int(index, chunk_at, 8);
	mcap_put_int(index, chunk_length, 8);
	mcap_put_int(index, 10 * (uint64_t)k->n_channels, 4);
	for (uint32_t i = 0; i < w->n_channels; i++) {
		const struct mcap_writer_channel *c = &w->channels[i];
		size_t r;

		if (!c->n_index)
			continue;
		mcap_put_int(index, mcap_channel_id(i), 2);
		mcap_put_int(index, at + (b->n - from), 8);
		r = mcap_begin(b, MCAP_OP_MESSAGE_INDEX);
		mcap_put_int(b, mcap_channel_id(i), 2);
		mcap_put_int(b, c->n_index * 16, 4);
		for (size_t j = 0; j < c->n_index; j++) {
			mcap_put_int(b, c->index[j].time, 8);
			mcap_put_int(b, c->index[j].offset, 8);
		}
		mcap_end(b, r);
	}
	mcap_put_int(index, b->n - from, 8);
	mcap_put_str(index, name);
	mcap_put_int(index, chunk_length - CHUNK_HEAD - strlen(name), 8);
	mcap_put_int(index, k->size, 8);
	mcap_end(index, rec);
}

static void chunk_closed(struct mcap_writer *w)
{
	for (uint32_t i = 0; i < w->n_channels; i++)
		w->channels[i].n_index = 0;
	w->chunk = (struct mcap_writer_chunk){ 0 };
	w->packed.n = 0;
	w->n_chunks++;
	w->base.index_bytes = w->chunk_indexes.n;
}

/* Closes an uncompressed chunk: writes the indexes after its records, then its fields over the empty ones. */
static int close_plain(struct mcap_writer *w)
{
	struct mcap_writer_chunk *k = &w->chunk;
	uint64_t length = w->base.out.size - k->at;
	size_t index_was = w->chunk_indexes.n;
	int r;

	w->scratch.n = 0;
	put_indexes(w, k->at, length, w->base.out.size, &w->scratch, &w->chunk_indexes);
	r = w->scratch.failed || w->chunk_indexes.failed ? -ENOMEM
							 : log_out_bytes(&w->base.out, w->scratch.p, w->scratch.n);
	if (r >= 0) {
		w->scratch.n = 0;
		chunk_fields(w, k, k->size, &w->scratch);
		r = log_out_patch(&w->base.out, k->at, w->scratch.p, w->scratch.n);
	}
	if (r < 0)
		w->chunk_indexes.n = index_was;
	return r;
}

static int close_packed(struct mcap_writer *w)
{
	struct mcap_writer_chunk *k = &w->chunk;
	uint64_t at = w->base.out.size, length;
	size_t index_was = w->chunk_indexes.n, head;
	struct iovec iov[3];
	int r = k->ended ? 0 : mcap_deflate_end(w->deflate, &w->packed);

	if (r < 0)
		return r;
	k->ended = true;
	w->scratch.n = 0;
	chunk_fields(w, k, w->packed.n, &w->scratch);
	head = w->scratch.n;
	length = head + w->packed.n;
	put_indexes(w, at, length, at + length, &w->scratch, &w->chunk_indexes);
	if (w->scratch.failed || w->chunk_indexes.failed)
		return -ENOMEM;
	iov[0] = (struct iovec){ .iov_base = w->scratch.p, .iov_len = head };
	iov[1] = (struct iovec){ .iov_base = w->packed.p, .iov_len = w->packed.n };
	iov[2] = (struct iovec){ .iov_base = w->scratch.p + head, .iov_len = w->scratch.n - head };
	r = log_out_put(&w->base.out, iov, 3);
	if (r < 0)
		w->chunk_indexes.n = index_was;
	return r;
}

int mcap_close_chunk(struct mcap_writer *w)
{
	int r;

	if (!w->chunk.open)
		return 0;
	r = w->deflate ? close_packed(w) : close_plain(w);
	if (r < 0) {
		w->scratch.failed = false;
		w->chunk_indexes.failed = false;
		return r;
	}
	chunk_closed(w);
	return 0;
}

/* ---- messages ---- */

/* Space that closing the chunk and the file needs. */
static uint64_t closing_bytes(const struct mcap_writer *w)
{
	uint64_t in_chunk = CHUNK_HEAD + 8 + w->chunk.index_bytes + 16 + 15;
	uint64_t entry = MCAP_HEAD + 76 + 10ull * w->n_channels;

	return in_chunk + entry + w->summary_bytes * 2 + w->chunk_indexes.n + w->attachment_indexes.n +
	       w->metadata_indexes.n + 10ull * w->n_channels + 512;
}

static int room_for(struct mcap_writer *w, uint64_t bytes)
{
	uint64_t records = bytes;

	if (w->deflate)
		records = mcap_deflate_bound(w->deflate, w->chunk.size + bytes);
	return log_out_reserve(&w->base.out, records + closing_bytes(w));
}

static int room_in_index(struct mcap_writer_channel *c)
{
	size_t cap = c->cap_index ? c->cap_index * 2 : 64;
	struct mcap_index_entry *p;

	if (c->n_index < c->cap_index)
		return 0;
	p = mem_realloc(c->index, cap * sizeof(*p));
	if (!p)
		return -ENOMEM;
	c->index = p;
	c->cap_index = cap;
	return 0;
}

/* An array for n pieces and one before them. */
static struct iovec *room_for_pieces(struct mcap_writer *w, int n)
{
	struct iovec *p;

	if (n < w->cap_iov)
		return w->iov;
	p = mem_realloc(w->iov, ((size_t)n + 16) * sizeof(*p));
	if (!p)
		return NULL;
	w->iov = p;
	w->cap_iov = n + 16;
	return p;
}

/* Writes a message with the records before it; b begins with `skip` bytes of the chunk's fields. */
static int take_plain(struct mcap_writer *w, const struct mcap_buf *b, size_t skip, const struct iovec *pieces, int n)
{
	struct iovec *iov = room_for_pieces(w, n);
	uint64_t at = w->base.out.size;
	uint32_t crc = w->chunk.crc;
	int r;

	if (!iov)
		return -ENOMEM;
	iov[0] = (struct iovec){ .iov_base = b->p, .iov_len = b->n };
	if (n)
		memcpy(iov + 1, pieces, (size_t)n * sizeof(*iov));
	r = log_out_put(&w->base.out, iov, n + 1);
	if (r < 0)
		return r;
	if (skip)
		w->chunk.at = at;
	if (w->crc) {
		crc = mcap_crc(crc, b->p + skip, b->n - skip);
		for (int i = 0; i < n; i++)
			crc = mcap_crc(crc, pieces[i].iov_base, pieces[i].iov_len);
	}
	w->chunk.crc = crc;
	return 0;
}

static int take_packed(struct mcap_writer *w, const struct mcap_buf *b, const struct iovec *pieces, int n)
{
	int r = w->chunk.open ? 0 : mcap_deflate_begin(w->deflate, &w->packed);

	if (r >= 0)
		r = mcap_deflate_add(w->deflate, b->p, b->n, &w->packed);
	for (int i = 0; i < n && r >= 0; i++) {
		r = mcap_deflate_add(w->deflate, pieces[i].iov_base, pieces[i].iov_len, &w->packed);
		w->base.copied += pieces[i].iov_len;
	}
	if (r < 0) {
		w->broken = r; /* half a message is in the stream */
		return r;
	}
	if (w->crc) {
		w->chunk.crc = mcap_crc(w->chunk.crc, b->p, b->n);
		for (int i = 0; i < n; i++)
			w->chunk.crc = mcap_crc(w->chunk.crc, pieces[i].iov_base, pieces[i].iov_len);
	}
	return 0;
}

static void count(struct mcap_writer *w, struct mcap_writer_channel *c, uint64_t time, uint64_t offset)
{
	struct mcap_writer_chunk *k = &w->chunk;

	if (!k->n || time < k->start)
		k->start = time;
	if (!k->n || time > k->end)
		k->end = time;
	if (!w->n_messages || time < w->start)
		w->start = time;
	if (!w->n_messages || time > w->end)
		w->end = time;
	if (!c->n_index) {
		k->n_channels++;
		k->index_bytes += 15;
	}
	c->index[c->n_index++] = (struct mcap_index_entry){ .time = time, .offset = offset };
	k->index_bytes += 16;
	k->n++;
	c->n_messages++;
	w->n_messages++;
	c->defined = true;
}

static void put_message_head(const struct log_message *m, uint64_t bytes, struct mcap_buf *b)
{
	mcap_put_int(b, MCAP_OP_MESSAGE, 1);
	mcap_put_int(b, MCAP_MESSAGE + bytes, 8);
	mcap_put_int(b, mcap_channel_id(m->channel), 2);
	mcap_put_int(b, m->sequence, 4);
	mcap_put_int(b, (uint64_t)m->log_time_ns, 8);
	mcap_put_int(b, (uint64_t)m->publish_time_ns, 8);
}

/* All that may fail, before anything is written. */
static int prepare(struct mcap_writer *w, struct mcap_writer_channel *c, uint64_t bytes)
{
	uint64_t most = bytes + c->record.n + (c->schema ? w->schemas[c->schema - 1].n : 0) + 2 * CHUNK_HEAD;
	int r;

	if (w->broken)
		return w->broken;
	if (w->chunk.open && (w->full || w->chunk.size + most > MESSAGE_MAX)) {
		r = mcap_close_chunk(w);
		if (r < 0)
			return r;
		w->full = false;
	}
	r = room_in_index(c);
	return r < 0 ? r : room_for(w, most);
}

static int put(struct log_writer *base, const struct log_message *m, const struct iovec *pieces, int n)
{
	struct mcap_writer *w = of(base);
	struct mcap_writer_channel *c;
	uint64_t bytes = 0, offset;
	size_t skip;
	int r;

	if (m->channel >= w->n_channels || m->log_time_ns < 0 || m->publish_time_ns < 0 || n < 0)
		return -EINVAL;
	c = &w->channels[m->channel];
	for (int i = 0; i < n; i++) {
		bytes += pieces[i].iov_len;
		if (pieces[i].iov_len > MESSAGE_MAX || bytes > MESSAGE_MAX)
			return -EMSGSIZE;
	}
	r = prepare(w, c, bytes);
	if (r < 0)
		return r;
	w->scratch.n = 0;
	if (!w->chunk.open && !w->deflate) /* begins as an empty chunk */
		chunk_fields(w, &(struct mcap_writer_chunk){ 0 }, 0, &w->scratch);
	skip = w->scratch.n;
	put_definitions(w, c, &w->scratch);
	offset = w->chunk.size + w->scratch.n - skip;
	put_message_head(m, bytes, &w->scratch);
	if (w->scratch.failed) {
		w->scratch.failed = false;
		return -ENOMEM;
	}
	r = w->deflate ? take_packed(w, &w->scratch, pieces, n) : take_plain(w, &w->scratch, skip, pieces, n);
	if (r < 0)
		return r;
	w->chunk.open = true;
	w->chunk.size += w->scratch.n - skip + bytes;
	count(w, c, (uint64_t)m->log_time_ns, offset);
	/* the message is written; if closing the chunk fails now, it is tried again before the next message */
	if (w->chunk.size >= w->chunk_bytes)
		w->full = mcap_close_chunk(w) < 0;
	return 0;
}

static int flush(struct log_writer *base)
{
	struct mcap_writer *w = of(base);

	return w->broken ? w->broken : mcap_close_chunk(w);
}

/* ---- writer ---- */

static void destroy(struct log_writer *base)
{
	struct mcap_writer *w = of(base);

	for (uint32_t i = 0; i < w->n_channels; i++) {
		mcap_buf_finish(&w->channels[i].record);
		mem_free(w->channels[i].index);
	}
	for (size_t i = 0; i < w->n_schemas; i++)
		mcap_buf_finish(&w->schemas[i]);
	mem_free(w->channels);
	mem_free(w->schemas);
	mem_free(w->iov);
	mcap_buf_finish(&w->scratch);
	mcap_buf_finish(&w->packed);
	mcap_buf_finish(&w->chunk_indexes);
	mcap_buf_finish(&w->attachment_indexes);
	mcap_buf_finish(&w->metadata_indexes);
	mcap_deflate_destroy(w->deflate);
	mem_free(w);
}

static const struct log_writer_ops ops = {
	.add_channel = add_channel,
	.put = put,
	.metadata = mcap_write_metadata,
	.attachment = mcap_write_attachment,
	.flush = flush,
	.finish = mcap_write_summary,
	.destroy = destroy,
};

static int write_header(struct mcap_writer *w, const char *profile)
{
	size_t at;

	mcap_put(&w->scratch, MCAP_MAGIC, MCAP_MAGIC_SIZE);
	at = mcap_begin(&w->scratch, MCAP_OP_HEADER);
	mcap_put_str(&w->scratch, profile);
	mcap_put_str(&w->scratch, "simd " SIM_VERSION);
	mcap_end(&w->scratch, at);
	return w->scratch.failed ? -ENOMEM : log_out_bytes(&w->base.out, w->scratch.p, w->scratch.n);
}

int mcap_create(const struct log_out *out, const struct log_write_options *o, struct log_writer **ret, char *why,
		size_t why_size)
{
	struct mcap_writer *w;
	int r = 0;

	if (o->compression > LOG_COMPRESSION_ZSTD)
		return log_fail(why, why_size, -ENOTSUP,
				"MCAP has the compressions none, lz4 and zstd; choose one of them");
	w = MEM_NEW(struct mcap_writer);
	if (!w)
		return log_fail(why, why_size, -ENOMEM, "no memory");
	w->base.ops = &ops;
	w->base.out = *out;
	w->compression = (int)o->compression;
	w->crc = !o->no_crc;
	w->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : CHUNK_BYTES;
	if (o->compression != LOG_COMPRESSION_NONE)
		r = mcap_deflate_create(o->compression, o->level, &w->deflate);
	if (r >= 0)
		r = write_header(w, o->profile);
	if (r < 0) {
		destroy(&w->base);
		return log_fail(why, why_size, r, "the beginning of the file cannot be written: %s", strerror(-r));
	}
	*ret = &w->base;
	return 0;
}
