/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory layout of iceoryx 2.0.3 in shared memory as Debian builds it: offsets and sizes in bytes, within the struct
 * named at the right. tests/abi/test_iceoryx.cpp checks them against its headers. Only numbers, for C and C++.
 */
#ifndef IPC_IOX_LAYOUT_H
#define IPC_IOX_LAYOUT_H

#define IOX_PORT_SIZE    5184  /* PublisherPortData */
#define IOX_SUB_SIZE     12216 /* SubscriberPortData */
#define IOX_PORT_CHANNEL 112   /*   of both: the instance of its service, a string */
#define IOX_PORT_OWNER   360   /*   of both: the runtime name for which it was made, a string */
#define IOX_STRING_SIZE  101   /* capacity of such a string, with its NUL */
#define IOX_PORT_ID      584   /*   its number, a u64: the origin of its chunks */
#define IOX_PORT_MANAGER 4896  /*   relative pointer to its MemoryManager */
#define IOX_PORT_LAST    5040  /*   packed pointer to the entry of the slot sent last */

#define IOX_MANAGER_SIZE    2136
#define IOX_MANAGER_POOLS   8    /* MemPool[32] */
#define IOX_MANAGER_N       2056 /* u64: how many of them */
#define IOX_MANAGER_ENTRIES 2064 /* the one MemPool of ChunkManagement */

#define IOX_POOL_SIZE    64
#define IOX_POOL_MEMORY  0  /* relative pointer */
#define IOX_POOL_CHUNK   16 /* u32: bytes of a chunk */
#define IOX_POOL_COUNT   20 /* u32 */
#define IOX_POOL_USED    24 /* u32 */
#define IOX_POOL_MINFREE 28 /* u32 */
#define IOX_POOL_LIST    32 /* LoFFLi: */
#define IOX_LIST_SIZE    0  /*   u32 */
#define IOX_LIST_INVALID 4  /*   u32: marks a chunk that is out */
#define IOX_LIST_HEAD    8  /*   u64: index and a counter against ABA */
#define IOX_LIST_NEXT    16 /*   relative pointer to u32[size] */

#define IOX_ENTRY_SIZE   56 /* ChunkManagement */
#define IOX_ENTRY_HEADER 0  /*   relative pointer to the chunk */
#define IOX_ENTRY_COUNT  16 /*   u64: references */

#define IOX_HEADER_SIZE      40 /* ChunkHeader */
#define IOX_HEADER_ORIGIN    8
#define IOX_HEADER_SEQUENCE  16
#define IOX_HEADER_USER_SIZE 28 /* u32: bytes that were loaned */
/*   where the slot of a chunk begins, both as addresses: aligned to 64 */
#define IOX_SLOT_AT(chunk) (((chunk) + IOX_HEADER_SIZE + 63) / 64 * 64)

#define IOX_POINTER_SIZE 16 /* relative pointer: u64 segment, u64 offset */
#define IOX_PACKED_SIZE  8  /* packed pointer: u64, the segment in the low 16 bits */
#define IOX_POOLS_MAX    32

/*
 * The management segment: introspection data of RouDi; for each pool the list of its free chunks, u32[count + 1]; the
 * entries of all chunks; the list of the free ones among these; the ports and everything else. Lists and entries begin
 * at multiples of 8.
 */
#define IOX_MGMT_LISTS   27723888u /* where the lists begin */
#define IOX_MGMT_TAIL    37995208u /* what follows the last list */
#define IOX_MGMT_SPARE   64u       /*   or up to this much more */
#define IOX_MGMT_SERVERS 21150000u /* before the end: ports of clients and servers, from here */
#define IOX_MGMT_LAST    1790000u  /*   to here */
/* What introspection writes: it keeps the last one or two messages of a kind, in the lowest chunks of four pools. */
#define IOX_MGMT_HEAD \
	{ \
		{ 0, 1400 << 12 }, { 2416 << 12, 2480 << 12 }, { 2836 << 12, 2900 << 12 }, { 3255 << 12, 3320 << 12 }, \
		{ \
			6600 << 12, IOX_MGMT_LISTS \
		} \
	}

#endif
