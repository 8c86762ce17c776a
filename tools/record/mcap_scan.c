/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an MCAP file without index record by record: chunks, runs of records outside of chunks, and damage, after which
 * it searches for the next chunk. The file's size is checked again each time, as it may grow. Thread: as log.h.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "mcap_read_private.h"
#include "mem.h"

#define RUN_BYTES ((uint64_t)1 << 20) /* size of a run of records outside of chunks */
#define HEAD_MOST 64u                 /* fields of a chunk, with its record's head and the name of its compression */

const uint8_t *mcap_window(struct mcap_reader *r, uint64_t at, size_t n)
{
	ssize_t got;

	if (at >= r->window_at && at - r->window_at <= r->window_n && n <= r->window_n - (at - r->window_at))
		return r->window + (at - r->window_at);
	got = log_pread(r->base.fd, at, r->window, MCAP_WINDOW);
	r->window_at = at;
	r->window_n = got < 0 ? 0 : (size_t)got;
	return n <= r->window_n ? r->window : NULL;
}

void mcap_entry_finish(struct mcap_entry *e)
{
	if (e->stride == sizeof(uint16_t))
		mem_free((void *)e->ids);
	e->ids = NULL;
}

int mcap_room_for_entries(struct mcap_reader *r, uint32_t cap)
{
	struct mcap_entry *p;

	if (cap <= r->cap_entries)
		return 0;
	p = mem_realloc(r->entries, cap * sizeof(*p));
	if (!p)
		return -ENOMEM;
	r->entries = p;
	r->cap_entries = cap;
	return 0;
}

int mcap_add_entry(struct mcap_reader *r, const struct mcap_entry *e)
{
	if (r->n_entries == r->cap_entries) {
		if (r->n_entries > UINT32_MAX / 2 || mcap_room_for_entries(r, r->n_entries ? r->n_entries * 2 : 64) < 0)
			return -ENOMEM;
	}
	r->entries[r->n_entries++] = *e;
	return 0;
}

int mcap_add_attachment(struct mcap_reader *r, uint64_t at, uint64_t size)
{
	struct mcap_record_at *p = mem_realloc(r->attachments, (r->base.info.n_attachments + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	r->attachments = p;
	p[r->base.info.n_attachments++] = (struct mcap_record_at){ .at = at, .size = size };
	return 0;
}

/* Updates the file's size. */
static void look_at_size(struct mcap_reader *r)
{
	struct stat st;

	if (!fstat(r->base.fd, &st) && (uint64_t)st.st_size > r->base.info.size)
		r->base.info.size = (uint64_t)st.st_size;
}

static int damage(struct mcap_entry *e, uint64_t at, const char *what)
{
	*e = (struct mcap_entry){ .kind = MCAP_DAMAGE, .at = at, .what = what };
	return 1;
}

/* Whether a chunk's lengths are consistent, which random bytes hardly ever are. */
static bool looks_like_chunk(struct mcap_reader *r, uint64_t at)
{
	const uint8_t *p = mcap_window(r, at, MCAP_HEAD + MCAP_CHUNK_MIN + 4);
	struct mcap_chunk_head h;
	uint64_t length;

	if (!p || p[0] != MCAP_OP_CHUNK)
		return false;
	length = log_u64(p + 1);
	return length <= r->base.info.size - at - MCAP_HEAD &&
	       mcap_chunk_head(p + MCAP_HEAD, MCAP_CHUNK_MIN + 4, length, &h) && h.compression >= 0 &&
	       h.start <= h.end && h.size + h.records == length;
}

/* Position of the next chunk after damage, or the end of the file. */
static uint64_t next_chunk(struct mcap_reader *r, uint64_t at)
{
	uint64_t end = r->base.info.size;

	while (at < end) {
		const uint8_t *p = mcap_window(r, at, 1), *hit;
		size_t n;

		if (!p)
			break;
		n = r->window_n - (size_t)(at - r->window_at);
		hit = memchr(p, MCAP_OP_CHUNK, n);
		if (!hit) {
			at += n;
			continue;
		}
		at += (uint64_t)(hit - p);
		if (looks_like_chunk(r, at))
			return at;
		at++;
	}
	return end;
}

/* Handles a truncated or invalid record: finds the place to continue at. */
static int broken(struct mcap_reader *r, uint64_t at, uint64_t length, struct mcap_entry *ret)
{
	const uint8_t *p = mcap_window(r, at, MCAP_HEAD);
	uint64_t next = next_chunk(r, at + 1);
	bool growing = r->base.options.scan;

	if (next < r->base.info.size) {
		r->scan_at = next;
		return damage(ret, at, "no record starts here; the next chunk comes later");
	}
	if (r->told_truncated)
		return 0;
	r->told_truncated = true; /* only once: the rest may still be written */
	if (!growing)
		r->scan_done = true;
	if (!growing && p && p[0] == MCAP_OP_CHUNK && length > r->base.info.size - at - MCAP_HEAD &&
	    mcap_window(r, at, MCAP_HEAD + MCAP_CHUNK_MIN + 4)) {
		*ret = (struct mcap_entry){ .kind = MCAP_PART, .at = at, .size = r->base.info.size - at };
		return 1;
	}
	return damage(ret, at, "the file ends in the middle of a record; it was cut off, or is still being written");
}

static int take_chunk(struct mcap_reader *r, uint64_t at, uint64_t length, struct mcap_entry *ret)
{
	size_t have = length < HEAD_MOST - MCAP_HEAD ? (size_t)length : HEAD_MOST - MCAP_HEAD;
	const uint8_t *p = mcap_window(r, at, MCAP_HEAD + have);
	struct mcap_chunk_head h = { 0 };

	if (p)
		mcap_chunk_head(p + MCAP_HEAD, have, length, &h);
	r->scan_at = at + MCAP_HEAD + length;
	*ret = (struct mcap_entry){
		.kind = MCAP_CHUNK, .at = at, .size = MCAP_HEAD + length, .start = h.start, .end = h.end
	};
	r->base.info.n_chunks++;
	mcap_note_compression(r, p ? h.compression : -1);
	return 1;
}

static int metadata(struct mcap_reader *r, uint64_t at, uint64_t length)
{
	struct mcap_cursor c;
	uint8_t *p;
	int err = 0;

	if (length > r->base.options.max_bytes)
		return 0;
	p = mem_alloc((size_t)length + 1);
	if (!p)
		return -ENOMEM;
	c = (struct mcap_cursor){ .p = p, .left = (size_t)length };
	if (log_pread(r->base.fd, at + MCAP_HEAD, p, (size_t)length) == (ssize_t)length)
		err = mcap_add_metadata(r, &c);
	mem_free(p);
	return err == -EBADMSG ? 0 : err;
}

/* Handles a record that is neither a message nor a definition. 1: it ends the data; 0: skipped; -ENOMEM. */
static int other(struct mcap_reader *r, uint8_t op, uint64_t at, uint64_t length)
{
	r->scan_at = at + MCAP_HEAD + length;
	if (op == MCAP_OP_DATA_END || op == MCAP_OP_FOOTER) {
		r->scan_at = at;
		r->scan_done = true;
		return 1;
	}
	if (op == MCAP_OP_METADATA && r->scan_metadata)
		return metadata(r, at, length);
	if (op == MCAP_OP_ATTACHMENT && r->scan_metadata)
		return mcap_add_attachment(r, at, MCAP_HEAD + length);
	return 0;
}

static bool of_run(uint8_t op)
{
	return op == MCAP_OP_SCHEMA || op == MCAP_OP_CHANNEL || op == MCAP_OP_MESSAGE;
}

int mcap_scan_next(struct mcap_reader *r, struct mcap_entry *ret)
{
	struct mcap_entry run = { .kind = MCAP_RUN };

	look_at_size(r);
	while (!r->scan_done) {
		uint64_t at = r->scan_at, left = r->base.info.size - at, length;
		const uint8_t *p = left >= MCAP_HEAD ? mcap_window(r, at, MCAP_HEAD) : NULL;
		int err;

		if (!left && !run.size)
			return 0;
		length = p ? log_u64(p + 1) : 0;
		if (!left || !p || !p[0] || length > left - MCAP_HEAD || !of_run(p[0])) {
			if (run.size) { /* first return what came before it */
				*ret = run;
				return 1;
			}
			if (!p || !p[0] || length > left - MCAP_HEAD)
				return broken(r, at, length, ret);
			r->told_truncated = false;
			if (p[0] == MCAP_OP_CHUNK)
				return take_chunk(r, at, length, ret);
			err = other(r, p[0], at, length);
			if (err)
				return err < 0 ? err : 0;
			continue;
		}
		r->told_truncated = false;
		if (!run.size)
			run.at = at;
		run.size += MCAP_HEAD + length;
		r->scan_at = at + MCAP_HEAD + length;
		if (run.size >= RUN_BYTES) {
			*ret = run;
			return 1;
		}
	}
	return 0;
}
