/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a .bag whose index is missing or damaged: record by record, skipping damage. A chunk that was open when its
 * writer was killed has no length; its messages are read too. Thread: as log.h.
 */
#include <errno.h>

#include "bag_private.h"
#include "mem.h"

#define SCAN_WINDOW ((size_t)64 << 10)
#define CHUNK_HEAD  256u /* longest header of a chunk, bytes */

struct scan {
	struct bag *b;
	uint64_t at;
	uint64_t open_at; /* start of the records of an unclosed chunk; 0: outside of such a chunk */
};

static int add(struct scan *s, struct chunk_entry *e)
{
	int r = chunk_reader_measure(&s->b->c, e, true);

	if (r == -ENOMEM) {
		mem_free(e->channels);
		return r;
	}
	r = chunk_reader_add(&s->b->c, e);
	return r < 0 ? bag_fail(s->b, r, e->offset, "no memory for the list of chunks") : 0;
}

/* Ends the unclosed chunk, if any, at s->at. */
static int end_open(struct scan *s)
{
	struct chunk_entry e = { .kind = BAG_UNWRAPPED, .offset = s->open_at, .size = s->at - s->open_at };

	if (!s->open_at)
		return 0;
	s->open_at = 0;
	return e.size ? add(s, &e) : 0;
}

static int damage(struct scan *s, const char *what)
{
	int r = end_open(s);

	if (r >= 0)
		r = chunk_reader_damage(&s->b->c, s->at, what);
	return r;
}

/* ---- after damage ---- */

/* Whether a chunk's header probably begins at p; n bytes are available. */
static bool plausible(const uint8_t *p, size_t n)
{
	struct bag_head h;
	size_t len;

	if (n < CHUNK_HEAD + 4)
		return false;
	len = log_u32(p);
	return len <= CHUNK_HEAD && (!memcmp(p + 8, "op=\5", 4) || !memcmp(p + 8, "compression=", 12)) &&
	       bag_head_parse(p + 4, len, &h) && h.op == BAG_CHUNK && h.compression.data;
}

/* Moves s->at to the next place where a chunk begins, or to the end of the file. */
static int resync(struct scan *s)
{
	uint8_t *w = mem_alloc(SCAN_WINDOW + CHUNK_HEAD + 4);
	bool found = false;

	if (!w)
		return -ENOMEM;
	for (s->at++; !found && bag_left(s->b, s->at);) {
		ssize_t n = log_pread(s->b->c.r.fd, s->at, w, SCAN_WINDOW + CHUNK_HEAD + 4);
		size_t i = 0;

		if (n <= 0)
			break;
		memset(w + n, 0, SCAN_WINDOW + CHUNK_HEAD + 4 - (size_t)n);
		while (i < SCAN_WINDOW && !plausible(w + i, SCAN_WINDOW + CHUNK_HEAD + 4 - i))
			i++;
		found = i < SCAN_WINDOW;
		s->at += i;
	}
	if (!found)
		s->at = s->b->c.r.info.size;
	mem_free(w);
	return 0;
}

/* ---- records ---- */

static int connection(struct scan *s, const struct bag_record *rec)
{
	struct bag_head h = rec->head;
	uint8_t *data;
	int r;

	if (rec->data_size > s->b->c.r.options.max_bytes)
		return 0;
	data = mem_alloc((size_t)rec->data_size + 1);
	if (!data)
		return -ENOMEM;
	r = bag_read(s->b, rec->data_at, data, (size_t)rec->data_size);
	if (r >= 0)
		r = bag_connection(s->b, &h, data, (size_t)rec->data_size, rec->at);
	mem_free(data);
	return r == -ENOMEM ? r : 0; /* malformed ones are reported with their messages */
}

static int chunk(struct scan *s, const struct bag_record *rec)
{
	struct chunk_entry e = { .offset = rec->at, .kind = BAG_WHOLE };
	uint32_t size = rec->head.size.data ? log_u32(rec->head.size.data) : 0;
	int c = bag_compression(s->b, rec);
	int r = end_open(s);

	if (c >= 0)
		s->b->compressions |= 1u << c;
	s->at = rec->data_at + rec->data_size;
	if (r < 0 || rec->data_size || size)
		return r < 0 ? r : add(s, &e);
	if (c == LOG_COMPRESSION_NONE) {
		s->open_at = s->at;
		return 0;
	}
	e.kind = BAG_UNCLOSED;
	s->at = s->b->c.r.info.size;
	return add(s, &e);
}

static int record(struct scan *s)
{
	struct bag_record rec;
	int r = bag_record_read(s->b, s->at, &rec);

	if (r < 0) {
		r = damage(s, "no record begins here; the file is damaged, and reading continues at the next chunk");
		return r < 0 ? r : resync(s);
	}
	if (!r && rec.head.op == BAG_CHUNK)
		return chunk(s, &rec);
	if (r || rec.data_size > bag_left(s->b, rec.data_at)) {
		if (s->open_at)
			s->at = s->b->c.r.info.size;
		else
			r = damage(s, "the file ends in the middle of a record");
		s->at = s->b->c.r.info.size;
		return r < 0 ? r : 0;
	}
	if (rec.head.op == BAG_MESSAGE && !s->open_at)
		s->open_at = s->at;
	else if (rec.head.op == BAG_CONNECTION && !s->open_at)
		r = connection(s, &rec);
	else if (rec.head.op != BAG_MESSAGE && rec.head.op != BAG_CONNECTION)
		r = end_open(s);
	s->at = rec.data_at + rec.data_size;
	return r;
}

int bag_scan(struct bag *b)
{
	struct scan s = { .b = b, .at = BAG_MAGIC_SIZE };
	int r = 0;

	if (b->no_index)
		r = chunk_reader_damage(&b->c, b->index_pos, b->no_index);
	while (r >= 0 && bag_left(b, s.at))
		r = record(&s);
	if (r >= 0)
		r = end_open(&s);
	return r == -ENOMEM ? bag_fail(b, r, s.at, "no memory") : r;
}
