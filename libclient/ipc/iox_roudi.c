/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that only RouDi needs; in roudi_robust.so, which simd preloads into it. In another program of iceoryx
 * (iox-introspection-client) they make it use the data plane that SIMD_DATA_PLANE names.
 *
 *   answers  RouDi answers into the sockets of its clients, each of which holds about ten datagrams, from the one
 *            thread that serves all of them. In plain iceoryx it waits for ever for a client that does not read,
 *            because it gave up waiting for its answers or was stopped, and no other process can attach or create
 *            anything until that process is gone. With this hook RouDi drops the answer: a client that asks either
 *            reads, or has ten unread answers already. iceoryx logs which client it was.
 *   waits    They end at a moment of CLOCK_REALTIME, which may be set back by an hour: here they last as long by
 *            CLOCK_MONOTONIC.
 *   names    The files that it makes are in the plane's directory (iox_plane.c).
 *   zeros    It does not write zeros to memory that it has just made, which is zero: so a page costs nothing before it
 *            is used, and simd backs with pages what can be used (segment_commit.h).
 *
 * The module has its own hooks (ipc_iox_hooks.c). Thread: RouDi's.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "iox_hook.h"
#include "iox_plane.h"

const char *iox_plane(void)
{
	const char *plane = getenv(PLANE_VARIABLE);

	return plane && strlen(plane) < PLANE_MAX ? plane : "";
}

bool iox_plane_lacks(int e)
{
	(void)e;
	return false;
}

HOOK ssize_t roudi_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
			  socklen_t to_len) __asm__("_Z10iox_sendtoiPKvmiPK8sockaddrj");
HOOK int roudi_bind(int fd, const struct sockaddr *at, socklen_t len) __asm__("_Z8iox_bindiPK8sockaddrj");
HOOK int roudi_open(const char *path, int flags, mode_t mode) __asm__("_Z8iox_openPKcij");
HOOK int roudi_shm_open(const char *name, int flags, mode_t mode) __asm__("_Z12iox_shm_openPKcij");

/* RouDi's sockets are connected. */
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

/* ---- waits ---- */

HOOK int roudi_sem_timedwait(sem_t *sem,
			     const struct timespec *until) __asm__("_Z17iox_sem_timedwaitP5sem_tPK8timespec");

int roudi_sem_timedwait(sem_t *sem, const struct timespec *until)
{
	struct timespec real, mono;
	int64_t ns;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	ns = (until->tv_sec - real.tv_sec + mono.tv_sec) * INT64_C(1000000000) + until->tv_nsec - real.tv_nsec +
	     mono.tv_nsec;
	mono = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	return sem_clockwait(sem, CLOCK_MONOTONIC, &mono);
}

/* ---- zeros ---- */

/* The last mapped segment, if it has no page yet: its length, or 0. One thread makes RouDi's segments. */
static const void *fresh_at;
static size_t fresh_len;

typedef void *mmap_fn(void *at, size_t n, int prot, int flags, int fd, off_t offset);
typedef void *memset_fn(void *to, int byte, size_t n);

HOOK void *roudi_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset) __asm__("mmap");
HOOK void *roudi_memset(void *to, int byte, size_t n) __asm__("memset");

void *roudi_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	static _Atomic(void *) next;
	void *got = ((mmap_fn *)iox_next(&next, "mmap"))(at, n, prot, flags, fd, offset);
	struct stat st;

	if (fd >= 0 && flags & MAP_SHARED && prot & PROT_WRITE && got != MAP_FAILED && fstat(fd, &st) == 0) {
		fresh_at = got;
		fresh_len = st.st_blocks == 0 ? n : 0;
	}
	return got;
}

/* Without calling memset(): the look-up of the next function may come here itself. */
static void fill(volatile unsigned char *to, unsigned char byte, size_t n)
{
	while (n--)
		*to++ = byte;
}

void *roudi_memset(void *to, int byte, size_t n)
{
	static _Atomic(void *) next;
	static _Thread_local bool finding __attribute__((tls_model("initial-exec")));
	memset_fn *fn;

	if (to == fresh_at && fresh_len && byte == 0 && n <= fresh_len) {
		fresh_len = 0;
		return to;
	}
	if (finding) {
		fill(to, (unsigned char)byte, n);
		return to;
	}
	finding = true;
	fn = (memset_fn *)iox_next(&next, "memset");
	finding = false;
	return fn(to, byte, n);
}
