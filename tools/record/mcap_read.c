/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of MCAP: opens a file and returns its messages in order. Entries (mostly chunks) are loaded when the next
 * message may be in them; overlapping ones are merged with a heap. If they need too much memory, the one needed last is
 * freed, and loaded again later. Thread: as log.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcap_read_private.h"
#include "mem.h"

#define BUDGET ((size_t)256 << 20)

static struct mcap_reader *of(struct log_reader *r)
{
	return (struct mcap_reader *)r;
}

static int64_t time_of(uint64_t ns)
{
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static int give_why(struct mcap_reader *r, int err, const char *why)
{
	return log_fail(r->base.why, sizeof(r->base.why), err, "%s", err == -ENOMEM && !*why ? "no memory" : why);
}

/* ---- heap: the entry with the next message is first ---- */

static bool before(const struct mcap_loaded *a, const struct mcap_loaded *b)
{
	uint64_t x = a->refs[a->next].time, y = b->refs[b->next].time;

	return x != y ? x < y : a->at < b->at;
}

static void heap_down(struct mcap_reader *r, uint32_t i)
{
	struct mcap_loaded **h = r->open;

	for (;;) {
		uint32_t least = i, left = 2 * i + 1;
		struct mcap_loaded *l;

		for (uint32_t c = left; c < left + 2 && c < r->n_open; c++)
			if (before(h[c], h[least]))
				least = c;
		if (least == i)
			return;
		l = h[i];
		h[i] = h[least];
		h[least] = l;
		i = least;
	}
}

static int heap_add(struct mcap_reader *r, struct mcap_loaded *l)
{
	uint32_t i = r->n_open, cap = r->cap_open ? r->cap_open * 2 : 16;
	struct mcap_loaded **h;

	if (i == r->cap_open) {
		h = mem_realloc(r->open, cap * sizeof(struct mcap_loaded *));
		if (!h)
			return -ENOMEM;
		r->open = h;
		r->cap_open = cap;
	}
	h = r->open;
	r->n_open++;
	for (; i && before(l, h[(i - 1) / 2]); i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = l;
	return 0;
}

static struct mcap_loaded *heap_take(struct mcap_reader *r)
{
	struct mcap_loaded *l = r->open[0];

	r->open[0] = r->open[--r->n_open];
	heap_down(r, 0);
	return l;
}

/* ---- entries ---- */

static bool any_wanted(const struct mcap_reader *r, const struct mcap_entry *e)
{
	if (!r->want || !e->ids)
		return true;
	for (uint32_t i = 0; i < e->n_ids; i++)
		if (!r->channel_of[mcap_entry_id(e, i)] || mcap_wanted(r, r->channel_of[mcap_entry_id(e, i)] - 1))
			return true;
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct mcap_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *a, const void *b)
{
	const struct mcap_entry *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void sort_entries(struct mcap_reader *r)
{
	int (*order)(const void *a, const void *b) = r->base.options.file_order ? by_place : by_start;

	for (uint32_t i = 1; i < r->n_entries; i++)
		if (order(&r->entries[i - 1], &r->entries[i]) > 0) {
			qsort(r->entries, r->n_entries, sizeof(*r->entries), order);
			break;
		}
	r->next_entry = 0;
}

static void skip_given(struct mcap_reader *r, struct mcap_loaded *l)
{
	const struct mcap_position *p = &r->last;

	if (r->base.options.file_order)
		return;
	for (; l->next < l->n; l->next++) {
		const struct mcap_ref *f = &l->refs[l->next];

		if (f->time > p->time ||
		    (f->time == p->time && (l->at > p->at || (l->at == p->at && f->offset > p->offset))))
			return;
	}
}

static int tell_damage(struct mcap_reader *r, const struct mcap_entry *e)
{
	return log_fail(r->base.why, sizeof(r->base.why), -EBADMSG, "offset %llu: %s", (unsigned long long)e->at,
			e->what);
}

static void drop(struct mcap_reader *r, struct mcap_loaded *l)
{
	if (l->data)
		r->open_bytes -= l->size;
	mcap_unload(l);
}

/* Loads an entry into the heap. On an error r has the reason, and the next call continues after the entry. */
static int open_entry(struct mcap_reader *r, const struct mcap_entry *e, uint32_t i)
{
	struct mcap_loaded *l;
	int err;

	if (e->kind == MCAP_DAMAGE)
		return tell_damage(r, e);
	if (!any_wanted(r, e) || (!r->base.options.file_order && e->end < r->last.time))
		return 0;
	err = mcap_load(r, e, i, &l);
	if (err < 0)
		return give_why(r, err, "");
	r->open_bytes += l->data ? l->size : 0;
	skip_given(r, l);
	if (l->next < l->n) {
		err = heap_add(r, l);
		if (err >= 0)
			return 0;
	} else if (l->error) {
		err = give_why(r, l->error, l->why);
	}
	drop(r, l);
	return err;
}

/* ---- files without index: read once at the start ---- */

/* Collects the ids of the entry's channels. `there` is all false before and after. */
static int note_ids(struct mcap_entry *e, const struct mcap_loaded *l, bool *there)
{
	uint16_t *ids = NULL;
	uint32_t n = 0;
	int err = 0;

	for (size_t i = 0; i < l->n; i++) {
		uint16_t id = log_u16(l->data + l->refs[i].offset + MCAP_HEAD), *p = ids;

		if (there[id])
			continue;
		if (!(n & (n - 1))) /* reallocates at powers of two */
			p = mem_realloc(ids, (n ? 2 * n : 1) * sizeof(*ids));
		if (!p) {
			err = -ENOMEM;
			break;
		}
		ids = p;
		memcpy(&ids[n++], l->data + l->refs[i].offset + MCAP_HEAD,
		       sizeof(*ids)); /* little-endian, as in the file */
		there[id] = true;
	}
	for (uint32_t i = 0; i < n; i++)
		there[log_u16((const uint8_t *)&ids[i])] = false;
	if (err < 0) {
		mem_free(ids);
		return err;
	}
	e->ids = (const uint8_t *)ids;
	e->n_ids = n;
	e->stride = sizeof(*ids);
	return 0;
}

/* Sets times, counts and channels of an entry from its messages. */
static int count(struct mcap_reader *r, struct mcap_entry *e, const struct mcap_loaded *l)
{
	struct log_info *info = &r->base.info;

	for (size_t i = 0; i < l->n; i++)
		r->channels[l->refs[i].channel].n_messages++;
	if (l->n) {
		e->start = l->refs[0].time;
		e->end = l->refs[l->n - 1].time;
		if (!info->n_messages || time_of(e->start) < info->start_ns)
			info->start_ns = time_of(e->start);
		if (time_of(e->end) > info->end_ns)
			info->end_ns = time_of(e->end);
		info->n_messages += l->n;
	}
	return l->error ? 0 : note_ids(e, l, r->there); /* damage must be reported whichever channels are wanted */
}

static int survey_entry(struct mcap_reader *r, struct mcap_entry *e)
{
	bool *want = r->want;
	struct mcap_loaded *l;
	int err;

	if (e->kind == MCAP_DAMAGE) {
		e->start = e->end = r->base.info.n_messages ? (uint64_t)r->base.info.end_ns : 0;
		r->base.info.counted = false;
		return mcap_add_entry(r, e);
	}
	r->want = NULL;
	err = mcap_load(r, e, 0, &l);
	r->want = want;
	if (err < 0)
		return err;
	err = count(r, e, l);
	if (l->error)
		r->base.info.counted = false;
	mcap_unload(l);
	if (err >= 0)
		err = mcap_add_entry(r, e);
	if (err < 0)
		mcap_entry_finish(e);
	return err;
}

static int survey(struct mcap_reader *r)
{
	struct mcap_entry e;
	int err;

	r->base.info.counted = true;
	while ((err = mcap_scan_next(r, &e)) > 0) {
		err = survey_entry(r, &e);
		if (err < 0)
			break;
	}
	if (err >= 0 && r->bad_summary_at) {
		e = (struct mcap_entry){ .kind = MCAP_DAMAGE,
					 .at = r->bad_summary_at,
					 .start = UINT64_MAX,
					 .end = UINT64_MAX,
					 .what = "the checksum of the summary is wrong; the file was read without it" };
		err = mcap_add_entry(r, &e);
	}
	return err;
}

/* ---- calls ---- */

static void let_go(struct mcap_reader *r)
{
	for (uint32_t i = 0; i < r->n_open; i++)
		drop(r, r->open[i]);
	r->n_open = 0;
	if (r->spent)
		drop(r, r->spent);
	r->spent = NULL;
}

static void close_reader(struct log_reader *base)
{
	struct mcap_reader *r = of(base);

	let_go(r);
	for (uint32_t i = 0; i < r->n_entries; i++)
		mcap_entry_finish(&r->entries[i]);
	mem_free(r->entries);
	mem_free(r->open);
	mcap_definitions_finish(r);
	mem_free(r->attachments);
	mem_free(r->attachment);
	mem_free(r->profile);
	mem_free(r->library);
	mem_free(r->window);
	mem_free(r->summary);
	mem_free(r->there);
	mem_free(r->want);
	mcap_inflaters_finish(&r->inflaters);
	mem_free(r);
}

static int select_channels(struct log_reader *base, const bool *want, size_t n)
{
	struct mcap_reader *r = of(base);
	bool *copy = want ? mem_dup(want, n ? n : 1) : NULL;

	if (want && !copy)
		return -ENOMEM;
	mem_free(r->want);
	r->want = copy;
	r->n_want = n;
	/* continue at the next message, also in entries that were skipped as unwanted */
	if (!r->base.options.file_order) {
		let_go(r);
		sort_entries(r);
	}
	return 0;
}

static int seek(struct log_reader *base, int64_t log_time_ns)
{
	struct mcap_reader *r = of(base);

	if (r->base.options.file_order)
		return log_fail(base->why, sizeof(base->why), -ENOTSUP,
				"messages are read in the order of the file: seeking by time is not possible");
	let_go(r);
	r->last = (struct mcap_position){ .time = log_time_ns < 0 ? 0 : (uint64_t)log_time_ns };
	sort_entries(r);
	return 0;
}

/* If overlapping entries exceed the budget, frees the one needed last; it is loaded again later. */
static void keep_budget(struct mcap_reader *r)
{
	while (r->open_bytes > r->budget) {
		struct mcap_loaded *last = NULL;

		for (uint32_t i = 1; i < r->n_open; i++)
			if (r->open[i]->data && (!last || before(last, r->open[i])))
				last = r->open[i];
		if (!last)
			return;
		r->open_bytes -= last->size;
		mem_free(last->data);
		last->data = NULL;
	}
}

/* Loads entries into the heap as needed for the next message. 1; 0: no more; or an errno, with the reason. */
static int feed_in_file_order(struct mcap_reader *r)
{
	struct mcap_entry e;
	int err;

	if (r->base.info.indexed) {
		if (r->next_entry == r->n_entries)
			return 0;
		err = open_entry(r, &r->entries[r->next_entry], r->next_entry);
		r->next_entry++;
		return err < 0 ? err : 1;
	}
	err = mcap_scan_next(r, &e);
	if (!err && r->bad_summary_at) {
		e = (struct mcap_entry){ .at = r->bad_summary_at,
					 .what = "the checksum of the summary is wrong; the file was read without it" };
		r->bad_summary_at = 0;
		return tell_damage(r, &e);
	}
	if (err <= 0)
		return err < 0 ? give_why(r, err, "") : 0;
	err = open_entry(r, &e, 0);
	return err < 0 ? err : 1;
}

static int feed_by_time(struct mcap_reader *r)
{
	struct mcap_entry e;
	int err;

	if (r->next_entry == r->n_entries) {
		if (r->base.info.indexed)
			return 0;
		err = mcap_scan_next(r, &e); /* the file may have grown */
		if (err > 0)
			err = survey_entry(r, &e);
		if (err < 0)
			return give_why(r, err, "");
		if (r->next_entry == r->n_entries)
			return 0;
	}
	err = open_entry(r, &r->entries[r->next_entry], r->next_entry);
	r->next_entry++;
	return err < 0 ? err : 1;
}

static int feed(struct mcap_reader *r)
{
	bool by_place_only = r->base.options.file_order;
	int err = 1;

	while (err > 0) {
		if (r->n_open && (by_place_only || r->next_entry == r->n_entries ||
				  r->entries[r->next_entry].start > r->open[0]->refs[r->open[0]->next].time))
			return 1;
		err = by_place_only ? feed_in_file_order(r) : feed_by_time(r);
	}
	return err;
}

static int fill(struct mcap_reader *r, const struct mcap_loaded *l, const struct mcap_ref *f, struct log_message *ret)
{
	struct mcap_cursor all = { .p = l->data + f->offset, .left = f->offset < l->size ? l->size - f->offset : 0 }, c;
	uint8_t op;

	if (!mcap_get_record(&all, &op, &c) || op != MCAP_OP_MESSAGE || c.left < MCAP_MESSAGE)
		return log_fail(r->base.why, sizeof(r->base.why), -EBADMSG,
				"offset %llu: the file has changed while it was read", (unsigned long long)l->at);
	mcap_get_int(&c, 2);
	ret->channel = f->channel;
	ret->sequence = (uint32_t)mcap_get_int(&c, 4);
	ret->log_time_ns = time_of(mcap_get_int(&c, 8));
	ret->publish_time_ns = time_of(mcap_get_int(&c, 8));
	ret->data = c.p;
	ret->size = c.left;
	return 1;
}

/* Returns the first message of the heap; its entry stays loaded until the next call. */
static int give(struct mcap_reader *r, struct log_message *ret)
{
	struct mcap_loaded *l = r->open[0];
	struct mcap_ref f = l->refs[l->next];
	int err = 0;

	if (!l->data) {
		err = mcap_reload(r, &r->entries[l->entry], l);
		if (err < 0) {
			l->next = l->n;
			give_why(r, err, l->why);
			l->error = 0;
		} else {
			r->open_bytes += l->size;
		}
	}
	r->last = (struct mcap_position){ .time = f.time, .at = l->at, .offset = f.offset };
	if (err >= 0) {
		l->next++;
		err = fill(r, l, &f, ret);
	}
	if (l->next < l->n)
		heap_down(r, 0);
	else
		r->spent = heap_take(r);
	return err;
}

static int next(struct log_reader *base, struct log_message *ret)
{
	struct mcap_reader *r = of(base);
	int err;

	base->why[0] = '\0';
	for (;;) {
		if (r->spent) {
			err = r->spent->error;
			if (err)
				give_why(r, err, r->spent->why);
			drop(r, r->spent);
			r->spent = NULL;
			if (err)
				return err;
		}
		err = feed(r);
		keep_budget(r);
		if (err <= 0)
			return err;
		if (mcap_wanted(r, r->open[0]->refs[r->open[0]->next].channel))
			return give(r, ret);
		/* the message was wanted when the entry was loaded, but is not now */
		if (++r->open[0]->next < r->open[0]->n)
			heap_down(r, 0);
		else
			r->spent = heap_take(r);
	}
}

static int no_attachment(struct mcap_reader *r, uint64_t at, const char *what)
{
	return log_fail(r->base.why, sizeof(r->base.why), -EBADMSG, "offset %llu: %s", (unsigned long long)at, what);
}

/*
 * Parses an attachment's fields from the n bytes in r->attachment, and copies its strings behind them. False:
 * incomplete.
 */
static bool attachment_fields(struct mcap_reader *r, size_t n, struct mcap_cursor *c, struct log_attachment *ret)
{
	char *text = (char *)r->attachment + n;
	struct log_bytes name, type;

	*c = (struct mcap_cursor){ .p = (uint8_t *)r->attachment + MCAP_HEAD, .left = n - MCAP_HEAD };
	*ret = (struct log_attachment){ .name = text };
	ret->log_time_ns = time_of(mcap_get_int(c, 8));
	ret->create_time_ns = time_of(mcap_get_int(c, 8));
	name = mcap_get_str(c);
	type = mcap_get_str(c);
	ret->size = (size_t)mcap_get_int(c, 8);
	if (c->bad || *(uint8_t *)r->attachment != MCAP_OP_ATTACHMENT)
		return false;
	memcpy(text, name.data, name.size);
	text[name.size] = '\0';
	ret->media_type = text + name.size + 1;
	memcpy(text + name.size + 1, type.data, type.size);
	text[name.size + 1 + type.size] = '\0';
	return true;
}

static int attachment(struct log_reader *base, uint32_t i, bool data, struct log_attachment *ret)
{
	struct mcap_reader *r = of(base);
	const struct mcap_record_at *a = &r->attachments[i];
	size_t n = (size_t)(data || a->size < MCAP_WINDOW ? a->size : MCAP_WINDOW);
	struct log_attachment found;
	struct mcap_cursor c;
	uint32_t crc;

	if (n > r->base.options.max_bytes)
		return log_fail(base->why, sizeof(base->why), -EMSGSIZE,
				"offset %llu: an attachment of %llu bytes; at most %zu are read at once",
				(unsigned long long)a->at, (unsigned long long)a->size, r->base.options.max_bytes);
	mem_free(r->attachment);
	r->attachment = mem_alloc(2 * n + 2); /* the record and its two strings */
	if (!r->attachment)
		return give_why(r, -ENOMEM, "");
	if (log_pread(base->fd, a->at, r->attachment, n) != (ssize_t)n || !attachment_fields(r, n, &c, &found) ||
	    found.size > a->size)
		return no_attachment(r, a->at, "no whole attachment is here");
	found.data = data ? mcap_get_bytes(&c, found.size).data : NULL;
	crc = data ? (uint32_t)mcap_get_int(&c, 4) : 0;
	if (c.bad)
		return no_attachment(r, a->at, "no whole attachment is here");
	if (crc && !r->base.options.no_crc &&
	    mcap_crc(0, (uint8_t *)r->attachment + MCAP_HEAD,
		     (size_t)(c.p - 4 - ((uint8_t *)r->attachment + MCAP_HEAD))) != crc)
		return no_attachment(r, a->at, "the checksum of an attachment is wrong");
	*ret = found;
	return 0;
}

static const struct log_reader_ops ops = {
	.close = close_reader, .select = select_channels, .seek = seek, .next = next, .attachment = attachment
};

/* ---- opening ---- */

static int read_header(struct mcap_reader *r)
{
	const uint8_t *p = mcap_window(r, MCAP_MAGIC_SIZE, MCAP_HEAD);
	uint64_t n = p && p[0] == MCAP_OP_HEADER ? log_u64(p + 1) : UINT64_MAX;
	struct mcap_cursor c;
	struct log_bytes profile, library;

	p = n <= MCAP_WINDOW - MCAP_HEAD ? mcap_window(r, MCAP_MAGIC_SIZE, MCAP_HEAD + (size_t)n) : NULL;
	if (!p) /* truncated or damaged; later records may be intact */
		return 0;
	c = (struct mcap_cursor){ .p = p + MCAP_HEAD, .left = (size_t)n };
	profile = mcap_get_str(&c);
	library = mcap_get_str(&c);
	r->profile = mem_strndup(profile.data, profile.size);
	r->library = mem_strndup(library.data, library.size);
	if (!r->profile || !r->library)
		return -ENOMEM;
	r->base.info.profile = r->profile;
	r->base.info.library = r->library;
	return 0;
}

static int load_file(struct mcap_reader *r)
{
	int err;

	r->window = mem_alloc(MCAP_WINDOW);
	r->channel_of = mem_calloc(65536, sizeof(*r->channel_of));
	r->schema_of = mem_calloc(65536, sizeof(struct mcap_schema *));
	if (!r->window || !r->channel_of || !r->schema_of)
		return -ENOMEM;
	r->there = mem_zalloc(65536);
	if (!r->there)
		return -ENOMEM;
	r->scan_at = MCAP_MAGIC_SIZE;
	err = read_header(r);
	if (err >= 0)
		err = mcap_read_summary(r);
	if (err < 0)
		return err;
	r->base.info.indexed = err > 0;
	r->scan_metadata = !r->base.info.indexed;
	if (!r->base.info.indexed && !r->base.options.file_order)
		err = survey(r);
	if (err >= 0)
		sort_entries(r);
	return err;
}

int mcap_open(struct log_opening *o, struct log_reader **ret)
{
	struct mcap_reader *r;
	int err;

	if (o->n_head < MCAP_MAGIC_SIZE)
		return log_fail(o->why, o->why_size, -EBADMSG, "%s: an MCAP file that ends after %zu bytes", o->path,
				o->n_head);
	if (memcmp(o->head, MCAP_MAGIC, MCAP_MAGIC_SIZE))
		return log_fail(o->why, o->why_size, -ENOTSUP,
				"%s: MCAP of an unknown version, or its first 8 bytes are damaged", o->path);
	r = MEM_NEW(struct mcap_reader);
	if (!r)
		return log_fail(o->why, o->why_size, -ENOMEM, "%s: no memory", o->path);
	log_reader_init(&r->base, &ops, o);
	r->budget = BUDGET;
	err = load_file(r);
	if (err < 0) {
		close_reader(&r->base);
		return log_fail(o->why, o->why_size, err, "%s: %s", o->path, strerror(-err));
	}
	*ret = &r->base;
	return 0;
}

void mcap_reader_set_budget(struct log_reader *r, size_t bytes)
{
	of(r)->budget = bytes;
}
