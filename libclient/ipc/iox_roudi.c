/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that RouDi alone needs; in roudi_robust.so, which simd preloads into it. In another program of iceoryx (iox-introspection-client)
 * they make it look at the data plane that SIMD_DATA_PLANE names.
 *
 *   answers  RouDi answers into the sockets of its clients, each of which holds about ten datagrams, from the thread that serves all of
 *            them. As it comes, it waits without end for one who does not read: a client that gave up waiting for its answers, or that was
 *            stopped, and nobody else could attach or create anything until that process was gone. With this it does without: who asks
 *            reads, or has ten unread answers already. iceoryx logs which client it was.
 *   names    The files that it makes lie in the plane's directory (iox_plane.c).
 *
 * The module has its own (ipc_iox_hooks.c). Thread: RouDi's.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "iox_hook.h"
#include "iox_plane.h"

const char *iox_plane(void)
{
	const char *plane = getenv(PLANE_VARIABLE);

	return plane && strlen(plane) < PLANE_MAX ? plane : "";
}

HOOK ssize_t roudi_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
			  socklen_t to_len) __asm__("_Z10iox_sendtoiPKvmiPK8sockaddrj");
HOOK int roudi_bind(int fd, const struct sockaddr *at, socklen_t len) __asm__("_Z8iox_bindiPK8sockaddrj");
HOOK int roudi_open(const char *path, int flags, mode_t mode) __asm__("_Z8iox_openPKcij");
HOOK int roudi_shm_open(const char *name, int flags, mode_t mode) __asm__("_Z12iox_shm_openPKcij");

/* Its sockets are connected. */
ssize_t roudi_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to, socklen_t to_len)
{
	return sendto(fd, buf, n, flags | MSG_DONTWAIT | MSG_NOSIGNAL, to, to_len);
}

int roudi_bind(int fd, const struct sockaddr *at, socklen_t len)
{
	struct sockaddr_un un;

	return bind(fd, iox_plane_address(at, &len, &un), len);
}

int roudi_open(const char *path, int flags, mode_t mode)
{
	char buf[PLANE_PATH_MAX];

	return open(iox_plane_path(path, buf), flags | O_CLOEXEC, mode);
}

int roudi_shm_open(const char *name, int flags, mode_t mode)
{
	return iox_plane_shm_open(name, flags, mode);
}
