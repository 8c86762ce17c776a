/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a data plane, and its members: functions under names that iceoryx 2.0.3 calls through the dynamic
 * linker, linked into the module ipc_iox.so and into roudi_robust.so.
 *
 *   names    Files that iceoryx would make in /dev/shm and /tmp go into the plane's directory (plane.h).
 *   groups   iceoryx asks the user database for the groups of a user, and gives no memory to a user who is not listed.
 *            In a plane the kernel decides: a process that can reach its directory, and so RouDi's socket, is in its
 *            group. The group names are generated.
 *
 * Thread: any thread that iceoryx runs in.
 */
#include "iox_plane.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "iox_hook.h"

/* ---- names ---- */

#define TMP_LEN 5

static bool is_moved(const char *path)
{
	return *iox_plane() && strncmp(path, "/tmp/", TMP_LEN) == 0;
}

const char *iox_plane_path(const char *path, char *buf)
{
	return is_moved(path) && plane_file(iox_plane(), path + TMP_LEN, buf, PLANE_PATH_MAX) ? buf : path;
}

const struct sockaddr *iox_plane_address(const struct sockaddr *at, socklen_t *len, struct sockaddr_un *buf)
{
	struct sockaddr_un un = { .sun_family = AF_UNSPEC };

	memcpy(&un, at, *len < sizeof(un) ? *len : sizeof(un));
	un.sun_path[sizeof(un.sun_path) - 1] = '\0';
	if (un.sun_family != AF_UNIX || !is_moved(un.sun_path))
		return at;
	*buf = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)plane_file(iox_plane(), un.sun_path + TMP_LEN, buf->sun_path, sizeof(buf->sun_path));
	*len = sizeof(*buf);
	return (const struct sockaddr *)buf;
}

int iox_plane_shm_open(const char *name, int flags, mode_t mode)
{
	char path[PLANE_PATH_MAX];

	if (!*iox_plane())
		return shm_open(name, flags, mode);
	if (!plane_memory(iox_plane(), name, path, sizeof(path))) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode);
}

HOOK int plane_shm_unlink(const char *name) __asm__("_Z14iox_shm_unlinkPKc");
HOOK int plane_connect(int fd, const struct sockaddr *to, socklen_t len) __asm__("_Z11iox_connectiPK8sockaddrj");
HOOK int plane_unlink(const char *path) __asm__("unlink");
HOOK int plane_remove(const char *path) __asm__("remove");

int plane_shm_unlink(const char *name)
{
	char path[PLANE_PATH_MAX];

	if (!*iox_plane())
		return shm_unlink(name);
	return plane_memory(iox_plane(), name, path, sizeof(path)) ? unlinkat(AT_FDCWD, path, 0) : -1;
}

int plane_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	struct sockaddr_un un;

	return connect(fd, iox_plane_address(to, &len, &un), len);
}

int plane_unlink(const char *path)
{
	char buf[PLANE_PATH_MAX];

	return unlinkat(AT_FDCWD, iox_plane_path(path, buf), 0);
}

/* iceoryx removes its lock files by this call. */
int plane_remove(const char *path)
{
	return plane_unlink(path);
}

/* ---- groups ---- */

#define NAME_SIZE 16

typedef struct passwd *(*pwuid_fn)(uid_t);
typedef struct passwd *(*pwnam_fn)(const char *);
typedef struct group *(*grgid_fn)(gid_t);
typedef struct group *(*grnam_fn)(const char *);

HOOK struct passwd *plane_getpwuid(uid_t uid) __asm__("getpwuid");
HOOK struct passwd *plane_getpwnam(const char *name) __asm__("getpwnam");
HOOK struct group *plane_getgrgid(gid_t gid) __asm__("getgrgid");
HOOK struct group *plane_getgrnam(const char *name) __asm__("getgrnam");
HOOK int plane_getgrouplist(const char *user, gid_t group, gid_t *ret, int *n) __asm__("_Z16iox_getgrouplistPKcjPjPi");

/* Its own errno may be that of a later name service. */
static bool database_lacks(void)
{
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd < 0 && iox_plane_lacks(errno);
}

static gid_t plane_group(void)
{
	struct stat st;

	return stat(iox_plane(), &st) == 0 ? st.st_gid : getegid();
}

/* iceoryx copies the result at once. */
static struct passwd *user_of(uid_t uid)
{
	static char name[NAME_SIZE];
	static struct passwd p = { .pw_name = name };

	snprintf(name, sizeof(name), "uid-%u", (unsigned int)uid);
	p.pw_uid = uid;
	p.pw_gid = plane_group();
	return &p;
}

static struct group *group_of(gid_t gid)
{
	static char name[NAME_SIZE];
	static char *nobody[] = { NULL };
	static struct group g = { .gr_name = name, .gr_mem = nobody };

	snprintf(name, sizeof(name), "gid-%u", (unsigned int)gid);
	g.gr_gid = gid;
	return &g;
}

struct passwd *plane_getpwuid(uid_t uid)
{
	struct passwd *found;
	static _Atomic(void *) next;
	pwuid_fn get;

	if (*iox_plane())
		return user_of(uid);
	*(void **)&get = iox_next(&next, "getpwuid");
	do
		found = get(uid);
	while (!found && database_lacks());
	return found;
}

struct passwd *plane_getpwnam(const char *name)
{
	struct passwd *found;
	static _Atomic(void *) next;
	pwnam_fn get;

	if (*iox_plane() && strncmp(name, "uid-", 4) == 0)
		return user_of((uid_t)strtoul(name + 4, NULL, 10));
	*(void **)&get = iox_next(&next, "getpwnam");
	do
		found = get(name);
	while (!found && database_lacks());
	return found;
}

struct group *plane_getgrgid(gid_t gid)
{
	struct group *found;
	static _Atomic(void *) next;
	grgid_fn get;

	if (*iox_plane())
		return group_of(gid);
	*(void **)&get = iox_next(&next, "getgrgid");
	do
		found = get(gid);
	while (!found && database_lacks());
	return found;
}

struct group *plane_getgrnam(const char *name)
{
	struct group *found;
	static _Atomic(void *) next;
	grnam_fn get;

	if (*iox_plane() && strncmp(name, "gid-", 4) == 0)
		return group_of((gid_t)strtoul(name + 4, NULL, 10));
	*(void **)&get = iox_next(&next, "getgrnam");
	do
		found = get(name);
	while (!found && database_lacks());
	return found;
}

int plane_getgrouplist(const char *user, gid_t group, gid_t *ret, int *n)
{
	if (!*iox_plane())
		return getgrouplist(user, group, ret, n);
	if (*n < 1)
		return -1;
	ret[0] = plane_group();
	return *n = 1;
}
