/* SPDX-License-Identifier: Apache-2.0 */
/* See lacking.h. */
#include "lacking.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default"), used))

static bool fails_for(bool memory)
{
	struct lacking *l = (struct lacking *)LACKING_ADDRESS;
	uint32_t call = ++l->calls, at = l->at;

	if (!at || call < at)
		return false;
	l->memory = memory;
	errno = memory ? ENOMEM : l->error;
	return true;
}

static bool fails(void)
{
	return fails_for(false);
}

#define NEXT(fn) \
	static __typeof__(fn) *next; \
	if (!next) \
	*(void **)&next = dlsym(RTLD_NEXT, #fn)

VISIBLE int socket(int domain, int type, int protocol);
VISIBLE int bind(int fd, const struct sockaddr *at, socklen_t len);
VISIBLE int open(const char *path, int flags, ...);
VISIBLE int shm_open(const char *name, int flags, mode_t mode);
VISIBLE int connect(int fd, const struct sockaddr *to, socklen_t len);
VISIBLE ssize_t sendto(int fd, const void *data, size_t n, int flags, const struct sockaddr *to, socklen_t len);
VISIBLE int flock(int fd, int op);
VISIBLE int ftruncate(int fd, off_t size);
VISIBLE long syscall(long number, ...);
VISIBLE void *malloc(size_t n);

int socket(int domain, int type, int protocol)
{
	NEXT(socket);
	return fails() ? -1 : next(domain, type, protocol);
}

int bind(int fd, const struct sockaddr *at, socklen_t len)
{
	NEXT(bind);
	return fails() ? -1 : next(fd, at, len);
}

/* A mode that was not said is not looked at. */
int open(const char *path, int flags, ...)
{
	__builtin_va_list more;
	mode_t mode;

	NEXT(open);
	__builtin_va_start(more, flags);
	mode = __builtin_va_arg(more, mode_t);
	__builtin_va_end(more);
	return fails() ? -1 : next(path, flags, mode);
}

int shm_open(const char *name, int flags, mode_t mode)
{
	NEXT(shm_open);
	return fails() ? -1 : next(name, flags, mode);
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	NEXT(connect);
	return fails() ? -1 : next(fd, to, len);
}

ssize_t sendto(int fd, const void *data, size_t n, int flags, const struct sockaddr *to, socklen_t len)
{
	NEXT(sendto);
	return fails() ? -1 : next(fd, data, n, flags, to, len);
}

int flock(int fd, int op)
{
	NEXT(flock);
	return fails() ? -1 : next(fd, op);
}

int ftruncate(int fd, off_t size)
{
	NEXT(ftruncate);
	return fails() ? -1 : next(fd, size);
}

/* The module maps segments so. */
long syscall(long number, ...)
{
	__builtin_va_list more;
	long a[6];

	NEXT(syscall);
	__builtin_va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = __builtin_va_arg(more, long);
	__builtin_va_end(more);
	if (number == SYS_mmap && a[4] >= 0 && fails()) /* of a descriptor */
		return -1;
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static bool is_new(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname &&
	       (strstr(info.dli_fname, "ipc_iox.so") || strstr(info.dli_fname, "libstdc++"));
}

/*
 * operator new asks here, the module's and the one behind it; iceoryx has its memory from there. libc's own is left alone: its lookup of users crashes where
 * there is none. So is the first thread, which loads the module: no start can wait for that.
 */
void *malloc(size_t n)
{
	bool ours = gettid() != getpid() && is_new(__builtin_return_address(0));

	NEXT(malloc);
	return ours && fails_for(true) ? NULL : next(n);
}
