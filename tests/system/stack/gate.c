/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded to simulate a disk that blocks: positional writes wait while the file GATE_FILE exists, and create
 * GATE_FILE ".waits" first.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../support/wait.h"

#define GATE_FILE "/tmp/gate"

static void pass(void)
{
	if (access(GATE_FILE, F_OK) < 0)
		return;
	close(open(GATE_FILE ".waits", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	while (access(GATE_FILE, F_OK) == 0)
		wait_look_again();
}

__attribute__((visibility("default"))) ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
	pass();
	return syscall(SYS_pwritev, fd, iov, (unsigned long)n, (unsigned long)at, 0UL);
}

__attribute__((visibility("default"))) ssize_t pwritev64(int fd, const struct iovec *iov, int n, off_t at)
{
	return pwritev(fd, iov, n, at);
}
