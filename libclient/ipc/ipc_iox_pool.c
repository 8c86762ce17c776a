/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See ipc_iox_pool.h. A process that dies leaves:
 *
 *   a chunk whose count is too high     its origin is the dead port, or still 0
 *   a chunk that no entry points to     taken from the free list, its entry not made yet
 *   an entry whose count is 0           counted down, not put back; with its chunk or, if that was put back, alone
 *   a chunk that no port refers to      of any origin: the dead process held the references
 *
 * A lasting reference is one word in a port (its loans, its history, the slot sent last; a queue, what was taken from
 * it), the same for all kinds of ports. So the last kind is found by searching for such words in all of the management
 * segment. Words that a queue has left behind are recognised by its list of free places; other stale words hide a lost
 * slot until they are overwritten, but never make a used slot look lost.
 *
 * All but the first with an origin also occur in a living process, for some hundred nanoseconds. So they are only
 * suspects, each with the number of the scan since which it has been one in every scan, with the same contents. The
 * caller decides when they may be freed: see ipc_scan(). A chunk that is in use has another sequence number each time.
 */
#include "ipc_iox_pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iox_queue.h"
#include "ipc_iox_layout.h"

#define CHUNKS_MAX (1u << 22)
#define TRIES_MAX  1000 /* attempts to put one index back while other processes do the same */

/* A free list and its objects. */
struct pool {
	char *memory;
	uint32_t chunk, count;
	uint32_t first;         /* index of its first chunk in the arrays of struct iox_pools */
	uint32_t high;          /* no object from here on has been out: they are handed out in order */
	_Atomic uint32_t *next; /* for each index, the next one in the free list; `invalid`: it is out */
	_Atomic uint64_t *head;
	_Atomic uint32_t *used, *min_free; /* iceoryx's gauges, which drift with each process that dies */
	uint32_t invalid;
};

/* A suspect: since when, and with which contents. */
struct suspect {
	uint32_t since; /* number of a scan; 0: not a suspect */
	uint64_t mark;
};

struct iox_pools {
	struct ipc_segment mgmt, payload;
	int mgmt_fd;
	uint64_t mgmt_id, payload_id; /* segment ids in relative pointers */
	struct pool entries, pool[IOX_POOLS_MAX];
	uint32_t n_pools, n_chunks, scans;
	struct suspect *entry_suspects, *chunk_suspects;
	uint8_t *out, *owned; /* one byte per chunk */
	uint8_t *marked;      /* one byte per entry: a port refers to it */
};

/* ---- reading ---- */

static uint32_t get32(const char *at)
{
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)at, memory_order_acquire);
}

static uint64_t get64(const char *at)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)at, memory_order_acquire);
}

static bool inside(const struct ipc_segment *s, const void *p, uint64_t size)
{
	uintptr_t base = (uintptr_t)s->base, at = (uintptr_t)p;

	return s->base && at >= base && size <= s->size && at - base <= s->size - size && at % 8 == 0;
}

/* The target of the relative pointer at `at`, if it lies in s; else NULL. */
static char *follow(const struct ipc_segment *s, uint64_t id, const char *at, uint64_t size)
{
	uint64_t offset = get64(at + 8);

	if (get64(at) != id || offset >= s->size || !inside(s, s->base + offset, size))
		return NULL;
	return (char *)(uintptr_t)(s->base + offset);
}

static bool is_out(const struct pool *p, uint32_t i)
{
	return atomic_load_explicit(&p->next[i], memory_order_acquire) == p->invalid;
}

static char *chunk_of(const struct pool *p, uint32_t i)
{
	return p->memory + (uint64_t)i * p->chunk;
}

/* The pool and index of the chunk with that header; NULL: not a chunk. */
static struct pool *find_chunk(struct iox_pools *p, const char *header, uint32_t *ret)
{
	for (uint32_t k = 0; k < p->n_pools && header; k++) {
		struct pool *q = &p->pool[k];
		uint64_t at = (uint64_t)((uintptr_t)header - (uintptr_t)q->memory);

		if (header < q->memory || at >= (uint64_t)q->chunk * q->count)
			continue;
		*ret = (uint32_t)(at / q->chunk);
		return at % q->chunk == 0 ? q : NULL;
	}
	return NULL;
}

static char *entry_header(const struct iox_pools *p, const char *entry)
{
	return follow(&p->payload, p->payload_id, entry + IOX_ENTRY_HEADER, IOX_HEADER_SIZE);
}

static uint64_t origin_of(const char *header)
{
	return get64(header + IOX_HEADER_ORIGIN);
}

/* ---- opening: geometry, checked once ---- */

static int unknown(struct ipc_text *why, const char *what)
{
	snprintf(why->s, sizeof(why->s), "this iceoryx lays out its memory unlike Debian's 2.0.3 (%s)", what);
	return -EPROTO;
}

static bool open_list(const struct iox_pools *p, const char *list, struct pool *ret)
{
	uint64_t bytes = ((uint64_t)ret->count + 1) * sizeof(uint32_t);

	ret->next = (_Atomic uint32_t *)(uintptr_t)follow(&p->mgmt, p->mgmt_id, list + IOX_LIST_NEXT, bytes);
	ret->head = (_Atomic uint64_t *)(uintptr_t)(list + IOX_LIST_HEAD);
	ret->invalid = get32(list + IOX_LIST_INVALID);
	return ret->next && get32(list + IOX_LIST_SIZE) == ret->count && ret->invalid > ret->count;
}

static bool open_pool(const struct iox_pools *p, const char *at, const struct ipc_segment *s, uint64_t id,
		      uint32_t least, struct pool *ret)
{
	uint64_t bytes;

	ret->chunk = get32(at + IOX_POOL_CHUNK);
	ret->count = get32(at + IOX_POOL_COUNT);
	ret->used = (_Atomic uint32_t *)(uintptr_t)(at + IOX_POOL_USED);
	ret->min_free = (_Atomic uint32_t *)(uintptr_t)(at + IOX_POOL_MINFREE);
	bytes = (uint64_t)ret->chunk * ret->count;
	ret->memory = follow(s, id, at + IOX_POOL_MEMORY, bytes);
	return ret->memory && ret->chunk >= least && ret->chunk % 8 == 0 && ret->count > 0 &&
	       ret->count <= CHUNKS_MAX && open_list(p, at + IOX_POOL_LIST, ret);
}

static int open_payload(struct iox_pools *p, const char *manager, struct ipc_text *why)
{
	uint64_t n = get64(manager + IOX_MANAGER_N);
	const char *end = NULL;

	if (n < 1 || n > IOX_POOLS_MAX)
		return unknown(why, "number of pools");
	p->payload_id = get64(manager + IOX_MANAGER_POOLS + IOX_POOL_MEMORY);
	for (; p->n_pools < n; p->n_pools++) {
		struct pool *q = &p->pool[p->n_pools];

		if (!open_pool(p, manager + IOX_MANAGER_POOLS + p->n_pools * IOX_POOL_SIZE, &p->payload, p->payload_id,
			       IOX_HEADER_SIZE + 8, q) ||
		    q->memory < end)
			return unknown(why, "a pool");
		end = q->memory + (uint64_t)q->chunk * q->count;
		q->first = p->n_chunks;
		p->n_chunks += q->count;
		if (p->n_chunks > CHUNKS_MAX)
			return unknown(why, "number of chunks");
	}
	return 0;
}

static uint64_t packed(const struct iox_pools *p, const char *entry)
{
	return p->mgmt_id | (uint64_t)(entry - p->mgmt.base) << 16;
}

/*
 * The proof: the walk finds the entry of the slot that was sent, with the port's number as its origin, and the port
 * refers to it.
 */
static bool finds(const struct iox_pools *p, const char *header, const char *port)
{
	for (uint32_t i = 0; i < p->entries.count; i++) {
		const char *e = chunk_of(&p->entries, i);

		if (is_out(&p->entries, i) && entry_header(p, e) == header)
			return get64(e + IOX_ENTRY_COUNT) >= 1 && origin_of(header) == get64(port + IOX_PORT_ID) &&
			       get64(port + IOX_PORT_LAST) == packed(p, e);
	}
	return false;
}

static int open_all(struct iox_pools *p, const struct iox_pools_where *w, struct ipc_text *why)
{
	const char *port = w->port, *manager;
	uint32_t chunk;
	int r;

	if (!inside(&p->mgmt, port, IOX_PORT_SIZE))
		return unknown(why, "the port");
	p->mgmt_id = get64(port + IOX_PORT_MANAGER);
	manager = follow(&p->mgmt, p->mgmt_id, port + IOX_PORT_MANAGER, IOX_MANAGER_SIZE);
	if (!manager)
		return unknown(why, "the memory manager");
	r = open_payload(p, manager, why);
	if (r < 0)
		return r;
	if (!open_pool(p, manager + IOX_MANAGER_ENTRIES, &p->mgmt, p->mgmt_id, IOX_ENTRY_SIZE, &p->entries) ||
	    p->entries.count != p->n_chunks)
		return unknown(why, "the chunks' management");
	if (!find_chunk(p, w->header, &chunk) || !finds(p, w->header, port))
		return unknown(why, "the reference slot is not where it should be");
	return 0;
}

int iox_pools_open(const struct iox_pools_where *w, struct ipc_text *why, struct iox_pools **ret)
{
	struct iox_pools *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->mgmt = w->mgmt;
	p->mgmt_fd = w->mgmt_fd;
	p->payload = w->payload;
	r = open_all(p, w, why);
	if (r == 0) { /* calloc: pages that are only compared with zero use no memory */
		p->entry_suspects = calloc(p->n_chunks, sizeof(*p->entry_suspects));
		p->chunk_suspects = calloc(p->n_chunks, sizeof(*p->chunk_suspects));
		p->out = calloc(p->n_chunks, 1);
		p->owned = calloc(p->n_chunks, 1);
		p->marked = calloc(p->n_chunks, 1);
		r = p->entry_suspects && p->chunk_suspects && p->out && p->owned && p->marked ? 0 : -ENOMEM;
	}
	if (r < 0) {
		iox_pools_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

void iox_pools_close(struct iox_pools *p)
{
	if (!p)
		return;
	free(p->entry_suspects);
	free(p->chunk_suspects);
	free(p->out);
	free(p->owned);
	free(p->marked);
	free(p);
}

unsigned int iox_pools_gauges(const struct iox_pools *p, struct ipc_pool *ret, unsigned int max)
{
	unsigned int n = p->n_pools < max ? p->n_pools : max;

	for (unsigned int k = 0; k < n; k++) {
		const struct pool *q = &p->pool[k];
		uint32_t least = atomic_load_explicit(q->min_free, memory_order_relaxed), used = 0;

		for (uint32_t i = 0; i < q->count; i++)
			used += is_out(q, i);
		ret[k] = (struct ipc_pool){ .size = q->chunk - IOX_HEADER_SIZE,
					    .total = q->count,
					    .used = used,
					    .min_free = least < q->count - used ? least : q->count - used };
	}
	return n;
}

/* ---- freeing ---- */

/* Puts an index back into the free list, as LoFFLi::push() does: other processes see either all of it or nothing. */
static bool put_back(struct pool *p, uint32_t i)
{
	uint64_t head = atomic_load_explicit(p->head, memory_order_acquire);

	if (!is_out(p, i))
		return false;
	for (int n = 0; n < TRIES_MAX; n++) {
		uint64_t with_i = i | ((head >> 32) + 1) << 32;

		atomic_store_explicit(&p->next[i], (uint32_t)head, memory_order_release);
		if (atomic_compare_exchange_weak_explicit(p->head, &head, with_i, memory_order_acq_rel,
							  memory_order_acquire)) {
			if (atomic_load_explicit(p->used, memory_order_relaxed))
				atomic_fetch_sub_explicit(p->used, 1, memory_order_relaxed);
			return true;
		}
	}
	atomic_store_explicit(&p->next[i], p->invalid, memory_order_release);
	return false;
}

/*
 * Drops the last reference; does nothing if another process has changed the count since it was read, and so holds it.
 */
static bool free_owned(struct iox_pools *p, uint32_t entry, uint64_t count, struct pool *q, uint32_t chunk)
{
	_Atomic uint64_t *at = (_Atomic uint64_t *)(uintptr_t)(chunk_of(&p->entries, entry) + IOX_ENTRY_COUNT);

	if (!atomic_compare_exchange_strong(at, &count, 0))
		return false;
	put_back(q, chunk);
	put_back(&p->entries, entry);
	return true;
}

/* ---- scanning ---- */

static bool listed(const uint64_t *v, uint32_t n, uint64_t origin)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i] == origin)
			return true;
	return false;
}

/* Returns true if it has been a suspect, unchanged, for long enough. */
static bool suspect(const struct iox_pools *p, struct suspect *s, uint64_t mark, const struct ipc_scan_order *o,
		    struct ipc_scan *ret)
{
	if (!s->since || s->mark != mark)
		*s = (struct suspect){ .since = p->scans, .mark = mark };
	if (s->since <= o->settled)
		return true;
	ret->suspects++;
	ret->oldest = ret->oldest && ret->oldest < s->since ? ret->oldest : s->since;
	return false;
}

static void clear(struct suspect *s)
{
	if (s->since)
		s->since = 0;
}

/* Changes when the chunk is used again. */
static uint64_t mark_of(const char *header, uint64_t count)
{
	uint64_t m = origin_of(header) * 31 + get64(header + IOX_HEADER_SEQUENCE);

	return (m * 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)header) + count;
}

static void find_high(struct pool *q)
{
	uint32_t i = q->count;

	while (i > q->high && !is_out(q, i - 1))
		i--;
	q->high = i;
}

static void note_out(struct iox_pools *p, struct ipc_scan *ret)
{
	for (uint32_t k = 0; k < p->n_pools; k++) {
		struct pool *q = &p->pool[k];

		find_high(q);
		memset(p->owned + q->first, 0, q->high);
		for (uint32_t i = 0; i < q->high; i++)
			ret->used += p->out[q->first + i] = is_out(q, i);
	}
}

static void mark_word(struct iox_pools *p, uint64_t word)
{
	uint64_t at = (word >> 16) - (uint64_t)(p->entries.memory - p->mgmt.base);

	if ((word & 0xffff) == p->mgmt_id && word && at < (uint64_t)p->entries.chunk * p->entries.count &&
	    at % p->entries.chunk == 0)
		p->marked[at / p->entries.chunk] = 1;
}

static uint64_t load(const uint64_t *at)
{
	return get64((const char *)at);
}

/* The position of each place in the list of free ones, + 1; 0: not in the list. */
static void free_places(const struct iox_queue *q, uint64_t ret[IOX_QUEUE_MAX])
{
	const uint64_t *unused = (const uint64_t *)(const void *)((const char *)q - IOX_QUEUE_AT + IOX_QUEUE_UNUSED);
	uint64_t n = load(&unused[IOX_QUEUE_MAX]), first = load(&q->free.read), end = load(&q->free.write);

	memset(ret, 0, IOX_QUEUE_MAX * sizeof(*ret));
	for (uint64_t at = first; at < end && at - first < IOX_QUEUE_MAX; at++) {
		uint64_t cell = load(&q->free.cell[at % IOX_QUEUE_MAX]);

		if (cell / IOX_QUEUE_MAX == at / IOX_QUEUE_MAX)
			ret[cell % IOX_QUEUE_MAX] = at + 1;
	}
	for (uint64_t i = 0; i < n && i < IOX_QUEUE_MAX; i++) /* beyond its capacity: always free */
		ret[load(&unused[i]) % IOX_QUEUE_MAX] = UINT64_MAX;
}

/* A place that was free before its word was read, and still is, refers to nothing. */
static void mark_queue(struct iox_pools *p, const struct iox_queue *q)
{
	uint64_t place[IOX_QUEUE_MAX], word[IOX_QUEUE_MAX], first;

	free_places(q, place);
	for (unsigned int i = 0; i < IOX_QUEUE_MAX; i++)
		word[i] = load(&q->chunk[i]);
	first = load(&q->free.read);
	for (unsigned int i = 0; i < IOX_QUEUE_MAX; i++)
		if (place[i] <= first)
			mark_word(p, word[i]);
}

/*
 * The queue whose lock contains that word; NULL: none. The queue's first push sets the mark: before that it may have
 * stale words of an earlier queue.
 */
static const struct iox_queue *queue_of(const struct iox_pools *p, const char *at, uint64_t word)
{
	const char *lock = at - offsetof(pthread_mutex_t, __data.__kind);

	if ((word >> 32 & 0xffff) != IOX_QUEUE_MARK || !inside(&p->mgmt, lock, IOX_QUEUE_WAKES + IOX_POINTER_SIZE))
		return NULL;
	return (const struct iox_queue *)(const void *)(lock + IOX_QUEUE_AT);
}

static void mark_from(struct iox_pools *p, const char *from, const char *end)
{
	const struct iox_queue *q = NULL, *next;
	bool destroyed = false;

	for (; from + 8 <= end; from += 8) {
		uint64_t word = atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)from, memory_order_relaxed);

		if (q && from == (const char *)q->chunk) {
			if (!destroyed)
				mark_queue(p, q);
			from += sizeof(q->chunk) - 8;
			q = NULL;
			continue;
		}
		mark_word(p, word);
		next = queue_of(p, from, word);
		if (next) {
			q = next;
			destroyed = (int32_t)word < 0;
		}
	}
}

/* Skips pages that were never written, so that reading does not allocate them. */
static void mark_written(struct iox_pools *p, const char *from, const char *end)
{
	off_t at = from - p->mgmt.base, stop = end - p->mgmt.base, hole = stop;

	if (p->mgmt_fd < 0) {
		mark_from(p, from, end);
		return;
	}
	while (at < stop && (at = lseek(p->mgmt_fd, at, SEEK_DATA)) >= 0 && at < stop) {
		hole = lseek(p->mgmt_fd, at, SEEK_HOLE);
		if (hole < 0 || hole > stop)
			hole = stop;
		mark_from(p, p->mgmt.base + at, p->mgmt.base + hole);
		at = hole;
	}
}

/* Searches everything except the entries themselves. */
static void mark(struct iox_pools *p)
{
	memset(p->marked, 0, p->entries.high);
	mark_written(p, p->mgmt.base, p->entries.memory);
	mark_written(p, p->entries.memory + (uint64_t)p->entries.chunk * p->entries.count, p->mgmt.base + p->mgmt.size);
}

/* Checks an entry with references to a chunk. */
static void scan_owner(struct iox_pools *p, uint32_t entry, uint64_t count, struct pool *q, uint32_t chunk,
		       const struct ipc_scan_order *o, struct ipc_scan *ret)
{
	const char *header = chunk_of(q, chunk);
	uint64_t origin = origin_of(header);
	bool dead = origin && listed(o->dead, o->n_dead, origin);
	bool ours = origin && listed(o->own, o->n_own, origin);
	bool nobodys = !origin || (!ours && (o->alone || (o->marks && !p->marked[entry])));

	p->owned[q->first + chunk] = 1;
	if (!dead && !nobodys) {
		/*
		 * without marks this scan cannot tell whether a port refers to the entry, so an entry already suspected
		 * for that reason stays suspected
		 */
		if (o->marks || ours || p->entry_suspects[entry].mark != mark_of(header, count))
			clear(&p->entry_suspects[entry]);
	} else if (dead || suspect(p, &p->entry_suspects[entry], mark_of(header, count), o, ret))
		ret->freed += free_owned(p, entry, count, q, chunk);
}

/*
 * An entry without references is freed alone: its chunk may belong to another entry by now. If not, scan_chunk() finds
 * the chunk.
 */
static void scan_entry(struct iox_pools *p, uint32_t i, const struct ipc_scan_order *o, struct ipc_scan *ret)
{
	const char *e = chunk_of(&p->entries, i), *header;
	uint64_t count;
	struct pool *q;
	uint32_t chunk;

	if (!is_out(&p->entries, i)) {
		clear(&p->entry_suspects[i]);
		return;
	}
	count = get64(e + IOX_ENTRY_COUNT);
	header = entry_header(p, e);
	q = find_chunk(p, header, &chunk);
	if (q && count)
		scan_owner(p, i, count, q, chunk, o, ret);
	else if (suspect(p, &p->entry_suspects[i], (uint64_t)(uintptr_t)header + count, o, ret))
		put_back(&p->entries, i);
}

/* Checks a chunk that was out before the entries were read, and still is, though no entry points to it. */
static void scan_chunk(struct iox_pools *p, struct pool *q, uint32_t i, const struct ipc_scan_order *o,
		       struct ipc_scan *ret)
{
	struct suspect *s = &p->chunk_suspects[q->first + i];

	if (!p->out[q->first + i] || p->owned[q->first + i] || !is_out(q, i))
		clear(s);
	else if (suspect(p, s, mark_of(chunk_of(q, i), 0), o, ret))
		ret->freed += put_back(q, i);
}

void iox_pools_scan(struct iox_pools *p, const struct ipc_scan_order *o, struct ipc_scan *ret)
{
	p->scans++;
	*ret = (struct ipc_scan){ .number = p->scans };
	find_high(&p->entries);
	if (o->marks)
		mark(p);
	note_out(p, ret);
	for (uint32_t i = 0; i < p->entries.high; i++)
		scan_entry(p, i, o, ret);
	for (uint32_t k = 0; k < p->n_pools; k++)
		for (uint32_t i = 0; i < p->pool[k].high; i++)
			scan_chunk(p, &p->pool[k], i, o, ret);
	ret->used -= ret->freed < ret->used ? ret->freed : ret->used;
}
