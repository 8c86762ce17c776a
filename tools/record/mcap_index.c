/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the summary at the end of an MCAP file; used if it states where all messages are. Thread: as log.h. */
#include <errno.h>
#include <string.h>

#include "mcap_read_private.h"
#include "mem.h"

struct statistics {
	bool there;
	uint64_t messages, chunks, start, end;
	uint32_t channels, attachments, metadata;
	struct mcap_cursor counts;
};

struct summary {
	uint8_t *p;
	size_t n;
	struct statistics st;
	struct log_bytes name; /* name of the last chunk's compression */

	uint64_t metadata_bytes;
	bool bad, unknown; /* unknown: a chunk's content is unknown */
};

static void statistics(struct summary *s, struct mcap_cursor *c)
{
	struct statistics *st = &s->st;

	st->messages = mcap_get_int(c, 8);
	mcap_get_int(c, 2);
	st->channels = (uint32_t)mcap_get_int(c, 4);
	st->attachments = (uint32_t)mcap_get_int(c, 4);
	st->metadata = (uint32_t)mcap_get_int(c, 4);
	st->chunks = mcap_get_int(c, 4);
	st->start = mcap_get_int(c, 8);
	st->end = mcap_get_int(c, 8);
	st->counts = mcap_get_sub(c);
	st->there = !c->bad;
	s->bad |= c->bad;
}

static int chunk_index(struct mcap_reader *r, struct summary *s, struct mcap_cursor *c)
{
	struct mcap_entry e = { .kind = MCAP_CHUNK };
	struct mcap_cursor map;
	struct log_bytes name;
	uint64_t uncompressed;

	e.start = mcap_get_int(c, 8);
	e.end = mcap_get_int(c, 8);
	e.at = mcap_get_int(c, 8);
	e.size = mcap_get_int(c, 8);
	map = mcap_get_sub(c);
	mcap_get_int(c, 8);
	name = mcap_get_str(c);
	mcap_get_int(c, 8);
	uncompressed = mcap_get_int(c, 8);
	s->unknown |= uncompressed && !map.left;
	if (c->bad || map.left % 10 || e.size > r->base.info.size || e.at > r->base.info.size - e.size) {
		s->bad = true;
		return 0;
	}
	if (name.size != s->name.size ||
	    memcmp(name.data, s->name.data, name.size)) { /* rarely differs from the chunk before */
		for (int k = LOG_COMPRESSION_NONE; k <= LOG_COMPRESSION_ZSTD; k++)
			if (strlen(mcap_compression_name(k)) == name.size &&
			    !memcmp(mcap_compression_name(k), name.data, name.size))
				mcap_note_compression(r, k);
		s->name = name;
	}
	e.ids = map.left ? map.p : NULL;
	e.n_ids = (uint32_t)(map.left / 10);
	e.stride = 10; /* an id of two bytes, then an offset of eight */
	return mcap_add_entry(r, &e);
}

static int metadata_index(struct mcap_reader *r, struct summary *s, struct mcap_cursor *c)
{
	uint64_t at = mcap_get_int(c, 8), size = mcap_get_int(c, 8);
	struct mcap_cursor content;
	uint8_t *p;
	int err = -EBADMSG;

	/* bounded by the file's size, even if a record is named repeatedly */
	s->metadata_bytes += size;
	if (c->bad || size < MCAP_HEAD || size > r->base.info.size || s->metadata_bytes > r->base.info.size ||
	    size > r->base.options.max_bytes) {
		s->bad = true;
		return 0;
	}
	p = mem_alloc((size_t)size);
	if (!p)
		return -ENOMEM;
	content = (struct mcap_cursor){ .p = p + MCAP_HEAD, .left = (size_t)size - MCAP_HEAD };
	if (log_pread(r->base.fd, at, p, (size_t)size) == (ssize_t)size && p[0] == MCAP_OP_METADATA)
		err = mcap_add_metadata(r, &content);
	mem_free(p);
	s->bad |= err == -EBADMSG;
	return err == -EBADMSG ? 0 : err;
}

static int attachment_index(struct mcap_reader *r, struct summary *s, struct mcap_cursor *c)
{
	uint64_t at = mcap_get_int(c, 8), size = mcap_get_int(c, 8);

	if (c->bad || size > r->base.info.size || at > r->base.info.size - size || size < MCAP_HEAD) {
		s->bad = true;
		return 0;
	}
	return mcap_add_attachment(r, at, size);
}

static int summary_record(struct mcap_reader *r, struct summary *s, uint8_t op, struct mcap_cursor *c)
{
	char why[LOG_WHY_MAX];
	int err = 0;

	switch (op) {
	case MCAP_OP_SCHEMA:
		err = mcap_define_schema(r, c);
		break;
	case MCAP_OP_CHANNEL:
		err = mcap_define_channel(r, c, why, sizeof(why));
		break;
	case MCAP_OP_CHUNK_INDEX:
		return chunk_index(r, s, c);
	case MCAP_OP_ATTACHMENT_INDEX:
		return attachment_index(r, s, c);
	case MCAP_OP_METADATA_INDEX:
		return metadata_index(r, s, c);
	case MCAP_OP_STATISTICS:
		statistics(s, c);
		break;
	default:
		break;
	}
	s->bad |= err == -EBADMSG;
	return err == -EBADMSG ? 0 : err;
}

/* Loads the summary section, from its start to the closing magic, and checks its checksum. 0: no usable summary. */
static int read_section(struct mcap_reader *r, struct summary *s)
{
	uint64_t size = r->base.info.size, start;
	uint8_t end[MCAP_HEAD + MCAP_FOOTER + MCAP_MAGIC_SIZE];
	uint32_t crc;

	if (size < sizeof(end) + MCAP_MAGIC_SIZE ||
	    log_pread(r->base.fd, size - sizeof(end), end, sizeof(end)) != sizeof(end))
		return 0;
	if (end[0] != MCAP_OP_FOOTER || log_u64(end + 1) != MCAP_FOOTER ||
	    memcmp(end + sizeof(end) - MCAP_MAGIC_SIZE, MCAP_MAGIC, MCAP_MAGIC_SIZE))
		return 0;
	r->base.info.complete = true;
	start = log_u64(end + MCAP_HEAD);
	crc = log_u32(end + MCAP_HEAD + 16);
	if (!start)
		return 0;
	if (start < MCAP_MAGIC_SIZE || start > size - sizeof(end) || size - start > r->base.options.max_bytes)
		goto damaged;
	s->n = (size_t)(size - start - MCAP_MAGIC_SIZE);
	/* frees the window, which is not needed with a usable summary */
	r->window_n = 0;
	s->p = s->n <= MCAP_WINDOW ? r->window : mem_alloc(s->n);
	if (!s->p)
		return -ENOMEM;
	if (log_pread(r->base.fd, start, s->p, s->n) != (ssize_t)s->n)
		return 0;
	if (crc && !r->base.options.no_crc && mcap_crc(0, s->p, s->n - 4) != crc)
		goto damaged;
	s->n -= MCAP_HEAD + MCAP_FOOTER;
	return 1;
damaged:
	r->bad_summary_at = start;
	return 0;
}

/*
 * Whether all chunks, and all channels with their schemas, are known, so that the rest of the file need not be scanned.
 */
static bool suffices(const struct mcap_reader *r, const struct summary *s)
{
	const struct statistics *st = &s->st;

	if (s->bad)
		return false;
	for (size_t i = 0; i < r->base.info.n_channels; i++)
		if (!r->own[i].resolved)
			return false;
	if (st->there && (st->channels != r->base.info.n_channels || st->chunks != r->n_entries))
		return false;
	if (st->there && st->messages && !r->n_entries)
		return false;
	if (!st->there && s->unknown)
		return false;
	for (uint32_t i = 0; i < r->n_entries; i++) {
		const struct mcap_entry *e = &r->entries[i];

		for (uint32_t j = 0; j < e->n_ids; j++)
			if (!r->channel_of[mcap_entry_id(e, j)])
				return false;
	}
	return r->n_entries || st->there;
}

static void take_statistics(struct mcap_reader *r, struct summary *s)
{
	struct log_info *info = &r->base.info;
	struct mcap_cursor map = s->st.counts;

	info->n_chunks = r->n_entries;
	info->counted = s->st.there;
	if (!s->st.there)
		return;
	info->n_messages = s->st.messages;
	info->start_ns = s->st.start > INT64_MAX ? INT64_MAX : (int64_t)s->st.start;
	info->end_ns = s->st.end > INT64_MAX ? INT64_MAX : (int64_t)s->st.end;
	while (map.left && !map.bad) {
		uint32_t i = r->channel_of[(uint16_t)mcap_get_int(&map, 2)];
		uint64_t n = mcap_get_int(&map, 8);

		if (i && !map.bad)
			r->channels[i - 1].n_messages = n;
	}
}

static void forget(struct mcap_reader *r)
{
	for (uint32_t i = 0; i < r->n_entries; i++)
		mcap_entry_finish(&r->entries[i]);
	for (size_t i = 0; i < r->base.info.n_metadata; i++)
		mem_free((void *)r->metadata[i].pairs);
	r->n_entries = 0;
	r->base.info.n_metadata = 0;
	r->base.info.n_attachments = 0;
}

/* Searches for metadata and attachments that the summary counts but does not list. */
static int find_unnamed(struct mcap_reader *r)
{
	struct mcap_entry e;
	int err;

	for (size_t i = 0; i < r->base.info.n_metadata; i++)
		mem_free((void *)r->metadata[i].pairs);
	r->base.info.n_metadata = 0;
	r->base.info.n_attachments = 0;
	if (!r->window)
		r->window = mem_alloc(MCAP_WINDOW);
	if (!r->window)
		return -ENOMEM;
	r->scan_metadata = true;
	do {
		err = mcap_scan_next(r, &e);
	} while (err > 0);
	r->scan_metadata = false;
	r->base.info.n_chunks = r->n_entries;
	return err;
}

int mcap_read_summary(struct mcap_reader *r)
{
	struct summary s = { .name = { "", SIZE_MAX } };
	struct mcap_cursor all, c;
	uint8_t op;
	int err = read_section(r, &s);

	if (err <= 0)
		goto out;
	all = (struct mcap_cursor){ .p = s.p, .left = s.n };
	if (!r->base.options.scan)
		err = mcap_room_for_entries(r, (uint32_t)(s.n / 96) + 1); /* upper bound of the number of chunks */
	while (err >= 0 && mcap_get_record(&all, &op, &c)) /* also used if the chunk with the definitions is damaged */
		if (!r->base.options.scan || op == MCAP_OP_SCHEMA || op == MCAP_OP_CHANNEL)
			err = summary_record(r, &s, op, &c);
	s.bad |= all.bad;
	if (err < 0)
		goto out;
	if (r->base.options.scan || !suffices(r, &s)) {
		forget(r);
		err = 0;
		goto out;
	}
	take_statistics(r, &s);
	r->summary = s.p;
	if (s.p == r->window)
		r->window = NULL;
	s.p = NULL;
	err = 1;
	if (s.st.there &&
	    (s.st.metadata != r->base.info.n_metadata || s.st.attachments != r->base.info.n_attachments)) {
		int found = find_unnamed(r);

		err = found < 0 ? found : 1;
	}
out:
	if (s.p != r->window)
		mem_free(s.p);
	return err;
}
