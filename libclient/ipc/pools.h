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
#define IPC_POOL_BYTES  (4ull << 30)  /* of one pool, chunk headers included */
#define IPC_MGMT_BYTES  (70ull << 20) /* iceoryx's management segment, rounded up */
#define IPC_CHUNK_EXTRA 64            /* a loan of n bytes needs a chunk of n + 64 */

struct ipc_pool_spec {
	uint64_t size; /* usable bytes of a chunk, ascending, multiple of 64 */
	uint32_t count;
};

/* Bytes of /dev/shm that one life of RouDi with these pools takes, management included. */
uint64_t ipc_pools_bytes(const struct ipc_pool_spec *pools, size_t n);

/*
 * Whether RouDi can run with these pools. lives: how many lives must fit at once (2: a restarted RouDi
 * beside the memory of the dead one); shm_free: free bytes of /dev/shm, 0 not checked.
 * Returns 0; -EINVAL (order, multiples, counts), -E2BIG (pool above 4 GiB), -ENOSPC (/dev/shm): then
 * why holds the sentence, with the numbers.
 */
int ipc_pools_check(const struct ipc_pool_spec *pools, size_t n, unsigned int lives, uint64_t shm_free, char *why,
		    size_t why_size);

/*
 * RouDi's configuration as TOML into buf. group: reader and writer group, NULL: RouDi's own.
 * Returns the length, or -ENOBUFS.
 */
int ipc_pools_toml(const struct ipc_pool_spec *pools, size_t n, const char *group, char *buf, size_t size);

#endif
