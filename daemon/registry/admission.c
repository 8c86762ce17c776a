/* SPDX-License-Identifier: Apache-2.0 */
/* Size classes and admission; contract in admission.h. Thread: simd-main. */
#include "admission.h"

#include "err.h"
#include "wire/pages.h"

#include <assert.h>
#include <errno.h>
#include <sim/slot.h>
#include <stdbool.h>
#include <stdlib.h>

#define KIB 1024ull
#define MIB (1024ull * KIB)

/* Room for the slot header and iceoryx's alignment beside a body of round size. */
#define BODY(n) ((n) + sizeof(struct sim_slot) + POOL_SLOT_ALIGN)

static const struct pool_class ladder[] = {
	{ .size = 256, .count = 8192 },           { .size = 1 * KIB, .count = 4096 },
	{ .size = 4 * KIB, .count = 1024 },       { .size = 16 * KIB, .count = 512 },
	{ .size = BODY(64 * KIB), .count = 256 }, { .size = BODY(256 * KIB), .count = 96 },
	{ .size = BODY(1 * MIB), .count = 48 },   { .size = BODY(4 * MIB), .count = 40 },
	{ .size = BODY(8 * MIB), .count = 16 },
};

static uint64_t round_up(uint64_t n)
{
	return (n + POOL_SLOT_ALIGN - 1) / POOL_SLOT_ALIGN * POOL_SLOT_ALIGN;
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

int64_t pools_bytes(const struct pools *p)
{
	int64_t n = POOL_MGMT_BYTES + payload_bytes(p);

	for (unsigned i = 0; i < p->n; i++)
		n += (int64_t)p->c[i].count * POOL_CHUNK_MGMT;
	return n;
}

int64_t pools_need(const struct pools *p)
{
	return (2 * pools_bytes(p) + (int64_t)MIB - 1) / (int64_t)MIB * (int64_t)MIB;
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

	/* the rate of one producer is a window a round through three processes; but many channels shall fit the class */
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

static int compare(const void *a, const void *b)
{
	const struct pool_class *x = (const struct pool_class *)a, *y = (const struct pool_class *)b;

	return (x->size > y->size) - (x->size < y->size);
}

/* The window of a channel of the rig, its publishers, and two subscribers that hold as many. c: its class, NULL: none yet. */
static uint32_t need_of(struct conf_view ch, uint64_t size, const struct pool_class *c)
{
	uint32_t window = (uint32_t)conf_int(ch, "window");

	if (!window)
		window = pools_window(size, c ? c->count : 0);
	return 3 * window + (uint32_t)conf_int(ch, "publishers") * POOL_PER_PUBLISHER + 8;
}

/* What the rig configures for one channel: its class must exist and hold it on top of what the ladder has. */
static int grow(struct pools *p, struct conf_view ch)
{
	uint64_t body = (uint64_t)conf_int(ch, "max_body");
	uint64_t size = round_up(BODY(body));
	struct pool_class *c = find(p, size);
	uint32_t n;

	if (!body)
		return 0;
	n = need_of(ch, size, c);
	if (c && (c->size <= 2 * size || size <= 64 * KIB)) {
		c->count += n;
		return 0;
	}
	if (p->n == POOLS_MAX)
		return err_set(-EINVAL, "the rigs' channels need more than %d size classes; set \"pools\" by hand",
			       POOLS_MAX);
	p->c[p->n++] = (struct pool_class){ .size = size, .count = n };
	qsort(p->c, p->n, sizeof(*p->c), compare);
	return 0;
}

/* fn for each channel that a rig lists. */
static int each_channel(struct conf_view root, struct pools *p, int (*fn)(struct pools *p, struct conf_view ch))
{
	for (size_t i = 0; i < conf_count(root, "rigs"); i++) {
		struct conf_view rig = conf_item(root, "rigs", i);

		for (size_t k = 0; k < conf_count(rig, "channels"); k++) {
			int r = fn(p, conf_item(rig, "channels", k));

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int from_ladder(struct conf_view root, struct pools *p)
{
	p->n = sizeof(ladder) / sizeof(*ladder);
	for (unsigned i = 0; i < p->n; i++)
		p->c[i] = (struct pool_class){ .size = round_up(ladder[i].size), .count = ladder[i].count };
	return each_channel(root, p, grow);
}

static int count_listed(struct pools *p, struct conf_view ch)
{
	uint64_t body = (uint64_t)conf_int(ch, "max_body"), size = round_up(BODY(body));
	struct pool_class *c = body ? find(p, size) : NULL;

	if (c)
		c->listed += need_of(ch, size, c);
	return 0;
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

static int check(const struct pools *p, struct conf_view root, int64_t shm_free)
{
	int64_t payload = payload_bytes(p), need = pools_need(p);

	for (unsigned i = 0; i < p->n; i++) {
		if (class_bytes(&p->c[i]) > POOL_BYTES_MAX)
			return err_set(
				-EFBIG,
				"pool of %llu-byte slots: %u of them are %lld MiB, iceoryx corrupts pools above 4095 MiB; "
				"lower its count",
				(unsigned long long)p->c[i].size, p->c[i].count,
				(long long)(class_bytes(&p->c[i]) >> 20));
	}
	if (payload > conf_int(root, "pools_max"))
		return err_set(-EFBIG,
			       "the pools need %lld MiB, pools_max allows %lld MiB; lower the counts or raise it",
			       (long long)(payload >> 20), (long long)(conf_int(root, "pools_max") >> 20));
	if (shm_free >= 0 && need > shm_free)
		return err_set(
			-ENOSPC,
			"the data plane needs %lld MiB of /dev/shm (2 x %lld MiB: a restarted iox-roudi stands beside the one "
			"before), %lld MiB are free; lower \"pools\" or enlarge it (mount -o remount,size=... /dev/shm)",
			(long long)(need >> 20), (long long)(need >> 21), (long long)(shm_free >> 20));
	return 0;
}

/* The built-in ladder gives way on small machines, largest class first; what a rig or "pools" asks for does not. */
static void shrink(struct pools *p, int64_t shm_free)
{
	while (p->n > 5 && shm_free >= 0 && pools_need(p) > shm_free)
		p->n--;
}

static bool rigs_size_pools(struct conf_view root)
{
	for (size_t i = 0; i < conf_count(root, "rigs"); i++) {
		struct conf_view rig = conf_item(root, "rigs", i);

		for (size_t k = 0; k < conf_count(rig, "channels"); k++) {
			if (conf_int(conf_item(rig, "channels", k), "max_body") > 0)
				return true;
		}
	}
	return false;
}

int pools_compute(const struct conf *c, int64_t shm_free, struct pools *ret)
{
	struct conf_view root = conf_root(c);
	struct pools p = { 0 };
	bool list = conf_count(root, "pools") > 0;
	int r = list ? from_list(root, &p) : from_ladder(root, &p);

	if (r < 0)
		return r;
	if (!list && !rigs_size_pools(root))
		shrink(&p, shm_free);
	r = check(&p, root, shm_free);
	if (r < 0)
		return r;
	(void)each_channel(root, &p, count_listed);
	*ret = p;
	return 0;
}

int pools_class(const struct pools *p, uint64_t slot_size)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (slot_size <= p->c[i].size - POOL_SLOT_ALIGN)
			return (int)i;
	}
	return err_set(
		-EMSGSIZE,
		"a message of %llu bytes is larger than the largest slot, %llu bytes; give the channel's max_body "
		"in the rig, or add a pool",
		(unsigned long long)(slot_size - sizeof(struct sim_slot)),
		(unsigned long long)(pools_max_slot(p) > sizeof(struct sim_slot)
					     ? pools_max_slot(p) - sizeof(struct sim_slot)
					     : 0));
}

uint32_t pools_left(const struct pools *p, int cls)
{
	const struct pool_class *c = &p->c[cls];

	return c->reserved < c->count ? c->count - c->reserved : 0;
}

uint32_t pools_part(const struct pools *p, int cls, uint32_t percent)
{
	const struct pool_class *c = &p->c[cls];
	uint32_t part = (uint32_t)((uint64_t)c->count * percent / 100);

	return part > c->listed ? part : c->listed;
}

int pools_reserve(struct pools *p, int cls, uint32_t slots, const char *what)
{
	assert(cls >= 0 && (unsigned)cls < p->n);
	if (slots > pools_left(p, cls))
		return err_set(-ENOSPC,
			       "%s needs %u slots of up to %llu bytes, that pool has %u left of %u; lower the channel's "
			       "\"window\", raise the pool's count in \"pools\", or name the channel's max_body and "
			       "publishers in the rig",
			       what, slots, (unsigned long long)p->c[cls].size, pools_left(p, cls), p->c[cls].count);
	p->c[cls].reserved += slots;
	return 0;
}

void pools_release(struct pools *p, int cls, uint32_t slots)
{
	assert(cls >= 0 && (unsigned)cls < p->n && p->c[cls].reserved >= slots);
	p->c[cls].reserved -= slots;
}
