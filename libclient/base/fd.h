/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors: close-on-exec, sealed shared memory, descriptor passing, pidfds, Unix sockets, files.
 * Every descriptor made here is close-on-exec. EINTR is handled inside.
 *
 * Errors: negative errno, with the sentence in err_why() unless said otherwise.
 * Thread: any.
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Close if >= 0; keeps errno; returns -1, so that `fd = fd_close(fd)` leaves no stale number. */
int fd_close(int fd);
/* Moves the descriptor out: returns *fd and sets *fd to -1. */
int fd_steal(int *fd);

int fd_set_nonblock(int fd, bool on);
int fd_dup(int fd); /* close-on-exec duplicate */
/* Creates two connected SOCK_SEQPACKET sockets. flags: 0 or SOCK_NONBLOCK. Sets no sentence. */
int fd_packet_pair(int ret[2], int flags);

/* ---- shared pages ---- */

enum fd_share {
	FD_SHARE_RO, /* peers can only ever map it read-only: F_SEAL_FUTURE_WRITE on top of the size seals */
	FD_SHARE_RW, /* peers may write (token and credit cells): size seals only */
};

/*
 * Creates a memfd of `size` bytes (rounded up to pages), sealed against shrinking, growing and further seals, with the
 * creator's writable, zeroed and populated mapping, which a forked child does not inherit (MADV_DONTFORK: a child could
 * write through it in spite of the seal). ret_map: returns, munmap(map, size) ends it; ret_fd: returns, close.
 */
int fd_shared_create(const char *name, size_t size, enum fd_share share, void **ret_map, int *ret_fd);

/*
 * Maps a page that a peer made. Refuses (-EPERM) one that can still shrink, which would turn a read into SIGBUS, and
 * (-EINVAL) one smaller than `size`. Borrows fd. writable needs FD_SHARE_RW's page.
 */
int fd_shared_map(int fd, size_t size, bool writable, void **ret_map);
void fd_shared_unmap(void *map, size_t size); /* NULL is fine */

/* A mapping shared by several threads, reference-counted: the last unref unmaps it. */
struct fd_shared;
int fd_shared_hold(void *map, size_t size, struct fd_shared **ret); /* takes the mapping, but not on failure: -ENOMEM */
struct fd_shared *fd_shared_ref(struct fd_shared *s);               /* NULL is fine */
void fd_shared_unref(struct fd_shared *s);                          /* NULL is fine */

/* ---- messages with descriptors ---- */

#define FD_PASS_MAX 16 /* descriptors in one message */

/*
 * One sendmsg on a Unix socket (MSG_NOSIGNAL added). Borrows the descriptors. Returns bytes sent, or
 * -EAGAIN (no sentence), -EPIPE, ... On a stream socket a short count is possible: the descriptors
 * went with the first byte.
 */
ssize_t fd_send(int sock, const void *data, size_t len, const int *fds, unsigned n_fds, int flags);

/*
 * One recvmsg (MSG_CMSG_CLOEXEC added). Returns bytes, 0 at the end of the stream, -EAGAIN (no sentence). Returns up to
 * max_fds descriptors, which the caller closes; more than that is -E2BIG with everything closed; -EMFILE: some are lost
 * because this process may open no more. max_fds 0: the kernel drops them before they are opened here. ret_n_fds is
 * written on every return.
 */
ssize_t fd_recv(int sock, void *buf, size_t len, int *fds, unsigned max_fds, unsigned *ret_n_fds, int flags);

/* Polls one descriptor. Returns 1 ready (or hung up), 0 timed out; timeout_dur_ns < 0: for ever. */
int fd_wait(int fd, short events, int64_t timeout_dur_ns);

/* ---- limit of descriptors ---- */

/*
 * Raises the soft limit of open descriptors to `need`, as far as the hard limit allows. Returns 1: that is less than
 * needed; 0; negative. ret_old: the limit before.
 */
int fd_limit_raise(unsigned long need, struct rlimit *ret_old);

/* ---- processes ---- */

/*
 * Reads field number nth (4 or later, as proc(5) counts) of a file /proc/.../stat; negative: there is no such process
 * or thread. ret_state: its state, a letter; may be NULL.
 */
int64_t fd_stat_field(const char *path, int nth, char *ret_state);
int fd_pidfd_open(pid_t pid);
/* The same for the process that had this pid at that time: also -ESRCH if the number now belongs to a later process. */
int fd_pidfd_open_since(pid_t pid, int64_t ran_mono_ns);
/*
 * pidfd of the process that connected a Unix socket, which was accepted at that time. -ESRCH: it has exited;
 * -EOPNOTSUPP: it is in a pid namespace that is not visible from here, and the kernel (before 6.5) identifies it by its
 * number only.
 */
int fd_peer_pidfd(int sock, int64_t accepted_mono_ns);
int fd_pidfd_kill(int pidfd, int sig);
/* Returns 1: the process has ended, 0: timed out. */
int fd_pidfd_wait(int pidfd, int64_t timeout_dur_ns);

/* ---- Unix sockets ---- */

/*
 * Listens at `path` (SOCK_STREAM or SOCK_SEQPACKET in type; non-blocking). The parent directory must exist, and only
 * its owner and group may write to it (or it is sticky). A dead socket is replaced, a live one is -EADDRINUSE, anything
 * else in the way is -EEXIST and left alone. mode: e.g. 0660. Paths longer than a socket address work too, as long as
 * the last name is short.
 */
int fd_unix_listen(const char *path, int type, mode_t mode);

/*
 * Connects, with a time limit. -ENOENT, -ECONNREFUSED, -ENOTSOCK (a file or a directory), -EACCES, -ETIMEDOUT (backlog
 * full). The socket is non-blocking.
 */
int fd_unix_connect(const char *path, int type, int64_t timeout_dur_ns);

/* -EAGAIN without a sentence. The new socket is non-blocking. */
int fd_unix_accept(int listen_fd);
int fd_peer_cred(int sock, struct ucred *ret);
/*
 * Whether the file is locked (flock) by that process. pid 0: by any; then *ret_pid (may be NULL) is its number, 0: not
 * visible from here.
 */
bool fd_flock_held(const char *path, pid_t pid, pid_t *ret_pid);

/* ---- files ---- */

/* The absolute path, valid after a chdir. returns: mem_free; NULL: no memory. */
char *fd_absolute(const char *path);

/*
 * Reads a whole file, at most max bytes (-EFBIG), and appends a NUL. A pipe is read to its end; -ETIMEDOUT: nothing
 * comes for 2 s. ret: returns, mem_free. ret_len may be NULL.
 */
int fd_read_file(const char *path, size_t max, char **ret, size_t *ret_len);
/*
 * Writes a file beside it and renames it over path: readers see the old or the new one. Never follows a link at path.
 */
int fd_write_file(const char *path, const void *data, size_t len, mode_t mode);
int fd_write_all(int fd, const void *data, size_t len); /* blocking descriptor */
/* Creates all missing parents too; existing directories are fine. */
int fd_mkdir_p(const char *path, mode_t mode);
/* Renames a directory that is in the way, with its contents, to path.XXXXXX. */
int fd_put_aside(const char *path);

#endif
