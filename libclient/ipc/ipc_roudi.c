/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RouDi from outside, in plain C: is it there, may we talk to it, does it still read its messages, is
 * a name taken, free what a dead application left. Uses RouDi's socket and the text of its messages
 * (facts of iceoryx 2.0.3), no iceoryx.
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

#define ROUDI_SOCKET    "/tmp/roudi"
#define ROUDI_MGMT      "/dev/shm/iceoryx_mgmt"
#define MSG_KEEPALIVE   17
#define MSG_TERMINATION 18
#define SWEEP_AGE_S     60

static int no_access(struct ipc_text *why)
{
	char group[GROUP_NAME_MAX];
	struct stat st;

	if (stat(ROUDI_SOCKET, &st) == 0 && group_check(st.st_gid) == 0)
		snprintf(why->s, sizeof(why->s), "iox-roudi belongs to group %s, which may not use its %s or %s",
			 group_name(st.st_gid, group), ROUDI_SOCKET, ROUDI_MGMT);
	else
		snprintf(why->s, sizeof(why->s), "iox-roudi is not for this user: %s", err_why());
	return -EACCES;
}

static int connect_failed(int r, struct ipc_text *why)
{
	if (r == -EACCES || r == -EPERM)
		return no_access(why);
	if (r == -ENOENT)
		snprintf(why->s, sizeof(why->s), "RouDi is not running (no %s); start simd", ROUDI_SOCKET);
	else if (r == -ECONNREFUSED)
		snprintf(why->s, sizeof(why->s), "RouDi has exited and left its socket %s behind; start simd",
			 ROUDI_SOCKET);
	else
		snprintf(why->s, sizeof(why->s), "RouDi cannot be reached at %s: %s", ROUDI_SOCKET, strerror(-r));
	return r;
}

static int roudi_connect(struct ipc_text *why, int *ret_fd)
{
	const struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = ROUDI_SOCKET };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return connect_failed(-errno, why);
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0) {
		*ret_fd = fd;
		return 0;
	}
	r = -errno;
	close(fd);
	return connect_failed(r, why);
}

/*
 * RouDi answers into our socket, 0660 of our user and, by a hook of the module, of its group; and it hands out memory by the
 * groups that the user database names. Where that does not list us iceoryx would attach, and crash at the first message.
 */
static int check_group(struct ipc_text *why)
{
	struct stat st;

	if (stat(ROUDI_SOCKET, &st) < 0)
		return connect_failed(-errno, why);
	if (st.st_uid != geteuid() && group_check(st.st_gid) < 0)
		return no_access(why);
	if (faccessat(AT_FDCWD, ROUDI_MGMT, R_OK | W_OK, AT_EACCESS) < 0 && errno == EACCES)
		return no_access(why);
	return 0;
}

int roudi_check(struct ipc_text *why)
{
	int fd, r = roudi_connect(why, &fd);

	if (r < 0)
		return r;
	close(fd);
	return check_group(why);
}

pid_t roudi_pid(void)
{
	pid_t pid = 0;

	return fd_flock_held("/tmp/roudi.lock", 0, &pid) ? pid : 0;
}

/* ---- names ---- */

static bool lock_held(const char *name)
{
	char path[IPC_APP_MAX + 32];
	bool held = false;
	int fd;

	snprintf(path, sizeof(path), "/tmp/%s.lock", name);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno != ENOENT; /* another user's: it would be in iceoryx's way too */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		held = errno == EWOULDBLOCK;
	close(fd);
	return held;
}

int roudi_check_name(const char *app, unsigned int own, struct ipc_text *why)
{
	char name[IPC_APP_MAX + 8];

	for (unsigned int n = 1; n <= IPC_ATTACHMENTS_MAX; n++) {
		snprintf(name, sizeof(name), "%s.%u", app, n);
		if ((own >> n & 1) || !lock_held(name))
			continue;
		snprintf(why->s, sizeof(why->s),
			 "an application named %s is attached already (as %s); give each its "
			 "own name",
			 app, name);
		return -EEXIST;
	}
	return 0;
}

/* "<name>.lock" with a socket of that name: an application of iceoryx, attached or just dead. RouDi has its own. */
static bool is_application(const char *file, char *name, size_t size)
{
	char path[IPC_APP_MAX + 32];
	size_t n = strlen(file);
	struct stat st;

	if (n < 6 || n - 5 >= size || strcmp(file + n - 5, ".lock") != 0 || strcmp(file, "roudi.lock") == 0)
		return false;
	snprintf(name, size, "%.*s", (int)(n - 5), file);
	snprintf(path, sizeof(path), "/tmp/%s", name);
	return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

int roudi_peers(struct ipc_peer *ret, unsigned int max)
{
	struct ipc_peer peer = { .dead = false };
	const struct dirent *e;
	unsigned int n = 0;
	DIR *d = opendir("/tmp");

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		if (!is_application(e->d_name, peer.name, sizeof(peer.name)))
			continue;
		peer.dead = !lock_held(peer.name);
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

static int send_msg(int fd, int type, const char *name, int64_t until_mono_ns, struct ipc_text *why)
{
	char msg[IPC_APP_MAX + 32];
	int n = snprintf(msg, sizeof(msg), "%d,%s,", type, name);

	while (send(fd, msg, (size_t)n + 1, MSG_NOSIGNAL) < 0) {
		int r = -errno;

		if (r != -EAGAIN && r != -EINTR && r != -ENOBUFS)
			return connect_failed(r, why);
		if (mono_now_ns() >= until_mono_ns)
			return silent(why);
		nap_ms(1);
	}
	return 0;
}

/* Until all that we sent was read, or RouDi is gone. */
static int wait_drained(int fd, int64_t until_mono_ns, struct ipc_text *why)
{
	int left = 0;

	for (;;) {
		if (ioctl(fd, SIOCOUTQ, &left) < 0)
			return connect_failed(-errno, why);
		if (left == 0)
			return 0;
		if (mono_now_ns() >= until_mono_ns)
			return silent(why);
		nap_ms(1);
	}
}

/*
 * A keep-alive makes RouDi take the lock of its process list, the one that a process killed inside
 * publish can leave stuck. The second one leaves the queue only after the first was handled.
 */
int roudi_probe(const char *name, uint32_t timeout_ms, struct ipc_text *why)
{
	int64_t until_mono_ns = mono_now_ns() + (int64_t)timeout_ms * 1000000;
	int fd, r = roudi_connect(why, &fd);

	if (r < 0)
		return r;
	for (int i = 0; name && i < 2 && r == 0; i++)
		r = send_msg(fd, MSG_KEEPALIVE, name, until_mono_ns, why);
	if (r == 0 && name)
		r = wait_drained(fd, until_mono_ns, why);
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

/* What the dead process left in /tmp; nothing where the name is held, by a new process of that name. */
static void remove_files(const char *name)
{
	char path[IPC_APP_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "/tmp/%s.lock", name);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		unlink(path);
		snprintf(path, sizeof(path), "/tmp/%s", name);
		unlink(path);
	}
	if (fd >= 0)
		close(fd);
}

int roudi_free_app(const char *app, struct ipc_text *why)
{
	int64_t until_mono_ns = mono_now_ns() + 1000000000;
	char name[IPC_APP_MAX + 8], path[IPC_APP_MAX + 32];
	bool one = is_runtime_name(app);
	int fd, r = roudi_connect(why, &fd);

	if (r < 0)
		return r;
	for (unsigned int n = 1; n <= (one ? 1 : IPC_ATTACHMENTS_MAX) && r == 0; n++) {
		snprintf(name, sizeof(name), one ? "%s" : "%s.%u", app, n);
		snprintf(path, sizeof(path), "/tmp/%s", name);
		/* Its socket stays behind when it dies; without one it never registered, and RouDi would complain. */
		if (access(path, F_OK) < 0)
			continue;
		r = send_msg(fd, MSG_TERMINATION, name, until_mono_ns, why);
		if (r == 0)
			r = wait_drained(fd, until_mono_ns, why);
		if (r == 0)
			remove_files(name);
	}
	close(fd);
	return r;
}

/* ---- what this user's dead have left ---- */

/* "<app>.<n>.lock", ours, with its socket. A program that is just starting has made it and not locked it yet: so not a new one. */
static bool is_old_lock(const char *file, char *name, size_t size)
{
	char path[IPC_APP_MAX + 32];
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

	if (stat(ROUDI_SOCKET, &st) < 0 || st.st_uid == geteuid())
		return;
	d = opendir("/tmp");
	while (d && (e = readdir(d))) {
		if (is_old_lock(e->d_name, name, sizeof(name)))
			remove_files(name);
	}
	if (d)
		closedir(d);
}
