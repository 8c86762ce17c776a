/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of MCAP: metadata, attachments, and the summary at the end. Thread: as log.h. */
#include <errno.h>
#include <string.h>

#include "mcap_write_private.h"
#include "mem.h"

static struct mcap_writer *of(struct log_writer *w)
{
	return (struct mcap_writer *)w;
}

/*
 * Writes a record outside of chunks. Its entry for the summary must already be in `index`, from index_was on; it is
 * removed on failure.
 */
static int put_record(struct mcap_writer *w, const struct iovec *iov, int n, struct mcap_buf *index, size_t index_was)
{
	uint64_t bytes =
		1024 + 2 * w->summary_bytes + w->chunk_indexes.n + w->attachment_indexes.n + w->metadata_indexes.n;
	int r = w->scratch.failed || index->failed ? -ENOMEM : 0;

	for (int i = 0; i < n && r >= 0; i++)
		bytes += iov[i].iov_len;
	if (r >= 0)
		r = log_out_reserve(&w->base.out, bytes);
	if (r >= 0)
		r = log_out_put(&w->base.out, iov, n);
	if (r < 0) {
		index->n = index_was;
		index->failed = w->scratch.failed = false;
	}
	return r;
}

int mcap_write_metadata(struct log_writer *base, const char *name, const struct log_pair *pairs, size_t n)
{
	struct mcap_writer *w = of(base);
	size_t was = w->metadata_indexes.n, at;
	int r = w->broken ? w->broken : mcap_close_chunk(w);

	if (r < 0)
		return r;
	w->scratch.n = 0;
	at = mcap_begin(&w->scratch, MCAP_OP_METADATA);
	mcap_put_str(&w->scratch, name);
	mcap_put_map(&w->scratch, pairs, n);
	mcap_end(&w->scratch, at);
	at = mcap_begin(&w->metadata_indexes, MCAP_OP_METADATA_INDEX);
	mcap_put_int(&w->metadata_indexes, w->base.out.size, 8);
	mcap_put_int(&w->metadata_indexes, w->scratch.n, 8);
	mcap_put_str(&w->metadata_indexes, name);
	mcap_end(&w->metadata_indexes, at);
	r = put_record(w, &(struct iovec){ .iov_base = w->scratch.p, .iov_len = w->scratch.n }, 1, &w->metadata_indexes,
		       was);
	w->n_metadata += r >= 0;
	return r;
}

static void put_attachment_index(struct mcap_writer *w, uint64_t length, const struct log_attachment *a)
{
	struct mcap_buf *b = &w->attachment_indexes;
	size_t at = mcap_begin(b, MCAP_OP_ATTACHMENT_INDEX);

	mcap_put_int(b, w->base.out.size, 8);
	mcap_put_int(b, length, 8);
	mcap_put_int(b, (uint64_t)a->log_time_ns, 8);
	mcap_put_int(b, (uint64_t)a->create_time_ns, 8);
	mcap_put_int(b, a->size, 8);
	mcap_put_str(b, a->name);
	mcap_put_str(b, a->media_type);
	mcap_end(b, at);
}

/* The record up to its data. Returns its length. */
static uint64_t put_attachment_head(struct mcap_buf *b, const struct log_attachment *a)
{
	uint64_t length = 8 + 8 + 4 + strlen(a->name) + 4 + strlen(a->media_type) + 8 + a->size + 4;

	b->n = 0;
	mcap_put_int(b, MCAP_OP_ATTACHMENT, 1);
	mcap_put_int(b, length, 8);
	mcap_put_int(b, (uint64_t)a->log_time_ns, 8);
	mcap_put_int(b, (uint64_t)a->create_time_ns, 8);
	mcap_put_str(b, a->name);
	mcap_put_str(b, a->media_type);
	mcap_put_int(b, a->size, 8);
	return MCAP_HEAD + length;
}

int mcap_write_attachment(struct log_writer *base, const struct log_attachment *a)
{
	struct mcap_writer *w = of(base);
	size_t was = w->attachment_indexes.n;
	struct mcap_buf *b = &w->scratch;
	uint8_t crc[4];
	struct iovec iov[3];
	uint32_t sum;
	int r = a->log_time_ns < 0 || a->create_time_ns < 0 ? -EINVAL : w->broken ? w->broken : mcap_close_chunk(w);

	if (r < 0)
		return r;
	put_attachment_index(w, put_attachment_head(b, a), a);
	sum = w->crc && !b->failed ? mcap_crc(mcap_crc(0, b->p + MCAP_HEAD, b->n - MCAP_HEAD), a->data, a->size) : 0;
	for (unsigned i = 0; i < 4; i++)
		crc[i] = (uint8_t)(sum >> 8 * i);
	iov[0] = (struct iovec){ .iov_base = b->p, .iov_len = b->n };
	iov[1] = (struct iovec){ .iov_base = (void *)a->data, .iov_len = a->size };
	iov[2] = (struct iovec){ .iov_base = crc, .iov_len = 4 };
	r = put_record(w, iov, 3, &w->attachment_indexes, was);
	w->n_attachments += r >= 0;
	return r;
}

/* ---- the end ---- */

static void put_statistics(const struct mcap_writer *w, struct mcap_buf *b)
{
	size_t at = mcap_begin(b, MCAP_OP_STATISTICS);
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_channels; i++)
		n += w->channels[i].n_messages > 0;
	mcap_put_int(b, w->n_messages, 8);
	mcap_put_int(b, w->n_schemas, 2);
	mcap_put_int(b, w->n_channels, 4);
	mcap_put_int(b, w->n_attachments, 4);
	mcap_put_int(b, w->n_metadata, 4);
	mcap_put_int(b, w->n_chunks, 4);
	mcap_put_int(b, w->start, 8);
	mcap_put_int(b, w->end, 8);
	mcap_put_int(b, 10 * (uint64_t)n, 4);
	for (uint32_t i = 0; i < w->n_channels; i++) {
		if (!w->channels[i].n_messages)
			continue;
		mcap_put_int(b, mcap_channel_id(i), 2);
		mcap_put_int(b, w->channels[i].n_messages, 8);
	}
	mcap_end(b, at);
}

/* Adds channels without messages, which are not in the file yet. */
static void put_idle_channels(struct mcap_writer *w, struct mcap_buf *b)
{
	for (size_t i = 0; i < w->n_schemas; i++) {
		bool used = false;

		for (uint32_t j = 0; j < w->n_channels; j++)
			used |= w->channels[j].schema == i + 1 && w->channels[j].defined;
		if (!used)
			mcap_put(b, w->schemas[i].p, w->schemas[i].n);
	}
	for (uint32_t i = 0; i < w->n_channels; i++)
		if (!w->channels[i].defined)
			mcap_put(b, w->channels[i].record.p, w->channels[i].record.n);
}

struct group {
	uint8_t op;
	size_t from, to;
};

/* Adds the records of the summary in groups of one kind; returns the number of groups. */
static unsigned put_groups(struct mcap_writer *w, struct mcap_buf *b, struct group g[6])
{
	unsigned n = 0;
	size_t from = b->n;
#define GROUP(opcode) \
	do { \
		if (b->n > from) \
			g[n++] = (struct group){ (opcode), from, b->n }; \
		from = b->n; \
	} while (0)

	for (size_t i = 0; i < w->n_schemas; i++)
		mcap_put(b, w->schemas[i].p, w->schemas[i].n);
	GROUP(MCAP_OP_SCHEMA);
	for (uint32_t i = 0; i < w->n_channels; i++)
		mcap_put(b, w->channels[i].record.p, w->channels[i].record.n);
	GROUP(MCAP_OP_CHANNEL);
	put_statistics(w, b);
	GROUP(MCAP_OP_STATISTICS);
	mcap_put(b, w->metadata_indexes.p, w->metadata_indexes.n);
	GROUP(MCAP_OP_METADATA_INDEX);
	mcap_put(b, w->attachment_indexes.p, w->attachment_indexes.n);
	GROUP(MCAP_OP_ATTACHMENT_INDEX);
	mcap_put(b, w->chunk_indexes.p, w->chunk_indexes.n);
	GROUP(MCAP_OP_CHUNK_INDEX);
#undef GROUP
	return n;
}

static void put_footer(struct mcap_buf *b, size_t from, uint64_t summary, uint64_t offsets, bool crc)
{
	uint32_t sum;

	mcap_put_int(b, MCAP_OP_FOOTER, 1);
	mcap_put_int(b, MCAP_FOOTER, 8);
	mcap_put_int(b, summary, 8);
	mcap_put_int(b, offsets, 8);
	sum = crc && !b->failed ? mcap_crc(0, b->p + from, b->n - from) : 0;
	mcap_put_int(b, sum, 4);
	mcap_put(b, MCAP_MAGIC, MCAP_MAGIC_SIZE);
}

static void put_data_end(struct mcap_buf *b)
{
	size_t at = mcap_begin(b, MCAP_OP_DATA_END);

	mcap_put_int(b, 0, 4);
	mcap_end(b, at);
}

static int write_end(struct mcap_writer *w, bool summary)
{
	struct mcap_buf *b = &w->scratch;
	uint64_t at = w->base.out.size;
	struct group g[6];
	size_t from, offsets;
	unsigned n;

	b->n = 0;
	if (summary)
		put_idle_channels(w, b);
	put_data_end(b);
	from = b->n;
	n = summary ? put_groups(w, b, g) : 0;
	offsets = b->n;
	for (unsigned i = 0; i < n; i++) {
		size_t r = mcap_begin(b, MCAP_OP_SUMMARY_OFFSET);

		mcap_put_int(b, g[i].op, 1);
		mcap_put_int(b, at + g[i].from, 8);
		mcap_put_int(b, g[i].to - g[i].from, 8);
		mcap_end(b, r);
	}
	put_footer(b, from, summary ? at + from : 0, summary ? at + offsets : 0, w->crc);
	if (b->failed) {
		b->failed = false;
		return -ENOMEM;
	}
	return log_out_bytes(&w->base.out, b->p, b->n);
}

int mcap_write_summary(struct log_writer *base, char *why, size_t why_size)
{
	struct mcap_writer *w = of(base);
	uint64_t lost = w->deflate ? w->chunk.n : 0;
	int r = w->broken ? w->broken : mcap_close_chunk(w), s;

	/* without its message indexes, the chunk's records count as outside of chunks, which no summary can describe */
	if (r < 0) {
		s = write_end(w, false);
		return log_fail(why, why_size, r, "%s: %s: the last %llu messages are lost, and the file has %s",
				base->path, strerror(-r), (unsigned long long)lost,
				s < 0 ? "no end; it can be recovered" : "no index");
	}
	r = write_end(w, true);
	if (r >= 0)
		return 0;
	s = write_end(w, false);
	return log_fail(why, why_size, r, "%s: %s: every message is there, but the file has %s", base->path,
			strerror(-r), s < 0 ? "neither index nor end; it can be recovered" : "no index");
}
