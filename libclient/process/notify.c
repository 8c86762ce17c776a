/* SPDX-License-Identifier: Apache-2.0 */
/* systemd's notification protocol without libsystemd, see notify.h. Thread: any. */
#include "notify.h"

#include "err.h"
#include "fd.h"
#include "number.h"
#include "timeutil.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n;
	int fd, r;

	if (!path || !*path)
		return 0;
	n = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || n >= sizeof(a.sun_path))
		return err_set(-EINVAL, "NOTIFY_SOCKET=%s is neither a path nor an abstract name of a socket", path);
	memcpy(a.sun_path, path, n);
	if (path[0] == '@')
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(-errno, "notification socket");
	r = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&a,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0
		    ? -errno
		    : 1;
	fd_close(fd);
	return r < 0 ? err_sys(r, "cannot notify the service manager at %s", path) : r;
}

int64_t notify_watchdog_dur_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	int64_t us, of = getpid();

	if (!usec || (pid && number_i64(pid, NUMBER_DEC, 1, of, &of) < 0) || of != getpid() ||
	    number_i64(usec, NUMBER_DEC, 0, INT64_MAX / NS_PER_US, &us) < 0)
		return 0;
	return us * NS_PER_US / 2;
}
