/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Apollo's .record: by its index; without one, as after a crash, section by section, skipping damage. Thread: as
 * log.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "chunks.h"
#include "formats.h"
#include "mem.h"
#include "pb_reader.h"
#include "record_format.h"

#define SCAN_WINDOW ((size_t)64 << 10)

struct record {
	struct chunk_reader c;
	struct record_header header;
	const char *no_index; /* why the index is not used; NULL: it is used, or absent */
};

struct section {
	uint32_t type;
	uint64_t at, size; /* at: position of its head; size: of the message after it */
};

static int fail(struct record *d, int r, uint64_t at, const char *what)
{
	return log_fail(d->c.r.why, sizeof(d->c.r.why), r, "offset %" PRIu64 ": %s", at, what);
}

static uint64_t room(const struct record *d, uint64_t at)
{
	return at < d->c.r.info.size ? d->c.r.info.size - at : 0;
}

/* Reads exactly n bytes at `at`. */
static int read_at(struct record *d, uint64_t at, void *buf, size_t n)
{
	ssize_t k = log_pread(d->c.r.fd, at, buf, n);

	if (k < 0)
		return fail(d, (int)k, at, strerror((int)-k));
	return (size_t)k < n ? fail(d, -EBADMSG, at, "the file ends here, in the middle of a section") : 0;
}

/* ---- sections ---- */

static void head_parse(const uint8_t *p, uint64_t at, struct section *ret)
{
	*ret = (struct section){ .type = log_u32(p), .at = at, .size = log_u64(p + 8) };
}

/* Reads the head at `at`. 0; 1: the section is truncated by the end of the file; < 0: not a section. */
static int head_read(struct record *d, uint64_t at, struct section *ret)
{
	uint8_t head[RECORD_HEAD];
	int r;

	if (room(d, at) < RECORD_HEAD)
		return 1;
	r = read_at(d, at, head, sizeof(head));
	if (r < 0)
		return r;
	head_parse(head, at, ret);
	if (ret->type > RECORD_CHANNEL || ret->size > RECORD_SECTION_BYTES_MAX)
		return fail(d, -EBADMSG, at, "no section begins here; the file is damaged");
	return ret->size > room(d, at + RECORD_HEAD) ? 1 : 0;
}

/* Loads the message of a section; free *ret with mem_free(). */
static int section_read(struct record *d, const struct section *s, uint8_t **ret)
{
	uint8_t *data;
	int r;

	if (s->size > d->c.r.options.max_bytes)
		return fail(d, -EMSGSIZE, s->at, "a section larger than what may be read at once");
	data = mem_alloc((size_t)s->size + 1);
	if (!data)
		return fail(d, -ENOMEM, s->at, "no memory for a section");
	r = read_at(d, s->at + RECORD_HEAD, data, (size_t)s->size);
	if (r < 0)
		mem_free(data);
	else
		*ret = data;
	return r;
}

/* ---- messages ---- */

static int header_parse(const uint8_t *data, size_t n, struct record_header *h)
{
	uint64_t *const to[] = { NULL,
				 &h->major,
				 &h->minor,
				 &h->compress,
				 &h->chunk_interval,
				 &h->segment_interval,
				 &h->index_position,
				 &h->chunk_number,
				 &h->channel_number,
				 &h->begin_time,
				 &h->end_time,
				 &h->message_number,
				 &h->size,
				 &h->is_complete,
				 &h->chunk_raw_size,
				 &h->segment_raw_size };
	struct pb_reader p;
	int error = 0;

	pb_read_begin(&p, data, n, &error);
	while (pb_next(&p))
		if (p.field < sizeof(to) / sizeof(to[0]))
			pb_get_u64(&p, to[p.field]);
	return error;
}

static void chunk_header_fields(struct pb_reader *p, struct record_chunk *ret, bool cache)
{
	while (pb_next(p)) {
		uint32_t number = cache ? 1 : 3, begin = cache ? 2 : 1, end = cache ? 3 : 2;

		if (p->field == number)
			pb_get_u64(p, &ret->message_number);
		else if (p->field == begin)
			pb_get_u64(p, &ret->begin_time);
		else if (p->field == end)
			pb_get_u64(p, &ret->end_time);
		else if (p->field == 4)
			pb_get_u64(p, &ret->raw_size);
	}
}

struct channel_fields {
	const void *name, *type, *desc;
	size_t name_len, type_len, desc_len;
	uint64_t n_messages;
};

/* Parses fields 1 to 3 of Channel; in ChannelCache, a number precedes them. */
static void channel_fields(struct pb_reader *p, struct channel_fields *ret, bool cache)
{
	uint32_t first = cache ? 2 : 1;

	while (pb_next(p)) {
		if (p->field == first)
			pb_get_bytes(p, &ret->name, &ret->name_len);
		else if (p->field == first + 1)
			pb_get_bytes(p, &ret->type, &ret->type_len);
		else if (p->field == first + 2)
			pb_get_bytes(p, &ret->desc, &ret->desc_len);
		else if (cache && p->field == 1)
			pb_get_u64(p, &ret->n_messages);
	}
}

static int channel_add(struct record *d, const struct channel_fields *f, uint64_t at)
{
	char *name = mem_strndup(f->name ? f->name : "", f->name_len);
	char *type = mem_strndup(f->type ? f->type : "", f->type_len);
	struct log_channel ch = { .topic = name,
				  .message_encoding = "protobuf",
				  .schema_name = type,
				  .schema_encoding = f->desc_len ? "apollo" : "",
				  .schema = { .data = f->desc, .size = f->desc_len },
				  .n_messages = f->n_messages };
	int64_t id = -ENOMEM;

	if (name && type)
		id = channels_add(&d->c.channels, f->name, f->name_len, &ch);
	mem_free(name);
	mem_free(type);
	if (id == -EEXIST) /* occurs once per segment in concatenated files */
		return 0;
	return id < 0 ? fail(d, (int)id, at, id == -ENOSPC ? "too many channels" : "no memory for a channel") : 0;
}

/* ---- a chunk ---- */

static int64_t time_of(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* Finds the channel of a message; if the file does not describe it, adds one without type. */
static int64_t channel_of(struct record *d, const struct channel_fields *name, uint64_t at)
{
	int64_t id = channels_find(&d->c.channels, name->name, name->name_len);
	int r;

	if (id >= 0)
		return id;
	r = channel_add(d, name, at);
	return r < 0 ? r : channels_find(&d->c.channels, name->name, name->name_len);
}

static int message_add(struct record *d, struct pb_reader *p, const struct chunk_entry *e, struct chunk *k)
{
	struct channel_fields f = { 0 };
	const void *content = NULL;
	size_t len = 0;
	uint64_t time = 0;
	int64_t id;

	while (pb_next(p)) {
		if (p->field == 1)
			pb_get_bytes(p, &f.name, &f.name_len);
		else if (p->field == 2)
			pb_get_u64(p, &time);
		else if (p->field == 3)
			pb_get_bytes(p, &content, &len);
	}
	if (*p->error)
		return 0; /* reported by chunk_parse() */
	id = channel_of(d, &f, e->offset);
	if (id < 0)
		return (int)id;
	return chunk_add(k, time_of(time), (uint32_t)id, content ? (size_t)((const uint8_t *)content - k->data) : 0,
			 len) < 0
		       ? fail(d, -ENOMEM, e->offset, "no memory for a chunk")
		       : 0;
}

static int chunk_parse(struct record *d, const struct chunk_entry *e, struct chunk *k)
{
	struct pb_reader p, in;
	int error = 0, r = 0;

	pb_read_begin(&p, k->data, k->size, &error);
	while (!r && pb_next(&p)) {
		if (p.field != 1)
			continue;
		pb_enter(&p, &in);
		r = message_add(d, &in, e, k);
	}
	if (r < 0 || !error)
		return r;
	return log_fail(d->c.r.why, sizeof(d->c.r.why), -EBADMSG,
			"offset %" PRIu64 ": the chunk is damaged or cut off; %zu of its messages can be read",
			e->offset, k->n);
}

/* entry.offset is the position of the head of its body, entry.size the size of the body within the file. */
static int load(struct chunk_reader *c, const struct chunk_entry *e, struct chunk *k)
{
	struct record *d = (struct record *)c;
	int r;

	if (e->size > c->r.options.max_bytes)
		return fail(d, -EMSGSIZE, e->offset, "a chunk larger than what may be read at once");
	if (chunk_room(k, (size_t)e->size + 1) < 0)
		return fail(d, -ENOMEM, e->offset, "no memory for a chunk");
	r = read_at(d, e->offset + RECORD_HEAD, k->data, (size_t)e->size);
	if (r < 0)
		return r;
	k->size = (size_t)e->size;
	return chunk_parse(d, e, k);
}

/* ---- by the index ---- */

struct index_entry {
	uint64_t type, position;
	struct pb_reader cache; /* the sub-message of its kind */
};

static int index_chunk(struct record *d, const struct record_chunk *h, uint64_t at)
{
	struct section s;
	int r = head_read(d, at, &s);

	if (r || s.type != RECORD_CHUNK_BODY)
		return fail(d, -EBADMSG, at, "the index says that a chunk begins here, but none does");
	r = chunk_reader_add(&d->c, &(struct chunk_entry){ .offset = at,
							   .size = s.size,
							   .start_ns = time_of(h->begin_time),
							   .end_ns = time_of(h->end_time),
							   .n_messages = h->message_number });
	return r < 0 ? fail(d, r, at, "no memory for the index") : 0;
}

static int index_channel(struct record *d, struct pb_reader *cache, uint64_t at)
{
	struct channel_fields f = { 0 };

	channel_fields(cache, &f, true);
	return channel_add(d, &f, at);
}

/* The index has two entries per chunk: its times, then its position. */
static int index_add(struct record *d, struct index_entry *x, struct record_chunk *pending)
{
	if (x->type == RECORD_CHANNEL)
		return index_channel(d, &x->cache, x->position);
	if (x->type == RECORD_CHUNK_HEADER) {
		*pending = (struct record_chunk){ 0 };
		chunk_header_fields(&x->cache, pending, true);
	}
	return x->type == RECORD_CHUNK_BODY ? index_chunk(d, pending, x->position) : 0;
}

static int index_parse(struct record *d, const uint8_t *data, size_t n)
{
	struct record_chunk pending = { 0 };
	struct pb_reader p, in;
	int error = 0, r = 0;

	pb_read_begin(&p, data, n, &error);
	while (!r && pb_next(&p)) {
		struct index_entry x = { 0 };

		if (p.field != 1)
			continue;
		pb_read_begin(&x.cache, "", 0, &error);
		for (pb_enter(&p, &in); pb_next(&in);) {
			if (in.field == 1)
				pb_get_u64(&in, &x.type);
			else if (in.field == 2)
				pb_get_u64(&in, &x.position);
			else if (in.field >= 101 && in.field <= 103)
				pb_enter(&in, &x.cache);
		}
		r = index_add(d, &x, &pending);
	}
	return r < 0 ? r : error;
}

static int index_read(struct record *d)
{
	uint64_t at = d->header.index_position;
	struct section s;
	uint8_t *data;
	int r = head_read(d, at, &s);

	if (r || s.type != RECORD_INDEX)
		return fail(d, -EBADMSG, at, "the header says that the index begins here, but it does not");
	r = section_read(d, &s, &data);
	if (r < 0)
		return r;
	r = index_parse(d, data, (size_t)s.size);
	mem_free(data);
	return r == -ENOMEM || !r ? r : fail(d, -EBADMSG, at, "the index is damaged");
}

/* ---- without index ---- */

static void forget(struct record *d)
{
	for (size_t i = 0; i < d->c.n; i++)
		mem_free(d->c.entries[i].channels);
	d->c.n = 0;
	channels_finish(&d->c.channels);
}

/* Adds a chunk that may be truncated or damaged: what can be read of it will be. */
static int scan_chunk(struct record *d, const struct section *s)
{
	struct chunk_entry e = { .offset = s->at, .size = s->size };
	uint64_t left = room(d, s->at + RECORD_HEAD);
	int r;

	if (e.size > left)
		e.size = left;
	r = chunk_reader_measure(&d->c, &e, true);
	if (r == -ENOMEM) {
		mem_free(e.channels);
		return r;
	}
	r = chunk_reader_add(&d->c, &e);
	return r < 0 ? fail(d, r, s->at, "no memory for the list of chunks") : 0;
}

static int scan_channel(struct record *d, const struct section *s)
{
	struct channel_fields f = { 0 };
	struct pb_reader p;
	uint8_t *data;
	int error = 0, r = section_read(d, s, &data);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	pb_read_begin(&p, data, (size_t)s->size, &error);
	channel_fields(&p, &f, false);
	r = error ? 0 : channel_add(d, &f, s->at);
	mem_free(data);
	return r;
}

/* Whether these bytes look like a section. Checked more strictly than elsewhere, as it is used after damage. */
static bool plausible(const uint8_t *p, uint64_t left)
{
	struct section s;

	head_parse(p, 0, &s);
	if (log_u32(p + 4) || !s.size || s.size > left)
		return false;
	if (s.type == RECORD_CHUNK_HEADER)
		return p[RECORD_HEAD] == 0x08 && s.size < 64;
	return (s.type == RECORD_CHUNK_BODY || s.type == RECORD_CHANNEL || s.type == RECORD_INDEX) &&
	       p[RECORD_HEAD] == 0x0a;
}

/* The next position after `at` where a section may begin; the end of the file if there is none. */
static int resync(struct record *d, uint64_t at, uint64_t *ret)
{
	uint8_t *w = mem_alloc(SCAN_WINDOW);
	int r = w ? 0 : -ENOMEM;

	while (!r && room(d, ++at) > RECORD_HEAD) {
		ssize_t n = log_pread(d->c.r.fd, at, w, SCAN_WINDOW);
		size_t i = 0;

		if (n <= (ssize_t)RECORD_HEAD)
			break;
		while (i + RECORD_HEAD < (size_t)n && !plausible(w + i, room(d, at + i + RECORD_HEAD)))
			i++;
		at += i;
		if (i + RECORD_HEAD < (size_t)n) {
			*ret = at;
			mem_free(w);
			return 0;
		}
		at--; /* the loop continues after it */
	}
	mem_free(w);
	*ret = d->c.r.info.size;
	return r < 0 ? fail(d, r, at, "no memory") : 0;
}

static int damage(struct record *d, uint64_t at, const char *what)
{
	int r = chunk_reader_damage(&d->c, at, what);

	return r < 0 ? fail(d, r, at, "no memory for the list of chunks") : 0;
}

/* Handles one section, and advances *at. 1: end. */
static int scan_section(struct record *d, uint64_t *at)
{
	struct section s = { .at = *at };
	int r = head_read(d, *at, &s), e = 0;

	if (r < 0) {
		e = damage(d, *at, "no section begins here; the file is damaged, and reading continues where one does");
		return e < 0 ? e : resync(d, *at, at);
	}
	if (r && room(d, *at) && (s.type != RECORD_CHUNK_BODY || room(d, *at) <= RECORD_HEAD))
		e = damage(d, *at, "the file ends in the middle of a section");
	else if (s.type == RECORD_CHUNK_BODY && room(d, *at) > RECORD_HEAD)
		e = scan_chunk(d, &s);
	else if (!r && s.type == RECORD_CHANNEL)
		e = scan_channel(d, &s);
	*at += RECORD_HEAD + s.size;
	if (e < 0)
		return e;
	return r || s.type == RECORD_INDEX;
}

static int scan(struct record *d)
{
	uint64_t at = RECORD_FIRST;
	int r = 0;

	forget(d);
	if (d->no_index)
		r = damage(d, d->header.index_position, d->no_index);
	while (!r)
		r = scan_section(d, &at);
	return r < 0 ? r : 0;
}

/* ---- open ---- */

static int header_read(struct record *d)
{
	uint8_t *data;
	struct section s;
	int r = head_read(d, 0, &s);

	if (r || s.type != RECORD_HEADER || s.size > RECORD_AREA)
		return fail(d, -EBADMSG, 0, "the header is cut off or damaged");
	r = section_read(d, &s, &data);
	if (r < 0)
		return r;
	r = header_parse(data, (size_t)s.size, &d->header);
	mem_free(data);
	if (r < 0)
		return fail(d, -EBADMSG, RECORD_HEAD, "the header is damaged");
	if (d->header.compress)
		return fail(
			d, -ENOTSUP, RECORD_HEAD,
			"the header names a compression, which Cyber RT has never written, and which cannot be read");
	return 0;
}

static int list_all(struct record *d)
{
	struct log_info *info = &d->c.r.info;
	int r;

	info->format = LOG_RECORD;
	info->complete = d->header.is_complete;
	if (d->header.is_complete && !d->c.r.options.scan && !index_read(d)) {
		info->indexed = info->counted = true;
		return chunk_reader_ready(&d->c);
	}
	if (d->header.is_complete && !d->c.r.options.scan) {
		info->complete = false;
		d->no_index = "the index is missing or damaged; the file is read section by section";
	}
	r = scan(d);
	info->counted = true;
	return r < 0 ? r : chunk_reader_ready(&d->c);
}

static void record_close(struct log_reader *r)
{
	chunk_reader_finish((struct chunk_reader *)r);
	mem_free(r);
}

static const struct log_reader_ops ops = {
	.close = record_close, .select = chunk_reader_select, .seek = chunk_reader_seek, .next = chunk_reader_next
};

bool record_is(const struct log_opening *o)
{
	struct section s;

	if (o->n_head < RECORD_HEAD)
		return false;
	head_parse(o->head, 0, &s);
	return s.type == RECORD_HEADER && s.size > 0 && s.size <= RECORD_AREA && o->size > RECORD_HEAD &&
	       o->head[RECORD_HEAD] == 0x08; /* the header's first field, the version */
}

int record_open(struct log_opening *o, struct log_reader **ret)
{
	struct record *d = MEM_NEW(struct record);
	int r;

	if (!d)
		return log_fail(o->why, o->why_size, -ENOMEM, "%s: no memory", o->path);
	chunk_reader_init(&d->c, &ops, o);
	d->c.load = load;
	r = header_read(d);
	if (r >= 0)
		r = list_all(d);
	if (r < 0) {
		log_fail(o->why, o->why_size, r, "%s: %s", o->path, d->c.r.why);
		record_close(&d->c.r);
		return r;
	}
	d->c.r.why[0] = '\0';
	*ret = &d->c.r;
	return 0;
}
