/* SPDX-License-Identifier: Apache-2.0 */
/* Size classes and admission; contract in admission.h. Thread: simd-main. */
#include "admission.h"

#include "err.h"
#include "wire/pages.h"

#include <assert.h>
#include <errno.h>
#include <sim/slot.h>
#include <stdbool.h>
#include <string.h>

#define KIB 1024ull
#define MIB (1024ull * KIB)

/* A slot for a body of round size, with the slot header and iceoryx's alignment. */
#define BODY(n) ((n) + sizeof(struct sim_slot) + POOL_SLOT_ALIGN)

/*
 * The counts are upper limits: for small slots enough for all publishers and subscribers that iceoryx allows, for large
 * ones the most that iceoryx can manage of one size. The class of a large message is at most half as large again.
 */
static const struct pool_class ladder[] = {
	{ .size = 256, .count = 131072 },           { .size = 1 * KIB, .count = 65536 },
	{ .size = 4 * KIB, .count = 65536 },        { .size = 16 * KIB, .count = 32768 },
	{ .size = BODY(64 * KIB), .count = 16384 }, { .size = BODY(256 * KIB), .count = 8192 },
	{ .size = BODY(1 * MIB), .count = 4000 },
};

/* in half MiB */
static const uint64_t large[] = { 3,  4,  5,  6,   8,   10,  12,  16,  20,  24,  32,  40,  48,
				  64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024 };

static uint64_t round_up(uint64_t n)
{
	return (n + POOL_SLOT_ALIGN - 1) / POOL_SLOT_ALIGN * POOL_SLOT_ALIGN;
}

uint32_t pools_backed(const struct pools *p, int cls)
{
	return p->memory ? p->c[cls].committed : p->c[cls].count;
}

int64_t pools_chunk_bytes(const struct pools *p, int cls)
{
	return (int64_t)(p->c[cls].size + POOL_CHUNK_HEADER);
}

static int64_t class_bytes(const struct pool_class *c)
{
	return (int64_t)((c->size + POOL_CHUNK_HEADER) * c->count);
}

static int64_t payload_bytes(const struct pools *p)
{
	int64_t n = 0;

	for (unsigned i = 0; i < p->n; i++)
		n += class_bytes(&p->c[i]);
	return n;
}

int64_t pools_at(const struct pools *p, int cls)
{
	int64_t n = 0;

	for (int i = 0; i < cls; i++)
		n += class_bytes(&p->c[i]);
	return n;
}

int64_t pools_slot_bytes(const struct pools *p, int cls)
{
	return pools_chunk_bytes(p, cls) + POOL_CHUNK_ENTRY;
}

/* Slots of a class that must have memory if `reserved` of them are reserved. */
static uint32_t demand(const struct pools *p, unsigned i, uint64_t reserved)
{
	const struct pool_class *c = &p->c[i];
	uint64_t n = reserved + c->leaving + (i == 0 ? POOL_OWN : 0);

	return n < c->count ? (uint32_t)n : c->count;
}

int64_t pools_committed_bytes(const struct pools *p)
{
	int64_t n = 0;

	for (unsigned i = 0; i < p->n; i++)
		n += (p->fixed ? p->c[i].count : p->c[i].committed) * pools_slot_bytes(p, (int)i);
	return n;
}

int64_t pools_bytes(const struct pools *p)
{
	int64_t n = POOL_MGMT_BYTES + pools_committed_bytes(p);

	n += p->memory ? p->memory->aside(p->memory_arg) : POOL_ASIDE_BYTES;
	for (unsigned i = 0; i < p->n; i++) {
		uint32_t due = demand(p, i, p->c[i].reserved);

		n += (int64_t)p->c[i].count * POOL_CHUNK_LISTED;
		if (!p->fixed && due > p->c[i].committed)
			n += (due - p->c[i].committed) * pools_slot_bytes(p, (int)i);
	}
	return n;
}

int64_t pools_need(const struct pools *p)
{
	return (pools_bytes(p) + (int64_t)MIB - 1) / (int64_t)MIB * (int64_t)MIB;
}

int64_t pools_listed_bytes(const struct pools *p)
{
	int64_t n = 0;

	for (unsigned i = 0; i < p->n; i++)
		n += p->c[i].listed * pools_slot_bytes(p, (int)i);
	return n;
}

int64_t pools_room(const struct pools *p)
{
	int64_t allowed = p->max - pools_committed_bytes(p);
	const char *whose;
	int64_t room = p->memory ? p->memory->room(p->memory_arg, &whose) : allowed;

	room = room < allowed ? room : allowed;
	return room > 0 ? room : 0;
}

uint64_t pools_max_slot(const struct pools *p)
{
	return p->n ? p->c[p->n - 1].size - POOL_SLOT_ALIGN : 0;
}

uint32_t pools_window(uint64_t slot_size, uint32_t count)
{
	static const struct {
		uint64_t up_to;
		uint32_t window;
	} steps[] = {
		{ 128 * KIB, POOL_WINDOW_SMALL }, { 512 * KIB, 32 }, { 2 * MIB, 12 }, { 6 * MIB, 8 }, { 12 * MIB, 4 },
	};

	/* a producer sends one window per round through three processes; but many channels must fit into the class */
	if (slot_size <= 1 * KIB && count / 16 >= WIRE_WINDOW_MAX)
		return WIRE_WINDOW_MAX;
	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		if (slot_size <= steps[i].up_to)
			return steps[i].window;
	}
	return 2;
}

static struct pool_class *find(struct pools *p, uint64_t size)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (p->c[i].size >= size)
			return &p->c[i];
	}
	return NULL;
}

/*
 * Slots for a channel listed by a rig: its window, its publishers, and two subscribers that hold as much. c: its class;
 * NULL: unknown yet.
 */
static uint32_t need_of(struct conf_view ch, uint64_t size, const struct pool_class *c)
{
	uint32_t window = (uint32_t)conf_int(ch, "window");

	if (!window)
		window = pools_window(size, c ? c->count : 0);
	return 3 * window + (uint32_t)conf_int(ch, "publishers") * POOL_PER_PUBLISHER +
	       8; /* fewer in the largest classes */
}

static void count_listed(struct pools *p, struct conf_view ch)
{
	uint64_t body = (uint64_t)conf_int(ch, "max_body"), size = round_up(BODY(body));
	struct pool_class *c = body ? find(p, size) : NULL;

	if (c)
		c->listed += need_of(ch, size, c);
}

static void count_rigs(struct conf_view root, struct pools *p)
{
	for (size_t i = 0; i < conf_count(root, "rigs"); i++) {
		struct conf_view rig = conf_item(root, "rigs", i);

		for (size_t k = 0; k < conf_count(rig, "channels"); k++)
			count_listed(p, conf_item(rig, "channels", k));
	}
}

static void add_class(struct pools *p, uint64_t size, uint64_t count)
{
	uint64_t most = (uint64_t)POOL_BYTES_MAX / (round_up(size) + POOL_CHUNK_HEADER);

	p->c[p->n++] = (struct pool_class){ .size = round_up(size), .count = (uint32_t)(count < most ? count : most) };
}

static void from_ladder(struct pools *p)
{
	_Static_assert(sizeof(ladder) / sizeof(*ladder) + sizeof(large) / sizeof(*large) <= POOLS_MAX,
		       "iceoryx has no more");
	for (unsigned i = 0; i < sizeof(ladder) / sizeof(*ladder); i++)
		add_class(p, ladder[i].size, ladder[i].count);
	for (unsigned i = 0; i < sizeof(large) / sizeof(*large); i++)
		add_class(p, BODY(large[i] * MIB / 2), UINT32_MAX);
}

static int from_list(struct conf_view root, struct pools *p)
{
	p->n = (unsigned)conf_count(root, "pools");
	for (unsigned i = 0; i < p->n; i++) {
		struct conf_view v = conf_item(root, "pools", i);

		p->c[i] = (struct pool_class){ .size = round_up((uint64_t)conf_int(v, "size")),
					       .count = (uint32_t)conf_int(v, "count") };
		if (p->c[i].size < sizeof(struct sim_slot) + POOL_SLOT_ALIGN)
			return err_set(-EINVAL, "pools[%u].size: %lld bytes do not hold a slot header; use 256 or more",
				       i, (long long)p->c[i].size);
		if (i && p->c[i].size <= p->c[i - 1].size)
			return err_set(-EINVAL,
				       "pools[%u].size: sizes must ascend, each above the one before, in steps of 64",
				       i);
	}
	return 0;
}

static int check_list(const struct pools *p)
{
	int64_t payload = payload_bytes(p);

	for (unsigned i = 0; i < p->n; i++) {
		if (class_bytes(&p->c[i]) > POOL_BYTES_MAX)
			return err_set(
				-EFBIG,
				"pool of %llu-byte slots: %u of them are %lld MiB, iceoryx corrupts pools above 4095 MiB; "
				"lower its count",
				(unsigned long long)p->c[i].size, p->c[i].count,
				(long long)(class_bytes(&p->c[i]) >> 20));
	}
	if (payload > p->max)
		return err_set(-EFBIG,
			       "the pools need %lld MiB, pools_max allows %lld MiB; lower the counts or raise it",
			       (long long)(payload >> 20), (long long)(p->max >> 20));
	return 0;
}

static int check_room(const struct pools *p, int64_t shm_free)
{
	int64_t need = pools_need(p);

	if (shm_free < 0 || need <= shm_free)
		return 0;
	return err_set(-ENOSPC,
		       "the data plane starts with %lld MiB of /dev/shm, %lld MiB are free; %senlarge it (mount -o "
		       "remount,size=... /dev/shm; docker run --shm-size=...)",
		       (long long)(need >> 20), (long long)(shm_free >> 20), p->fixed ? "lower \"pools\" or " : "");
}

int pools_compute(const struct conf *c, int64_t shm_free, struct pools *ret)
{
	struct conf_view root = conf_root(c);
	struct pools p = { .fixed = conf_count(root, "pools") > 0, .max = conf_int(root, "pools_max") };
	int r = 0;

	if (p.max == 0)
		p.max = INT64_MAX;
	if (!p.fixed)
		from_ladder(&p);
	else if ((r = from_list(root, &p)) == 0)
		r = check_list(&p);
	if (r == 0)
		r = check_room(&p, shm_free);
	if (r < 0)
		return r;
	count_rigs(root, &p);
	*ret = p;
	return 0;
}

int pools_class(const struct pools *p, uint64_t slot_size)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (slot_size <= p->c[i].size - POOL_SLOT_ALIGN)
			return (int)i;
	}
	return err_set(-EMSGSIZE, "a message of %llu bytes is larger than the largest slot, %llu bytes%s",
		       (unsigned long long)(slot_size - sizeof(struct sim_slot)),
		       (unsigned long long)(pools_max_slot(p) > sizeof(struct sim_slot)
						    ? pools_max_slot(p) - sizeof(struct sim_slot)
						    : 0),
		       p->fixed ? "; add a pool, or leave out \"pools\"" : "");
}

uint64_t pools_slot_of(uint64_t max_body)
{
	return round_up(sizeof(struct sim_slot) + max_body);
}

int pools_body_class(const struct pools *p, uint64_t max_body)
{
	return pools_class(p, pools_slot_of(max_body));
}

uint64_t pools_body_max(const struct pools *p, int cls)
{
	return p->c[cls].size - POOL_SLOT_ALIGN - sizeof(struct sim_slot);
}

/* ---- admission ---- */

uint32_t pools_left(const struct pools *p, int cls)
{
	const struct pool_class *c = &p->c[cls];
	uint32_t left = c->reserved < c->count ? c->count - c->reserved : 0;
	int64_t had, more;

	if (!p->memory || !left)
		return left;
	had = (int64_t)c->committed - demand(p, (unsigned)cls, c->reserved);
	more = pools_room(p) / pools_slot_bytes(p, cls) + (had > 0 ? had : 0);
	return more < left ? (uint32_t)more : left;
}

/*
 * The largest classes have few slots, because iceoryx manages only so many bytes of one size: there a publisher holds
 * fewer.
 */
uint32_t pools_per_publisher(const struct pools *p, int cls)
{
	uint32_t count = p->c[cls].count;

	if (p->fixed || count >= POOL_WINDOW_LEAST + POOL_PER_PUBLISHER + 2 * POOL_QUEUE_LEAST)
		return POOL_PER_PUBLISHER;
	return count > 8 ? 3 : 2;
}

/* A queue may take all slots of a class of "pools": the administrator has planned them. */
uint32_t pools_queue_max(const struct pools *p, int cls)
{
	const struct pool_class *c = &p->c[cls];
	uint32_t share = (c->count - c->reserved) / POOL_QUEUE_SHARE;

	return p->fixed ? UINT32_MAX : share > POOL_QUEUE_LEAST ? share : POOL_QUEUE_LEAST;
}

uint32_t pools_part_left(const struct pools *p, int cls, uint32_t percent, uint32_t has, int64_t has_bytes)
{
	const struct pool_class *c = &p->c[cls];
	int64_t part, listed;

	if (!p->memory) {
		part = (int64_t)c->count * percent / 100;
		part = part > c->listed ? part : c->listed;
		return has < part ? (uint32_t)(part - has) : 0;
	}
	part = (pools_committed_bytes(p) + pools_room(p)) / 100 * percent;
	listed = pools_listed_bytes(p);
	part = ((part > listed ? part : listed) - has_bytes) / pools_slot_bytes(p, cls);
	return part > 0 ? (uint32_t)(part < UINT32_MAX ? part : UINT32_MAX) : 0;
}

static int refuse_slots(const struct pools *p, int cls, uint32_t slots, const char *what)
{
	return err_set(-ENOSPC,
		       "%s needs %u slots of up to %llu bytes, that pool has %u left of %u; lower the channel's "
		       "\"window\"%s",
		       what, slots, (unsigned long long)p->c[cls].size, pools_left(p, cls), p->c[cls].count,
		       p->fixed ? ", raise the pool's count in \"pools\", or leave out \"pools\"" : "");
}

static int refuse_bytes(const struct pools *p, int cls, uint32_t slots, int64_t bytes, const char *what)
{
	const char *whose;
	int64_t taken = pools_committed_bytes(p) >> 20, room = p->memory->room(p->memory_arg, &whose);
	unsigned long long size = (unsigned long long)p->c[cls].size, mib = (unsigned long long)(bytes >> 20) + 1;

	if (room < bytes)
		return err_set(
			-ENOSPC,
			"%s needs %u slots of up to %llu bytes, and %llu MiB for them, beside the %lld MiB that are "
			"taken: %s has %lld MiB left%s; make room, or lower the channel's \"window\"",
			what, slots, size, mib, (long long)taken, whose, (long long)(room >> 20),
			strcmp(whose, "/dev/shm") == 0
				? " (mount -o remount,size=... /dev/shm; docker run --shm-size=...)"
				: "");
	return err_set(
		-ENOSPC,
		"%s needs %u slots of up to %llu bytes, and %llu MiB for them, beside the %lld MiB that are taken: "
		"pools_max allows %lld MiB; raise it, or lower the channel's \"window\"",
		what, slots, size, mib, (long long)taken, (long long)(p->max >> 20));
}

static int commit(struct pools *p, int cls, uint32_t slots, uint32_t asked, const char *what)
{
	struct pool_class *c = &p->c[cls];
	int64_t bytes;
	int r;

	if (!p->memory || slots <= c->committed)
		return 0;
	bytes = (int64_t)(slots - c->committed) * pools_slot_bytes(p, cls);
	if (bytes > (p->found ? p->max - pools_committed_bytes(p) : pools_room(p)))
		return refuse_bytes(p, cls, asked, bytes, what);
	r = p->memory->commit(p->memory_arg, (unsigned)cls, slots);
	if (r == -ENOSPC) /* another process has taken the memory meanwhile */
		return refuse_bytes(p, cls, asked, bytes, what);
	if (r == 0)
		c->committed = slots;
	return r;
}

int pools_reserve(struct pools *p, int cls, uint32_t slots, const char *what)
{
	struct pool_class *c;
	int r;

	assert(cls >= 0 && (unsigned)cls < p->n);
	c = &p->c[cls];
	if (slots > c->count - c->reserved)
		return refuse_slots(p, cls, slots, what);
	r = commit(p, cls, demand(p, (unsigned)cls, (uint64_t)c->reserved + slots), slots, what);
	if (r == 0)
		c->reserved += slots;
	return r;
}

void pools_release(struct pools *p, int cls, uint32_t slots)
{
	assert(cls >= 0 && (unsigned)cls < p->n && p->c[cls].reserved >= slots);
	p->c[cls].reserved -= slots;
	if (p->memory)
		p->c[cls].leaving += slots;
}

void pools_settle(struct pools *p, int cls, uint32_t used)
{
	if (p->c[cls].leaving > used)
		p->c[cls].leaving = used;
}

void pools_end(struct pools *p)
{
	for (unsigned i = 0; i < p->n; i++)
		p->c[i].leaving = p->c[i].committed = 0;
	p->found = false;
}

int pools_begin(struct pools *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		int r = commit(p, (int)i, demand(p, i, p->c[i].reserved), p->c[i].reserved, "what was admitted");

		if (r < 0)
			return r;
	}
	return 0;
}
