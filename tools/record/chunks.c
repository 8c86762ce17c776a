/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges messages of chunks by time: a heap of loaded chunks, each sorted; a chunk is loaded when its start time is
 * reached.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "mem.h"

static struct chunk_reader *of(struct log_reader *r)
{
	return (struct chunk_reader *)r;
}

/* ---- one chunk ---- */

int chunk_add(struct chunk *k, int64_t time_ns, uint32_t channel, size_t at, size_t size)
{
	if (k->n == k->cap) {
		size_t cap = k->cap ? k->cap * 2 : 256;
		struct chunk_item *items = mem_realloc(k->items, cap * sizeof(*items));

		if (!items)
			return -ENOMEM;
		k->items = items;
		k->cap = cap;
	}
	k->items[k->n++] = (struct chunk_item){ .time_ns = time_ns, .channel = channel, .at = at, .size = size };
	return 0;
}

int chunk_room(struct chunk *k, size_t size)
{
	uint8_t *data;

	if (size <= k->room)
		return 0;
	data = mem_realloc(k->data, size);
	if (!data)
		return -ENOMEM;
	k->data = data;
	k->room = size;
	return 0;
}

static void chunk_free(struct chunk *k)
{
	if (!k)
		return;
	mem_free(k->data);
	mem_free(k->items);
	mem_free(k);
}

static size_t chunk_bytes(const struct chunk *k)
{
	return k->room + k->cap * sizeof(*k->items);
}

static struct chunk *chunk_take(struct chunk_reader *c)
{
	struct chunk *k = c->spare;

	if (!k)
		return MEM_NEW(struct chunk);
	c->spare = NULL;
	k->size = k->n = k->next = 0;
	return k;
}

static void chunk_drop(struct chunk_reader *c, struct chunk *k)
{
	chunk_free(c->spare);
	c->spare = k;
}

/* By time, then by position. */
static int item_order(const void *a, const void *b)
{
	const struct chunk_item *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void chunk_sort(struct chunk *k)
{
	for (size_t i = 1; i < k->n; i++)
		if (k->items[i].time_ns < k->items[i - 1].time_ns) {
			qsort(k->items, k->n, sizeof(*k->items), item_order);
			return;
		}
}

/* ---- list of chunks ---- */

void chunk_reader_init(struct chunk_reader *c, const struct log_reader_ops *ops, const struct log_opening *o)
{
	log_reader_init(&c->r, ops, o);
	c->from_ns = INT64_MIN;
}

static void unload(struct chunk_reader *c)
{
	for (size_t i = 0; i < c->n_heap; i++)
		chunk_free(c->heap[i]);
	c->n_heap = c->bytes = c->next = 0;
	c->has_given = false;
}

void chunk_reader_finish(struct chunk_reader *c)
{
	unload(c);
	chunk_free(c->spare);
	for (size_t i = 0; i < c->n; i++)
		mem_free(c->entries[i].channels);
	mem_free(c->entries);
	mem_free(c->order);
	mem_free(c->heap);
	mem_free(c->want);
	channels_finish(&c->channels);
}

int chunk_reader_add(struct chunk_reader *c, const struct chunk_entry *e)
{
	if (c->n == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 64;
		struct chunk_entry *entries = mem_realloc(c->entries, cap * sizeof(*entries));

		if (!entries) {
			mem_free(e->channels);
			return -ENOMEM;
		}
		c->entries = entries;
		c->cap = cap;
	}
	c->entries[c->n++] = *e;
	return 0;
}

int chunk_reader_damage(struct chunk_reader *c, uint64_t offset, const char *what)
{
	int64_t then_ns = c->n ? c->entries[c->n - 1].end_ns : INT64_MIN;

	return chunk_reader_add(c, &(struct chunk_entry){
					   .offset = offset, .what = what, .start_ns = then_ns, .end_ns = then_ns });
}

static int entry_order(const void *a, const void *b, void *of_reader)
{
	const struct chunk_reader *c = of_reader;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	if (c->entries[i].start_ns != c->entries[j].start_ns)
		return c->entries[i].start_ns < c->entries[j].start_ns ? -1 : 1;
	return i < j ? -1 : i > j;
}

static void summarize(struct chunk_reader *c)
{
	struct log_info *info = &c->r.info;
	bool any = false;

	info->n_chunks = info->n_messages = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct chunk_entry *e = &c->entries[i];

		info->n_chunks += !e->what;
		info->n_messages += e->n_messages;
		if (!e->n_messages)
			continue;
		if (!any || e->start_ns < info->start_ns)
			info->start_ns = e->start_ns;
		if (!any || e->end_ns > info->end_ns)
			info->end_ns = e->end_ns;
		any = true;
	}
}

static void show_channels(struct chunk_reader *c)
{
	c->r.info.channels = c->channels.list;
	c->r.info.n_channels = c->channels.n;
}

int chunk_reader_ready(struct chunk_reader *c)
{
	c->order = mem_calloc(c->n + 1, sizeof(*c->order));
	if (!c->order)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++)
		c->order[i] = i;
	if (!c->r.options.file_order)
		qsort_r(c->order, c->n, sizeof(*c->order), entry_order, c);
	summarize(c);
	show_channels(c);
	return 0;
}

static int id_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Records the chunk's channels; on failure they stay unknown, so the chunk is always loaded. */
static void list_channels(struct chunk_entry *e, const struct chunk *k, size_t n_channels)
{
	bool *seen = mem_calloc(n_channels + 1, 1);

	e->n_channels = 0;
	mem_free(e->channels);
	e->channels = seen ? mem_calloc(n_channels + 1, sizeof(*e->channels)) : NULL;
	for (size_t i = 0; e->channels && i < k->n; i++) {
		if (seen[k->items[i].channel])
			continue;
		seen[k->items[i].channel] = true;
		e->channels[e->n_channels++] = k->items[i].channel;
	}
	if (e->channels)
		qsort(e->channels, e->n_channels, sizeof(*e->channels), id_order);
	mem_free(seen);
}

int chunk_reader_measure(struct chunk_reader *c, struct chunk_entry *e, bool counts)
{
	struct chunk *k = chunk_take(c);
	int r;

	if (!k)
		return -ENOMEM;
	r = c->load(c, e, k);
	e->n_messages = k->n;
	for (size_t i = 0; i < k->n; i++) {
		int64_t t = k->items[i].time_ns;

		e->start_ns = !i || t < e->start_ns ? t : e->start_ns;
		e->end_ns = !i || t > e->end_ns ? t : e->end_ns;
		if (counts)
			c->channels.list[k->items[i].channel].n_messages++;
	}
	list_channels(e, k, c->channels.n);
	chunk_drop(c, k);
	return r;
}

/* ---- the heap ---- */

static const struct chunk_item *head(const struct chunk *k)
{
	return &k->items[k->next];
}

static bool earlier(const struct chunk_reader *c, size_t a, size_t b)
{
	const struct chunk *x = c->heap[a], *y = c->heap[b];

	if (!c->r.options.file_order && head(x)->time_ns != head(y)->time_ns)
		return head(x)->time_ns < head(y)->time_ns;
	return x->entry < y->entry;
}

static void swap(struct chunk_reader *c, size_t a, size_t b)
{
	struct chunk *k = c->heap[a];

	c->heap[a] = c->heap[b];
	c->heap[b] = k;
}

static void sift_down(struct chunk_reader *c)
{
	for (size_t i = 0, child; (child = 2 * i + 1) < c->n_heap; i = child) {
		if (child + 1 < c->n_heap && earlier(c, child + 1, child))
			child++;
		if (!earlier(c, child, i))
			break;
		swap(c, i, child);
	}
}

static int push(struct chunk_reader *c, struct chunk *k)
{
	if (c->n_heap == c->heap_cap) {
		size_t cap = c->heap_cap ? c->heap_cap * 2 : 8;
		struct chunk **heap = mem_realloc(c->heap, cap * sizeof(struct chunk *));

		if (!heap)
			return -ENOMEM;
		c->heap = heap;
		c->heap_cap = cap;
	}
	c->heap[c->n_heap++] = k;
	c->bytes += chunk_bytes(k);
	for (size_t i = c->n_heap - 1; i && earlier(c, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(c, i, (i - 1) / 2);
	return 0;
}

/* Advances the top to its next message; drops the chunk if it has no more. */
static void step(struct chunk_reader *c)
{
	struct chunk *k = c->heap[0];

	if (++k->next == k->n) {
		c->bytes -= chunk_bytes(k);
		chunk_drop(c, k);
		c->heap[0] = c->heap[--c->n_heap];
	}
	sift_down(c);
}

/* ---- iteration ---- */

static bool wanted(const struct chunk_reader *c, uint32_t channel)
{
	return channel >= c->n_want || c->want[channel];
}

static bool chunk_wanted(const struct chunk_reader *c, const struct chunk_entry *e)
{
	if (e->n_messages && e->end_ns < c->from_ns)
		return false;
	if (!e->channels)
		return true;
	for (size_t i = 0; i < e->n_channels; i++)
		if (wanted(c, e->channels[i]))
			return true;
	return !e->n_channels;
}

static int load_next(struct chunk_reader *c)
{
	size_t i = c->order[c->next++];
	const struct chunk_entry *e = &c->entries[i];
	struct chunk *k;
	int r, p;

	if (!chunk_wanted(c, e))
		return 0;
	if (e->what)
		return log_fail(c->r.why, sizeof(c->r.why), -EBADMSG, "offset %llu: %s", (unsigned long long)e->offset,
				e->what);
	k = chunk_take(c);
	if (!k)
		return log_fail(c->r.why, sizeof(c->r.why), -ENOMEM, "no memory for a chunk");
	k->entry = i;
	r = c->load(c, e, k);
	show_channels(c);
	if (!c->r.options.file_order)
		chunk_sort(k);
	if (c->n_heap && c->bytes + chunk_bytes(k) > c->r.options.max_bytes) {
		chunk_free(k);
		return log_fail(
			c->r.why, sizeof(c->r.why), -EMSGSIZE,
			"offset %llu: too many chunks of the same time to sort them within %zu bytes; its messages are left "
			"out: read it in file order",
			(unsigned long long)e->offset, c->r.options.max_bytes);
	}
	p = k->n ? push(c, k) : 0;
	if (!k->n || p < 0)
		chunk_drop(c, k);
	if (p < 0)
		return log_fail(c->r.why, sizeof(c->r.why), p, "no memory for a chunk");
	return r < 0 ? r : 0;
}

/* Whether a chunk that is not loaded yet may hold the next message. */
static bool is_due(const struct chunk_reader *c)
{
	if (c->next == c->n)
		return false;
	if (!c->n_heap)
		return true;
	return !c->r.options.file_order && c->entries[c->order[c->next]].start_ns <= head(c->heap[0])->time_ns;
}

int chunk_reader_next(struct log_reader *r, struct log_message *ret)
{
	struct chunk_reader *c = of(r);
	const struct chunk_item *m;

	if (c->has_given)
		step(c);
	c->has_given = false;
	for (;;) {
		while (is_due(c)) {
			int e = load_next(c);

			if (e < 0)
				return e;
		}
		if (!c->n_heap)
			return 0;
		m = head(c->heap[0]);
		if (wanted(c, m->channel) && m->time_ns >= c->from_ns)
			break;
		step(c);
	}
	*ret = (struct log_message){ .channel = m->channel,
				     .log_time_ns = m->time_ns,
				     .publish_time_ns = m->time_ns,
				     .data = c->heap[0]->data + m->at,
				     .size = m->size };
	c->has_given = true;
	return 1;
}

int chunk_reader_select(struct log_reader *r, const bool *want, size_t n)
{
	struct chunk_reader *c = of(r);
	bool *copy = want ? mem_alloc(n + 1) : NULL;

	if (want && !copy)
		return log_fail(r->why, sizeof(r->why), -ENOMEM, "no memory");
	if (n && copy)
		memcpy(copy, want, n);
	mem_free(c->want);
	c->want = copy;
	c->n_want = want ? n : 0;
	return 0;
}

int chunk_reader_seek(struct log_reader *r, int64_t log_time_ns)
{
	struct chunk_reader *c = of(r);

	if (r->options.file_order)
		return log_fail(r->why, sizeof(r->why), -ENOTSUP, "a file that is read in file order cannot seek");
	unload(c);
	c->from_ns = log_time_ns;
	return 0;
}
