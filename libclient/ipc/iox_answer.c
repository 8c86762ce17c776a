/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RouDi answers into the sockets of its clients, each of which holds about ten datagrams, from the thread that serves all of them. As
 * it comes, it waits without end for one who does not read: a client that gave up waiting for its answers, or that was stopped, and
 * nobody else could attach or create anything until that process was gone. With this it does without: who asks reads, or has ten
 * unread answers already. iceoryx logs which client it was.
 *
 * Only in roudi_robust.so; the module bounds its own sends (ipc_iox_hooks.c). Thread: RouDi's.
 */
#include <sys/socket.h>

#include "iox_hook.h"

HOOK ssize_t answer(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
		    socklen_t to_len) __asm__("_Z10iox_sendtoiPKvmiPK8sockaddrj");

ssize_t answer(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to, socklen_t to_len)
{
	return sendto(fd, buf, n, flags | MSG_DONTWAIT | MSG_NOSIGNAL, to, to_len);
}
