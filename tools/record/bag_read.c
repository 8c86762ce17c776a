/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a .bag: by its index, or by a scan if it has none. Thread: as log.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bag_private.h"
#include "formats.h"
#include "mem.h"

/* ---- by the index ---- */

static int id_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Counts the messages of each connection in the chunk, into e and the channels. */
static int info_counts(struct bag *b, const uint8_t *data, size_t n, struct chunk_entry *e)
{
	e->channels = mem_calloc(n + 1, sizeof(*e->channels));
	if (!e->channels)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++, data += 8) {
		int64_t id = channels_find(&b->c.channels, data, 4);

		if (id < 0)
			return -EBADMSG;
		e->channels[i] = (uint32_t)id;
		e->n_messages += log_u32(data + 4);
		b->c.channels.list[id].n_messages += log_u32(data + 4);
	}
	e->n_channels = n;
	qsort(e->channels, n, sizeof(*e->channels), id_order);
	return 0;
}

static int info_add(struct bag *b, const struct bag_head *h, const uint8_t *data, size_t n)
{
	struct chunk_entry e = { .kind = BAG_WHOLE,
				 .start_ns = bag_time(&h->start_time),
				 .end_ns = bag_time(&h->end_time) };
	struct bag_record rec;
	int r, c;

	if (!h->chunk_pos.data || !h->count.data || log_u32(h->count.data) != n / 8)
		return -EBADMSG;
	e.offset = log_u64(h->chunk_pos.data);
	r = bag_record_read(b, e.offset, &rec);
	if (r || rec.head.op != BAG_CHUNK)
		return r == -ENOMEM ? r : -EBADMSG;
	c = bag_compression(b, &rec);
	if (c >= 0)
		b->compressions |= 1u << c;
	r = info_counts(b, data, n / 8, &e);
	if (r < 0) {
		mem_free(e.channels);
		return r;
	}
	return chunk_reader_add(&b->c, &e);
}

static int index_parse(struct bag *b, const uint8_t *p, size_t n)
{
	uint32_t conns = 0, infos = 0;
	const uint8_t *data;
	struct bag_head h;
	size_t at = 0, size;
	int r, e = 0;

	while (e >= 0 && (r = bag_record_next(p, n, &at, &h, &data, &size)) > 0) {
		if (h.op == BAG_CONNECTION) {
			e = bag_connection(b, &h, data, size, b->index_pos);
			conns++;
		} else if (h.op == BAG_CHUNK_INFO) {
			e = info_add(b, &h, data, size);
			infos++;
		}
	}
	if (e < 0 || r < 0)
		return e < 0 ? e : r;
	return conns == b->conn_count && infos == b->chunk_count ? 0 : -EBADMSG;
}

static int index_read(struct bag *b)
{
	uint64_t n = bag_left(b, b->index_pos);
	uint8_t *p;
	int r;

	if (n > b->c.r.options.max_bytes || (!n && (b->conn_count || b->chunk_count)))
		return -EBADMSG;
	p = mem_alloc((size_t)n + 1);
	if (!p)
		return -ENOMEM;
	r = bag_read(b, b->index_pos, p, (size_t)n);
	if (r >= 0)
		r = index_parse(b, p, (size_t)n);
	mem_free(p);
	return r;
}

static void forget(struct bag *b)
{
	for (size_t i = 0; i < b->c.n; i++)
		mem_free(b->c.entries[i].channels);
	b->c.n = 0;
	channels_finish(&b->c.channels);
}

/* ---- open ---- */

static int header_read(struct bag *b)
{
	struct bag_record rec;
	int r = bag_record_read(b, BAG_MAGIC_SIZE, &rec);

	if (r || rec.head.op != BAG_HEADER)
		return bag_fail(b, -EBADMSG, BAG_MAGIC_SIZE, "the header is cut off or damaged");
	if (rec.head.encryptor.size)
		return bag_fail(b, -ENOTSUP, BAG_MAGIC_SIZE, "the bag is encrypted, which is not read");
	if (rec.head.index_pos.data)
		b->index_pos = log_u64(rec.head.index_pos.data);
	if (rec.head.conn_count.data)
		b->conn_count = log_u32(rec.head.conn_count.data);
	if (rec.head.chunk_count.data)
		b->chunk_count = log_u32(rec.head.chunk_count.data);
	return 0;
}

static const char *compression_names(struct bag *b)
{
	const char *const names[] = { "none", "lz4", "zstd", "bz2" };
	size_t n = 0;

	for (unsigned i = 0; i < 4; i++)
		if (b->compressions & 1u << i)
			n += (size_t)snprintf(b->names + n, sizeof(b->names) - n, "%s%s", n ? ", " : "", names[i]);
	return n ? b->names : "none";
}

static int list_all(struct bag *b)
{
	struct log_info *info = &b->c.r.info;
	int r = 0;

	info->format = LOG_BAG;
	info->counted = true;
	info->profile = "ros1";
	info->complete = b->index_pos != 0;
	if (b->index_pos && !b->c.r.options.scan) {
		r = index_read(b);
		info->indexed = !r;
		info->complete = !r;
		if (r && r != -ENOMEM)
			b->no_index = "the index is missing or damaged; the file is read record by record";
	}
	if (!info->indexed && r != -ENOMEM) {
		forget(b);
		b->compressions = 0;
		r = bag_scan(b);
	}
	info->compression = compression_names(b);
	return r < 0 ? r : chunk_reader_ready(&b->c);
}

static void bag_close(struct log_reader *r)
{
	struct bag *b = (struct bag *)r;

	chunk_reader_finish(&b->c);
	mem_free(b->head.data);
	mem_free(b->zip.data);
	mem_free(b);
}

static const struct log_reader_ops ops = {
	.close = bag_close, .select = chunk_reader_select, .seek = chunk_reader_seek, .next = chunk_reader_next
};

bool bag_is(const struct log_opening *o)
{
	return o->n_head >= 9 && !memcmp(o->head, BAG_MAGIC, 9);
}

int bag_open(struct log_opening *o, struct log_reader **ret)
{
	struct bag *b;
	int r;

	if (o->n_head < BAG_MAGIC_SIZE || memcmp(o->head, BAG_MAGIC, BAG_MAGIC_SIZE) != 0)
		return log_fail(o->why, o->why_size, -ENOTSUP,
				"%s: a .bag of another version than 2.0; `rosbag fix` converts it", o->path);
	b = MEM_NEW(struct bag);
	if (!b)
		return log_fail(o->why, o->why_size, -ENOMEM, "%s: no memory", o->path);
	chunk_reader_init(&b->c, &ops, o);
	b->c.load = bag_load;
	r = header_read(b);
	if (r >= 0)
		r = list_all(b);
	if (r < 0) {
		log_fail(o->why, o->why_size, r, "%s: %s", o->path, b->c.r.why[0] ? b->c.r.why : "no memory");
		bag_close(&b->c.r);
		return r;
	}
	b->c.r.why[0] = '\0';
	*ret = &b->c.r;
	return 0;
}
