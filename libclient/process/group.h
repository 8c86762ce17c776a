/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether this process may use what belongs to a group; if not, err_why() says what its user can do. Thread:
 * any; no state.
 */
#ifndef BASE_GROUP_H
#define BASE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GROUP_NAME_MAX 64

/* Writes the group's name, or its number if it has no name. Returns buf, of GROUP_NAME_MAX bytes. */
const char *group_name(gid_t gid, char *buf);
/* group_name() for a user. */
const char *group_user_name(uid_t uid, char *buf);

/* Whether the group is this process's effective group or one of its supplementary groups. */
bool group_has(gid_t gid);

/*
 * Returns 0 if this process has the group or runs as root; else -EACCES, and err_why() says what to do: adduser, log in
 * again.
 */
int group_check(gid_t gid);
/*
 * Returns 0 if this process has the group and the user database lists its user as a member; both are required of root
 * as well. A RouDi that simd did not start requires both: the kernel checks the former; iceoryx looks up the latter by
 * the user's name.
 */
int group_check_listed(gid_t gid);

#endif
