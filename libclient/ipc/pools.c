/* SPDX-License-Identifier: Apache-2.0 */
/* pools: see pools.h. Thread: any; pure functions. */
#include "pools.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define CHUNK_HEADER 40u /* iceoryx 2.0.3 adds it to every chunk */
#define CHUNK_MGMT   64u /* per chunk in the management segment */

static uint64_t pool_bytes(const struct ipc_pool_spec *p)
{
	return (p->size + CHUNK_HEADER) * p->count;
}

uint64_t ipc_pools_bytes(const struct ipc_pool_spec *pools, size_t n)
{
	uint64_t sum = IPC_MGMT_BYTES;

	for (size_t i = 0; i < n; i++)
		sum += pool_bytes(&pools[i]) + (uint64_t)pools[i].count * CHUNK_MGMT;
	return sum;
}

__attribute__((format(printf, 4, 5))) static int refuse(int r, char *why, size_t n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, n, fmt, ap);
	va_end(ap);
	return r;
}

static int check_one(const struct ipc_pool_spec *p, size_t i, uint64_t below, char *why, size_t n)
{
	if (p->size == 0 || p->size % 64)
		return refuse(-EINVAL, why, n, "pool %zu: size %llu must be a multiple of 64, at least 64", i,
			      (unsigned long long)p->size);
	if (p->count == 0)
		return refuse(-EINVAL, why, n, "pool %zu of %llu bytes: count must be at least 1", i,
			      (unsigned long long)p->size);
	if (i && p->size <= below)
		return refuse(-EINVAL, why, n, "pool %zu: size %llu must be larger than that of the pool before, %llu",
			      i, (unsigned long long)p->size, (unsigned long long)below);
	if (p->size > IPC_POOL_BYTES || pool_bytes(p) > IPC_POOL_BYTES)
		return refuse(-E2BIG, why, n,
			      "pool %zu: %u slots of %llu bytes are more than the 4 GiB that one pool can "
			      "have; at most %llu of them fit",
			      i, p->count, (unsigned long long)p->size,
			      (unsigned long long)(IPC_POOL_BYTES / (p->size + CHUNK_HEADER)));
	return 0;
}

int ipc_pools_check(const struct ipc_pool_spec *pools, size_t n, unsigned int lives, uint64_t shm_free, char *why,
		    size_t why_size)
{
	uint64_t need;

	if (n < 1 || n > IPC_POOLS_MAX)
		return refuse(-EINVAL, why, why_size, "%zu pools: RouDi takes 1 to %d", n, IPC_POOLS_MAX);
	for (size_t i = 0; i < n; i++) {
		int r = check_one(&pools[i], i, i ? pools[i - 1].size : 0, why, why_size);

		if (r < 0)
			return r;
	}
	need = ipc_pools_bytes(pools, n) * lives;
	if (shm_free && need > shm_free)
		return refuse(-ENOSPC, why, why_size,
			      "the pools need %llu MiB of /dev/shm (%u lives of RouDi, 70 MiB "
			      "management each), %llu MiB are free; make it larger or the pools smaller",
			      (unsigned long long)(need >> 20), lives, (unsigned long long)(shm_free >> 20));
	return 0;
}

struct out {
	char *buf;
	size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->len < o->size ? o->buf + o->len : NULL, o->len < o->size ? o->size - o->len : 0, fmt, ap);
	va_end(ap);
	o->len += n > 0 ? (size_t)n : 0;
}

int ipc_pools_toml(const struct ipc_pool_spec *pools, size_t n, const char *group, char *buf, size_t size)
{
	struct out o = { buf, size, 0 };

	put(&o, "[general]\nversion = 1\n\n[[segment]]\n");
	if (group)
		put(&o, "reader = \"%s\"\nwriter = \"%s\"\n", group, group);
	for (size_t i = 0; i < n; i++)
		put(&o, "\n[[segment.mempool]]\nsize = %llu\ncount = %u\n", (unsigned long long)pools[i].size,
		    pools[i].count);
	return o.len < size ? (int)o.len : -ENOBUFS;
}
