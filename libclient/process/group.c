/* SPDX-License-Identifier: Apache-2.0 */
/* Contract in group.h. Thread: any; no state. */
#include "group.h"

#include "err.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#define GROUPS_MAX 1024
#define ENTRY_MAX  16384 /* buffer for one entry of the user database; a group's entry contains all its members */

const char *group_name(gid_t gid, char *buf)
{
	struct group g, *found = NULL;
	char text[ENTRY_MAX];

	if (getgrgid_r(gid, &g, text, sizeof(text), &found) == 0 && found)
		snprintf(buf, GROUP_NAME_MAX, "%s", g.gr_name);
	else
		snprintf(buf, GROUP_NAME_MAX, "%u", (unsigned)gid);
	return buf;
}

const char *group_user_name(uid_t uid, char *buf)
{
	struct passwd p, *found = NULL;
	char text[ENTRY_MAX];

	if (getpwuid_r(uid, &p, text, sizeof(text), &found) == 0 && found)
		snprintf(buf, GROUP_NAME_MAX, "%s", p.pw_name);
	else
		snprintf(buf, GROUP_NAME_MAX, "%u", (unsigned)uid);
	return buf;
}

static bool among(gid_t gid, const gid_t *list, int n)
{
	for (int i = 0; i < n; i++) {
		if (list[i] == gid)
			return true;
	}
	return false;
}

bool group_has(gid_t gid)
{
	gid_t mine[GROUPS_MAX];

	return gid == getegid() || among(gid, mine, getgroups(GROUPS_MAX, mine));
}

/*
 * Whether the user database lists this process's user in the group: 1 yes, 0 no, -1 the user id has no name. A user in
 * more than GROUPS_MAX groups counts as listed.
 */
static int is_listed(gid_t gid)
{
	struct passwd p, *found = NULL;
	char text[ENTRY_MAX];
	gid_t theirs[GROUPS_MAX];
	int n = GROUPS_MAX;

	if (getpwuid_r(geteuid(), &p, text, sizeof(text), &found) != 0 || !found)
		return -1;
	return getgrouplist(p.pw_name, p.pw_gid, theirs, &n) < 0 || among(gid, theirs, n);
}

/* Returns -EACCES; err_why() says how the user becomes a member. */
static int no_member(gid_t gid)
{
	char user[GROUP_NAME_MAX], group[GROUP_NAME_MAX];
	int listed = is_listed(gid);

	group_name(gid, group);
	group_user_name(geteuid(), user);
	if (gid == 0)
		return err_set(
			-EACCES,
			"it belongs to group root, but user %s is not in that group: run this as root, or the other "
			"side as another user",
			user);
	if (listed < 0)
		return err_set(
			-EACCES,
			"user id %s, which has no user name here, is not in group %s: give the process that group "
			"(setpriv --groups, "
			"docker run --group-add)",
			user, group);
	return err_set(-EACCES,
		       listed ? "user %s is in group %s, but this process is not: log in again, or newgrp %s"
			      : "user %s is not in group %s: adduser %s %s, then log in again",
		       user, group, listed ? group : user, group);
}

int group_check(gid_t gid)
{
	return geteuid() == 0 || group_has(gid) ? 0 : no_member(gid);
}

int group_check_listed(gid_t gid)
{
	char user[GROUP_NAME_MAX], group[GROUP_NAME_MAX];
	bool has = group_has(gid);
	int listed = is_listed(gid);

	if (has && listed > 0)
		return 0;
	group_name(gid, group);
	group_user_name(geteuid(), user);
	if (listed < 0 && gid)
		return err_set(-EACCES,
			       "user id %s is not in this machine's user database, where iceoryx looks up its groups: "
			       "add the user there, and to group %s",
			       user, group);
	if (has)
		return err_set(-EACCES,
			       "user %s runs with group %s, but the user database, which iceoryx asks, does not list it "
			       "there: adduser %s %s",
			       user, group, user, group);
	return no_member(gid);
}
