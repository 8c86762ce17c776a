/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools: sizing of RouDi's payload segment. iceoryx hands out overlapping chunks from a pool above
 * 4 GiB, aborts on unordered sizes and dies of SIGBUS when /dev/shm is too small; so simd checks here
 * first, then generates RouDi's configuration. Pure functions.
 */
#ifndef IPC_POOLS_H
#define IPC_POOLS_H

#include <stddef.h>
#include <stdint.h>

#define IPC_POOLS_MAX   32            /* pools of one segment */
#define IPC_MGMT_BYTES  (63ull << 20) /* iceoryx's management segment without slots, rounded up: measured */
#define IPC_SLOT_EXTRA  104           /* of each slot: 40 in its pool, 64 in the management segment */
#define IPC_CHUNK_EXTRA 64            /* a loan of n bytes needs a chunk of n + 64 */

struct ipc_pool_spec {
	uint64_t size; /* usable bytes of a chunk, ascending, multiple of 64 */
	uint32_t count;
};

/* Bytes of /dev/shm that one RouDi with these pools takes, management included; at most 1 MiB more than it does. */
uint64_t ipc_pools_bytes(const struct ipc_pool_spec *pools, size_t n);

/*
 * RouDi's configuration as TOML into buf. group: reader and writer group, NULL: RouDi's own.
 * Returns the length, or -ENOBUFS.
 */
int ipc_pools_toml(const struct ipc_pool_spec *pools, size_t n, const char *group, char *buf, size_t size);

#endif
