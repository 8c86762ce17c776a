/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Apollo's .record, byte for byte like Cyber RT's writer. A chunk is collected in memory, as its sections begin
 * with their length. Thread: as log.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "channels.h"
#include "formats.h"
#include "iov_buf.h"
#include "mem.h"
#include "proto_desc.h"
#include "pb_writer.h"
#include "record_format.h"

#define HEAD_MAX 128u /* upper bound of a chunk's header with its head, and of its two entries in the index */

struct index_chunk {
	struct record_chunk chunk;
	uint64_t header_at, body_at;
};

struct index_item {      /* in file order */
	uint64_t at;     /* of a channel: position of its section */
	int64_t channel; /* -1: the next chunk */
};

struct record_writer {
	struct log_writer w;
	struct channels channels;
	struct record_header header;
	struct record_chunk chunk; /* the open chunk */
	struct iov_buf body, small;
	struct index_chunk *chunks;
	struct index_item *items;
	size_t n_chunks, chunks_cap, n_items, items_cap;
	uint64_t index_bytes; /* upper bound */
	size_t chunk_bytes;
};

static struct record_writer *of(struct log_writer *w)
{
	return (struct record_writer *)w;
}

/* ---- sections ---- */

static void head_put(uint8_t to[RECORD_HEAD], enum record_section type, uint64_t size)
{
	memset(to, 0, RECORD_HEAD);
	to[0] = (uint8_t)type;
	for (unsigned i = 0; i < 8; i++)
		to[8 + i] = (uint8_t)(size >> 8 * i);
}

static int section_put(struct record_writer *d, enum record_section type, const struct iov_buf *b)
{
	struct iovec iov[IOV_BUF_PIECES + 1];
	uint8_t head[RECORD_HEAD];
	unsigned n = iov_buf_iov(b, iov + 1);

	head_put(head, type, b->total);
	iov[0] = (struct iovec){ .iov_base = head, .iov_len = sizeof(head) };
	return log_out_put(&d->w.out, iov, (int)n + 1);
}

/* Writes the header with its current values, in its area. */
static int header_put(struct record_writer *d)
{
	const struct record_header *h = &d->header;
	const uint64_t v[] = {
		h->major,          h->minor,        h->compress,       h->chunk_interval, h->segment_interval,
		h->index_position, h->chunk_number, h->channel_number, h->begin_time,     h->end_time,
		h->message_number, h->size,         h->is_complete,    h->chunk_raw_size, h->segment_raw_size
	};
	uint8_t area[RECORD_FIRST] = { 0 }, *at = area + RECORD_HEAD;

	for (uint32_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		at = pb_put_varint(pb_put_tag(at, i + 1, PB_VARINT), v[i]);
	head_put(area, RECORD_HEADER, (uint64_t)(at - area) - RECORD_HEAD);
	*at = RECORD_PAD;
	if (d->w.out.size)
		return log_out_patch(&d->w.out, 0, area, sizeof(area));
	return log_out_bytes(&d->w.out, area, sizeof(area));
}

/* ---- index ---- */

static int index_room(void **list, size_t *cap, size_t n, size_t size)
{
	void *more;

	if (n < *cap)
		return 0;
	more = mem_realloc(*list, (*cap ? *cap * 2 : 64) * size);
	if (!more)
		return -ENOMEM;
	*list = more;
	*cap = *cap ? *cap * 2 : 64;
	return 0;
}

static int items_room(struct record_writer *d)
{
	int r = index_room((void **)&d->items, &d->items_cap, d->n_items, sizeof(*d->items));

	return r < 0 ? r : index_room((void **)&d->chunks, &d->chunks_cap, d->n_chunks, sizeof(*d->chunks));
}

static void entry_open(struct pb_writer *w, enum record_section type, uint64_t at, uint32_t cache)
{
	pb_open(w, 1);
	pb_u64(w, 1, type);
	pb_u64(w, 2, at);
	pb_open(w, cache);
}

static void entry_close(struct pb_writer *w)
{
	pb_close(w);
	pb_close(w);
}

static void index_channel(struct pb_writer *w, const struct log_channel *ch, uint64_t at)
{
	entry_open(w, RECORD_CHANNEL, at, 101);
	pb_u64(w, 1, ch->n_messages);
	pb_string(w, 2, ch->topic, strlen(ch->topic));
	pb_string(w, 3, ch->schema_name, strlen(ch->schema_name));
	pb_bytes(w, 4, ch->schema.data, ch->schema.size);
	entry_close(w);
}

static void index_chunk(struct pb_writer *w, const struct index_chunk *x)
{
	entry_open(w, RECORD_CHUNK_HEADER, x->header_at, 102);
	pb_u64(w, 1, x->chunk.message_number);
	pb_u64(w, 2, x->chunk.begin_time);
	pb_u64(w, 3, x->chunk.end_time);
	pb_u64(w, 4, x->chunk.raw_size);
	entry_close(w);
	entry_open(w, RECORD_CHUNK_BODY, x->body_at, 103);
	pb_u64(w, 1, x->chunk.message_number);
	entry_close(w);
}

static int index_put(struct record_writer *d)
{
	const struct index_chunk *x = d->chunks;
	struct pb_writer w;
	int r;

	iov_buf_reset(&d->body);
	pb_begin(&w, &d->body);
	for (size_t i = 0; i < d->n_items; i++) {
		if (d->items[i].channel < 0)
			index_chunk(&w, x++);
		else
			index_channel(&w, &d->channels.list[d->items[i].channel], d->items[i].at);
	}
	r = pb_end(&w);
	d->header.index_position = d->w.out.size;
	return r < 0 ? r : section_put(d, RECORD_INDEX, &d->body);
}

/* ---- channels ---- */

static int channel_put(struct record_writer *d, const struct log_channel *ch)
{
	struct pb_writer w;
	int r;

	iov_buf_reset(&d->small);
	pb_begin(&w, &d->small);
	pb_string(&w, 1, ch->topic, strlen(ch->topic));
	pb_string(&w, 2, ch->schema_name, strlen(ch->schema_name));
	pb_bytes(&w, 3, ch->schema.data, ch->schema.size);
	r = pb_end(&w);
	return r < 0 ? r : section_put(d, RECORD_CHANNEL, &d->small);
}

/* Converts MCAP's set of definitions to Cyber RT's tree. Borrows from room. */
static int as_proto_desc(struct log_channel *ch, struct iov_buf *room)
{
	struct iovec iov[IOV_BUF_PIECES];
	int r;

	if (!ch->schema.size || strcmp(ch->schema_encoding, "protobuf") != 0)
		return 0;
	r = proto_desc_of_set(ch->schema.data, ch->schema.size, ch->schema_name, room);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOTSUP;
	if (iov_buf_iov(room, iov) != 1)
		return -ENOTSUP;
	ch->schema = (struct log_bytes){ iov[0].iov_base, iov[0].iov_len };
	ch->schema_encoding = "apollo";
	return 0;
}

/* Reuses a channel of the same name: Cyber RT identifies channels by their name. */
static int channel_again(struct record_writer *d, int64_t id, const struct log_channel *ch, uint32_t *ret_id)
{
	if (strcmp(d->channels.list[id].schema_name, ch->schema_name))
		return -ENOTSUP;
	*ret_id = (uint32_t)id;
	return 0;
}

static int add_channel(struct log_writer *w, const struct log_channel *ch, uint32_t *ret_id)
{
	struct record_writer *d = of(w);
	struct log_channel copy = *ch;
	uint64_t at = w->out.size;
	size_t len = strlen(ch->topic);
	int64_t id = channels_find(&d->channels, ch->topic, len);
	int r;

	if (strcmp(ch->message_encoding, "protobuf") || (ch->schema.size && strcmp(ch->schema_encoding, "apollo")))
		return -ENOTSUP;
	if (id >= 0)
		return channel_again(d, id, ch, ret_id);
	if (d->channels.n == CHANNELS_MAX)
		return -ENOSPC;
	copy.n_messages = 0;
	r = items_room(d);
	if (r >= 0)
		r = log_out_reserve(&w->out, d->index_bytes + d->body.total + 2 * (len + ch->schema.size + HEAD_MAX));
	if (r >= 0)
		r = channel_put(d, &copy);
	if (r < 0)
		return r;
	id = channels_add(&d->channels, ch->topic, len, &copy);
	if (id < 0)
		return (int)id; /* a channel without messages in the file is harmless */
	d->items[d->n_items++] = (struct index_item){ .at = at, .channel = id };
	d->index_bytes += len + strlen(ch->schema_name) + ch->schema.size + HEAD_MAX;
	d->header.channel_number++;
	*ret_id = (uint32_t)id;
	return 0;
}

static int record_add_channel(struct log_writer *w, const struct log_channel *ch, uint32_t *ret_id)
{
	struct log_channel as_is = *ch;
	struct iov_buf room;
	int r;

	iov_buf_init(&room);
	r = as_proto_desc(&as_is, &room);
	if (r >= 0)
		r = add_channel(w, &as_is, ret_id);
	iov_buf_finish(&room);
	return r;
}

/* ---- chunks ---- */

/* The ChunkHeader message, in d->small. */
static int chunk_header_make(struct record_writer *d)
{
	struct pb_writer w;

	iov_buf_reset(&d->small);
	pb_begin(&w, &d->small);
	pb_u64(&w, 1, d->chunk.begin_time);
	pb_u64(&w, 2, d->chunk.end_time);
	pb_u64(&w, 3, d->chunk.message_number);
	pb_u64(&w, 4, d->chunk.raw_size);
	return pb_end(&w);
}

/* Writes both sections at once, so that a full disk leaves neither. */
static int chunk_put(struct record_writer *d, struct index_chunk *ret)
{
	struct iovec iov[2 * (IOV_BUF_PIECES + 1)];
	uint8_t head[2][RECORD_HEAD];
	unsigned n;
	int r = chunk_header_make(d);

	if (r < 0)
		return r;
	*ret = (struct index_chunk){ .chunk = d->chunk, .header_at = d->w.out.size };
	ret->body_at = ret->header_at + RECORD_HEAD + d->small.total;
	head_put(head[0], RECORD_CHUNK_HEADER, d->small.total);
	head_put(head[1], RECORD_CHUNK_BODY, d->body.total);
	iov[0] = (struct iovec){ .iov_base = head[0], .iov_len = RECORD_HEAD };
	n = 1 + iov_buf_iov(&d->small, iov + 1);
	iov[n] = (struct iovec){ .iov_base = head[1], .iov_len = RECORD_HEAD };
	n += 1 + iov_buf_iov(&d->body, iov + n + 1);
	return log_out_put(&d->w.out, iov, (int)n);
}

static int record_flush(struct log_writer *w)
{
	struct record_writer *d = of(w);
	struct record_header *h = &d->header;
	int r = items_room(d);

	if (r < 0 || !d->chunk.message_number)
		return r < 0 ? r : 0;
	r = chunk_put(d, &d->chunks[d->n_chunks]);
	if (r < 0)
		return r;
	if (!h->message_number || d->chunk.begin_time < h->begin_time)
		h->begin_time = d->chunk.begin_time;
	if (d->chunk.end_time > h->end_time)
		h->end_time = d->chunk.end_time;
	h->message_number += d->chunk.message_number;
	h->chunk_number++;
	d->n_chunks++;
	d->items[d->n_items++] = (struct index_item){ .channel = -1 };
	d->index_bytes += HEAD_MAX;
	d->w.index_bytes = d->n_items * sizeof(*d->items) + d->n_chunks * sizeof(*d->chunks);
	d->chunk = (struct record_chunk){ 0 };
	iov_buf_reset(&d->body);
	return 0;
}

/* ---- messages ---- */

/* Size of a SingleMessage with its tag and length; *ret_inner: without them. */
static size_t message_size(size_t name, uint64_t time, size_t content, size_t *ret_inner)
{
	*ret_inner = 1 + pb_varint_size(name) + name + 1 + pb_varint_size(time) + 1 + pb_varint_size(content) + content;
	return 1 + pb_varint_size(*ret_inner) + *ret_inner;
}

static int message_put(struct record_writer *d, const char *name, uint64_t time, const struct iovec *pieces, int n,
		       size_t content)
{
	size_t len = strlen(name), inner, all = message_size(len, time, content, &inner);
	uint8_t *at = iov_buf_room(&d->body, all);

	if (!at)
		return -ENOMEM;
	at = pb_put_varint(pb_put_tag(at, 1, PB_LENGTH), inner);
	at = pb_put_varint(pb_put_tag(at, 1, PB_LENGTH), len);
	memcpy(at, name, len);
	at = pb_put_varint(pb_put_tag(at + len, 2, PB_VARINT), time);
	at = pb_put_varint(pb_put_tag(at, 3, PB_LENGTH), content);
	for (int i = 0; i < n; at += pieces[i++].iov_len)
		if (pieces[i].iov_len)
			memcpy(at, pieces[i].iov_base, pieces[i].iov_len);
	d->w.copied += content;
	return 0;
}

static bool chunk_full(const struct record_writer *d, uint64_t time, size_t content)
{
	const struct record_chunk *k = &d->chunk;

	return k->message_number && (k->raw_size + content > d->chunk_bytes ||
				     (time > k->begin_time && time - k->begin_time > d->header.chunk_interval));
}

static int record_put(struct log_writer *w, const struct log_message *m, const struct iovec *pieces, int n)
{
	struct record_writer *d = of(w);
	struct record_chunk *k = &d->chunk;
	uint64_t time = (uint64_t)m->log_time_ns;
	size_t content = 0, inner, all;
	struct log_channel *ch;
	int r = 0;

	if (m->channel >= d->channels.n)
		return -EINVAL;
	if (m->log_time_ns < 0)
		return -ERANGE;
	for (int i = 0; i < n; i++)
		content += pieces[i].iov_len;
	ch = &d->channels.list[m->channel];
	all = message_size(strlen(ch->topic), time, content, &inner);
	if (all > RECORD_SECTION_BYTES_MAX / 2)
		return -EMSGSIZE;
	if (chunk_full(d, time, content))
		r = record_flush(w);
	if (r >= 0)
		r = log_out_reserve(&w->out, d->body.total + all + d->index_bytes + 3 * HEAD_MAX);
	if (r >= 0)
		r = message_put(d, ch->topic, time, pieces, n, content);
	if (r < 0)
		return r;
	if (!k->message_number || time < k->begin_time)
		k->begin_time = time;
	if (time > k->end_time)
		k->end_time = time;
	k->message_number++;
	k->raw_size += content;
	ch->n_messages++;
	return 0;
}

/* ---- begin and end ---- */

static int record_finish(struct log_writer *w, char *why, size_t why_size)
{
	struct record_writer *d = of(w);
	uint64_t n = d->chunk.message_number;
	int r = record_flush(w);

	if (r < 0)
		return log_fail(why, why_size, r,
				"%s: the last chunk, %" PRIu64
				" messages, could not be written: %s; the messages before it are kept",
				w->path, n, strerror(-r));
	r = index_put(d);
	if (r < 0)
		return log_fail(why, why_size, r,
				"%s: the index could not be written: %s; `simctl bag recover` makes one", w->path,
				strerror(-r));
	d->header.is_complete = 1;
	d->header.size = w->out.size;
	r = header_put(d);
	return r < 0 ? log_fail(why, why_size, r, "%s: the header could not be written: %s", w->path, strerror(-r)) : 0;
}

static void record_destroy(struct log_writer *w)
{
	struct record_writer *d = of(w);

	channels_finish(&d->channels);
	iov_buf_finish(&d->body);
	iov_buf_finish(&d->small);
	mem_free(d->chunks);
	mem_free(d->items);
	mem_free(d);
}

static const struct log_writer_ops ops = {
	.add_channel = record_add_channel,
	.put = record_put,
	.flush = record_flush,
	.finish = record_finish,
	.destroy = record_destroy,
};

int record_create(const struct log_out *out, const struct log_write_options *o, struct log_writer **ret, char *why,
		  size_t why_size)
{
	struct record_writer *d;
	int r;

	if (o->compression != LOG_COMPRESSION_NONE)
		return log_fail(why, why_size, -ENOTSUP, "Cyber RT reads .record files without compression only");
	d = MEM_NEW(struct record_writer);
	if (!d)
		return log_fail(why, why_size, -ENOMEM, "no memory");
	d->w = (struct log_writer){ .ops = &ops, .out = *out };
	d->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : RECORD_CHUNK_BYTES;
	iov_buf_init(&d->body);
	iov_buf_init(&d->small);
	d->header = (struct record_header){ .major = 1,
					    .chunk_interval = RECORD_CHUNK_DUR_NS,
					    .segment_interval = RECORD_SEGMENT_DUR_NS,
					    .chunk_raw_size = d->chunk_bytes,
					    .segment_raw_size = RECORD_SEGMENT_BYTES };
	r = header_put(d);
	if (r < 0) {
		record_destroy(&d->w);
		return log_fail(why, why_size, r, "the header could not be written: %s", strerror(-r));
	}
	*ret = &d->w;
	return 0;
}
