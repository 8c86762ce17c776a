/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory there is for slots: the least of what /dev/shm has room for, what the machine has available, and what the control
 * group of this process, and each above it, may still have (cgroup v2). Who took more would be refused in the first case, and in the others
 * something would be killed for it.
 *
 * Thread: any.
 */
#ifndef BASE_MEMORY_ROOM_H
#define BASE_MEMORY_ROOM_H

#include <stdint.h>

/* root: before /proc, /sys and /dev; "". In bytes; what is unknown bounds nothing. ret_whose: what has so little; static. */
int64_t memory_room(const char *root, const char **ret_whose);
/* The same of memory that is no file of /dev/shm. */
int64_t memory_left(const char *root);
/* How many processes in the control group of this process the kernel has killed for want of memory; -1: not known. */
int64_t memory_oom_kills(const char *root);

#endif
