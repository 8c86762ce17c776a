/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc: passing the address of a held slot to a process that never subscribed to its channel. A reference is the slot's
 * offset in the payload segment. The beacon, a small slot that simd publishes and all others hold, contains its own
 * offset: a process that finds it elsewhere maps another segment.
 *
 * Thread: any; ipc.lock. Export and import only read what attach and the beacon calls stored.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "ipc_int.h"

#define BEACON_CHANNEL "~ipc/beacon"
#define BEACON_MAGIC   0x4e434142u /* "BACN" in memory */
#define BEACON_WAIT_MS 2000

struct beacon {
	uint32_t magic;
	uint32_t version;
	uint64_t id;     /* random: unique among beacons */
	uint64_t offset; /* of this struct in the payload segment */
	uint64_t seg_size;
};

_Static_assert(sizeof(struct beacon) == 32, "the beacon is shared-memory ABI");

static int segment_of(struct ipc *ipc)
{
	if (ipc->seg.base)
		return 0;
	return ipc->ops->segment(ipc->back, &ipc->seg);
}

static bool inside(const struct ipc_segment *s, const void *p, size_t size)
{
	uintptr_t base = (uintptr_t)s->base, at = (uintptr_t)p;

	return s->base && at >= base && size <= s->size && at - base <= s->size - size;
}

static int fill_beacon(struct ipc *ipc, struct beacon *b)
{
	uint64_t id = 0;

	while (id == 0)
		if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
			return -EIO;
	if (!inside(&ipc->seg, b, sizeof(*b)))
		return -EXDEV;
	*b = (struct beacon){ .magic = BEACON_MAGIC,
			      .version = 1,
			      .id = id,
			      .offset = (uint64_t)((const char *)b - ipc->seg.base),
			      .seg_size = ipc->seg.size };
	return 0;
}

int ipc_beacon_create(struct ipc *ipc)
{
	struct ipc_pub *pub;
	uint64_t id;
	void *slot;
	int r;

	if (!ipc)
		return ipc_fail(-EINVAL, "no data plane for a beacon");
	if (ipc->beacon_pub)
		return 0;
	r = ipc_pub_create(ipc, BEACON_CHANNEL, &(struct ipc_pub_options){ .history = 1 }, &pub);
	if (r < 0)
		return r;
	r = segment_of(ipc);
	if (r == 0)
		r = ipc_loan(pub, sizeof(struct beacon), &slot);
	if (r == 0)
		r = fill_beacon(ipc, slot);
	if (r < 0) {
		ipc_pub_destroy(pub);
		return ipc_fail(r, "the beacon could not be placed in the payload segment: %s", strerror(-r));
	}
	id = ((struct beacon *)slot)->id;
	r = ipc_publish(pub, slot);
	if (r < 0) {
		ipc_pub_destroy(pub);
		return r;
	}
	ipc->beacon_pub = pub; /* its history keeps the slot */
	ipc_scan_open(ipc, pub, slot);
	atomic_store(&ipc->beacon_id, id);
	return 0;
}

/* Takes the newest beacon of the channel, or -ENOENT after the time limit; releases older ones. */
static int take_newest(struct ipc *ipc, const void **ret)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	const void *slot, *newest = NULL;
	size_t size;
	int tries = ipc->ops->blocking ? BEACON_WAIT_MS : 1;

	for (int i = 0; i < tries; i++) {
		int r;

		while ((r = ipc_take(ipc->beacon_sub, &slot, &size)) == 0) {
			if (newest)
				ipc_release(ipc->beacon_sub, newest);
			newest = slot;
		}
		if (r != -EAGAIN)
			return r;
		if (newest) {
			*ret = newest;
			return 0;
		}
		if (ipc->beacon)
			break; /* the held one is the newest */
		if (i + 1 < tries)
			nanosleep(&nap, NULL);
	}
	return -ENOENT;
}

static int adopt_beacon(struct ipc *ipc, const struct beacon *b)
{
	int r = segment_of(ipc);

	if (r < 0 || !inside(&ipc->seg, b, sizeof(*b)) || b->magic != BEACON_MAGIC || b->version != 1 ||
	    b->offset != (uint64_t)((const char *)b - ipc->seg.base) || b->seg_size != ipc->seg.size)
		return ipc_fail(-EXDEV, "the beacon belongs to another payload segment than the one mapped here; "
					"attach again");
	if (ipc->beacon)
		ipc_release(ipc->beacon_sub, ipc->beacon);
	ipc->beacon = b;
	atomic_store(&ipc->beacon_id, b->id);
	return 0;
}

int ipc_beacon_hold(struct ipc *ipc)
{
	const void *slot = NULL;
	int r = 0;

	if (!ipc)
		return ipc_fail(-EINVAL, "no data plane to look for a beacon");
	if (!ipc->beacon_sub)
		r = ipc_sub_create(ipc, BEACON_CHANNEL, &(struct ipc_sub_options){ .depth = 4, .history = true },
				   &ipc->beacon_sub);
	if (r < 0)
		return r;
	r = take_newest(ipc, &slot);
	if (r == -ENOENT && ipc->beacon)
		return 0;
	if (r == -ENOENT)
		return ipc_fail(r, "no beacon is published: simd is not running, or has not attached yet");
	if (r < 0)
		return r;
	r = adopt_beacon(ipc, slot);
	if (r < 0)
		ipc_release(ipc->beacon_sub, slot);
	return r;
}

uint64_t ipc_beacon_id(const struct ipc *ipc)
{
	return ipc ? atomic_load(&ipc->beacon_id) : 0;
}

int ipc_export(struct ipc *ipc, const void *slot, int64_t *ret_ref)
{
	if (!ipc || !slot || !ret_ref)
		return ipc_fail(-EINVAL, "ipc_export: no data plane, no slot, or the output pointer is NULL");
	if (!ipc_alive(ipc))
		return ipc_fail_state(ipc->state);
	if (atomic_load(&ipc->beacon_id) == 0)
		return ipc_fail(-ENOENT, "no beacon is created or held on this attachment yet");
	if (!inside(&ipc->seg, slot, 1))
		return ipc_fail(-EINVAL, "the pointer is not a slot: it lies outside the payload segment");
	*ret_ref = (const char *)slot - ipc->seg.base;
	return 0;
}

int ipc_import(struct ipc *ipc, int64_t ref, size_t size, const void **ret)
{
	if (!ipc || !ret)
		return ipc_fail(-EINVAL, "ipc_import: no data plane, or the output pointer is NULL");
	if (!ipc_alive(ipc))
		return ipc_fail_state(ipc->state);
	if (atomic_load(&ipc->beacon_id) == 0)
		return ipc_fail(-ENOENT, "no beacon is created or held on this attachment yet");
	if (ref < 0 || (uint64_t)ref % IPC_ALIGN || size > ipc->seg.size || (uint64_t)ref > ipc->seg.size - size)
		return ipc_fail(-EFAULT, "reference %lld with %zu bytes leaves the payload segment of %zu bytes",
				(long long)ref, size, ipc->seg.size);
	*ret = ipc->seg.base + ref;
	return 0;
}
