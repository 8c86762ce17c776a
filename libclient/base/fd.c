/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors, shared pages, descriptor passing, pidfds; sockets and files are in fd_path.c. Thread: any. */
#include "fd.h"

#include "err.h"
#include "mem.h"
#include "number.h"
#include "timeutil.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd); /* Linux frees the number even on EINTR: never repeat */
	errno = saved;
	return -1;
}

int fd_steal(int *fd)
{
	int f = *fd;

	*fd = -1;
	return f;
}

int fd_set_nonblock(int fd, bool on)
{
	int f = fcntl(fd, F_GETFL);

	if (f < 0 || fcntl(fd, F_SETFL, on ? f | O_NONBLOCK : f & ~O_NONBLOCK) < 0)
		return err_sys(-errno, "descriptor %d: non-blocking mode", fd);
	return 0;
}

int fd_dup(int fd)
{
	int d = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return d < 0 ? err_sys(-errno, "duplicating descriptor %d", fd) : d;
}

int fd_packet_pair(int ret[2], int flags)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0, ret) < 0 ? -errno : 0;
}

/* ---- shared pages ---- */

static size_t page_round(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

int fd_shared_create(const char *name, size_t size, enum fd_share share, void **ret_map, int *ret_fd)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (share == FD_SHARE_RO ? F_SEAL_FUTURE_WRITE : 0);
	size_t full = page_round(size);
	void *map = MAP_FAILED;
	int r, fd;

	if (!size)
		return err_set(-EINVAL, "shared page %s: size 0", name);
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return err_sys(-errno, "shared page %s: memfd", name);
	if (ftruncate(fd, (off_t)full) < 0) {
		r = err_sys(-errno, "shared page %s: %zu bytes", name, full);
		goto err;
	}
	map = mmap(NULL, full, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED) {
		r = err_sys(-errno, "shared page %s: mapping", name);
		goto err;
	}
	/* only after mapping: the seal stops new writable mappings, this one stays */
	if (madvise(map, full, MADV_DONTFORK) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0) {
		r = err_sys(-errno, "shared page %s: sealing", name);
		goto err;
	}
	*ret_map = map;
	*ret_fd = fd;
	return 0;
err:
	if (map != MAP_FAILED)
		munmap(map, full);
	fd_close(fd);
	return r;
}

int fd_shared_map(int fd, size_t size, bool writable, void **ret_map)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *map;

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return err_set(-EPERM, "the peer's shared page is not sealed against shrinking; it is refused");
	if (fstat(fd, &st) < 0)
		return err_sys(-errno, "shared page");
	if (!size || st.st_size < 0 || (uint64_t)st.st_size < size)
		return err_set(-EINVAL, "the peer's shared page has %lld bytes where %zu are wanted",
			       (long long)st.st_size, size);
	map = mmap(NULL, page_round(size), PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return err_sys(-errno, "mapping a shared page %s", writable ? "for writing" : "for reading");
	*ret_map = map;
	return 0;
}

void fd_shared_unmap(void *map, size_t size)
{
	if (map)
		munmap(map, page_round(size));
}

struct fd_shared {
	atomic_uint refs;
	void *map;
	size_t size;
};

int fd_shared_hold(void *map, size_t size, struct fd_shared **ret)
{
	struct fd_shared *s = MEM_NEW(struct fd_shared);

	if (!s)
		return err_nomem();
	atomic_init(&s->refs, 1);
	s->map = map;
	s->size = size;
	*ret = s;
	return 0;
}

struct fd_shared *fd_shared_ref(struct fd_shared *s)
{
	if (s)
		atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void fd_shared_unref(struct fd_shared *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	fd_shared_unmap(s->map, s->size);
	mem_free(s);
}

/* ---- messages with descriptors ---- */

union control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
};

ssize_t fd_send(int sock, const void *data, size_t len, const int *fds, unsigned n_fds, int flags)
{
	union {
		const void *c;
		void *m;
	} bytes = { data }; /* iovec is not const-correct; sendmsg does not write */
	struct iovec iov = { .iov_base = bytes.m, .iov_len = len };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control ctl;
	ssize_t n;

	if (n_fds > FD_PASS_MAX)
		return err_set(-E2BIG, "%u descriptors in one message; at most %d pass", n_fds, FD_PASS_MAX);
	if (n_fds) {
		struct cmsghdr *c;

		memset(&ctl, 0, sizeof(ctl));
		h.msg_control = ctl.buf;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	do
		n = sendmsg(sock, &h, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	return errno == EAGAIN ? -EAGAIN : err_sys(-errno, "sending to the peer");
}

/* Collects the descriptors of all control headers; closes and counts those beyond max. */
static unsigned collect(struct msghdr *h, int *fds, unsigned max, unsigned *n)
{
	unsigned excess = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		unsigned k;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		k = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (unsigned i = 0; i < k; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (*n < max) {
				fds[(*n)++] = fd;
			} else {
				fd_close(fd);
				excess++;
			}
		}
	}
	return excess;
}

/*
 * Reports a message that was not received completely. The kernel fills the buffer, unless this process may open no more
 * descriptors.
 */
static int cut(int *fds, unsigned n_fds, unsigned max, unsigned excess)
{
	bool full = excess || n_fds == FD_PASS_MAX;

	while (n_fds)
		fd_close(fds[--n_fds]);
	if (!max)
		return err_set(-E2BIG, "the peer sent descriptors; none are taken here");
	if (full)
		return err_set(-E2BIG, "the peer sent more than %u descriptors at once", max);
	return err_set(-EMFILE, "descriptors from the peer are lost: this process may open no more (ulimit -n)");
}

ssize_t fd_recv(int sock, void *buf, size_t len, int *fds, unsigned max_fds, unsigned *ret_n_fds, int flags)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	union control ctl;
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = max_fds ? ctl.buf : NULL,
			    .msg_controllen = max_fds ? sizeof(ctl.buf) : 0 };
	unsigned n_fds = 0, excess;
	ssize_t n;

	*ret_n_fds = 0;
	do
		n = recvmsg(sock, &h, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : err_sys(-errno, "receiving from the peer");
	excess = collect(&h, fds, max_fds, &n_fds);
	if (excess || h.msg_flags & MSG_CTRUNC)
		return cut(fds, n_fds, max_fds, excess);
	*ret_n_fds = n_fds;
	return n;
}

/* ---- limit of descriptors ---- */

int fd_limit_raise(unsigned long need, struct rlimit *ret_old)
{
	struct rlimit old, now;

	if (getrlimit(RLIMIT_NOFILE, &old) < 0)
		return err_sys(-errno, "cannot read the limit of open descriptors");
	now = old;
	if (now.rlim_cur < need)
		now.rlim_cur = need < now.rlim_max ? need : now.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &now) < 0)
		return err_sys(-errno, "cannot set the limit of open descriptors");
	*ret_old = old;
	return now.rlim_cur < need;
}

int fd_wait(int fd, short events, int64_t timeout_dur_ns)
{
	int64_t until = timeout_dur_ns < 0 ? INT64_MAX : ns_add(mono_now_ns(), timeout_dur_ns);
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int64_t left = timeout_dur_ns < 0 ? 0 : until - mono_now_ns();
		struct timespec t = timespec_from_ns(left > 0 ? left : 0);
		int r = ppoll(&p, 1, timeout_dur_ns < 0 ? NULL : &t, NULL);

		if (r >= 0)
			return r > 0;
		if (errno != EINTR)
			return err_sys(-errno, "waiting for descriptor %d", fd);
	}
}

/* ---- processes ---- */

int fd_pidfd_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0); /* always close-on-exec */

	return fd < 0 ? err_sys(-errno, "process %d", (int)pid) : fd;
}

int64_t fd_stat_field(const char *path, int nth, char *ret_state)
{
	const char *p;
	int64_t v = -1;
	char *text;

	if (fd_read_file(path, 4096, &text, NULL) < 0)
		return -1;
	p = strrchr(text, ')'); /* the name before it may contain any character */
	if (p && p[1] && ret_state)
		*ret_state = p[2];
	for (int i = 2; i < nth && p; i++)
		p = strchr(p + 1, ' ');
	if (p && (++p, number_take_i64(&p, NUMBER_DEC, INT64_MIN, INT64_MAX, &v) < 0))
		v = -1;
	mem_free(text);
	return v;
}

/* Time since the process started; up to a clock tick more than that. Negative: unknown. */
static int64_t process_age_ns(pid_t pid)
{
	struct timespec now;
	char path[64];
	int64_t start;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	start = fd_stat_field(path, 22, NULL);
	clock_gettime(CLOCK_BOOTTIME, &now);
	return start < 0 ? -1 : timespec_to_ns(&now) - start * (NS_PER_S / sysconf(_SC_CLK_TCK));
}

int fd_pidfd_open_since(pid_t pid, int64_t ran_mono_ns)
{
	int64_t ago = mono_now_ns() - ran_mono_ns, age;
	int fd = fd_pidfd_open(pid);

	if (fd < 0)
		return fd;
	age = process_age_ns(pid); /* age of the process that has the number now: the wanted one, or a later one */
	if (age < 0 || age >= ago)
		return fd;
	fd_close(fd);
	return err_set(-ESRCH, "process %d has exited; another process has its number", (int)pid);
}

int fd_peer_pidfd(int sock, int64_t accepted_mono_ns)
{
	struct ucred cred;
	int fd, r;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &(socklen_t){ sizeof(fd) }) == 0)
		return fd; /* close-on-exec */
	if (errno == EINVAL || errno == ESRCH)
		return err_set(-ESRCH, "the process that connected has exited");
	r = fd_peer_cred(sock, &cred);
	if (r < 0)
		return r;
	if (cred.pid <= 0)
		return err_set(-EOPNOTSUPP, "the process that connected is in a pid namespace that is not seen here");
	return fd_pidfd_open_since(cred.pid, accepted_mono_ns);
}

int fd_pidfd_kill(int pidfd, int sig)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0)
		return err_sys(-errno, "signal %d", sig);
	return 0;
}

int fd_pidfd_wait(int pidfd, int64_t timeout_dur_ns)
{
	return fd_wait(pidfd, POLLIN, timeout_dur_ns);
}
