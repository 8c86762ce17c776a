/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory is available for slots: the smallest of the free space of /dev/shm, the memory available on the
 * machine, and the remaining memory of this process's control group and each of its parents (cgroup v2). Beyond the
 * first limit an allocation fails; beyond the others the kernel would kill a process.
 *
 * Thread: any.
 */
#ifndef BASE_MEMORY_ROOM_H
#define BASE_MEMORY_ROOM_H

#include <stdint.h>

/*
 * Returns bytes. root: prefix of /proc, /sys and /dev; usually "". A limit that is not known is ignored. *ret_whose:
 * name of the smallest limit; static.
 */
int64_t memory_room(const char *root, const char **ret_whose);
/* memory_room() for memory that is not in /dev/shm. */
int64_t memory_left(const char *root);
/*
 * Number of processes in this process's control group that the kernel has killed because memory was short; -1: not
 * known.
 */
int64_t memory_oom_kills(const char *root);

#endif
