/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this process may use what belongs to a group, and what its user can do when it may not. Thread: any; no state.
 */
#ifndef BASE_GROUP_H
#define BASE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GROUP_NAME_MAX 64

/* The group's name, or its number. Returns buf, of GROUP_NAME_MAX bytes. */
const char *group_name(gid_t gid, char *buf);
/* The same for a user. */
const char *group_user_name(uid_t uid, char *buf);

/* Whether the group is this process's primary group or one of its others. */
bool group_has(gid_t gid);

/*
 * Whether this process has the group, or is root's. 0, or -EACCES with a sentence that says what to do: adduser, log in again.
 */
int group_check(gid_t gid);
/*
 * Whether it has the group and the user database lists its user in it, as a primary or another group: root, too. A RouDi that simd has
 * not started demands both: the kernel goes by the first, iceoryx looks up the second by the user's name.
 */
int group_check_listed(gid_t gid);

#endif
