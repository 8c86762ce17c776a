/* SPDX-License-Identifier: Apache-2.0 */
/* See lacking.h. */
#include "lacking.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#define VISIBLE __attribute__((visibility("default"), used))

static bool fails(void)
{
	struct lacking *l = (struct lacking *)LACKING_ADDRESS;
	uint32_t call = ++l->calls, at = l->at;

	if (!at || call < at)
		return false;
	errno = l->error;
	return true;
}

#define NEXT(fn) \
	static __typeof__(fn) *next; \
	if (!next) \
	*(void **)&next = dlsym(RTLD_NEXT, #fn)

VISIBLE int socket(int domain, int type, int protocol);
VISIBLE int bind(int fd, const struct sockaddr *at, socklen_t len);
VISIBLE int open(const char *path, int flags, ...);
VISIBLE int shm_open(const char *name, int flags, mode_t mode);

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
