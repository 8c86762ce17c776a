/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RouDi from outside, in plain C: whether it runs, whether this process may talk to it, whether it still reads its
 * messages, whether a name is taken; and freeing what a dead application left. Uses RouDi's socket and the text of its
 * messages (facts of iceoryx 2.0.3), no iceoryx.
 *
 * Thread: any; no state.
 */
#include "ipc_roudi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "group.h"
#include "ipc_int.h"
#include "timeutil.h"

#define MSG_KEEPALIVE   17
#define MSG_TERMINATION 18
#define SWEEP_AGE_S     60

/* RouDi's socket. */
struct place {
	const char *plane;
	struct sockaddr_un at;
};

static struct place place_of(const char *plane)
{
	struct place p = { .plane = plane, .at = { .sun_family = AF_UNIX } };

	(void)plane_file(plane, PLANE_ROUDI, p.at.sun_path, sizeof(p.at.sun_path));
	return p;
}

/* For a process that may not enter the plane's directory, returns the owner of the directory. */
static int place_stat(const struct place *p, struct stat *ret)
{
	return stat(p->at.sun_path, ret) == 0 || (*p->plane && stat(p->plane, ret) == 0) ? 0 : -errno;
}

static int may_use(const char *plane, gid_t gid)
{
	return *plane ? group_check(gid) : group_check_listed(gid);
}

static int no_access(const struct place *p, struct ipc_text *why)
{
	char group[GROUP_NAME_MAX];
	struct stat st;

	if (place_stat(p, &st) == 0 && may_use(p->plane, st.st_gid) == 0)
		snprintf(why->s, sizeof(why->s),
			 "iox-roudi belongs to group %s, which may not use its %s or its memory",
			 group_name(st.st_gid, group), p->at.sun_path);
	else
		snprintf(why->s, sizeof(why->s), "iox-roudi is not for this user: %s", err_why());
	return -EACCES;
}

static int connect_failed(const struct place *p, int r, struct ipc_text *why)
{
	if (r == -EACCES || r == -EPERM)
		return no_access(p, why);
	if (r == -ENOENT)
		snprintf(why->s, sizeof(why->s), "RouDi is not running (no %s); start simd", p->at.sun_path);
	else if (r == -ECONNREFUSED)
		snprintf(why->s, sizeof(why->s), "RouDi has exited and left its socket %s behind; start simd",
			 p->at.sun_path);
	else
		snprintf(why->s, sizeof(why->s), "RouDi cannot be reached at %s: %s", p->at.sun_path, strerror(-r));
	return r;
}

static int roudi_connect(const struct place *p, struct ipc_text *why, int *ret_fd)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return connect_failed(p, -errno, why);
	if (connect(fd, (const struct sockaddr *)&p->at, sizeof(p->at)) == 0) {
		*ret_fd = fd;
		return 0;
	}
	r = -errno;
	close(fd);
	return connect_failed(p, r, why);
}

/*
 * RouDi answers into this process's socket, 0660 of its user and, by a hook of the module, of RouDi's group. The RouDi
 * of the plain names hands out memory by the groups in the user database: if the database does not list this process's
 * user, iceoryx would attach, and crash at the first message.
 */
static int check_group(const struct place *p, struct ipc_text *why)
{
	char mgmt[PLANE_PATH_MAX];
	struct stat st;

	if (stat(p->at.sun_path, &st) < 0)
		return connect_failed(p, -errno, why);
	if (!*p->plane && st.st_uid != geteuid() && may_use(p->plane, st.st_gid) < 0)
		return no_access(p, why);
	(void)plane_memory(p->plane, PLANE_MGMT, mgmt, sizeof(mgmt));
	if (faccessat(AT_FDCWD, mgmt, R_OK | W_OK, AT_EACCESS) < 0 && errno == EACCES)
		return no_access(p, why);
	return 0;
}

int roudi_check(const char *plane, struct ipc_text *why)
{
	const struct place p = place_of(plane);
	int fd, r = roudi_connect(&p, why, &fd);

	if (r < 0)
		return r;
	close(fd);
	return check_group(&p, why);
}

pid_t roudi_pid(const char *plane)
{
	char lock[PLANE_PATH_MAX];
	pid_t pid = 0;

	(void)plane_file(plane, PLANE_ROUDI ".lock", lock, sizeof(lock));
	return fd_flock_held(lock, 0, &pid) ? pid : 0;
}

/* ---- names ---- */

/* The path of an application's lock file. */
static const char *lock_of(const char *plane, const char *name, char *buf)
{
	(void)plane_file(plane, name, buf, PLANE_PATH_MAX - sizeof(".lock"));
	return strcat(buf, ".lock");
}

static bool lock_held(const char *plane, const char *name)
{
	char path[PLANE_PATH_MAX];
	bool held = false;
	int fd;

	lock_of(plane, name, path);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno != ENOENT; /* it belongs to another user: it would be in iceoryx's way too */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		held = errno == EWOULDBLOCK;
	close(fd);
	return held;
}

int roudi_check_name(const char *plane, const char *app, unsigned int own, struct ipc_text *why)
{
	char name[IPC_APP_MAX + 8];

	for (unsigned int n = 1; n <= IPC_ATTACHMENTS_MAX; n++) {
		snprintf(name, sizeof(name), "%s.%u", app, n);
		if ((own >> n & 1) || !lock_held(plane, name))
			continue;
		snprintf(why->s, sizeof(why->s),
			 "an application named %s is attached already (as %s); give each its "
			 "own name",
			 app, name);
		return -EEXIST;
	}
	return 0;
}

/*
 * Whether the file is "<name>.lock" with a socket of that name: an application of iceoryx, attached or just dead. RouDi
 * has its own.
 */
static bool is_application(const char *plane, const char *file, char *name, size_t size)
{
	char path[PLANE_PATH_MAX];
	size_t n = strlen(file);
	struct stat st;

	if (n < 6 || n - 5 >= size || strcmp(file + n - 5, ".lock") != 0 || strcmp(file, "roudi.lock") == 0)
		return false;
	snprintf(name, size, "%.*s", (int)(n - 5), file);
	return plane_file(plane, name, path, sizeof(path)) && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

int roudi_peers(const char *plane, struct ipc_peer *ret, unsigned int max)
{
	struct ipc_peer peer = { .dead = false };
	const struct dirent *e;
	unsigned int n = 0;
	DIR *d = opendir(*plane ? plane : "/tmp");

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		if (!is_application(plane, e->d_name, peer.name, sizeof(peer.name)))
			continue;
		peer.dead = !lock_held(plane, peer.name);
		if (n < max)
			ret[n] = peer;
		n++;
	}
	closedir(d);
	return (int)n;
}

/* ---- messages ---- */

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static int silent(struct ipc_text *why)
{
	snprintf(why->s, sizeof(why->s),
		 "RouDi does not read its messages; it is stopped or stuck: simd restarts it, "
		 "or end it with SIGKILL");
	return -ETIMEDOUT;
}

static int send_msg(const struct place *p, int fd, int type, const char *name, int64_t until_mono_ns,
		    struct ipc_text *why)
{
	char msg[IPC_APP_MAX + 32];
	int n = snprintf(msg, sizeof(msg), "%d,%s,", type, name);

	while (send(fd, msg, (size_t)n + 1, MSG_NOSIGNAL) < 0) {
		int r = -errno;

		if (r != -EAGAIN && r != -EINTR && r != -ENOBUFS)
			return connect_failed(p, r, why);
		if (mono_now_ns() >= until_mono_ns)
			return silent(why);
		nap_ms(1);
	}
	return 0;
}

/* Waits until everything sent was read, or RouDi is gone. */
static int wait_drained(const struct place *p, int fd, int64_t until_mono_ns, struct ipc_text *why)
{
	int left = 0;

	for (;;) {
		if (ioctl(fd, SIOCOUTQ, &left) < 0)
			return connect_failed(p, -errno, why);
		if (left == 0)
			return 0;
		if (mono_now_ns() >= until_mono_ns)
			return silent(why);
		nap_ms(1);
	}
}

/*
 * A keep-alive makes RouDi take the lock of its process list, the one that a process killed inside publish can leave
 * stuck. The second one leaves the queue only after the first was handled.
 */
int roudi_probe(const char *plane, const char *name, uint32_t timeout_ms, struct ipc_text *why)
{
	const struct place p = place_of(plane);
	int64_t until_mono_ns = mono_now_ns() + (int64_t)timeout_ms * 1000000;
	int fd, r = roudi_connect(&p, why, &fd);

	if (r < 0)
		return r;
	for (int i = 0; name && i < 2 && r == 0; i++)
		r = send_msg(&p, fd, MSG_KEEPALIVE, name, until_mono_ns, why);
	if (r == 0 && name)
		r = wait_drained(&p, fd, until_mono_ns, why);
	close(fd);
	return r;
}

static bool is_runtime_name(const char *app)
{
	size_t n = strlen(app), digits = 0;

	while (n > digits && app[n - 1 - digits] >= '0' && app[n - 1 - digits] <= '9')
		digits++;
	return digits && digits <= 2 && n > digits + 1 && app[n - 1 - digits] == '.';
}

/* Removes the files of the dead process; nothing if a new process holds the name. */
static void remove_files(const char *plane, const char *name)
{
	char path[PLANE_PATH_MAX];
	int fd;

	lock_of(plane, name, path);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		unlink(path);
		(void)plane_file(plane, name, path, sizeof(path));
		unlink(path);
	}
	if (fd >= 0)
		close(fd);
}

int roudi_free_app(const char *plane, const char *app, struct ipc_text *why)
{
	const struct place p = place_of(plane);
	int64_t until_mono_ns = mono_now_ns() + 1000000000;
	char name[IPC_APP_MAX + 8], path[PLANE_PATH_MAX];
	bool one = is_runtime_name(app);
	int fd, r = roudi_connect(&p, why, &fd);

	if (r < 0)
		return r;
	for (unsigned int n = 1; n <= (one ? 1 : IPC_ATTACHMENTS_MAX) && r == 0; n++) {
		snprintf(name, sizeof(name), one ? "%s" : "%s.%u", app, n);
		(void)plane_file(plane, name, path, sizeof(path));
		/* A dead process leaves its socket; without a socket it never registered, and RouDi would complain. */
		if (access(path, F_OK) < 0)
			continue;
		r = send_msg(&p, fd, MSG_TERMINATION, name, until_mono_ns, why);
		if (r == 0)
			r = wait_drained(&p, fd, until_mono_ns, why);
		if (r == 0)
			remove_files(plane, name);
	}
	close(fd);
	return r;
}

/* ---- files that dead processes of this user have left ---- */

/*
 * Whether it is "<app>.<n>.lock" of this user, with its socket, and not new: a program that is just starting has
 * created its lock but not locked it yet.
 */
static bool is_old_lock(const char *file, char *name, size_t size)
{
	char path[PLANE_PATH_MAX];
	size_t n = strlen(file);
	struct stat lock, sock;

	if (n < 8 || n - 5 >= size || strcmp(file + n - 5, ".lock") != 0)
		return false;
	snprintf(name, size, "%.*s", (int)(n - 5), file);
	snprintf(path, sizeof(path), "/tmp/%s", name);
	if (!is_runtime_name(name) || lstat(path, &sock) < 0 || !S_ISSOCK(sock.st_mode) || sock.st_uid != geteuid())
		return false;
	snprintf(path, sizeof(path), "/tmp/%s.lock", name);
	return lstat(path, &lock) == 0 && S_ISREG(lock.st_mode) && lock.st_uid == geteuid() &&
	       lock.st_mtime < time(NULL) - SWEEP_AGE_S;
}

void roudi_sweep_own(void)
{
	char name[IPC_APP_MAX + 8];
	const struct dirent *e;
	struct stat st;
	DIR *d;

	if (stat("/tmp/" PLANE_ROUDI, &st) < 0 || st.st_uid == geteuid())
		return;
	d = opendir("/tmp");
	while (d && (e = readdir(d))) {
		if (is_old_lock(e->d_name, name, sizeof(name)))
			remove_files("", name);
	}
	if (d)
		closedir(d);
}
