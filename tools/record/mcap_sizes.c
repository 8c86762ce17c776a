/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large messages are, by the indexes of chunks: they say where each message begins, so that the next one bounds it. Definitions between two
 * messages make a bound too large; a chunk whose bound stands out is read to see. Thread: as log.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "mcap_read_private.h"
#include "mem.h"

#define INDEX_BYTES_MAX ((uint64_t)64 << 20) /* that are read: what comes behind them is not looked at */
#define CHUNKS_MAX      4096u                /* whose indexes are read, evenly over the file: a seek of the disk each */
#define LOADS_MAX       32u                  /* chunks that are read to see */
#define REF_BYTES       16u                  /* of an index: a time and an offset */

struct bound { /* no message of that channel in that chunk is larger */
	uint32_t entry, channel;
	uint64_t bytes;
	bool exact;
};

struct begin { /* of a message in its chunk */
	uint64_t offset;
	uint32_t channel;
};

struct sizes {
	struct mcap_reader *r;
	struct bound *bounds;
	size_t n_bounds, cap_bounds;
	struct begin *begins; /* of one chunk */
	size_t n_begins, cap_begins;
	uint64_t index_bytes;
	size_t n; /* channels; of each: */
	uint64_t *most, *second;
	struct bound **top;
};

/* ---- one chunk ---- */

static int add_begin(struct sizes *s, uint64_t offset, uint32_t channel)
{
	size_t cap = s->cap_begins ? 2 * s->cap_begins : 1024;
	struct begin *more;

	if (s->n_begins == s->cap_begins) {
		more = mem_realloc(s->begins, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->begins = more;
		s->cap_begins = cap;
	}
	s->begins[s->n_begins++] = (struct begin){ .offset = offset, .channel = channel };
	return 0;
}

static int add_bound(struct sizes *s, uint32_t entry, uint32_t channel, uint64_t bytes)
{
	size_t cap = s->cap_bounds ? 2 * s->cap_bounds : 256;
	struct bound *more;

	if (s->n_bounds == s->cap_bounds) {
		more = mem_realloc(s->bounds, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->bounds = more;
		s->cap_bounds = cap;
	}
	s->bounds[s->n_bounds++] = (struct bound){ .entry = entry, .channel = channel, .bytes = bytes };
	return 0;
}

static int add_refs(struct sizes *s, struct mcap_cursor c)
{
	uint32_t channel = s->r->channel_of[(uint16_t)mcap_get_int(&c, 2)];
	struct mcap_cursor refs = mcap_get_sub(&c);
	int r = c.bad || !channel || refs.left % REF_BYTES ? -EBADMSG : 0;

	while (r == 0 && refs.left) {
		mcap_get_int(&refs, 8);
		r = add_begin(s, mcap_get_int(&refs, 8), channel - 1);
	}
	return r;
}

/* The index of one channel in a chunk. -EBADMSG: there is none. */
static int read_index(struct sizes *s, uint64_t at)
{
	uint8_t head[MCAP_HEAD], *p;
	uint64_t n;
	int r = -EBADMSG;

	if (log_pread(s->r->base.fd, at, head, sizeof(head)) != sizeof(head) || head[0] != MCAP_OP_MESSAGE_INDEX)
		return r;
	n = log_u64(head + 1);
	if (n > INDEX_BYTES_MAX)
		return r;
	s->index_bytes += MCAP_HEAD + n;
	p = mem_alloc((size_t)n + 1);
	if (!p)
		return -ENOMEM;
	if (log_pread(s->r->base.fd, at + MCAP_HEAD, p, (size_t)n) == (ssize_t)n)
		r = add_refs(s, (struct mcap_cursor){ .p = p, .left = (size_t)n });
	mem_free(p);
	return r;
}

/* Bytes of its records; 0: not known. */
static uint64_t uncompressed(const struct mcap_reader *r, const struct mcap_entry *e)
{
	uint8_t p[MCAP_HEAD + MCAP_CHUNK_MIN + 8];
	struct mcap_chunk_head h = { 0 };
	ssize_t n = log_pread(r->base.fd, e->at, p, sizeof(p) < e->size ? sizeof(p) : (size_t)e->size);

	if (n < (ssize_t)MCAP_HEAD || p[0] != MCAP_OP_CHUNK ||
	    !mcap_chunk_head(p + MCAP_HEAD, (size_t)n - MCAP_HEAD, log_u64(p + 1), &h))
		return 0;
	return h.uncompressed;
}

static int by_offset(const void *a, const void *b)
{
	const struct begin *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Of one message: that much is between it and the next one. */
static uint64_t bound_of(uint64_t at, uint64_t next)
{
	return next > at && next - at > MCAP_HEAD + MCAP_MESSAGE ? next - at - MCAP_HEAD - MCAP_MESSAGE : 0;
}

/* Adds the bounds of a chunk's channels from s->begins; `end` is that of its records. */
static int bound_chunk(struct sizes *s, uint32_t entry, uint64_t end)
{
	int r = 0;

	qsort(s->begins, s->n_begins, sizeof(*s->begins), by_offset);
	for (size_t i = 0; i < s->n_begins; i++) {
		uint64_t next = i + 1 < s->n_begins ? s->begins[i + 1].offset : end;
		uint64_t bytes = bound_of(s->begins[i].offset, next) + 1, *most = &s->most[s->begins[i].channel];

		*most = *most < bytes ? bytes : *most;
	}
	for (size_t i = 0; i < s->n_begins; i++) {
		uint64_t *most = &s->most[s->begins[i].channel];

		if (*most && r == 0)
			r = add_bound(s, entry, s->begins[i].channel, *most - 1);
		*most = 0;
	}
	return r;
}

/* A chunk whose indexes are not as they should be is passed over. */
static int look_at_chunk(struct sizes *s, uint32_t entry)
{
	const struct mcap_entry *e = &s->r->entries[entry];
	uint64_t end = e->ids && e->stride == 10 ? uncompressed(s->r, e) : 0;
	int r = end ? 0 : -EBADMSG;

	s->n_begins = 0;
	for (uint32_t i = 0; r == 0 && i < e->n_ids; i++)
		r = read_index(s, log_u64(e->ids + (size_t)i * e->stride + 2));
	if (r == 0)
		r = bound_chunk(s, entry, end);
	return r == -ENOMEM ? r : 0;
}

/* ---- all of them ---- */

/* The largest bound of each channel into s->top, and the next one into s->second. */
static void find_tops(struct sizes *s)
{
	for (size_t i = 0; i < s->n; i++) {
		s->top[i] = NULL;
		s->second[i] = 0;
	}
	for (size_t k = 0; k < s->n_bounds; k++) {
		struct bound *b = &s->bounds[k], **top = &s->top[b->channel];
		uint64_t *second = &s->second[b->channel];

		if (*top && b->bytes <= (*top)->bytes) {
			*second = b->bytes > *second ? b->bytes : *second;
			continue;
		}
		*second = *top ? (*top)->bytes : 0;
		*top = b;
	}
}

/* What the chunk's messages really are. */
static int measure(struct sizes *s, uint32_t entry)
{
	struct mcap_reader *r = s->r;
	bool *want = r->want;
	struct mcap_loaded *l;
	int e;

	r->want = NULL;
	e = mcap_load(r, &r->entries[entry], entry, &l);
	r->want = want;
	if (e < 0)
		return e;
	for (size_t i = 0; i < l->n; i++)
		if (l->refs[i].channel < s->n && s->most[l->refs[i].channel] < mcap_message_bytes(l, &l->refs[i]))
			s->most[l->refs[i].channel] = mcap_message_bytes(l, &l->refs[i]);
	for (size_t k = 0; k < s->n_bounds; k++)
		if (s->bounds[k].entry == entry) {
			s->bounds[k].exact = true;
			s->bounds[k].bytes = s->most[s->bounds[k].channel];
		}
	for (size_t i = 0; i < l->n; i++)
		if (l->refs[i].channel < s->n)
			s->most[l->refs[i].channel] = 0;
	mcap_unload(l);
	return 0;
}

/* Bounds that stand out are looked into: a quarter more than the next one is no harm. */
static int settle(struct sizes *s)
{
	unsigned loads = 0;

	find_tops(s);
	for (size_t i = 0; i < s->n;) {
		const struct bound *top = s->top[i];
		int r;

		if (!top || top->exact || top->bytes <= s->second[i] + s->second[i] / 4 || loads++ >= LOADS_MAX) {
			i++;
			continue;
		}
		r = measure(s, top->entry);
		if (r < 0)
			return r;
		find_tops(s);
	}
	return 0;
}

/* Of a file with an index. */
static int largest(struct sizes *s, uint64_t *ret)
{
	int r = s->most && s->top && s->second ? 0 : -ENOMEM;
	uint32_t step = s->r->n_entries / CHUNKS_MAX + 1;

	for (uint32_t i = 0; r == 0 && i < s->r->n_entries && s->index_bytes < INDEX_BYTES_MAX; i += step)
		r = look_at_chunk(s, i);
	if (r == 0)
		r = settle(s);
	for (size_t i = 0; r == 0 && i < s->n; i++)
		ret[i] = s->top[i] ? s->top[i]->bytes : 0;
	return r;
}

int mcap_largest(struct log_reader *base, uint64_t *ret, size_t n)
{
	struct sizes s = { .r = (struct mcap_reader *)base, .n = base->info.n_channels };
	int r;

	for (size_t i = 0; !base->info.indexed && i < n; i++) /* it was read when it was opened */
		ret[i] = s.r->own[i].largest;
	if (!base->info.indexed || n < s.n)
		return base->info.indexed ? -EINVAL : 0;
	s.most = mem_calloc(s.n + 1, sizeof(*s.most));
	s.top = mem_calloc(s.n + 1, sizeof(struct bound *));
	s.second = mem_calloc(s.n + 1, sizeof(*s.second));
	r = largest(&s, ret);
	mem_free(s.most);
	mem_free(s.top);
	mem_free(s.second);
	mem_free(s.bounds);
	mem_free(s.begins);
	return r;
}
