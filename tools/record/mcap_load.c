/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a chunk of an MCAP file, or a run of records outside of chunks: checks it, and finds its messages. Thread: as
 * log.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcap_read_private.h"
#include "mem.h"

/* ---- definitions ---- */

static char *add_string(char **at, struct log_bytes b)
{
	char *s = *at;

	memcpy(s, b.data, b.size);
	s[b.size] = '\0';
	*at += b.size + 1;
	return s;
}

static void schema_free(struct mcap_schema *s)
{
	if (!s)
		return;
	mem_free((void *)s->raw.data);
	mem_free(s->strings);
	mem_free(s);
}

static int schema_create(struct log_bytes raw, struct mcap_schema **ret)
{
	struct mcap_schema *s = MEM_NEW(struct mcap_schema);
	struct mcap_cursor c;
	struct log_bytes name, encoding;
	char *at;

	if (!s)
		return -ENOMEM;
	s->raw = (struct log_bytes){ .data = mem_dup(raw.data, raw.size), .size = raw.size };
	c = (struct mcap_cursor){ .p = s->raw.data, .left = raw.size };
	if (!s->raw.data)
		goto err;
	mcap_get_int(&c, 2);
	name = mcap_get_str(&c);
	encoding = mcap_get_str(&c);
	s->data = mcap_get_str(&c);
	s->strings = at = mem_alloc(name.size + encoding.size + 2);
	if (!at)
		goto err;
	s->name = add_string(&at, name);
	s->encoding = add_string(&at, encoding);
	*ret = s;
	return 0;
err:
	schema_free(s);
	return -ENOMEM;
}

int mcap_define_schema(struct mcap_reader *r, struct mcap_cursor *c)
{
	struct log_bytes raw = { .data = c->p, .size = c->left };
	uint16_t id = (uint16_t)mcap_get_int(c, 2);
	struct mcap_schema *s = r->schema_of[id], **all;
	int e;

	mcap_get_str(c);
	mcap_get_str(c);
	mcap_get_str(c);
	if (c->bad || !id)
		return -EBADMSG;
	raw.size -= c->left; /* ignore fields of later versions */
	if (s && s->raw.size == raw.size && !memcmp(s->raw.data, raw.data, raw.size))
		return 0;
	all = mem_realloc(r->schemas, (r->n_schemas + 1) * sizeof(struct mcap_schema *));
	if (!all)
		return -ENOMEM;
	r->schemas = all;
	e = schema_create(raw, &s);
	if (e < 0)
		return e;
	r->schemas[r->n_schemas++] = s;
	r->schema_of[id] = s;
	return 0;
}

static size_t count_pairs(struct mcap_cursor map)
{
	size_t n = 0;

	while (map.left && !map.bad) {
		mcap_get_str(&map);
		mcap_get_str(&map);
		n += !map.bad;
	}
	return n;
}

static int read_pairs(struct mcap_cursor map, struct log_pair *pairs, size_t n, char **at)
{
	for (size_t i = 0; i < n; i++) {
		pairs[i].key = add_string(at, mcap_get_str(&map));
		pairs[i].value = add_string(at, mcap_get_str(&map));
	}
	return 0;
}

static void resolve(struct mcap_reader *r, uint32_t i)
{
	struct log_channel *ch = &r->channels[i];
	const struct mcap_schema *s = r->own[i].schema ? r->schema_of[r->own[i].schema] : NULL;

	ch->schema_name = s ? s->name : "";
	ch->schema_encoding = s ? s->encoding : "";
	ch->schema = s ? s->data : (struct log_bytes){ .data = "", .size = 0 };
	r->own[i].resolved = s || !r->own[i].schema;
}

static int room_for_channel(struct mcap_reader *r)
{
	size_t n = r->base.info.n_channels + 1;
	struct log_channel *ch;
	struct mcap_channel *own;

	if (n & (n - 1) && n > 1) /* reallocates at powers of two */
		return 0;
	ch = mem_realloc(r->channels, 2 * n * sizeof(*ch));
	if (!ch)
		return -ENOMEM;
	r->channels = ch;
	r->base.info.channels = ch;
	own = mem_realloc(r->own, 2 * n * sizeof(*own));
	if (!own)
		return -ENOMEM;
	r->own = own;
	return 0;
}

static int add_channel(struct mcap_reader *r, struct mcap_cursor c)
{
	struct mcap_channel own = { .raw_size = c.left };
	struct log_channel ch = { .id = (uint32_t)r->base.info.n_channels };
	const uint8_t *raw = c.p;
	struct log_bytes topic, encoding;
	struct mcap_cursor map;
	uint16_t id = (uint16_t)mcap_get_int(&c, 2);
	char *at;

	own.schema = (uint16_t)mcap_get_int(&c, 2);
	topic = mcap_get_str(&c);
	encoding = mcap_get_str(&c);
	map = mcap_get_sub(&c);
	ch.n_metadata = count_pairs(map);
	own.raw = mem_dup(raw, own.raw_size);
	own.pairs = mem_calloc(ch.n_metadata + 1, sizeof(*own.pairs));
	/* large enough: each string was preceded by a length of four bytes */
	own.strings = at = mem_alloc(own.raw_size + 8);
	if (!own.raw || !own.pairs || !at || room_for_channel(r) < 0) {
		mem_free(own.raw);
		mem_free(own.pairs);
		mem_free(own.strings);
		return -ENOMEM;
	}
	ch.topic = add_string(&at, topic);
	ch.message_encoding = add_string(&at, encoding);
	read_pairs(map, own.pairs, ch.n_metadata, &at);
	ch.metadata = own.pairs;
	r->channels[ch.id] = ch;
	r->own[ch.id] = own;
	resolve(r, ch.id);
	r->base.info.n_channels++;
	r->channel_of[id] = ch.id + 1;
	return 0;
}

static bool same_channel(const struct mcap_reader *r, uint32_t i, const struct mcap_cursor *c)
{
	return r->own[i].raw_size == c->left && !memcmp(r->own[i].raw, c->p, c->left);
}

/* An id may be redefined, also back to an earlier definition. Returns index + 1, or 0. */
static uint32_t find_channel(const struct mcap_reader *r, const struct mcap_cursor *c)
{
	for (uint32_t i = 0; i < r->base.info.n_channels; i++)
		if (same_channel(r, i, c))
			return i + 1;
	return 0;
}

int mcap_define_channel(struct mcap_reader *r, struct mcap_cursor *c, char *why, size_t why_size)
{
	struct mcap_cursor look = *c;
	uint16_t id = (uint16_t)mcap_get_int(&look, 2), schema = (uint16_t)mcap_get_int(&look, 2);
	uint32_t i = r->channel_of[id];
	struct mcap_cursor map, known;
	int e;

	mcap_get_str(&look);
	mcap_get_str(&look);
	map = mcap_get_sub(&look);
	while (map.left && !map.bad) {
		mcap_get_str(&map);
		mcap_get_str(&map);
	}
	if (look.bad || map.bad)
		return log_fail(why, why_size, -EBADMSG, "the record of channel %u is too short", id);
	known = (struct mcap_cursor){ .p = c->p, .left = c->left - look.left }; /* ignore fields of later versions */
	if (i && !same_channel(r, i - 1, &known))
		i = find_channel(r, &known);
	if (i) {
		r->channel_of[id] = i;
		if (!r->own[i - 1].resolved)
			resolve(r, i - 1);
		return 0;
	}
	if (r->base.info.n_channels >= MCAP_CHANNELS_MAX)
		return log_fail(why, why_size, -EMSGSIZE, "there are more than %u channels", MCAP_CHANNELS_MAX);
	e = add_channel(r, known);
	if (e >= 0 && schema && !r->schema_of[schema])
		return log_fail(why, why_size, -EBADMSG,
				"channel %u has schema %u, which the file does not define before it", id, schema);
	return e;
}

int mcap_add_metadata(struct mcap_reader *r, struct mcap_cursor *c)
{
	struct log_metadata m = { 0 }, *all;
	size_t bytes = c->left;
	struct log_bytes name = mcap_get_str(c);
	struct mcap_cursor map = mcap_get_sub(c);
	struct log_pair *pairs;
	char *at;

	if (c->bad)
		return -EBADMSG;
	m.n = count_pairs(map);
	all = mem_realloc(r->metadata, (r->base.info.n_metadata + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	r->metadata = all;
	r->base.info.metadata = all;
	/* one block: the pairs, then their strings */
	pairs = mem_alloc((m.n + 1) * sizeof(*pairs) + bytes + 8);
	if (!pairs)
		return -ENOMEM;
	at = (char *)(pairs + m.n + 1);
	m.name = add_string(&at, name);
	read_pairs(map, pairs, m.n, &at);
	m.pairs = pairs;
	all[r->base.info.n_metadata++] = m;
	return 0;
}

void mcap_definitions_finish(struct mcap_reader *r)
{
	for (size_t i = 0; i < r->base.info.n_channels; i++) {
		mem_free(r->own[i].raw);
		mem_free(r->own[i].pairs);
		mem_free(r->own[i].strings);
	}
	for (size_t i = 0; i < r->n_schemas; i++)
		schema_free(r->schemas[i]);
	for (size_t i = 0; i < r->base.info.n_metadata; i++)
		mem_free((void *)r->metadata[i].pairs);
	mem_free(r->channels);
	mem_free(r->own);
	mem_free(r->schemas);
	mem_free(r->metadata);
	mem_free(r->channel_of);
	mem_free(r->schema_of);
}

void mcap_note_compression(struct mcap_reader *r, int compression)
{
	if (compression < 0 || r->seen[compression])
		return;
	r->seen[compression] = true;
	snprintf(r->compression, sizeof(r->compression), "%s%s%s%s%s", r->seen[0] ? "none" : "",
		 r->seen[0] && r->seen[1] ? ", " : "", r->seen[1] ? "lz4" : "",
		 (r->seen[0] || r->seen[1]) && r->seen[2] ? ", " : "", r->seen[2] ? "zstd" : "");
	r->base.info.compression = r->compression;
}

/* ---- content ---- */

bool mcap_wanted(const struct mcap_reader *r, uint32_t channel)
{
	return !r->want || channel >= r->n_want || r->want[channel];
}

#define OFFSET(at) ((unsigned long long)(at))

static int read_bytes(struct mcap_reader *r, uint64_t at, uint64_t n, uint8_t **ret, char *why)
{
	uint8_t *p;
	ssize_t got;

	if (n > r->base.info.size || n > SIZE_MAX / 2)
		return log_fail(why, LOG_WHY_MAX, -EBADMSG, "offset %llu: %llu bytes are not in the file", OFFSET(at),
				OFFSET(n));
	p = mem_alloc((size_t)n + 1);
	if (!p)
		return log_fail(why, LOG_WHY_MAX, -ENOMEM, "offset %llu: no memory for %llu bytes", OFFSET(at),
				OFFSET(n));
	got = log_pread(r->base.fd, at, p, (size_t)n);
	if (got != (ssize_t)n) {
		mem_free(p);
		return log_fail(why, LOG_WHY_MAX, got < 0 ? (int)got : -EBADMSG, "offset %llu: %s", OFFSET(at),
				got < 0 ? strerror((int)-got) : "the file has become shorter");
	}
	*ret = p;
	return 0;
}

static int check_chunk(struct mcap_reader *r, const struct mcap_entry *e, const struct mcap_chunk_head *h, bool whole,
		       char *why)
{
	if (!whole)
		return log_fail(why, LOG_WHY_MAX, -EBADMSG,
				"offset %llu: no chunk is here, or its sizes contradict each other", OFFSET(e->at));
	if (h->compression < 0)
		return log_fail(why, LOG_WHY_MAX, -ENOTSUP,
				"offset %llu: a chunk of compression \"%s\", which is not read", OFFSET(e->at),
				h->name);
	if (h->uncompressed > r->base.options.max_bytes || h->records > r->base.info.size)
		return log_fail(why, LOG_WHY_MAX, -EMSGSIZE,
				"offset %llu: a chunk of %llu bytes; at most %zu are read at once", OFFSET(e->at),
				OFFSET(h->uncompressed), r->base.options.max_bytes);
	if (h->compression == LOG_COMPRESSION_NONE && h->records != h->uncompressed)
		return log_fail(why, LOG_WHY_MAX, -EBADMSG,
				"offset %llu: a chunk that is not compressed says %llu bytes and has %llu",
				OFFSET(e->at), OFFSET(h->uncompressed), OFFSET(h->records));
	return 0;
}

/*
 * Decompresses the records of a chunk with content p, which is taken over. On damage, sets the reason, and keeps what
 * was decompressed.
 */
static int unpack(struct mcap_reader *r, const struct mcap_entry *e, uint8_t *p, size_t n, struct mcap_loaded *l)
{
	struct mcap_chunk_head h = { 0 };
	bool part = e->kind == MCAP_PART, ok;
	char sentence[200] = "";
	int err;

	ok = n >= MCAP_HEAD && p[0] == MCAP_OP_CHUNK && (part || log_u64(p + 1) == n - MCAP_HEAD) &&
	     mcap_chunk_head(p + MCAP_HEAD, n - MCAP_HEAD, part ? log_u64(p + 1) : n - MCAP_HEAD, &h);
	if (part)
		h.records = ok ? n - MCAP_HEAD - h.size : 0;
	if (part && h.compression == LOG_COMPRESSION_NONE)
		h.uncompressed = h.records;
	err = check_chunk(r, e, &h, ok, l->why);
	if (err < 0)
		goto out;
	mcap_note_compression(r, h.compression);
	if (h.compression == LOG_COMPRESSION_NONE) {
		/* in place, so that the chunk is not held twice */
		memmove(p, p + MCAP_HEAD + h.size, (size_t)h.records);
		l->data = p;
		l->size = (size_t)h.records;
		p = NULL;
	} else {
		err = mcap_inflate(&r->inflaters, &h, p + MCAP_HEAD + h.size, (size_t)h.records, &l->data, &l->size,
				   sentence, sizeof(sentence));
		if (err < 0)
			log_fail(l->why, LOG_WHY_MAX, err, "offset %llu: a chunk is damaged: %s", OFFSET(e->at),
				 sentence);
	}
	if (part)
		err = log_fail(l->why, LOG_WHY_MAX, -EBADMSG,
			       "offset %llu: the file ends in the middle of a chunk; messages of it are lost",
			       OFFSET(e->at));
	else if (err >= 0 && h.crc && !r->base.options.no_crc && mcap_crc(0, l->data, l->size) != h.crc)
		err = log_fail(l->why, LOG_WHY_MAX, -EBADMSG,
			       "offset %llu: the checksum of a chunk of %zu bytes is wrong: it is skipped",
			       OFFSET(e->at), l->size);
	if (err < 0 && !part)
		l->size = 0; /* nothing in it can be trusted */
out:
	mem_free(p);
	return err;
}

static int load_data(struct mcap_reader *r, const struct mcap_entry *e, struct mcap_loaded *l)
{
	uint64_t most = r->base.options.max_bytes;
	uint8_t *p = NULL;
	int err;

	if (e->size > most + most / 4 + 65536) /* incompressible data grows a little */
		return log_fail(l->why, LOG_WHY_MAX, -EMSGSIZE,
				"offset %llu: %llu bytes; at most %llu are read at once", OFFSET(e->at),
				OFFSET(e->size), OFFSET(most));
	err = read_bytes(r, e->at, e->size, &p, l->why);
	if (err < 0)
		return err;
	if (e->kind == MCAP_CHUNK || e->kind == MCAP_PART)
		return unpack(r, e, p, (size_t)e->size, l);
	l->data = p;
	l->size = (size_t)e->size;
	return 0;
}

/* ---- messages ---- */

static int add_ref(struct mcap_loaded *l, uint64_t time, size_t offset, uint32_t channel)
{
	size_t cap = l->cap ? l->cap * 2 : 32;
	struct mcap_ref *p;

	if (l->n == l->cap) {
		p = mem_realloc(l->refs, cap * sizeof(*p));
		if (!p)
			return -ENOMEM;
		l->refs = p;
		l->cap = cap;
	}
	l->refs[l->n++] = (struct mcap_ref){ .time = time, .offset = offset, .channel = channel };
	return 0;
}

static int message(struct mcap_reader *r, struct mcap_loaded *l, struct mcap_cursor c, size_t offset, char *why)
{
	uint16_t id = (uint16_t)mcap_get_int(&c, 2);
	uint32_t i = r->channel_of[id];
	uint64_t time;

	mcap_get_int(&c, 4);
	time = mcap_get_int(&c, 8);
	mcap_get_int(&c, 8);
	if (c.bad)
		return log_fail(why, LOG_WHY_MAX, -EBADMSG, "a message is too short");
	if (!i)
		return log_fail(why, LOG_WHY_MAX, -EBADMSG,
				"a message is of channel %u, which the file does not define before it", id);
	return mcap_wanted(r, i - 1) ? add_ref(l, time, offset, i - 1) : 0;
}

static int record(struct mcap_reader *r, struct mcap_loaded *l, uint8_t op, struct mcap_cursor c, size_t offset,
		  char *why)
{
	int err = 0;

	switch (op) {
	case MCAP_OP_SCHEMA:
		err = mcap_define_schema(r, &c);
		return err == -EBADMSG ? log_fail(why, LOG_WHY_MAX, err, "a schema is malformed") : err;
	case MCAP_OP_CHANNEL:
		return mcap_define_channel(r, &c, why, LOG_WHY_MAX);
	case MCAP_OP_MESSAGE:
		return message(r, l, c, offset, why);
	default:
		return 0; /* of a later version, or private */
	}
}

static int damaged_record(struct mcap_loaded *l, const struct mcap_entry *e, int err, size_t offset, const char *why)
{
	if (e->kind == MCAP_RUN)
		return log_fail(l->why, LOG_WHY_MAX, err, "offset %llu: %s", OFFSET(e->at + offset), why);
	return log_fail(l->why, LOG_WHY_MAX, err, "offset %llu, byte %zu of the records of its chunk: %s",
			OFFSET(e->at), offset, why);
}

static int find_messages(struct mcap_reader *r, const struct mcap_entry *e, struct mcap_loaded *l)
{
	struct mcap_cursor all = { .p = l->data, .left = l->size }, c;
	char why[LOG_WHY_MAX] = "";
	size_t offset = 0;
	uint8_t op;

	while (mcap_get_record(&all, &op, &c)) {
		int err = record(r, l, op, c, offset, why);

		if (err == -ENOMEM)
			return err;
		if (err < 0 && !l->error) /* reports the first error, and goes on: later records may be intact */
			l->error = damaged_record(l, e, err, offset, why);
		offset = l->size - all.left;
	}
	if (all.bad && !l->error)
		l->error = log_fail(l->why, LOG_WHY_MAX, -EBADMSG,
				    "offset %llu: the last record of the chunk, at %zu, is longer than it",
				    OFFSET(e->at), offset);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct mcap_ref *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void sort_refs(struct mcap_loaded *l)
{
	for (size_t i = 1; i < l->n; i++)
		if (l->refs[i].time < l->refs[i - 1].time) {
			qsort(l->refs, l->n, sizeof(*l->refs), by_time);
			return;
		}
}

int mcap_load(struct mcap_reader *r, const struct mcap_entry *e, uint32_t entry, struct mcap_loaded **ret)
{
	struct mcap_loaded *l = MEM_NEW(struct mcap_loaded);
	int err;

	if (!l)
		return -ENOMEM;
	l->entry = entry;
	l->at = e->at;
	l->error = load_data(r, e, l);
	err = find_messages(r, e, l);
	if (err < 0) {
		mcap_unload(l);
		return err;
	}
	if (!r->base.options.file_order)
		sort_refs(l);
	*ret = l;
	return 0;
}

int mcap_reload(struct mcap_reader *r, const struct mcap_entry *e, struct mcap_loaded *l)
{
	struct mcap_loaded again = { 0 };
	int err = load_data(r, e, &again);

	if (err < 0) {
		memcpy(l->why, again.why, sizeof(l->why));
		mem_free(again.data);
		return err;
	}
	l->data = again.data;
	l->size = again.size;
	return 0;
}

void mcap_unload(struct mcap_loaded *l)
{
	if (!l)
		return;
	mem_free(l->data);
	mem_free(l->refs);
	mem_free(l);
}
