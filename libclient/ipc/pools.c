/* SPDX-License-Identifier: Apache-2.0 */
/* pools: see pools.h. Thread: any; pure functions. */
#include "pools.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

uint64_t ipc_pools_bytes(const struct ipc_pool_spec *pools, size_t n)
{
	uint64_t sum = IPC_MGMT_BYTES;

	for (size_t i = 0; i < n; i++)
		sum += pools[i].count * (pools[i].size + IPC_SLOT_EXTRA);
	return sum;
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
