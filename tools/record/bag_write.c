/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes .bag files, version 2.0. A chunk is collected in memory, as it begins with its length, and may be compressed.
 * A connection is described before its first message, and again at the end. Thread: as log.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bag_format.h"
#include "channels.h"
#include "formats.h"
#include "mem.h"
#include "ros/ros_text.h"

#define RECORD_MAX     128u /* size of a written record without data and texts, at most */
#define MESSAGE_HEAD   47u  /* of a message: the fields op, conn, time, and both lengths */
#define INDEX_HEAD     55u  /* op, ver, conn, count */
#define INDEX_ENTRY    12u
#define INFO_HEAD      112u /* op, ver, chunk_pos, start_time, end_time, count */
#define CHUNK_MAX      ((size_t)1 << 30)
#define TIME_NS_MAX    ((int64_t)UINT32_MAX * 1000000000 + 999999999)
#define DEFINITION_MAX (1u << 20)

struct buffer {
	uint8_t *data;
	size_t size, room;
};

struct connection {           /* one per channel */
	struct buffer record; /* the connection's record for chunks and the end */
	struct buffer index;  /* index entries of the open chunk */
	uint32_t count;       /* messages in the open chunk */
	bool used;            /* has been described */
};

struct chunk_info {
	uint64_t at;
	int64_t start_ns, end_ns;
	uint32_t n;    /* number of connections in the chunk */
	size_t counts; /* start of their counts in bag_writer.counts */
};

struct bag_writer {
	struct log_writer w;
	struct channels channels;
	struct connection *connections;
	size_t connections_cap;
	struct buffer chunk, zip, small, counts;
	struct buffer infos;      /* array of struct chunk_info */
	int64_t start_ns, end_ns; /* times of the open chunk */
	uint64_t n_messages;      /* messages in the open chunk */
	uint64_t tail_bytes;      /* size of the records at the end of the file */
	enum log_compression compression;
	int level;
	size_t chunk_bytes;
};

static struct bag_writer *of(struct log_writer *w)
{
	return (struct bag_writer *)w;
}

/* ---- buffers ---- */

static uint8_t *room(struct buffer *b, size_t n)
{
	size_t want = b->room ? b->room : 256;
	uint8_t *data;

	if (n > b->room - b->size) {
		while (want - b->size < n)
			want *= 2;
		data = mem_realloc(b->data, want);
		if (!data)
			return NULL;
		b->data = data;
		b->room = want;
	}
	return b->data + b->size;
}

static void put_u32(uint8_t *to, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		to[i] = (uint8_t)(v >> 8 * i);
}

static void put_time(uint8_t *to, int64_t ns)
{
	put_u32(to, (uint32_t)(ns / 1000000000));
	put_u32(to + 4, (uint32_t)(ns % 1000000000));
}

static uint8_t *field(uint8_t *to, const char *name, const void *value, size_t n)
{
	size_t len = strlen(name);

	put_u32(to, (uint32_t)(len + 1 + n));
	memcpy(to + 4, name, len);
	to[4 + len] = '=';
	if (n)
		memcpy(to + 5 + len, value, n);
	return to + 5 + len + n;
}

static uint8_t *field_op(uint8_t *to, enum bag_op op)
{
	return field(to, "op", &(uint8_t){ (uint8_t)op }, 1);
}

static uint8_t *field_u32(uint8_t *to, const char *name, uint32_t v)
{
	uint8_t b[4];

	put_u32(b, v);
	return field(to, name, b, 4);
}

static uint8_t *field_u64(uint8_t *to, const char *name, uint64_t v)
{
	uint8_t b[8];

	put_u32(b, (uint32_t)v);
	put_u32(b + 4, (uint32_t)(v >> 32));
	return field(to, name, b, 8);
}

static uint8_t *field_time(uint8_t *to, const char *name, int64_t ns)
{
	uint8_t b[8];

	put_time(b, ns);
	return field(to, name, b, 8);
}

/* Completes a header that begins at `head`, with room for its length before it; data of n bytes follows. */
static uint8_t *header_end(uint8_t *head, uint8_t *end, size_t n)
{
	put_u32(head - 4, (uint32_t)(end - head));
	put_u32(end, (uint32_t)n);
	return end + 4;
}

/* ---- the file's header ---- */

static int file_header_put(struct bag_writer *d, uint64_t index_pos, uint32_t conns, uint32_t chunks)
{
	uint8_t b[BAG_MAGIC_SIZE + 8 + BAG_HEADER_SIZE], *head = b + BAG_MAGIC_SIZE + 4, *at;

	memset(b, ' ', sizeof(b));
	memcpy(b, BAG_MAGIC, BAG_MAGIC_SIZE);
	at = field_u32(head, "chunk_count", chunks);
	at = field_u32(at, "conn_count", conns);
	at = field_u64(at, "index_pos", index_pos);
	at = field_op(at, BAG_HEADER);
	header_end(head, at, BAG_HEADER_SIZE - (size_t)(at - head));
	if (d->w.out.size)
		return log_out_patch(&d->w.out, 0, b, sizeof(b));
	return log_out_bytes(&d->w.out, b, sizeof(b));
}

/* ---- connections ---- */

static const char *text(const char *s)
{
	return s ? s : "";
}

/* The md5sum of the definition; "*", which matches any, if the channel has no definition. */
static void sum_of(const struct log_channel *ch, const char *definition, char ret[ROS_TEXT_MD5])
{
	const char *known = channel_metadata(ch, "md5sum");
	struct ros_text *t;

	if (known && strlen(known) < ROS_TEXT_MD5) {
		snprintf(ret, ROS_TEXT_MD5, "%s", known);
		return;
	}
	snprintf(ret, ROS_TEXT_MD5, "*");
	if ((*definition || strcmp(ch->schema_encoding, "ros1msg") == 0) &&
	    !ros_text_create(ch->schema_name, definition, ros1_types, NULL, 0, &t)) {
		snprintf(ret, ROS_TEXT_MD5, "%s", ros_text_type(t)->hash);
		ros_text_destroy(t);
	}
}

static uint8_t *field_text(uint8_t *to, const char *name, const char *s)
{
	return field(to, name, s, strlen(s));
}

static int connection_make(struct connection *x, uint32_t id, const struct log_channel *ch, const char *definition)
{
	const char *callerid = text(channel_metadata(ch, "callerid")),
		   *latching = text(channel_metadata(ch, "latching"));
	size_t n = 2 * RECORD_MAX + 2 * strlen(ch->topic) + strlen(ch->schema_name) + strlen(definition) +
		   strlen(callerid) + strlen(latching);
	uint8_t *head, *at, *data;
	char sum[ROS_TEXT_MD5];

	sum_of(ch, definition, sum);
	if (!room(&x->record, n))
		return -ENOMEM;
	head = x->record.data + 4;
	at = field_u32(head, "conn", id);
	at = field_op(at, BAG_CONNECTION);
	at = field_text(at, "topic", ch->topic);
	data = at + 4;
	at = data;
	if (*callerid)
		at = field_text(at, "callerid", callerid);
	if (*latching)
		at = field_text(at, "latching", latching);
	at = field_text(at, "md5sum", sum);
	at = field_text(at, "message_definition", definition);
	at = field_text(at, "topic", ch->topic);
	at = field_text(at, "type", ch->schema_name);
	header_end(head, data - 4, (size_t)(at - data));
	x->record.size = (size_t)(at - x->record.data);
	return 0;
}

static int connections_room(struct bag_writer *d)
{
	size_t cap = d->connections_cap ? d->connections_cap * 2 : 16;
	struct connection *c;

	if (d->channels.n < d->connections_cap)
		return 0;
	c = mem_realloc(d->connections, cap * sizeof(*c));
	if (!c)
		return -ENOMEM;
	memset(c + d->connections_cap, 0, (cap - d->connections_cap) * sizeof(*c));
	d->connections = c;
	d->connections_cap = cap;
	return 0;
}

static int bag_add_channel(struct log_writer *w, const struct log_channel *ch, uint32_t *ret_id)
{
	struct bag_writer *d = of(w);
	uint32_t id = (uint32_t)d->channels.n;
	char *definition;
	int64_t r;

	if (strcmp(ch->message_encoding, "ros1") || ch->schema.size > DEFINITION_MAX ||
	    (ch->schema.size && strcmp(ch->schema_encoding, "ros1msg")))
		return -ENOTSUP;
	definition = mem_strndup(ch->schema.size ? ch->schema.data : "", ch->schema.size);
	r = definition ? connections_room(d) : -ENOMEM;
	if (r >= 0)
		r = connection_make(&d->connections[id], id, ch, definition);
	if (r >= 0)
		r = channels_add(&d->channels, &id, sizeof(id), ch);
	mem_free(definition);
	if (r >= 0)
		*ret_id = id;
	return r < 0 ? (int)r : 0;
}

/* ---- a chunk ---- */

static const char *compression_name(enum log_compression c)
{
	return c == LOG_COMPRESSION_LZ4 ? "lz4" : c == LOG_COMPRESSION_BZ2 ? "bz2" : "none";
}

/* Compresses the chunk, if the options say so; *ret: the bytes for the file. Returns their number. */
static int64_t chunk_pack(struct bag_writer *d, const uint8_t **ret)
{
	int64_t bound = bag_zip_bound(d->compression, d->chunk.size);

	*ret = d->chunk.data;
	if (d->compression == LOG_COMPRESSION_NONE)
		return (int64_t)d->chunk.size;
	d->zip.size = 0;
	if (bound < 0 || !room(&d->zip, (size_t)bound))
		return bound < 0 ? bound : -ENOMEM;
	*ret = d->zip.data;
	return bag_zip(d->compression, d->level, d->chunk.data, d->chunk.size, d->zip.data, d->zip.room);
}

/* Writes the chunk's head, then the indexes of its connections, into d->small. Returns the head's length. */
static int64_t chunk_around(struct bag_writer *d, size_t packed)
{
	size_t head_size;
	uint8_t *at, *head;

	d->small.size = 0;
	if (!room(&d->small, RECORD_MAX))
		return -ENOMEM;
	head = d->small.data + 4;
	at = field_text(head, "compression", compression_name(d->compression));
	at = field_op(at, BAG_CHUNK);
	at = field_u32(at, "size", (uint32_t)d->chunk.size);
	head_size = d->small.size = (size_t)(header_end(head, at, packed) - d->small.data);
	for (uint32_t i = 0; i < d->channels.n; i++) {
		struct connection *x = &d->connections[i];

		if (!x->count)
			continue;
		if (!room(&d->small, RECORD_MAX + x->index.size))
			return -ENOMEM;
		head = d->small.data + d->small.size + 4;
		at = field_u32(head, "conn", i);
		at = field_u32(at, "count", x->count);
		at = field_op(at, BAG_INDEX);
		at = field_u32(at, "ver", 1);
		at = header_end(head, at, x->index.size);
		memcpy(at, x->index.data, x->index.size);
		d->small.size = (size_t)(at + x->index.size - d->small.data);
	}
	return (int64_t)head_size;
}

/* Makes room for the chunk in the lists for the file's end. */
static int info_room(struct bag_writer *d)
{
	return room(&d->infos, sizeof(struct chunk_info)) && room(&d->counts, d->channels.n * 8 + 8) ? 0 : -ENOMEM;
}

static void info_add(struct bag_writer *d, uint64_t at)
{
	struct chunk_info x = { .at = at, .start_ns = d->start_ns, .end_ns = d->end_ns, .counts = d->counts.size };

	for (uint32_t i = 0; i < d->channels.n; i++) {
		if (!d->connections[i].count)
			continue;
		put_u32(d->counts.data + d->counts.size, i);
		put_u32(d->counts.data + d->counts.size + 4, d->connections[i].count);
		d->counts.size += 8;
		x.n++;
		d->connections[i].count = 0;
		d->connections[i].index.size = 0;
	}
	memcpy(d->infos.data + d->infos.size, &x, sizeof(x));
	d->infos.size += sizeof(x);
	d->tail_bytes += INFO_HEAD + 8 * x.n;
	d->w.index_bytes = d->infos.size + d->counts.size;
}

static int bag_flush(struct log_writer *w)
{
	struct bag_writer *d = of(w);
	uint64_t at = w->out.size;
	const uint8_t *data;
	int64_t n, head;
	int r;

	if (!d->chunk.size)
		return 0;
	n = chunk_pack(d, &data);
	head = n < 0 ? n : chunk_around(d, (size_t)n);
	r = head < 0 ? (int)head : info_room(d);
	if (r < 0)
		return r;
	r = log_out_put(&w->out,
			(struct iovec[]){
				{ .iov_base = d->small.data, .iov_len = (size_t)head },
				{ .iov_base = (void *)data, .iov_len = (size_t)n },
				{ .iov_base = d->small.data + head, .iov_len = d->small.size - (size_t)head } },
			3);
	if (r < 0)
		return r;
	info_add(d, at);
	d->chunk.size = 0;
	d->n_messages = 0;
	return 0;
}

/* ---- messages ---- */

static int message_add(struct bag_writer *d, uint32_t id, int64_t ns, const struct iovec *pieces, int n, size_t size)
{
	struct connection *x = &d->connections[id];
	uint8_t *at, *head, *entry = room(&x->index, INDEX_ENTRY);
	uint32_t offset;

	if (!entry || !room(&d->chunk, RECORD_MAX + size + x->record.size))
		return -ENOMEM;
	at = d->chunk.data + d->chunk.size;
	if (!x->used) {
		memcpy(at, x->record.data, x->record.size);
		at += x->record.size;
		d->tail_bytes += x->record.size;
		x->used = true;
	}
	offset = (uint32_t)(at - d->chunk.data);
	head = at + 4;
	at = field_u32(head, "conn", id);
	at = field_op(at, BAG_MESSAGE);
	at = field_time(at, "time", ns);
	at = header_end(head, at, size);
	for (int i = 0; i < n; at += pieces[i++].iov_len)
		if (pieces[i].iov_len)
			memcpy(at, pieces[i].iov_base, pieces[i].iov_len);
	d->chunk.size = (size_t)(at - d->chunk.data);
	put_time(entry, ns);
	put_u32(entry + 8, offset);
	x->index.size += INDEX_ENTRY;
	x->count++;
	d->w.copied += size;
	return 0;
}

static int bag_put(struct log_writer *w, const struct log_message *m, const struct iovec *pieces, int n)
{
	struct bag_writer *d = of(w);
	int64_t ns = m->log_time_ns;
	size_t size = 0;
	int r = 0;

	if (m->channel >= d->channels.n)
		return -EINVAL;
	if (ns < 0 || ns > TIME_NS_MAX)
		return -ERANGE;
	for (int i = 0; i < n; i++)
		size += pieces[i].iov_len;
	if (size > CHUNK_MAX)
		return -EMSGSIZE;
	if (d->n_messages && d->chunk.size + size > d->chunk_bytes)
		r = bag_flush(w);
	if (r >= 0) /* reserve space for all that is still to be written, at its uncompressed size */
		r = log_out_reserve(&w->out, d->chunk.size + size + d->chunk.size / 64 +
						     2 * d->connections[m->channel].record.size + d->tail_bytes +
						     (d->n_messages + 1) * (INDEX_ENTRY + MESSAGE_HEAD) +
						     d->channels.n * (INDEX_HEAD + 8) + 2 * INFO_HEAD);
	if (r >= 0)
		r = message_add(d, m->channel, ns, pieces, n, size);
	if (r < 0)
		return r;
	d->start_ns = !d->n_messages || ns < d->start_ns ? ns : d->start_ns;
	d->end_ns = !d->n_messages || ns > d->end_ns ? ns : d->end_ns;
	d->n_messages++;
	return 0;
}

/* ---- begin and end ---- */

static int info_put(struct bag_writer *d, const struct chunk_info *x)
{
	uint8_t *head, *at;

	if (!room(&d->small, 2 * RECORD_MAX + 8 * (size_t)x->n))
		return -ENOMEM;
	head = d->small.data + d->small.size + 4;
	at = field_u64(head, "chunk_pos", x->at);
	at = field_u32(at, "count", x->n);
	at = field_time(at, "end_time", x->end_ns);
	at = field_op(at, BAG_CHUNK_INFO);
	at = field_time(at, "start_time", x->start_ns);
	at = field_u32(at, "ver", 1);
	at = header_end(head, at, 8 * (size_t)x->n);
	memcpy(at, d->counts.data + x->counts, 8 * (size_t)x->n);
	d->small.size = (size_t)(at + 8 * (size_t)x->n - d->small.data);
	return 0;
}

/* Writes connections and chunk infos into d->small. Returns the number of connections. */
static int64_t tail_make(struct bag_writer *d)
{
	uint32_t conns = 0;

	d->small.size = 0;
	for (uint32_t i = 0; i < d->channels.n; i++) {
		const struct buffer *b = &d->connections[i].record;
		uint8_t *at = d->connections[i].used ? room(&d->small, b->size) : NULL;

		if (!d->connections[i].used)
			continue;
		if (!at)
			return -ENOMEM;
		memcpy(at, b->data, b->size);
		d->small.size += b->size;
		conns++;
	}
	for (size_t i = 0; i < d->infos.size; i += sizeof(struct chunk_info)) {
		struct chunk_info x;

		memcpy(&x, d->infos.data + i, sizeof(x));
		if (info_put(d, &x) < 0)
			return -ENOMEM;
	}
	return conns;
}

static int bag_finish(struct log_writer *w, char *why, size_t why_size)
{
	struct bag_writer *d = of(w);
	uint64_t at, n = d->n_messages;
	int64_t conns;
	int r = bag_flush(w);

	if (r < 0)
		return log_fail(why, why_size, r,
				"%s: the last chunk, %" PRIu64
				" messages, could not be written: %s; the messages before it are kept",
				w->path, n, strerror(-r));
	at = w->out.size;
	conns = tail_make(d);
	r = conns < 0 ? (int)conns : log_out_bytes(&w->out, d->small.data, d->small.size);
	if (r >= 0)
		r = file_header_put(d, at, (uint32_t)conns, (uint32_t)(d->infos.size / sizeof(struct chunk_info)));
	return r < 0 ? log_fail(why, why_size, r,
				"%s: the index could not be written: %s; `simctl bag recover` restores it", w->path,
				strerror(-r))
		     : 0;
}

static void bag_destroy(struct log_writer *w)
{
	struct bag_writer *d = of(w);

	for (size_t i = 0; i < d->connections_cap; i++) {
		mem_free(d->connections[i].record.data);
		mem_free(d->connections[i].index.data);
	}
	mem_free(d->connections);
	channels_finish(&d->channels);
	mem_free(d->chunk.data);
	mem_free(d->zip.data);
	mem_free(d->small.data);
	mem_free(d->counts.data);
	mem_free(d->infos.data);
	mem_free(d);
}

static const struct log_writer_ops ops = {
	.add_channel = bag_add_channel,
	.put = bag_put,
	.flush = bag_flush,
	.finish = bag_finish,
	.destroy = bag_destroy,
};

int bag_create(const struct log_out *out, const struct log_write_options *o, struct log_writer **ret, char *why,
	       size_t why_size)
{
	struct bag_writer *d;
	int r;

	if (o->compression == LOG_COMPRESSION_ZSTD)
		return log_fail(why, why_size, -ENOTSUP, "a .bag has the compressions none, lz4 and bz2, not zstd");
	d = MEM_NEW(struct bag_writer);
	if (!d)
		return log_fail(why, why_size, -ENOMEM, "no memory");
	d->w = (struct log_writer){ .ops = &ops, .out = *out };
	d->compression = o->compression;
	d->level = o->level;
	d->chunk_bytes = o->chunk_bytes && o->chunk_bytes < CHUNK_MAX ? o->chunk_bytes : BAG_CHUNK_BYTES;
	r = file_header_put(d, 0, 0, 0);
	if (r < 0) {
		bag_destroy(&d->w);
		return log_fail(why, why_size, r, "the header could not be written: %s", strerror(-r));
	}
	*ret = &d->w;
	return 0;
}
